"""Hadoop on a cluster: installed once, deployed for a layout, programs run on it, everything ended at the close."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import re
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from assay.engines.hadoop.class_archive import ClassArchive
from assay.engines.hadoop.configuration import (
    Deployment,
    Ports,
    daemon_parameters,
    daemon_state,
    is_job_parameter,
    job_options,
    properties,
)
from assay.engines.hadoop.daemons import Daemons, Health, healthy
from assay.engines.hadoop.distribution import Distribution, require
from assay.engines.hadoop.hdfs import Hdfs
from assay.engines.hadoop.jobs import Jobs, ship
from assay.engines.hadoop.memory import in_memory, let_go
from assay.errors import EngineError, HostError, HostTimeoutError
from assay.formats.hadoop.jhist import JobHistory, parse_jhist
from assay.hosts.transport import RemoteProcess, Transport
from assay.model.cluster import Cluster, Network, Placement
from assay.model.layout import Layout, StoragePolicy
from assay.model.program import Outcome, Program

ROOT = "/assay"
"""Everything that assay keeps in HDFS is below it; storage policies are set there."""
JAVA_MINIMUM = 11
JAVA_MAXIMUM = 23
"""From Java 24 on, Hadoop 3.4's use of Subject.getSubject fails: the security manager is gone."""
_CLIENT_JAVA_OPTIONS = "-Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
_APPLICATION_CLI = "org.apache.hadoop.yarn.client.cli.ApplicationCLI"
_IN_CLIENT = {
    "mapreduce.framework.name": "local",
    "mapreduce.local.map.tasks.maximum": "4",
    # Four maps share the client's heap of 256 MB; what a check sorts is small.
    "mapreduce.task.io.sort.mb": "8",
}
_HISTORY_WAIT_S = 20.0
_COMMAND_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class JobProgress:
    """Where a running job is, as the ResourceManager and its ApplicationMaster say; percentages from 0 to 100."""

    name: str
    map_percent: float
    reduce_percent: float


@dataclass(frozen=True, slots=True)
class Finished:
    """A program that ended: its outcome, the histories of its jobs, and raw files for the bundle."""

    outcome: Outcome
    started_unix_s: float
    histories: tuple[JobHistory, ...] = ()
    logs: dict[str, bytes] = field(default_factory=dict)


class HadoopEngine:
    """One Hadoop on one cluster, used by one assay at a time."""

    name = "hadoop"

    def __init__(
        self,
        cluster: Cluster,
        transports: Mapping[str, Transport],
        distribution: Distribution,
        home: str,
        java: str,
        java_version: int,
        hold: RemoteProcess,
        jobs: Jobs,
    ) -> None:
        self.cluster = cluster
        self.transports = transports
        self.version = distribution.version
        self.java = java
        self._jobs = jobs
        self._classpath = jobs.behind(distribution.classpath_at(home))
        self._native = f"{home}/lib/native"
        self._java_options = "--add-opens=java.base/java.lang=ALL-UNNAMED" if java_version >= 17 else ""
        self._hold = hold
        self._ports = _free_ports() if cluster.placement is Placement.LOCAL else Ports()
        self._daemons: Daemons | None = None
        self._classes: ClassArchive | None = None
        self._signature = ""

    @classmethod
    async def open(
        cls, cluster: Cluster, transports: Mapping[str, Transport], progress: Callable[[str], None]
    ) -> HadoopEngine:
        """Take hold of the cluster, install Hadoop where it is missing and end what an interrupted assay left there.

        Raises EngineError when another assay uses the cluster, Java is missing or unfit, or the installation fails.
        """
        distribution = await asyncio.to_thread(require, cluster.hadoop_home, progress)
        java = f"{cluster.java_home}/bin/java" if cluster.java_home else "java"
        versions = await asyncio.gather(*(_java_version(t, java) for t in transports.values()))
        hold = await _take_hold(transports[cluster.master.name], cluster)
        try:
            home = await _install(transports, cluster, distribution, progress)
            jobs = await ship(transports, cluster.home, progress)
            engine = cls(cluster, transports, distribution, home, java, min(versions), hold, jobs)
            if cluster.placement is not Placement.SSH and home == str(distribution.home):
                engine._classes = await ClassArchive.of(distribution, java)
            await engine._clear_leftovers()
        except BaseException:
            hold.close_stdin()
            raise
        return engine

    async def _clear_leftovers(self) -> None:
        anything = self._deployment(Layout("none", (), ()), {})  # the marker is the same for every layout
        await Daemons(anything, self.transports).stop()

    def _deployment(
        self, layout: Layout, parameters: Mapping[str, str], workers: int | None = None, network: Network | None = None
    ) -> Deployment:
        marker = hashlib.sha256(f"{self.cluster.name}:{self.cluster.home}".encode()).hexdigest()[:12]
        addresses = network.addresses if network else {}
        hosts = {node.name: node.address.host if node.address else "127.0.0.1" for node in self.cluster.nodes}
        return Deployment(
            cluster=self.cluster.using(workers),
            layout=layout,
            parameters=parameters,
            classpath=self._classpath,
            java=self.java,
            java_options=self._java_options,
            marker=marker,
            ports=self._ports,
            hosts=hosts | addresses,
            home=f"{self.cluster.home}/deployments",
            workers=workers if workers != len(self.cluster.workers) else None,
            one_network=bool(addresses),
        )

    @property
    def daemons(self) -> Daemons:
        """The running daemons. Raises EngineError before the first :meth:`deploy`."""
        if self._daemons is None:
            raise EngineError("no daemons were started yet")
        return self._daemons

    @property
    def hdfs(self) -> Hdfs:
        """The running deployment's file system."""
        return Hdfs(self.daemons.namenode, user="root")

    async def deploy(
        self,
        layout: Layout,
        parameters: Mapping[str, str],
        progress: Callable[[str], None],
        *,
        workers: int | None = None,
        network: Network | None = None,
    ) -> bool:
        """Make the daemons run with ``layout`` and the daemons' share of ``parameters``; say whether they (re)started.

        With ``workers``, they run on the first so many workers only, and HDFS is one of its own; with a ``network``
        that has addresses, they use those. What runs already is left alone when it fits and is healthy.
        """
        own = daemon_parameters(parameters)
        deployment = self._deployment(layout, own, workers, network)
        signature = daemon_state(layout, parameters, deployment.workers, network)
        if self._daemons and signature == self._signature and await self.trouble() is None:
            return False
        if layout.policy is StoragePolicy.LAZY_PERSIST:
            deployment = await in_memory(deployment, self.transports, self._native)
        if self._daemons:
            progress("stopping daemons")
            await self._daemons.stop()
        self._daemons = Daemons(deployment, self.transports, self._classes)
        self._signature = signature
        await self._daemons.start(progress)
        if self._classes and self._classes.wanted:
            await self._classes.make(progress)
        if layout.policy:
            await self.hdfs.set_policy(ROOT, layout.policy)
        return True

    async def health(self) -> Health | None:
        """Return the running deployment's health; None when a master does not answer."""
        return await self.daemons.health()

    async def trouble(self) -> str | None:
        """Return what is wrong with the daemons, in words; None when all are live."""
        dead = await self.daemons.dead()
        if dead:
            return f"{', '.join(dead)} died"
        health = await self.health()
        if health is None:
            return "a master daemon does not answer"
        if not healthy(health, len(self.daemons.deployment.cluster.workers)):
            return f"not every worker is live: {health}"
        return None

    def effective_parameters(self, parameters: Mapping[str, str]) -> dict[str, str]:
        """Return every property that assay sets for a job with ``parameters``, on the master."""
        deployment = self.daemons.deployment
        return {**properties(deployment, self.cluster.master), **job_options(deployment, parameters)}

    async def run(self, program: Program, parameters: Mapping[str, str], *, timeout_s: float, label: str) -> Finished:
        """Run a client program on the master and fetch its jobs' histories.

        ``duration_s`` of the outcome is the client's wall time, from exec to exit. A client that does not end within
        ``timeout_s`` is ended, and so are its jobs: that is an outcome with status 124, not an exception, and so is one
        whose host went out of reach (255).
        """
        self._jobs.require_for(program)
        job = {name: value for name, value in parameters.items() if is_job_parameter(name)}
        options = {**job_options(self.daemons.deployment, job), **program.options}
        arguments = [*(f"-D{name}={value}" for name, value in options.items()), *program.arguments]
        command = self.daemons.command(program.main_class, *arguments, java_options=_CLIENT_JAVA_OPTIONS)
        master = self.transports[self.cluster.master.name]
        started = time.time()
        clock = time.monotonic()
        timed_out = lost = False
        try:
            done = await master.run(command, timeout_s=timeout_s, check=False, cwd=self.daemons.home)
            status, output = done.exit_status, done.stdout + b"\n" + done.stderr
        except HostError as error:
            timed_out = isinstance(error, HostTimeoutError)
            lost = not timed_out
            status, output = 124 if timed_out else 255, error.message.encode()
        duration_s = time.monotonic() - clock
        job_ids = list(dict.fromkeys(re.findall(r"Running job: (job_\d+_\d+)", output.decode(errors="replace"))))
        if status != 0:
            await self._kill_applications()
        histories, logs = await self._histories(job_ids, started, required=status == 0)
        failed = sum(history.failed_maps + history.failed_reduces for history in histories)
        counters = histories[-1].counters if histories else {}
        text = output.decode(errors="replace")
        outcome = Outcome(status, text, counters, failed, duration_s, timed_out, lost)
        return Finished(outcome, started, histories, {f"{label}.log": output, **logs})

    def in_client(self, program: Program) -> Program:
        """Return ``program`` made to run its job inside its client's JVM, by Hadoop's own local runner."""
        return replace(program, options={**program.options, **_IN_CLIENT})

    async def progress(self) -> JobProgress | None:
        """Return where the running job is; None when there is none or nobody answers."""
        try:
            answer = await self.daemons.resourcemanager.get("/ws/v1/cluster/apps?states=ACCEPTED,RUNNING")
            apps = (answer.get("apps") or {}).get("app") or []
            if not apps:
                return None
            app = apps[-1]
            path = f"/proxy/{app['id']}/ws/v1/mapreduce/jobs"
            jobs = (await self.daemons.resourcemanager.get(path)).get("jobs") or {}
            job = (jobs.get("job") or [{}])[0]
        except (EngineError, HostError):
            return None
        return JobProgress(str(app["name"]), float(job.get("mapProgress", 0)), float(job.get("reduceProgress", 0)))

    async def _kill_applications(self) -> None:
        """End what the ResourceManager still runs; a master that is gone has nothing running."""
        try:
            answer = await self.daemons.resourcemanager.get("/ws/v1/cluster/apps?states=ACCEPTED,RUNNING")
            running = [app["id"] for app in (answer.get("apps") or {}).get("app") or []]
            if running:
                command = self.daemons.command(_APPLICATION_CLI, "application", "-kill", *running)
                await self.transports[self.cluster.master.name].run(command, timeout_s=_COMMAND_TIMEOUT_S, check=False)
        except (EngineError, HostError):
            return

    async def _histories(
        self, job_ids: list[str], started: float, *, required: bool
    ) -> tuple[tuple[JobHistory, ...], dict[str, bytes]]:
        histories: list[JobHistory] = []
        logs: dict[str, bytes] = {}
        for job_id in job_ids:
            files = await self._history_files(job_id, _HISTORY_WAIT_S if required else 3.0)
            logs |= files
            for name, content in files.items():
                if name.endswith(".jhist"):
                    histories.append(parse_jhist(content, start_unix_s=started))
        return tuple(histories), logs

    async def _history_files(self, job_id: str, wait_s: float) -> dict[str, bytes]:
        """Return a job's ``.jhist`` and ``_conf.xml``, wherever the history server has them by now."""
        deadline = time.monotonic() + wait_s
        while time.monotonic() < deadline:
            try:
                for root in ("/assay/history/intermediate", "/assay/history/done"):
                    found = [p for p in await self.hdfs.paths(root) if p.rsplit("/", 1)[-1].startswith(job_id)]
                    if any(path.endswith(".jhist") for path in found):
                        wanted = [path for path in found if path.endswith((".jhist", "_conf.xml"))]
                        contents = await asyncio.gather(*(self.hdfs.read(path) for path in wanted))
                        endings = (".jhist" if path.endswith(".jhist") else "_conf.xml" for path in wanted)
                        return dict(zip((f"{job_id}{ending}" for ending in endings), contents, strict=True))
            except (EngineError, HostError):  # the file is just being moved, or the NameNode is gone
                pass
            await asyncio.sleep(0.2)
        return {}

    async def environment(self) -> dict[str, Any]:
        """Return what a run must remember of this engine: version, class path, Java, ports."""
        return {
            "name": self.name,
            "version": self.version,
            "jobs": self._jobs.path,
            "java": self.java,
            "java_options": self._java_options,
            "ports": {f.name: getattr(self._ports, f.name) for f in fields(Ports)},
        }

    async def _remove_data(self) -> None:
        for node in self.cluster.nodes:
            folders = [f"{device.directory}/assay" for device in node.type.devices if device.directory]
            folders += [f"{self.cluster.home}/{name}" for name in ("deployments", "containers", "scratch")]
            await self.transports[node.name].run(["rm", "-rf", *folders], timeout_s=_COMMAND_TIMEOUT_S, check=False)

    async def close(self) -> None:
        """End every daemon and let go of the cluster.

        Data stays on hosts for the next campaign, and goes with a lab; on this machine it is removed.
        """
        try:
            if self._daemons:
                await self._daemons.stop()
                await let_go(self._daemons.deployment, self.transports)
                if self.cluster.placement is Placement.LOCAL:
                    await self._remove_data()
                self._daemons = None
        finally:
            self._hold.close_stdin()
            with contextlib.suppress(HostError):  # it ends by itself; an unreaped child would outlive the event loop
                await self._hold.wait(_COMMAND_TIMEOUT_S)


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
    transports: Mapping[str, Transport], cluster: Cluster, distribution: Distribution, progress: Callable[[str], None]
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
        progress(f"copying Hadoop {distribution.version} to {transport.name}")
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
