"""Check the values of received runs: ranges of numbers, lengths and control characters of texts.

Runs of other repositories are shown and used in computations like local runs. A duration of 1e308 s would make every
mean infinite, and a terminal would execute an escape sequence in a cause.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from assay.analysis.statistics import RunTable
from assay.model import RUN_SCHEMA_VERSION, Run
from assay.text.control_characters import has_control_characters

TIME_MAX_S: Final = 1e9
"""Maximum of any time within a run, in seconds: some 32 years."""
COUNT_MAX: Final = 2**53
"""Maximum of a count or a size in bytes: up to here a double holds every integer."""
METRIC_MAX: Final = 1e30
"""Maximum absolute value of a metric, in its unit."""
_NAME_CHARACTERS_MAX: Final = 1_000
"""Maximum length of a name, in characters."""
_TEXT_CHARACTERS_MAX: Final = 50_000
"""Maximum length of a message, in characters."""
_STARTED_CHARACTERS_MAX: Final = 40
"""Maximum length of a start time, in characters."""


def out_of_range(run: Run) -> str | None:
    """Describe the first impossible value of a run; None if all values are possible."""
    return next(_problems(run), None)


def table_out_of_range(table: RunTable) -> str | None:
    """Describe the first impossible duration in a table of runs; None if all durations are possible."""
    durations_s = table.values["duration_s"]
    is_possible = (durations_s >= 0) & (durations_s <= TIME_MAX_S)
    if is_possible.all():
        return None
    return f"duration_s is {durations_s[np.flatnonzero(~is_possible)[0]]:g}, and must be from 0 to {TIME_MAX_S:g}"


def _problems(run: Run) -> Iterator[str]:
    counts = {name: getattr(run, name) for name in ("repetition", "block", "position", "attempt")}
    if run.data_bytes is not None:
        counts["data_bytes"] = run.data_bytes
    yield from _numbers(counts.items(), 0, COUNT_MAX)
    yield from _numbers([("schema_version", run.schema_version)], 1, RUN_SCHEMA_VERSION)
    yield from _numbers([("duration_s", run.duration_s)], 0, TIME_MAX_S)
    if run.lab_scale is not None and not 0 < run.lab_scale <= COUNT_MAX:
        yield f"lab_scale is {run.lab_scale:g}, and must be above 0"
    phase_times_s = [
        (f"phase {phase.name[:100]!r}", time_s) for phase in run.phases for time_s in (phase.start_s, phase.end_s)
    ]
    yield from _numbers(phase_times_s, -TIME_MAX_S, TIME_MAX_S)
    yield from _numbers(((f"metric {name}", value) for name, value in run.metrics.items()), -METRIC_MAX, METRIC_MAX)
    yield from _texts([("started_at", run.started_at)], _STARTED_CHARACTERS_MAX, many_lines=False)
    yield from _texts(_names(run), _NAME_CHARACTERS_MAX, many_lines=False)
    yield from _texts(_messages(run), _TEXT_CHARACTERS_MAX, many_lines=True)


def _numbers(values: Iterable[tuple[str, float]], minimum: float, maximum: float) -> Iterator[str]:
    for name, value in values:
        if not minimum <= value <= maximum:
            yield f"{name[:100]} is {value:g}, and must be from {minimum:g} to {maximum:g}"


def _texts(values: Iterable[tuple[str, str]], characters_max: int, *, many_lines: bool) -> Iterator[str]:
    for name, text in values:
        if len(text) > characters_max:
            yield f"{name[:100]} has {len(text):,} characters, and may have {characters_max:,}"
        if has_control_characters(text, many_lines=many_lines):
            yield f"{name[:100]} has control characters: {text[:100]!r}"


def _names(run: Run) -> Iterator[tuple[str, str]]:
    """Yield the fields that must be a single line."""
    for name in ("campaign_id", "plan", "cluster", "engine", "engine_version", "workload", "layout", "source_id"):
        yield name, getattr(run, name)
    for group in ("levels", "workload_parameters", "parameters", "metrics"):
        for key in getattr(run, group):
            yield f"a name in {group}", key
    yield from (("a level", level) for level in run.levels.values())
    yield from (("the name of a check", check.name) for check in run.checks)
    yield from (("the name of a phase", phase.name) for phase in run.phases)
    yield from (("the name of a job", job.name) for job in run.jobs)
    yield from (("the name of a node", cache.node) for cache in run.caches)
    yield from (("the name of an executor's node", executor.node) for executor in run.executors)


def _messages(run: Run) -> Iterator[tuple[str, str]]:
    """Yield the fields that may have several lines."""
    yield "cause", run.cause or ""
    yield from (("a warning", warning.words) for warning in run.warnings)
    yield from (("a check", check.detail) for check in run.checks)
    yield from (("a cache", cache.reason or "") for cache in run.caches)
    for group in (run.parameters, run.workload_parameters, run.sources):
        yield from group.items()
    yield from (("a stage", text) for stage in run.stages for text in (stage.name, stage.failure or ""))
