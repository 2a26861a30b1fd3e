"""Deploy Spark on the Hadoop that assay deploys.

In: a cluster and transports to its hosts. Out: an engine for each configuration: Spark, or Hadoop if a plan
varies the engine. Both use the same daemons and the same HDFS.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from assay.execution.engines.contract import ProvidedEngine, ShowProgress
from assay.execution.engines.free_ports import free_ports
from assay.execution.engines.hadoop.deployment.deployed import DeployedHadoop
from assay.execution.engines.hadoop.engine import HadoopEngine
from assay.execution.engines.hadoop.jobs import jobs as hadoop_jobs
from assay.execution.engines.shipping import ship_jars
from assay.execution.engines.spark import programs, settings
from assay.execution.engines.spark.distribution import require
from assay.execution.engines.spark.engine import InstalledSpark, SparkEngine
from assay.execution.engines.spark.java import require_java
from assay.execution.engines.spark.provider import SparkProvider
from assay.execution.engines.spark.rules import without_spark
from assay.execution.engines.spark.standalone import MasterPorts, Standalone
from assay.execution.hosts.transport import Transport
from assay.model import Cluster, Configuration, Placement

_RULES = SparkEngine.rules


class DeployedSpark(SparkProvider[DeployedHadoop, InstalledSpark]):
    """Deploys Spark on Hadoop on one cluster, for one assay at a time."""

    def __init__(self, cluster: Cluster, transports: Mapping[str, Transport]) -> None:
        super().__init__(cluster, transports, DeployedHadoop(cluster, transports))
        self._ports = MasterPorts()
        self._standalone: Standalone | None = None

    async def install(self, show: ShowProgress) -> InstalledSpark:
        """Compile assay's Spark programs and copy them and Spark's jars to every host."""
        cluster, transports = self._cluster, self._transports
        spark = await asyncio.to_thread(require, show)
        hadoop = self._hadoop.facts
        await require_java(transports, str(hadoop.java), spark)
        jobs_jar = await asyncio.to_thread(lambda: hadoop_jobs.require(show))
        spark_programs = await asyncio.to_thread(programs.require, spark, jobs_jar, show)
        if cluster.placement is Placement.LOCAL:
            self._ports = MasterPorts(*free_ports(2))
        home = await ship_jars(transports, spark.home, f"{cluster.home}/spark-{spark.version}", show)
        program_jar = await programs.ship(transports, spark_programs.jar, cluster.home)
        facts = replace(hadoop, name=_RULES.name, version=f"{spark.version} on Hadoop {hadoop.version}")
        return InstalledSpark(facts, f"{home}/jars", program_jar, str(hadoop.jobs_jar), spark_programs.defaults)

    async def provide(self, configuration: Configuration, show: ShowProgress) -> ProvidedEngine:
        """Start Hadoop's daemons with the settings of ``configuration``, and a standalone Spark if it asks for one."""
        installation = self.installation
        provided_engine = await self._hadoop.provide(without_spark(configuration), show)
        hadoop = self._hadoop.engine
        assert hadoop is not None
        previous_standalone = None if provided_engine.is_restarted else self._standalone
        self._standalone, has_changed_daemons = await self._standalone_daemons(
            hadoop, configuration, previous_standalone, show
        )
        if provided_engine.is_restarted or has_changed_daemons:
            await self._write_log_settings(hadoop)
        if configuration.engine == hadoop.facts.name:
            self._engine = hadoop
        elif not (isinstance(self._engine, SparkEngine) and self._engine.uses_daemons(hadoop, self._standalone)):
            self._engine = SparkEngine(installation, hadoop, self._standalone)
        assert self._engine is not None
        return ProvidedEngine(self._engine, provided_engine.is_restarted or has_changed_daemons)

    async def _standalone_daemons(
        self,
        hadoop: HadoopEngine,
        configuration: Configuration,
        previous_standalone: Standalone | None,
        show: ShowProgress,
    ) -> tuple[Standalone | None, bool]:
        """Return the standalone daemons for ``configuration``, and whether any was started or stopped."""
        if settings.on_yarn(configuration.parameters):
            if previous_standalone:
                await previous_standalone.stop()
            return None, previous_standalone is not None
        if previous_standalone and await previous_standalone.health_check() is None:
            return previous_standalone, False
        if previous_standalone:
            await previous_standalone.stop()
        standalone = Standalone(hadoop.daemons, self.installation.jars, self._ports, configuration.parameters)
        await self._write_log_settings(hadoop)
        await standalone.start(show)
        return standalone, True

    async def _write_log_settings(self, hadoop: HadoopEngine) -> None:
        path = f"{hadoop.daemons.configuration_directory()}/{settings.LOG_FILE}"
        writes = (host.write_file(path, settings.LOG_SETTINGS.encode()) for host in self._transports.values())
        await asyncio.gather(*writes)

    async def close(self) -> None:
        """Stop every daemon, Spark's included, and release the cluster."""
        self._standalone = None
        await super().close()
