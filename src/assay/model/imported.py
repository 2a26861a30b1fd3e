"""What a parser of foreign results hands over: runs that somebody else made, and what it could not take.

A format rarely tells everything. What it does not tell is absent here too (None, empty, or left out of a mapping),
never guessed; ``sources`` of the run says where each figure was read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

from assay.model.plan import LAYOUT_FACTOR
from assay.model.run import Origin, Run, RunStatus, Task
from assay.model.trace import Trace


@dataclass(frozen=True, slots=True)
class Found:
    """One run of an imported file. The import gives ``run`` its id, its campaign and its place, unless it has an id."""

    key: str
    """What makes it this run within its format: a job id, a table's row as text. The same in a longer copy of the file,
    so that importing that one adds only what is new. Two runs of one import may share a key; their order tells them
    apart."""
    where: str
    """``file:line`` or ``file: entry``, for messages."""
    run: Run
    tasks: tuple[Task, ...] = ()
    trace: Trace | None = None


@dataclass(frozen=True, slots=True)
class Left:
    """Something that was not taken, where it stands, and why, in words that say what is wrong with it."""

    where: str
    why: str


_FIELDS = tuple(field.name for field in fields(Run))
_PLACES = {name: place for place, name in enumerate(_FIELDS)}
_ALL = attrgetter(*_FIELDS)


def like(run: Run, **own: Any) -> Run:
    """Return a copy of a run with some fields of its own: ``dataclasses.replace``, in a third of the time."""
    values = list(_ALL(run))
    for name, value in own.items():
        values[_PLACES[name]] = value
    return Run(*values)


SOURCE_ID_LENGTH_MAX = 100
"""Of a source's own id of a run; a longer text is none."""


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
    **more: Any,
) -> Run:
    """Return a run as a foreign file tells it; ``more`` are further fields of :class:`Run`.

    ``layout``: one of ALOJA's codes or a name; empty when unknown. ``levels``: factors that are no engine parameters,
    such as ``network``. ``parameters``: engine parameters under Hadoop's or Spark's current names. ``started_at``: ISO
    8601 in UTC; empty when unknown.
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
    known = {LAYOUT_FACTOR: layout} if layout else {}
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
        levels={**known, **(levels or {})},
        parameters=dict(parameters or {}),
        started_at=started_at,
        duration_s=duration_s,
        data_bytes=data_bytes,
        **(fields | more),
    )
