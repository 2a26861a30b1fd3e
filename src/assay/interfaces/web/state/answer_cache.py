"""Cache answers that are computed from a snapshot of the runs.

Concurrent requests for the same answer compute it once. Above the maximum, the cache drops the least recently used
answer that is not pinned.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from assay.analysis.statistics import RunTable

Make = Callable[[RunTable], Any]


@dataclass(slots=True)
class CachedAnswer:
    """An answer or its running computation, with the number and the latest time of its requests.

    ``requested_at_s``: on the monotonic clock. ``took_s``: duration of the computation, in seconds.
    """

    future: Future[Any]
    make: Make
    requested_at_s: float
    requests: int = 0
    took_s: float = 0.0
    remake: bool = True
    """Whether the answer is also computed from the next snapshot, before requests use that snapshot."""
    pinned: bool = False
    """Whether the cache keeps the answer when it is full."""


class AnswerCache:
    """Answers computed from one snapshot. ``answers_max``: maximum number of answers."""

    def __init__(self, answers_max: int) -> None:
        self._answers: OrderedDict[Hashable, CachedAnswer] = OrderedDict()
        self._lock = threading.Lock()
        self._answers_max = answers_max

    def __len__(self) -> int:
        """Return the number of answers."""
        return len(self._answers)

    def items(self) -> list[tuple[Hashable, CachedAnswer]]:
        """Return all keys with their answers."""
        with self._lock:
            return list(self._answers.items())

    def entry(
        self, key: Hashable, make: Make, requested_at_s: float, *, remake: bool, pinned: bool
    ) -> tuple[CachedAnswer, bool]:
        """Return the answer for ``key``, and whether it is new. The caller must compute a new answer."""
        with self._lock:
            previous_answer = self._answers.get(key)
            answer = previous_answer or CachedAnswer(Future(), make, requested_at_s, remake=remake)
            answer.pinned = answer.pinned or pinned
            answer.requested_at_s = max(answer.requested_at_s, requested_at_s)
            answer.requests += 1
            self._answers[key] = answer
            self._answers.move_to_end(key)
            if len(self._answers) > self._answers_max:
                unpinned_keys = (
                    other_key for other_key, other_answer in self._answers.items() if not other_answer.pinned
                )
                del self._answers[next(unpinned_keys, key)]
        return answer, previous_answer is None

    def remove(self, key: Hashable) -> None:
        """Drop the answer for ``key``."""
        with self._lock:
            self._answers.pop(key, None)
