"""Run Spark programs by a driver on the master, and read jobs and tasks from their event log.

In: a running Hadoop engine, Spark's jars, a program and its parameters. Out: a
:class:`~assay.execution.engines.contract.ProgramResult`, with times in seconds. Hadoop stores the data, checks the
daemons' health, and runs Hadoop's own programs, which make inputs and check outputs. This module builds the driver's
command, and adds the fetched event log to the result.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from assay.analysis.code_profile.files import DRIVER, EXECUTOR
from assay.execution.engines.contract import EngineFacts, ProgramResult, ShowProgress
from assay.execution.engines.hadoop.engine import HadoopEngine
from assay.execution.engines.hadoop.hdfs import Hdfs
from assay.execution.engines.hadoop.jobs.histories import running_applications
from assay.execution.engines.hadoop.profiling.parts import stage_parts
from assay.execution.engines.hadoop.profiling.recording import TIMED_JOB
from assay.execution.engines.hadoop.rules import HadoopRules
from assay.execution.engines.skeleton import COMMAND_TIMEOUT_S, ClientEngine
from assay.execution.engines.spark import programs, settings
from assay.execution.engines.spark.history import SparkJobHistory, read_history
from assay.execution.engines.spark.rules import SparkRules
from assay.execution.engines.spark.standalone import Standalone
from assay.foundation.errors import EngineError, HostError
from assay.model import Program

if TYPE_CHECKING:
    from assay.execution.hosts.transport import Transport

HadoopT = TypeVar("HadoopT", bound=ClientEngine[Hdfs])
SUBMIT = "org.apache.spark.deploy.SparkSubmit"
_JAR_PLACEHOLDER = "spark-internal"
"""SparkSubmit's placeholder for a jar whose classes are on the class path already."""
EXECUTOR_JAVA_OPTIONS = "spark.executor.extraJavaOptions"
EXECUTOR_ID = "{{EXECUTOR_ID}}"
"""Variable in the Java options of an executor that Spark replaces by the executor's number."""
_SUMS = {
    "HDFS_BYTES_READ": "input_bytes",
    "HDFS_BYTES_WRITTEN": "output_bytes",
    "MAP_OUTPUT_MATERIALIZED_BYTES": "shuffle_write_bytes",
    "REDUCE_SHUFFLE_BYTES": "shuffle_read_bytes",
}
"""Hadoop's names of the counters that workloads need, to names of sums over the event log."""
_COUNTER = re.compile(r"^assay-counter ([A-Z0-9_]+) (-?[0-9]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class InstalledSpark:
    """Paths of Spark and of assay's own programs, the same on every host."""

    facts: EngineFacts
    jars: str
    """The folder of Spark's jars."""
    program_jar: str
    """The jar of assay's own Spark programs."""
    jobs_jar: str
    """The jar of assay's Hadoop jobs, whose records the programs read."""
    defaults: Mapping[str, str]
    """This Spark's built-in defaults."""

    @property
    def classpath(self) -> str:
        """Class path of drivers and executors, without the configuration."""
        return f"{self.program_jar}:{self.jobs_jar}:{self.jars}/*"

    @property
    def extra_class_path(self) -> str:
        """Class path of executors, without Spark's own jars."""
        return f"{self.program_jar}:{self.jobs_jar}"


class SparkOnHadoop(ClientEngine[Hdfs], Generic[HadoopT]):
    """Spark on a running Hadoop, which stores the data and runs Hadoop's own programs."""

    rules = SparkRules(HadoopRules())

    def __init__(self, facts: EngineFacts, hadoop: HadoopT, transports: Mapping[str, Transport]) -> None:
        super().__init__(facts, hadoop.storage, hadoop.cluster, transports)
        self.hadoop = hadoop
        self.master = hadoop.master

    @property
    def storage(self) -> Hdfs:
        """Hadoop's storage, through the NameNode that is active now."""
        return self.hadoop.storage

    @property
    def addresses(self) -> Mapping[str, str]:
        """Hadoop's addresses, which executors use too."""
        return self.hadoop.addresses

    @property
    def data_directories(self) -> Mapping[str, Sequence[str]]:
        """Hadoop's directories. Shuffle files are in the NodeManagers' directories, or in Spark's own directories below
        the same folders."""
        return self.hadoop.data_directories

    async def run(
        self, program: Program, parameters: Mapping[str, str], *, timeout_s: float, label: str, show: ShowProgress
    ) -> ProgramResult:
        """Run a Spark program; Hadoop's programs are run by Hadoop."""
        if program.engine == self.hadoop.facts.name:
            hadoop_parameters = settings.of_hadoop(parameters)
            return await self.hadoop.run(program, hadoop_parameters, timeout_s=timeout_s, label=label, show=show)
        return await super().run(program, parameters, timeout_s=timeout_s, label=label, show=show)

    async def check(
        self, program: Program, parameters: Mapping[str, str], *, reads_bytes: int, timeout_s: float, show: ShowProgress
    ) -> ProgramResult:
        """Run a check: a Hadoop program in Hadoop's fastest way, a Spark program like any other."""
        if program.engine == self.hadoop.facts.name:
            hadoop_parameters = settings.of_hadoop(parameters)
            return await self.hadoop.check(
                program, hadoop_parameters, reads_bytes=reads_bytes, timeout_s=timeout_s, show=show
            )
        return await super().check(program, parameters, reads_bytes=reads_bytes, timeout_s=timeout_s, show=show)

    async def end_jobs(self) -> None:
        """End the application of a cancelled driver."""
        await self.hadoop.end_jobs()

    async def tools(self, program: Program) -> dict[str, str]:
        """Copy the program's tools, which tasks call, to the master. Return the setting by which Spark copies them to
        executors."""
        paths = []
        for name in program.tools:
            content = await asyncio.to_thread(programs.tool, name)
            # The checksum is in the folder's name, because tasks call the program by its file name.
            path = f"{self.cluster.home}/tools/{hashlib.sha256(content).hexdigest()[:12]}/{name}"
            await self.master.write_file(path, content)
            paths.append(path)
        return {"spark.files": ",".join(paths)} if paths else {}


class SparkEngine(SparkOnHadoop[HadoopEngine]):
    """Spark that assay deploys: on YARN, or on the daemons in ``standalone``."""

    def __init__(self, installation: InstalledSpark, hadoop: HadoopEngine, standalone: Standalone | None) -> None:
        super().__init__(installation.facts, hadoop, hadoop.daemons.transports)
        self.standalone = standalone
        self._installation = installation

    def uses_daemons(self, hadoop: HadoopEngine, standalone: Standalone | None) -> bool:
        """Return whether the engine uses exactly these daemons."""
        return self.hadoop is hadoop and self.standalone is standalone

    @property
    def pid_files(self) -> Mapping[str, Mapping[str, str]]:
        """Pid files of Hadoop's daemons and of Spark's own."""
        standalone_files = self.standalone.pid_files() if self.standalone else {}
        hadoop = self.hadoop.pid_files
        return {
            node: {**hadoop.get(node, {}), **standalone_files.get(node, {})} for node in {**hadoop, **standalone_files}
        }

    def effective_parameters(self, parameters: Mapping[str, str]) -> dict[str, str]:
        """Return Hadoop's parameters, Spark's own defaults, and all settings of a Spark program with ``parameters``."""
        hadoop_parameters = self.hadoop.effective_parameters(settings.of_hadoop(parameters))
        return {**hadoop_parameters, **self._installation.defaults, **self._settings(parameters)}

    def _settings(self, parameters: Mapping[str, str]) -> dict[str, str]:
        installation = self._installation
        installation_settings = {
            "spark.executor.extraClassPath": installation.extra_class_path,
            settings.MASTER: self.standalone.url if self.standalone else settings.YARN,
            "spark.yarn.jars": f"local:{installation.jars}/*",
        }
        return settings.program_settings(self.hadoop.daemons.deployment, parameters, installation_settings)

    async def health_check(self) -> str | None:
        """Return the problem of Hadoop's daemons or of Spark's own; None if all are healthy."""
        if problem := await self.hadoop.health_check():
            return problem
        return await self.standalone.health_check() if self.standalone else None

    async def logs(self) -> dict[str, bytes]:
        """Return the last lines of the logs of Hadoop's daemons and Spark's own, by ``node-daemon.log``."""
        standalone_logs = await self.standalone.logs() if self.standalone else {}
        return await self.hadoop.logs() | standalone_logs

    async def run_client(
        self, program: Program, parameters: Mapping[str, str], timeout_s: float, label: str
    ) -> ProgramResult:
        """Run a driver on the master and fetch its event log."""
        daemons = self.hadoop.daemons
        events = settings.event_directory(daemons.deployment)
        await self.master.run(["rm", "-rf", events], timeout_s=COMMAND_TIMEOUT_S)
        await self.master.run(["mkdir", "-p", events], timeout_s=COMMAND_TIMEOUT_S)
        address = daemons.deployment.host(daemons.deployment.cluster.master)
        environment = {"HADOOP_CONF_DIR": daemons.configuration_directory(), "SPARK_LOCAL_IP": address}
        profiler = self.hadoop.profiler if label == TIMED_JOB else None
        profiled_job = await profiler.begin(self.hadoop.pid_files) if profiler else None
        profiler_option = (lambda name: profiler.option(profiled_job, name)) if profiler and profiled_job else None
        command = self._command(program, {**parameters, **await self.tools(program)}, profiler_option)
        client_result = await self.client(command, timeout_s, label, cwd=daemons.home, env=environment)
        if client_result.outcome.exit_status != 0:
            await self.hadoop.end_applications()
        history = read_history(await self._event_log(events), client_result.started_unix_s)
        result = with_event_log(client_result, history)
        if profiler is None:
            return result
        parts = stage_parts(history.stage_spans, history.stages, result.started_unix_s, self.cluster.master.name)
        return await profiler.end(profiled_job, result, parts)

    def _command(
        self, program: Program, parameters: Mapping[str, str], profiler_option: Callable[[str], str] | None
    ) -> list[str]:
        """Return the driver's command: SparkSubmit in client mode, which runs the program's class in its own JVM.

        ``profiler_option`` returns the option of a JVM that writes the given recording; None without profiles.
        """
        daemons = self.hadoop.daemons
        deployment, spark_settings = daemons.deployment, {**self._settings(parameters), **program.options}
        options = [*settings.MODULE_OPTIONS, *settings.driver_java_options(deployment, spark_settings)]
        if profiler_option:
            options.append(profiler_option(DRIVER))
            spark_settings[EXECUTOR_JAVA_OPTIONS] += f" {profiler_option(f'{EXECUTOR}{EXECUTOR_ID}')}"
        path = f"{daemons.configuration_directory()}:{self._installation.classpath}"
        setting_options = [
            part for name, value in sorted(spark_settings.items()) for part in ("--conf", f"{name}={value}")
        ]
        command = [deployment.java, *options, f"-Dlog4j2.configurationFile={self._log_settings}", "-cp", path, SUBMIT]
        return [*command, *setting_options, "--class", program.main_class, _JAR_PLACEHOLDER, *program.arguments]

    @property
    def _log_settings(self) -> str:
        return f"{self.hadoop.daemons.configuration_directory()}/{settings.LOG_FILE}"

    async def _event_log(self, folder: str) -> dict[str, bytes]:
        """Return the event log's files by name, without checksum files; empty if there are none or the host is
        unreachable."""
        try:
            listing = await self.master.run(
                ["find", folder, "-type", "f", "-name", "[!.]*"], timeout_s=COMMAND_TIMEOUT_S, check=False
            )
            paths = sorted(listing.stdout.decode().splitlines())
            contents = await asyncio.gather(*(self.master.read_file(path) for path in paths))
        except HostError:
            return {}
        return {path.rsplit("/", 1)[-1]: content for path, content in zip(paths, contents, strict=True)}

    async def progress(self) -> str | None:
        """Return the application's state in YARN; None if there is no application, or on Spark's standalone master."""
        try:
            apps = await running_applications(self.hadoop.daemons.resourcemanager)
        except (EngineError, HostError):
            return None
        return application_text(apps[-1]) if apps else None


def application_text(app: Mapping[str, Any]) -> str:
    """Return the state of an application on YARN as text."""
    return f"{app['name']}: {app['state'].lower()} in {app.get('runningContainers', 0)} containers"


def with_event_log(result: ProgramResult, history: SparkJobHistory) -> ProgramResult:
    """Return ``result`` with the jobs, tasks, counters and checks of the event log."""
    client_counters = {name: int(value) for name, value in _COUNTER.findall(result.outcome.output)}
    log_counters = {name: int(history.metrics[metric]) for name, metric in _SUMS.items() if metric in history.metrics}
    counters = {group: values for group, values in (("assay", client_counters), ("event log", log_counters)) if values}
    names = ["phases"] * bool(history.phases) + ["tasks"] * bool(history.tasks)
    return replace(
        result,
        outcome=replace(result.outcome, counters=counters, failed_tasks=history.failed_tasks),
        lost_executors=history.problem,
        jobs=history.jobs,
        tasks=history.tasks,
        phases=history.phases,
        stages=history.stages,
        executors=history.executors,
        logs={**result.logs, **history.files},
        sources={**result.sources, **dict.fromkeys([*names, *history.metrics], "Spark event log")},
        checks=history.checks if result.outcome.exit_status == 0 else (),
        metrics=history.metrics,
    )
