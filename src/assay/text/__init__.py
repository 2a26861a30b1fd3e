"""Format values as text, identically in terminal, page and report."""

from assay.text.amounts import money, money_interval, money_texts, price_basis, price_text
from assay.text.codes import codec_text, disk_kind_text, disk_noun, layout_text, meanings, network_text
from assay.text.credits import credit_text, credit_texts
from assay.text.language import capitalised, joined, moment, plural, slug
from assay.text.metrics import METRIC_GROUPS, STARTED, metric_group, metric_text, metric_title
from assay.text.numbers import (
    NO_VALUE,
    duration_text,
    estimated_duration,
    interval_s,
    jobs_text,
    probability,
    rate,
    seconds,
    seconds_texts,
    share,
    size,
    tenths,
)
from assay.text.ratios import count_runs, format_interval, format_ratio, interval, ratio
from assay.text.table import TextTable
from assay.text.titles import (
    column_title,
    data_text,
    level_text,
    levels_text,
    origin_badge,
    origins_text,
    outlier_runs_text,
    run_id_text,
    scale_text,
    setting_text,
    settings_text,
    workload_named,
    workload_title,
)
