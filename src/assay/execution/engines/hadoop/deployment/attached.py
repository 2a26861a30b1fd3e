"""Use an externally managed Hadoop through its client on an edge node, and leave it unchanged.

In: a cluster with an :class:`~assay.model.clusters.cluster.Attachment`. Out: an :class:`AttachedEngine`. Jobs use one
queue, and data are below one HDFS folder of the user. No daemon is started, stopped or configured. Only per-job
parameters and the storage policy of that folder can vary. Each run counts the containers and bytes of other users and
warns about them.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import statistics
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from assay.execution.engines.contract import EngineFacts, ProgramResult, ProvidedEngine, ShowProgress
from assay.execution.engines.hadoop.deployment import jmx
from assay.execution.engines.hadoop.deployment.attachment_checks import (
    check_queue,
    client_version,
    free_space,
    hosts_without_login,
)
from assay.execution.engines.hadoop.hdfs import ROOT, Hdfs
from assay.execution.engines.hadoop.jobs import access
from assay.execution.engines.hadoop.jobs import jobs as own_jobs
from assay.execution.engines.hadoop.jobs.histories import JobHistories, job_ids, progress, running_applications
from assay.execution.engines.hadoop.jobs.jobs import JobsJar
from assay.execution.engines.hadoop.jobs.rest import PLAIN, Endpoint
from assay.execution.engines.hadoop.profiling.parts import task_parts
from assay.execution.engines.hadoop.profiling.recording import (
    ATTEMPT,
    TASK_JAVA_OPTIONS,
    TIMED_JOB,
    ProfileRecorder,
    ProfileRecorders,
)
from assay.execution.engines.hadoop.rules import HadoopRules
from assay.execution.engines.hadoop.settings.configuration import is_job_parameter, normalised
from assay.execution.engines.hadoop.settings.site import (
    ClientConfiguration,
    active_namenode,
    active_resourcemanager,
    read_site,
)
from assay.execution.engines.skeleton import COMMAND_TIMEOUT_S, ClientEngine, LockedProvider
from assay.execution.hosts.transport import Transport
from assay.foundation.errors import EngineError, HostError
from assay.model import (
    PROFILED,
    REPLICATION,
    Attachment,
    Cluster,
    CodedWarning,
    Configuration,
    Program,
    Role,
    WarningCode,
)
from assay.store.formats.hadoop.configuration import Property
from assay.store.formats.hadoop.configuration import parameters as performance_parameters

QUEUE = "mapreduce.job.queuename"
TAGS = "mapreduce.job.tags"
BACK_TIMEOUT_S, BACK_INTERVAL_S = 900.0, 3.0
"""Maximum wait for externally managed daemons (a large NameNode is in safe mode for minutes), and interval between two
checks, in seconds."""
DISTURBED_SHARE = 0.05
"""Maximum mean share of other users' containers without a warning that the run was disturbed."""
_JAVA = "java"
"""Java on the workers' PATH, used to test profilers and to convert recordings. Daemons may use another Java."""
_JAVA_OPTIONS_OF_ALL_TASKS = "mapred.child.java.opts"
"""Parameter that Hadoop uses where the Java options of map or reduce tasks are not set."""
_APPLICATION_CLI = "org.apache.hadoop.yarn.client.cli.ApplicationCLI"
_ROOT_IN_OPTIONS = re.compile(rf"(^|[=,]){ROOT}(?=/|$)")


@dataclass(slots=True)
class _ContainerCounts:
    """Containers of other users and of this run, counted at each check during a program."""

    of_others: list[int] = field(default_factory=list)
    of_assay: list[int] = field(default_factory=list)

    def add_check(self, apps: Sequence[Mapping[str, Any]], tag: str) -> None:
        """Add the counts of one check. ``apps``: YARN's applications; ``tag``: the tag of this run's applications."""
        container_counts = [
            (int(app.get("runningContainers") or 0), tag in str(app.get("applicationTags", ""))) for app in apps
        ]
        self.of_others.append(sum(max(count, 0) for count, has_run_tag in container_counts if not has_run_tag))
        self.of_assay.append(sum(max(count, 0) for count, has_run_tag in container_counts if has_run_tag))

    def summary(self) -> tuple[dict[str, float], tuple[CodedWarning, ...]]:
        """Return the counts as metrics, with a warning if other users' share exceeds :data:`DISTURBED_SHARE`."""
        if not self.of_others:
            return {}, ()
        of_others, of_assay = statistics.fmean(self.of_others), statistics.fmean(self.of_assay)
        metrics = {"other_containers": of_others, "other_containers_max": float(max(self.of_others))}
        if of_others <= (of_others + of_assay) * DISTURBED_SHARE:
            return metrics, ()
        message = (
            f"disturbed by others: {of_others:.1f} containers on average, at most {max(self.of_others)}; this run had "
            f"{of_assay:.1f} on average ({len(self.of_others)} checks)"
        )
        return metrics, (CodedWarning(WarningCode.DISTURBED, message),)


class AttachedEngine(ClientEngine[Hdfs]):
    """Externally managed daemons, and the client on the edge node that submits to them."""

    rules = HadoopRules()

    def __init__(
        self, attached: AttachedCluster, folder: str, cluster: Cluster, transports: Mapping[str, Transport]
    ) -> None:
        super().__init__(attached.facts, attached.hdfs(folder), cluster, transports)
        self.attached = attached
        self._resourcemanager = attached.resourcemanager
        self.master = attached.edge
        self.tag = f"assay-{uuid.uuid4().hex[:12]}"
        self.profiler: ProfileRecorder | None = None
        self._container_counts = _ContainerCounts()

    @property
    def addresses(self) -> Mapping[str, str]:
        """The hosts' own names, under which daemons register."""
        return self.attached.names

    @property
    def data_directories(self) -> Mapping[str, Sequence[str]]:
        """The workers' folders in the client's configuration; empty if it names no folders."""
        site = self.attached.site
        values = [site.get(name) for name in ("dfs.datanode.data.dir", "yarn.nodemanager.local-dirs")]
        folders = [
            re.sub(r"^(\[\w+\])?(file://)?", "", part.strip()) for value in values for part in value.split(",") if part
        ]
        workers = [node.name for node in self.cluster.nodes if Role.WORKER in node.roles]
        return {node.name: folders if node.name in workers else [] for node in self.cluster.nodes}

    def effective_parameters(self, parameters: Mapping[str, str]) -> dict[str, str]:
        """Return the performance parameters in the client's configuration, overridden by the job's parameters."""
        site = self.attached.site
        site_parameters = performance_parameters(Property(name, site.get(name), ()) for name in site.settings)
        return {**site_parameters, **normalised(parameters), QUEUE: self.attached.attachment.queue}

    async def health_check(self) -> str | None:
        """Return a message if a master does not answer or HDFS is in safe mode; None if healthy.

        Look up the active masters first: another master of an HA pair may have become active.
        """
        try:
            await self.attached.site.access.enter(self.master)
            await self._find_active()
            return await safe_mode(self.storage.namenode)
        except (EngineError, HostError) as error:
            return error.message

    async def _find_active(self) -> None:
        """Switch to the active masters. Raises EngineError if there is none."""
        namenode = await active_namenode(self.master, self.attached.site)
        self._storage = replace(self._storage, namenode=namenode)
        self._resourcemanager = await active_resourcemanager(self.master, self.attached.site)

    async def run_client(
        self, program: Program, parameters: Mapping[str, str], timeout_s: float, label: str
    ) -> ProgramResult:
        """Submit a program with the client on the edge node, and fetch its jobs' histories."""
        attached, attachment = self.attached, self.attached.attachment
        attached.jobs.require_for(program)
        job_parameters = {name: value for name, value in parameters.items() if is_job_parameter(name)}
        job_settings = {QUEUE: attachment.queue, TAGS: self.tag}
        options = {
            **normalised(job_parameters),
            **{name: self.with_user_folder(v) for name, v in program.options.items()},
            **job_settings,
        }
        profiler = self.profiler if label == TIMED_JOB else None
        profiled_job = await profiler.begin() if profiler else None
        if profiler and profiled_job:
            for name in TASK_JAVA_OPTIONS:
                all_tasks_options = attached.site.get(_JAVA_OPTIONS_OF_ALL_TASKS)
                current_options = options.get(name) or attached.site.get(name) or all_tasks_options
                options[name] = f"{current_options} {profiler.option(profiled_job, ATTEMPT)}".strip()
        arguments = [
            *(f"-D{name}={value}" for name, value in options.items()),
            *map(self.with_user_folder, program.arguments),
        ]
        command = [attachment.hadoop, "--config", attachment.configuration, program.main_class, *arguments]
        folders = attached.site.history_folders()

        async def add_history(client_result: ProgramResult) -> ProgramResult:
            histories = JobHistories(replace(self.storage, root=ROOT), folders)
            result = await histories.add_histories(client_result, job_ids(client_result.outcome.output))
            if profiler is None:
                return result
            return await profiler.end(profiled_job, result, task_parts(result.tasks, result.started_unix_s))

        copies = options.get(REPLICATION) or attached.site.get(REPLICATION, "3")
        return await self.submit(command, timeout_s, label, add_history, int(copies) if copies.isdecimal() else 1)

    async def submit(
        self,
        command: Sequence[str],
        timeout_s: float,
        label: str,
        add_history: Callable[[ProgramResult], Awaitable[ProgramResult]],
        copies: int,
        env: Mapping[str, str] | None = None,
    ) -> ProgramResult:
        """Run a client on the edge node, and add its jobs' histories and the observed load of other users.

        If the client fails, end its remaining jobs.
        """
        attached = self.attached
        self._container_counts = _ContainerCounts()
        totals_before = await jmx.read_totals(self.storage.namenode, self._resourcemanager)
        client_result = await self.client(
            command, timeout_s, label, cwd=attached.home, env={**attached.environment, **(env or {})}
        )
        with contextlib.suppress(EngineError, HostError):  # the client may have followed a failover
            await self._find_active()
        if client_result.outcome.exit_status != 0:
            await self._end_applications()
        client_result = await add_history(client_result)
        metrics, warnings = self._container_counts.summary()
        sources = {**client_result.sources, **dict.fromkeys(metrics, "ResourceManager, asked every second")}
        all_warnings = (*client_result.warnings, *warnings)
        all_metrics = {**client_result.metrics, **metrics}
        client_result = replace(client_result, metrics=all_metrics, warnings=all_warnings, sources=sources)
        totals_after = await jmx.read_totals(self.storage.namenode, self._resourcemanager)
        return jmx.add_daemon_metrics(client_result, totals_before, totals_after, copies)

    def with_user_folder(self, text: str) -> str:
        """Return an argument with assay's root in HDFS replaced by the user's folder."""
        return _ROOT_IN_OPTIONS.sub(rf"\g<1>{self.storage.root}", text)

    async def progress(self) -> str | None:
        """Return the progress of assay's job from its ApplicationMaster; None if it is unknown."""
        try:
            run_applications = await self.poll_applications()
            return await progress(self._resourcemanager, run_applications[-1]) if run_applications else None
        except (EngineError, HostError):
            return None

    async def poll_applications(self) -> list[dict[str, Any]]:
        """Return assay's applications on YARN, and count other users' containers; empty if YARN does not answer."""
        try:
            apps = await running_applications(self._resourcemanager)
        except (EngineError, HostError):
            with contextlib.suppress(EngineError, HostError):  # the other ResourceManager of a pair may be active now
                self._resourcemanager = await active_resourcemanager(self.master, self.attached.site)
            return []
        self._container_counts.add_check(apps, self.tag)
        return [app for app in apps if self.tag in str(app.get("applicationTags", ""))]

    async def end_jobs(self) -> None:
        """End the jobs of a client that was cancelled."""
        await self._end_applications()

    async def _end_applications(self) -> None:
        """End assay's running applications, never those of other users."""
        try:
            application_ids = [
                app["id"]
                for app in await running_applications(self._resourcemanager)
                if self.tag in str(app.get("applicationTags", ""))
            ]
            if application_ids:
                attachment = self.attached.attachment
                kill = [
                    attachment.hadoop,
                    "--config",
                    attachment.configuration,
                    _APPLICATION_CLI,
                    "application",
                    "-kill",
                ]
                env = self.attached.environment
                await self.master.run([*kill, *application_ids], timeout_s=COMMAND_TIMEOUT_S, check=False, env=env)
        except (EngineError, HostError):
            return


@dataclass(frozen=True, slots=True)
class AttachedCluster:
    """Facts about the cluster, determined when assay attached to it."""

    attachment: Attachment
    edge: Transport
    site: ClientConfiguration
    namenode: Endpoint
    resourcemanager: Endpoint
    facts: EngineFacts
    jobs: JobsJar
    names: Mapping[str, str]
    """Node name to the name by which the host calls itself, under which its daemons register."""
    home: str
    """assay's folder on the edge node."""
    recorders: ProfileRecorders

    @property
    def environment(self) -> dict[str, str]:
        """The client's environment variables: additional jars, and the ticket."""
        jars = [*self.attachment.jars, *([self.jobs.path] if self.jobs.path else [])]
        return {**({"HADOOP_CLASSPATH": ":".join(jars)} if jars else {}), **self.site.access.environment}

    def hdfs(self, folder: str) -> Hdfs:
        """Return the file system, with assay's root mapped to ``folder``."""
        return Hdfs(self.namenode, self.site.user, folder)


async def safe_mode(namenode: Endpoint) -> str | None:
    """Return the NameNode's message about safe mode; None if it is not in safe mode."""
    message = (await namenode.bean("Hadoop:service=NameNode,name=NameNodeInfo")).get("Safemode")
    return f"HDFS is in safe mode and read-only: {str(message).splitlines()[0]}" if message else None


class AttachedHadoop(LockedProvider[AttachedEngine]):
    """Uses an externally managed Hadoop and leaves it unchanged."""

    rules = HadoopRules()

    def __init__(self, cluster: Cluster, transports: Mapping[str, Transport]) -> None:
        super().__init__(cluster, transports)
        self._attached: AttachedCluster
        self._access = PLAIN

    @property
    def attached(self) -> AttachedCluster:
        """Facts about the cluster, determined when assay attached to it."""
        return self._attached

    @property
    def _attachment(self) -> Attachment:
        attachment = self.cluster.attached
        assert attachment is not None, "the catalogue provides it only for attached clusters"
        return attachment

    @property
    def holder(self) -> Transport:
        """The edge node: the masters are externally managed."""
        return self.transports[self._attachment.edge]

    async def install(self, show: ShowProgress) -> EngineFacts:
        """Check client, masters, queue, folder, quota and space. Changes nothing but the user's folder."""
        edge, attachment = self.holder, self._attachment
        show("asking the running Hadoop")
        await edge.run(["mkdir", "-p", self.cluster.home], timeout_s=COMMAND_TIMEOUT_S)
        site = await self._site()
        version = await client_version(edge, attachment)
        namenode = await active_namenode(edge, site)
        resourcemanager = await active_resourcemanager(edge, site)
        if message := await safe_mode(namenode):
            raise EngineError(message, where=site.where, hint="wait until it leaves safe mode")
        await check_queue(resourcemanager, attachment.queue, site)
        jobs = await own_jobs.ship({edge.name: edge}, self.cluster.home, show)
        facts = EngineFacts(self.rules.name, version, jobs_jar=jobs.path)
        names = dict(self.cluster.hosts) | {
            name: (await transport.run(["hostname"], timeout_s=COMMAND_TIMEOUT_S)).stdout.decode().strip()
            for name, transport in self.transports.items()
        }
        recorders = ProfileRecorders(self.transports, _JAVA, self.cluster.home)
        self._attached = AttachedCluster(
            attachment=attachment,
            edge=edge,
            site=site,
            namenode=namenode,
            resourcemanager=resourcemanager,
            facts=facts,
            jobs=jobs,
            names=names,
            home=self.cluster.home,
            recorders=recorders,
        )
        hdfs = self._attached.hdfs(attachment.directory)
        await hdfs.make(ROOT)
        show(await free_space(hdfs, namenode))
        return facts

    async def _site(self) -> ClientConfiguration:
        """Return the client's configuration, with a valid Kerberos ticket if it needs one."""
        edge, attachment = self.holder, self._attachment
        site = await read_site(edge, attachment.configuration)
        site.check()
        cluster_access = access.of(
            is_secured=site.is_secured,
            authorities=attachment.authorities,
            login=attachment.kerberos,
            home=self.cluster.home,
        )
        self._access = cluster_access
        user = await cluster_access.enter(edge)
        return replace(site, access=cluster_access, user=user or site.user)

    async def open(self, show: ShowProgress) -> None:
        """Lock the edge node, and :meth:`install`; if that fails, destroy a ticket that assay made."""
        try:
            await super().open(show)
        except BaseException:
            await self._destroy_ticket()
            raise

    async def provide(self, configuration: Configuration, show: ShowProgress) -> ProvidedEngine:
        """Use the running daemons. If they have stopped since the previous run, wait until their operator starts
        them again."""
        if self._engine:
            await _wait_until_back(self._engine, show)
        return await super().provide(configuration, show)

    async def close(self) -> None:
        """Unlock the edge node and destroy a ticket that assay made; the daemons keep running."""
        try:
            await super().close()
        finally:
            await self._destroy_ticket()

    async def _destroy_ticket(self) -> None:
        with contextlib.suppress(HostError):
            await self._access.leave(self.holder)

    async def engine_for(self, configuration: Configuration) -> AttachedEngine:
        """Return an engine on the running daemons. Raises EngineError for settings that need their restart."""
        attached = self._attached
        daemon_settings = [name for name in configuration.parameters if not is_job_parameter(name)]
        if daemon_settings:
            raise EngineError(
                f"{', '.join(daemon_settings)}: a job can't set this, because it configures externally managed daemons",
                where=attached.site.where,
                hint="remove it from the plan, or let assay deploy Hadoop",
            )
        await attached.site.access.enter(attached.edge)
        namenode = await active_namenode(attached.edge, attached.site)
        copies = int(configuration.parameters.get(REPLICATION, "1"))
        state = await namenode.bean("Hadoop:service=NameNode,name=FSNamesystemState")
        live_datanodes = int(state.get("NumLiveDataNodes", 0))
        if copies > live_datanodes:
            raise EngineError(
                f"{copies} copies are requested, but {live_datanodes} DataNodes are live", where=attached.site.where
            )
        self._attached = attached = replace(attached, namenode=namenode)
        folder = f"{attached.attachment.directory}/{self.rules.file_system(configuration, self.cluster)}"
        return AttachedEngine(attached, folder, self.cluster, self.transports)

    async def start(self, engine: AttachedEngine, configuration: Configuration, show: ShowProgress) -> None:
        """Set the storage policy of the user's folder, if the layout has one."""
        show("using the running Hadoop")
        await engine.storage.make(ROOT)
        if configuration.layout.policy:
            await engine.storage.set_policy(ROOT, configuration.layout.policy)
        await self._set_profiler(engine, configuration, show)

    async def on_reuse(self, engine: AttachedEngine, configuration: Configuration, show: ShowProgress) -> None:
        """Set the profiler of the next run."""
        await self._set_profiler(engine, configuration, show)

    async def _set_profiler(self, engine: AttachedEngine, configuration: Configuration, show: ShowProgress) -> None:
        """Set the engine's profiler. Profiling needs a login on every host that runs a NodeManager."""
        engine.profiler = await self._attached.recorders.recorder(configuration.parameters.get(PROFILED), show)
        if engine.profiler and engine.profiler.method:
            nodes = (await self._attached.resourcemanager.get("/ws/v1/cluster/nodes?states=RUNNING")).get("nodes") or {}
            unnamed_hosts = hosts_without_login(
                [str(node["nodeHostName"]) for node in nodes.get("node") or []], self._attached.names
            )
            if unnamed_hosts:
                message = f"NodeManagers run on {', '.join(unnamed_hosts)}, which the cluster file does not name"
                engine.profiler = replace(engine.profiler, method=None, reason=message)


async def _wait_until_back(engine: AttachedEngine, show: ShowProgress) -> None:
    """Wait, within a limit, for active masters and the end of safe mode; an invalid ticket fails at once."""
    deadline = time.monotonic() + BACK_TIMEOUT_S
    while (message := await engine.health_check()) and time.monotonic() < deadline:
        with contextlib.suppress(HostError):
            await engine.attached.site.access.enter(engine.master)
        show(f"waiting for the externally managed Hadoop: {message}")
        await asyncio.sleep(BACK_INTERVAL_S)
