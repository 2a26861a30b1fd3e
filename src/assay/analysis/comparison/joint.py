"""Estimate all levels of a factor jointly over all matched groups, next to the estimate of each pair of levels.

In: matched groups. Out: for each workload the pairs of levels (the number of groups with both, and the speedup in these
groups), which levels are connected, and one fit of all levels over all groups (``analysis/statistics/blocks.py``).

Each row of a table of speedups is based on the groups with the baseline and that candidate. If these groups differ, two
rows can't be compared: 4.4 over 201 easy configurations and 3.3 over 60 hard configurations do not make the second
candidate slower. The two candidates are compared in the groups with both. In the joint estimate, every group counts
for all its levels, and levels without a common group are compared through other levels. It is unbiased if speedups
differ between groups at random, and biased if they depend on the levels that ran. With one candidate, or if all groups
have all levels, all three estimates are equal.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from assay.analysis.comparison.matched import (
    LogMean,
    MatchedGroups,
    Strata,
    allow_for_sessions,
    between_groups,
    sessions_of,
)
from assay.analysis.statistics import ABSENT, Estimate, Floats, InferenceScope, Ints, means_by
from assay.analysis.statistics.blocks import BlockFit, fit_blocks
from assay.analysis.statistics.cluster_strata import strata_of
from assay.analysis.statistics.sessions import SideSessions, imbalance

JOINT = "least squares over all matched groups, errors by group (CR2)"


@dataclass(frozen=True, slots=True)
class LevelPair:
    """Two levels with common matched groups: the speedup in these groups, and the joint estimate."""

    baseline: str
    candidate: str
    groups: int
    ratio: float
    """Time of ``baseline`` / time of ``candidate``."""
    low: float | None
    high: float | None
    """Ends of the 95 % interval for similar settings; None for one group."""
    joint: Estimate | None
    """The same speedup, estimated from all levels over all groups."""
    contradicted: bool = False
    """Whether the joint estimate is outside the interval of the groups with both levels. If so, use that interval."""


@dataclass(frozen=True, slots=True)
class LevelPairs:
    """The pairs of levels of one workload, or of another part of the runs."""

    group: str
    origin: str
    lab_scale: str | None
    levels: tuple[str, ...]
    pairs: tuple[LevelPair, ...]
    parts: tuple[tuple[str, ...], ...]
    """Levels that groups connect, directly or through other levels. Levels of different parts are not compared."""
    same_groups: bool
    """Whether all rows against the baseline have the same groups, so that rows can be compared."""


@dataclass(frozen=True, slots=True)
class LevelNetwork:
    """Levels, and pairs of levels with their matched groups, over all workloads."""

    levels: tuple[str, ...]
    pairs: tuple[tuple[str, str, int], ...]


def network_of(parts: Iterable[LevelPairs]) -> LevelNetwork | None:
    """Return the network of all groups; None for fewer than three levels."""
    groups: dict[tuple[str, str], int] = {}
    levels: dict[str, None] = {}
    for group in parts:
        levels |= dict.fromkeys(group.levels)
        for pair in group.pairs:
            first, second = sorted((pair.baseline, pair.candidate))
            groups[first, second] = groups.get((first, second), 0) + pair.groups
    edges = tuple((first, second, number) for (first, second), number in sorted(groups.items()) if number)
    return LevelNetwork(tuple(levels), edges) if len(levels) > 2 and edges else None


@dataclass(frozen=True, slots=True)
class Fit:
    """All levels of one part of the runs, estimated jointly over all its matched groups."""

    codes: Ints
    """The levels (codes of the factor) that occur."""
    logs: Floats
    """Mean log times, groups × levels; NaN if the group has no run of the level."""
    rounding: Floats
    """Maximum error of the mean log time of each level because times are rounded."""
    blocks: BlockFit
    groups: Ints
    """The group of each row of ``logs``."""
    sides: tuple[SideSessions, ...]
    """The runs of each level with their sessions."""
    cluster: Ints
    """The cluster of each row of ``logs``; empty if clusters are compared, or may differ within a group."""

    def contrasts(self, first: Ints, second: Ints) -> list[LogMean | None]:
        """Return the log speedups of ``second`` over ``first`` (indices of levels); None for unconnected levels."""
        estimates = self.blocks.contrasts(first, second)
        rounding = self.rounding[first] + self.rounding[second]
        columns = zip(
            *(x.tolist() for x in (first, second, estimates.mean, estimates.error, estimates.degrees)), strict=True
        )
        return [
            self.with_sessions(LogMean(mean, error, degrees, JOINT, InferenceScope.SIMILAR, float(rounding_max)), a, b)
            if np.isfinite(mean)
            else None
            for (a, b, mean, error, degrees), rounding_max in zip(columns, rounding, strict=True)
        ]

    def tree_of_pairs(self) -> Iterator[tuple[int, Ints, Floats]]:
        """Yield pairs of levels that connect all levels, those with most common groups first.

        Each pair is a level (code), the rows of ``logs`` with both levels, and the log speedup in each. It is the
        maximum spanning tree (J. B. Kruskal, Proc. Am. Math. Soc. 7, 1956).
        """
        has_level = np.isfinite(self.logs)
        first, second = np.triu_indices(len(self.codes), 1)
        common = (has_level[:, first] & has_level[:, second]).sum(axis=0)
        tree = np.arange(len(self.codes))
        for pair in np.argsort(-common, kind="stable"):
            a, b = int(first[pair]), int(second[pair])
            if common[pair] == 0 or tree[a] == tree[b]:
                continue
            tree[tree == tree[b]] = tree[a]
            rows = np.flatnonzero(has_level[:, a] & has_level[:, b])
            yield int(self.codes[a]), rows, self.logs[rows, a] - self.logs[rows, b]

    def with_sessions(self, mean: LogMean, first: int, second: int, strata: Ints | None = None) -> LogMean:
        """Return the log speedup with an error that includes the variance between sessions.

        ``strata``: of each group that has both levels, if the error comes from the spread within strata.
        """
        has_level = np.isfinite(self.logs)
        has_both = has_level[:, first] & has_level[:, second]
        rows = has_both if has_both.any() else has_level[:, first] | has_level[:, second]
        session_imbalance = imbalance(self.sides[first], self.sides[second], self.groups[rows])
        return allow_for_sessions(mean, session_imbalance, session_imbalance.beyond_groups(strata))

    def against(self, baseline: int) -> Mapping[int, Estimate]:
        """Return the speedup of every level over ``baseline`` (codes), for similar settings."""
        baseline_index = np.flatnonzero(self.codes == baseline)
        if len(baseline_index) == 0:
            return {}
        other_indices = np.flatnonzero(self.codes != baseline)
        means = self.contrasts(np.repeat(baseline_index, len(other_indices)), other_indices)
        return {
            int(self.codes[index]): mean.ratio
            for index, mean in zip(other_indices, means, strict=True)
            if mean is not None
        }


def fit_strata(matched: MatchedGroups, strata: Strata) -> list[Fit]:
    """Return the fit of each stratum, in their order."""
    levels = len(matched.table.columns[matched.factor].levels)
    parts = [_cells(matched, code) for code in range(levels)]
    groups, logs, rounding = (np.concatenate([part[index] for part in parts]) for index in range(3))
    level = np.repeat(np.arange(levels), [len(part[0]) for part in parts])
    stratum = strata.of_group[groups]
    order = np.argsort(stratum, kind="stable")
    bounds = np.searchsorted(stratum[order], np.arange(len(strata.counts) + 1))
    sides = [sessions_of(matched, code) for code in range(levels)]
    stratum_fits = []
    for index in range(len(strata.counts)):
        rows = order[bounds[index] : bounds[index + 1]]
        codes, code_index = np.unique(level[rows], return_inverse=True)
        stratum_groups, of_group = np.unique(groups[rows], return_inverse=True)
        table = np.full((len(stratum_groups), len(codes)), np.nan)
        table[of_group, code_index] = logs[rows]
        rounding_of_level = means_by(rounding[rows], code_index, len(codes)).mean
        block_fit = fit_blocks(of_group, code_index, logs[rows], len(codes))
        cluster = matched.cluster[stratum_groups] if len(matched.cluster) else matched.cluster
        stratum_fits.append(
            Fit(
                codes,
                table,
                rounding_of_level,
                block_fit,
                stratum_groups,
                tuple(sides[code] for code in codes),
                cluster,
            )
        )
    return stratum_fits


def _cells(matched: MatchedGroups, level: int) -> tuple[Ints, Floats, Floats]:
    """Return the groups with a level, its mean log time in each, and the maximum error of that from rounding."""
    rows = slice(int(matched.starts[level]), int(matched.starts[level + 1]))
    of_group, count = matched.groups.of_row[rows], matched.groups.count
    n = np.bincount(of_group, minlength=count)
    groups = np.flatnonzero(n)
    logs = np.bincount(of_group, weights=matched.logs[rows], minlength=count)[groups] / n[groups]
    return groups, logs, np.bincount(of_group, weights=matched.rounding[rows], minlength=count)[groups] / n[groups]


def level_pairs(matched: MatchedGroups, strata: Strata, stratum_fits: list[Fit], baseline: str) -> list[LevelPairs]:
    """Return the pairs of levels of each stratum that has any."""
    column = matched.table.columns[matched.factor]
    rows = []
    for stratum, fit in enumerate(stratum_fits):
        pairs = _pairs(fit, column.levels, column.code(baseline))
        if pairs:
            level = strata.levels(matched.table, stratum)
            rows.append(
                LevelPairs(
                    group=(level.get(strata.by) or "") if strata.by else "",
                    origin=level.get("origin") or "",
                    lab_scale=level.get("lab_scale"),
                    levels=tuple(column.levels[code] for code in fit.codes),
                    pairs=tuple(pairs),
                    parts=_parts(fit, column.levels),
                    same_groups=_same_groups(fit, column.code(baseline)),
                )
            )
    return rows


def speedup_of_pair(fit: Fit, first: int, second: int) -> tuple[int, LogMean | None]:
    """Return the number of groups with both levels (indices in the fit), and the speedup of the second in these."""
    log_ratios = fit.logs[:, first] - fit.logs[:, second]
    common_groups = np.flatnonzero(np.isfinite(log_ratios))
    if not len(common_groups):
        return 0, None
    strata = strata_of(fit.cluster[common_groups] if len(fit.cluster) else fit.cluster, len(common_groups))
    mean = between_groups(
        log_ratios[common_groups], np.full(len(common_groups), fit.rounding[first] + fit.rounding[second]), strata
    )
    return len(common_groups), fit.with_sessions(mean, first, second, strata)


def contradicts(direct: LogMean | None, joint: LogMean | None) -> bool:
    """Return whether the joint estimate is outside the interval of the groups that have both levels.

    Gains then differ between groups, for example from cluster to cluster, and the groups that have both levels count.
    """
    if direct is None or joint is None or (ratio := direct.ratio).low is None or ratio.high is None:
        return False
    return not ratio.low <= joint.ratio.value <= ratio.high


def _pairs(fit: Fit, levels: tuple[str, ...], baseline: int) -> list[LevelPair]:
    """Return all pairs of levels with common groups; pairs with the baseline come first and are against it."""
    order = np.argsort(fit.codes != baseline, kind="stable")
    first, second = (order[indices] for indices in np.triu_indices(len(order), 1))
    pairs = []
    for a, b, mean in zip(first.tolist(), second.tolist(), fit.contrasts(first, second), strict=True):
        groups, direct = speedup_of_pair(fit, a, b)
        if direct is not None:
            ratio, joint = direct.ratio, mean.ratio if mean is not None else None
            names = levels[int(fit.codes[a])], levels[int(fit.codes[b])]
            pairs.append(
                LevelPair(*names, groups, ratio.value, ratio.low, ratio.high, joint, contradicts(direct, mean))
            )
    return pairs


def _parts(fit: Fit, levels: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the levels that are connected, the largest part first."""
    parts: dict[int, list[str]] = {}
    for code, part in zip(fit.codes.tolist(), fit.blocks.part.tolist(), strict=True):
        parts.setdefault(part, []).append(levels[code])
    return tuple(tuple(part) for part in sorted(parts.values(), key=len, reverse=True))


def _same_groups(fit: Fit, baseline: int) -> bool:
    """Return whether every group with the baseline and some other level has the same levels."""
    if baseline == ABSENT or baseline not in fit.codes:
        return True
    has_level = np.isfinite(fit.logs)
    compared_rows = has_level[has_level[:, fit.codes == baseline][:, 0] & (has_level.sum(axis=1) > 1)]
    return bool((compared_rows == compared_rows[:1]).all())
