"""Cancel tasks reliably, and finish clean-up even if the task that runs it is cancelled. Times are in seconds.

A task can lose a cancellation: ``asyncio.wait_for`` of Python 3.11 drops it when the inner wait ends in the same tick
(https://github.com/python/cpython/issues/86296), and a library may catch it. :func:`end_tasks` therefore cancels a task
several times, and every wait for the task is bounded.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar, cast

from assay.foundation.errors import HostError
from assay.foundation.process import ENDING_SIGNALS

T = TypeVar("T")

CANCELS_MAX = 3
"""Maximum number of cancellations of a task."""
CANCEL_INTERVAL_S = 45.0
"""Seconds between two cancellations of a task. Ending a process on a node takes up to 34 s without interruption."""

_log = logging.getLogger(__name__)


async def end_tasks(*tasks: asyncio.Future[Any]) -> bool:
    """Cancel ``tasks`` until they have ended, :data:`CANCELS_MAX` times at most.

    Return whether all have ended. A warning in the log names each task that has not ended, and the line where it waits.
    Results and errors of the tasks are discarded.
    """
    running = {task for task in tasks if not task.done()}
    for _ in range(CANCELS_MAX):
        for task in running:
            task.cancel()
        if running:
            _, running = await asyncio.wait(running, timeout=CANCEL_INTERVAL_S)
    for task in tasks:
        if task.done() and not task.cancelled():
            task.exception()  # marks the exception as retrieved; otherwise asyncio logs it
    for task in running:
        _log.warning(
            "%s did not end within %.0f s of its cancellation", _waiting_point(task), CANCELS_MAX * CANCEL_INTERVAL_S
        )
    return not running


async def finish(work: Coroutine[Any, Any, T], title: str, timeout_s: float | None) -> T:
    """Await ``work`` until it ends, even if the calling task is cancelled; then raise the cancellation.

    For clean-up in a ``finally``, where ``asyncio.shield`` would leave it unfinished. After ``timeout_s`` seconds
    ``work`` is cancelled, and HostError says that ``title`` timed out. None: no limit, for work that can't be
    cancelled, for example in a thread.
    """
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
    deadline_s = None if timeout_s is None else loop.time() + timeout_s
    cancellation: asyncio.CancelledError | None = None
    while not task.done():
        remaining_s = None if deadline_s is None else deadline_s - loop.time()
        if remaining_s is not None and remaining_s <= 0:
            await end_tasks(task)
            raise HostError(f"{title} timed out after {timeout_s:g} s")
        try:
            await asyncio.wait({task}, timeout=remaining_s)
        except asyncio.CancelledError as error:
            cancellation = error
    if cancellation is not None:
        if not task.cancelled() and (failure := task.exception()) is not None:
            raise cancellation from failure
        raise cancellation
    return task.result()


def _waiting_point(task: asyncio.Future[Any]) -> str:
    """Return a task's name, with the file and line where it waits."""
    if not isinstance(task, asyncio.Task):
        return repr(task)
    where, awaited = "", cast(Any, task.get_coro())
    while (frame := getattr(awaited, "cr_frame", None)) is not None:
        file = Path(frame.f_code.co_filename)
        if file.parent.name != "asyncio":
            where = f", at {file.name}:{frame.f_lineno}"
        awaited = getattr(awaited, "cr_await", None)
    return f"{getattr(task.get_coro(), '__qualname__', task.get_name())}{where}"


def run_interruptibly(work: Coroutine[Any, Any, T], say: Callable[[str], None]) -> T:
    """Run ``work``. The first signal of :data:`ENDING_SIGNALS` cancels it; later signals do not interrupt its clean-up.

    Raises KeyboardInterrupt if it was cancelled.
    """

    async def main() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def cancel() -> None:
            if not task.cancelling():
                say("stopping; finished runs are kept")
                task.cancel()

        for number in ENDING_SIGNALS:
            loop.add_signal_handler(number, cancel)
        try:
            return await work
        finally:
            await end_tasks(*(asyncio.all_tasks() - {task}))

    try:
        return asyncio.run(main())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
