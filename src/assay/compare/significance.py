"""Whether a difference is more than chance, how large it is, and how many runs would tell.

In: run times in seconds, or a table of runs. Out: p values with the smallest that so few runs can reach, effect sizes,
p values corrected for many comparisons, sets of levels that may be the best, and numbers of runs needed.

Sources: Mann and Whitney, Ann. Math. Stat. 18 (1947); N. Cliff, Psych. Bull. 114 (1993); S. Holm, Scand. J. Stat. 6
(1979); the set of those that may be the best is subset selection after S. S. Gupta, Technometrics 7 (1965); robust z
after B. Iglewicz and D. C. Hoaglin, How to Detect and Handle Outliers (1993).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.compare.matched import MatchedSets, Pairs, combined_or_named, log_mean, match, pairs, side, stratify
from assay.errors import SpecificationError
from assay.statistics.intervals import LEVEL, geometric_mean
from assay.statistics.keys import Floats
from assay.statistics.ranks import EXACT_ARRANGEMENTS_MAX, rank_test_p
from assay.statistics.run_table import RunTable

ALPHA = 0.05
LEVELS_MAX = 64
"""More levels than this are not compared each with each."""
RUNS_FIRST = 5
"""Stopping as soon as an interval is narrow favours lucky runs: there is none before this many (docs/adr/0005)."""
_UNKNOWN = (math.nan, math.nan)


@dataclass(frozen=True, slots=True)
class RankTest:
    """The two-sided Mann-Whitney test of two samples, with Cliff's delta."""

    p: float
    exact: bool
    """Whether every arrangement was counted; otherwise the normal approximation, which ties allow only beyond
    :data:`~assay.statistics.ranks.EXACT_ARRANGEMENTS_MAX` arrangements."""
    smallest_reachable_p: float
    """The smallest p that any order of these times, with these ties, can give."""
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

    The most extreme arrangement puts the smallest times on one side. Times that tie across that border can change
    places without changing the statistic, and each such arrangement counts.
    """
    pooled = np.sort(np.array([*baseline, *candidate]))
    n, total = len(baseline), len(pooled)
    ways = []
    for size in (n, total - n):
        border = pooled[size - 1]
        ties = int(np.count_nonzero(pooled == border))
        inside = size - int(np.searchsorted(pooled, border, side="left"))
        ways.append(math.comb(ties, inside))
    return min(1.0, 2 * min(ways) / math.comb(total, n))


def rank_test(baseline: Sequence[float], candidate: Sequence[float]) -> RankTest:
    """Return the Mann-Whitney test of two samples of run times. ValueError for an empty side."""
    delta = cliffs_delta(baseline, candidate)
    pooled = [*baseline, *candidate]
    tied = len(set(pooled)) < len(pooled)
    exact = not tied or math.comb(len(pooled), len(baseline)) <= EXACT_ARRANGEMENTS_MAX
    p, smallest = rank_test_p(baseline, candidate), smallest_p_with_ties(baseline, candidate)
    return RankTest(p, exact, smallest, delta, len(baseline), len(candidate))


def holm(p_values: ArrayLike) -> Floats:
    """Return p values corrected by Holm's method, in their order; they stay in the order of the plain ones."""
    p = np.asarray(p_values, dtype=np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("p values lie between 0 and 1")
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(raised, 1.0)
    return corrected


@dataclass(frozen=True, slots=True)
class BestSet:
    """Levels of a factor that may be the fastest: with 95 % confidence the fastest is among them."""

    group: str
    """The level of the grouping factor, such as the workload."""
    origin: str
    lab_scale: str | None
    factor: str
    front: str
    """The level that no other was measured to be faster than; where levels disagree, the one with fewest defeats."""
    may_be_best: tuple[str, ...]
    """The front and every level that is not shown to be slower than some other, in the order of their first run."""
    slower: dict[str, tuple[str, float]]
    """Every other level, with the level that beats it most clearly and the corrected p value."""
    never_compared: tuple[str, ...]
    """Levels among ``may_be_best`` that no matched set compares with any other: nothing is known of them."""


def _one_sided(found: Pairs) -> tuple[float, float]:
    """Return the log speedup of the second side over the first, and the p value of its not being faster."""
    mean = log_mean(found)
    if mean is None or not math.isfinite(mean.error):
        return (mean.mean if mean else math.nan), math.nan
    if mean.error < 1e-12:
        return mean.mean, 0.0 if mean.mean > 0 else 1.0
    from scipy.special import stdtr

    return mean.mean, float(stdtr(mean.degrees, -mean.mean / mean.error))


def indistinguishable_from_best(
    table: RunTable, factor: str | Sequence[str], *, by: str = "workload", ignore: frozenset[str] = frozenset()
) -> list[BestSet]:
    """Return which levels of ``factor`` may be the fastest, for each level of ``by``.

    Every level is compared with every other over matched sets (one-sided t). It drops out when some other is faster at
    5 % after Bonferroni's correction over its rivals: the truly fastest then stays in with 95 % confidence, however
    many levels there are, and no level is privileged for having been lucky. SpecificationError beyond
    :data:`LEVELS_MAX` levels.
    """
    table, factor = combined_or_named(table, factor)
    return best_of(match(table, factor, ignore), by)


def best_of(matched: MatchedSets, by: str = "workload") -> list[BestSet]:
    """Return the same of sets that are matched already."""
    table, factor = matched.table, matched.factor
    strata, column = stratify(matched, by), table.columns[factor]
    if len(column.levels) > LEVELS_MAX:
        raise SpecificationError(
            f"{factor} has {len(column.levels)} levels, too many to compare each with each (at most {LEVELS_MAX})",
            hint="filter the runs, for instance by workload or cluster",
        )
    sides = [side(matched, code) for code in range(len(column.levels))]
    found = []
    for stratum in range(len(strata.counts)):
        codes = [code for code in range(len(column.levels)) if strata.counts[stratum, code, 0] > 0]
        if codes:
            level = strata.levels(table, stratum)
            mine = [
                [
                    _UNKNOWN
                    if a == b
                    else _one_sided(strata.only(pairs(sides[a], sides[b], matched.deployment), stratum))
                    for b in codes
                ]
                for a in codes
            ]
            won = _tournament([column.levels[code] for code in codes], mine)
            found.append(
                BestSet(
                    group=level.get(by) or "",
                    origin=level.get("origin") or "",
                    lab_scale=level.get("lab_scale"),
                    factor=factor,
                    front=won.front,
                    may_be_best=won.may_be_best,
                    slower=won.slower,
                    never_compared=won.never_compared,
                )
            )
    return found


@dataclass(frozen=True, slots=True)
class _Tournament:
    front: str
    may_be_best: tuple[str, ...]
    slower: dict[str, tuple[str, float]]
    never_compared: tuple[str, ...]


def _tournament(names: list[str], outcome: list[list[tuple[float, float]]]) -> _Tournament:
    """Return who may be best; ``outcome[a][b]`` tells how much faster b is than a (log), and p; NaN: not known."""
    count = len(names)
    table: Floats = np.array(outcome, dtype=np.float64).reshape(count, count, 2)
    gain, p = table[:, :, 0], table[:, :, 1]
    rivals = np.count_nonzero(np.isfinite(p), axis=1)
    corrected: Floats = np.where(np.isfinite(p), np.minimum(p * rivals[:, None], 1.0), 2.0)
    clearest = corrected.min(axis=1)
    slower = {
        names[a]: (names[int(corrected[a].argmin())], float(clearest[a])) for a in range(count) if clearest[a] < ALPHA
    }
    with np.errstate(invalid="ignore"):
        defeats = np.count_nonzero(gain > 0, axis=1)
    compared = np.count_nonzero(np.isfinite(gain), axis=1) > 0
    front = min(range(count), key=lambda a: (names[a] in slower, not compared[a], defeats[a], a))
    alone = tuple(names[a] for a in range(count) if not compared[a] and count > 1)
    return _Tournament(names[front], tuple(name for name in names if name not in slower), slower, alone)


def half_width(durations_s: Sequence[float]) -> float:
    """Return the 95 % interval's upper half-width as a share of the geometric mean; infinite for one run."""
    found = geometric_mean(durations_s)
    return math.inf if found.high is None else found.high / found.value - 1


def precise_enough(durations_s: Sequence[float], wanted: float, first: int = RUNS_FIRST) -> bool:
    """Return whether repeating may stop: at least ``first`` runs, and a half-width of ``wanted`` or less."""
    return len(durations_s) >= first and half_width(durations_s) <= wanted


def runs_needed(durations_s: Sequence[float], wanted: float, at_most: int = 1000) -> int | None:
    """Return how many runs in all make the interval of the geometric mean as narrow as ``wanted`` (0.05: 5 %).

    From the present scatter, which is itself uncertain with few runs. None: not by ``at_most`` runs. ValueError for
    fewer than two runs, and unless ``wanted`` is positive.
    """
    if len(durations_s) < 2 or not wanted > 0:
        raise ValueError("an estimate needs two runs and a positive half-width")
    from scipy.special import stdtrit

    scatter = float(np.log(np.asarray(durations_s, dtype=np.float64)).std(ddof=1))
    n = np.arange(2, at_most + 1)
    enough = np.flatnonzero(stdtrit(n - 1, 0.5 + LEVEL / 2) * scatter / np.sqrt(n) <= math.log1p(wanted))
    return int(n[enough[0]]) if len(enough) else None
