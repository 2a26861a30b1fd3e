"""Separate the effect of a session on run times from the effect of a factor's level.

In: the runs of the two options of a comparison, each with its group, session and number in the order of runs, and the
logarithms of their times. Out: the imbalance of the two options over sessions, and the variance between sessions.

A session is a stretch of time on one cluster: runs of one campaign without a pause of :data:`SESSION_PAUSE_S_MIN`.
Machines, networks and neighbours differ between sessions, so all runs of a session are faster or slower together, and
more runs of the same session do not average this effect out. If the two options alternate in a session, as in the
blocks of a plan, its effect cancels in their ratio. If all runs of one option precede those of the other, each stretch
of runs of one option counts as a separate session; *unit* means either. Runs of other options and other workloads do
not matter: two options that alternate with a third, or on other workloads, but not with each other, can differ because
the session changed between them. Runs with an unknown start form one unit for each group and option.

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
STRETCHES_MIN = 3
"""Minimum number of stretches of two options at which they alternate: one of them ran before and after the other."""
UNKNOWN_SESSION = -1
"""The session of a run with an unknown start."""
NO_SESSION = -2
"""The session of a run that was not measured: all these runs share one unit, which cancels."""


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
    """The runs of one side with their sessions, in the order of ``sequence``."""

    of_group: Ints
    """The group of each run."""
    session: Ints
    """The session of each run, a number from 0; :data:`UNKNOWN_SESSION` or :data:`NO_SESSION` without one."""
    sequence: Ints
    """The number of each run when the runs of all sides are ordered by session and start."""
    workload: Ints
    """The workload of each group of the matched runs, also of groups without a run of this side."""
    spread: SessionVariance


def side_sessions(
    of_group: Ints, session: Ints, sequence: Ints, workload: Ints, spread: SessionVariance
) -> SideSessions:
    """Return the runs of a side, which are in any order."""
    order = np.argsort(sequence)
    return SideSessions(of_group[order], session[order], sequence[order], workload, spread)


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
    """Return the imbalance of the groups ``groups`` that have both sides.

    All runs of both sides on the workloads of these groups decide which sessions alternate.
    """
    sides, workload, count = (baseline, candidate), baseline.workload, len(groups)
    has_workload = np.zeros(int(workload.max(initial=0)) + 1, dtype=np.bool_)
    has_workload[workload[groups]] = True
    rows = [np.flatnonzero(has_workload[workload[runs.of_group]]) for runs in sides]
    sequence, of_group, session = (
        np.concatenate([column[kept] for column, kept in zip(columns, rows, strict=True)])
        for columns in zip(*((runs.sequence, runs.of_group, runs.session) for runs in sides), strict=True)
    )
    order = np.argsort(sequence, kind="stable")  # merges two sorted parts
    side = np.repeat([0, 1], [len(kept) for kept in rows])[order]
    of_group, session = of_group[order], session[order]
    units = session_units(session, side, of_group, workload[of_group])
    position = np.full(len(workload), -1, dtype=np.int64)
    position[groups] = np.arange(count)
    counted = np.flatnonzero(position[of_group] >= 0)
    of_group, units, side = position[of_group[counted]], units[counted], side[counted]
    unordered = np.bincount(of_group[session[counted] == UNKNOWN_SESSION], minlength=count) > 0
    order = np.lexsort((units, of_group))
    of_group, units, side = of_group[order], units[order], side[order]
    is_first = _pair_starts(of_group, units)
    entry, entry_group = np.cumsum(is_first) - 1, of_group[is_first]
    weights, contained = np.zeros(len(entry_group)), np.zeros(count)
    for code, sign in ((0, 1.0), (1, -1.0)):
        runs_of_entry = np.bincount(entry[side == code], minlength=len(entry_group))
        n = np.bincount(entry_group, weights=runs_of_entry, minlength=count)
        shares = runs_of_entry / np.maximum(n[entry_group], 1)
        weights += sign * shares
        squares = np.bincount(entry_group, weights=shares * shares, minlength=count)
        contained += np.where(n > 1, (1 - squares) / np.maximum(n - 1, 1), 0.0)
    uneven = np.abs(weights) > 1e-12
    return Imbalance(
        entry_group[uneven], units[is_first][uneven], weights[uneven], contained, unordered, baseline.spread
    )


def session_numbers(started_unix_s: Floats, campaign: Ints, cluster: Ints) -> Ints:
    """Return the session of each run, a number from 0; :data:`UNKNOWN_SESSION` if its start is unknown."""
    session = np.full(len(started_unix_s), UNKNOWN_SESSION, dtype=np.int64)
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


def sequence_of(session: Ints, started_unix_s: Floats) -> Ints:
    """Return the number of each run when the runs are ordered by session and start."""
    sequence = np.empty(len(session), dtype=np.int64)
    sequence[np.lexsort((started_unix_s, session))] = np.arange(len(session))
    return sequence


def session_units(session: Ints, side: Ints, of_group: Ints, workload: Ints) -> Ints:
    """Return the session unit of each run of two options, ordered by session and start.

    ``side``: 0 or 1, the option of each run. The unit is the session, if the two options alternate in the run's group,
    or if the group has a run of each and they alternate on the workload. Otherwise it is the stretch of consecutive
    runs of one option or, if the start is unknown, the option within the group.
    """
    units = np.where(session == NO_SESSION, NO_SESSION, NO_SESSION - 1 - (of_group * 2 + side))
    with_start = session >= 0
    session, side, of_group, workload = (values[with_start] for values in (session, side, of_group, workload))
    runs, stretches = _runs_and_stretches(session, of_group, side)
    _, stretches_on_workload = _runs_and_stretches(session, workload, side)
    group_alternates = stretches >= STRETCHES_MIN
    each_side_once = runs == stretches  # at most two runs where the group does not alternate
    uses_session = group_alternates | (each_side_once & (stretches_on_workload >= STRETCHES_MIN))
    stretch = int(session.max(initial=-1)) + np.cumsum(_pair_starts(session, side))
    units[with_start] = np.where(uses_session, session, stretch)
    return units


def _runs_and_stretches(session: Ints, part: Ints, side: Ints) -> tuple[Ints, Ints]:
    """Return, for each run, the number of runs and of stretches of one option in its part of its session."""
    order = np.argsort(session * (int(part.max(initial=0)) + 1) + part, kind="stable")
    session, part, side = session[order], part[order], side[order]
    begins_part = _pair_starts(session, part)
    number = np.cumsum(begins_part) - 1
    begins = begins_part | _pair_starts(number, side)
    runs, stretches = np.empty(len(order), dtype=np.int64), np.empty(len(order), dtype=np.int64)
    runs[order], stretches[order] = np.bincount(number)[number], np.bincount(number[begins])[number]
    return runs, stretches


def _pair_starts(group: Ints, level: Ints) -> Mask:
    """Return where a stretch of one group and one level (or unit) begins, in sorted runs."""
    begins = np.ones(len(group), dtype=np.bool_)
    begins[1:] = (group[1:] != group[:-1]) | (level[1:] != level[:-1])
    return begins


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
