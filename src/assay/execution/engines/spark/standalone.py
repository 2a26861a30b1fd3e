"""Run Spark's own master and workers next to HDFS: start them, check that they live, and stop them.

Each worker offers the memory of a YARN NodeManager and uses the layout's directories for intermediate data, so only the
scheduler differs. The command line of every JVM has the deployment's marker, by which assay finds and ends the JVM.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass

from assay.execution.engines.contract import ShowProgress
from assay.execution.engines.hadoop.deployment.daemons import Daemons
from assay.execution.engines.hadoop.jobs.rest import Endpoint
from assay.execution.engines.hadoop.settings import containers
from assay.execution.engines.hadoop.settings.configuration import Deployment
from assay.execution.engines.spark import settings
from assay.foundation.errors import EngineError, HostError
from assay.model import Node

_PACKAGE = "org.apache.spark.deploy"
MASTER, WORKER = "sparkmaster", "sparkworker"
START_TIMEOUT_S = 60.0
"""Maximum time until all workers are registered, in seconds."""
_CORES = 1024
"""Cores that a worker offers, more than it needs. As with YARN here, memory limits the number of executors, and
programs limit their number of tasks."""
_POLL_S = 0.25
"""Pause between two checks of Spark's daemons, in seconds."""
_COMMAND_TIMEOUT_S = 60.0
"""Maximum time of the command that stops a daemon, in seconds."""


@dataclass(frozen=True, slots=True)
class MasterPorts:
    """Ports of Spark's master; its workers use free ports."""

    rpc: int = 7077
    http: int = 8081


@dataclass(frozen=True, slots=True)
class Standalone:
    """Spark's daemons on one Hadoop deployment."""

    daemons: Daemons
    jars: str
    ports: MasterPorts
    parameters: Mapping[str, str]

    @property
    def _deployment(self) -> Deployment:
        return self.daemons.deployment

    @property
    def _host(self) -> str:
        return self._deployment.host(self._deployment.cluster.master)

    @property
    def url(self) -> str:
        """The master's address for programs."""
        return f"spark://{self._host}:{self.ports.rpc}"

    async def start(self, show: ShowProgress) -> None:
        """Start the daemons and wait until every worker is registered.

        Raises EngineError after :data:`START_TIMEOUT_S`, with the names of dead daemons.
        """
        show("starting Spark's master and workers")
        cluster = self._deployment.cluster
        master_arguments = ["--host", self._host, "--port", str(self.ports.rpc), "--webui-port", str(self.ports.http)]
        await self._spawn(cluster.master, MASTER, f"{_PACKAGE}.master.Master", master_arguments, {})
        await asyncio.gather(*(self._start_worker(node) for node in cluster.workers))
        deadline = time.monotonic() + START_TIMEOUT_S
        while await self.live_workers() < len(cluster.workers):
            if time.monotonic() > deadline:
                dead_daemons = await self._dead_daemons()
                message = (
                    f"{', '.join(dead_daemons)} exited after the start"
                    if dead_daemons
                    else "not every worker was registered in time"
                )
                raise EngineError(
                    f"Spark's daemons: {message} ({await self.live_workers()} of {len(cluster.workers)} workers)",
                    where=cluster.name,
                    hint=f"read {self.daemons.home}/logs on the nodes",
                )
            await asyncio.sleep(_POLL_S)

    async def _start_worker(self, node: Node) -> None:
        memory_mb = containers.node_memory_mb(self.parameters)
        host = self._deployment.host(node)
        arguments = ["--host", host, "--webui-port", "0", "--cores", str(_CORES), "--memory", f"{memory_mb}m"]
        arguments += ["--work-dir", f"{self.daemons.home}/spark-work", self.url]
        local_directories = ",".join(self._deployment.intermediate_directories(node))
        await self._spawn(node, WORKER, f"{_PACKAGE}.worker.Worker", arguments, {"SPARK_LOCAL_DIRS": local_directories})

    async def _spawn(
        self, node: Node, name: str, main_class: str, arguments: list[str], env: Mapping[str, str]
    ) -> None:
        deployment = self._deployment
        options = [*settings.MODULE_OPTIONS, *(deployment.daemon_java_options or "-Xmx1g").split()]
        options += [f"-Dassay.deployment={deployment.marker}", f"-Djava.io.tmpdir={deployment.java_scratch}"]
        path = f"{self.daemons.configuration_directory()}:{self.jars}/*"
        log = f"-Dlog4j2.configurationFile={self.daemons.configuration_directory()}/{settings.LOG_FILE}"
        await self.daemons.transports[node.name].spawn(
            [deployment.java, *options, "-XX:-UsePerfData", log, "-cp", path, main_class, *arguments],
            log=f"{self.daemons.home}/logs/{name}.log",
            pid_file=self.daemons.pid_file(name),
            cwd=self.daemons.home,
            # The Scala version locates the classes in a source tree of Spark; a worker requires it in any case.
            env={
                "SPARK_HOME": self.jars.rsplit("/", 1)[0],
                "SPARK_SCALA_VERSION": "2.13",
                "SPARK_LOCAL_IP": deployment.host(node),
                **env,
            },
        )

    async def live_workers(self) -> int:
        """Return the number of workers that the master reports as alive; 0 while it does not answer."""
        transport = self.daemons.transports[self._deployment.cluster.master.name]
        try:
            answer = await Endpoint(transport, self._host, self.ports.http).get("/json/")
        except (EngineError, HostError):
            return 0
        return sum(worker.get("state") == "ALIVE" for worker in answer.get("workers") or [])

    def _daemon_names(self) -> list[tuple[str, str]]:
        """Return node and name of each daemon."""
        cluster = self._deployment.cluster
        return [(cluster.master.name, MASTER), *((node.name, WORKER) for node in cluster.workers)]

    def pid_files(self) -> dict[str, dict[str, str]]:
        """Return for each node the pid files of its daemons, by the daemon's name."""
        files: dict[str, dict[str, str]] = {}
        for node, name in self._daemon_names():
            files.setdefault(node, {})[name] = self.daemons.pid_file(name)
        return files

    async def _dead_daemons(self) -> list[str]:
        return await self.daemons.dead_daemons_of([(node, [name]) for node, name in self._daemon_names()])

    async def health_check(self) -> str | None:
        """Return a message about dead daemons or missing workers; None if all are alive."""
        if dead_daemons := await self._dead_daemons():
            return f"{', '.join(dead_daemons)} died"
        live_workers, workers = await self.live_workers(), len(self._deployment.cluster.workers)
        return None if live_workers == workers else f"{live_workers} of {workers} Spark workers are live"

    async def logs(self) -> dict[str, bytes]:
        """Return the last 400 lines of each daemon's log, by ``node-daemon.log``."""
        return await self.daemons.last_lines(self._daemon_names())

    async def stop(self) -> None:
        """Kill the daemons; they store nothing that is read again."""
        script = 'test -e "$1" && kill -9 $(cat "$1") && rm -f "$1"'
        for node, name in self._daemon_names():
            command = ["sh", "-c", script, "sh", self.daemons.pid_file(name)]
            await self.daemons.transports[node].run(command, timeout_s=_COMMAND_TIMEOUT_S, check=False)
