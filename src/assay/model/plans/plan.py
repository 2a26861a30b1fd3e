"""Plans: workloads × factors × levels × repetitions, and the configuration that each run gets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.model.clusters.cluster import Cluster
from assay.model.clusters.layout import Layout
from assay.model.runs.run import FailureClass

if TYPE_CHECKING:  # rules are about configurations, and plans carry them
    from assay.model.plans.rules import Rules

LAYOUT_FACTOR = "layout"
ENGINE_FACTOR = "engine"
WORKLOAD = "workload"
"""What ``only`` calls the workload."""
NETWORK_FACTOR = "network"
WORKERS_FACTOR = "workers"
RETRIES = {
    # Hosts come back and disks are cleared; daemons start at the second try, or hardly ever; a job that failed once for
    # no separate reason does not fail twice; what wrote wrong output writes it again.
    FailureClass.INFRASTRUCTURE: 3,
    FailureClass.ENGINE: 2,
    FailureClass.WORKLOAD: 1,
    FailureClass.VALIDATION: 0,
}
"""How often a run is tried again in one call after a failure of each class, where the plan does not say."""


@dataclass(frozen=True, slots=True)
class WorkloadSpec:
    """One workload of a plan. ``data_bytes`` is at full scale; a lab multiplies it by its scale."""

    name: str
    data_bytes: int
    """Of the whole cluster; with ``data_per_node_bytes``, that times all workers."""
    parameters: dict[str, str] = field(default_factory=dict)
    """The workload's own options as text, such as ``{"files": "6"}``."""
    label: str | None = None
    """Name shown instead of ``name`` when a plan has the same workload twice."""
    data_per_node_bytes: int | None = None
    """What each worker in use gets, when the plan says it so; None: the data does not grow with the workers."""

    @property
    def key(self) -> str:
        """The name that results carry."""
        return self.label or self.name


@dataclass(frozen=True, slots=True)
class Factor:
    """Something that a plan varies: ``layout``, ``engine``, ``network``, ``workers``, ``containers``, ``compression``,
    an engine parameter (``dfs.blocksize``), ``WORKLOAD.parameter``, or several of these joined under a name.
    """

    name: str
    levels: tuple[str, ...]
    settings: dict[str, dict[str, str]] = field(default_factory=dict)
    """Of a joined factor: level to what it sets. Empty: a level is the value of what the factor is named after."""


@dataclass(frozen=True, slots=True)
class PrecisionGoal:
    """Repeat a run until its mean time is known well enough, beyond the plan's repetitions if need be."""

    half_width: float
    """The 95 % interval's upper half-width as a share of the geometric mean; 0.05 is 5 %."""
    at_most: int
    """Repetitions after which it is given up."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A question to the cluster. Runs = workloads × every combination of levels × repetitions."""

    name: str
    cluster: Cluster
    rules: Rules
    """Those of the engine that is provided, and that runs the workloads where no factor says otherwise."""
    workloads: tuple[WorkloadSpec, ...]
    factors: tuple[Factor, ...]
    layouts: dict[str, Layout]
    """Every layout that the plan can use, by name."""
    parameters: dict[str, str]
    """Engine parameters that all runs share, and ``network``, ``workers``, ``containers``, ``compression`` if set."""
    repetitions: int
    until: PrecisionGoal | None
    """When to stop repeating; None: after ``repetitions``."""
    seed: int
    timeout_s: float | None
    """The time limit of every run; None: what like runs took decides."""
    attempts: int
    """How often a run is tried at most in one call, whatever the classes of its failures; at least 1."""
    source: str
    """The plan file's text, kept with the campaign."""
    fingerprint: str
    """SHA-256 over everything that decides what is run; two equal plans continue one campaign."""
    retries: dict[FailureClass, int] = field(default_factory=lambda: dict(RETRIES))
    """How often a run is tried again in one call, by the class of its failure."""
    cluster_file: str = ""
    """The cluster file as the plan names it."""
    cluster_source: str = ""
    """The cluster file's text, kept with the campaign."""
    only: tuple[dict[str, str], ...] = ()
    """Of all combinations, those that are run: factor, or ``workload``, to level; empty: every one."""
    varied_engines: dict[str, Rules] = field(default_factory=dict)
    """Name to rules of the engines that a factor varies; empty where none does."""

    @property
    def engine(self) -> str:
        """The name of the engine that is provided."""
        return self.rules.name

    def rules_of(self, configuration: Configuration) -> Rules:
        """Return the rules of the engine that runs the workloads in ``configuration``."""
        return self.varied_engines.get(configuration.engine, self.rules)


@dataclass(frozen=True, slots=True)
class Configuration:
    """One level for every factor, with what follows from it."""

    levels: dict[str, str]
    layout: Layout
    parameters: dict[str, str]
    """Engine parameters: the plan's, overridden by the factors'."""
    network: str | None = None
    """A network of the cluster by name, or in a lab a link rate such as ``1Gbit/s``; None: as the cluster is."""
    workers: int | None = None
    """How many workers are used, the first ones; None: all."""
    engine: str = ""
    """The engine that runs the workloads, where the plan varies it; empty: the plan's."""

    @property
    def key(self) -> str:
        """``layout=HD2 dfs.blocksize=64MB``: the factors in the plan's order."""
        return " ".join(f"{name}={level}" for name, level in self.levels.items())
