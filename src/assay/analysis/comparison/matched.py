"""Match runs that are equal in everything but one factor, and compare them: the core of every comparison.

In: runs as a table (durations in seconds). Out: matched groups, and means of log ratios over groups, with their errors.

Runs are in one **matched group** when every factor but the compared factor is equal. Within a group, the ratio is the
geometric mean time of the baseline / that of the candidate: above 1, the candidate is faster. Over groups it is the
geometric mean of the groups' ratios. So a level that mostly ran with more containers, or on an easier workload, has no
advantage, unlike in averages over all runs of a level, as published studies compute them (``claims/published.py``).
Only valid runs count, and no warm run if others of its group are cold. Origins and lab scales are never mixed in one
figure.

The interval of a mean depends on the number of groups. Every mean has its :class:`InferenceScope`.

- One group: Welch's t within the group, or Student's t on the log ratios of pairs if its runs pair within blocks
  (docs/adr/0003).
- Fewer than :data:`GROUPS_MIN` groups, all with repetitions on both sides: Welch's t within the groups. It covers the
  tested settings only (docs/adr/0005).
- Otherwise: Student's t on the groups' log ratios.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from assay.analysis.comparison.sampled_levels import SampledLevels
from assay.analysis.statistics import (
    ABSENT,
    DEPENDENT_PROPERTIES,
    Estimate,
    Floats,
    Groups,
    InferenceScope,
    Ints,
    Mask,
    Means,
    RunTable,
    combined,
    difference,
    estimate,
    first_rows,
    groups_by,
    has_level,
    level_of_group,
    log_errors_max_in,
    means_by,
    require_factor,
    satterthwaite,
    two_sided_p,
    usable,
    warm_among_cold,
)
from assay.analysis.statistics.cluster_strata import error_over_strata, strata_of
from assay.analysis.statistics.sessions import (
    NO_SESSION,
    Imbalance,
    SessionVariance,
    SideSessions,
    imbalance,
    learned_spread,
    sequence_of,
    side_sessions,
    widened,
)
from assay.foundation.errors import SpecificationError
from assay.model import Origin, RunStatus

GROUPS_MIN = 5
"""Minimum number of matched groups for an interval over groups (docs/adr/0003, 0005)."""
PAIRS_MIN = 5
"""Minimum number of blocks for pairing (docs/adr/0003)."""
PAIRED = "Student's t on paired log ratios"
OVER_MATCHED_GROUPS = "Student's t on log ratios of matched groups"
WITHIN_MATCHED_GROUPS = "Welch's t within matched groups: tested settings only"
OVER_DEPLOYMENTS = "Student's t on log ratios of deployments"
MEAN_OF_SPEEDUPS = "geometric mean of the groups' speedups, Satterthwaite's t"
COUNTED, FAILED, INVALID, WARM = range(4)
REASONS = ("counted", "failed", "invalid", "warm")
DEPLOYMENT = "campaign_id"
CLUSTER = "cluster"
WORKLOAD = "workload"
_MULTIPLE_MIN = 1e-9
"""Largest multiple of the variance between sessions that counts as zero."""
STRATA = ("origin", "lab_scale")
"""Columns whose levels are never mixed in one figure."""


@dataclass(frozen=True, slots=True)
class MatchedGroups:
    """The groups of a table for one factor; arrays are over the rows that count, sorted by level."""

    table: RunTable
    """All rows, also those that do not count."""
    factor: str
    why: NDArray[np.int8]
    """For each row of the table, the index of its reason in :data:`REASONS`."""
    positions: Ints
    """Rows of the table that count: valid, with a level of the factor, and not warm while others are cold."""
    starts: Ints
    """Start of each level in ``positions``, and the end of the last level."""
    table_groups: Groups
    """The group of every row of the table."""
    groups: Groups
    """The group of each row that counts."""
    logs: Floats
    rounding: Floats
    """Maximum error of each logarithm because times are rounded."""
    ignored: tuple[str, ...]
    deployment: Ints
    """The campaign of each group, if groups are within campaigns; else empty."""
    cluster: Ints
    """The cluster of each group; empty if clusters are compared, or may differ within a group."""
    session: Ints
    """The session of each row that counts (``analysis/statistics/sessions.py``)."""
    sequence: Ints
    """The number of each row that counts when these are ordered by session and start."""
    workload: Ints
    """The workload of each group; 0 for all groups if workloads are compared or ignored."""
    spread: SessionVariance
    """The differences between sessions."""


@dataclass(frozen=True, slots=True)
class GroupRatios:
    """Groups with both levels: their numbers, log ratios (baseline over candidate), and the data behind them."""

    groups: Ints
    log_ratio: Floats
    n: tuple[Ints, Ints]
    deployment: Ints
    """The campaign of each group, if campaigns are the unit; else empty."""
    variance_within: Floats
    """Variance of the log ratio from repetitions within the group; NaN when a side has one run."""
    degrees_within: Floats
    squares_within: Floats
    """Sum of squares of both sides' log times about their means; 0 when both have one run."""
    rounding: Floats
    """Maximum error of each log ratio because times are rounded."""
    sides: tuple[SideSessions, SideSessions] | None = None
    """The runs of both sides with their sessions; None if sessions do not count."""
    cluster: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """The cluster of each group; empty if clusters are compared, or may differ within a group."""

    @property
    def sessions(self) -> Imbalance | None:
        """The imbalance of the two sides over sessions; None if sessions do not count."""
        return imbalance(*self.sides, self.groups) if self.sides else None

    @property
    def cluster_strata(self) -> Ints:
        """The stratum of each group (``analysis/statistics/cluster_strata.py``)."""
        return strata_of(self.cluster, len(self.groups))


def match(
    table: RunTable,
    factor: str,
    ignore: frozenset[str] = frozenset(),
    *,
    deployments: bool = False,
    spread: SessionVariance | None = None,
) -> MatchedGroups:
    """Group runs that are equal in every factor except ``factor`` and those in ``ignore``.

    ``deployments``: runs of one group are also of one campaign, and campaigns are the unit of inference. ``spread``:
    the differences between sessions; None: estimated from these runs (:func:`session_spread`). Raises
    SpecificationError if no run has one of the factors, or if a stratum (origin, lab scale) would be ignored.
    """
    column = require_factor(table, factor)
    for name in sorted(ignore):
        require_factor(table, name)
    if ignore & set(STRATA) or factor in STRATA:
        raise SpecificationError("origins and lab scales are never mixed", hint="filter the runs first")
    excluded_names = {factor, *DEPENDENT_PROPERTIES.get(factor, ()), *ignore}
    names = [name for name in table.factors if name not in excluded_names]
    unit_columns = [DEPLOYMENT] if deployments and DEPLOYMENT in table.columns else []
    table_groups = groups_by(table, [*names, *unit_columns])
    is_usable = usable(table)
    why = np.where(is_usable, COUNTED, INVALID).astype(np.int8)
    why[has_level(table, "status", RunStatus.FAILED.value)] = FAILED
    why[warm_among_cold(table, table_groups, is_usable & (column.codes != ABSENT))] = WARM
    counted_rows = np.flatnonzero((why == COUNTED) & (column.codes != ABSENT))
    small_codes = column.codes[counted_rows].astype(np.int16 if len(column.levels) < 2**15 else np.int32)
    positions = counted_rows[np.argsort(small_codes, kind="stable")]
    starts = np.searchsorted(column.codes[positions], np.arange(len(column.levels) + 1))
    duration_s = table.values["duration_s"][positions]
    logs, rounding = np.log(duration_s), log_errors_max_in(table, positions, sides=2)
    groups = Groups(table_groups.of_row[positions], table_groups.count)
    deployment = level_of_group(table.columns[DEPLOYMENT], table_groups) if unit_columns else np.zeros(0, np.int64)
    cluster = level_of_group(table.columns[CLUSTER], table_groups) if CLUSTER in names else np.zeros(0, dtype=np.int64)
    workload = np.zeros(table_groups.count, dtype=np.int64)
    if WORKLOAD in names:
        workload = level_of_group(table.columns[WORKLOAD], table_groups) - ABSENT
    session = np.where(without_sessions(table)[positions], NO_SESSION, sessions_in(table, positions))
    return MatchedGroups(
        table=table,
        factor=factor,
        why=why,
        positions=positions,
        starts=starts,
        table_groups=table_groups,
        groups=groups,
        logs=logs,
        rounding=rounding,
        ignored=tuple(sorted(ignore)),
        deployment=deployment,
        cluster=cluster,
        session=session,
        sequence=sequence_of(session, table.values["started_unix_s"][positions]),
        workload=workload,
        spread=session_spread(table) if spread is None else spread,
    )


def session_spread(table: RunTable) -> SessionVariance:
    """Return the differences between sessions, estimated from all valid measured runs of a table."""
    rows = np.flatnonzero(usable(table) & ~without_sessions(table))
    session = sessions_in(table, rows)
    configurations = groups_by(table, table.factors).of_row[rows]
    return learned_spread(np.log(table.values["duration_s"][rows]), session, configurations)


def without_sessions(table: RunTable) -> Mask:
    """Return which rows have no session: simulated and predicted runs."""
    return has_level(table, "origin", Origin.SIMULATED) | has_level(table, "origin", Origin.PREDICTED)


def sessions_in(table: RunTable, rows: Ints) -> Ints:
    """Return the session of each of these rows, a number from 0; -1 if its start is unknown."""
    sessions = table.with_sessions().sessions
    assert sessions is not None, "a table of comparisons has the starts of its runs"
    return sessions[rows]


def side(matched: MatchedGroups, level: int) -> Means:
    """Return the mean log times of the runs of one level (a code of the factor) in each group."""
    rows = slice(int(matched.starts[level]), int(matched.starts[level + 1]))
    of_group, count = matched.groups.of_row[rows], matched.groups.count
    means = means_by(matched.logs[rows], of_group, count, matched.rounding[rows])
    return replace(means, sessions=sessions_of(matched, level))


def sessions_of(matched: MatchedGroups, level: int) -> SideSessions:
    """Return the runs of one level (a code of the factor) with their groups and sessions."""
    rows = slice(int(matched.starts[level]), int(matched.starts[level + 1]))
    of_group = matched.groups.of_row[rows]
    return side_sessions(of_group, matched.session[rows], matched.sequence[rows], matched.workload, matched.spread)


def group_ratios(b: Means, c: Means, matched: MatchedGroups | None = None) -> GroupRatios:
    """Return the groups that have runs on both sides, from each side's means by group.

    ``matched``: the source of the groups; without it, their deployments and clusters are unknown.
    """
    groups = np.flatnonzero((b.n > 0) & (c.n > 0))
    sides = (b.sessions, c.sessions) if b.sessions and c.sessions else None
    b, c = b.subset(groups), c.subset(groups)
    log_difference = difference(b, c)
    units = (matched.deployment, matched.cluster) if matched else (groups[:0], groups[:0])
    deployment, cluster = (unit[groups] if len(unit) else unit for unit in units)
    squares = sum(
        (np.where(means.n > 1, means.variance * (means.n - 1), 0.0) for means in (b, c)), np.zeros(len(groups))
    )
    return GroupRatios(
        groups=groups,
        log_ratio=log_difference.mean,
        n=(b.n, c.n),
        deployment=deployment,
        variance_within=log_difference.variance,
        degrees_within=log_difference.degrees,
        squares_within=squares,
        rounding=log_difference.rounding,
        sides=sides,
        cluster=cluster,
    )


@dataclass(frozen=True, slots=True)
class SessionPart:
    """The variance between sessions that is part of the error of a log speedup, and the error without it."""

    error: float
    """The standard error without the variance between sessions, with ``degrees`` of freedom."""
    degrees: float
    spread: SessionVariance
    unordered: float
    """Share of the groups that have a run with an unknown start."""


@dataclass(frozen=True, slots=True)
class LogMean:
    """A log speedup with its error (NaN if unknown), degrees of freedom, method, scope, and levels if they count."""

    mean: float
    error: float
    degrees: float
    method: str
    scope: InferenceScope
    rounding: float = 0.0
    """Maximum error of the mean because times are rounded: its interval is never narrower."""
    sessions: SessionPart | None = None
    """The part of the error that comes from sessions; None without one."""
    levels: SampledLevels | None = None

    @property
    def ratio(self) -> Estimate:
        """The speedup with its 95 % interval."""
        return estimate(self.mean, self.error, self.degrees, self.rounding)

    @property
    def within_sessions(self) -> Estimate:
        """The speedup with the interval without the variance between sessions."""
        part = self.sessions
        return estimate(self.mean, part.error, part.degrees, self.rounding) if part else self.ratio

    @property
    def p(self) -> float | None:
        """The two-sided p value for no difference, below 5 % exactly if the interval excludes 1."""
        return two_sided_p(self.mean, self.error, self.degrees, self.rounding)


def log_mean(ratios: GroupRatios) -> LogMean | None:
    """Return the log speedup over the groups of ``ratios``; None without a group."""
    if len(ratios.groups) == 0:
        return None
    if len(ratios.deployment):
        return over_deployments(ratios.log_ratio, ratios.deployment, ratios.rounding)
    strata = ratios.cluster_strata
    mean = over_groups(ratios.log_ratio, ratios.variance_within, ratios.degrees_within, ratios.rounding, strata)
    return with_sessions(mean, ratios.sessions, strata)


def with_sessions(mean: LogMean, sessions: Imbalance | None, strata: Ints | None = None) -> LogMean:
    """Return the mean over matched groups with an error that includes the variance between sessions."""
    if sessions is None:
        return mean
    multiple = sessions.beyond_groups(strata) if mean.scope is InferenceScope.SIMILAR else sessions.beyond_runs()
    return allow_for_sessions(mean, sessions, multiple)


def allow_for_sessions(mean: LogMean, sessions: Imbalance, multiple: float) -> LogMean:
    """Return the mean with ``multiple`` times the variance between sessions added to its error."""
    if multiple <= _MULTIPLE_MIN:
        return mean
    error, degrees = widened(mean.error, mean.degrees, multiple, sessions.spread)
    part = SessionPart(mean.error, mean.degrees, sessions.spread, float(sessions.unordered.mean()))
    return replace(mean, error=error, degrees=degrees, sessions=part)


def over_groups(
    log_ratio: Floats,
    variance_within: Floats,
    degrees_within: Floats,
    rounding: Floats | None = None,
    strata: Ints | None = None,
) -> LogMean:
    """Return the mean of the groups' log ratios with the error between groups, or for few groups within groups.

    ``variance_within``: variance of each log ratio, from the spread of its runs; NaN if unknown. ``degrees_within``:
    its degrees of freedom. ``rounding``: maximum error of each because times are rounded.
    """
    if len(log_ratio) < GROUPS_MIN and np.isfinite(variance_within).all():
        return within_groups(log_ratio, variance_within, degrees_within, rounding)
    return between_groups(log_ratio, rounding, strata)


def within_groups(
    log_ratio: Floats, variance_within: Floats, degrees_within: Floats, rounding: Floats | None = None
) -> LogMean:
    """Return the mean of the groups' log ratios with the error from the spread of their runs, for these groups only."""
    m, bound = len(log_ratio), 0.0 if rounding is None else float(rounding.mean())
    error, degrees = float(np.sqrt(variance_within.sum()) / m), satterthwaite(variance_within, degrees_within)
    return LogMean(float(log_ratio.mean()), error, degrees, WITHIN_MATCHED_GROUPS, InferenceScope.TESTED, bound)


def between_groups(log_ratio: Floats, rounding: Floats | None = None, strata: Ints | None = None) -> LogMean:
    """Return the mean of the groups' log ratios with the error from the spread of the groups, within ``strata``."""
    bound = 0.0 if rounding is None else float(rounding.mean())
    error, degrees = error_over_strata(log_ratio, strata)
    return LogMean(float(log_ratio.mean()), error, degrees, OVER_MATCHED_GROUPS, InferenceScope.SIMILAR, bound)


def over_blocks(b: Means, c: Means) -> LogMean | None:
    """Return the mean over blocks of the log ratio within each, from the means of one group's log times by block.

    None unless there are at least :data:`PAIRS_MIN` blocks, and all have one run on each side.
    """
    has_run = (b.n > 0) | (c.n > 0)
    m = np.count_nonzero(has_run)
    if m < PAIRS_MIN or not ((b.n[has_run] == 1) & (c.n[has_run] == 1)).all():
        return None
    log_ratio = b.mean[has_run] - c.mean[has_run]
    error, bound = float(log_ratio.std(ddof=1) / np.sqrt(m)), float((b.rounding + c.rounding)[has_run].mean())
    return LogMean(float(log_ratio.mean()), error, m - 1.0, PAIRED, InferenceScope.TESTED, bound)


def over_deployments(log_ratio: Floats, deployment: Ints, rounding: Floats | None = None) -> LogMean:
    """Return the mean over deployments of their mean log ratios.

    Runs of one deployment share its effect, so it counts once, regardless of its number of groups and runs.
    """
    _, deployment_index = np.unique(deployment, return_inverse=True)
    means = means_by(log_ratio, deployment_index, int(deployment_index.max()) + 1).mean
    n = len(means)
    error = float(means.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
    bound = 0.0 if rounding is None else float(rounding.mean())
    return LogMean(float(means.mean()), error, n - 1.0, OVER_DEPLOYMENTS, InferenceScope.OTHER_DEPLOYMENTS, bound)


def combine(parts: Sequence[LogMean]) -> LogMean:
    """Return the mean of log speedups with equal weights.

    Their errors are independent, except for the part from sessions: all speedups can come from the same two sessions.
    """
    count = len(parts)
    within_sessions = [part.sessions or part for part in parts]
    squared_errors = np.array([part.error**2 for part in within_sessions]) / count**2
    degrees = np.array([part.degrees for part in within_sessions])
    mean = float(np.mean([part.mean for part in parts]))
    bound = float(np.mean([part.rounding for part in parts]))
    error, total_degrees = float(np.sqrt(squared_errors.sum())), satterthwaite(squared_errors, degrees)
    independent_mean = LogMean(mean, error, total_degrees, MEAN_OF_SPEEDUPS, parts[0].scope, bound)
    session_errors = [
        np.sqrt(max(0.0, part.error**2 - uncorrected.error**2))
        for part, uncorrected in zip(parts, within_sessions, strict=True)
    ]
    shared_error = float(np.mean(session_errors))
    session_parts = [part.sessions for part in parts if part.sessions]
    if not session_parts or not shared_error > 0:
        return independent_mean
    variances = np.array([error**2, shared_error**2])
    degrees_of_both = np.array([total_degrees, min(part.spread.degrees for part in session_parts)])
    unordered = fmean(part.unordered for part in session_parts)
    return replace(
        independent_mean,
        error=float(np.sqrt(variances.sum())),
        degrees=satterthwaite(variances, degrees_of_both),
        sessions=replace(session_parts[0], error=error, degrees=total_degrees, unordered=unordered),
    )


def pick(ratios: GroupRatios, keep: Ints) -> GroupRatios:
    """Return some of the groups."""
    return GroupRatios(
        groups=ratios.groups[keep],
        log_ratio=ratios.log_ratio[keep],
        n=(ratios.n[0][keep], ratios.n[1][keep]),
        deployment=ratios.deployment[keep] if len(ratios.deployment) else ratios.deployment,
        variance_within=ratios.variance_within[keep],
        degrees_within=ratios.degrees_within[keep],
        squares_within=ratios.squares_within[keep],
        rounding=ratios.rounding[keep],
        sides=ratios.sides,
        cluster=ratios.cluster[keep] if len(ratios.cluster) else ratios.cluster,
    )


@dataclass(frozen=True, slots=True)
class Strata:
    """Strata of runs by origin, lab scale and level of ``by``; each has separate figures."""

    by: str | None
    names: tuple[str, ...]
    of_group: Ints
    """The stratum of each group; arbitrary for a group without a row that counts."""
    first_row: Ints
    counts: Ints
    """Runs by stratum, level of the factor, and reason."""

    def levels(self, table: RunTable, stratum: int) -> dict[str, str | None]:
        """Return the levels of a stratum, by column."""
        row = int(self.first_row[stratum])
        return {name: table.columns[name].text(row) for name in self.names}

    def only(self, ratios: GroupRatios, stratum: int) -> GroupRatios:
        """Return the ratios of one stratum."""
        return pick(ratios, np.flatnonzero(self.of_group[ratios.groups] == stratum))


def stratify(matched: MatchedGroups, by: str | None) -> Strata:
    """Return the strata of a table's runs and groups."""
    table, column = matched.table, matched.table.columns[matched.factor]
    names = tuple(name for name in dict.fromkeys((*STRATA, *([by] if by else []))) if name in table.columns)
    strata = groups_by(table, names)
    of_group = np.zeros(matched.groups.count, dtype=np.int64)
    of_group[matched.groups.of_row] = strata.of_row[matched.positions]
    levels = len(column.levels) + 1  # the last code is for rows without a level
    key = (strata.of_row * levels + np.where(column.codes == ABSENT, levels - 1, column.codes)) * len(REASONS)
    counts = np.bincount(key + matched.why, minlength=strata.count * levels * len(REASONS))
    return Strata(by, names, of_group, first_rows(strata), counts.reshape(strata.count, levels, len(REASONS)))


def combined_or_named(table: RunTable, factor: str | Sequence[str]) -> tuple[RunTable, str]:
    """Return the table and the factor's name; several names are combined into one factor first."""
    if isinstance(factor, str):
        return table, factor
    return combined(table, list(factor)), " + ".join(factor)
