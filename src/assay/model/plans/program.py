"""Programs that an engine runs, how they ended, and the files on the distributed file system."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

SPARK_JOBS_PACKAGE = "io.github.assay.spark."
"""Package of assay's own Spark programs, from the sources in java/spark-jobs."""
JOBS_PACKAGE = "io.github.assay.jobs."
"""Package of the programs that are assay's own: what stock Hadoop lacks, from the sources in java/jobs."""
_FRAME = re.compile(r"^\s*(at \S+\(|\.\.\. \d+ more|$)")
_TROUBLE = re.compile(r"Exception|Error\b|error:|FAILED|No space left|Killed", re.IGNORECASE)
_WORDS_MAX = 300


@dataclass(frozen=True, slots=True)
class Program:
    """One program to run on an engine: of Hadoop a Java class, its arguments, and its ``-D`` options."""

    main_class: str
    arguments: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    """Configuration properties that the program needs in addition to the run's."""
    engine: str = "hadoop"
    """The engine that runs the program. An engine that uses the daemons of another also runs the other's programs."""
    tools: tuple[str, ...] = ()
    """Names of programs shipped with assay that its tasks call."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a program ended. ``counters``: the last job's, by group and name; ``output``: what the client printed."""

    exit_status: int
    output: str
    counters: Mapping[str, Mapping[str, int]]
    failed_tasks: int
    duration_s: float
    timed_out: bool = False
    """It did not end within its time limit, and was ended."""
    host_lost: bool = False
    """Its host went out of reach; whether it ended is not known."""

    def counter(self, name: str) -> int | None:
        """Return a counter's value whatever its group; None when there is none of that name."""
        return next((group[name] for group in self.counters.values() if name in group), None)

    def last_words(self, most: int = 3) -> list[str]:
        """Return the last lines that report an error, else the last lines; without stack frames and repeats."""
        lines = [line.strip()[:_WORDS_MAX] for line in self.output.splitlines() if not _FRAME.match(line)]
        return list(dict.fromkeys([line for line in lines if _TROUBLE.search(line)] or lines))[-most:]


@dataclass(frozen=True, slots=True)
class StoredFiles:
    """The files below a path: their number, bytes of one copy, bytes of all replicas."""

    files: int
    length_bytes: int
    replica_bytes: int
