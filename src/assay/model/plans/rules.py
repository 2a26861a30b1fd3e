"""Rules of an engine at plan time: parameters of a configuration, mistakes, and restarts between configurations.

Pure. In: settings as text, configurations, the described cluster. Out: parameters, mistakes with reasons, and a
deployment key for each configuration: no restart is needed between configurations with the same key. The :class:`Rules`
of an engine check, order and estimate its plans. They are passed as a parameter, so this module and its callers do not
depend on an engine.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from assay.model.clusters.cluster import Cluster, NodeType
from assay.model.clusters.layout import Directories, Layout
from assay.model.plans.configuration import Configuration


@dataclass(frozen=True, slots=True)
class Default:
    """A parameter that assay sets unless the plan does, with the reason for not using the engine's default."""

    name: str
    value: str
    reason: str


@dataclass(frozen=True, slots=True)
class Mistake:
    """A setting that would fail or wait forever. ``names``: the settings at fault, most likely first."""

    names: tuple[str, ...]
    reason: str


Spread = tuple[tuple[tuple[Directories, ...], int], ...]
"""Pairs of a set of directories and the number of copies of each block stored in that set."""


class Rules(Protocol):
    """An engine at plan time. Every method is pure and accesses no host.

    *Settings* are the entries of a plan: engine parameters, and shorthands for several of them (``containers: 4``).
    *Parameters* are engine parameters, with shorthands resolved.
    """

    @property
    def name(self) -> str:
        """The engine's name in plans and runs, such as ``hadoop``."""

    @property
    def includes(self) -> tuple[str, ...]:
        """Names of the engines whose daemons this engine uses. A factor of a plan can select any of them."""

    @property
    def defaults(self) -> tuple[Default, ...]:
        """Defaults of assay; a plan's parameters override them."""

    @property
    def shorthands(self) -> Mapping[str, tuple[str, ...]]:
        """Shorthands of a plan, with the engine parameters that each may set."""

    @property
    def parallelism(self) -> tuple[str, ...]:
        """Settings that set the number of concurrent tasks, containers or executors, preferred first."""

    def parameters(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Return ``settings`` with shorthands resolved. The values have passed :meth:`setting_mistake`."""

    def settings_of(self, recorded_settings: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
        """Return a run's recorded parameters as settings of a plan, with a notice for each translated parameter.

        Raises SpecificationError for a value that no plan can set.
        """

    def with_required_settings(self, settings: Mapping[str, str], workers: int) -> dict[str, str]:
        """Return ``settings`` with the values that a plan must state, for example the number of replicas.

        ``workers``: the smallest number of workers of any run.
        """

    def setting_mistake(self, name: str, value: str, cluster: Cluster) -> str | None:
        """Return the mistake in one setting by itself; None if there is none, or if only the engine can detect it."""

    def mistakes(
        self, parameters: Mapping[str, str], cluster: Cluster, workers: int, stated_names: Collection[str] = ()
    ) -> Iterator[Mistake]:
        """Yield mistakes in the combination of a configuration's ``parameters`` on ``workers`` workers.

        ``stated_names``: names of the settings in the plan, so that messages use them.
        """

    def warnings(self, parameters: Mapping[str, str], cluster: Cluster) -> tuple[str, ...]:
        """Return warnings about ``parameters`` before any run."""

    def job_can_set(self, name: str) -> bool:
        """Return whether a job can set parameter ``name``; a change of any other parameter needs a restart of
        daemons."""

    def deployment_key(self, configuration: Configuration, cluster: Cluster) -> str:
        """Return the daemons' configuration as text. Configurations with the same text need no restart in between."""

    def file_system(self, configuration: Configuration, cluster: Cluster) -> str:
        """Return the name of the file system of ``configuration``. Inputs are generated once per file system and
        kept."""

    def layout_mistake(self, layout: Layout, node_type: NodeType) -> str | None:
        """Return why nodes of this type can't store data in ``layout``; None if they can."""

    def spread(self, layout: Layout, node_type: NodeType, copies: int) -> Spread:
        """Return the directories over which storage spreads blocks, and the number of ``copies`` of each block
        there."""

    def containers_per_worker(self, parameters: Mapping[str, str]) -> int | None:
        """Return the number of concurrent containers per worker; None for an engine without containers."""

    def tasks_of_a_wave(self, parameters: Mapping[str, str], kind: str, workers: int) -> int:
        """Return the number of concurrent tasks of ``kind`` (``map`` or ``reduce``) on ``workers`` nodes.

        The engine's own containers are subtracted.
        """

    def intermediate_bytes(self, one_pass_bytes: float, all_passes_bytes: float) -> float:
        """Return the peak amount of intermediate data of a workload.

        In: uncompressed shuffled bytes of one pass over the data, and of all passes.
        """

    def copies(self, parameters: Mapping[str, str]) -> int:
        """Return the number of replicas of each block."""
