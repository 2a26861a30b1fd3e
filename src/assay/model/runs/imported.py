"""Results of format parsers: runs that other programs made, and skipped items.

A format rarely records everything. A fact that it does not record is absent here too (None, empty, or missing from a
mapping), never guessed. ``Run.sources`` names the source of each figure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any

from assay.model.plans.factor import LAYOUT_FACTOR
from assay.model.runs.origin import Origin
from assay.model.runs.run import Run
from assay.model.runs.run_status import RunStatus
from assay.model.runs.task_attempt import TaskAttempt
from assay.model.runs.traces.trace import Trace


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """One run of an imported file. The import assigns its id, campaign and position, unless the run has an id."""

    key: str
    """Key of the run within its format: a job id, or the text of a table row. A longer copy of the file gives the same
    key, so importing it adds only new runs. Two runs of one import may share a key; their order distinguishes them."""
    where: str
    """``file:line`` or ``file: entry``, for messages."""
    run: Run
    tasks: Sequence[TaskAttempt] = ()
    """Task attempts. For a large log, a sequence that creates each attempt when it is read."""
    trace: Trace | None = None
    memory_bytes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Kind of process (``map``, ``reduce``, ``executor``) to the peak memory of each, where the file records it."""
    is_streaming: bool = False
    """Whether the application processed a stream, so that its time does not depend on its work."""


@dataclass(frozen=True, slots=True)
class SkippedItem:
    """An item that was not imported, its location, and the reason."""

    where: str
    why: str


_FIELDS = tuple(field.name for field in fields(Run))
_POSITIONS = {name: position for position, name in enumerate(_FIELDS)}
_ALL = attrgetter(*_FIELDS)


def like(run: Run, **changes: Any) -> Run:
    """Return a copy of a run with changed fields: ``dataclasses.replace`` in a third of the time."""
    values = list(_ALL(run))
    for name, value in changes.items():
        values[_POSITIONS[name]] = value
    return Run(*values)


SOURCE_ID_LENGTH_MAX = 100
"""Maximum length of a source's run id, in characters."""


def foreign_run(
    *,
    workload: str,
    duration_s: float,
    status: RunStatus = RunStatus.VALID,
    cause: str | None = None,
    origin: Origin = Origin.MEASURED,
    engine: str = "hadoop",
    cluster: str = "",
    layout: str = "",
    levels: Mapping[str, str] | None = None,
    parameters: Mapping[str, str] | None = None,
    started_at: str = "",
    data_bytes: int | None = None,
    **other_fields: Any,
) -> Run:
    """Return a run with the fields that a foreign file records; ``other_fields``: further fields of :class:`Run`.

    ``layout``: an ALOJA code or a name; empty if unknown. ``levels``: factors other than engine parameters, for example
    ``network``. ``parameters``: engine parameters under Hadoop's or Spark's current names. ``started_at``: ISO 8601 in
    UTC; empty if unknown.
    """
    fields: dict[str, Any] = {
        "engine_version": "",
        "workload_parameters": {},
        "repetition": 1,
        "block": 0,
        "position": 0,
        "attempt": 1,
        "lab_scale": None,
        "cold": None,
        "plan": "",
    }
    layout_level = {LAYOUT_FACTOR: layout} if layout else {}
    return Run(
        run_id="",
        campaign_id="",
        origin=origin,
        status=status,
        cause=cause,
        cluster=cluster,
        engine=engine,
        workload=workload,
        layout=layout,
        levels={**layout_level, **(levels or {})},
        parameters=dict(parameters or {}),
        started_at=started_at,
        duration_s=duration_s,
        data_bytes=data_bytes,
        **(fields | other_fields),
    )
