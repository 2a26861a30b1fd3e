"""Run programs on Hadoop with a client on the master, and read their jobs' histories.

In: the daemons of a deployment, a program and its parameters. Out: a
:class:`~assay.execution.engines.contract.ProgramResult`, with times in seconds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from assay.execution.engines.contract import EngineFacts, ProgramResult, ShowProgress
from assay.execution.engines.hadoop.deployment.daemons import Daemons, health_text, is_healthy
from assay.execution.engines.hadoop.hdfs import Hdfs
from assay.execution.engines.hadoop.jobs.histories import JobHistories, job_ids, progress, running_applications
from assay.execution.engines.hadoop.jobs.jobs import JobsJar
from assay.execution.engines.hadoop.profiling.parts import task_parts
from assay.execution.engines.hadoop.profiling.recording import ATTEMPT, TASK_JAVA_OPTIONS, TIMED_JOB, ProfileRecorder
from assay.execution.engines.hadoop.rules import HadoopRules
from assay.execution.engines.hadoop.settings.configuration import SMALL_JVM, is_job_parameter, job_options, properties
from assay.execution.engines.skeleton import COMMAND_TIMEOUT_S, ClientEngine
from assay.foundation.errors import EngineError, HostError
from assay.model import Program

_CLIENT_JAVA_OPTIONS = f"-Xmx256m {SMALL_JVM}"
_APPLICATION_CLI = "org.apache.hadoop.yarn.client.cli.ApplicationCLI"
_LOCAL_CHECKS = ("org.apache.hadoop.examples.terasort.TeraValidate",)
"""Checks that run in Hadoop's local runner as well as on the cluster: they fit into the client's heap."""
_LOCAL_RUNNER_OPTIONS = {
    "mapreduce.framework.name": "local",
    "mapreduce.local.map.tasks.maximum": "4",
    # Four maps share the client's heap of 256 MB; a check sorts little.
    "mapreduce.task.io.sort.mb": "8",
}
_LOCAL_CHECK_BYTES_MAX = 1 << 30
"""Maximum data that an output check reads on the master alone, in bytes; more is checked by a job."""
_LOCAL_CHECK_S_MAX = 8.0
"""Maximum time in which a check in the client reads its data, in seconds. A check within both limits ends before a job
on the cluster would have started."""
_HISTORIES = ("/assay/history/intermediate", "/assay/history/done")


class HadoopEngine(ClientEngine[Hdfs]):
    """The daemons of one deployment, and the client that runs programs on them.

    ``link_bits_per_s``: the current emulated rate of the master's link; it changes without a restart.
    ``profiler``: records profiles of the timed job's tasks; None without profiles.
    """

    rules = HadoopRules()

    def __init__(self, facts: EngineFacts, daemons: Daemons, jobs: JobsJar, link_bits_per_s: float) -> None:
        super().__init__(facts, Hdfs(daemons.namenode, user="root"), daemons.deployment.cluster, daemons.transports)
        self.daemons = daemons
        self.link_bits_per_s = link_bits_per_s
        self.profiler: ProfileRecorder | None = None
        self._jobs = jobs

    @property
    def addresses(self) -> Mapping[str, str]:
        """The names with which daemons reach each other."""
        deployment = self.daemons.deployment
        return {node.name: deployment.host(node) for node in deployment.cluster.nodes}

    @property
    def data_directories(self) -> Mapping[str, Sequence[str]]:
        """HDFS's and the NodeManagers' directories; none on the master."""
        deployment = self.daemons.deployment
        return {
            node.name: [*deployment.hdfs_directories(node), *deployment.intermediate_directories(node)]
            for node in deployment.cluster.nodes
        }

    @property
    def pid_files(self) -> Mapping[str, Mapping[str, str]]:
        """The pid files of all daemons of the deployment."""
        return self.daemons.pid_files()

    def effective_parameters(self, parameters: Mapping[str, str]) -> dict[str, str]:
        """Return every property that assay sets for a job with ``parameters``, on the master."""
        deployment = self.daemons.deployment
        return {**properties(deployment, deployment.cluster.master), **job_options(deployment, parameters)}

    async def health_check(self) -> str | None:
        """Return a message about dead daemons, silent masters or missing workers; None if all are healthy."""
        dead_daemons = await self.daemons.dead_daemons()
        if dead_daemons:
            return f"{', '.join(dead_daemons)} died"
        health, workers = await self.daemons.health(), len(self.daemons.deployment.cluster.workers)
        return None if is_healthy(health, workers) else health_text(health, workers)

    async def logs(self) -> dict[str, bytes]:
        """Return the last lines of each daemon's log, by ``node-daemon.log``."""
        return await self.daemons.logs()

    async def check(
        self, program: Program, parameters: Mapping[str, str], *, reads_bytes: int, timeout_s: float, show: ShowProgress
    ) -> ProgramResult:
        """Run a check in its client's JVM if it reads little over a fast link, else on the cluster."""
        if program.main_class in _LOCAL_CHECKS and is_faster_in_client(reads_bytes, self.link_bits_per_s):
            program = replace(program, options={**program.options, **_LOCAL_RUNNER_OPTIONS})
        return await self.run(program, parameters, timeout_s=timeout_s, label="check", show=show)

    async def run_client(
        self, program: Program, parameters: Mapping[str, str], timeout_s: float, label: str
    ) -> ProgramResult:
        """Run a client program on the master and fetch its jobs' histories."""
        self._jobs.require_for(program)
        job_parameters = {name: value for name, value in parameters.items() if is_job_parameter(name)}
        options = {**job_options(self.daemons.deployment, job_parameters), **program.options}
        profiler = self.profiler if label == TIMED_JOB else None
        profiled_job = await profiler.begin(self.pid_files) if profiler else None
        if profiler and profiled_job:
            options |= {name: f"{options[name]} {profiler.option(profiled_job, ATTEMPT)}" for name in TASK_JAVA_OPTIONS}
        arguments = [*(f"-D{name}={value}" for name, value in options.items()), *program.arguments]
        command = self.daemons.command(program.main_class, *arguments, java_options=_CLIENT_JAVA_OPTIONS)
        client_result = await self.client(command, timeout_s, label, cwd=self.daemons.home)
        if client_result.outcome.exit_status != 0:
            await self.end_applications()
        result = await JobHistories(self.storage, _HISTORIES).add_histories(
            client_result, job_ids(client_result.outcome.output)
        )
        if profiler is None:
            return result
        return await profiler.end(profiled_job, result, task_parts(result.tasks, result.started_unix_s))

    async def end_jobs(self) -> None:
        """End the jobs of a client that was cancelled."""
        await self.end_applications()

    async def progress(self) -> str | None:
        """Return the running job's progress from its ApplicationMaster; None without a job."""
        try:
            apps = await running_applications(self.daemons.resourcemanager)
            return await progress(self.daemons.resourcemanager, apps[-1]) if apps else None
        except (EngineError, HostError):
            return None

    async def end_applications(self) -> None:
        """End all running applications. Do nothing if the ResourceManager does not answer."""
        try:
            application_ids = [app["id"] for app in await running_applications(self.daemons.resourcemanager)]
            if application_ids:
                command = self.daemons.command(_APPLICATION_CLI, "application", "-kill", *application_ids)
                await self.master.run(command, timeout_s=COMMAND_TIMEOUT_S, check=False)
        except (EngineError, HostError):
            return


def is_faster_in_client(reads_bytes: int, link_bits_per_s: float) -> bool:
    """Return whether a check of ``reads_bytes`` is faster in the client on the master than as a job on the cluster."""
    return reads_bytes <= min(_LOCAL_CHECK_BYTES_MAX, link_bits_per_s / 8 * _LOCAL_CHECK_S_MAX)
