"""Report the effect of the variance between sessions on a comparison (``analysis/statistics/sessions.py``).

In: log speedups with the part of their errors from sessions. Out: whether sessions hide a difference, and the warnings.
"""

import math
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Protocol

import numpy as np

from assay.analysis.comparison.matched import SessionPart
from assay.analysis.statistics import started_unix_s
from assay.analysis.statistics.sessions import (
    DEFAULT_SPREAD,
    SideSessions,
    session_numbers,
    session_units,
    side_sessions,
)
from assay.foundation.units import format_percent
from assay.model import CodedWarning, Origin, Run, WarningCode

_UNKNOWN_STARTS_MAX = 0.5
"""Maximum mean share of groups with an unknown start for which the order of runs counts as known."""


def two_sides(baseline: Sequence[Run], candidate: Sequence[Run]) -> tuple[SideSessions, SideSessions]:
    """Return the sessions of the runs of two sides, with the default variance between sessions."""
    runs, n = (*baseline, *candidate), len(baseline)
    starts_unix_s = np.array([started_unix_s(run) for run in runs])
    names = ([run.campaign_id for run in runs], [run.cluster for run in runs])
    campaign, cluster = (np.unique(of_runs, return_inverse=True)[1] for of_runs in names)
    session = session_numbers(starts_unix_s, campaign.astype(np.int64), cluster.astype(np.int64))
    level = np.repeat([0, 1], [n, len(candidate)]).astype(np.int64)
    one_group = np.zeros(len(runs), dtype=np.int64)
    units = session_units(session, starts_unix_s, level, one_group)
    is_computed = np.array([run.origin in (Origin.SIMULATED, Origin.PREDICTED) for run in runs], dtype=np.bool_)
    units[is_computed] = len(runs) * 2  # runs that were not measured have no sessions: one common unit
    unordered = (session < 0) & ~is_computed
    sides = (slice(None, n), slice(n, None))
    b, c = (side_sessions(one_group[at], units[at], 1, unordered[at], DEFAULT_SPREAD) for at in sides)
    return b, c


class _HasSessions(Protocol):
    @property
    def sessions(self) -> SessionPart | None: ...


def session_warnings(means: Iterable[_HasSessions | None]) -> list[CodedWarning]:
    """Return warnings with the reason why intervals allow for sessions; none if they do not."""
    parts = [mean.sessions for mean in means if mean is not None and mean.sessions is not None]
    if not parts:
        return []
    spread = parts[0].spread
    size = format_percent(math.sqrt(spread.variance), 1)
    source = f"learned from {spread.sessions} sessions" if spread.is_learned else "assumed: too few sessions"
    reason = (
        "the order of runs is unknown"
        if fmean(part.unordered for part in parts) > _UNKNOWN_STARTS_MAX
        else "the options ran in different sessions"
    )
    return [CodedWarning(WarningCode.SESSIONS, f"{reason}; the intervals include a difference of {size} ({source})")]
