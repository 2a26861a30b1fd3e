"""What an engine is to the rest of the house: rules for plans, a way to be there, programs to run, and its storage.

An engine has four faces, and nothing outside ``engines/`` knows more of it:

* :class:`Rules` (in :mod:`assay.model.plans.rules`, so that plan files are checked by them too): pure, for planning.
* :class:`Provider`: how there comes to be a running engine on a cluster: *deployed* by assay, or *attached* to what
  exists.
* :class:`Engine`: running; runs programs, and describes what they did in the words of :mod:`assay.model.runs.run`.
* :class:`Storage`: the distributed file system next to it.

One suite, ``tests/engines/contract``, holds for all of them; what an engine can't do is marked there, in the open.
Times are in seconds, sizes in bytes; all errors are :class:`~assay.foundation.errors.AssayError`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from assay.foundation.errors import SpecificationError
from assay.model import (
    Check,
    Cluster,
    CodedWarning,
    Configuration,
    Default,
    Executor,
    Job,
    Layout,
    Mistake,
    Origin,
    Outcome,
    Phase,
    Program,
    Rules,
    Stage,
    Task,
    Trace,
)
from assay.workloads.workload import FileSystem

if TYPE_CHECKING:  # rules are asked for at plan time, which needs no way to reach hosts
    from assay.execution.hosts.transport import Transport

__all__ = [
    "Default",
    "Engine",
    "EngineFacts",
    "EngineKind",
    "MakeProvider",
    "Mistake",
    "ProgramResult",
    "ProvidedEngine",
    "Provider",
    "ProviderKind",
    "Rules",
    "Show",
    "Storage",
]

Show = Callable[[str], None]
"""Takes a description of the current step; the next call replaces it."""


class ProviderKind(StrEnum):
    """How there comes to be a running engine."""

    DEPLOYED = "deployed"
    """assay installs it, configures it for each layout, restarts, stops and removes it."""
    ATTACHED = "attached"
    """An existing, externally managed cluster: only per-job settings vary; daemons are never restarted."""
    SIMULATED = "simulated"
    """There are no hosts: what a workload would take on the described cluster is computed, and nothing is written."""


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """What a run must remember of its engine."""

    name: str
    version: str
    origin: Origin = Origin.MEASURED
    """Where its times come from."""
    jobs: str | None = None
    """Where assay's own programs are on every host; None where there are none."""
    java: str | None = None
    """The Java program that it runs by; None for an engine without."""
    java_options: str = ""
    """Options that every JVM needs on that Java."""
    ports: Mapping[str, int] = field(default_factory=dict)
    full_disk: tuple[str, ...] = ()
    """Parts of what it says of a full device, next to what the kernel says."""

    @property
    def real(self) -> bool:
        """Whether programs really run: on hosts that can be observed, with an input to read and output to judge."""
        return self.origin is Origin.MEASURED

    def record(self) -> dict[str, Any]:
        """Return the facts as they are in a run's environment; a run says its origin itself."""
        return {
            "name": self.name,
            "version": self.version,
            "jobs": self.jobs,
            "java": self.java,
            "java_options": self.java_options,
            "ports": dict(self.ports),
        }


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """A program that ended: its outcome, and what its jobs did, with all times in seconds from its start."""

    outcome: Outcome
    started_unix_s: float
    jobs: tuple[Job, ...] = ()
    """In the order of their submission. Empty where nothing tells them."""
    tasks: tuple[Task, ...] = ()
    """The task attempts of all jobs, each with its job's id and its node as the engine calls it."""
    phases: tuple[Phase, ...] = ()
    """Of the last job, which is the one that does the work."""
    trace: Trace = field(default_factory=Trace)
    """What the engine observed by itself where no sampler could; empty when samplers see all that there is."""
    logs: Mapping[str, bytes] = field(default_factory=dict)
    """Raw files for the bundle, what the client printed among them: name to content."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Where ``duration_s``, ``phases``, ``tasks`` and the engine's ``metrics`` come from, in words."""
    checks: tuple[Check, ...] = ()
    """Whether what the engine tells is all that there is to tell; one that did not pass makes a run invalid."""
    problem: str | None = None
    """What of the engine was lost while the program ran, by its own record: the run is of no use then."""
    pause: str | None = None
    """That assay did not run while the program did, which its own clock shows, in words; the run is invalid then."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """What the engine counted over the whole program, by the names of metrics."""
    stages: tuple[Stage, ...] = ()
    executors: tuple[Executor, ...] = ()
    """Both of an engine that has them."""
    warnings: tuple[CodedWarning, ...] = ()
    """What is to be known of the run that the engine alone can see, such as what others ran next to it."""
    environment: Mapping[str, Any] = field(default_factory=dict)
    """What else the run's environment is to hold of how it came about."""


class Storage(FileSystem, Protocol):
    """The file system that the engine's programs read and write: what workloads may look at, and what changes it.

    Each method raises EngineError where the storage does not answer, and :meth:`read` where there is no such file.
    """

    async def write(self, path: str, content: bytes) -> None:
        """Create or replace a small file, with the folders above it."""

    async def delete(self, path: str) -> None:
        """Remove a file or folder with all that it holds; nothing happens when there is none."""

    async def placements(self, layout: Layout, paths: Sequence[str]) -> tuple[Check, ...]:
        """Return the checks that what is below ``paths`` is on the kinds of device that ``layout`` wants.

        None where the layout leaves that to the storage, or the storage has no say in it.
        """


class Engine(Protocol):
    """An engine that runs, or should: one configuration's, until the provider provides another."""

    @property
    def facts(self) -> EngineFacts:
        """What it is."""

    @property
    def storage(self) -> Storage:
        """Where its programs read and write."""

    @property
    def addresses(self) -> Mapping[str, str]:
        """Node name to the address by which the engine's own traffic reaches it."""

    @property
    def data_directories(self) -> Mapping[str, Sequence[str]]:
        """Node name to the folders there in which the engine keeps stored and intermediate data: what must be cold."""

    @property
    def pid_files(self) -> Mapping[str, Mapping[str, str]]:
        """Node name to the pid files there, by name, of the daemons that must live while a program runs.

        Empty where they are externally managed or there are none: then :meth:`health_check` is asked instead.
        """

    def effective_parameters(self, parameters: Mapping[str, str]) -> dict[str, str]:
        """Return every parameter that is in force for a program with ``parameters``: defaults, the plan's, and what the
        cluster fixes.
        """

    async def run(
        self, program: Program, parameters: Mapping[str, str], *, timeout_s: float, label: str, show: Show
    ) -> ProgramResult:
        """Run a program to its end, showing how far it is, and return what it and its jobs did.

        A program that fails is an outcome, no exception: its own exit status, 124 where it did not end within
        ``timeout_s`` and was ended with its jobs (``timed_out``), 255 where its host went out of reach (``host_lost``).
        Raises EngineError where it can't even be started, as without the file that it is in, or when it is another
        engine's. An engine that is not ``real`` takes a :class:`WorkloadProgram` instead, and its times are not those
        of the clock. ``label`` names its log: ``{label}.log`` is what it printed. Cancelling ends the program.
        """

    async def check(
        self, program: Program, parameters: Mapping[str, str], *, reads_bytes: int, timeout_s: float, show: Show
    ) -> ProgramResult:
        """Run a program of which only what it writes counts, not its time or its tasks: in the quickest way there is.

        ``reads_bytes``: about how much it reads, by which the engine chooses the way. Otherwise as :meth:`run`, with
        the label ``check``.
        """

    async def health_check(self) -> str | None:
        """Return what is wrong with it, in words; None when it could run a program now."""

    async def logs(self) -> dict[str, bytes]:
        """Return the last lines of its daemons' logs, for the bundle of a run that went wrong. Never raises."""


@dataclass(frozen=True, slots=True)
class ProvidedEngine:
    """An engine that fits a configuration, and whether something was (re)started for that."""

    engine: Engine
    restarted: bool


class Provider(Protocol):
    """Takes hold of a cluster, provides an engine for each configuration in turn, and lets go: in this order."""

    @property
    def facts(self) -> EngineFacts:
        """What will run. Raises EngineError before :meth:`open`."""

    @property
    def engine(self) -> Engine | None:
        """The engine that was provided last, be it in trouble; None before the first :meth:`provide`."""

    async def open(self, show: Show) -> None:
        """Take hold of the cluster, and bring what is needed to its hosts; what an interrupted assay left is ended.

        Raises EngineError when another assay uses the cluster, or it can't run this engine; nothing is held then.
        """

    async def provide(self, configuration: Configuration, show: Show) -> ProvidedEngine:
        """Make the engine run with ``configuration``. What runs already is left alone where it fits and is in order.

        Raises EngineError where that can't be, with the daemon, its host and its last words.
        """

    async def close(self) -> None:
        """End what was started and let go of the cluster. Does no harm when called twice, or before :meth:`open`."""


MakeProvider = Callable[[Cluster, Mapping[str, "Transport"]], Provider]
"""Makes the provider of an engine on a cluster, whose hosts are reached by the transports; nothing is done yet."""


_WORDS = {
    ProviderKind.DEPLOYED: "deploy",
    ProviderKind.ATTACHED: "be attached to a running",
    ProviderKind.SIMULATED: "simulate",
}


@dataclass(frozen=True, slots=True)
class EngineKind:
    """One engine as the catalogue has it: its rules, and the ways to come by one that runs."""

    rules: Rules
    providers: Mapping[ProviderKind, MakeProvider]

    def provider_of(self, cluster: Cluster) -> MakeProvider:
        """Return the way in which ``cluster`` is to have this engine.

        Raises SpecificationError, in words, where this engine can't be provided in that way.
        """
        kind = ProviderKind.ATTACHED if cluster.attached else ProviderKind.DEPLOYED
        if cluster.simulated:
            kind = ProviderKind.SIMULATED
        if kind not in self.providers:
            words = _WORDS[kind]
            raise SpecificationError(
                f"provider: assay can't {words} {self.rules.name} yet",
                where=f"cluster {cluster.name}",
                hint=f"possible: {', '.join(self.providers)}; what is deployed, assay installs, starts and ends itself",
            )
        return self.providers[kind]
