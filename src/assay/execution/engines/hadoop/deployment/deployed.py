"""Deploy Hadoop: lock the cluster, install Hadoop, start daemons for each layout, and stop everything.

In: a cluster and transports to its hosts. Out: a :class:`~assay.execution.engines.hadoop.engine.HadoopEngine` for each
configuration in turn. On real hosts, data stay for the next campaign. In a lab, they are removed with the lab. On this
machine, they are removed at the end of the campaign.
"""

import asyncio
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from assay.execution.engines.contract import EngineFacts, ShowProgress
from assay.execution.engines.free_ports import free_ports
from assay.execution.engines.hadoop.deployment.class_archive import ClassArchive
from assay.execution.engines.hadoop.deployment.daemons import Daemons
from assay.execution.engines.hadoop.deployment.distribution import require
from assay.execution.engines.hadoop.engine import HadoopEngine
from assay.execution.engines.hadoop.hdfs import ROOT
from assay.execution.engines.hadoop.jobs.jobs import JobsJar, ship
from assay.execution.engines.hadoop.profiling.recording import ProfileRecorders
from assay.execution.engines.hadoop.rules import HadoopRules
from assay.execution.engines.hadoop.settings.configuration import Deployment, Ports, daemon_parameters
from assay.execution.engines.hadoop.settings.memory import free_blocks, with_block_memory
from assay.execution.engines.shipping import ship_jars
from assay.execution.engines.skeleton import COMMAND_TIMEOUT_S, LockedProvider
from assay.execution.hosts.transport import Transport
from assay.foundation.errors import EngineError, HostError
from assay.model import PROFILED, Configuration, Layout, Placement, StoragePolicy

FULL_DISK = ("could only be written to 0 of", "Could not find any valid local directory", "DiskOutOfSpaceException")
"""Messages of HDFS and Hadoop's disk checker about full devices."""
JAVA_MINIMUM = 11
"""Oldest Java version that runs Hadoop 3.4 for assay."""
JAVA_MAXIMUM = 23
"""Newest supported Java. Hadoop 3.4 calls Subject.getSubject, which fails from Java 24 on without a security
manager."""


_ENCAPSULATED_FROM = 17
"""First Java version that refuses Hadoop's access to private members of the JDK without an option."""


@dataclass(frozen=True, slots=True)
class _InstalledHadoop:
    """The installation on every host."""

    ports: Ports
    jobs: JobsJar
    classpath: str
    native_directory: str
    java_homes: Mapping[str, str]
    """Java's directory on each host, by the host's name."""
    class_archive: ClassArchive | None
    recorders: ProfileRecorders


class DeployedHadoop(LockedProvider[HadoopEngine]):
    """One Hadoop on one cluster, used by one assay process at a time."""

    rules = HadoopRules()
    _installation: _InstalledHadoop

    async def install(self, show: ShowProgress) -> EngineFacts:
        """Install Hadoop where it is missing, and end processes that an interrupted assay left.

        Raises EngineError if Java is missing or unsuitable, or the installation fails.
        """
        cluster, transports = self.cluster, self.transports
        distribution = await asyncio.to_thread(require, cluster.hadoop_home, show)
        java = f"{cluster.java_home}/bin/java" if cluster.java_home else "java"
        javas = await asyncio.gather(*(_java_on(transport, java) for transport in transports.values()))
        java_homes = {
            name: cluster.java_home or installed_java.home
            for name, installed_java in zip(transports, javas, strict=True)
        }
        home = await ship_jars(transports, distribution.home, f"{cluster.home}/hadoop-{distribution.version}", show)
        jobs = await ship(transports, cluster.home, show)
        ports = Ports(*free_ports(len(fields(Ports)))) if cluster.placement is Placement.LOCAL else Ports()
        is_shared = cluster.placement is not Placement.SSH and home == str(distribution.home)
        self._installation = _InstalledHadoop(
            ports=ports,
            jobs=jobs,
            classpath=jobs.with_jar(distribution.classpath_at(home)),
            native_directory=f"{home}/lib/native",
            java_homes=java_homes,
            class_archive=await ClassArchive.of(distribution, java) if is_shared else None,
            recorders=ProfileRecorders(transports, java, cluster.home),
        )
        facts = EngineFacts(
            self.rules.name,
            distribution.version,
            jobs_jar=jobs.path,
            java=java,
            java_options=required_options([installed_java.version for installed_java in javas]),
            ports={port.name: getattr(ports, port.name) for port in fields(Ports)},
            full_disk_messages=FULL_DISK,
        )
        any_configuration = Configuration({}, Layout("none", (), ()), {})  # every configuration has the same marker
        await Daemons(self._deployment(any_configuration, facts), transports).stop()
        return facts

    def _deployment(self, configuration: Configuration, facts: EngineFacts) -> Deployment:
        cluster, installation = self.cluster, self._installation
        marker = hashlib.sha256(f"{cluster.name}:{cluster.home}".encode()).hexdigest()[:12]
        network = cluster.networks.get(configuration.network) if configuration.network else None
        addresses = network.addresses if network else {}
        return Deployment(
            cluster=cluster.using(configuration.workers),
            layout=configuration.layout,
            parameters=daemon_parameters(configuration.parameters),
            classpath=installation.classpath,
            java=str(facts.java),
            java_options=facts.java_options,
            marker=marker,
            ports=installation.ports,
            hosts=cluster.hosts | addresses,
            home=f"{cluster.home}/deployments",
            workers=configuration.workers if configuration.workers != len(cluster.workers) else None,
            one_network=bool(addresses),
        )

    async def engine_for(self, configuration: Configuration) -> HadoopEngine:
        """Return an engine whose daemons have the configuration's layout, workers, network and daemons' parameters.

        A configuration with fewer workers has a separate HDFS. On a network with addresses, daemons use them.
        """
        installation, facts = self._installation, self.facts
        deployment = self._deployment(configuration, facts)
        if configuration.layout.policy is StoragePolicy.LAZY_PERSIST:
            deployment = await with_block_memory(deployment, self.transports, installation.native_directory)
        daemons = Daemons(deployment, self.transports, installation.class_archive, installation.java_homes)
        return HadoopEngine(facts, daemons, installation.jobs, self.cluster.link_bits_per_s(configuration.network))

    async def start(self, engine: HadoopEngine, configuration: Configuration, show: ShowProgress) -> None:
        """Start the daemons, set the layout's storage policy in HDFS, and prepare the requested profiler."""
        await engine.daemons.start(show)
        class_archive = self._installation.class_archive
        if class_archive and class_archive.must_be_made:
            await class_archive.make(show)
        if configuration.layout.policy:
            await engine.storage.set_policy(ROOT, configuration.layout.policy)
        engine.profiler = await self._installation.recorders.recorder(configuration.parameters.get(PROFILED), show)

    async def on_reuse(self, engine: HadoopEngine, configuration: Configuration, show: ShowProgress) -> None:
        """Record the link's rate and the profiler, which change without a restart."""
        engine.link_bits_per_s = self.cluster.link_bits_per_s(configuration.network)
        engine.profiler = await self._installation.recorders.recorder(configuration.parameters.get(PROFILED), show)

    async def stop(self, engine: HadoopEngine) -> None:
        """Stop the engine's daemons."""
        await engine.daemons.stop()

    async def leave(self, engine: HadoopEngine) -> None:
        """Stop the engine's daemons and free the memory of blocks; on this machine also remove the data."""
        await self.stop(engine)
        await free_blocks(engine.daemons.deployment, self.transports)
        if self.cluster.placement is Placement.LOCAL:
            await self._remove_data()

    async def _remove_data(self) -> None:
        for node in self.cluster.nodes:
            folders = [f"{device.directory}/assay" for device in node.type.devices if device.directory]
            folders += [f"{self.cluster.home}/{name}" for name in ("deployments", "containers", "scratch")]
            await self.transports[node.name].run(["rm", "-rf", *folders], timeout_s=COMMAND_TIMEOUT_S, check=False)


def required_options(java_versions: Sequence[int]) -> str:
    """Return the options that Hadoop's JVMs need if the hosts have these Java versions. Older versions accept them
    too."""
    return "--add-opens=java.base/java.lang=ALL-UNNAMED" if max(java_versions) >= _ENCAPSULATED_FROM else ""


@dataclass(frozen=True, slots=True)
class _InstalledJava:
    """A host's Java."""

    version: int
    home: str


async def _java_on(transport: Transport, java: str) -> _InstalledJava:
    """Return the version and the directory (the property ``java.home``) of the host's Java.

    Raises EngineError if Java does not run or its version is unsuitable.
    """
    try:
        answer = await transport.run([java, "-XshowSettings:properties", "-version"], timeout_s=COMMAND_TIMEOUT_S)
    except HostError as error:
        raise EngineError(
            f"Java does not run: {error.message}",
            where=f"{transport.name}: {java} -version",
            hint="install Java 17 there, or set java_home in the cluster file",
        ) from error
    output = answer.stderr.decode(errors="replace")
    version_match = re.search(r'version "(?:1\.)?(\d+)', output)
    home_match = re.search(r"^ *java\.home = (.+)$", output, re.MULTILINE)
    version = int(version_match[1]) if version_match else 0
    if not JAVA_MINIMUM <= version <= JAVA_MAXIMUM or home_match is None:
        raise EngineError(
            f"Java {version} can't run Hadoop 3.4 (it needs {JAVA_MINIMUM} to {JAVA_MAXIMUM})",
            where=f"{transport.name}: {java}",
            hint="set java_home in the cluster file",
        )
    return _InstalledJava(version, home_match[1].strip())
