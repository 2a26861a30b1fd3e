"""Hadoop that assay deploys: the cluster taken hold of, Hadoop installed, daemons started for each layout, all ended.

In: a cluster and transports to its hosts. Out: a :class:`~assay.engines.hadoop.engine.HadoopEngine` for one
configuration after another. Data stay on hosts for the next campaign, and go with a lab; on this machine they are
removed at the end.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, fields

from assay.engines.contract import EngineFacts, Provided, Show
from assay.engines.hadoop.class_archive import ClassArchive
from assay.engines.hadoop.configuration import Deployment, Ports, daemon_parameters
from assay.engines.hadoop.daemons import Daemons
from assay.engines.hadoop.distribution import Distribution, require
from assay.engines.hadoop.engine import HadoopEngine
from assay.engines.hadoop.jobs import Jobs, ship
from assay.engines.hadoop.memory import in_memory, let_go
from assay.engines.hadoop.rules import HadoopRules
from assay.errors import EngineError, HostError
from assay.hosts.transport import RemoteProcess, Transport
from assay.model.cluster import Cluster, Placement
from assay.model.layout import Layout, StoragePolicy
from assay.model.plan import Configuration

ROOT = "/assay"
"""Everything that assay keeps in HDFS is below it; storage policies are set there."""
JAVA_MINIMUM = 11
JAVA_MAXIMUM = 23
"""From Java 24 on, Hadoop 3.4's use of Subject.getSubject fails: the security manager is gone."""
_COMMAND_TIMEOUT_S = 60.0
_RULES = HadoopRules()


@dataclass(frozen=True, slots=True)
class _Installed:
    """What lies on every host, and the lock on the cluster that is held meanwhile."""

    hold: RemoteProcess
    facts: EngineFacts
    ports: Ports
    jobs: Jobs
    classpath: str
    native: str
    classes: ClassArchive | None


class DeployedHadoop:
    """One Hadoop on one cluster, used by one assay at a time."""

    def __init__(self, cluster: Cluster, transports: Mapping[str, Transport]) -> None:
        self._cluster = cluster
        self._transports = transports
        self._installed: _Installed | None = None
        self._engine: HadoopEngine | None = None
        self._key = ""

    @property
    def facts(self) -> EngineFacts:
        """What is installed. Raises EngineError before it is."""
        return self._there().facts

    @property
    def engine(self) -> HadoopEngine | None:
        """The daemons that were started last."""
        return self._engine

    def _there(self) -> _Installed:
        if self._installed is None:
            raise EngineError("Hadoop is not installed yet", where=self._cluster.name)
        return self._installed

    async def open(self, show: Show) -> None:
        """Take hold of the cluster, install Hadoop where it is missing and end what an interrupted assay left there.

        Raises EngineError when another assay uses the cluster, Java is missing or unfit, or the installation fails.
        """
        cluster, transports = self._cluster, self._transports
        distribution = await asyncio.to_thread(require, cluster.hadoop_home, show)
        java = f"{cluster.java_home}/bin/java" if cluster.java_home else "java"
        versions = await asyncio.gather(*(_java_version(transport, java) for transport in transports.values()))
        hold = await _take_hold(transports[cluster.master.name], cluster)
        try:
            home = await _install(transports, cluster, distribution, show)
            jobs = await ship(transports, cluster.home, show)
            ports = _free_ports() if cluster.placement is Placement.LOCAL else Ports()
            shared = cluster.placement is not Placement.SSH and home == str(distribution.home)
            self._installed = _Installed(
                hold=hold,
                facts=EngineFacts(
                    _RULES.name,
                    distribution.version,
                    jobs=jobs.path,
                    java=java,
                    java_options="--add-opens=java.base/java.lang=ALL-UNNAMED" if min(versions) >= 17 else "",
                    ports={one.name: getattr(ports, one.name) for one in fields(Ports)},
                ),
                ports=ports,
                jobs=jobs,
                classpath=jobs.behind(distribution.classpath_at(home)),
                native=f"{home}/lib/native",
                classes=await ClassArchive.of(distribution, java) if shared else None,
            )
            await self._clear_leftovers()
        except BaseException:
            self._installed = None
            hold.close_stdin()
            raise

    async def _clear_leftovers(self) -> None:
        anything = Configuration({}, Layout("none", (), ()), {})  # the marker is the same for every layout
        await Daemons(self._deployment(anything), self._transports).stop()

    def _deployment(self, configuration: Configuration) -> Deployment:
        cluster, installed = self._cluster, self._there()
        marker = hashlib.sha256(f"{cluster.name}:{cluster.home}".encode()).hexdigest()[:12]
        network = cluster.networks.get(configuration.network) if configuration.network else None
        addresses = network.addresses if network else {}
        hosts = {node.name: node.address.host if node.address else "127.0.0.1" for node in cluster.nodes}
        return Deployment(
            cluster=cluster.using(configuration.workers),
            layout=configuration.layout,
            parameters=daemon_parameters(configuration.parameters),
            classpath=installed.classpath,
            java=str(installed.facts.java),
            java_options=installed.facts.java_options,
            marker=marker,
            ports=installed.ports,
            hosts=hosts | addresses,
            home=f"{cluster.home}/deployments",
            workers=configuration.workers if configuration.workers != len(cluster.workers) else None,
            one_network=bool(addresses),
        )

    async def provide(self, configuration: Configuration, show: Show) -> Provided:
        """Make the daemons run with the layout, workers, network and daemons' parameters of ``configuration``.

        With fewer workers, HDFS is one of its own; with a network that has addresses, daemons use those.
        """
        installed, layout, cluster = self._there(), configuration.layout, self._cluster
        link_bits_per_s = cluster.link_bits_per_s(configuration.network)
        key = _RULES.deployment_key(configuration, cluster)
        if self._engine and key == self._key and await self._engine.trouble() is None:
            self._engine.link_bits_per_s = link_bits_per_s
            return Provided(self._engine, restarted=False)
        deployment = self._deployment(configuration)
        if layout.policy is StoragePolicy.LAZY_PERSIST:
            deployment = await in_memory(deployment, self._transports, installed.native)
        if self._engine:
            show("stopping daemons")
            await self._engine.daemons.stop()
        daemons = Daemons(deployment, self._transports, installed.classes)
        self._engine = HadoopEngine(installed.facts, daemons, installed.jobs, link_bits_per_s)
        self._key = key
        await daemons.start(show)
        if installed.classes and installed.classes.wanted:
            await installed.classes.make(show)
        if layout.policy:
            await self._engine.storage.set_policy(ROOT, layout.policy)
        return Provided(self._engine, restarted=True)

    async def _remove_data(self) -> None:
        for node in self._cluster.nodes:
            folders = [f"{device.directory}/assay" for device in node.type.devices if device.directory]
            folders += [f"{self._cluster.home}/{name}" for name in ("deployments", "containers", "scratch")]
            await self._transports[node.name].run(["rm", "-rf", *folders], timeout_s=_COMMAND_TIMEOUT_S, check=False)

    async def close(self) -> None:
        """End every daemon and let go of the cluster."""
        installed, self._installed = self._installed, None
        engine, self._engine = self._engine, None
        if installed is None:
            return
        try:
            if engine:
                await engine.daemons.stop()
                await let_go(engine.daemons.deployment, self._transports)
                if self._cluster.placement is Placement.LOCAL:
                    await self._remove_data()
        finally:
            installed.hold.close_stdin()
            with contextlib.suppress(HostError):  # it ends by itself; an unreaped child would outlive the event loop
                await installed.hold.wait(_COMMAND_TIMEOUT_S)


async def _java_version(transport: Transport, java: str) -> int:
    try:
        answer = await transport.run([java, "-version"], timeout_s=_COMMAND_TIMEOUT_S)
    except HostError as error:
        raise EngineError(
            f"Java does not run: {error.message}",
            where=f"{transport.name}: {java} -version",
            hint="install Java 17 there, or set java_home in the cluster file",
        ) from error
    text = answer.stderr.decode(errors="replace")
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    version = int(found[1]) if found else 0
    if not JAVA_MINIMUM <= version <= JAVA_MAXIMUM:
        raise EngineError(
            f"Java {version} can't run Hadoop 3.4 (it needs {JAVA_MINIMUM} to {JAVA_MAXIMUM})",
            where=f"{transport.name}: {java}",
            hint="set java_home in the cluster file",
        )
    return version


async def _take_hold(master: Transport, cluster: Cluster) -> RemoteProcess:
    """Hold the cluster's lock on the master until the returned process's stdin closes, which a dead assay does too.

    Raises EngineError when another holds it, HostError when it can't be locked at all, as without locks on NFS.
    """
    await master.run(["mkdir", "-p", cluster.home], timeout_s=_COMMAND_TIMEOUT_S)
    lock = f"{cluster.home}/lock"
    hold = await master.start(["flock", "--nonblock", lock, "sh", "-c", "echo held; exec cat"])
    first = await anext(aiter(hold.stdout), b"")
    if b"held" not in first:
        if (status := await hold.wait(_COMMAND_TIMEOUT_S)) != 1:  # flock(1): 1 is a lock that another holds
            raise HostError(
                f"the cluster can't be locked: {hold.stderr_tail.strip() or f'flock ended with {status}'}",
                where=f"{master.name}: {lock}",
                hint="set home in the cluster file to a folder on a local disk of the master",
            )
        raise EngineError(
            f"another assay is using cluster {cluster.name!r}",
            where=f"{master.name}: {lock}",
            hint="wait until it has finished, or end it",
        )
    return hold


async def _install(
    transports: Mapping[str, Transport], cluster: Cluster, distribution: Distribution, show: Show
) -> str:
    """Return where the distribution lies, the same path on every host; it is copied to hosts that do not see ours."""
    jars = sorted(path.name for path in distribution.home.rglob("*.jar"))
    expected = hashlib.sha256("".join(f"{jar}\n" for jar in jars).encode()).hexdigest()
    script = 'cd "$1" 2>/dev/null && find . -name "*.jar" -exec basename {} \\; | LC_ALL=C sort | sha256sum'

    async def lacking(path: str) -> list[Transport]:
        command = ["sh", "-c", script, "sh", path]
        hosts = list(transports.values())
        answers = await asyncio.gather(*(t.run(command, timeout_s=_COMMAND_TIMEOUT_S, check=False) for t in hosts))
        return [t for t, a in zip(hosts, answers, strict=True) if not a.stdout.decode().startswith(expected)]

    if not await lacking(str(distribution.home)):
        return str(distribution.home)
    target = f"{cluster.home}/hadoop-{distribution.version}-{expected[:8]}"
    for transport in await lacking(target):
        show(f"copying Hadoop {distribution.version} to {transport.name}")
        await transport.put_tree(distribution.home, target)
    return target


def _free_ports() -> Ports:
    """Return ports that nothing on this machine uses now; for a cluster on the machine itself."""
    held = [socket.socket() for _ in fields(Ports)]
    try:
        for one in held:
            one.bind(("127.0.0.1", 0))
        return Ports(*(one.getsockname()[1] for one in held))
    finally:
        for one in held:
            one.close()
