"""Hold the task attempts of a Spark application in columns of numbers: tens of bytes per attempt.

In: the ends of task attempts, in any order. Out: a sequence of :class:`~assay.model.TaskAttempt`, which makes each
object when it is read, so an application of millions of tasks fits in memory. An attempt is packed as one row of
``_FIELDS``; each block of rows becomes one array per field, of the smallest integer type that holds its values.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, overload

import numpy as np

from assay.model import TaskAttempt
from assay.store.formats.spark.event_forms import Metrics, ShuffleRead, TaskEnd, TaskStart

STATUSES: Final = ("succeeded", "failed", "killed")
SUCCEEDED, FAILED, KILLED = range(3)
_KINDS: Final = ("task", "shuffle_map", "result")
_KIND_OF_TYPE: Final = {"ShuffleMapTask": 1, "ResultTask": 2}
_CPU_RECORDED, _METRICS_RECORDED = 2, 1
"""Values of the field ``recorded``: metrics with CPU time, and without it; 0 is an attempt without metrics."""
_FIELDS: Final = {
    "number": "q",  # Spark's number of the attempt
    "stage": "i",
    "stage_attempt": "i",
    "partition": "i",
    "attempt": "i",
    "node": "i",
    "kind": "b",
    "status": "b",
    "recorded": "b",
    "launch_ms": "q",  # from the first row's launch, like the end
    "end_ms": "q",
    "read_bytes": "q",
    "written_bytes": "q",
    "local_read_bytes": "q",
    "local_written_bytes": "q",
    "cpu_ns": "q",
    "gc_ms": "q",
}
"""Field to its code in :mod:`struct` and NumPy."""
_ROW: Final = struct.Struct("<" + "".join(_FIELDS.values()))
_DTYPE: Final = np.dtype([(name, f"<{code}") for name, code in _FIELDS.items()])
_BLOCK_BYTES: Final = (1 << 16) * _ROW.size
_ROWS_PER_READ: Final = 1 << 13
"""Number of attempts that are converted to objects at a time."""
_INTEGERS: Final = tuple(np.iinfo(kind) for kind in (np.int8, np.int16, np.int32, np.int64))
_NO_METRICS: Final = Metrics()
_NO_READS: Final = ShuffleRead()

Column = np.ndarray[Any, np.dtype[np.signedinteger[Any]]]


class AttemptNumbers:
    """Numbers of attempts, as bits: Spark counts them up from 0."""

    def __init__(self) -> None:
        self._pages: dict[int, int] = {}

    def __contains__(self, number: int) -> bool:
        """Return whether the number was added."""
        return bool(self._pages.get(number >> 10, 0) >> (number & 1023) & 1)

    def add(self, number: int) -> bool:
        """Add a number; return whether it is new."""
        page, bit = number >> 10, 1 << (number & 1023)
        bits = self._pages.get(page, 0)
        self._pages[page] = bits | bit
        return not bits & bit


class Attempts(Sequence[TaskAttempt]):
    """Task attempts of an application, in columns."""

    def __init__(
        self, columns: Mapping[str, Column], nodes: Sequence[str], job_of_stage: Mapping[int, int], offset_ms: int
    ) -> None:
        self._columns = columns
        self._nodes = nodes
        self._jobs = {stage: str(job) for stage, job in job_of_stage.items()}
        self._offset_ms = offset_ms

    def __len__(self) -> int:
        """Return the number of attempts."""
        return len(self._columns["stage"])

    @overload
    def __getitem__(self, position: int) -> TaskAttempt: ...

    @overload
    def __getitem__(self, position: slice) -> tuple[TaskAttempt, ...]: ...

    def __getitem__(self, position: int | slice) -> TaskAttempt | tuple[TaskAttempt, ...]:
        """Return the attempt at a position, or the attempts of a slice."""
        if isinstance(position, slice):
            return tuple(self._objects(position))
        begin = range(len(self))[position]
        return next(self._objects(slice(begin, begin + 1)))

    def __iter__(self) -> Iterator[TaskAttempt]:
        """Yield each attempt."""
        for begin in range(0, len(self), _ROWS_PER_READ):
            yield from self._objects(slice(begin, begin + _ROWS_PER_READ))

    def __eq__(self, other: object) -> bool:
        """Return whether ``other`` has equal attempts in the same order."""
        return isinstance(other, Attempts) and len(self) == len(other) and all(map(TaskAttempt.__eq__, self, other))

    __hash__ = None  # type: ignore[assignment]

    def statuses(self) -> dict[str, int]:
        """Return the number of attempts by status."""
        return dict(zip(STATUSES, np.bincount(self._columns["status"], minlength=len(STATUSES)).tolist(), strict=True))

    def impossible_times(self) -> int:
        """Return the number of attempts that end before they start, or start before the application."""
        launch_ms, end_ms = self._columns["launch_ms"], self._columns["end_ms"]
        return int(np.count_nonzero((end_ms < launch_ms) | (launch_ms < -self._offset_ms)))

    def distinct_tasks(self) -> int:
        """Return the number of tasks: attempts of one partition in one attempt of a stage belong to one task."""
        if not len(self):
            return 0
        keys = [self._columns[name] for name in ("partition", "stage_attempt", "stage")]
        order = np.lexsort(keys)
        return 1 + int(np.count_nonzero(np.any([np.diff(key[order]) for key in keys], axis=0)))

    def _objects(self, rows: slice) -> Iterator[TaskAttempt]:
        nodes, jobs, offset_ms = self._nodes, self._jobs, self._offset_ms
        for row in zip(*(column[rows].tolist() for column in self._columns.values()), strict=True):
            stage, stage_attempt, partition, attempt, node, kind, status, recorded, launch_ms, end_ms = row[:10]
            read_bytes, written_bytes, local_read_bytes, local_written_bytes, cpu_ns, gc_ms = row[10:]
            task_id = f"{stage}.{stage_attempt}.{partition}"
            yield TaskAttempt(
                jobs.get(stage, ""),
                task_id,
                f"{task_id}.{attempt}",
                _KINDS[kind],
                nodes[node],
                STATUSES[status],
                (launch_ms + offset_ms) / 1000,
                (end_ms + offset_ms) / 1000,
                None,
                None,
                read_bytes,
                written_bytes,
                local_read_bytes,
                local_written_bytes,
                None,
                cpu_ns / 1e9 if recorded == _CPU_RECORDED else None,
                gc_ms / 1000 if recorded else None,
            )


class AttemptColumns:
    """A collector of task attempts in columns."""

    def __init__(self) -> None:
        self._rows = bytearray()
        self._blocks: dict[str, list[Column]] = {name: [] for name in _FIELDS}
        self._nodes: dict[str, int] = {}
        self._first_ms: int | None = None

    def add_ended(self, event: TaskEnd, status: int) -> None:
        """Add an attempt that ended."""
        info = event.info
        self._add(event, _KIND_OF_TYPE.get(event.type, 0), status, info.finish_ms or info.launch_ms, event.metrics)

    def add_unended(self, event: TaskStart, end_ms: int) -> None:
        """Add an attempt without an end as killed at ``end_ms``."""
        self._add(event, 0, KILLED, max(end_ms, event.info.launch_ms), None)

    def _add(
        self, event: TaskStart | TaskEnd, kind: int, status: int, end_ms: int, recorded_metrics: Metrics | None
    ) -> None:
        info, metrics = event.info, recorded_metrics or _NO_METRICS
        if self._first_ms is None:
            self._first_ms = info.launch_ms
        recorded = 0
        if recorded_metrics is not None:
            recorded = _METRICS_RECORDED if metrics.cpu_ns is None else _CPU_RECORDED
        self._rows += _ROW.pack(
            info.task_id,
            event.stage_id,
            event.stage_attempt,
            info.index,
            info.attempt,
            self._nodes.setdefault(info.host, len(self._nodes)),
            kind,
            status,
            recorded,
            info.launch_ms - self._first_ms,
            end_ms - self._first_ms,
            metrics.input.read_bytes if metrics.input else 0,
            metrics.output.written_bytes if metrics.output else 0,
            (metrics.shuffle_read or _NO_READS).local_bytes,
            (metrics.shuffle_write.written_bytes if metrics.shuffle_write else 0) + metrics.disk_spilled_bytes,
            (metrics.cpu_ns or 0) + metrics.deserialize_cpu_ns,
            metrics.gc_ms,
        )
        if len(self._rows) >= _BLOCK_BYTES:
            self._close_block()

    def _close_block(self) -> None:
        rows = np.frombuffer(bytes(self._rows), _DTYPE)
        for name, blocks in self._blocks.items():
            values = rows[name]
            minimum, maximum = int(values.min()), int(values.max())
            smallest = next(kind for kind in _INTEGERS if kind.min <= minimum and maximum <= kind.max)
            blocks.append(values.astype(smallest.dtype))
        self._rows = bytearray()

    def attempts(self, resubmitted_numbers: set[int], job_of_stage: Mapping[int, int], start_ms: int) -> Attempts:
        """Return the attempts by number. Resubmitted attempts count as killed. Times count from ``start_ms``."""
        if self._rows:
            self._close_block()
        blocks, columns = self._blocks, {}
        order = np.argsort(np.concatenate(blocks["number"]), kind="stable") if blocks["number"] else np.arange(0)
        for name in _FIELDS:
            columns[name] = np.concatenate(blocks.pop(name) or [np.zeros(0, np.int8)])[order]
        if resubmitted_numbers:
            columns["status"][np.isin(columns["number"], list(resubmitted_numbers))] = KILLED
        del columns["number"]
        return Attempts(columns, tuple(self._nodes), job_of_stage, (self._first_ms or 0) - start_ms)
