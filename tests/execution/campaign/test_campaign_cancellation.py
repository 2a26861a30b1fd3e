"""Test cancellation at every await of a campaign."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest

from assay.execution.campaign.attempts.health_watch import HealthMonitor
from assay.execution.engines.contract import Engine
from assay.execution.engines.skeleton import ClientEngine
from assay.execution.hosts.base import BaseTransport, Channel, ForegroundProcess
from assay.execution.observation.node_health import NodeWatch
from assay.foundation.cancellation import CANCEL_INTERVAL_S, CANCELS_MAX, end_tasks, finish
from assay.foundation.errors import EngineError, HostError
from tick_loop import TickLoop, in_ticks

TICKS = range(2, 80)
"""Ticks to cancel in. The first starts the work; the longest wait below takes fewer."""


@dataclass
class Attached:
    """An engine without daemons of assay's: the watcher asks it, and it takes some ticks to answer."""

    answer_ticks: int
    pid_files: tuple[()] = ()

    async def health_check(self) -> str | None:
        for _ in range(self.answer_ticks):
            await asyncio.sleep(0)
        return None


@pytest.mark.parametrize("answer_ticks", range(5))
def test_guarded_work_ends_in_whichever_tick_of_the_watcher_it_ends(
    answer_ticks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.execution.campaign.attempts.health_watch.ENGINE_INTERVAL_S", 0.0)
    for tick in TICKS:

        async def guarded(loop: TickLoop, tick: int = tick) -> float:
            monitor = HealthMonitor({}, cast(Engine, Attached(answer_ticks)), None)
            work = loop.create_future()
            ended_s: list[float] = []
            work.add_done_callback(lambda _: ended_s.append(loop.time()))
            loop.at[tick] = lambda: work.set_result("done")
            assert await monitor.guard(work, pytest.fail) == "done"
            return loop.time() - ended_s[0]

        waited_s, _ = in_ticks(guarded)
        assert waited_s == 0.0, f"work that ended in tick {tick}"


class Silent:
    """A channel whose process says nothing."""

    async def read_stderr(self, limit: int) -> bytes:
        await asyncio.sleep(3600)
        return b""


async def _after(ticks: int, action: Callable[[], object]) -> None:
    for _ in range(ticks):
        await asyncio.sleep(0)
    action()


def process_that_starts(ticks: int) -> Coroutine[Any, Any, object]:
    async def work() -> object:
        process = ForegroundProcess(cast(BaseTransport, SimpleNamespace(name="h")), ["x"], cast(Channel, Silent()), "t")
        telling = asyncio.create_task(_after(ticks, lambda: process._pid.set_result(7)))
        try:
            return await process.reported_pid(20)
        finally:
            telling.cancel()
            process._draining.cancel()

    return work()


def look_that_comes(ticks: int) -> Coroutine[Any, Any, object]:
    async def work() -> object:
        watch = cast(NodeWatch, SimpleNamespace(_received=asyncio.Event(), lost=None))
        coming = asyncio.create_task(_after(ticks, watch._received.set))
        try:
            await NodeWatch.next_check(watch, 20)
        finally:
            coming.cancel()
        return None

    return work()


def client_that_is_cut_short(ticks: int) -> Coroutine[Any, Any, object]:
    """Return a wait for a client whose progress can't be asked, so that it is ended, which takes some ticks."""

    async def end_jobs() -> None:
        await _after(ticks, lambda: None)

    async def progress() -> str | None:
        raise EngineError("the master does not answer")

    async def client() -> None:
        await asyncio.sleep(3600)

    async def work() -> object:
        engine = cast(ClientEngine[Any], SimpleNamespace(end_jobs=end_jobs, progress=progress))
        try:
            return await ClientEngine._show_progress(engine, cast(Awaitable[Any], client()), lambda _: None)
        except EngineError:
            return None

    return work()


@pytest.mark.parametrize("wait", [process_that_starts, look_that_comes, client_that_is_cut_short])
@pytest.mark.parametrize("ticks", range(5))
def test_a_wait_that_is_cancelled_is_cancelled_in_every_tick(
    wait: Callable[[int], Coroutine[Any, Any, object]], ticks: int
) -> None:
    asked = 0
    for tick in TICKS:

        async def cancelled(loop: TickLoop, tick: int = tick) -> tuple[bool, bool]:
            task = asyncio.create_task(wait(ticks))
            taken: list[bool] = []
            loop.at[tick] = lambda: taken.append(task.cancel())
            await asyncio.wait({task})
            return taken == [True], task.cancelled()

        (was_asked, was_cancelled), _ = in_ticks(cancelled)
        assert was_asked == was_cancelled, f"cancelled in tick {tick}"
        asked += was_asked
    assert asked > ticks, "nothing was tried"


def test_a_watcher_that_loses_two_cancellations_is_cancelled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.execution.campaign.attempts.health_watch.ENGINE_INTERVAL_S", 0.0)
    monkeypatch.setattr("assay.execution.campaign.attempts.health_watch.ENGINE_ANSWER_S", 3600.0)
    lost: list[int] = []

    class Losing(Attached):
        async def health_check(self) -> str | None:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                lost.append(1)
                if len(lost) > 2:
                    raise
            return None

    async def guarded(_: TickLoop) -> str:
        monitor = HealthMonitor({}, cast(Engine, Losing(0)), None)
        return await monitor.guard(asyncio.sleep(0.1, "done"), pytest.fail)

    result, loop = in_ticks(guarded)
    assert (result, len(lost)) == ("done", 3)
    assert loop.time() < CANCELS_MAX * CANCEL_INTERVAL_S


def test_a_hanging_program_is_named_and_no_longer_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    async def stubborn() -> None:
        while loop.time() < 1e6:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(1e6)

    async def ended(_: TickLoop) -> bool:
        task = asyncio.create_task(stubborn())
        await asyncio.sleep(0)
        return await end_tasks(task)

    loop = TickLoop()
    assert loop.run_until_complete(ended(loop)) is False
    assert loop.time() == CANCELS_MAX * CANCEL_INTERVAL_S
    (record,) = caplog.records
    assert "stubborn" in record.getMessage()
    assert "test_campaign_cancellation.py:" in record.getMessage()
    loop.run_until_complete(asyncio.wait(asyncio.all_tasks(loop)))
    loop.close()


@pytest.mark.parametrize("fails", [False, True])
def test_clean_up_is_finished_though_its_task_is_cancelled_meanwhile_and_then_ends_cancelled(fails: bool) -> None:
    for tick in TICKS[1:]:  # a task that is cancelled before its first step does nothing
        done: list[str] = []

        async def clean_up(done: list[str] = done) -> None:
            for _ in range(10):
                await asyncio.sleep(0)
            done.append("done")
            if fails:
                raise HostError("out of reach")

        async def cancelled(loop: TickLoop, tick: int = tick) -> tuple[bool, bool, bool]:
            task = asyncio.create_task(finish(clean_up(), "it", 60))
            taken: list[bool] = []
            loop.at[tick] = lambda: taken.append(task.cancel())
            await asyncio.wait({task})
            return taken == [True], task.cancelled(), not task.cancelled() and task.exception() is not None

        (asked, was_cancelled, failed), _ = in_ticks(cancelled)
        assert (was_cancelled, failed) == (asked, fails and not asked)
        assert done == ["done"]


def test_clean_up_that_takes_too_long_is_cancelled_and_named() -> None:
    async def late(_: TickLoop) -> None:
        await finish(asyncio.sleep(1000), "stopping the daemons", 60)

    with pytest.raises(HostError, match="stopping the daemons timed out after 60 s"):
        in_ticks(late)
