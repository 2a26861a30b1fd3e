"""Start, health-check and stop the daemons of one deployment in parallel, and collect their logs.

Every JVM carries ``-Dassay.deployment=MARKER``. By this marker the next assay call ends the processes that an
interrupted call left, and no others.
"""

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from assay.execution.engines.hadoop.deployment.class_archive import ClassArchive
from assay.execution.engines.hadoop.deployment.readiness import record_directories, require_ready
from assay.execution.engines.hadoop.jobs.rest import Endpoint
from assay.execution.engines.hadoop.settings.configuration import Deployment, render
from assay.execution.hosts.transport import Transport
from assay.foundation.errors import EngineError, HostError
from assay.model import Node, Role

_PACKAGE = "org.apache.hadoop"
NAMENODE = f"{_PACKAGE}.hdfs.server.namenode.NameNode"
_HISTORY = "jobhistoryserver"
_STARTING_MESSAGE = "NameNode still not started"
MASTER_DAEMONS = {
    "namenode": NAMENODE,
    "resourcemanager": f"{_PACKAGE}.yarn.server.resourcemanager.ResourceManager",
    _HISTORY: f"{_PACKAGE}.mapreduce.v2.hs.JobHistoryServer",
}
WORKER_DAEMONS = {
    "datanode": f"{_PACKAGE}.hdfs.server.datanode.DataNode",
    "nodemanager": f"{_PACKAGE}.yarn.server.nodemanager.NodeManager",
}
START_TIMEOUT_S = 120.0
"""Maximum time until all daemons are live after their start, in seconds."""
STOP_GRACE_S = 3.0
"""Time between SIGTERM and SIGKILL for daemons that hold data on disk, in seconds."""
# $1: folder of the pid files, then daemons. A zombie is dead too: in containers often no process reaps it. A stopped
# daemon answers no request.
_DEAD = """
cd "$1" && shift && for name; do
  pid=$(cat "$name.pid" 2>/dev/null)
  kill -0 "$pid" 2>/dev/null && ! grep -qs '^State:[^A-Za-z]*[ZT]' "/proc/$pid/status" || echo "$name"
done
"""
_POLL_S = 0.25
"""Pause between two checks of the daemons, in seconds."""
_COMMAND_TIMEOUT_S = 60.0
"""Maximum time of a short command on a host, in seconds."""


@dataclass(frozen=True, slots=True)
class ClusterHealth:
    """Live workers according to the masters, and whether HDFS is out of safe mode."""

    live_datanodes: int
    live_nodemanagers: int
    safe_mode: bool


class Daemons:
    """Starts and stops one deployment over the nodes' transports."""

    def __init__(
        self,
        deployment: Deployment,
        transports: Mapping[str, Transport],
        class_archive: ClassArchive | None = None,
        java_homes: Mapping[str, str] | None = None,
    ) -> None:
        self.deployment = deployment
        self.transports = transports
        self.home = deployment.directory
        self._class_archive = class_archive
        self._java_homes = java_homes or {}

    @property
    def _master(self) -> Transport:
        return self.transports[self.deployment.cluster.master.name]

    def _endpoint(self, port: int) -> Endpoint:
        return Endpoint(self._master, self.deployment.host(self.deployment.cluster.master), port)

    @property
    def namenode(self) -> Endpoint:
        """The NameNode's HTTP server."""
        return self._endpoint(self.deployment.ports.namenode_http)

    @property
    def resourcemanager(self) -> Endpoint:
        """The ResourceManager's HTTP server."""
        return self._endpoint(self.deployment.ports.resourcemanager_http)

    @property
    def history(self) -> Endpoint:
        """The JobHistoryServer's HTTP server."""
        return self._endpoint(self.deployment.ports.history_http)

    def configuration_directory(self) -> str:
        """Return the folder of the configuration files, the same on every node."""
        return f"{self.home}/conf"

    def command(self, main_class: str, *arguments: str, java_options: str | None = None) -> list[str]:
        """Return the command line that runs ``main_class`` with this deployment's configuration, with the daemons' Java
        options or ``java_options``.
        """
        deployment = self.deployment
        java_flags = deployment.daemon_java_options if java_options is None else java_options
        options = [
            *java_flags.split(),
            *deployment.java_options.split(),
            f"-Dassay.deployment={deployment.marker}",
            # A killed daemon would leave files of Jetty and of the JVM's counters in /tmp.
            f"-Djava.io.tmpdir={deployment.java_scratch}",
            "-XX:-UsePerfData",
        ]
        path = f"{self.configuration_directory()}:{deployment.classpath}"
        return [deployment.java, *options, "-cp", path, main_class, *arguments]

    def _daemon_command(self, main_class: str, node: Node) -> list[str]:
        """Return a daemon's command line: with the class archive if it exists, else recording classes."""
        command, class_archive = self._with_class_archive(self.command(main_class)), self._class_archive
        if class_archive is None or class_archive.exists:
            return command
        if class_archive.must_be_made and node in (self.deployment.cluster.master, self.deployment.cluster.workers[0]):
            return [command[0], *class_archive.recording(main_class.rsplit(".", 1)[-1]), *command[1:]]
        return command

    def _with_class_archive(self, command: list[str]) -> list[str]:
        """Return a command line that uses the class archive if it exists."""
        if self._class_archive is None or not self._class_archive.exists:
            return command
        command[command.index("-cp") + 1] = self._class_archive.class_path(self.configuration_directory())
        return [command[0], *self._class_archive.options(self.configuration_directory()), *command[1:]]

    async def start(self, progress: Callable[[str], None]) -> None:
        """Write the configuration, format HDFS when it is new, start every daemon and wait until all are live.

        Raises UnusableHostError if they can't be started, and EngineError with the daemon, its host and the log line
        that most likely explains it if a daemon dies or the time limit is exceeded.
        """
        cluster = self.deployment.cluster
        removal_command = ["rm", "-rf", self.deployment.java_scratch]
        await asyncio.gather(
            *(transport.run(removal_command, timeout_s=_COMMAND_TIMEOUT_S) for transport in self.transports.values())
        )
        folders = {node.name: self._folders(node) for node in cluster.nodes}
        await require_ready(self.deployment, self.transports, folders)
        await asyncio.gather(*(self._prepare(node) for node in cluster.nodes))
        if not await self._is_formatted():
            progress("formatting HDFS")
            await asyncio.gather(*(self._wipe(node) for node in cluster.workers))
            await self._master.run(["rm", "-rf", self.deployment.image_directory], timeout_s=_COMMAND_TIMEOUT_S)
            command = self.command(NAMENODE, "-format", "-force", "-nonInteractive")
            await self._master.run(self._with_class_archive(command), timeout_s=_COMMAND_TIMEOUT_S)
        progress("starting daemons")
        await asyncio.gather(*(self._start_on(node) for node in cluster.nodes))
        await self._wait_until_healthy(progress)
        await record_directories(self.deployment, self._master)

    def _folders(self, node: Node) -> list[str]:
        """Return the folders in which daemons write on a node."""
        deployment = self.deployment
        folders = [
            f"{self.home}/logs",
            self.configuration_directory(),
            f"{deployment.cluster.home}/containers",
            deployment.java_scratch,
        ]
        if Role.WORKER in node.roles:
            folders += [
                *deployment.hdfs_directories(node),
                *deployment.intermediate_directories(node),
                *deployment.memory_directories(node),
            ]
        return folders

    async def _prepare(self, node: Node) -> None:
        """Set the modes of the existing folders and write the configuration."""
        transport, deployment = self.transports[node.name], self.deployment
        # DataNodes refuse a directory that other users may write.
        if Role.WORKER in node.roles:
            directories = [*deployment.hdfs_directories(node), *deployment.memory_directories(node)]
            await transport.run(["chmod", "700", *directories], timeout_s=_COMMAND_TIMEOUT_S)
        files = render(deployment, node)
        directory = self.configuration_directory()
        await asyncio.gather(
            *(transport.write_file(f"{directory}/{name}", text.encode()) for name, text in files.items())
        )

    async def _is_formatted(self) -> bool:
        result = await self._master.run(
            ["test", "-e", f"{self.deployment.image_directory}/current/VERSION"],
            timeout_s=_COMMAND_TIMEOUT_S,
            check=False,
        )
        return result.exit_status == 0

    async def _wipe(self, node: Node) -> None:
        deployment = self.deployment
        folders = [*deployment.hdfs_directories(node), *deployment.memory_directories(node)]
        data_folders = [f"{folder}/current" for folder in folders]
        await self.transports[node.name].run(["rm", "-rf", *data_folders], timeout_s=_COMMAND_TIMEOUT_S)

    async def _start_on(self, node: Node) -> None:
        for role, daemons in ((Role.MASTER, MASTER_DAEMONS), (Role.WORKER, WORKER_DAEMONS)):
            for name, main_class in daemons.items() if role in node.roles else ():
                await self._spawn(node, name, main_class)

    async def _spawn(self, node: Node, name: str, main_class: str) -> None:
        """Start a daemon. Containers inherit the NodeManager's JAVA_HOME, and run ``$JAVA_HOME/bin/java``."""
        java_home = self._java_homes.get(node.name)
        await self.transports[node.name].spawn(
            self._daemon_command(main_class, node),
            log=self._log(name),
            pid_file=self.pid_file(name),
            cwd=self.home,
            env={"HADOOP_CONF_DIR": self.configuration_directory()} | ({"JAVA_HOME": java_home} if java_home else {}),
        )

    def _log(self, daemon: str) -> str:
        return f"{self.home}/logs/{daemon}.log"

    async def _wait_until_healthy(self, progress: Callable[[str], None]) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        workers = len(self.deployment.cluster.workers)
        checked_s = time.monotonic()
        while True:
            health = await self.health()
            if health is not None:
                progress(f"waiting: {health_text(health, workers)}")
                if is_healthy(health, workers):
                    return
            if time.monotonic() - checked_s > 3:
                if not await self.restart_history_server():
                    await self.raise_for_dead()
                checked_s = time.monotonic()
            if time.monotonic() > deadline:
                await self.raise_for_dead()
                raise EngineError(
                    f"the daemons were not live within {START_TIMEOUT_S:.0f} s: {health_text(health, workers)}",
                    where=self.deployment.cluster.name,
                    hint=f"read {self.home}/logs on the nodes",
                )
            await asyncio.sleep(_POLL_S)

    async def restart_history_server(self) -> bool:
        """Restart a history server that ended because the NameNode was still starting. Return whether it was
        restarted."""
        master = self.deployment.cluster.master
        is_only_death = await self.dead_daemons() == [f"{master.name}: {_HISTORY}"]
        if not is_only_death or _STARTING_MESSAGE not in await self.error_line(master.name, _HISTORY):
            return False
        await self._spawn(master, _HISTORY, MASTER_DAEMONS[_HISTORY])
        return True

    async def health(self) -> ClusterHealth | None:
        """Return the masters' report; None while a master does not answer."""
        try:
            answers: tuple[dict[str, Any], ...] = await asyncio.gather(
                self.namenode.bean("Hadoop:service=NameNode,name=FSNamesystemState"),
                self.namenode.bean("Hadoop:service=NameNode,name=NameNodeInfo"),
                self.resourcemanager.get("/ws/v1/cluster/metrics"),
                self.history.get("/ws/v1/history/info"),
            )
        except (EngineError, HostError):
            return None
        state, info, metrics, _ = answers
        return ClusterHealth(
            live_datanodes=int(state.get("NumLiveDataNodes", 0)),
            live_nodemanagers=int(metrics.get("clusterMetrics", {}).get("activeNodes", 0)),
            safe_mode=bool(info.get("Safemode", "")),
        )

    def daemon_names(self) -> list[tuple[str, tuple[str, ...]]]:
        """Return each node with its daemons' names; a node that is master and worker appears twice."""
        cluster = self.deployment.cluster
        masters = (cluster.master.name, tuple(MASTER_DAEMONS))
        return [masters, *((worker.name, tuple(WORKER_DAEMONS)) for worker in cluster.workers)]

    def pid_files(self) -> dict[str, dict[str, str]]:
        """Return for each node the pid files of its daemons, by the daemon's name."""
        files: dict[str, dict[str, str]] = {}
        for node, names in self.daemon_names():
            files.setdefault(node, {}).update({name: self.pid_file(name) for name in names})
        return files

    def pid_file(self, daemon: str) -> str:
        """Return the path of a daemon's pid file on its node."""
        return f"{self.home}/{daemon}.pid"

    async def dead_daemons(self) -> list[str]:
        """Return ``node: daemon`` for every daemon that should run but does not."""
        return await self.dead_daemons_of(self.daemon_names())

    async def dead_daemons_of(self, daemons: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
        """Return ``node: daemon`` for each of ``daemons`` (pairs of a node and names) that does not run."""

        async def dead_daemons_on(node: str, names: Sequence[str]) -> list[str]:
            answer = await self.transports[node].run(
                ["sh", "-c", _DEAD, "sh", self.home, *names], timeout_s=_COMMAND_TIMEOUT_S, check=False
            )
            return [f"{node}: {name}" for name in answer.stdout.decode().split()]

        return [
            name for names in await asyncio.gather(*(dead_daemons_on(*daemon) for daemon in daemons)) for name in names
        ]

    async def raise_for_dead(self) -> None:
        """Raise EngineError if a daemon is dead, with the log line that most likely explains the first one."""
        dead_daemons = await self.dead_daemons()
        if dead_daemons:
            node, daemon = dead_daemons[0].split(": ")
            line = await self.error_line(node, daemon)
            raise EngineError(
                f"{', '.join(dead_daemons)} exited after the start: {line}",
                where=f"{node}: {self._log(daemon)}",
                hint=next((hint for text, hint in _HINTS.items() if text in line), _UNKNOWN_CAUSE_HINT),
            )

    async def error_line(self, node: str, daemon: str) -> str:
        """Return the line of a daemon's log that most likely explains why the daemon ended."""
        try:
            log = await self.transports[node].run(["tail", "-n", "200", self._log(daemon)], timeout_s=20, check=False)
        except HostError as error:
            return error.message
        lines = log.stdout.decode(errors="replace").splitlines()
        error_lines = [line for line in lines if re.search(r"Exception|Error|FATAL|Address already in use", line)]
        causes = [line for line in error_lines if "Caused by" in line or "BindException" in line or " FATAL " in line]
        return (causes or error_lines or lines or ["its log is empty"])[-1].strip()[:300]

    async def logs(self) -> dict[str, bytes]:
        """Return the last 400 lines of each daemon's log, by ``node-daemon.log``, for the bundle of a failed run."""
        return await self.last_lines([(node, name) for node, names in self.daemon_names() for name in names])

    async def last_lines(self, daemons: Sequence[tuple[str, str]]) -> dict[str, bytes]:
        """Return the last 400 lines of the logs of ``daemons`` (pairs of node and daemon), by ``node-daemon.log``."""

        async def lines(node: str, daemon: str) -> tuple[str, bytes]:
            try:
                result = await self.transports[node].run(
                    ["tail", "-n", "400", self._log(daemon)], timeout_s=20, check=False
                )
            except HostError as error:
                return f"{node}-{daemon}.log", str(error).encode()
            return f"{node}-{daemon}.log", result.stdout

        return dict(await asyncio.gather(*(lines(node, daemon) for node, daemon in daemons)))

    async def stop(self) -> None:
        """End every process of this deployment on every node.

        NameNode and DataNodes hold data on disk: they get SIGTERM, and SIGKILL after a grace period. The others hold
        no data that the next start reads, and are killed at once.
        """
        source = (resources.files("assay.execution.engines.hadoop.deployment.node") / "processes.py").read_text()
        command = ["python3", "-c", source, self.deployment.marker, str(STOP_GRACE_S)]
        transports = [self.transports[node.name] for node in self.deployment.cluster.nodes]
        await asyncio.gather(*(transport.run(command, timeout_s=_COMMAND_TIMEOUT_S) for transport in transports))


def is_healthy(health: ClusterHealth | None, workers: int) -> bool:
    """Return whether every worker is live and HDFS accepts writes."""
    return (
        health is not None
        and health.live_datanodes == workers
        and health.live_nodemanagers == workers
        and not health.safe_mode
    )


def health_text(health: ClusterHealth | None, workers: int) -> str:
    """Return the masters' report as text."""
    if health is None:
        return "a master daemon does not answer"
    safe_mode_text = ", HDFS in safe mode" if health.safe_mode else ""
    live_text = f"{health.live_datanodes} DataNodes and {health.live_nodemanagers} NodeManagers"
    return f"{live_text} of {workers} are live{safe_mode_text}"


_HINTS = {
    "already in use": "another program uses this port on that node: end it, or use other hosts",
    "BindException": "another program uses this port on that node: end it, or use other hosts",
    "No space left": "the device is full: free space or use a larger one",
    "UnsupportedClassVersionError": "this Hadoop needs a newer Java: set java_home in the cluster file",
}
"""Text of Java or Linux in a daemon's log, with what to do. The log is the only source of the cause."""
_UNKNOWN_CAUSE_HINT = "read that log, fix the cause and run the same command again"
