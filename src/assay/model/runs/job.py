"""The jobs of a run: MapReduce jobs, and the stages and executors of a Spark application.

Times are in seconds and count from the start of the run.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

HADOOP_GROUPS: Final = (
    "FileSystemCounter",
    "TaskCounter",
    "JobCounter",
    "FileInputFormatCounter",
    "FileSystemCounters",
    "Counter",
)
"""Last parts of the names of Hadoop's counter groups: of versions 2 and 3, then of version 1 (``Task$Counter``)."""


def hadoop_counter(counters: Mapping[str, Mapping[str, int]], name: str) -> int | None:
    """Return a counter of Hadoop's groups, from the first group that has it; None if all lack it.

    ``counters``: group to counter to value. Groups of programs are ignored: their counters can have the same names.
    """
    groups = (group for key, group in counters.items() if key.rpartition(".")[2].rpartition("$")[2] in HADOOP_GROUPS)
    return next((group[name] for group in groups if name in group), None)


@dataclass(frozen=True, slots=True)
class Job:
    """One job of a run, from its job history. Its attempts carry its ``job_id``."""

    job_id: str
    name: str
    status: str
    """``succeeded``, ``failed``, ``killed`` or ``error``."""
    submit_s: float
    launch_s: float | None
    """Time at which the ApplicationMaster finished the job's setup; None if the job ended before."""
    finish_s: float
    maps: int
    reduces: int
    counters: dict[str, dict[str, int]] = field(default_factory=dict)
    """Total counters of the job: group to counter to value; empty for a job that did not succeed."""

    def counter(self, name: str) -> int | None:
        """Return the total of a counter of Hadoop's groups, such as ``HDFS_BYTES_READ``; None if the job lacks it."""
        return hadoop_counter(self.counters, name)


@dataclass(frozen=True, slots=True)
class Stage:
    """One attempt of a Spark stage, with sums over its task attempts. Times are None if they are not recorded."""

    stage_id: int
    attempt: int
    name: str
    parents: tuple[int, ...]
    """Stages whose shuffle files it reads."""
    tasks: int
    start_s: float | None
    end_s: float | None
    failure: str | None
    read_bytes: int
    """From storage, or from Spark's cache."""
    written_bytes: int
    """To storage."""
    shuffle_read_bytes: int
    shuffle_write_bytes: int
    spilled_bytes: int
    """Spilled to disk."""
    gc_s: float
    peak_memory_bytes: int
    """Peak execution memory of one attempt."""


@dataclass(frozen=True, slots=True)
class Executor:
    """A Spark executor with task attempts, and sums over these."""

    executor_id: str
    node: str
    cores: int | None
    attempts: int
    busy_s: float
    gc_s: float
    spilled_bytes: int
    peak_memory_bytes: int
    """Peak execution memory of one attempt."""
    peak_heap_bytes: int | None
    """Peak heap in use; None if the log does not record it."""
