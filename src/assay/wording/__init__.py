"""Values as the text that people read: the same in terminal, page and report."""

from assay.wording.amounts import money, money_interval
from assay.wording.codes import meanings
from assay.wording.language import capitalised, joined, moment, plural, slug
from assay.wording.metrics import METRIC_GROUPS, metric_group, metric_text
from assay.wording.numbers import NOTHING, count, interval_s, probability, rate, seconds, share, size, tenths
from assay.wording.ratios import count_runs, format_interval, format_ratio, interval, ratio
from assay.wording.table import TextTable
from assay.wording.titles import (
    column_title,
    level_text,
    origin_badge,
    origins_text,
    run_id_text,
    runs_flagged,
    scale_text,
    setting_text,
    settings_text,
    workload_named,
    workload_title,
)
