"""Values that the steps of an attempt share: the campaign's run context, the attempt's context, state and result."""

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from assay.execution.engines.contract import ProgramResult, Provider, ShowProgress
from assay.execution.hosts.transport import Transport
from assay.execution.lab.health import LabHealth
from assay.execution.lab.links import LabLinks
from assay.execution.observation.node_health import NodeObservations
from assay.execution.observation.sampling import SamplerOptions
from assay.execution.planning.forecast.call_limits import NO_HISTORY, TimeLimit
from assay.foundation.errors import UnusableHostError
from assay.model import CacheState, Cluster, CodedWarning, DeviceBaseline, Environment, Plan, Run, TaskAttempt, Trace
from assay.store.campaigns.host_samples import HostSamplesFile
from assay.workloads.catalogue import workloads
from assay.workloads.workload import ValidationResult, Workload


@dataclass(frozen=True, slots=True)
class RunContext:
    """The plan, cluster, transports and provider that all runs of a campaign share."""

    plan: Plan
    cluster: Cluster
    transports: Mapping[str, Transport]
    provider: Provider
    sampler_options: Mapping[str, SamplerOptions]
    campaign_id: str
    environment: Environment
    baseline: DeviceBaseline | None
    show: ShowProgress
    links: LabLinks | None = None
    """The lab's links; None on other hosts."""
    host_samples: HostSamplesFile | None = None
    """Receives the nodes' latest samples while a job runs; None: they are not written."""
    health: LabHealth | None = None
    """The lab's health; None on other hosts."""
    workloads: Mapping[str, Workload] = field(default_factory=workloads)
    """Workloads by their name in plans."""


async def _no_wait() -> None:
    return


@dataclass(slots=True)
class RunningStep:
    """A step in progress."""

    name: str


@dataclass(frozen=True, slots=True)
class AttemptContext:
    """Time limit and callbacks that the campaign passes to one attempt."""

    limit: TimeLimit = NO_HISTORY
    await_publishing: Callable[[], Awaitable[None]] = _no_wait
    """Waits until the previous run is stored. Called before caches are dropped."""
    report_step: Callable[[str, float, float], None] = lambda _name, _began_unix_s, _took_s: None
    """Receives each step that has ended: its name, start and duration."""

    report_problem: Callable[[str], None] = lambda _message: None
    """Receives the reason if the attempt ends early."""

    @contextmanager
    def step(self, name: str) -> Iterator[RunningStep]:
        """Time the block as a step; the block may rename it."""
        step, began_unix_s, began_s = RunningStep(name), time.time(), time.monotonic()
        try:
            yield step
        finally:
            self.report_step(step.name, began_unix_s, time.monotonic() - began_s)


@dataclass(frozen=True, slots=True)
class CompletedRun:
    """A finished run with the other files of its bundle."""

    run: Run
    tasks: tuple[TaskAttempt, ...] = ()
    trace: Trace = field(default_factory=Trace)
    logs: dict[str, bytes] = field(default_factory=dict)
    unusable_host: UnusableHostError | None = None
    """Why a further attempt would fail the same way; None if it may succeed."""
    device_errors: tuple[str, ...] = ()
    """Device errors in the kernel's log during the attempt."""


@dataclass(slots=True)
class AttemptState:
    """Data that an attempt has collected so far. A failed run has it too."""

    caches: tuple[CacheState, ...] = ()
    trace: Trace = field(default_factory=Trace)
    logs: dict[str, bytes] = field(default_factory=dict)
    warnings: list[CodedWarning] = field(default_factory=list)
    program_result: ProgramResult | None = None
    validation: ValidationResult | None = None
    problem: str | None = None
    network: dict[str, Any] = field(default_factory=dict)
    observations: tuple[NodeObservations, ...] = ()
    """The watch's observations of each node."""
    excluded_s: float = 0.0
    """Time for deployment, input and output checks, in seconds. It is part of neither the job's time nor assay's
    overhead."""

    @property
    def succeeded(self) -> bool:
        """Whether the job succeeded and all its checks passed."""
        if (
            self.program_result is None
            or self.program_result.outcome.exit_status != 0
            or self.problem
            or self.validation is None
        ):
            return False
        return all(check.passed for check in (*self.program_result.checks, *self.validation.checks))

    @contextmanager
    def exclude_time(self) -> Iterator[None]:
        """Exclude the block's time from assay's overhead."""
        began_s = time.monotonic()
        try:
            yield
        finally:
            self.excluded_s += time.monotonic() - began_s
