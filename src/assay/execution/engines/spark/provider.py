"""Provide Spark on top of a Hadoop provider: the common part of deployed and attached Spark.

In: a cluster, transports, the provider of its Hadoop. Out: an engine for each configuration: Spark, or Hadoop if a plan
varies the engine.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Generic, Protocol, TypeVar

from assay.execution.engines.contract import Engine, EngineFacts, ProvidedEngine, Provider, ShowProgress
from assay.execution.hosts.transport import Transport
from assay.foundation.errors import EngineError
from assay.model import Cluster, Configuration


class _Installation(Protocol):
    @property
    def facts(self) -> EngineFacts: ...


HadoopProviderT = TypeVar("HadoopProviderT", bound=Provider)
InstallationT = TypeVar("InstallationT", bound=_Installation)


class SparkProvider(ABC, Generic[HadoopProviderT, InstallationT]):
    """Opens and closes Hadoop together with Spark, and remembers the last engine."""

    def __init__(self, cluster: Cluster, transports: Mapping[str, Transport], hadoop: HadoopProviderT) -> None:
        self._cluster = cluster
        self._transports = transports
        self._hadoop = hadoop
        self._installation: InstallationT | None = None
        self._engine: Engine | None = None

    @property
    def facts(self) -> EngineFacts:
        """The installed Spark. Raises EngineError before :meth:`open`."""
        return self.installation.facts

    @property
    def engine(self) -> Engine | None:
        """The engine that was provided last."""
        return self._engine

    @property
    def installation(self) -> InstallationT:
        """Spark's installation on the hosts. Raises EngineError before :meth:`open`."""
        if self._installation is None:
            raise EngineError("Spark is not installed yet", where=self._cluster.name)
        return self._installation

    @abstractmethod
    async def install(self, show: ShowProgress) -> InstallationT:
        """Return Spark's installation on the opened Hadoop, after copying missing files to the hosts."""

    @abstractmethod
    async def provide(self, configuration: Configuration, show: ShowProgress) -> ProvidedEngine:
        """Return the engine that ``configuration`` names, with daemons that fit it."""

    async def open(self, show: ShowProgress) -> None:
        """Lock the cluster, open Hadoop, then install Spark. If installing fails, Hadoop is closed again."""
        await self._hadoop.open(show)
        try:
            self._installation = await self.install(show)
        except BaseException:
            await self._hadoop.close()
            raise

    async def close(self) -> None:
        """Close Hadoop, with every daemon that assay started, and release the cluster."""
        self._installation, self._engine = None, None
        await self._hadoop.close()
