"""The repository as the server holds it: its table of runs and answers made from it, kept while nothing changes.

Which runs there are is told by the folder of bundles: its time changes whenever one is placed, by whichever process.
Reads need no lock against writers. Answers are kept under the index that they were made from, a bounded number of them;
two requests for the same answer at once compute it once.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from assay.errors import RepositoryError
from assay.questions.flags import Flagged, flags
from assay.questions.runs import METRICS_LOOKED_AT
from assay.repository import Repository
from assay.repository.tables import Engine
from assay.statistics import RunTable

Kept = TypeVar("Kept")
KEPT_MAX = 400
_SETTLED_S = 0.2
"""A folder that changed this short ago may change again within the same tick of its clock."""
_TRIES = 3


@dataclass(frozen=True, slots=True)
class _Held:
    flagged: Flagged
    changed_ns: int
    read_at_s: float

    @property
    def table(self) -> RunTable:
        """All runs, with what is odd about them as a column."""
        return self.flagged.table

    @property
    def state(self) -> tuple[str, int]:
        """What answers are kept under. A bundle that can't be read changes the folder but not the index."""
        return self.table.source, self.changed_ns


class Store:
    """One repository, shared by all requests."""

    def __init__(self, root: Path) -> None:
        self.engine = Engine()
        self.repository = Repository.open(root, self.engine.connection)
        self._held: _Held | None = None
        self._reading = threading.Lock()
        self._answers: OrderedDict[Hashable, Future[Any]] = OrderedDict()
        self._lock = threading.Lock()

    def table(self) -> RunTable:
        """Return all runs as columns; read again only when the repository has changed."""
        return self._now().table

    def flagged(self) -> Flagged:
        """Return all runs with what is odd about each; judged once for each index."""
        return self._now().flagged

    def _now(self) -> _Held:
        held, asked_at_s = self._held, time.time()
        if held is not None and self._is_current(held):
            return held
        with self._reading:
            held = self._held
            # One read that began after several had asked is good for all of them, settled or not.
            if held is None or (held.read_at_s < asked_at_s and not self._is_current(held)):
                changed_ns, now = self.repository.changed_ns(), time.time()
                table = self.repository.table(METRICS_LOOKED_AT)
                same = held is not None and held.table.source == table.source and len(held.table) == len(table)
                # The same index: what was made from it holds.
                known = held.flagged if held is not None and same else flags(table)
                self._held = held = _Held(known, changed_ns, now)
        return held

    def warm(self) -> None:
        """Read what every first question would wait for: the runs, and the library of distributions."""
        import scipy.special  # noqa: F401 - a fraction of a second that the first reader would wait

        self.table()

    def _is_current(self, held: _Held) -> bool:
        settled = held.read_at_s - held.changed_ns / 1e9 > _SETTLED_S
        current = held.changed_ns == self.repository.changed_ns() and self.repository.has_index_of(held.table)
        return settled and current

    def answer(self, key: Hashable, make: Callable[[RunTable], Kept]) -> Kept:
        """Return ``make(table)``, kept under ``key`` as long as the repository stays as it is."""
        for left in reversed(range(_TRIES)):
            held = self._now()
            table = held.table
            try:
                return self._kept((held.state, key), lambda table=table: make(table))  # type: ignore[misc]
            except RepositoryError:
                # The index may have been replaced between reading the table and looking up its runs.
                if not left or self.table() is table:
                    raise
        raise AssertionError

    def _kept(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        with self._lock:
            future = self._answers.get(key)
            mine = future is None
            if future is None:
                future = self._answers[key] = Future()
                while len(self._answers) > KEPT_MAX:
                    self._answers.popitem(last=False)
            else:
                self._answers.move_to_end(key)
        if mine:
            try:
                future.set_result(make())
            except BaseException as error:
                future.set_exception(error)
                with self._lock:
                    self._answers.pop(key, None)
                raise
        found: Kept = future.result()
        return found
