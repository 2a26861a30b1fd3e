"""Programs that an engine runs, how they ended, and what lies on the distributed file system."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

OWN_SPARK = "io.github.assay.spark."
"""Package of assay's own Spark programs, from the sources in java/spark-jobs."""
OWN_JOBS = "io.github.assay.jobs."
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
    """Configuration properties that the program needs, beside the run's own."""
    engine: str = "hadoop"
    """Whose program it is. An engine that stands on another one's daemons runs the other's programs too."""
    tools: tuple[str, ...] = ()
    """Programs, by name, that come along with assay and that its tasks call."""


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
        """Return the last lines that tell of trouble, else the last ones; no stack frames, no repeats."""
        said = [line.strip()[:_WORDS_MAX] for line in self.output.splitlines() if not _FRAME.match(line)]
        return list(dict.fromkeys([line for line in said if _TROUBLE.search(line)] or said))[-most:]


@dataclass(frozen=True, slots=True)
class Stored:
    """What lies below a path: number of files, bytes of one copy, bytes of all replicas."""

    files: int
    length_bytes: int
    replica_bytes: int
