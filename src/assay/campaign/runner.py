"""A campaign from start to end: connect, measure the baseline, carry out what is left of the plan, publish each run.

In: a plan, a repository, a :class:`Watcher` that shows what goes on. Out: published bundles and a :class:`Summary`.
Whatever ends a campaign (a finished plan, an error, Ctrl-C, SIGTERM), the daemons are stopped, and every run that was
finished stays. The same call goes on where it ended.
"""

from __future__ import annotations

import asyncio
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import msgspec

from assay import __version__
from assay.campaign.attempt import Published, Setting, attempt
from assay.campaign.estimate import remaining_s
from assay.campaign.journal import Journal, key_of, open_campaign, remaining, wanted
from assay.campaign.order import PlannedRun, schedule
from assay.engines.hadoop.engine import HadoopEngine
from assay.errors import EngineError, HostError
from assay.hosts import LocalTransport, Transport, connect_ssh
from assay.lab.links import Links
from assay.lab.state import lab_directory
from assay.model.baseline import Baseline
from assay.model.cluster import Cluster, Placement
from assay.model.plan import Plan
from assay.model.run import Run, RunStatus
from assay.observe.baseline import measure_baseline
from assay.observe.environment import capture
from assay.observe.sampling import SamplerOptions
from assay.repository import Repository
from assay.spec import expand
from assay.units import format_duration

FAILURES_IN_A_ROW_MAX = 3


class Watcher(Protocol):
    """Whoever shows a campaign's progress."""

    def say(self, text: str) -> None:
        """Take a line that stays."""
        ...

    def step(self, text: str) -> None:
        """Take what goes on now; the next call replaces it."""
        ...

    def begin(self, number: int, total: int, title: str, left_s: float) -> None:
        """Take that run ``number`` of ``total`` begins, with the expected time for all that is left."""
        ...

    def end(self, run: Run) -> None:
        """Take a finished run."""
        ...


@dataclass(frozen=True, slots=True)
class Summary:
    """What a campaign did in this call."""

    campaign_id: str
    planned: int
    made: int
    already_there: int
    statuses: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Schedule:
    """What a call will do: every planned run, and those that are left with their attempt's number."""

    runs: Sequence[PlannedRun]
    left: Sequence[tuple[PlannedRun, int]]
    done: int
    """Planned runs with a valid result."""
    expected_s: float
    journal: Journal
    continued: bool


def prepare(plan: Plan, repository: Repository, *, again: bool) -> Schedule:
    """Return what there is to do for ``plan``: a new campaign, or the rest of one that was begun."""
    runs = schedule(plan, expand(plan))
    history = repository.runs(environment=False)
    journal, continued = open_campaign(repository.root, plan, history, runs, again=again)
    finished = [run for run in history if run.campaign_id == journal.campaign_id]
    left = remaining(plan, runs, finished)
    there = {key_of(run) for run in finished if run.status is RunStatus.VALID}
    expected = remaining_s([planned for planned, _ in left], plan, history)
    return Schedule(runs, left, sum(run.key in there for run in runs), expected, journal, continued)


def _renewed(plan: Plan, repository: Repository, todo: Schedule) -> Schedule:
    """Return what is left now that nobody else carries out this campaign: somebody may have, since it was counted."""
    finished = repository.runs(campaign_id=todo.journal.campaign_id, environment=False)
    there = {key_of(run) for run in finished if run.status is RunStatus.VALID}
    left = remaining(plan, todo.runs, finished)
    return replace(todo, left=left, done=sum(run.key in there for run in todo.runs))


async def carry_out(plan: Plan, cluster: Cluster, lab_facts: Mapping[str, Any], repository: Repository,
                    todo: Schedule, watcher: Watcher, *, with_baseline: bool) -> Summary:  # fmt: skip
    """Make every run that is left on ``cluster`` (the plan's, with addresses where a lab made them).

    Raises EngineError when several runs in a row fail: the cluster is broken, and more runs would not help.
    """
    async with AsyncExitStack() as stack:
        stack.enter_context(todo.journal.hold())
        todo = _renewed(plan, repository, todo)
        watcher.step("connecting")
        transports = await connect(cluster, stack)
        engine = await HadoopEngine.open(cluster, transports, watcher.step)
        stack.push_async_callback(_finish, engine)
        baseline = await _baseline(cluster, transports, watcher) if with_baseline else None
        environment = await _environment(cluster, transports, engine, lab_facts, watcher)
        setting = Setting(
            plan=plan,
            cluster=cluster,
            transports=transports,
            engine=engine,
            samplers={node.name: sampler_options(cluster, node.name, lab_facts) for node in cluster.nodes},
            campaign_id=todo.journal.campaign_id,
            environment=environment,
            baseline=baseline,
            show=watcher.step,
            links=Links(lab_facts, lab_directory(lab_facts["name"])) if lab_facts else None,
        )
        statuses = await _make_runs(setting, repository, todo, watcher)
    return Summary(todo.journal.campaign_id, len(todo.runs), statuses.total(), todo.done, dict(statuses))


async def _make_runs(setting: Setting, repository: Repository, todo: Schedule, watcher: Watcher) -> Counter[str]:
    statuses: Counter[str] = Counter()
    failures = 0
    queue = [(planned, number, setting.plan.attempts) for planned, number in todo.left]
    history = list(repository.runs(environment=False))
    while queue:
        planned, number, tries = queue.pop(0)
        if not wanted(planned, setting.plan, [run for run in history if run.campaign_id == setting.campaign_id]):
            watcher.step(f"known well enough: {planned.title} is not needed")
            continue
        left_s = remaining_s([planned, *(run for run, _, _ in queue)], setting.plan, history)
        title = planned.title if number == 1 else f"{planned.title}, attempt {number}"
        watcher.begin(planned.index + 1, len(todo.runs), title, left_s)
        todo.journal.write("begin", run=planned.index, title=title, attempt=number)
        published = await attempt(planned, number, setting)
        _publish(repository, published, setting.baseline)
        run = published.run
        todo.journal.write("end", run=planned.index, run_id=run.run_id, status=run.status, cause=run.cause)
        watcher.end(run)
        history.append(run)
        statuses[str(run.status)] += 1
        failures = failures + 1 if run.status is RunStatus.FAILED else 0
        if run.status is not RunStatus.VALID and tries > 1:
            queue.insert(0, (planned, number + 1, tries - 1))
        if failures >= FAILURES_IN_A_ROW_MAX:
            raise EngineError(f"{failures} runs in a row failed, the last because: {run.cause}",
                              where=f"campaign {setting.campaign_id}",
                              hint="mend the cause; the same command goes on from here")  # fmt: skip
    return statuses


def _publish(repository: Repository, published: Published, baseline: Baseline | None) -> None:
    files = {"baseline.json": msgspec.json.format(msgspec.json.encode(baseline))} if baseline else {}
    repository.publish(published.run, tasks=published.tasks, trace=published.trace, logs=published.logs, files=files)


async def _finish(engine: HadoopEngine) -> None:
    """Stop the daemons even when this task is being cancelled."""
    await asyncio.shield(asyncio.ensure_future(engine.close()))


async def connect(cluster: Cluster, stack: AsyncExitStack) -> dict[str, Transport]:
    """Return a transport for every node; they are closed with ``stack``. Raises HostError for one that can't be had."""
    if cluster.placement is Placement.LOCAL:
        transports: list[Transport] = [LocalTransport(node.name) for node in cluster.nodes]
    else:
        addressed = [(node.name, node.address) for node in cluster.nodes if node.address]
        results = await asyncio.gather(*(connect_ssh(name, address) for name, address in addressed),
                                       return_exceptions=True)  # fmt: skip
        transports = [result for result in results if not isinstance(result, BaseException)]
        for transport in transports:
            stack.push_async_callback(transport.close)
        for result in results:
            if isinstance(result, BaseException):
                raise result
    return {transport.name: transport for transport in transports}


async def _baseline(cluster: Cluster, transports: Mapping[str, Transport], watcher: Watcher) -> Baseline | None:
    if cluster.placement is Placement.LOCAL:
        return None
    watcher.step("measuring devices and links")
    try:
        return await measure_baseline(cluster, transports, progress=watcher.step)
    except HostError as error:
        watcher.say(f"going on without a baseline of devices and links: {error}")
        return None


async def _environment(cluster: Cluster, transports: Mapping[str, Transport], engine: HadoopEngine,
                       lab_facts: Mapping[str, Any], watcher: Watcher) -> dict[str, Any]:  # fmt: skip
    watcher.step("recording the environment")
    folders = {
        node.name: [device.directory for device in node.type.devices if device.directory] for node in cluster.nodes
    }
    captured = await asyncio.gather(
        *(capture(transports[node.name], java=engine.java, directories=folders[node.name]) for node in cluster.nodes)
    )
    return {
        "assay": {"version": __version__, "python": platform.python_version()},
        "engine": await engine.environment(),
        "lab": dict(lab_facts) or None,
        "nodes": dict(zip((node.name for node in cluster.nodes), captured, strict=True)),
    }


def sampler_options(cluster: Cluster, name: str, lab_facts: Mapping[str, Any]) -> SamplerOptions:
    """Return what the sampler looks at on a node: its described devices, and its cgroups in a lab."""
    node = next(node for node in cluster.nodes if node.name == name)
    disks = {device.name: device.directory for device in node.type.devices if device.directory}
    groups = lab_facts.get("nodes", {}).get(name, {}).get("cgroup")
    return SamplerOptions(disks=disks, cgroup=groups)


def plan_lines(plan: Plan, todo: Schedule, repository_root: Path) -> list[str]:
    """Return what a call will do, in words."""
    configurations = list(dict.fromkeys(run.configuration.key for run in todo.runs))
    workloads = list(dict.fromkeys(run.workload.key for run in todo.runs))
    repetitions = max(run.repetition for run in todo.runs)
    often = f"{plan.repetitions} to {repetitions}" if plan.until else str(repetitions)
    lines = [
        f"{len(workloads)} workloads ({', '.join(workloads)}) × {len(configurations)} configurations "
        f"({'; '.join(configurations)}) × {often} repetitions = {len(todo.runs)} runs",
    ]
    if todo.continued:
        ready = f"{todo.done} of {len(todo.runs)} runs are done"
        lines.append(f"going on with campaign {todo.journal.campaign_id}: {ready}")
    lines.append(f"expected to take {format_duration(todo.expected_s)}; runs go to {repository_root}")
    return lines
