"""Run a campaign: connect, measure the baseline, execute the remaining runs, publish each.

In: a plan, a repository, a :class:`ProgressObserver` that shows progress. Out: completed bundles and a
:class:`CampaignSummary`. However a campaign ends (plan finished, error, Ctrl-C, SIGTERM), assay's daemons are
stopped and finished runs are kept. The same call resumes the campaign.
"""

import asyncio
import platform
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from assay.execution.campaign.attempts.attempt import attempt
from assay.execution.campaign.attempts.run_context import AttemptContext, CompletedRun, RunContext
from assay.execution.campaign.attempts.sampling import sampler_options
from assay.execution.campaign.loop import CampaignWork, ProgressObserver, RunSequence
from assay.execution.campaign.prepare import recover_unpublished
from assay.execution.engines.contract import EngineFacts, MakeProvider, Provider
from assay.execution.hosts import LocalTransport, Transport, connect_ssh
from assay.execution.lab.health import LabHealth
from assay.execution.lab.links import LabLinks
from assay.execution.lab.state import lab_directory
from assay.execution.observation.checking import check_connected_hosts
from assay.execution.observation.device_baseline import measure_baseline
from assay.execution.observation.environment import capture
from assay.execution.planning.forecast.forecast import update_schedule
from assay.execution.planning.order import PlannedRun
from assay.foundation.cancellation import finish
from assay.foundation.errors import HostError, LabLostError
from assay.foundation.version import __version__
from assay.model import (
    Cluster,
    DeviceBaseline,
    Environment,
    Grade,
    HostCheckReport,
    LabFacts,
    Placement,
    Run,
    RunStatus,
)
from assay.store.campaigns.journal import CampaignJournal
from assay.text import plural

_ANSWER_TIMEOUT_S = 15.0
"""Maximum time for a host to run a command before it counts as unreachable, in seconds."""
_PERCENT_INTERVAL_S = 1.0
"""Minimum time between two writes of a step with a percentage into the campaign's folder, in seconds."""
CLOSE_S = 300.0
"""Maximum time for stopping the daemons, in seconds. The next campaign on the cluster stops the remaining daemons."""


@dataclass(frozen=True, slots=True)
class CampaignSummary:
    """The result of one call of a campaign."""

    campaign_id: str
    planned: int
    made: int
    """Number of attempts that this call made."""
    already_there: int
    """Number of planned runs that earlier calls made."""
    statuses: Mapping[str, int]
    failures: Mapping[str, int]
    """Number of attempts that were not valid, by failure class."""
    stopped: str | None
    """Why the call ended before it made all requested runs; None if it made them all."""
    lab_lost: LabLostError | None = None
    """The error if the lab lost disks or nodes; the remaining runs then need a new lab."""
    stopped_early: int = 0
    """Number of attempts that a search stopped early because faster runs are known."""

    @property
    def not_valid(self) -> int:
        """Number of attempts that failed or were invalid."""
        return self.made - self.statuses.get(RunStatus.VALID, 0)


@dataclass(slots=True)
class _JournalingObserver:
    """Forwards progress and writes the current step into the campaign's folder, for other terminals."""

    observer: ProgressObserver
    journal: CampaignJournal
    last_step: tuple[str, float] = ("", 0.0)

    def say(self, text: str) -> None:
        self.observer.say(text)

    def step(self, text: str) -> None:
        self.observer.step(text)
        last_text, last_text_s = self.last_step
        if text != last_text and ("%" not in text or time.monotonic() - last_text_s >= _PERCENT_INTERVAL_S):
            self.last_step = (text, time.monotonic())
            self.journal.set_step(text)

    def begin(self, number: int, total: int, title: str, left_s: float | None) -> None:
        self.observer.begin(number, total, title, left_s)

    def end(self, run: Run) -> None:
        self.observer.end(run)


@dataclass(frozen=True, slots=True)
class CampaignCluster:
    """The plan's cluster as the campaign uses it: in a lab, with the addresses of the nodes."""

    cluster: Cluster
    lab: LabFacts | None
    """The lab of the cluster; None on hosts and in simulations."""
    provide: MakeProvider
    """Returns the engine's provider."""


class _ConnectedCluster:
    """The cluster of a campaign: connections, engine and environment. It reconnects when a host was lost."""

    def __init__(self, work: CampaignWork, campaign_cluster: CampaignCluster) -> None:
        self._provide = campaign_cluster.provide
        self._plan = work.plan
        self._cluster = campaign_cluster.cluster
        self._lab = lab = campaign_cluster.lab
        self._health = LabHealth(lab_directory(lab.name)) if lab else None
        self._device_errors: tuple[str, ...] = ()
        self._journal = work.schedule.journal
        self._observer = work.observer
        self._stack = AsyncExitStack()
        self._run_context: RunContext | None = None
        self.baseline: DeviceBaseline | None = None
        self.host_checks: HostCheckReport | None = None

    async def open(self, *, with_baseline: bool) -> None:
        """Connect, lock the cluster, and record its environment."""
        cluster, observer = self._cluster, self._observer
        async with AsyncExitStack() as stack:
            if not cluster.simulated:
                observer.step("connecting")
            transports = await connect(cluster, stack)
            provider = self._provide(cluster, transports)
            await provider.open(observer.step)
            stack.push_async_callback(_close_provider, provider)
            if with_baseline:
                self.host_checks = await _host_checks(cluster, transports, observer)
                self.baseline = await _baseline(cluster, transports, observer)
            environment = await _environment(cluster, transports, provider.facts, self._lab, observer)
            groups = self._lab.control_groups if self._lab else {}
            self._run_context = RunContext(
                plan=self._plan,
                cluster=cluster,
                transports=transports,
                provider=provider,
                sampler_options={node.name: sampler_options(node, groups.get(node.name)) for node in cluster.nodes},
                campaign_id=self._journal.campaign_id,
                environment=environment,
                baseline=self.baseline,
                show=observer.step,
                links=LabLinks(self._lab, lab_directory(self._lab.name)) if self._lab else None,
                host_samples=self._journal.host_samples,
                health=self._health,
            )
            self._stack = stack.pop_all()

    async def make(self, planned_run: PlannedRun, attempt_number: int, context: AttemptContext) -> CompletedRun:
        """Make one attempt."""
        assert self._run_context is not None
        completed_run = await attempt(planned_run, attempt_number, self._run_context, context)
        self._device_errors = completed_run.device_errors
        return completed_run

    async def reconnect(self) -> None:
        """Reconnect unless every host answers.

        Raises HostError when a host stays unreachable, LabLostError when only a new lab would help.
        """
        if self._health and (loss := self._health.health_check() or next(iter(self._device_errors), None)):
            # An emulated disk that is lost can't be replaced.
            raise LabLostError(loss, where=self._cluster.name, hint=f"remove it: assay lab down {self._cluster.name}")
        if self._run_context is not None and await _all_answer(self._run_context.transports):
            return
        await self.close()
        await self.open(with_baseline=False)

    async def close(self) -> None:
        """Stop the daemons and close the connections. The next campaign stops processes on hosts that are
        unreachable now."""
        stack, self._stack, self._run_context = self._stack, AsyncExitStack(), None
        try:
            await stack.aclose()
        except HostError as error:
            self._observer.say(f"some processes could not be ended: {error}")


async def _all_answer(transports: Mapping[str, Transport]) -> bool:
    replies = (transport.run(["true"], timeout_s=_ANSWER_TIMEOUT_S) for transport in transports.values())
    answers = await asyncio.gather(*replies, return_exceptions=True)
    return not any(isinstance(answer, HostError) for answer in answers)


async def run_campaign(
    work: CampaignWork, campaign_cluster: CampaignCluster, *, with_baseline: bool
) -> CampaignSummary:
    """Execute every remaining run. ``with_baseline``: whether to measure devices and links first.

    Raises EngineError when several runs in a row fail: the cluster is broken then.
    """
    journal = work.schedule.journal
    with journal.hold():
        recover_unpublished(work.repository, journal, work.observer.say)
        schedule = update_schedule(work.plan, work.schedule, work.repository.runs(environment=False))
        journal = schedule.journal
        work = replace(work, schedule=schedule, observer=_JournalingObserver(work.observer, journal))
        journal.write("connect")
        executor = _ConnectedCluster(work, campaign_cluster)
        try:
            await executor.open(with_baseline=with_baseline)
            call_result = await RunSequence(work, executor).run()
        finally:
            await finish(executor.close(), "closing the cluster", 2 * CLOSE_S)
    return CampaignSummary(
        campaign_id=schedule.journal.campaign_id,
        planned=len(schedule.runs),
        made=call_result.statuses.total(),
        already_there=schedule.done,
        statuses=dict(call_result.statuses),
        failures=dict(call_result.failures),
        stopped=call_result.stop_reason,
        lab_lost=call_result.lab_lost,
        stopped_early=call_result.stopped_early,
    )


def merge_summaries(summaries: Sequence[CampaignSummary]) -> CampaignSummary:
    """Merge the summaries of a call's parts. Each part except the last ended because its lab was lost."""
    counts = [(Counter(part.statuses), Counter(part.failures)) for part in summaries]
    return replace(
        summaries[-1],
        made=sum(part.made for part in summaries),
        stopped_early=sum(part.stopped_early for part in summaries),
        already_there=summaries[0].already_there,
        statuses=dict(sum((statuses for statuses, _ in counts), Counter[str]())),
        failures=dict(sum((failures for _, failures in counts), Counter[str]())),
    )


async def _close_provider(provider: Provider) -> None:
    """Stop the daemons, even if this task is being cancelled."""
    await finish(provider.close(), "stopping the daemons", CLOSE_S)


async def connect(cluster: Cluster, stack: AsyncExitStack) -> dict[str, Transport]:
    """Return a transport for each node that assay may log in to; a simulated cluster has none. ``stack`` closes them.

    Raises HostError if a connection fails.
    """
    if cluster.simulated:
        return {}
    if cluster.placement is Placement.LOCAL:
        transports: list[Transport] = [LocalTransport(node.name) for node in cluster.login_nodes]
    else:
        addresses = [(node.name, node.address) for node in cluster.login_nodes if node.address]
        results = await asyncio.gather(
            *(connect_ssh(name, address) for name, address in addresses), return_exceptions=True
        )
        transports = [result for result in results if not isinstance(result, BaseException)]
        for transport in transports:
            stack.push_async_callback(transport.close)
        for result in results:
            if isinstance(result, BaseException):
                raise result
    return {transport.name: transport for transport in transports}


async def _host_checks(
    cluster: Cluster, transports: Mapping[str, Transport], observer: ProgressObserver
) -> HostCheckReport | None:
    """Check real hosts. Labs and this machine are not checked."""
    if cluster.placement is not Placement.SSH or cluster.simulated:
        return None
    observer.step("checking hosts")
    report = await check_connected_hosts(cluster, transports)
    for problem in report.problems():
        if problem.grade is Grade.ERROR:
            observer.say(
                f"error on {problem.host}: {problem.criterion} {problem.subject}: {problem.message}".replace(" :", ":")
            )
    counts = f"{plural(report.count(Grade.ERROR), 'error')}, {plural(report.count(Grade.WARNING), 'warning')}"
    observer.say(f"host checks: {counts}; stored with each run")
    return report


async def _baseline(
    cluster: Cluster, transports: Mapping[str, Transport], observer: ProgressObserver
) -> DeviceBaseline | None:
    if cluster.placement is Placement.LOCAL or cluster.simulated:
        return None
    if cluster.attached:
        observer.say("campaigns measure no baseline of an externally managed cluster; `assay baseline` measures one")
        return None
    observer.step("measuring devices and links")
    try:
        return await measure_baseline(cluster, transports, progress=observer.step)
    except HostError as error:
        observer.say(f"continuing without a baseline of devices and links: {error}")
        return None


async def _environment(
    cluster: Cluster,
    transports: Mapping[str, Transport],
    facts: EngineFacts,
    lab: LabFacts | None,
    observer: ProgressObserver,
) -> Environment:
    if cluster.simulated:
        return Environment({"assay": {"version": __version__}})
    observer.step("recording the environment")
    folders = {
        node.name: [device.directory for device in node.type.devices if device.directory]
        for node in cluster.login_nodes
    }
    environments = await asyncio.gather(
        *(capture(transports[name], java=facts.java, directories=folders[name]) for name in folders)
    )
    return Environment(
        {
            "assay": {"version": __version__, "python": platform.python_version()},
            "engine": facts.record(),
            "lab": dict(lab.tree) if lab else None,
            "nodes": dict(zip(folders, environments, strict=True)),
        }
    )
