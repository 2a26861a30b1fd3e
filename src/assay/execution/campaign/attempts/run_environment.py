"""The values that the parts of an attempt share: what all runs of a campaign have in common, what one attempt receives,
what it has gathered so far, and what comes out of it.
"""

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from assay.execution.engines.contract import ProgramResult, Provider, Show
from assay.execution.hosts.transport import Transport
from assay.execution.lab.health import LabHealth
from assay.execution.lab.links import LabLinks
from assay.execution.observation.node_health import NodeObservations
from assay.execution.observation.sampling import SamplerOptions
from assay.execution.planning.forecast.call_limits import NO_HISTORY, TimeLimit
from assay.foundation.errors import UnfitError
from assay.model import Baseline, CacheState, Cluster, CodedWarning, Environment, Plan, Run, Task, Trace
from assay.workloads.catalogue import workloads
from assay.workloads.workload import ValidationResult, Workload


@dataclass(frozen=True, slots=True)
class RunEnvironment:
    """What all runs of a campaign share."""

    plan: Plan
    cluster: Cluster
    transports: Mapping[str, Transport]
    provider: Provider
    samplers: Mapping[str, SamplerOptions]
    campaign_id: str
    environment: Environment
    baseline: Baseline | None
    show: Show
    links: LabLinks | None = None
    """The lab's; None on other hosts."""
    health: LabHealth | None = None
    """The same."""
    workloads: Mapping[str, Workload] = field(default_factory=workloads)
    """By the name that plans use."""


async def _nothing() -> None:
    return


@dataclass(slots=True)
class RunningStep:
    """A step in progress."""

    name: str


@dataclass(frozen=True, slots=True)
class AttemptContext:
    """What the campaign passes to one attempt."""

    limit: TimeLimit = NO_HISTORY
    settled: Callable[[], Awaitable[None]] = _nothing
    """Awaited before caches are dropped, so that background work of the previous run has finished."""
    ended: Callable[[str, float, float], None] = lambda _name, _began_unix_s, _took_s: None
    """Takes each step that has ended: its name, when it began, and how long it took."""

    noticed: Callable[[str], None] = lambda _words: None
    """Takes why the attempt is ended, when that is seen."""

    @contextmanager
    def step(self, name: str) -> Iterator[RunningStep]:
        """Time the block as a step; it may be given another name meanwhile."""
        step, began, clock = RunningStep(name), time.time(), time.monotonic()
        try:
            yield step
        finally:
            self.ended(step.name, began, time.monotonic() - clock)


@dataclass(frozen=True, slots=True)
class CompletedRun:
    """A finished run with the other files of its bundle."""

    run: Run
    tasks: tuple[Task, ...] = ()
    trace: Trace = field(default_factory=Trace)
    logs: dict[str, bytes] = field(default_factory=dict)
    unfit: UnfitError | None = None
    """Why no other attempt would end better, where that is so."""
    device_errors: tuple[str, ...] = ()
    """What the kernel said of devices meanwhile."""


@dataclass(slots=True)
class AttemptState:
    """What an attempt has gathered so far, so that a failure keeps what was seen until then."""

    caches: tuple[CacheState, ...] = ()
    trace: Trace = field(default_factory=Trace)
    logs: dict[str, bytes] = field(default_factory=dict)
    warnings: list[CodedWarning] = field(default_factory=list)
    finished: ProgramResult | None = None
    validation: ValidationResult | None = None
    problem: str | None = None
    network: dict[str, Any] = field(default_factory=dict)
    seen: tuple[NodeObservations, ...] = ()
    """What the watch has seen of each node."""
    excluded_s: float = 0.0
    """Time spent on deploying, making input and checking output: neither the job's nor assay's own."""

    @property
    def sound(self) -> bool:
        """Whether the job ended well, and every check of it passed."""
        if self.finished is None or self.finished.outcome.exit_status != 0 or self.problem or self.validation is None:
            return False
        return all(check.passed for check in (*self.finished.checks, *self.validation.checks))

    @contextmanager
    def exclude_time(self) -> Iterator[None]:
        """Count the block's time as not assay's own."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.excluded_s += time.monotonic() - began
