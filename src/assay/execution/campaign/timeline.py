"""Read a campaign's journal: its attempts with their steps, and the time spent outside the jobs.

In: a campaign's folder. Another process may be writing to it, and the last line may be incomplete. Out: attempts with
times in Unix seconds, and the median overheads of restarts, of a call's start and of runs, in seconds.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from assay.execution.campaign.journal import JOURNAL
from assay.execution.planning.forecast.estimate import RESTART_S, Overheads

JOB, RESTART, INPUT = "job", "restart", "input"
_CAMPAIGNS_READ_MAX = 20
"""Maximum number of campaigns from which overheads are estimated, newest first."""


@dataclass(frozen=True, slots=True)
class AttemptStep:
    """A completed step of an attempt."""

    name: str
    began_unix_s: float
    took_s: float


@dataclass(slots=True)
class Attempt:
    """One attempt in the journal; unknown values are None."""

    run: int
    """The planned run's index in the campaign, from 0."""
    number: int
    title: str
    began_unix_s: float
    left_s: float | None = None
    """Expected time for this attempt and all later attempts, estimated when it began, in seconds."""
    ended_unix_s: float | None = None
    status: str | None = None
    cause: str | None = None
    failure_class: str | None = None
    workload: str | None = None
    duration_s: float | None = None
    steps: list[AttemptStep] = field(default_factory=list)

    def step_s(self, name: str) -> float:
        """Return the total duration of the steps with this name."""
        return sum(step.took_s for step in self.steps if step.name == name)


def read_events(folder: Path) -> list[dict[str, Any]]:
    """Return the journal's events in order; skip damaged and incomplete lines."""
    try:
        content = (folder / JOURNAL).read_bytes()
    except OSError:
        return []
    events: list[dict[str, Any]] = []
    for line in content.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict) and isinstance(value.get("at_unix_s"), int | float) and "event" in value:
            events.append(value)
    return events


def attempts_of(events: Iterable[dict[str, Any]]) -> list[Attempt]:
    """Return the attempts in the journal, in order."""
    attempts: list[Attempt] = []
    for event in events:
        if event["event"] == "begin":
            attempts.append(
                Attempt(
                    run=event.get("run", -1),
                    number=event.get("attempt", 1),
                    title=str(event.get("title", "")),
                    began_unix_s=event["at_unix_s"],
                    left_s=event.get("left_s"),
                    workload=event.get("workload"),
                )
            )
            continue
        # A run is stored while the next run is prepared, so the event may belong to an earlier attempt.
        number = event.get("attempt")
        attempt = next(
            (
                candidate
                for candidate in reversed(attempts)
                if candidate.run == event.get("run") and number in (None, candidate.number)
            ),
            None,
        )
        if attempt is None:
            continue
        if event["event"] == "end":
            attempt.ended_unix_s, attempt.status = event["at_unix_s"], event.get("status")
            attempt.cause, attempt.failure_class = event.get("cause"), event.get("failure_class")
            attempt.duration_s = event.get("duration_s")
        elif event["event"] == "step":
            attempt.steps.append(
                AttemptStep(str(event.get("step")), event.get("began_unix_s", 0.0), event.get("took_s", 0.0))
            )
    return attempts


def measured_overheads(campaigns: Path, cluster: str) -> Overheads:
    """Return the median overheads of restarts and runs in a repository's newest campaigns on ``cluster``."""
    restarts: list[float] = []
    begins: list[float] = []
    extras: dict[str, list[float]] = {}
    for path in sorted(campaigns.glob("*/campaign.json"), reverse=True)[:_CAMPAIGNS_READ_MAX]:
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if not isinstance(stored, dict) or stored.get("cluster") != cluster:
            continue
        events = read_events(path.parent)
        begins += begins_s(events)
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
            extras.setdefault(attempt.workload, []).append(max(0.0, overhead_s))
    extra_s = {workload: median(times) for workload, times in extras.items()}
    begin_s = median(begins) if begins else None
    return Overheads(median(restarts) if restarts else RESTART_S, extra_s, begin_s)


def begins_s(events: Iterable[dict[str, Any]]) -> list[float]:
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
