"""Intervals, rank tests and variances; tables of runs as columns, and their groups. Pure."""

from assay.analysis.statistics.arrays import Codes, Floats, Ints, Mask
from assay.analysis.statistics.certainty import log_errors_max_in, log_errors_max_of
from assay.analysis.statistics.inference_scope import InferenceScope
from assay.analysis.statistics.intervals import (
    LEVEL,
    Estimate,
    Means,
    difference,
    estimate,
    geometric_mean,
    means_by,
    median_interval,
    rounding_of,
    satterthwaite,
    two_sided_p,
    welch_ratio,
)
from assay.analysis.statistics.keys import (
    Groups,
    combined,
    first_rows,
    groups_by,
    hard_disk_layouts,
    has_level,
    level_of_group,
    median_by,
    merged_groups,
    require_factor,
    same_work,
    sorted_within,
    usable,
    warm_among_cold,
)
from assay.analysis.statistics.ranks import holm_where_known, is_exact, rank_test_p, smallest_reachable_p
from assay.analysis.statistics.runs.facets import LevelCount, conditions_of, counts_by, level_counts, matching
from assay.analysis.statistics.runs.factors_of_runs import (
    DEPENDENT_PROPERTIES,
    FACTOR_SYNONYMS,
    LAYOUT_DEVICES,
    LAYOUT_PARAMETERS,
    NETWORK_KIND,
    RESERVED,
    SIZE_OPTIONS,
    factors_of,
    in_order,
    layout_devices,
    layouts_on_hard_disks,
    level_of,
    levels_of,
    matching_factors,
)
from assay.analysis.statistics.runs.imported_rows import (
    Distinct,
    DuplicateColumnError,
    ImportedRows,
    Item,
    Shared,
    groups_of,
    table_of_rows,
)
from assay.analysis.statistics.runs.run_table import (
    ABSENT,
    ANOMALY,
    BASE_VALUES,
    DESCRIPTIVE,
    NO_ANOMALY,
    Column,
    RunTable,
    coded,
    stacked,
    started_unix_s,
    table_of,
    texts_of_run,
)
from assay.analysis.statistics.verdicts import ALPHA, MARGIN, RUNS_MIN, Verdict, too_few_runs, verdict_of
