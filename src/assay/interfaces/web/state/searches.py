"""Run long computations in the background, one at a time, and cache their answers: searches and learned models.

In: a key and a function. Out: the progress, the answer or the error. The numbers of cached and of waiting searches are
limited. Each search has its own simulators, which stop when the search or the server ends.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from threading import Event, Lock, Semaphore, Thread
from typing import Generic, TypeVar

from assay.estimation.simulator.pool import SimulatorPool
from assay.foundation.errors import AssayError, RepositoryError
from assay.foundation.progress import Progress

CACHED_MAX = 30
"""Maximum number of cached searches."""
WAITING_MAX = 4
"""Maximum number of searches that are running or waiting."""
Answer = TypeVar("Answer")
Computation = Callable[[SimulatorPool, Progress | None], Answer]


@dataclass(slots=True)
class Search(Generic[Answer]):
    """A search and its progress: ``done`` of ``most`` units of ``step``. It ends with an answer or a problem."""

    request: object = None
    """The request that it answers, from which a page fills its form; None if no form needs it."""
    step: str = "waiting for another search"
    done: int = 0
    most: int = 0
    answer: Answer | None = None
    problem: AssayError | None = None
    end_event: Event = field(default_factory=Event)

    @property
    def over(self) -> bool:
        """Whether the search has ended."""
        return self.answer is not None or self.problem is not None


class Searches(Generic[Answer]):
    """The searches of a server. ``waiting_max``: maximum number of searches that are running or waiting."""

    def __init__(self, waiting_max: int = WAITING_MAX) -> None:
        self._waiting_max = waiting_max
        self._searches: OrderedDict[Hashable, Search[Answer]] = OrderedDict()
        self._lock = Lock()
        self._one_at_a_time = Semaphore(1)
        self._pools: set[SimulatorPool] = set()

    def find(self, key: Hashable) -> Search[Answer] | None:
        """Return the search for ``key``; None if it was not started or was dropped from the cache."""
        return self._searches.get(key)

    def start(self, key: Hashable, computation: Computation[Answer], request: object = None) -> Search[Answer]:
        """Start the search for ``key``, or return it if it was started before and has not failed.

        ``request``: stored with the search.

        Raises RepositoryError if too many searches are running or waiting.
        """
        with self._lock:
            earlier_search = self._searches.get(key)
            if earlier_search is not None and earlier_search.problem is None:
                return earlier_search
            if sum(not search.over for search in self._searches.values()) >= self._waiting_max:
                raise RepositoryError(
                    f"{self._waiting_max} searches are already running or waiting", hint="try again when one has ended"
                )
            search = self._searches[key] = Search[Answer](request)
            ended_keys = [ended_key for ended_key, other_search in self._searches.items() if other_search.over]
            for ended_key in ended_keys[: max(0, len(self._searches) - CACHED_MAX)]:
                del self._searches[ended_key]
        Thread(target=self._run, args=(search, computation), daemon=True, name="search").start()
        return search

    def close(self) -> None:
        """Stop all searches."""
        with self._lock:
            pools = list(self._pools)
        for pool in pools:
            pool.close()

    def _run(self, search: Search[Answer], computation: Computation[Answer]) -> None:
        def report(step: str, done: int, most: int) -> None:
            search.step, search.done, search.most = step, done, most

        with self._one_at_a_time, SimulatorPool() as pool:
            search.step = "starting"
            self._pools.add(pool)
            try:
                search.answer = computation(pool, report)
            except AssayError as error:
                search.problem = error
            except Exception as error:  # the page that waits must show every error
                search.problem = AssayError(f"the search failed: {type(error).__name__}", hint="please report it")
                raise
            finally:
                self._pools.discard(pool)
                search.end_event.set()
