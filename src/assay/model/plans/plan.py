"""Plans: workloads × factors × levels × repetitions, and the configuration of each run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.model.clusters.cluster import Cluster
from assay.model.clusters.layout import Layout
from assay.model.plans.configuration import Configuration
from assay.model.plans.factor import Factor
from assay.model.runs.run_status import FailureClass

if TYPE_CHECKING:  # avoids a circular import: rules use plans
    from assay.model.plans.rules import Rules

RETRIES = {
    # Hosts recover and disks are cleared. Daemons that fail to start twice rarely start later. A job that failed
    # by chance does not fail twice. A job that wrote wrong output writes it again.
    FailureClass.INFRASTRUCTURE: 3,
    FailureClass.ENGINE: 2,
    FailureClass.WORKLOAD: 1,
    FailureClass.VALIDATION: 0,
}
"""Default number of retries per call after a failure, by failure class."""


@dataclass(frozen=True, slots=True)
class WorkloadSpec:
    """One workload of a plan. ``data_bytes`` is at full scale; a lab multiplies it by its scale."""

    name: str
    data_bytes: int
    """Data of the whole cluster: ``data_per_node_bytes`` times the number of all workers, if that is set."""
    parameters: dict[str, str] = field(default_factory=dict)
    """The workload's options as text, for example ``{"files": "6"}``."""
    label: str | None = None
    """Displayed name if a plan has the same workload twice."""
    data_per_node_bytes: int | None = None
    """Data per worker in use; None: the amount is independent of the number of workers."""

    @property
    def key(self) -> str:
        """Name of the workload in results."""
        return self.label or self.name


@dataclass(frozen=True, slots=True)
class PrecisionGoal:
    """Repeat a run until its mean time is precise enough, also beyond the plan's repetitions."""

    half_width: float
    """Upper half-width of the 95 % interval, as a share of the geometric mean; 0.05 is 5 %."""
    at_most: int
    """Maximum number of repetitions."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan. Runs = workloads × all combinations of levels × repetitions."""

    name: str
    cluster: Cluster
    rules: Rules
    """Rules of the provided engine, which runs the workloads unless a factor selects another."""
    workloads: tuple[WorkloadSpec, ...]
    factors: tuple[Factor, ...]
    layouts: dict[str, Layout]
    """All layouts of the plan, by name."""
    parameters: dict[str, str]
    """Engine parameters that all runs share, and ``network``, ``workers``, ``containers``, ``compression`` if set."""
    repetitions: int
    until: PrecisionGoal | None
    """When to stop repeating; None: after ``repetitions``."""
    seed: int
    timeout_s: float | None
    """Time limit of each run; None: derived from the times of similar runs."""
    attempts: int
    """Maximum attempts of a run per call, for all failure classes together; at least 1."""
    source: str
    """Text of the plan file, stored with the campaign."""
    fingerprint: str
    """SHA-256 of everything that defines the runs. Plans with equal fingerprints continue one campaign."""
    retries: dict[FailureClass, int] = field(default_factory=lambda: dict(RETRIES))
    """Retries of a run per call, by failure class."""
    cluster_file: str = ""
    """Path of the cluster file as written in the plan."""
    cluster_source: str = ""
    """Text of the cluster file, stored with the campaign."""
    only: tuple[dict[str, str], ...] = ()
    """Restrictions of the combinations. Each maps factors, or ``workload``, to the permitted levels. Empty: none."""
    varied_engines: dict[str, Rules] = field(default_factory=dict)
    """Engine name to rules, of the engines that a factor varies; empty if none does."""

    @property
    def engine(self) -> str:
        """Name of the provided engine."""
        return self.rules.name

    def rules_of(self, configuration: Configuration) -> Rules:
        """Return the rules of the engine that runs ``configuration``."""
        return self.varied_engines.get(configuration.engine, self.rules)
