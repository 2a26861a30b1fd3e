"""Test whether configurations became slower than permitted since a baseline in time.

In: a table of runs, the time of the baseline (Unix seconds) and the permitted slowdown. Out: a
:class:`SlowdownResult` for each configuration. A slowdown is its ratio minus 1: 0.05 is 5 % slower. The ratio compares
the level since the baseline with the level at the baseline: of each side, the runs after the last change that
:mod:`assay.analysis.changes` finds there. The ratio and its interval come from the comparison of matched groups
(:mod:`assay.analysis.comparison.matched`), which allows for sessions. A slowdown exceeds the limit if a one-sided t
test rejects every smaller slowdown, with Holm's correction over all configurations. docs/measurements/error-rates.md
has the error rates.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from assay.analysis.changes import histories, run_series
from assay.analysis.comparison.matched import LogMean, group_ratios, log_mean, match, pick, side
from assay.analysis.statistics import Estimate, Ints, Mask, RunTable, coded, holm_where_known, two_sided_p

ERROR_MAX = 0.05
"""Maximum probability that a pipeline fails although no configuration is slower than permitted."""
SIDE_RUNS_MIN = 3
"""Minimum number of runs on each side of the baseline for a verdict."""
PERIOD = "period"
"""The column that separates runs up to the baseline from later ones."""
_BEFORE, _SINCE = "up to the baseline", "since the baseline"


class SlowdownVerdict(StrEnum):
    """The verdict on the slowdown of a configuration."""

    EXCEEDED = "slower than permitted"
    SLOWER = "slower"
    FASTER = "faster"
    NOT_DISTINGUISHABLE = "not distinguishable"
    FEW_RUNS = "not enough runs"


@dataclass(frozen=True, slots=True)
class SlowdownResult:
    """The verdict on one configuration."""

    position: int
    """A row of the configuration, from which its levels can be read."""
    verdict: SlowdownVerdict
    runs_before: int
    """Number of runs at the level of the baseline."""
    runs_since: int
    ratio: Estimate | None
    """Time since the baseline / time before it, of geometric means: above 1 is slower. None with too few runs."""
    p: float | None
    """p value of a slowdown of at most the limit, after Holm's correction."""


def slowdowns(
    table: RunTable, baseline_unix_s: float, slowdown_max: float, ignore: Collection[str] = ()
) -> list[SlowdownResult]:
    """Return a result for each configuration, the largest slowdown first, and those with too few runs last.

    ``slowdown_max``: permitted slowdown, 0.05 for 5 %. ``ignore``: factors that may differ within a configuration.
    """
    before = table.values["started_unix_s"] <= baseline_unix_s
    is_counted = _present_level(table, before, ignore) | _present_level(table, ~before, ignore)
    rows = np.flatnonzero(is_counted)
    sides = table.subset(is_counted)
    # The first two entries fix the codes of the two periods.
    period = coded([_BEFORE, _SINCE, *(_BEFORE if is_before else _SINCE for is_before in before[rows])])
    sides = replace(sides, columns={**sides.columns, PERIOD: replace(period, codes=period.codes[2:])})
    matched = match(sides, PERIOD, frozenset(ignore))
    means_before, means_since = (side(matched, code) for code in (0, 1))
    ratios = group_ratios(means_since, means_before, matched)
    ratio_numbers = {
        int(group): number
        for number, group in enumerate(ratios.groups)
        if min(means_before.n[group], means_since.n[group]) >= SIDE_RUNS_MIN
    }
    means = {group: log_mean(pick(ratios, np.array([number]))) for group, number in ratio_numbers.items()}
    p = dict(zip(means, holm_where_known([_one_sided_p(mean, slowdown_max) for mean in means.values()]), strict=True))
    results = []
    for group, first_row in _first_rows(matched.groups.of_row, matched.positions).items():
        mean = means.get(group)
        ratio = mean.ratio if mean is not None else None
        verdict = _verdict(mean, p.get(group))
        counts = int(means_before.n[group]), int(means_since.n[group])
        results.append(SlowdownResult(int(rows[first_row]), verdict, *counts, ratio, p.get(group)))
    return sorted(results, key=lambda result: -result.ratio.value if result.ratio else 0.0)


def _present_level(table: RunTable, period: Mask, ignore: Collection[str]) -> Mask:
    """Return which rows of a period are of the present level of their configuration: after its last change."""
    rows = np.flatnonzero(period)
    is_present_level = np.zeros(len(table), dtype=np.bool_)
    if not len(rows):
        return is_present_level
    part = table.subset(period)
    last_changes = {history.position: history.changes[-1].index for history in histories(part, ignore=ignore).changed}
    for series in run_series(part, ignore):
        is_present_level[rows[series.rows[last_changes.get(int(series.rows[0]), 0) :]]] = True
    return is_present_level


def _first_rows(groups: Ints, positions: Ints) -> dict[int, int]:
    """Return the first row of each group."""
    first: dict[int, int] = {}
    for group, row in zip(groups.tolist(), positions.tolist(), strict=True):
        first[group] = min(row, first.get(group, row))
    return first


def _one_sided_p(mean: LogMean | None, slowdown_max: float) -> float | None:
    """Return the p value of a true slowdown of at most ``slowdown_max``."""
    if mean is None:
        return None
    excess = mean.mean - float(np.log1p(slowdown_max))
    p = two_sided_p(excess, mean.error, mean.degrees, mean.rounding)
    return None if p is None else p / 2 if excess > 0 else 1 - p / 2


def _verdict(mean: LogMean | None, p: float | None) -> SlowdownVerdict:
    if mean is None or p is None or mean.p is None:
        return SlowdownVerdict.FEW_RUNS
    if p < ERROR_MAX:
        return SlowdownVerdict.EXCEEDED
    if mean.p < ERROR_MAX:
        return SlowdownVerdict.SLOWER if mean.mean > 0 else SlowdownVerdict.FASTER
    return SlowdownVerdict.NOT_DISTINGUISHABLE
