"""Separate the effect of a session on run times from the effect of a factor's level.

In: start times of runs, their campaign, cluster, group and level, and the logarithms of their times. Out: a session
unit for each run, the imbalance of two sides over these units, and the variance between sessions.

A session is a stretch of time on one cluster: runs of one campaign without a pause of :data:`SESSION_PAUSE_S_MIN`.
Machines, networks and neighbours differ between sessions, so all runs of a session are faster or slower together, and
more runs of the same session do not average this effect out. If a session alternates between levels, as the blocks of a
plan do, its effect cancels in their ratio. If it runs all of one level before the next, each stretch of one level
counts as a separate session; *unit* means either. Runs with an unknown start form one unit for each group and level.

For each unit, ``w`` is its share of the baseline's runs minus its share of the candidate's runs, averaged over groups.
Sessions then add ``sum(w**2)`` times the variance between sessions to the variance of a log ratio. The part that the
spread of runs or of groups already contains is subtracted (S. R. Searle, G. Casella and C. E. McCulloch, Variance
Components, 1992).

The variance between sessions is the mean square of session means around the mean of their configuration (one-way nested
analysis of variance); from :data:`ROBUST_MIN` configurations on, it is estimated by a median instead, which a few
broken sessions do not change. With fewer than :data:`DEGREES_MIN` degrees of freedom, :data:`DEFAULT_SPREAD` is used.
In ALOJA's dump of 2014, mean times of one configuration vary between sessions at least four hours apart with a robust
standard deviation of 9.5 % (250 degrees of freedom). Clusters differ in this, so the default is 11 % with four degrees
of freedom: 95 % intervals then hold if the sessions of a cluster differ by up to 15 %.
"""

from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics.arrays import Floats, Ints, Mask
from assay.analysis.statistics.blocks import connected_parts

SESSION_PAUSE_S_MIN = 4 * 3600.0
"""Minimum pause between two runs of a cluster that begins a new session, in seconds."""
DEGREES_MIN = 4.0
"""Minimum degrees of freedom to learn the variance between sessions from the runs."""
ROBUST_MIN = 20
"""Minimum number of configurations in several sessions for the robust estimate of the variance between sessions."""
RETURNS_MIN = 1.5
"""Minimum number of stretches per level at which a session alternates between its levels."""


@dataclass(frozen=True, slots=True)
class SessionVariance:
    """The variance of a session's effect on the logarithm of a time."""

    variance: float
    degrees: float
    noise: float
    """The part of ``variance`` that the spread of the runs within sessions explains."""
    sessions: int
    """Number of sessions behind the variance; 0 for the default."""

    @property
    def is_learned(self) -> bool:
        """Whether the variance was learned from runs; otherwise it is the default."""
        return self.sessions > 0


DEFAULT_SPREAD = SessionVariance(0.11**2, 4.0, 0.0, 0)


@dataclass(frozen=True, slots=True)
class SideSessions:
    """The spread of one side's runs over session units: entries of group, unit, and the unit's share of the runs."""

    groups: Ints
    units: Ints
    shares: Floats
    contained: Floats
    """Share of the sessions' variance that the squared standard error of each group's mean already contains."""
    unordered: Mask
    """Groups that have a run with an unknown start."""
    spread: SessionVariance


@dataclass(frozen=True, slots=True)
class Imbalance:
    """The imbalance of the two sides of each group over session units: entries of group, unit and weight."""

    groups: Ints
    """The group of each entry, numbered from 0 in the order of ``contained``."""
    units: Ints
    weights: Floats
    contained: Floats
    unordered: Mask
    spread: SessionVariance

    def subset(self, keep: Ints) -> "Imbalance":
        """Return the imbalance of some of the groups, with new numbers."""
        number = np.full(len(self.contained), -1, dtype=np.int64)
        number[keep] = np.arange(len(keep))
        is_kept = number[self.groups] >= 0
        return Imbalance(
            number[self.groups[is_kept]],
            self.units[is_kept],
            self.weights[is_kept],
            self.contained[keep],
            self.unordered[keep],
            self.spread,
        )

    @property
    def _squared_mean_weights(self) -> float:
        """The sum of the squares of the mean weight of each unit."""
        _, unit = np.unique(self.units, return_inverse=True)
        weights = np.bincount(unit, weights=self.weights) / len(self.contained)
        return float((weights * weights).sum())

    def beyond_runs(self) -> float:
        """Return the multiple of the sessions' variance that an error from the spread of runs lacks."""
        m = len(self.contained)
        return max(0.0, self._squared_mean_weights - float(self.contained.sum()) / m**2) if m else 0.0

    def beyond_groups(self, strata: Ints | None = None) -> float:
        """Return the multiple of the sessions' variance that an error from the spread of groups lacks.

        ``strata``: of each group, if the error comes from the spread within strata, which have two groups or more
        each.
        """
        m = len(self.contained)
        if m < 2:
            return self.beyond_runs()
        parts = [self]
        if strata is not None and strata.any():
            parts = [self.subset(np.flatnonzero(strata == number)) for number in np.unique(strata)]
        in_groups = sum((len(part.contained) / m) ** 2 * part.shown_by_groups for part in parts)
        return max(0.0, self._squared_mean_weights - in_groups)

    @property
    def shown_by_groups(self) -> float:
        """The multiple of the sessions' variance that the variance of the mean, estimated from the groups, already
        contains."""
        m = len(self.contained)
        return (float((self.weights * self.weights).sum()) - m * self._squared_mean_weights) / (m * (m - 1))


def imbalance(baseline: SideSessions, candidate: SideSessions, groups: Ints) -> Imbalance:
    """Return the imbalance of the groups ``groups`` that have both sides."""
    position = np.full(len(baseline.contained), -1, dtype=np.int64)
    position[groups] = np.arange(len(groups))
    of_group = position[np.concatenate((baseline.groups, candidate.groups))]
    units, weights = (
        np.concatenate((baseline.units, candidate.units)),
        np.concatenate((baseline.shares, -candidate.shares)),
    )
    has_both = of_group >= 0
    of_group, units, weights = of_group[has_both], units[has_both], weights[has_both]
    return imbalance_of(
        of_group,
        units,
        weights,
        (baseline.contained + candidate.contained)[groups],
        (baseline.unordered | candidate.unordered)[groups],
        baseline.spread,
    )


def imbalance_of(
    of_group: Ints, units: Ints, weights: Floats, contained: Floats, unordered: Mask, spread: SessionVariance
) -> Imbalance:
    """Return the imbalance of weights, each of a group and a unit: weights of one unit in one group are added up."""
    order = np.lexsort((units, of_group))
    of_group, units, weights = of_group[order], units[order], weights[order]
    is_first = _pair_starts(of_group, units)
    sums = np.bincount(np.cumsum(is_first) - 1, weights=weights, minlength=int(is_first.sum())).astype(np.float64)
    is_uneven = np.abs(sums) > 1e-12
    return Imbalance(
        of_group[is_first][is_uneven], units[is_first][is_uneven], sums[is_uneven], contained, unordered, spread
    )


def side_sessions(of_group: Ints, units: Ints, count: int, unordered: Mask, spread: SessionVariance) -> SideSessions:
    """Return how the runs of a side are spread; ``of_group``, ``units``: of each run, ``count``: number of all
    groups."""
    n = np.bincount(of_group, minlength=count)
    order = np.lexsort((units, of_group))
    ordered_group, ordered_unit = of_group[order], units[order]
    is_first = _pair_starts(ordered_group, ordered_unit)
    entry = np.cumsum(is_first) - 1
    entries = ordered_group[is_first]
    shares = np.bincount(entry, minlength=len(entries)) / np.maximum(n[entries], 1)
    squares = np.bincount(entries, weights=shares * shares, minlength=count)
    within_runs = np.where(n > 1, (1 - squares) / np.maximum(n - 1, 1), 0.0)
    has_unknown_start = np.bincount(of_group[unordered], minlength=count) > 0
    return SideSessions(entries, ordered_unit[is_first], shares, within_runs, has_unknown_start, spread)


def session_numbers(started_unix_s: Floats, campaign: Ints, cluster: Ints) -> Ints:
    """Return the session of each run, a number from 0; -1 if its start is unknown."""
    session = np.full(len(started_unix_s), -1, dtype=np.int64)
    dated_runs = np.flatnonzero(np.isfinite(started_unix_s))
    order = dated_runs[np.lexsort((started_unix_s[dated_runs], campaign[dated_runs], cluster[dated_runs]))]
    begins = np.ones(len(order), dtype=np.bool_)
    begins[1:] = (
        (np.diff(started_unix_s[order]) > SESSION_PAUSE_S_MIN)
        | (np.diff(campaign[order]) != 0)
        | (np.diff(cluster[order]) != 0)
    )
    session[order] = np.cumsum(begins) - 1
    return session


def session_units(session: Ints, started_unix_s: Floats, level: Ints, of_group: Ints) -> Ints:
    """Return the session unit of each run.

    It is the session, if the session alternates between the levels of the run's group. Otherwise it is the stretch of
    consecutive runs of one level or, if the start is unknown, the level within the group.
    """
    units = np.empty(len(session), dtype=np.int64)
    runs_with_start = np.flatnonzero(session >= 0)
    order = runs_with_start[np.lexsort((started_unix_s[runs_with_start], session[runs_with_start]))]
    begins = _pair_starts(session[order], level[order])
    stretch = np.cumsum(begins) - 1
    session_alternates = _alternates(session[order], level[order], begins)
    group = np.unique(
        of_group[runs_with_start] * (session.max(initial=0) + 1) + session[runs_with_start], return_inverse=True
    )[1]
    group_of_run = np.full(len(session), -1, dtype=np.int64)
    group_of_run[runs_with_start] = group
    order_in_groups = runs_with_start[np.lexsort((started_unix_s[runs_with_start], group))]
    begins_in_groups = _pair_starts(group_of_run[order_in_groups], level[order_in_groups])
    group_alternates = np.zeros(len(session), dtype=np.bool_)
    group_alternates[order_in_groups] = _alternates(
        group_of_run[order_in_groups], level[order_in_groups], begins_in_groups
    )
    each_level_once = np.zeros(len(session), dtype=np.bool_)  # one run of each level: the other groups decide
    stretches = np.bincount(group_of_run[order_in_groups[begins_in_groups]], minlength=int(group.max(initial=-1)) + 1)
    runs = np.bincount(group, minlength=len(stretches))
    each_level_once[runs_with_start] = (runs == stretches)[group] & ~group_alternates[runs_with_start]
    in_alternating_session = np.zeros(len(session), dtype=np.bool_)
    in_alternating_session[order] = session_alternates
    uses_session = group_alternates | (each_level_once & in_alternating_session)
    units[order] = np.where(uses_session[order], session[order], session.max(initial=0) + 1 + stretch)
    runs_without_start = np.flatnonzero(session < 0)
    levels = int(level.max(initial=0)) + 1
    units[runs_without_start] = -1 - (of_group[runs_without_start] * levels + level[runs_without_start])
    return units


def _pair_starts(group: Ints, level: Ints) -> Mask:
    """Return where a stretch of one group and one level (or unit) begins, in sorted runs."""
    begins = np.ones(len(group), dtype=np.bool_)
    begins[1:] = (group[1:] != group[:-1]) | (level[1:] != level[:-1])
    return begins


def _alternates(group: Ints, level: Ints, begins: Mask) -> Mask:
    """Return, for each run, whether its group has :data:`RETURNS_MIN` stretches per level."""
    count = int(group.max(initial=-1)) + 1
    stretches = np.bincount(group[begins], minlength=count)
    width = int(level.max(initial=0)) + 1
    cells = np.unique(group * width + level) // width
    levels = np.bincount(cells, minlength=count)
    alternates: Mask = (stretches >= RETURNS_MIN * levels)[group] & (levels > 1)[group]
    return alternates


def learned_spread(logs: Floats, session: Ints, configuration: Ints) -> SessionVariance:
    """Return the variance between sessions, from configurations that ran in several sessions, or else the default.

    A configuration connects the sessions in which it ran. Configurations share sessions, so the degrees of freedom are
    at most the number of these sessions, minus one for each connected group of sessions.
    """
    runs_with_start = np.flatnonzero(session >= 0)
    if not len(runs_with_start):
        return DEFAULT_SPREAD
    cell, cell_of_run = np.unique(
        np.stack((configuration[runs_with_start], session[runs_with_start])), axis=1, return_inverse=True
    )
    cell_of_run = cell_of_run.reshape(-1)
    n = np.bincount(cell_of_run)
    mean = np.bincount(cell_of_run, weights=logs[runs_with_start]) / n
    of_configuration = np.unique(cell[0], return_inverse=True)[1]
    cells = np.bincount(of_configuration)
    cells_in_several = np.flatnonzero((cells > 1)[of_configuration])
    if not len(cells_in_several):
        return DEFAULT_SPREAD
    sessions = np.unique(cell[1][cells_in_several])
    order = cells_in_several[np.argsort(of_configuration[cells_in_several], kind="stable")]
    bounds = np.flatnonzero(np.diff(of_configuration[order])) + 1
    sessions_of_configurations = np.split(np.searchsorted(sessions, cell[1][order]), bounds)
    parts = len(np.unique(connected_parts(sessions_of_configurations, len(sessions))))
    centre = np.bincount(of_configuration, weights=mean) / cells
    squares = np.bincount(of_configuration, weights=(mean - centre[of_configuration]) ** 2)[cells > 1]
    nested_degrees = float((cells[cells > 1] - 1).sum())
    sum_of_squares = nested_degrees * _variance_of(
        squares.astype(np.float64), (cells[cells > 1] - 1).astype(np.float64)
    )
    degrees = min(nested_degrees, float(len(sessions) - parts))
    if degrees < DEGREES_MIN:
        return DEFAULT_SPREAD
    sum_of_squares_within = float(((logs[runs_with_start] - mean[cell_of_run]) ** 2).sum())
    degrees_within = float((n - 1).sum())
    noise = (
        sum_of_squares_within / degrees_within * float((1 / n[cells_in_several]).mean())
        if degrees_within >= DEGREES_MIN
        else 0.0
    )
    return SessionVariance(
        sum_of_squares / nested_degrees, degrees, min(noise, sum_of_squares / nested_degrees), len(sessions)
    )


def _variance_of(squares: Floats, degrees: Floats) -> float:
    """Return the variance, estimated from sums of squares with their degrees of freedom.

    With :data:`ROBUST_MIN` sums or more, each sum is divided by the median of its chi-square distribution, and the
    median of these quotients is returned: a few broken sessions do not change it. With fewer, it is the mean square of
    all.
    """
    if len(squares) < ROBUST_MIN:
        return float(squares.sum() / degrees.sum())
    from scipy.special import chdtri

    return float(np.median(squares / chdtri(degrees, 0.5)))


def widened(error: float, degrees: float, multiple: float, spread: SessionVariance) -> tuple[float, float]:
    """Return a standard error and its degrees of freedom with ``multiple`` times the sessions' variance added.

    Both contain the spread of runs, which counts once. Degrees of freedom: F. E. Satterthwaite (1946).
    """
    if multiple <= 0 or not np.isfinite(error):
        return error, degrees
    between, noise = multiple * spread.variance, multiple * spread.noise
    squared_error = error * error
    total = max(squared_error + between - noise, squared_error, between)
    parts = between**2 / spread.degrees + (squared_error**2 / degrees if squared_error > 0 and degrees > 0 else 0.0)
    return float(np.sqrt(total)), float(total**2 / parts)
