"""The repository as the server holds it: its table of runs and answers made from it, kept while nothing changes.

Which runs there are is told by the folder of bundles: its time changes whenever one is placed, by whichever process.
Reads need no lock against writers. Answers are kept under the index that they were made from, a bounded number of them;
two requests for the same answer at once compute it once.

When runs were added, whoever asks waits until they are read, as long as they are few. Of many runs, who asks gets
answers of the state before, all of the same one, until the new one is read beside the requests and what was asked
lately is made of it too. :meth:`Store.behind` tells that, and every page does. What takes many seconds, such as
learning from the runs, is prepared beside the requests and seldom; who asks for it is answered of the state that it was
prepared for, as a whole (:meth:`Store.of_prepared`).
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from assay.analysis.statistics import RunTable
from assay.foundation.errors import AssayError, RepositoryError
from assay.questions.runs.runs import METRICS_LOOKED_AT
from assay.questions.trust.flags import Flagged, flags
from assay.store import Repository
from assay.store.index.tables import DuckDBReader

Kept = TypeVar("Kept")
KEPT_MAX = 400
WAITED_FOR_RUNS_MAX = 20_000
"""So many runs are read within some tenths of a second: whoever asks waits for them."""
MADE_AGAIN_S = 3.0
"""How long answers are made again for a new state before it is shown, without pauses; one that is begun is ended."""
_LATELY_S = 600.0
"""Answers that nobody asked for within this time are not made again."""
TURNS = 2
"""So many answers are made at a time, one after the other: made all at once, each would take as long as all."""
TURN_WAITED_S = 0.25
"""Nobody waits longer for a turn: what takes long holds up nothing."""
RESTED_TIMES = 9.0
"""So many times as long as it took, nothing is prepared again."""
_PREPARED_NICE = 10
_LOOKED_EVERY_S = 0.5
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


@dataclass(slots=True)
class _Answer:
    made: Future[Any]
    make: Callable[[RunTable], Any]
    asked_at_s: float
    asked: int = 0
    took_s: float = 0.0
    again: bool = True
    """Whether it is made of the next state too, before anybody asks."""
    stays: bool = False
    """Whether it is kept however long nobody asks."""


class Store:
    """One repository, shared by all requests. ``waited_for_max``: of how many runs a change is waited for."""

    def __init__(self, root: Path, waited_for_max: int = WAITED_FOR_RUNS_MAX) -> None:
        self.engine = DuckDBReader()
        self.repository = Repository.open(root, self.engine.connection)
        self.waited_for_max = waited_for_max
        self._held: _Held | None = None
        self._reading = threading.Lock()
        self._beside: threading.Thread | None = None
        self._rests_until_s = 0.0
        self._answers: OrderedDict[tuple[tuple[str, int], Hashable], _Answer] = OrderedDict()
        self._lock = threading.Lock()
        self._turns = threading.Semaphore(TURNS)
        self.prepare: Callable[[], object] = lambda: None
        """Asks for what is to be prepared."""
        self._prepared: _Held | None = None

    def table(self) -> RunTable:
        """Return all runs as columns; read again only when the repository has changed."""
        return self._now().table

    def flagged(self) -> Flagged:
        """Return all runs with what is odd about each; judged once for each index."""
        return self._now().flagged

    def behind(self) -> float | None:
        """Return when the runs were read that answers are of, s since 1970; None where none was added since."""
        making = self._making()
        held = making.held if making else self._held
        if held is None or not self._is_kept(held) or held.changed_ns == self.repository.changed_ns():
            return None
        return held.read_at_s

    def _making(self) -> _Making | None:
        """Return what the answer that is asked for is part of."""
        making = _MAKING.get()
        return making if making is not None and making.store is self else None

    def _now(self) -> _Held:
        """Return the state to answer from: that of the answer that this thread is making, else the newest one read."""
        if (making := self._making()) is not None:
            return making.held
        held, asked_at_s = self._held, time.time()
        if held is not None and self._is_current(held):
            return held
        if held is not None and self._is_kept(held):
            self._follow(held)
            return held
        with self._reading:
            held = self._held
            # One read that began after several had asked is good for all of them, settled or not.
            if held is None or (held.read_at_s < asked_at_s and not self._is_current(held)):
                self._held = held = self._read(held)
        return held

    def _read(self, held: _Held | None) -> _Held:
        """Return the repository's state now; what was made from the same index holds."""
        changed_ns, now = self.repository.changed_ns(), time.time()
        if held is not None and self.repository.has_index_of(held.table) and self.repository.covers_all(held.table):
            return _Held(held.flagged, changed_ns, now)
        table = self.repository.table(METRICS_LOOKED_AT)
        same = held is not None and held.table.source == table.source and len(held.table) == len(table)
        if len(table) > self.waited_for_max:
            self.repository.cache_row_lookup(table)
        return _Held(held.flagged if held is not None and same else flags(table), changed_ns, now)

    def _is_kept(self, held: _Held) -> bool:
        """Say whether answers of a state are given while the next one is read."""
        return len(held.table) > self.waited_for_max and self.repository.has_index_of(held.table)

    def _follow(self, held: _Held) -> None:
        """Begin to read what was added, in a thread of its own, unless one does; for half of the time at most."""
        with self._lock:
            if self._beside is not None or time.monotonic() < self._rests_until_s:
                return
            self._beside = threading.Thread(target=self._read_beside, args=(held,), daemon=True)
            self._beside.start()

    def _read_beside(self, held: _Held) -> None:
        began_s, new = time.monotonic(), None
        try:
            with contextlib.suppress(AssayError):
                new = self._read(held)
                if new.state != held.state:
                    self._make_again(held, new)
        finally:
            ended_s = time.monotonic()
            with self._lock:
                self._held = new  # None after an error: whoever asks next reads the runs, and is told
                self._beside, self._rests_until_s = None, ended_s + (ended_s - began_s)

    def _make_again(self, old: _Held, new: _Held) -> None:
        """Make what was asked lately of the new state too, so that nobody waits for it.

        What was asked often and takes little comes first. Between two, requests have as much time as the last one took.
        """
        left_s, lately_s = MADE_AGAIN_S, time.monotonic() - _LATELY_S
        with self._lock:
            asked = [(key, one) for (state, key), one in self._answers.items() if state == old.state]
        for key, one in sorted(asked, key=lambda item: item[1].took_s / item[1].asked):
            if one.asked_at_s < lately_s or not one.again:
                continue
            if left_s <= 0:
                break
            began_s = time.monotonic()
            with contextlib.suppress(AssayError):  # whoever asks is told
                self._kept(new, key, one.make, one.asked_at_s)
            took_s = time.monotonic() - began_s
            left_s -= took_s
            time.sleep(took_s)

    def warm(self) -> None:
        """Read what every first question would wait for: the runs, and the library of distributions."""
        import scipy.special  # noqa: F401 - a fraction of a second that the first reader would wait

        self.table()

    def keep_up(self) -> None:
        """Read what is added as it is added, where that is not waited for; never returns."""
        while True:
            time.sleep(_LOOKED_EVERY_S)
            held = self._held
            if held is not None and self._is_kept(held):
                self._now()

    def keep_prepared(self) -> None:
        """Prepare what :attr:`prepare` asks for, and again after runs were added; never returns.

        Nothing is prepared of few runs: what is asked of them is made as it is asked for.
        """
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _PREPARED_NICE)  # this thread's
        last = None
        while True:
            time.sleep(_LOOKED_EVERY_S)
            held = self._held
            if held is None or held.state == last or not self._is_kept(held):
                continue
            began_s, last = time.monotonic(), held.state
            with contextlib.suppress(AssayError):
                self.prepare_now(held)
            time.sleep(RESTED_TIMES * (time.monotonic() - began_s))

    def prepare_now(self, held: _Held) -> None:
        """Prepare what there is to prepare of a state. Raises :class:`AssayError`."""
        with self._lock:
            self._prepared = self._prepared or held  # who asks meanwhile waits for this one
        try:
            with self._of(held, stays=True):
                self.prepare()
        except BaseException:
            self._prepared = None
            raise
        with self._lock:
            self._prepared = held
            for (state, _), one in self._answers.items():
                one.stays = one.stays and state == held.state

    @contextmanager
    def of_prepared(self) -> Iterator[None]:
        """Answer what is asked inside the block of the state that was prepared last; of the newest where none was."""
        held = self._prepared
        with self._of(held, stays=False) if held is not None and self._is_kept(held) else nullcontext():
            yield

    def _is_current(self, held: _Held) -> bool:
        settled = held.read_at_s - held.changed_ns / 1e9 > _SETTLED_S
        current = held.changed_ns == self.repository.changed_ns() and self.repository.has_index_of(held.table)
        return settled and current

    def answer(self, key: Hashable, make: Callable[[RunTable], Kept]) -> Kept:
        """Return ``make(table)``, kept under ``key`` as long as the repository stays as it is.

        ``make`` may be called again, by another thread, when runs were added: it takes whatever depends on the runs
        from its table or from this store, and nothing from before the call.
        """
        for left in reversed(range(_TRIES)):
            held = self._now()
            try:
                return self._kept(held, key, make, time.monotonic())
            except RepositoryError:
                # The index may have been replaced between reading the table and looking up its runs.
                if not left or self.table() is held.table:
                    raise
        raise AssertionError

    def _kept(self, held: _Held, key: Hashable, make: Callable[[RunTable], Kept], asked_at_s: float) -> Kept:
        place = (held.state, key)
        with self._lock:
            known = self._answers.get(place)
            stays = making.stays if (making := self._making()) else None
            answer = known or _Answer(Future(), make, asked_at_s, again=stays is None)
            answer.stays = answer.stays or bool(stays)
            answer.asked_at_s, answer.asked = max(answer.asked_at_s, asked_at_s), answer.asked + 1
            self._answers[place] = answer
            self._answers.move_to_end(place)
            if len(self._answers) > KEPT_MAX:
                oldest = (place for place, one in self._answers.items() if not one.stays)
                del self._answers[next(oldest, place)]
        if known is None:
            began_s = time.monotonic()
            try:
                with self._turn():
                    made = self._made(held, partial(make, held.table))
                answer.took_s = time.monotonic() - began_s
                answer.made.set_result(made)
            except BaseException as error:
                answer.made.set_exception(error)
                with self._lock:
                    self._answers.pop(place, None)
                raise
        found: Kept = answer.made.result()
        return found

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for a turn, but for what is part of another answer, which has one."""
        taken = self._making() is None and self._turns.acquire(timeout=TURN_WAITED_S)
        try:
            yield
        finally:
            if taken:
                self._turns.release()

    def _made(self, held: _Held, make: Callable[[], Kept]) -> Kept:
        """Return what ``make`` makes; whatever it asks of the store is of the same state."""
        making = self._making()
        with self._of(held, stays=making.stays if making else None):
            return make()

    @contextmanager
    def _of(self, held: _Held, *, stays: bool | None) -> Iterator[None]:
        """Answer what is asked inside the block of one state. ``stays``: see :class:`_Making`."""
        token = _MAKING.set(_Making(self, held, stays))
        try:
            yield
        finally:
            _MAKING.reset(token)


@dataclass(frozen=True, slots=True)
class _Making:
    """What an answer is being made of, for all that is asked for it."""

    store: Store
    held: _Held
    stays: bool | None
    """Whether what is kept stays however long nobody asks; None outside of :meth:`Store.of_prepared`."""


_MAKING: ContextVar[_Making | None] = ContextVar("_MAKING", default=None)
