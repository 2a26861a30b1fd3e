"""Cost profiles: costs of an engine and its workloads on one kind of machine, independent of the cluster.

A cost profile is learned from measured runs (:mod:`assay.estimation.profiles.learning`) or shipped with assay, and is
an input of the simulator. CPU seconds are those of one core of the machine that made the runs (``cpu_model``); a node
type's ``cpu: {speed}`` is relative to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from assay.model.plans.workload_profile import Uncertain, WorkloadProfile


@dataclass(frozen=True, slots=True)
class EngineCosts:
    """Fixed costs of each job, independent of its data."""

    client_start_s: Uncertain
    """From the start of the client to the submission of the first job, once per run."""
    job_start_s: Uncertain
    """From submission to the first task's container: the start of the ApplicationMaster."""
    job_end_s: Uncertain
    """From the end of the last task to the end of the job."""
    client_end_s: Uncertain
    """From the end of the last job to the end of the client."""
    task_cpu_s: Uncertain
    """CPU of an empty task: its JVM if it has one, set-up and commit."""
    job_cpu_s: Uncertain
    """CPU of processes that run as long as a job: the ApplicationMaster, and on Spark each executor's JVM."""
    io_cpu_s_per_byte: Uncertain
    """CPU of daemons and kernel for each byte that a task moves through a disk or a link."""


@dataclass(frozen=True, slots=True)
class ProfileSource:
    """The runs that a profile was learned from."""

    source: str
    """The source as text."""
    runs: int
    clusters: tuple[str, ...] = ()
    layouts: tuple[str, ...] = ()
    workers_min: int = 0
    workers_max: int = 0
    lab_scale: float | None = None
    date: str = ""
    excluded: int = 0
    """Valid measured runs that were excluded: unknown data size, or no tasks."""


@dataclass(frozen=True, slots=True)
class CostProfile:
    """Costs of an engine and its workloads on one kind of machine."""

    name: str
    engine: str
    cpu_model: str
    """Processor on which CPU seconds were measured; empty if unknown."""
    machine_cores: int | None
    """In a lab: cores of the machine that all nodes share; None on real hosts."""
    costs: EngineCosts
    workloads: Mapping[str, WorkloadProfile]
    learned: ProfileSource
    background_cores: float = 0.0
    """In a lab: cores used by the master, by disk emulation and by the machine itself."""
    other_engines: tuple[CostProfile, ...] = ()
    """Profiles of other engines, stored together with this profile."""

    def of_engine(self, name: str) -> CostProfile:
        """Return the profile of the engine ``name``, or this profile if that engine has none."""
        return next((profile for profile in (self, *self.other_engines) if profile.engine == name), self)

    def together_with(self, others: Sequence[CostProfile]) -> CostProfile:
        """Return this profile together with the profiles of other engines."""
        return replace(
            self, other_engines=(*self.other_engines, *(other for other in others if other.engine != self.engine))
        )
