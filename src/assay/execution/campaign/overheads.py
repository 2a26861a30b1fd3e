"""Measure the time that earlier campaigns spent outside their jobs.

In: a repository's folder of campaigns. Out: the median overheads of restarts, of a call's start and of runs, in
seconds.
"""

from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

from assay.execution.planning.forecast.estimate import RESTART_S, Overheads
from assay.store.campaigns.status import campaign_folders, object_in
from assay.store.campaigns.timeline import INPUT, JOB, RESTART, attempts_of, read_events

_CAMPAIGNS_READ_MAX = 20
"""Maximum number of campaigns from which overheads are estimated, newest first."""


def measured_overheads(campaigns: Path, cluster: str) -> Overheads:
    """Return the median overheads of restarts and runs in a repository's newest campaigns on ``cluster``."""
    restarts: list[float] = []
    call_starts: list[float] = []
    overheads_s: dict[str, list[float]] = {}
    for folder in campaign_folders(campaigns)[::-1][:_CAMPAIGNS_READ_MAX]:
        if object_in(folder / "campaign.json").get("cluster") != cluster:
            continue
        events = read_events(folder)
        call_starts += call_starts_s(events)
        for attempt in attempts_of(events):
            if (
                attempt.status != "valid"
                or attempt.ended_unix_s is None
                or attempt.step_s(JOB) <= 0
                or attempt.workload is None
            ):
                continue
            restarts += [step.took_s for step in attempt.steps if step.name == RESTART]
            overhead_s = attempt.ended_unix_s - attempt.began_unix_s - sum(map(attempt.step_s, (JOB, RESTART, INPUT)))
            overheads_s.setdefault(attempt.workload, []).append(max(0.0, overhead_s))
    extra_s = {workload: median(times) for workload, times in overheads_s.items()}
    call_start_s = median(call_starts) if call_starts else None
    return Overheads(median(restarts) if restarts else RESTART_S, extra_s, call_start_s)


def call_starts_s(events: Iterable[dict[str, Any]]) -> list[float]:
    """Return for each call the time from ``connect`` to ``start``, in seconds."""
    connected_s: float | None = None
    times: list[float] = []
    for event in events:
        if event["event"] == "connect":
            connected_s = event["at_unix_s"]
        elif event["event"] == "start" and connected_s is not None:
            times.append(max(0.0, event["at_unix_s"] - connected_s))
            connected_s = None
    return times
