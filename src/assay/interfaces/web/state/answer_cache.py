"""Cache answers that are made from one snapshot of the runs.

Two requests for the same answer at once compute it once. Above the maximum the least recently used answer is dropped;
pinned answers are dropped last.
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
    """One answer, or the computation of it, with how often and when it was requested."""

    future: Future[Any]
    make: Make
    requested_at_s: float
    requests: int = 0
    took_s: float = 0.0
    remake: bool = True
    """Whether the answer is also made from the next snapshot before that is shown."""
    pinned: bool = False


class AnswerCache:
    """The answers made from one snapshot."""

    def __init__(self, answers_max: int) -> None:
        self._answers: OrderedDict[Hashable, CachedAnswer] = OrderedDict()
        self._lock = threading.Lock()
        self._answers_max = answers_max

    def __len__(self) -> int:
        """Return the number of answers."""
        return len(self._answers)

    def items(self) -> list[tuple[Hashable, CachedAnswer]]:
        """Return all keys and answers."""
        with self._lock:
            return list(self._answers.items())

    def entry(
        self, key: Hashable, make: Make, requested_at_s: float, *, remake: bool, pinned: bool
    ) -> tuple[CachedAnswer, bool]:
        """Return the answer under ``key``, and whether it is new: then the caller computes it."""
        with self._lock:
            known = self._answers.get(key)
            answer = known or CachedAnswer(Future(), make, requested_at_s, remake=remake)
            answer.pinned = answer.pinned or pinned
            answer.requested_at_s = max(answer.requested_at_s, requested_at_s)
            answer.requests += 1
            self._answers[key] = answer
            self._answers.move_to_end(key)
            if len(self._answers) > self._answers_max:
                oldest = (name for name, other in self._answers.items() if not other.pinned)
                del self._answers[next(oldest, key)]
        return answer, known is None

    def remove(self, key: Hashable) -> None:
        """Drop the answer under ``key``."""
        with self._lock:
            self._answers.pop(key, None)
