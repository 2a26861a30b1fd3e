"""Define the declaration of a workload. Each workload is declared in a single module of this package.

It declares its name and title, its options, its data flow, its program on each engine, its input, and its validity
checks. Plan files, estimates, space checks, engines and reports read these declarations.

A workload never communicates with a host. It names programs; an engine runs them and returns an :class:`Outcome`; the
workload checks it, with access to the file system through :class:`FileSystem`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol, Self

from assay.model import (
    Check,
    CountedStream,
    Outcome,
    Program,
    ReferenceAnswers,
    ReferenceQueries,
    StoredFiles,
    TaskAttempt,
)
from assay.model.plans.engine_values import block_size_bytes
from assay.workloads.common.inputs import Input
from assay.workloads.data_flow import DataFlow

_COUNTS = ("files", "maps", "reduces", "iterations", "clusters", "seed")


class FileSystem(Protocol):
    """Read access of a workload to the distributed file system.

    Paths are absolute. Markers and hidden files (names that start with ``_`` or ``.``) are left out.
    """

    async def exists(self, path: str) -> bool:
        """Return whether there is a file or folder at ``path``."""

    async def stored(self, path: str) -> StoredFiles:
        """Return the number of files below ``path``, the bytes of one copy, and the bytes of all replicas."""

    async def paths(self, path: str) -> list[str]:
        """Return the paths of the files below ``path``; none if it does not exist."""

    async def read(self, path: str) -> bytes:
        """Return a small file's content."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option that a plan can give a workload: a whole number from ``minimum``, or one of ``choices``."""

    name: str
    help: str
    choices: tuple[str, ...] = ()
    minimum: int = 1


FILES = Option("files", "Number of files, each written or read by one map task.")
MAPS = Option("maps", "Number of map tasks that generate the data, which is also its number of files.")
REDUCES = Option("reduces", "Number of reduce tasks of the sorting or counting job.")
ITERATIONS = Option("iterations", "Number of iterations, each of them a job.")
PAYLOAD = Option(
    "payload",
    "Bytes written or sent: a pattern as in stock jobs, or random bytes, which can't be compressed.",
    ("pattern", "random"),
)
SEED = Option("seed", "Seed of everything random in generated data; the same seed makes the same data. 1 if left out.")


@dataclass(frozen=True, slots=True)
class Size:
    """A workload's parameters after scaling."""

    data_bytes: int
    replication: int
    files: int | None = None
    maps: int | None = None
    reduces: int | None = None
    iterations: int | None = None
    clusters: int | None = None
    seed: int = 1
    payload: str = "pattern"
    """``pattern``: as in stock jobs. ``random``: bytes from a seed, which can't be compressed."""
    block_bytes: int | None = None
    """Size of HDFS blocks, also of the input; None: the engine's default."""
    options: Mapping[str, str] = field(default_factory=dict, compare=False)
    """All options as in the plan."""
    parameters: Mapping[str, str] = field(default_factory=dict, compare=False)
    """The engine parameters of the run."""

    @classmethod
    def of(cls, data_bytes: int, replication: int, parameters: Mapping[str, str], options: Mapping[str, str]) -> Self:
        """Return the size from the plan's workload ``options`` (named as the fields), engine ``parameters`` and
        replication."""
        counts = {name: int(text) for name, text in options.items() if name in _COUNTS}
        block = parameters.get("dfs.blocksize")
        return cls(
            data_bytes,
            replication,
            payload=options.get("payload", "pattern"),
            block_bytes=block_size_bytes(block) if block else None,
            options=options,
            parameters=parameters,
            **counts,
        )


class WorkloadClass(StrEnum):
    """Class of a workload by its limit, as in published claims."""

    SHUFFLE_HEAVY = "shuffle-heavy"
    """At least as many bytes are shuffled as the workload has data."""
    CPU_BOUND = "CPU-bound"
    OTHER = "other"
    UNKNOWN = "unknown class"
    """The workload is not declared here, as for imported runs of other benchmarks."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A metric that a workload computes, with its source as text."""

    metric: str
    source: str


INPUT_BYTES = Figure("input_bytes", "length of the input in HDFS")
WRITTEN_BYTES = Figure("written_bytes", "length of the output in HDFS")


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """A workload's checks and metrics of an outcome."""

    checks: tuple[Check, ...]
    metrics: Mapping[str, float] = field(default_factory=dict)
    streams: tuple[CountedStream, ...] = ()
    """Counters of each stream; empty if only the job history has them."""
    logs: Mapping[str, bytes] = field(default_factory=dict)
    """Files behind the metrics, for the bundle."""
    failed_checker: Outcome | None = None
    """The outcome of a check program that could not run; the output is unchecked."""


@dataclass(frozen=True, slots=True)
class ValidationInput:
    """The data for a workload's checks in addition to the outcome."""

    files: FileSystem
    manifest: Mapping[str, int]
    """The counters in the input's manifest."""
    check_outcome: Outcome | None
    input_path: str | None
    reference: ReferenceAnswers | None = None
    """Reference answers of another program, if the workload requests them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadProgram(Program):
    """A workload and its size in place of a program, for an engine that only computes the time of a run.

    ``main_class`` is the workload's name.
    """

    size: Size
    seed: int = 1
    """Seed of random choices; repetitions have different seeds."""


def wave_options_of(options: Iterable[str]) -> tuple[str, ...]:
    """Return the options that ``waves`` sets by default: files, else reduces, else maps."""
    names = set(options)
    return next(((name,) for name in ("files", "reduces", "maps") if name in names), ())


class Workload(ABC):
    """A benchmark program with its input and validity checks. Defaults fit most workloads."""

    name: str
    """The name that plans use."""
    title: str
    """Name on screens and in reports."""
    options: tuple[Option, ...] = ()
    """Options that a plan can set, in addition to the data size."""
    flow: DataFlow
    """Bytes that one iteration moves for each byte of the data."""
    cpu_bound: bool = False
    """Whether the CPU, not disks and links, limits its tasks on the hardware of published studies."""
    outputs: tuple[str, ...] = ()
    """The paths that must not exist before the run, and that are removed after it."""
    streamed: Literal["hdfs_read_bytes", "hdfs_write_bytes"] | None = None
    """The field of :class:`TaskAttempt` with the bytes that its maps stream, if they do nothing else."""
    figures: tuple[Figure, ...] = ()
    """Metrics that the workload computes."""
    copies: int | None = None
    """Number of copies of its output, if it differs from HDFS's number of replicas."""
    copies_parameter: str | None = None
    """Engine parameter with the number of copies, if the program has a separate parameter."""

    @property
    def wave_options(self) -> tuple[str, ...]:
        """The options with the number of tasks, which ``waves`` sets: files, else reduces, else maps."""
        return wave_options_of(option.name for option in self.options)

    @property
    def workload_class(self) -> WorkloadClass:
        """Class of the workload: as declared, or else by its data flow."""
        if self.cpu_bound:
            return WorkloadClass.CPU_BOUND
        return WorkloadClass.SHUFFLE_HEAVY if self.flow.shuffled >= 1 else WorkloadClass.OTHER

    @property
    def engines(self) -> tuple[str, ...]:
        """Engines for which the workload has a program."""
        return tuple(self.programs(Size(1, 1), ""))

    def iterations(self, size: Size) -> int:
        """Return the number of passes over the data flow."""
        return size.iterations or self.flow.iterations

    def data_moved(self, size: Size, engine: str) -> DataFlow:  # noqa: ARG002 - most engines move the same
        """Return the bytes that a whole run moves for each byte of its data: the flow times the number of passes."""
        times = self.iterations(size)
        flow = self.flow
        return DataFlow(flow.read * times, flow.shuffled * times, flow.written * times)

    def data_bytes(self, size: Size) -> int:
        """Return the approximate number of bytes that a run of ``size`` processes."""
        return size.data_bytes

    def input(self, size: Size) -> Input | None:  # noqa: ARG002 - the same signature for all workloads
        """Return the input to generate before the run; None if it needs none."""
        return None

    @abstractmethod
    def programs(self, size: Size, input_path: str | None) -> Mapping[str, Program]:
        """Return engine name to the timed program."""

    def streamed_bytes(self, task: TaskAttempt) -> int:
        """Return the bytes that a task streamed, for the concurrency-gated aggregate.

        0 if the job's tasks alternate between reading, sorting and writing.
        """
        return getattr(task, self.streamed) if self.streamed and task.kind == "map" else 0

    def kept_outputs(self, size: Size) -> tuple[str, ...]:  # noqa: ARG002
        """Return the paths that must not exist before the run and that remain after it, as another workload's input."""
        return ()

    def output_copies(self, size: Size) -> int:
        """Return the number of copies of a run's output."""
        text = size.parameters.get(self.copies_parameter) if self.copies_parameter else None
        return int(text) if text else self.copies or size.replication

    def check_program(self, input_path: str | None) -> Program | None:  # noqa: ARG002
        """Return the program that checks the output after the timed program; None if none is needed."""
        return None

    def reference(self, size: Size) -> ReferenceQueries | None:  # noqa: ARG002
        """Return queries that another program answers over the same files; None if there are none."""
        return None

    @abstractmethod
    async def validate(self, size: Size, outcome: Outcome, validation_input: ValidationInput) -> ValidationResult:
        """Return the checks and metrics of a finished run."""
