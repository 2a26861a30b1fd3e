"""What in a table speaks against learning from it: runs that contradict each other, mixed units, runs kept twice.

In: runs as a table, and the model of them. Out: sentences for whoever reads a prediction. Nothing is left out for them:
which runs are wrong is for a person to say, and `assay anomalies` lists them.
"""

import math

import numpy as np

from assay.analysis.statistics import RunTable, groups_by
from assay.estimation.prediction.features import number_of
from assay.estimation.prediction.model import Learning, Model
from assay.foundation.units import parse_bytes

APART = 3.0
"""Repetitions of one configuration whose times differ by more than this contradict each other."""
THOUSAND = (500.0, 2_000.0)
"""Times that differ so are of the same thing in seconds and in milliseconds."""
FAR_OFF = 20.0
"""A configuration that takes so many times what others let one expect, or so small a part of it."""


def doubts(model: Model, table: RunTable) -> tuple[str, ...]:
    """Return what a reader should know of the runs that a model was learned from; nothing where they are sound."""
    told = Learning.of(table)
    return (*_contradictions(told), *_far_off(model), *_kept_twice(told.table), *_spellings(told.table))


def _contradictions(told: Learning) -> list[str]:
    logs = np.log(told.table.values["duration_s"])
    low, high = np.full(told.groups.count, np.inf), np.full(told.groups.count, -np.inf)
    np.minimum.at(low, told.groups.of_row, logs)
    np.maximum.at(high, told.groups.of_row, logs)
    ratio = np.exp(high - low)
    if not (apart := int((ratio > APART).sum())):
        return []
    most = float(ratio.max())
    words = (
        f"repetitions contradict each other in {apart:,} of {told.groups.count:,} configurations: they are more than "
        f"{APART:g} times apart, up to {most:,.4g} times"
    )
    units = int(((ratio >= THOUSAND[0]) & (ratio <= THOUSAND[1])).sum())
    if units:
        words += f"; {units:,} are about 1,000 times apart, as seconds and milliseconds are"
    return [f"{words} (`assay anomalies` lists odd runs)"]


def _far_off(model: Model) -> list[str]:
    off = np.abs(model.medians - model.configurations)
    if not (far := int((off > math.log(FAR_OFF)).sum())):
        return []
    return [
        f"{far:,} of {len(off):,} configurations took more than {FAR_OFF:g} times as long as others like them, or as "
        "short: are their times in other units, or are they of other work? "
        "(`assay anomalies --second-opinion` lists them)"
    ]


def _kept_twice(table: RunTable) -> list[str]:
    if "started_unix_s" not in table.values:
        return []
    when = np.stack([table.values["started_unix_s"], table.values["duration_s"]], axis=1)
    known = np.flatnonzero(np.isfinite(when).all(axis=1))
    groups = groups_by(table, table.factors).of_row[known]
    distinct = len(np.unique(np.column_stack([groups.astype(np.float64), when[known]]), axis=0))
    if distinct == len(known):
        return []
    return [
        f"{len(known) - distinct:,} of {len(table):,} valid runs have the configuration, start and duration of another "
        "one: were they imported twice? Intervals take them for repetitions, and are too narrow"
    ]


def _spellings(table: RunTable) -> list[str]:
    """Return the factors with a level that is written in several ways, such as 128MiB and 134217728."""
    found = []
    for name in table.factors:
        column = table.columns[name]
        there = [column.levels[int(code)] for code in np.unique(column.codes) if code >= 0]
        same: dict[float, list[str]] = {}
        for level in there:
            if not math.isnan(number := _size(level)):
                same.setdefault(number, []).append(level)
        twice = [texts for texts in same.values() if len(texts) > 1]
        if twice:
            examples = "; ".join(" and ".join(texts) for texts in twice[:2])
            found.append(f"{name} is written in several ways, which count as different levels: {examples}")
    return found


def _size(level: str) -> float:
    number = number_of(level)
    if not math.isnan(number):
        return number
    try:
        return float(parse_bytes(level))
    except ValueError:
        return math.nan
