"""What an engine says of a configuration before anything runs: its parameters, and what a change of them costs. Pure.

In: settings as text, configurations, the described cluster. Out: parameters, mistakes in words, keys that
configurations share or not. A plan is checked, ordered and estimated by the :class:`Rules` of its engine, which are
handed in: nothing here or above knows which engine it is.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from assay.model.clusters.cluster import Cluster, NodeType
from assay.model.clusters.layout import Directories, Layout
from assay.model.plans.plan import Configuration


@dataclass(frozen=True, slots=True)
class Default:
    """One parameter that assay sets where a plan is silent, with the reason why the engine's own value is not kept."""

    name: str
    value: str
    reason: str


@dataclass(frozen=True, slots=True)
class Mistake:
    """What would fail, or wait for ever. ``names``: the settings at fault, the likeliest first; ``words``: why."""

    names: tuple[str, ...]
    words: str


Spread = tuple[tuple[tuple[Directories, ...], int], ...]
"""Directories, and how many copies of each block are spread over them."""


class Rules(Protocol):
    """An engine at plan time. Every method is pure, and none looks at a host.

    *Settings* are what a plan writes: engine parameters, and words (``containers: 4``) that stand for several of them.
    *Parameters* are the engine's own, with words resolved.
    """

    @property
    def name(self) -> str:
        """The engine's name in plans and runs, such as ``hadoop``."""

    @property
    def includes(self) -> tuple[str, ...]:
        """The names of the engines whose daemons this engine uses: a plan can vary which of them runs its workloads."""

    @property
    def defaults(self) -> tuple[Default, ...]:
        """What assay sets by itself; a plan's parameters override it."""

    @property
    def words(self) -> Mapping[str, tuple[str, ...]]:
        """Words that stand for engine parameters, to the parameters that each may set."""

    @property
    def parallelism(self) -> tuple[str, ...]:
        """Words and parameters that set how many tasks, containers or executors run at once, the preferred first."""

    def parameters(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Return ``settings`` with words resolved into parameters. Their values passed :meth:`setting_mistake`."""

    def settings_of(self, recorded: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
        """Return the parameters that a run recorded as a plan of this engine writes them, and a notice for each
        translated one. SpecificationError for a value that no plan can set.
        """

    def completed(self, settings: Mapping[str, str], workers: int) -> dict[str, str]:
        """Return ``settings`` with what a plan's own sense depends on and may not stay silent on, such as how many
        copies storage keeps. ``workers``: the fewest that any run uses.
        """

    def setting_mistake(self, name: str, value: str, cluster: Cluster) -> str | None:
        """Return what is wrong with one setting by itself; None where nothing is, or only the engine could tell."""

    def mistakes(
        self, parameters: Mapping[str, str], cluster: Cluster, workers: int, written: Collection[str] = ()
    ) -> Iterator[Mistake]:
        """Yield what would fail or never start with all of a configuration's ``parameters`` on ``workers`` workers.

        ``written``: the names of the settings as the plan writes them, so that a mistake speaks of what its reader
        wrote.
        """

    def warnings(self, parameters: Mapping[str, str], cluster: Cluster) -> tuple[str, ...]:
        """Return what the user should know of ``parameters`` before anything begins, in words."""

    def carried_by_job(self, name: str) -> bool:
        """Say whether a job can carry parameter ``name``; a new value of any other one needs a restart of daemons."""

    def deployment_key(self, configuration: Configuration, cluster: Cluster) -> str:
        """Return what the daemons must run with, as text: configurations that share it need no restart in between."""

    def file_system(self, configuration: Configuration, cluster: Cluster) -> str:
        """Return the name of the file system that ``configuration`` runs on: inputs are made once in each, and kept."""

    def layout_mistake(self, layout: Layout, node_type: NodeType) -> str | None:
        """Return why nodes of this type can't store data as ``layout`` says; None where they can."""

    def spread(self, layout: Layout, node_type: NodeType, copies: int) -> Spread:
        """Return over which directories storage spreads how many of the ``copies`` of each block."""

    def containers_per_worker(self, parameters: Mapping[str, str]) -> int | None:
        """Return how many containers run at once on a worker; None for an engine without containers."""

    def tasks_of_a_wave(self, parameters: Mapping[str, str], kind: str, workers: int) -> int:
        """Return how many tasks of ``kind`` (``map`` or ``reduce``) ``workers`` nodes run at once, after what the
        engine itself needs there.
        """

    def intermediate_bytes(self, one_pass_bytes: float, whole_bytes: float) -> float:
        """Return the peak amount of intermediate data of a workload, from the uncompressed bytes that it shuffles in
        one pass over its data and in all passes.
        """

    def copies(self, parameters: Mapping[str, str]) -> int:
        """Return how many copies of each block storage keeps."""
