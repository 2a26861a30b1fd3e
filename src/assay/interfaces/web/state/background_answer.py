"""Hold an answer that takes long, and compute it again in the background after the runs changed.

In: the version of the runs, and a function that answers from them. Out: the last answer. A caller never waits for a
computation. Computations take at most a tenth of the time.
"""

import contextlib
import time
from collections.abc import Callable, Hashable
from threading import Lock, Thread
from typing import Generic, TypeVar

from assay.foundation.errors import AssayError

PAUSE_FACTOR = 9.0
"""Minimum pause after a computation, as a multiple of its duration."""
Answer = TypeVar("Answer")


class BackgroundAnswer(Generic[Answer]):
    """The last answer to one question."""

    def __init__(self) -> None:
        self._answer: Answer | None = None
        self._version: Hashable = None
        self._is_running = False
        self._next_start_s = 0.0
        self._lock = Lock()

    def last_answer(self, version: Hashable, make: Callable[[], Answer]) -> Answer | None:
        """Return the last answer, and call ``make`` in the background if the runs have another version.

        None before the first answer, and if ``make`` raised AssayError for the last version.
        """
        with self._lock:
            must_start = version != self._version and not self._is_running and time.monotonic() >= self._next_start_s
            self._is_running = self._is_running or must_start
        if must_start:
            Thread(target=self._compute, args=(version, make), daemon=True, name="background answer").start()
        return self._answer

    def _compute(self, version: Hashable, make: Callable[[], Answer]) -> None:
        began_s, answer = time.monotonic(), None
        try:
            with contextlib.suppress(AssayError):
                answer = make()
        finally:
            ended_s = time.monotonic()
            with self._lock:
                self._answer, self._version, self._is_running = answer, version, False
                self._next_start_s = ended_s + PAUSE_FACTOR * (ended_s - began_s)
