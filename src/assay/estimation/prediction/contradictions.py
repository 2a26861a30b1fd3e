"""Warn about runs that make a model unreliable: contradictory repetitions, mixed units, duplicates, spellings.

In: runs as a table, and the model learned from them. Out: warnings for the reader of a prediction. The model still uses
these runs, because only the user can decide which runs are wrong; `assay anomalies` lists them.
"""

import math

import numpy as np

from assay.analysis.statistics import RunTable, groups_by
from assay.estimation.prediction.features import number_of
from assay.estimation.prediction.model import TimeModel, TrainingData
from assay.foundation.units import parse_bytes

REPETITION_RATIO_MAX = 3.0
"""Maximum ratio of the times of repetitions that do not contradict each other."""
MILLISECONDS_RATIO = (500.0, 2_000.0)
"""Range of the ratio of two times that are likely milliseconds and seconds."""
CONTRADICTION_RATIO_MIN = 20.0
"""Minimum ratio of a measured to an expected time, or its inverse, of a configuration that is reported."""


def data_warnings(model: TimeModel, table: RunTable) -> tuple[str, ...]:
    """Return warnings about the runs that a model was learned from; none if they are sound."""
    data = TrainingData.of(table)
    return (*_contradictions(data), *_far_off(model), *_duplicate_runs(data.table), *_spellings(data.table))


def _contradictions(data: TrainingData) -> list[str]:
    logs = np.log(data.table.values["duration_s"])
    low, high = np.full(data.groups.count, np.inf), np.full(data.groups.count, -np.inf)
    np.minimum.at(low, data.groups.of_row, logs)
    np.maximum.at(high, data.groups.of_row, logs)
    ratio = np.exp(high - low)
    if not (contradictory_count := int((ratio > REPETITION_RATIO_MAX).sum())):
        return []
    ratio_max = float(ratio.max())
    message = (
        f"repetitions contradict each other in {contradictory_count:,} of {data.groups.count:,} configurations: they "
        f"are more than {REPETITION_RATIO_MAX:g} times apart, up to {ratio_max:,.4g} times"
    )
    units = int(((ratio >= MILLISECONDS_RATIO[0]) & (ratio <= MILLISECONDS_RATIO[1])).sum())
    if units:
        message += f"; {units:,} are about 1,000 times apart, as seconds and milliseconds are"
    return [f"{message} (`assay anomalies` lists outliers)"]


def _far_off(model: TimeModel) -> list[str]:
    log_ratios = np.abs(model.median_logs - model.expected_logs)
    if not (far_count := int((log_ratios > math.log(CONTRADICTION_RATIO_MIN)).sum())):
        return []
    return [
        f"{far_count:,} of {len(log_ratios):,} configurations differ from similar ones by more than a factor of "
        f"{CONTRADICTION_RATIO_MIN:g}. Their times may have other units, or their work may differ "
        "(`assay anomalies --second-opinion` lists them)"
    ]


def _duplicate_runs(table: RunTable) -> list[str]:
    if "started_unix_s" not in table.values:
        return []
    starts_and_durations = np.stack([table.values["started_unix_s"], table.values["duration_s"]], axis=1)
    dated_rows = np.flatnonzero(np.isfinite(starts_and_durations).all(axis=1))
    groups = groups_by(table, table.factors).of_row[dated_rows]
    distinct_count = len(
        np.unique(np.column_stack([groups.astype(np.float64), starts_and_durations[dated_rows]]), axis=0)
    )
    if distinct_count == len(dated_rows):
        return []
    return [
        f"{len(dated_rows) - distinct_count:,} of {len(table):,} valid runs have the configuration, start and duration "
        "of another run: were they imported twice? Intervals count them as repetitions, and are too narrow"
    ]


def _spellings(table: RunTable) -> list[str]:
    """Return a warning for each factor with a level in several spellings, for example 128MiB and 134217728."""
    warnings = []
    for name in table.factors:
        column = table.columns[name]
        levels = [column.levels[int(code)] for code in np.unique(column.codes) if code >= 0]
        levels_by_number: dict[float, list[str]] = {}
        for level in levels:
            if not math.isnan(number := _size(level)):
                levels_by_number.setdefault(number, []).append(level)
        repeated_levels = [texts for texts in levels_by_number.values() if len(texts) > 1]
        if repeated_levels:
            examples = "; ".join(" and ".join(texts) for texts in repeated_levels[:2])
            warnings.append(f"{name} is written in several ways, which count as different levels: {examples}")
    return warnings


def _size(level: str) -> float:
    number = number_of(level)
    if not math.isnan(number):
        return number
    try:
        return float(parse_bytes(level))
    except ValueError:
        return math.nan
