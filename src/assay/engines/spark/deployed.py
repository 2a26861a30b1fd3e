"""Spark on the Hadoop that assay deploys: Hadoop provided as ever, and Spark's jars beside it.

In: a cluster and transports to its hosts. Out: an engine for one configuration after another: Spark's, or Hadoop's
where a plan varies which of the two runs its workloads. Both stand on the same daemons and the same HDFS.
"""

import asyncio
import socket
from collections.abc import Mapping
from dataclasses import replace

from assay.engines.contract import Engine, EngineFacts, ProvidedEngine, Show
from assay.engines.hadoop import jobs as hadoop_jobs
from assay.engines.hadoop.deployed import DeployedHadoop
from assay.engines.hadoop.engine import HadoopEngine
from assay.engines.shipping import ship_jars
from assay.engines.spark import programs, settings
from assay.engines.spark.distribution import require
from assay.engines.spark.engine import InstalledSpark, SparkEngine
from assay.engines.spark.java import require_java
from assay.engines.spark.rules import without_spark
from assay.engines.spark.standalone import MasterPorts, Standalone
from assay.errors import EngineError
from assay.hosts.transport import Transport
from assay.model import Cluster, Configuration, Placement

_RULES = SparkEngine.rules


class DeployedSpark:
    """One Spark on one Hadoop on one cluster, used by one assay at a time."""

    def __init__(self, cluster: Cluster, transports: Mapping[str, Transport]) -> None:
        self._cluster = cluster
        self._transports = transports
        self._hadoop = DeployedHadoop(cluster, transports)
        self._installed: InstalledSpark | None = None
        self._ports = MasterPorts()
        self._engine: Engine | None = None
        self._standalone: Standalone | None = None

    @property
    def facts(self) -> EngineFacts:
        """What is installed. Raises EngineError before it is."""
        return self._there().facts

    @property
    def engine(self) -> Engine | None:
        """What was provided last."""
        return self._engine

    def _there(self) -> InstalledSpark:
        if self._installed is None:
            raise EngineError("Spark is not installed yet", where=self._cluster.name)
        return self._installed

    async def open(self, show: Show) -> None:
        """Take hold of the cluster, and install Hadoop and Spark where they are missing."""
        await self._hadoop.open(show)
        try:
            self._installed = await self._install(show)
        except BaseException:
            await self._hadoop.close()
            raise

    async def _install(self, show: Show) -> InstalledSpark:
        cluster, transports = self._cluster, self._transports
        spark = await asyncio.to_thread(require, show)
        hadoop = self._hadoop.facts
        await require_java(transports, str(hadoop.java), spark)
        own = await asyncio.to_thread(lambda: hadoop_jobs.require(show))
        built = await asyncio.to_thread(programs.require, spark, own, show)
        if cluster.placement is Placement.LOCAL:
            self._ports = MasterPorts(*_free_ports(2))
        home = await ship_jars(transports, spark.home, f"{cluster.home}/spark-{spark.version}", show)
        program_jar = await programs.ship(transports, built.jar, cluster.home)
        facts = replace(hadoop, name=_RULES.name, version=f"{spark.version} on Hadoop {hadoop.version}")
        return InstalledSpark(facts, f"{home}/jars", program_jar, str(hadoop.jobs), built.defaults)

    async def provide(self, configuration: Configuration, show: Show) -> ProvidedEngine:
        """Make Hadoop's daemons run as ``configuration`` has them, and Spark's own where it wants those."""
        installed = self._there()
        provided = await self._hadoop.provide(without_spark(configuration), show)
        hadoop = self._hadoop.engine
        assert hadoop is not None
        before = None if provided.restarted else self._standalone
        self._standalone, started = await self._own_daemons(hadoop, configuration, before, show)
        if provided.restarted or started:
            await self._log_settings(hadoop)
        if configuration.engine == hadoop.facts.name:
            self._engine = hadoop
        elif not (isinstance(self._engine, SparkEngine) and self._engine.fits(hadoop, self._standalone)):
            self._engine = SparkEngine(installed, hadoop, self._standalone)
        assert self._engine is not None
        return ProvidedEngine(self._engine, provided.restarted or started)

    async def _own_daemons(
        self, hadoop: HadoopEngine, configuration: Configuration, before: Standalone | None, show: Show
    ) -> tuple[Standalone | None, bool]:
        """Return Spark's daemons as the configuration wants them, and whether something had to be started or ended."""
        if settings.on_yarn(configuration.parameters):
            if before:
                await before.stop()
            return None, before is not None
        if before and await before.health_check() is None:
            return before, False
        if before:
            await before.stop()
        wanted = Standalone(hadoop.daemons, self._there().jars, self._ports, configuration.parameters)
        await self._log_settings(hadoop)
        await wanted.start(show)
        return wanted, True

    async def _log_settings(self, hadoop: HadoopEngine) -> None:
        path = f"{hadoop.daemons.configuration_directory()}/{settings.LOG_FILE}"
        writing = (one.write_file(path, settings.LOG_SETTINGS.encode()) for one in self._transports.values())
        await asyncio.gather(*writing)

    async def close(self) -> None:
        """End every daemon, Spark's among them, and let go of the cluster."""
        self._installed, self._engine, self._standalone = None, None, None
        await self._hadoop.close()


def _free_ports(count: int) -> list[int]:
    """Return ports that nothing on this machine uses now."""
    held = [socket.socket() for _ in range(count)]
    try:
        for one in held:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in held]
    finally:
        for one in held:
            one.close()
