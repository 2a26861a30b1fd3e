"""Define the events of task attempts, as all readers of job histories return them.

Times are milliseconds since 1970. Of an attempt's counters only :data:`COUNTERS` are kept.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Final, TypeAlias

from msgspec import Struct

COUNTERS: Final = (
    "HDFS_BYTES_READ",
    "HDFS_BYTES_WRITTEN",
    "FILE_BYTES_READ",
    "FILE_BYTES_WRITTEN",
    "SPILLED_RECORDS",
    "CPU_MILLISECONDS",
    "GC_TIME_MILLIS",
    "PHYSICAL_MEMORY_BYTES",
    "MAP_PHYSICAL_MEMORY_BYTES_MAX",
    "REDUCE_PHYSICAL_MEMORY_BYTES_MAX",
)
"""The counters of a task attempt that are kept."""
MEMORY_COUNTERS: Final = 3
"""Number of counters of memory, at the end of :data:`COUNTERS`."""
Counts: TypeAlias = tuple[int | None, ...]
HADOOP_GROUPS: Final = ("FileSystemCounter", "TaskCounter")
"""Endings of the names of Hadoop's counter groups; their beginnings differ between versions."""
STATUS: Final = {"FINISHED": "succeeded", "FAILED": "failed", "KILLED": "killed"}
STARTS: Final = frozenset({"MAP_ATTEMPT_STARTED", "REDUCE_ATTEMPT_STARTED"})
ENDS: Final = frozenset(f"{kind}_ATTEMPT_{outcome}" for kind in ("MAP", "REDUCE") for outcome in STATUS)


class AttemptStarted(Struct, frozen=True, gc=False):
    """The event that an attempt has started."""

    kind: str
    """``map`` or ``reduce``."""
    task_id: str
    attempt_id: str
    start_ms: int
    node: str


class AttemptEnded(Struct, frozen=True, gc=False):
    """The event that an attempt has ended. Values that it does not record are None."""

    kind: str
    status: str
    task_id: str
    attempt_id: str
    end_ms: int
    node: str | None
    shuffle_ms: int | None
    merge_ms: int | None
    counters: Counts | None
    """Values of :data:`COUNTERS`, None for an absent counter."""


def selected_counters(groups: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    """Return the counters that are kept, each from the first of Hadoop's groups that has it."""
    hadoop_groups = [group for key, group in groups.items() if key.endswith(HADOOP_GROUPS)]
    return {name: group[name] for group in reversed(hadoop_groups) for name in COUNTERS if name in group}


def counts_of(counters: Mapping[str, int]) -> Counts:
    """Return the values of :data:`COUNTERS`, None for an absent counter."""
    return tuple(counters.get(name) for name in COUNTERS)


def reorder(names: Sequence[str]) -> Callable[[Counts], Counts]:
    """Return a function that sorts counters into the order of :data:`COUNTERS`.

    Its argument has the values of ``names`` in their order, and a None after them for absent counters.
    """
    return itemgetter(*(names.index(name) if name in names else len(names) for name in COUNTERS))
