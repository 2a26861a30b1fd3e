"""Define the contract of an engine: rules for plans, a provider, a running engine, and its storage.

Campaigns use an engine only through these four interfaces:

* :class:`Rules` (in :mod:`assay.model.plans.rules`): pure, for planning and for checks of plan files.
* :class:`Provider`: provides a running engine on a cluster: *deployed* by assay, *attached* to an existing engine, or
  *simulated*.
* :class:`Engine`: runs programs, and reports their jobs and tasks as values of :mod:`assay.model.runs`.
* :class:`Storage`: its distributed file system.

One suite, ``tests/execution/engines/contract``, tests all of them and lists what an engine can't do.
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
    TaskAttempt,
    Trace,
)
from assay.workloads.workload import FileSystem

if TYPE_CHECKING:  # rules are used at plan time, which needs no transports
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
    "ShowProgress",
    "Storage",
]

ShowProgress = Callable[[str], None]
"""Shows the current step; each text replaces the previous text."""


class ProviderKind(StrEnum):
    """The way to provide a running engine."""

    DEPLOYED = "deployed"
    """assay installs it, configures it for each layout, restarts, stops and removes it."""
    ATTACHED = "attached"
    """An existing, externally managed cluster: only per-job settings vary; daemons are never restarted."""
    SIMULATED = "simulated"
    """No hosts: the times of a workload on the described cluster are computed, and nothing is written."""


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """Facts of an engine that each run records."""

    name: str
    version: str
    origin: Origin = Origin.MEASURED
    """The origin of its times."""
    jobs_jar: str | None = None
    """The path on every host of the jar with assay's jobs; None if there is none."""
    java: str | None = None
    """The Java program that runs it; None for an engine without Java."""
    java_options: str = ""
    """Options that every JVM needs with this Java."""
    ports: Mapping[str, int] = field(default_factory=dict)
    full_disk_messages: tuple[str, ...] = ()
    """Substrings of the engine's messages about a full device, in addition to the kernel's messages."""

    @property
    def runs_programs(self) -> bool:
        """Whether programs really run: on hosts that can be observed, with input and output."""
        return self.origin is Origin.MEASURED

    def record(self) -> dict[str, Any]:
        """Return the facts for a run's environment, without the messages and the origin, which the run records."""
        return {
            "name": self.name,
            "version": self.version,
            "jobs": self.jobs_jar,
            "java": self.java,
            "java_options": self.java_options,
            "ports": dict(self.ports),
        }


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """The result of a program: its outcome, jobs and tasks, with all times in seconds from its start."""

    outcome: Outcome
    started_unix_s: float
    jobs: tuple[Job, ...] = ()
    """Jobs in the order of submission; empty if they are unknown."""
    tasks: tuple[TaskAttempt, ...] = ()
    """The task attempts of all jobs, each with its job's id and the engine's name of its node."""
    phases: tuple[Phase, ...] = ()
    """Phases of the last job, which does the main work."""
    trace: Trace = field(default_factory=Trace)
    """The engine's observations where no sampler could run; empty where samplers cover everything."""
    logs: Mapping[str, bytes] = field(default_factory=dict)
    """Raw files for the bundle, including the client's output: name to content."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """The sources of ``duration_s``, ``phases``, ``tasks`` and the engine's ``metrics``, as text."""
    checks: tuple[Check, ...] = ()
    """Checks that the engine's record is complete; a failed check makes the run invalid."""
    lost_executors: str | None = None
    """Message about executors that the engine lost during the program. A run with this message is invalid."""
    process_paused: str | None = None
    """Message that assay's process was paused during the program. A run with this message is invalid."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """The engine's counters over the whole program, by metric name."""
    stages: tuple[Stage, ...] = ()
    executors: tuple[Executor, ...] = ()
    """Stages and executors; empty for an engine without them."""
    warnings: tuple[CodedWarning, ...] = ()
    """Warnings that only the engine can give, such as other users' load during the run."""
    environment: Mapping[str, Any] = field(default_factory=dict)
    """Additional facts for the run's environment."""


class Storage(FileSystem, Protocol):
    """The file system that the engine's programs read and write.

    Each method raises EngineError if the storage does not answer; :meth:`read` also for a missing file.
    """

    async def write(self, path: str, content: bytes) -> None:
        """Create or replace a small file, with the folders above it."""

    async def delete(self, path: str) -> None:
        """Remove a file, or a folder with its content; do nothing if it does not exist."""

    async def placements(self, layout: Layout, paths: Sequence[str]) -> tuple[Check, ...]:
        """Return the checks that the files below ``paths`` are on the kinds of device that ``layout`` requires.

        Empty if the layout leaves placement to the storage, or the storage does not control it.
        """


class Engine(Protocol):
    """The engine of one configuration, running or failed, until the provider provides another."""

    @property
    def facts(self) -> EngineFacts:
        """Static facts of the engine."""

    @property
    def storage(self) -> Storage:
        """The storage of its programs."""

    @property
    def addresses(self) -> Mapping[str, str]:
        """Node name to the address that the engine's traffic uses."""

    @property
    def data_directories(self) -> Mapping[str, Sequence[str]]:
        """Node name to its folders with stored and intermediate data, which must be cold before a run."""

    @property
    def pid_files(self) -> Mapping[str, Mapping[str, str]]:
        """Node name to the pid files, by name, of the daemons that must live while a program runs.

        Empty if the daemons are externally managed or absent: then :meth:`health_check` is called instead.
        """

    def effective_parameters(self, parameters: Mapping[str, str]) -> dict[str, str]:
        """Return all effective parameters of a program with ``parameters``: defaults, the plan's, and the cluster's."""

    async def run(
        self, program: Program, parameters: Mapping[str, str], *, timeout_s: float, label: str, show: ShowProgress
    ) -> ProgramResult:
        """Run a program to its end, show its progress, and return its result with its jobs.

        A failed program is an outcome, not an exception: its exit status, 124 if it exceeded ``timeout_s`` and was
        ended with its jobs (``timed_out``), 255 if its host became unreachable (``host_lost``). Raises EngineError if
        the program can't be started, because a file is missing or the program belongs to another engine. An engine
        that runs no programs takes a :class:`WorkloadProgram` instead, and its times are simulated. The output becomes
        ``{label}.log``. Cancelling ends the program.
        """

    async def check(
        self, program: Program, parameters: Mapping[str, str], *, reads_bytes: int, timeout_s: float, show: ShowProgress
    ) -> ProgramResult:
        """Run a program in the fastest way, because only its output matters, not its time and tasks.

        ``reads_bytes``: approximate number of bytes that it reads, from which the engine chooses the way. Otherwise
        like :meth:`run`, with the label ``check``.
        """

    async def health_check(self) -> str | None:
        """Return the problem of the engine as text; None if it can run a program now."""

    async def logs(self) -> dict[str, bytes]:
        """Return the last lines of its daemons' logs, for the bundle of a failed run. Never raises."""


@dataclass(frozen=True, slots=True)
class ProvidedEngine:
    """An engine with a configuration, and whether daemons were (re)started for it."""

    engine: Engine
    is_restarted: bool


class Provider(Protocol):
    """Locks a cluster, provides an engine for each configuration in turn, and releases the cluster, in this order."""

    @property
    def facts(self) -> EngineFacts:
        """Facts of the engine. Raises EngineError before :meth:`open`."""

    @property
    def engine(self) -> Engine | None:
        """The engine that was provided last, even if it has failed; None before the first :meth:`provide`."""

    async def open(self, show: ShowProgress) -> None:
        """Lock the cluster, copy the needed files to its hosts, and end processes that an interrupted assay left.

        Raises EngineError if another assay process uses the cluster, or the cluster can't run this engine. The cluster
        is then unlocked.
        """

    async def provide(self, configuration: Configuration, show: ShowProgress) -> ProvidedEngine:
        """Make the engine run with ``configuration``. Healthy daemons that already match it are not restarted.

        Raises EngineError if that fails, with the daemon, its host and the log line that most likely explains it.
        """

    async def close(self) -> None:
        """Stop the started daemons and release the cluster. Does nothing when called twice, or before :meth:`open`."""


MakeProvider = Callable[[Cluster, Mapping[str, "Transport"]], Provider]
"""Makes the provider of an engine on a cluster with these transports, without any action on hosts."""


_ACTIONS = {
    ProviderKind.DEPLOYED: "deploy",
    ProviderKind.ATTACHED: "be attached to a running",
    ProviderKind.SIMULATED: "simulate",
}


@dataclass(frozen=True, slots=True)
class EngineKind:
    """An engine in the catalogue: its rules and its providers."""

    rules: Rules
    providers: Mapping[ProviderKind, MakeProvider]

    def provider_of(self, cluster: Cluster) -> MakeProvider:
        """Return the provider factory for ``cluster``.

        Raises SpecificationError if this engine can't be provided in the way that the cluster file asks for.
        """
        kind = ProviderKind.ATTACHED if cluster.attached else ProviderKind.DEPLOYED
        if cluster.simulated:
            kind = ProviderKind.SIMULATED
        if kind not in self.providers:
            action = _ACTIONS[kind]
            raise SpecificationError(
                f"provider: assay can't {action} {self.rules.name} yet",
                where=f"cluster {cluster.name}",
                hint=f"possible: {', '.join(self.providers)}; assay installs, starts and stops a deployed engine",
            )
        return self.providers[kind]
