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
    NO_SESSION,
    SideSessions,
    sequence_of,
    session_numbers,
    side_sessions,
)
from assay.foundation.units import format_percent
from assay.model import CodedWarning, Origin, Run, WarningCode

_UNKNOWN_STARTS_MAX = 0.5
"""Maximum mean share of groups with an unknown start for which the order of runs counts as known."""


def two_sides(baseline: Sequence[Run], candidate: Sequence[Run]) -> tuple[SideSessions, SideSessions]:
    """Return the runs of two sides with their sessions, and with the default variance between sessions."""
    runs, n = (*baseline, *candidate), len(baseline)
    starts_unix_s = np.array([started_unix_s(run) for run in runs])
    names = ([run.campaign_id for run in runs], [run.cluster for run in runs])
    campaign, cluster = (np.unique(of_runs, return_inverse=True)[1] for of_runs in names)
    session = session_numbers(starts_unix_s, campaign.astype(np.int64), cluster.astype(np.int64))
    session[[run.origin in (Origin.SIMULATED, Origin.PREDICTED) for run in runs]] = NO_SESSION
    sequence, one_group = sequence_of(session, starts_unix_s), np.zeros(len(runs), dtype=np.int64)
    b, c = (
        side_sessions(one_group[side], session[side], sequence[side], one_group[:1], DEFAULT_SPREAD)
        for side in (slice(None, n), slice(n, None))
    )
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
