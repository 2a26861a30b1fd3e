"""Limit a campaign's call: which runs, until when, and how long one run may take.

In: the texts of ``--only`` and ``--until``, planned runs. Out: filters and limits, in seconds and Unix seconds.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from assay.execution.planning.order import PlannedRun
from assay.foundation.errors import SpecificationError
from assay.foundation.units import format_duration, parse_duration
from assay.specs.fields import unknown

DEFAULT_TIMEOUT_S = 1800.0
"""Time limit of a run, in seconds, if the plan sets none and no comparable run is known."""
_CLOCK = re.compile(r"(?P<hour>\d{1,2}):(?P<minute>\d{2})")
_RUNS = re.compile(r"(?P<runs>\d{1,6})\s*runs?")


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """The maximum time of a run, and the source of this limit as text."""

    seconds: float
    why: str

    def __str__(self) -> str:
        """Return ``5 min 00 s: 4 × the longest of 3 comparable runs (62 s)``."""
        return f"{format_duration(self.seconds)}: {self.why}"


NO_HISTORY = TimeLimit(DEFAULT_TIMEOUT_S, "the default, because no comparable run is known")


@dataclass(frozen=True, slots=True)
class Stop:
    """When to stop starting runs: at a point in time, or after a number of runs."""

    text: str
    """The option's text: ``--until 18:30``."""
    at_unix_s: float | None = None
    runs: int | None = None

    def is_reached(self, runs_made: int, now_unix_s: float) -> bool:
        """Return whether no further run may start after ``runs_made`` runs of this call."""
        is_late = self.at_unix_s is not None and now_unix_s >= self.at_unix_s
        return is_late or (self.runs is not None and runs_made >= self.runs)


def parse_stop(text: str, now: datetime) -> Stop:
    """Parse ``18:30``, ``2h`` or ``12 runs`` at ``now`` (local time); a time of day that has passed is tomorrow's.

    Raises SpecificationError for other texts.
    """
    limit = text.strip()
    if match := _RUNS.fullmatch(limit):
        if runs := int(match["runs"]):
            return Stop(f"--until {limit}", runs=runs)
    elif match := _CLOCK.fullmatch(limit):
        hour, minute = int(match["hour"]), int(match["minute"])
        if hour < 24 and minute < 60:
            stop_time = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
            stop_time = stop_time if stop_time > now else stop_time + timedelta(days=1)
            return Stop(f"--until {limit}", at_unix_s=stop_time.timestamp())
    else:
        try:
            seconds = parse_duration(limit)
        except ValueError:
            seconds = 0.0
        if seconds > 0:
            return Stop(f"--until {limit}", at_unix_s=now.timestamp() + seconds)
    raise SpecificationError(
        f"{text!r} is not a time, duration or number of runs",
        where="--until",
        hint='write a time of day such as 18:30, a duration such as 2h or 90min, or "12 runs"',
    )


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected workloads, and the selected levels of factors; an empty selection contains all runs."""

    workloads: frozenset[str] = frozenset()
    levels: tuple[tuple[str, frozenset[str]], ...] = ()

    def contains(self, planned_run: PlannedRun) -> bool:
        """Return whether ``planned_run`` is selected."""
        if self.workloads and planned_run.workload.key not in self.workloads:
            return False
        return all(planned_run.configuration.levels[factor] in levels for factor, levels in self.levels)


def parse_selection(texts: Sequence[str], runs: Sequence[PlannedRun]) -> Selection:
    """Parse ``texts``, the values of ``--only``.

    Raises SpecificationError, with the valid choices, for a workload, factor or level that ``runs`` do not have.
    """
    workloads = list(dict.fromkeys(run.workload.key for run in runs))
    factors: dict[str, list[str]] = {}
    for run in runs:
        for factor, level in run.configuration.levels.items():
            if level not in factors.setdefault(factor, []):
                factors[factor].append(level)
    selected_workloads: set[str] = set()
    selected_levels: dict[str, set[str]] = {}
    for text in texts:
        factor, equals, level = (part.strip() for part in text.partition("="))
        if not equals:
            _require("workload", factor, [*workloads, *(f"{name}=LEVEL" for name in factors)], workloads)
            selected_workloads.add(factor)
        else:
            _require("factor", factor, list(factors), list(factors))
            _require(f"level of {factor}", level, factors[factor], factors[factor])
            selected_levels.setdefault(factor, set()).add(level)
    return Selection(
        frozenset(selected_workloads), tuple((factor, frozenset(names)) for factor, names in selected_levels.items())
    )


def _require(kind: str, name: str, choices: Sequence[str], valid_names: Sequence[str]) -> None:
    if name not in valid_names:
        raise SpecificationError(unknown(kind, name, choices), where="--only")
