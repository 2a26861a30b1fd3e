"""Run programs on an externally managed Spark with its own client on an edge node, without changing that Spark.

In: a cluster whose :class:`~assay.model.clusters.cluster.Attachment` names Spark's client and cluster manager: YARN or
a standalone master (``spark://``). Out: an engine next to the attached Hadoop, which stores the data and runs
Hadoop's programs. Settings that neither plan nor cluster file states come from Spark's configuration on the edge node.
Drivers run on the edge node.
"""

import asyncio
import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from assay.analysis.code_profile.files import DRIVER, EXECUTOR
from assay.execution.engines.contract import EngineFacts, ProgramResult, ProvidedEngine, ShowProgress
from assay.execution.engines.hadoop.deployment.attached import AttachedEngine, AttachedHadoop
from assay.execution.engines.hadoop.hdfs import ROOT
from assay.execution.engines.hadoop.jobs import jobs as hadoop_jobs
from assay.execution.engines.hadoop.jobs.rest import Endpoint
from assay.execution.engines.hadoop.profiling.parts import stage_parts
from assay.execution.engines.hadoop.profiling.recording import TIMED_JOB
from assay.execution.engines.hadoop.settings.configuration import normalised
from assay.execution.engines.skeleton import COMMAND_TIMEOUT_S
from assay.execution.engines.spark import programs, settings
from assay.execution.engines.spark.distribution import SparkDistribution, require
from assay.execution.engines.spark.engine import (
    EXECUTOR_ID,
    EXECUTOR_JAVA_OPTIONS,
    SparkOnHadoop,
    application_text,
    with_event_log,
)
from assay.execution.engines.spark.history import read_history
from assay.execution.engines.spark.logs import EventLogs, logs_of
from assay.execution.engines.spark.provider import SparkProvider
from assay.execution.engines.spark.rules import without_spark
from assay.execution.hosts.transport import Transport
from assay.foundation.errors import EngineError, HostError
from assay.model import REPLICATION, Cluster, CodedWarning, Configuration, Program, SparkClient, WarningCode
from assay.store.formats.spark.parameters import spark_parameters

DEFAULT_CLIENT = SparkClient("/usr/bin/spark-submit", "/etc/spark/conf", settings.YARN)
PAGE_PORT = 8080
"""Default port of the page of Spark's master."""
DRIVER_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_COMPARABILITY_SETTINGS = (
    settings.DYNAMIC,
    "spark.scheduler.minRegisteredResourcesRatio",
    "spark.scheduler.maxRegisteredResourcesWaitingTime",
    "spark.eventLog.enabled",
    "spark.ui.enabled",
    "spark.ui.showConsoleProgress",
)
"""Settings that make runs comparable and state no sizes; they apply to an externally managed Spark too."""
_VERSION = re.compile(r"version (\d+\.\d+\.\d[\w.-]*)")


@dataclass(slots=True)
class _ForeignApplications:
    """Other users' applications on Spark's standalone master, and the maximum number of cores that they held
    concurrently."""

    earlier_ids: frozenset[str] = frozenset()
    """Ids of the applications that started before assay's."""
    ids: set[str] = field(default_factory=set)
    cores: int = 0

    def add_applications(self, apps: list[dict[str, Any]]) -> None:
        """Record the applications in ``apps`` that started before assay's application."""
        foreign_apps = [app for app in apps if str(app.get("id")) in self.earlier_ids]
        self.ids |= {str(app.get("id")) for app in foreign_apps}
        self.cores = max(self.cores, sum(int(app.get("cores") or 0) for app in foreign_apps))

    def warnings(self) -> tuple[CodedWarning, ...]:
        """Return a warning if other applications held cores."""
        if not self.cores:
            return ()
        text = f"disturbed by others: {len(self.ids)} other applications used {self.cores} cores of Spark's cluster"
        return (CodedWarning(WarningCode.DISTURBED, text),)


@dataclass(frozen=True, slots=True)
class SparkInstallation:
    """Spark on the edge node, and the paths of assay's programs there."""

    client: SparkClient
    facts: EngineFacts
    cluster_defaults: Mapping[str, str]
    """The cluster's ``spark-defaults.conf``."""
    built_in_defaults: Mapping[str, str]
    """This Spark's built-in defaults."""
    program_jar: str
    jobs_jar: str
    logs: EventLogs


class AttachedSparkEngine(SparkOnHadoop[AttachedEngine]):
    """An externally managed Spark next to an externally managed Hadoop."""

    def __init__(
        self, installation: SparkInstallation, hadoop: AttachedEngine, transports: Mapping[str, Transport]
    ) -> None:
        super().__init__(installation.facts, hadoop, transports)
        self._installation = installation
        self._foreign_applications = _ForeignApplications()

    def effective_parameters(self, parameters: Mapping[str, str]) -> dict[str, str]:
        """Return the parameters of Hadoop, Spark's defaults, the cluster's configuration, and the job's settings."""
        hadoop_parameters = self.hadoop.effective_parameters(settings.of_hadoop(parameters))
        installation = self._installation
        return {
            **hadoop_parameters,
            **installation.built_in_defaults,
            **spark_parameters(installation.cluster_defaults),
            **self._settings(parameters),
        }

    def _settings(self, parameters: Mapping[str, str]) -> dict[str, str]:
        """Return the settings of a job: those that make runs comparable, the plan's, and the cluster file's."""
        attachment, client = self.hadoop.attached.attachment, self._installation.client
        spark_settings = settings.of_spark(parameters)
        executors = settings.executors(spark_settings, len(self.cluster.workers))
        comparability_settings = {name: settings.BY_DEFAULT[name] for name in _COMPARABILITY_SETTINGS}
        if not settings.is_dynamic(spark_settings):
            comparability_settings[settings.EXECUTORS] = str(executors)
            if not client.on_yarn and settings.CORES in spark_settings:
                comparability_settings["spark.cores.max"] = str(
                    executors * max(1, settings.count_value(spark_settings, settings.CORES))
                )
        hdfs_parameters = {
            name: value for name, value in settings.of_hadoop(parameters).items() if name.startswith("dfs.")
        }
        return {
            **comparability_settings,
            **{f"spark.hadoop.{name}": value for name, value in normalised(hdfs_parameters).items()},
            **spark_settings,
            settings.MASTER: client.master,
            settings.DEPLOY_MODE: "client",
            settings.QUEUE: attachment.queue,
            settings.TAGS: self.hadoop.tag,
            settings.STAGING: f"{attachment.directory}/staging",
            settings.EVENTS: self._installation.logs.address,
        }

    async def health_check(self) -> str | None:
        """Return the problem of Hadoop or of Spark's standalone master; None if both are healthy."""
        if message := await self.hadoop.health_check():
            return message
        try:
            await _require_live_master(self.master, self._installation.client)
        except (EngineError, HostError) as error:
            return error.message
        return None

    async def run_client(
        self, program: Program, parameters: Mapping[str, str], timeout_s: float, label: str
    ) -> ProgramResult:
        """Submit a program with the cluster's spark-submit, and fetch its event log from the configured folder."""
        installation, hadoop = self._installation, self.hadoop
        logs = replace(installation.logs, storage=replace(self.storage, root=ROOT))
        logs_before = await logs.names()
        program_options = {
            name: hadoop.with_user_folder(value)
            for name, value in {**program.options, **await self.tools(program)}.items()
        }
        job_settings = {**self._settings(parameters), **program_options}
        profiler = hadoop.profiler if label == TIMED_JOB else None
        profiled_job = await profiler.begin() if profiler else None
        if profiler and profiled_job:
            for name, jvm in ((DRIVER_JAVA_OPTIONS, DRIVER), (EXECUTOR_JAVA_OPTIONS, f"{EXECUTOR}{EXECUTOR_ID}")):
                current_options = job_settings.get(name) or installation.cluster_defaults.get(name, "")
                job_settings[name] = f"{current_options} {profiler.option(profiled_job, jvm)}".strip()
        command = [
            installation.client.submit,
            *(part for name, value in sorted(job_settings.items()) for part in ("--conf", f"{name}={value}")),
        ]
        command += ["--jars", installation.jobs_jar, "--class", program.main_class, installation.program_jar]
        command += map(hadoop.with_user_folder, program.arguments)
        self._foreign_applications = _ForeignApplications(
            frozenset(str(app.get("id")) for app in await self._applications_on_master())
        )

        async def add_history(program_result: ProgramResult) -> ProgramResult:
            files = await logs.fetch(logs_before, hadoop.tag)
            history = read_history(files, program_result.started_unix_s)
            result = with_event_log(program_result, history)
            if profiler is None:
                return result
            parts = stage_parts(history.stage_spans, history.stages, result.started_unix_s, self.cluster.master.name)
            return await profiler.end(profiled_job, result, parts)

        copies = parameters.get(REPLICATION, "1")
        program_result = await hadoop.submit(
            command, timeout_s, label, add_history, int(copies), _environment(self.hadoop, installation.client)
        )
        return replace(program_result, warnings=(*program_result.warnings, *self._foreign_applications.warnings()))

    async def _applications_on_master(self) -> list[dict[str, Any]]:
        """Return the applications on Spark's standalone master; empty on YARN, or if the master does not answer."""
        if self._installation.client.on_yarn:
            return []
        with contextlib.suppress(EngineError, HostError):
            return list((await _page(self.master, self._installation.client).get("/json/")).get("activeapps") or [])
        return []

    async def progress(self) -> str | None:
        """Record other users' applications, and return the state of assay's application."""
        self._foreign_applications.add_applications(await self._applications_on_master())
        applications = await self.hadoop.poll_applications()
        return application_text(applications[-1]) if applications else None


def _environment(hadoop: AttachedEngine, client: SparkClient) -> dict[str, str]:
    configuration = hadoop.attached.attachment.configuration
    return {"HADOOP_CONF_DIR": configuration, "YARN_CONF_DIR": configuration, "SPARK_CONF_DIR": client.configuration}


def _page(edge: Transport, client: SparkClient) -> Endpoint:
    host, _, port = (
        client.page or f"{client.master.removeprefix('spark://').rpartition(':')[0]}:{PAGE_PORT}"
    ).rpartition(":")
    return Endpoint(edge, host, int(port))


async def _require_live_master(edge: Transport, client: SparkClient) -> None:
    """Raise EngineError if Spark's standalone master does not serve or has no live worker."""
    if client.on_yarn:
        return
    hint = "set attached: spark: page in the cluster file to HOST:PORT of the master's page"
    try:
        answer = await _page(edge, client).get("/json/")
    except EngineError as error:
        raise EngineError(f"Spark's master does not answer: {error.message}", where=client.master, hint=hint) from error
    if answer.get("status") != "ALIVE":
        raise EngineError(
            f"Spark's master is {str(answer.get('status'))[:40]}, not ALIVE", where=client.master, hint=hint
        )
    if not any(worker.get("state") == "ALIVE" for worker in answer.get("workers") or []):
        raise EngineError("Spark's master has no live worker", where=client.master)


class AttachedSpark(SparkProvider[AttachedHadoop, SparkInstallation]):
    """Uses an existing Spark on an existing Hadoop, and leaves both unchanged."""

    def __init__(self, cluster: Cluster, transports: Mapping[str, Transport]) -> None:
        assert cluster.attached is not None, "the catalogue provides it only for attached clusters"
        super().__init__(cluster, transports, AttachedHadoop(cluster, transports))
        self._client = cluster.attached.spark or DEFAULT_CLIENT

    async def install(self, show: ShowProgress) -> SparkInstallation:
        """Check that the running Spark answers, and copy assay's programs for it to the edge node."""
        client, edge, attached = self._client, self._hadoop.holder, self._hadoop.attached
        show("checking the running Spark")
        version = await _version(edge, client)
        await _require_live_master(edge, client)
        spark = await asyncio.to_thread(require, show)
        _require_same_version(spark, version, f"{edge.name}: {client.submit}")
        jobs_jar = await asyncio.to_thread(lambda: hadoop_jobs.require(show))
        spark_programs = await asyncio.to_thread(programs.require, spark, jobs_jar, show)
        program_jar = await programs.ship({edge.name: edge}, spark_programs.jar, self._cluster.home)
        cluster_defaults = await _defaults(edge, client)
        logs = logs_of(cluster_defaults, attached, show)
        if logs.is_assay_folder:
            await logs.storage.make(logs.path)
        hadoop = attached.facts
        facts = replace(hadoop, name=AttachedSparkEngine.rules.name, version=f"{version} on Hadoop {hadoop.version}")
        return SparkInstallation(
            client, facts, cluster_defaults, spark_programs.defaults, program_jar, str(hadoop.jobs_jar), logs
        )

    async def provide(self, configuration: Configuration, show: ShowProgress) -> ProvidedEngine:
        """Return the engine that the configuration names. Nothing on the cluster is restarted."""
        provided_engine = await self._hadoop.provide(without_spark(configuration), show)
        hadoop = self._hadoop.engine
        assert hadoop is not None
        if configuration.engine == hadoop.facts.name:
            self._engine = hadoop
        elif not (isinstance(self._engine, AttachedSparkEngine) and self._engine.hadoop is hadoop):
            self._engine = AttachedSparkEngine(self.installation, hadoop, self._transports)
        assert self._engine is not None
        return ProvidedEngine(self._engine, provided_engine.is_restarted)


async def _version(edge: Transport, client: SparkClient) -> str:
    where = f"{edge.name}: {client.submit}"
    environment = {"SPARK_CONF_DIR": client.configuration}
    try:
        result = await edge.run([client.submit, "--version"], timeout_s=COMMAND_TIMEOUT_S, env=environment)
    except HostError as error:
        hint = "set attached: spark: submit in the cluster file to the program spark-submit"
        raise EngineError(f"Spark's client does not run: {error.message}", where=where, hint=hint) from error
    output = (result.stdout + result.stderr).decode(errors="replace")
    match = _VERSION.search(output)
    if match is None:
        raise EngineError(f"it prints no version: {output[:80]!r}", where=where)
    return match[1]


def _require_same_version(spark: SparkDistribution, version: str, where: str) -> None:
    """Raise EngineError if assay's programs would be compiled for another minor version of Spark."""
    if spark.version.split(".")[:2] != version.split(".")[:2]:
        raise EngineError(
            f"the cluster runs Spark {version}, but assay's own programs would be compiled for Spark {spark.version}",
            where=where,
            hint=f"set SPARK_HOME on this machine to an unpacked Spark {version}",
        )


async def _defaults(edge: Transport, client: SparkClient) -> dict[str, str]:
    """Return the cluster's ``spark-defaults.conf`` (format of java.util.Properties); empty if there is none."""
    try:
        content = await edge.read_file(f"{client.configuration}/spark-defaults.conf")
    except HostError:
        return {}
    pairs = (
        re.split(r"\s*[=:\s]\s*", line.strip(), maxsplit=1) for line in content.decode(errors="replace").splitlines()
    )
    return {pair[0]: pair[1].strip() for pair in pairs if len(pair) == 2 and not pair[0].startswith(("#", "!"))}
