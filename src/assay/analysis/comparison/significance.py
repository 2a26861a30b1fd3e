"""Test whether a difference is more than chance, measure its size, and estimate the number of runs needed.

In: run times in seconds, or a table of runs. Out: p values, the smallest p values that these numbers of runs can reach,
effect sizes, p values corrected for many comparisons, the fastest candidates, and numbers of runs needed.

Sources: Mann and Whitney, Ann. Math. Stat. 18 (1947); N. Cliff, Psych. Bull. 114 (1993); S. Holm, Scand. J. Stat. 6
(1979); the fastest candidates are found by subset selection after S. S. Gupta, Technometrics 7 (1965).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.analysis.comparison.dependence import (
    SharedDependences,
    allow_for_dependences,
    dependences_of,
    shared_dependences,
)
from assay.analysis.comparison.joint import Fit, contradicts, fit_strata, speedup_of_pair
from assay.analysis.comparison.matched import (
    GROUPS_MIN,
    LogMean,
    MatchedGroups,
    Strata,
    group_ratios,
    log_mean,
    side,
    stratify,
)
from assay.analysis.statistics import (
    LEVEL,
    Floats,
    InferenceScope,
    Ints,
    Means,
    estimate,
    is_exact,
    means_by,
    rank_test_p,
)
from assay.foundation.errors import SpecificationError

ALPHA = 0.05
"""Significance level of the tests for the fastest candidates."""
LEVELS_MAX = 64
"""Maximum number of levels that are compared in pairs."""
RUNS_FIRST = 5
"""Minimum number of runs before a campaign may stop: an early stop favours lucky runs (docs/adr/0005)."""
_UNKNOWN = (math.nan, math.nan)


@dataclass(frozen=True, slots=True)
class RankTest:
    """The two-sided Mann-Whitney test of two samples, with Cliff's delta."""

    p: float
    exact: bool
    """Whether every arrangement was counted; the normal approximation is used for very many runs with ties."""
    smallest_reachable_p: float
    """The smallest p of any order of these times, with these ties."""
    delta: float
    n_baseline: int
    n_candidate: int


def cliffs_delta(baseline: ArrayLike, candidate: ArrayLike) -> float:
    """Return P(baseline > candidate) - P(baseline < candidate) over all pairs of times: 1, all candidates faster."""
    b, c = np.asarray(baseline, dtype=np.float64), np.sort(np.asarray(candidate, dtype=np.float64))
    if len(b) == 0 or len(c) == 0:
        raise ValueError("both sides need a run")
    smaller = np.searchsorted(c, b, side="left").sum()
    larger = (len(c) - np.searchsorted(c, b, side="right")).sum()
    return float(smaller - larger) / (len(b) * len(c))


def smallest_p_with_ties(baseline: Sequence[float], candidate: Sequence[float]) -> float:
    """Return the smallest two-sided p of a rank test on these times in any order.

    The most extreme arrangement has the smallest times on one side. Times that tie across the border can be exchanged
    without changing the statistic, and each of these arrangements counts.
    """
    pooled = np.sort(np.array([*baseline, *candidate]))
    n, total = len(baseline), len(pooled)
    arrangements = []
    for size in (n, total - n):
        border = pooled[size - 1]
        ties = int(np.count_nonzero(pooled == border))
        inside = size - int(np.searchsorted(pooled, border, side="left"))
        arrangements.append(math.comb(ties, inside))
    return min(1.0, 2 * min(arrangements) / math.comb(total, n))


def rank_test(baseline: Sequence[float], candidate: Sequence[float]) -> RankTest:
    """Return the Mann-Whitney test of two samples of run times. ValueError for an empty side."""
    delta = cliffs_delta(baseline, candidate)
    p, smallest_p = rank_test_p(baseline, candidate), smallest_p_with_ties(baseline, candidate)
    p = max(p, smallest_p)  # the normal approximation can be below the p of every order of these times
    return RankTest(p, is_exact(baseline, candidate), smallest_p, delta, len(baseline), len(candidate))


@dataclass(frozen=True, slots=True)
class FastestLevels:
    """The levels of a factor that can be the fastest: with 95 % confidence, the fastest level is a candidate."""

    group: str
    """The level of the grouping factor, for example the workload."""
    origin: str
    lab_scale: str | None
    factor: str
    scope: InferenceScope
    """Whether the answer covers these configurations only, or similar configurations."""
    fastest: str
    """The level that no other level beats on average; if there is none, the level with fewest defeats."""
    fastest_candidates: tuple[str, ...]
    """``fastest``, and every level compared with it that is not significantly slower than another level."""
    slower: dict[str, tuple[str, float]]
    """Every other compared level, with the level that beats it most clearly and the corrected one-sided p value. These
    levels are not the fastest, but can be faster than the baseline."""
    never_compared: tuple[str, ...]
    """Levels that no matched group compares with ``fastest``, directly or through other levels."""


def _gain_and_p(mean: LogMean | None) -> tuple[float, float]:
    """Return the log speedup of the second side over the first, and the one-sided p value of no advantage."""
    p = None if mean is None else mean.p
    if mean is None or p is None:
        return (math.nan if mean is None else mean.mean), math.nan
    return mean.mean, p / 2 if mean.mean > 0 else 1 - p / 2


def fastest_levels(
    matched: MatchedGroups, by: str = "workload", stratum_fits: Sequence[Fit] | None = None
) -> list[FastestLevels]:
    """Return the fastest candidates among the levels of the groups' factor, for each level of ``by``.

    ``stratum_fits``: the result of :func:`~assay.analysis.comparison.joint.fit_strata`. Each pair of levels is
    compared over all matched groups together (one-sided t, ``joint.py``). If the result contradicts the groups that
    have both levels, these groups alone are used. The error allows for a factor on which the speedup depends, as in a
    decision. A level is excluded if another level is faster at 5 % after Bonferroni's correction over its rivals and
    over the groups of the answer. So, with 95 % confidence, the fastest level of every group is a candidate, for any
    number of levels and groups. With few groups, the answer for these configurations only is a separate entry. Raises
    SpecificationError for more than :data:`LEVELS_MAX` levels.
    """
    table, factor = matched.table, matched.factor
    strata, column = stratify(matched, by), table.columns[factor]
    if len(column.levels) > LEVELS_MAX:
        raise SpecificationError(
            f"{factor} has {len(column.levels)} levels, too many to compare all pairs (at most {LEVELS_MAX})",
            hint="filter the runs, for instance by workload or cluster",
        )
    stratum_fits = fit_strata(matched, strata) if stratum_fits is None else stratum_fits
    groups = sum(len(fit.codes) > 1 for fit in stratum_fits)
    shared = shared_dependences(matched, strata, stratum_fits)
    answers = []
    for stratum, fit in enumerate(stratum_fits):
        if len(fit.codes):
            level = strata.levels(table, stratum)
            for scope, outcome in _outcomes(matched, strata, stratum, fit, shared[stratum]):
                result = _tournament([column.levels[code] for code in fit.codes], outcome, fit.blocks.part, groups)
                answers.append(
                    FastestLevels(
                        group=level.get(by) or "",
                        origin=level.get("origin") or "",
                        lab_scale=level.get("lab_scale"),
                        factor=factor,
                        scope=scope,
                        fastest=result.fastest,
                        fastest_candidates=result.fastest_candidates,
                        slower=result.slower,
                        never_compared=result.never_compared,
                    )
                )
    return answers


Outcome = list[list[tuple[float, float]]]
"""For each pair of levels the log speedup of the second over the first, and its one-sided p."""


def _outcomes(
    matched: MatchedGroups, strata: Strata, stratum: int, fit: Fit, shared: Mapping[int, SharedDependences]
) -> Iterator[tuple[InferenceScope, Outcome]]:
    """Yield the outcome of all pairs for similar settings, and for the tested settings if groups are few."""
    common_groups = np.count_nonzero(np.isfinite(fit.logs).sum(axis=1) > 1)
    similar_settings = _similar_settings(matched, strata, stratum, fit, shared)
    if common_groups != 1:
        yield InferenceScope.SIMILAR, similar_settings
    if 0 < common_groups < GROUPS_MIN:
        tested_settings = _tested_settings(matched, strata, stratum, fit)
        has_p = any(math.isfinite(p) for row in tested_settings for _, p in row)
        if has_p or common_groups == 1:
            yield InferenceScope.TESTED, tested_settings


def _similar_settings(
    matched: MatchedGroups, strata: Strata, stratum: int, fit: Fit, shared: Mapping[int, SharedDependences]
) -> Outcome:
    count, sides = len(fit.codes), [side(matched, int(code)) for code in fit.codes]
    first, second = np.triu_indices(count, 1)
    outcome: Outcome = [[_UNKNOWN] * count for _ in range(count)]
    for a, b, mean in zip(first.tolist(), second.tolist(), fit.contrasts(first, second), strict=True):
        gain, p = _gain_and_p(mean)
        if mean is not None and min(p, 1 - p) < ALPHA:
            direct = speedup_of_pair(fit, a, b)[1]
            consistent_mean = direct if direct is not None and contradicts(direct, mean) else mean
            ratios = strata.only(group_ratios(sides[a], sides[b], matched), stratum)
            dependences = dependences_of(matched, ratios, shared.get(int(fit.codes[a]), {}))
            gain, p = _gain_and_p(allow_for_dependences(consistent_mean, ratios, dependences))
        outcome[a][b], outcome[b][a] = (gain, p), (-gain, 1 - p)
    return outcome


def _tested_settings(matched: MatchedGroups, strata: Strata, stratum: int, fit: Fit) -> Outcome:
    """Return the outcome for the few groups of one stratum, with the error within groups."""
    rows = np.flatnonzero(strata.of_group[matched.groups.of_row] == stratum)
    groups, of_row = np.unique(matched.groups.of_row[rows], return_inverse=True)
    codes = matched.table.columns[matched.factor].codes[matched.positions[rows]]
    sides = [
        means_by(matched.logs[rows[of_level]], of_row[of_level], len(groups), matched.rounding[rows[of_level]])
        for of_level in (np.flatnonzero(codes == code) for code in fit.codes)
    ]

    def outcome(a: Means, b: Means) -> tuple[float, float]:
        mean = log_mean(group_ratios(a, b))
        gain, p = _gain_and_p(mean)
        return gain, p if mean is not None and mean.scope is InferenceScope.TESTED else math.nan

    return [[_UNKNOWN if a is b else outcome(a, b) for b in sides] for a in sides]


@dataclass(frozen=True, slots=True)
class _Tournament:
    fastest: str
    fastest_candidates: tuple[str, ...]
    slower: dict[str, tuple[str, float]]
    never_compared: tuple[str, ...]


def _tournament(names: list[str], outcome: Outcome, part: Ints, groups: int) -> _Tournament:
    """Return the fastest candidates in the largest connected ``part`` of the levels.

    ``groups``: the number of groups of the answer, over which p values are corrected.
    """
    count = len(names)
    table: Floats = np.array(outcome, dtype=np.float64).reshape(count, count, 2)
    gain, p = table[:, :, 0], table[:, :, 1]
    rivals = np.count_nonzero(np.isfinite(p), axis=1)
    corrected_p: Floats = np.where(np.isfinite(p), np.minimum(p * rivals[:, None] * max(groups, 1), 1.0), 2.0)
    smallest_p = corrected_p.min(axis=1)
    with np.errstate(invalid="ignore"):
        defeats = np.count_nonzero(gain > 0, axis=1)
    sizes = np.array([np.count_nonzero(part == connected) for connected in part])
    fastest = min(range(count), key=lambda a: (-sizes[a], bool(smallest_p[a] < ALPHA), defeats[a], a))
    connected_levels = [a for a in range(count) if part[a] == part[fastest]]
    slower = {
        names[a]: (names[int(corrected_p[a].argmin())], float(smallest_p[a]))
        for a in connected_levels
        if smallest_p[a] < ALPHA
    }
    if len(connected_levels) == 1 and count > 1:
        return _Tournament(names[fastest], (), {}, tuple(names))
    unconnected_names = tuple(name for a, name in enumerate(names) if a not in connected_levels)
    return _Tournament(
        names[fastest], tuple(names[a] for a in connected_levels if names[a] not in slower), slower, unconnected_names
    )


def half_width(durations_s: Sequence[float]) -> float:
    """Return the 95 % interval's upper half-width as a share of the geometric mean; infinite for one run.

    It follows from the spread only: repetitions do not reduce the error from rounded times.
    """
    if len(durations_s) < 2:
        return math.inf
    logs = np.log(np.asarray(durations_s, dtype=np.float64))
    interval = estimate(0.0, float(logs.std(ddof=1)) / math.sqrt(len(logs)), len(logs) - 1.0)
    return math.inf if interval.high is None else interval.high - 1


def precise_enough(durations_s: Sequence[float], half_width_max: float, runs_min: int = RUNS_FIRST) -> bool:
    """Return whether there are at least ``runs_min`` runs with a half-width of at most ``half_width_max``."""
    return len(durations_s) >= runs_min and half_width(durations_s) <= half_width_max


def runs_needed(durations_s: Sequence[float], half_width_max: float, at_most: int = 1000) -> int | None:
    """Return the total number of runs for a half-width of ``half_width_max`` (0.05: 5 %) of the geometric mean.

    It follows from the present spread, which is uncertain with few runs. None: more than ``at_most`` runs. Raises
    ValueError for fewer than two runs, and unless ``half_width_max`` is positive.
    """
    if len(durations_s) < 2 or not half_width_max > 0:
        raise ValueError("an estimate needs two runs and a positive half-width")
    from scipy.special import stdtrit

    spread = float(np.log(np.asarray(durations_s, dtype=np.float64)).std(ddof=1))
    n = np.arange(2, at_most + 1)
    sufficient_indices = np.flatnonzero(
        stdtrit(n - 1, 0.5 + LEVEL / 2) * spread / np.sqrt(n) <= math.log1p(half_width_max)
    )
    return int(n[sufficient_indices[0]]) if len(sufficient_indices) else None
