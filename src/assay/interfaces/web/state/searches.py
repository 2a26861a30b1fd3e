"""Searches that take minutes: one at a time, in the background, their answers kept for who asks the same.

In: a key, and what answers. Out: how far it is, the answer, or what was wrong. A server keeps few of them, and no more
than a handful wait; each has its own simulators, which end with it or with the server.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from threading import Lock, Semaphore, Thread

from assay.estimation.simulator.pool import SimulatorPool
from assay.foundation.errors import AssayError, RepositoryError
from assay.questions.recommendation.recommend import Recommendation
from assay.questions.recommendation.search import Progress

KEPT_MAX = 30
WAITING_MAX = 4
Answering = Callable[[SimulatorPool, Progress | None], Recommendation]


@dataclass(slots=True)
class Search:
    """One search. ``answer`` or ``problem`` is there when it is over."""

    step: str = "waiting for another search to end"
    done: int = 0
    most: int = 0
    answer: Recommendation | None = None
    problem: AssayError | None = None

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.answer is not None or self.problem is not None


class Searches:
    """One server's searches."""

    def __init__(self) -> None:
        self._found: OrderedDict[Hashable, Search] = OrderedDict()
        self._lock = Lock()
        self._one_at_a_time = Semaphore(1)
        self._pools: set[SimulatorPool] = set()

    def known(self, key: Hashable) -> Search | None:
        """Return a search that was begun; None where it was not, or is forgotten."""
        return self._found.get(key)

    def begin(self, key: Hashable, answering: Answering) -> Search:
        """Begin a search, or return the one that is under way or over. Raises RepositoryError where too many wait."""
        with self._lock:
            known = self._found.get(key)
            if known is not None and known.problem is None:
                return known
            if sum(not one.over for one in self._found.values()) >= WAITING_MAX:
                raise RepositoryError(
                    f"{WAITING_MAX} searches are under way or waiting already", hint="ask again when one has ended"
                )
            search = self._found[key] = Search()
            over = [name for name, one in self._found.items() if one.over]
            for name in over[: max(0, len(self._found) - KEPT_MAX)]:
                del self._found[name]
        Thread(target=self._run, args=(search, answering), daemon=True, name="search").start()
        return search

    def close(self) -> None:
        """End what is under way."""
        with self._lock:
            pools = list(self._pools)
        for pool in pools:
            pool.close()

    def _run(self, search: Search, answering: Answering) -> None:
        def hear(step: str, done: int, most: int) -> None:
            search.step, search.done, search.most = step, done, most

        with self._one_at_a_time, SimulatorPool() as pool:
            search.step = "looking at the catalogue"
            self._pools.add(pool)
            try:
                search.answer = answering(pool, hear)
            except AssayError as error:
                search.problem = error
            except Exception as error:  # a page waits for it: whatever it is, it is told
                search.problem = AssayError(f"the search failed: {type(error).__name__}", hint="please report it")
                raise
            finally:
                self._pools.discard(pool)
