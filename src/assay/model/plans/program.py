"""Programs of an engine, their results, and files on the distributed file system."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

SPARK_JOBS_PACKAGE = "io.github.assay.spark."
"""Java package of assay's Spark programs (sources in java/spark-jobs)."""
JOBS_PACKAGE = "io.github.assay.jobs."
"""Java package of assay's Hadoop programs that stock Hadoop lacks (sources in java/jobs)."""
_FRAME = re.compile(r"^\s*(at \S+\(|\.\.\. \d+ more|$)")
_ERROR_LINE = re.compile(r"Exception|Error\b|error:|FAILED|No space left|Killed", re.IGNORECASE)
_LINE_CHARACTERS_MAX = 300


@dataclass(frozen=True, slots=True)
class Program:
    """A program for an engine. For Hadoop: a Java class, its arguments, and its ``-D`` options."""

    main_class: str
    arguments: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    """Configuration properties of the program, in addition to the properties of the run."""
    engine: str = "hadoop"
    """The engine that runs the program. An engine that uses the daemons of another engine can also run its programs."""
    tools: tuple[str, ...] = ()
    """Names of helper programs shipped with assay that the tasks call."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a program. ``counters``: of the last job, by group and name; ``output``: output of the client."""

    exit_status: int
    output: str
    counters: Mapping[str, Mapping[str, int]]
    failed_tasks: int
    duration_s: float
    timed_out: bool = False
    """Whether the program exceeded its time limit and was terminated."""
    host_lost: bool = False
    """Whether its host became unreachable. It is then unknown whether the program ended."""

    def counter(self, name: str) -> int | None:
        """Return the value of a counter in any group; None if it is missing."""
        return next((group[name] for group in self.counters.values() if name in group), None)

    def error_lines(self, count_max: int = 3) -> list[str]:
        """Return the last lines that report an error, else the last lines, without stack frames and repetitions."""
        lines = [line.strip()[:_LINE_CHARACTERS_MAX] for line in self.output.splitlines() if not _FRAME.match(line)]
        return list(dict.fromkeys([line for line in lines if _ERROR_LINE.search(line)] or lines))[-count_max:]


@dataclass(frozen=True, slots=True)
class StoredFiles:
    """The files below a path: number, bytes of one copy, and bytes of all replicas."""

    files: int
    length_bytes: int
    replica_bytes: int
