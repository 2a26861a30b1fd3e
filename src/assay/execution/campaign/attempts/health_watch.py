"""Monitor daemons, hosts, links, devices and the lab while a run executes.

In: the run's environment, its engine and the work to guard. Out: the result of the work. If the work can no longer
succeed, it is cancelled and the cause is raised. The campaign classifies a failure by the :class:`NodeObservations`.

Detection: a dead daemon or failing device at the first check of the node, a stopped daemon or a link without carrier
at the second, a silent host after :data:`SILENT_S` + :data:`ANSWER_S`, packet loss between two nodes at the fifth
check; each within 15 s. Cost: every two seconds, each node is checked and sends three echo requests to each other node.
Daemons that assay started receive no requests.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TypeVar

from assay.execution.campaign.attempts.run_context import RunContext
from assay.execution.engines.contract import Engine
from assay.execution.hosts.transport import Transport
from assay.execution.lab.health import LabHealth
from assay.execution.observation.node_health import (
    INTERVAL_S,
    SILENT_CHECKS_MIN,
    NodeObservations,
    NodeWatch,
    WatchOptions,
    contact_losses,
)
from assay.foundation.cancellation import end_tasks, finish
from assay.foundation.errors import AssayError, EngineError, HostError, LabError

T = TypeVar("T")

SILENT_S = 9.0
"""Maximum silence of a host before assay sends it a command, in seconds. On an overloaded machine checks arrive
seconds late."""
ANSWER_S = 4.0
"""Maximum time for a host to run a command, in seconds."""
LAB_REPORT_WAIT_S = 3.0
"""Maximum wait for a lab to report the loss of a node whose connection ended, in seconds."""
ENGINE_INTERVAL_S = 4.0
"""Minimum time between two health checks of an externally managed engine, in seconds."""
ENGINE_ANSWER_S = 6.0
"""Maximum time of a health check of an externally managed engine, in seconds."""
STOP_S = 60.0
"""Maximum time for ending all watches, in seconds. Ending a watch takes at most twice its ``stop_timeout_s``."""
REACHABLE_AGE_MAX_S = 2 * INTERVAL_S
"""Maximum age of the last check of a reachable node, in seconds."""
_POLL_S = 0.5
"""Time between two evaluations of the checks, in seconds."""
_DOWN_CHECKS_MIN = 2
"""Number of consecutive checks without carrier after which a link counts as down."""


@asynccontextmanager
async def watching(run_context: RunContext, engine: Engine) -> AsyncIterator[HealthMonitor]:
    """Watch every node until the block ends. Raises HostError if a node can't be watched."""
    options = watch_options(run_context, engine)
    names = list(run_context.transports)
    starts = (NodeWatch.start(run_context.transports[name], options[name]) for name in names)
    results = await asyncio.gather(*starts, return_exceptions=True)
    monitor = HealthMonitor(
        {watch.transport.name: watch for watch in results if isinstance(watch, NodeWatch)}, engine, run_context.health
    )
    try:
        for result in results:
            if isinstance(result, BaseException):
                raise result
        yield monitor
    finally:
        await finish(monitor.stop(), "ending the watch of the nodes", STOP_S)


def watch_options(run_context: RunContext, engine: Engine) -> dict[str, WatchOptions]:
    """Return the options of each node's watch: daemons, folders, other nodes and control group."""
    memory_groups = {
        name: (options.cgroup or {}).get("memory") for name, options in run_context.sampler_options.items()
    }
    return {
        name: WatchOptions(
            daemons=engine.pid_files.get(name, {}),
            directories=run_context.sampler_options[name].disks,
            peers={
                node.name: node.address.host
                for node in run_context.cluster.nodes
                if node.address and node.name != name and node.name in run_context.transports
            },
            cgroup=memory_groups.get(name),
            is_shared_kernel=run_context.links is not None,
        )
        for name in run_context.transports
    }


class HealthMonitor:
    """The running watches of all nodes."""

    def __init__(self, watches: Mapping[str, NodeWatch], engine: Engine, lab: LabHealth | None) -> None:
        self._watches = watches
        self._engine = engine
        self._lab = lab
        self._engine_checked_s = time.monotonic()
        self._engine_message = ""

    @property
    def observations(self) -> tuple[NodeObservations, ...]:
        """The observations of each node."""
        return tuple(watch.observations for watch in self._watches.values())

    async def guard(self, work: Awaitable[T], report_problem: Callable[[str], None]) -> T:
        """Await ``work`` and return its result. If something that it needs is lost, pass the message to
        ``report_problem``, cancel ``work`` and raise the error."""
        task, error_task = asyncio.ensure_future(work), asyncio.create_task(self._first_error())
        try:
            await asyncio.wait({task, error_task}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                error = error_task.result()
                report_problem(error.message)
                await end_tasks(task)
                raise error
            return task.result()
        finally:
            await end_tasks(task, error_task)

    async def final_check(self) -> None:
        """Check every node once more: the cause of a failure may become visible only after the failure."""
        await asyncio.gather(*(watch.next_check(INTERVAL_S + ANSWER_S) for watch in self._watches.values()))

    async def stop(self) -> None:
        """End all watches."""
        await asyncio.gather(*(watch.end() for watch in self._watches.values()))

    async def _first_error(self) -> AssayError:
        while True:
            if (error := await self._check()) is not None:
                return error
            await asyncio.sleep(_POLL_S)

    async def _check(self) -> AssayError | None:
        if lab_error := await self._lab_error(0.0):
            return lab_error
        for watch in self._watches.values():
            if host_error := await self._host_error(watch) or _link_or_device_error(watch.observations):
                return host_error
        if pair_error := self._pair_error():
            return pair_error
        if problems := [daemon for watch in self._watches.values() for daemon in _daemon_problems(watch.observations)]:
            return EngineError(", ".join(problems))
        return await self._engine_error()

    async def _lab_error(self, wait_s: float) -> LabError | None:
        """Return the lab's health problem as an error; None if no problem appears within ``wait_s``."""
        deadline_s = time.monotonic() + wait_s
        while self._lab:
            if message := await asyncio.to_thread(self._lab.health_check):
                return LabError(message)
            if time.monotonic() >= deadline_s:
                break
            await asyncio.sleep(_POLL_S)
        return None

    async def _host_error(self, watch: NodeWatch) -> AssayError | None:
        """Return an error if a host is unreachable: its checks have stopped and it does not answer a command."""
        silent_s = time.monotonic() - watch.last_check_s
        if watch.lost is None and silent_s < SILENT_S:
            return None
        if await _answers(watch.transport):
            watch.last_check_s = time.monotonic()  # only the watch is late or ended; the host answers
            return None
        # A stopping node loses its connection before its last processes end, so the lab may report it a moment later.
        if error := await self._lab_error(0.0 if watch.lost is None else LAB_REPORT_WAIT_S):
            return error
        watch.transport.abandon()
        name = watch.transport.name
        message = f"{name} does not answer: its last check was {silent_s:.0f} s ago"
        return HostError(message if watch.lost is None else f"{name} is out of reach: {watch.lost.message}")

    def _pair_error(self) -> HostError | None:
        """Return an error if two nodes can't reach each other, although assay can reach both."""
        now_s = time.monotonic()
        reachable_nodes = {
            name
            for name, watch in self._watches.items()
            if now_s - watch.last_check_s < REACHABLE_AGE_MAX_S and not watch.lost
        }
        for watch in self._watches.values():
            for peer, checks in watch.observations.silent_checks.items():
                if checks >= SILENT_CHECKS_MIN and {watch.observations.node, peer} <= reachable_nodes:
                    return HostError(contact_losses(self.observations)[0].message)
        return None

    async def _engine_error(self) -> AssayError | None:
        """Return an error if an externally managed engine had a problem in two checks in a row,
        :data:`ENGINE_INTERVAL_S` apart."""
        if self._engine.pid_files or time.monotonic() - self._engine_checked_s < ENGINE_INTERVAL_S:
            return None
        try:
            async with asyncio.timeout(ENGINE_ANSWER_S):
                message = await self._engine.health_check() or ""
        except TimeoutError:
            message = f"{self._engine.facts.name} does not answer"
        except AssayError as error:
            message = error.message
        self._engine_checked_s = time.monotonic()
        previous_message, self._engine_message = self._engine_message, message
        return EngineError(message) if message and previous_message else None


def _link_or_device_error(observations: NodeObservations) -> AssayError | None:
    """Return an error if a link is down or a device has errors."""
    for name, checks in observations.down_checks.items():
        if checks >= _DOWN_CHECKS_MIN:
            return HostError(observations.links[name].message)
    return HostError(observations.devices[0].message) if observations.devices else None


def _daemon_problems(observations: NodeObservations) -> list[str]:
    """Return messages about a node's daemons that died or are stopped."""
    deaths = [f"{observations.node}: {name} died" for name, state in observations.daemons.items() if state == "dead"]
    return [*deaths, *(f"{observations.node}: {name} is stopped (SIGSTOP)" for name in observations.stopped_daemons)]


async def _answers(transport: Transport) -> bool:
    """Return whether the host runs a command within :data:`ANSWER_S`."""
    command = asyncio.create_task(transport.run(["true"], timeout_s=ANSWER_S))
    done, _ = await asyncio.wait({command}, timeout=ANSWER_S)
    if done:
        return command.exception() is None
    # Ending the command on the host would take as long again, so its end is not awaited.
    command.cancel()
    command.add_done_callback(lambda task: task.cancelled() or task.exception())
    return False
