"""What a workload is to the rest of the house: one module of this folder declares all of it.

Its name and title, the options that it takes, the bytes that it moves, its program on each engine, what it needs before
it runs, and what makes its output valid. Specification, estimate, room, engine, reports and words ask it.

A workload never talks to a host. It names programs; the engine runs them and hands back an :class:`Outcome`; the
workload judges it, looking at the file system through :class:`FileSystem`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol, Self

from assay.model import Check, CountedStream, Outcome, Program, ReferenceAnswers, ReferenceQueries, StoredFiles, Task
from assay.model.plans.engine_values import block_size_bytes
from assay.workloads.common.inputs import Input

_COUNTS = ("files", "maps", "reduces", "iterations", "clusters", "seed")


class FileSystem(Protocol):
    """What a workload may ask the distributed file system: it looks, and changes nothing. Paths are absolute; markers
    and hidden files (names that start with ``_`` or ``.``) are left out.
    """

    async def exists(self, path: str) -> bool:
        """Say whether there is a file or folder at ``path``."""

    async def stored(self, path: str) -> StoredFiles:
        """Return the number of files below ``path``, their bytes and those of all replicas; zeros without files."""

    async def paths(self, path: str) -> list[str]:
        """Return the paths of the files below ``path``; none when it does not exist."""

    async def read(self, path: str) -> bytes:
        """Return a small file's content."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option that a plan can give a workload: a whole number above 0, or one of ``choices``."""

    name: str
    help: str
    choices: tuple[str, ...] = ()


FILES = Option("files", "Number of files, each written or read by one map task.")
MAPS = Option("maps", "Number of map tasks that generate the data, which is also its number of files.")
REDUCES = Option("reduces", "Number of reduce tasks of the sorting or counting job.")
ITERATIONS = Option("iterations", "Number of iterations, each of them a job.")
PAYLOAD = Option(
    "payload",
    "Bytes written or sent: a pattern as in stock jobs, or random ones, which can't be compressed.",
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
    """``pattern``: as stock jobs have it; ``random``: seeded bytes that can't be compressed."""
    block_bytes: int | None = None
    """Size of HDFS blocks, input's too; None: the engine's default."""
    options: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Every option as the plan writes it."""
    parameters: Mapping[str, str] = field(default_factory=dict, compare=False)
    """The engine parameters of the run."""

    @classmethod
    def of(cls, data_bytes: int, replication: int, parameters: Mapping[str, str], options: Mapping[str, str]) -> Self:
        """Return the size that a plan's workload options say (the names are those of the fields), with what engine
        parameters say of the data, and how many copies storage keeps of it.
        """
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


@dataclass(frozen=True, slots=True)
class DataFlow:
    """Bytes for each byte of a workload's data, uncompressed, in each of its iterations; a few per cent count as 0."""

    read: float = 0
    """Read from HDFS."""
    shuffled: float = 0
    """Sent from maps to reduces: written to intermediate data once, and read from there."""
    written: float = 0
    """Written to HDFS, one copy of it."""
    iterations: int = 1
    """Where a plan does not say it."""


class WorkloadClass(StrEnum):
    """What limits a workload, as published claims speak of it."""

    SHUFFLE_HEAVY = "shuffle-heavy"
    """At least as many bytes are shuffled as the workload has data."""
    CPU_BOUND = "CPU-bound"
    OTHER = "other"
    UNKNOWN = "unknown class"
    """The workload is not declared here, as for imported runs of other benchmarks."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A metric that a workload makes, and where that comes from, in words."""

    metric: str
    source: str


INPUT_BYTES = Figure("input_bytes", "length of the input in HDFS")
WRITTEN_BYTES = Figure("written_bytes", "length of the output in HDFS")


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """What a workload says of an outcome: its checks and its own metrics."""

    checks: tuple[Check, ...]
    metrics: Mapping[str, float] = field(default_factory=dict)
    streams: tuple[CountedStream, ...] = ()
    """What each stream counted by itself; empty where only the job history tells."""
    logs: Mapping[str, bytes] = field(default_factory=dict)
    """Files that metrics were made from, for the bundle."""
    unjudged: Outcome | None = None
    """The outcome of a check program that could not run: whether the output is right is unknown."""


@dataclass(frozen=True, slots=True)
class ValidationInput:
    """What a workload can look at besides the outcome."""

    files: FileSystem
    manifest: Mapping[str, int]
    """The input's kept counters."""
    check_outcome: Outcome | None
    input_path: str | None
    reference: ReferenceAnswers | None = None
    """What another program answers, for a workload that asked for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadProgram(Program):
    """A workload itself, of a size, as a program: for an engine that computes what a run would take.

    ``main_class`` is the workload's name.
    """

    size: Size
    seed: int = 1
    """Of its chances: planned runs that differ in their repetition alone have others."""


def waved_of(options: Iterable[str]) -> tuple[str, ...]:
    """Return those of ``options`` that ``waves`` sets where the workload does not say: files, reduces, or maps."""
    given = set(options)
    return next(((name,) for name in ("files", "reduces", "maps") if name in given), ())


class Workload(ABC):
    """One benchmark program with its input and its validity. What is not declared is as most workloads have it."""

    name: str
    """The name that plans use."""
    title: str
    """What screens and reports call it."""
    options: tuple[Option, ...] = ()
    """Options that a plan can set in addition to the data size."""
    flow: DataFlow
    """Bytes that a run moves for each byte that it processes."""
    cpu_bound: bool = False
    """Whether its tasks wait for the CPU rather than for disks and links, on the hardware of published studies."""
    outputs: tuple[str, ...] = ()
    """The paths that must not exist before the run, and that are removed after it."""
    streamed: Literal["hdfs_read_bytes", "hdfs_write_bytes"] | None = None
    """What its maps do all the time, as a field of :class:`Task`, where it is only one thing."""
    figures: tuple[Figure, ...] = ()
    """The metrics that it makes."""
    copies: int | None = None
    """Copies that it writes of its output whatever HDFS keeps otherwise; None: as many as HDFS keeps."""
    copies_parameter: str | None = None
    """Engine parameter for their number, if the program has a separate parameter."""

    @property
    def waved(self) -> tuple[str, ...]:
        """The options that ``waves`` sets, which is how many tasks the job has: files, else reduces, else maps."""
        return waved_of(option.name for option in self.options)

    @property
    def workload_class(self) -> WorkloadClass:
        """Its class: as declared, or else by its data flow."""
        if self.cpu_bound:
            return WorkloadClass.CPU_BOUND
        return WorkloadClass.SHUFFLE_HEAVY if self.flow.shuffled >= 1 else WorkloadClass.OTHER

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines that it has a program for."""
        return tuple(self.programs(Size(1, 1), ""))

    def iterations(self, size: Size) -> int:
        """Return how often the data flow is gone through."""
        return size.iterations or self.flow.iterations

    def moved(self, size: Size, engine: str) -> DataFlow:  # noqa: ARG002 - most engines move the same
        """Return what a whole run moves for each byte of its data: the flow times the number of passes."""
        times = self.iterations(size)
        flow = self.flow
        return DataFlow(flow.read * times, flow.shuffled * times, flow.written * times)

    def data_bytes(self, size: Size) -> int:
        """Return the approximate number of bytes that a run of ``size`` processes."""
        return size.data_bytes

    def input(self, size: Size) -> Input | None:  # noqa: ARG002 - what follows is asked of all workloads alike
        """Return what must be generated before; None when nothing."""
        return None

    @abstractmethod
    def programs(self, size: Size, input_path: str | None) -> Mapping[str, Program]:
        """Return the program that is timed, by the name of each engine that there is one for."""

    def streamed_bytes(self, task: Task) -> int:
        """Return what a task streamed, for the concurrency-gated aggregate; 0 where that figure has no meaning: tasks
        read, sort and write by turns, or only add up.
        """
        return getattr(task, self.streamed) if self.streamed and task.kind == "map" else 0

    def leaves(self, size: Size) -> tuple[str, ...]:  # noqa: ARG002
        """Return the paths that must not exist before the run, and that stay after it: another workload's input."""
        return ()

    def output_copies(self, size: Size) -> int:
        """Return how many copies of its output a run writes."""
        text = size.parameters.get(self.copies_parameter) if self.copies_parameter else None
        return int(text) if text else self.copies or size.replication

    def check_program(self, input_path: str | None) -> Program | None:  # noqa: ARG002
        """Return a program that checks the output, run after the timed one and not timed; None when none is needed."""
        return None

    def reference(self, size: Size) -> ReferenceQueries | None:  # noqa: ARG002
        """Return what another program is asked over the same files, for the judgement; None when nothing."""
        return None

    @abstractmethod
    async def judge(self, size: Size, outcome: Outcome, validation_input: ValidationInput) -> ValidationResult:
        """Judge a finished run."""
