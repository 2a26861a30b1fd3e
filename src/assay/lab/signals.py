"""Ctrl-C and SIGTERM around a lab: both end a command alike, and neither cuts what makes or removes a lab in two."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def _handled(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle the ending signals with ``handler`` meanwhile; in other threads than the main one do nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in ENDING}
    for number in ENDING:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, signal.SIG_DFL if previous is None else previous)


@contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise KeyboardInterrupt, as Ctrl-C does."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with _handled(interrupt):
        yield


@contextmanager
def deferred() -> Iterator[Callable[[], None]]:
    """Hold Ctrl-C, SIGTERM and SIGHUP back until the end, or until the function that is yielded is called.

    Then KeyboardInterrupt is raised, so it never comes while threads are at work. What is held back must be bounded in
    time.
    """
    came = threading.Event()

    def check() -> None:
        if came.is_set():
            raise KeyboardInterrupt

    with _handled(lambda _number, _frame: came.set()):
        yield check
    check()
