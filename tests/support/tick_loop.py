"""Provide an event loop that counts its passes and jumps its clock to the next timer.

A tick is one pass over the callbacks that are ready. When none is ready the clock jumps to the next timer, so that
waits take no time and every execution is the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

TICKS_MAX = 5_000
"""Maximum number of ticks of one test, after which it has hung."""


class TickLoop(asyncio.SelectorEventLoop):
    """Call ``at[n]`` at the begin of tick ``n``; stop after :data:`TICKS_MAX`."""

    def __init__(self) -> None:
        self.tick = 0
        self.at: dict[int, Callable[[], object]] = {}
        self._now_s = 0.0
        super().__init__()

    def time(self) -> float:
        """Return the seconds that waits would have taken."""
        return self._now_s

    def _run_once(self) -> None:
        self.tick += 1
        if action := self.at.pop(self.tick, None):
            action()
        if self.tick > TICKS_MAX:
            self.stop()
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]
            self._now_s = max(self._now_s, self._scheduled[0].when())  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


def in_ticks(work: Callable[[TickLoop], Coroutine[Any, Any, T]]) -> tuple[T, TickLoop]:
    """Run ``work`` on a new loop; return its result and the loop. Raises RuntimeError when it hangs."""
    loop = TickLoop()
    try:
        asyncio.set_event_loop(loop)
        result = loop.run_until_complete(work(loop))
        return result, loop
    finally:
        asyncio.set_event_loop(None)
        loop.close()
