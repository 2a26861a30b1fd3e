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
    restart_times_s: list[float] = []
    call_start_times_s: list[float] = []
    overheads_by_workload_s: dict[str, list[float]] = {}
    for folder in campaign_folders(campaigns)[::-1][:_CAMPAIGNS_READ_MAX]:
        if object_in(folder / "campaign.json").get("cluster") != cluster:
            continue
        events = read_events(folder)
        call_start_times_s += call_starts_s(events)
        for attempt in attempts_of(events):
            if (
                attempt.status != "valid"
                or attempt.ended_unix_s is None
                or attempt.step_s(JOB) <= 0
                or attempt.workload is None
            ):
                continue
            restart_times_s += [step.took_s for step in attempt.steps if step.name == RESTART]
            overhead_s = attempt.ended_unix_s - attempt.began_unix_s - sum(map(attempt.step_s, (JOB, RESTART, INPUT)))
            overheads_by_workload_s.setdefault(attempt.workload, []).append(max(0.0, overhead_s))
    extra_s = {workload: median(overheads_s) for workload, overheads_s in overheads_by_workload_s.items()}
    call_start_s = median(call_start_times_s) if call_start_times_s else None
    return Overheads(median(restart_times_s) if restart_times_s else RESTART_S, extra_s, call_start_s)


def call_starts_s(events: Iterable[dict[str, Any]]) -> list[float]:
    """Return for each call the time from ``connect`` to ``start``, in seconds."""
    connected_s: float | None = None
    start_times_s: list[float] = []
    for event in events:
        if event["event"] == "connect":
            connected_s = event["at_unix_s"]
        elif event["event"] == "start" and connected_s is not None:
            start_times_s.append(max(0.0, event["at_unix_s"] - connected_s))
            connected_s = None
    return start_times_s
