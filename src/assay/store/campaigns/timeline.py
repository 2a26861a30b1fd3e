"""Read a campaign's journal: its attempts with their steps.

In: a campaign's folder. Another process may be writing to it, and the last line may be incomplete. Out: attempts with
times in Unix seconds.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.store.campaigns.journal import JOURNAL

JOB, RESTART, INPUT = "job", "restart", "input"
"""Names of steps in the journal: the job itself, the restart of the daemons, the generation of input."""


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
