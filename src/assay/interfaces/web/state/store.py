"""Hold a repository's runs in memory, and cache the answers computed from them.

A :class:`Snapshot` holds all runs at one time and a cache of answers; its runs never change. The modification time of
the bundles folder shows whether any process added runs, so reading needs no lock against writers.

In a small repository, a request waits until newer runs are read. In a large repository, it is answered from the current
snapshot. Meanwhile a background thread reads the next snapshot and computes the recently requested answers from it.
Until then, :meth:`Store.outdated_as_of` returns the time of the current snapshot, and every page shows this time.

Answers that take many seconds, for example a model learned from all runs, are prepared in the background
(:attr:`Store.prepare`). Requests for them use the snapshot that they were prepared from
(:meth:`Store.prepared_snapshot`).
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TypeVar

from assay.analysis.statistics import RunTable
from assay.foundation.errors import AssayError, RepositoryError
from assay.interfaces.web.state.answer_cache import AnswerCache
from assay.questions.runs.runs import METRICS_USED
from assay.questions.trust.flags import FlaggedTable, flags
from assay.store import Repository

Answer = TypeVar("Answer")
ANSWERS_MAX = 400
"""Maximum number of cached answers per snapshot."""
SMALL_REPOSITORY_RUNS_MAX = 20_000
"""Maximum size of a small repository, in runs. Its requests wait for newer runs, for some tenths of a second."""
REMAKE_S_MAX = 3.0
"""Maximum time to compute answers from a new snapshot before requests use it, in seconds, excluding pauses."""
RECENT_S = 600.0
"""Maximum age of the latest request for an answer that is computed again from a new snapshot, in seconds."""
CONCURRENT_ANSWERS_MAX = 2
"""Maximum concurrent computations of answers. More would all end late, because they share the processor."""
SLOT_WAIT_S_MAX = 0.25
"""Maximum wait for a free computation slot, in seconds; after that the answer is computed anyway."""
PREPARE_PAUSE_FACTOR = 9.0
"""Pause after a preparation, as a multiple of the preparation's duration."""
_PREPARE_NICENESS = 10
"""Niceness of the thread that prepares answers: it yields the CPU to requests."""
_POLL_S = 0.5
"""Time between two checks for newer runs, in seconds."""
_SETTLED_S = 0.2
"""Minimum age of a folder's last change, in seconds: within a clock tick, a later change has the same time."""
_ATTEMPTS = 3
"""Maximum number of attempts to compute an answer while other processes replace the index."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All runs at one time, and the answers computed from them."""

    flagged: FlaggedTable
    changed_ns: int
    """Modification time of the bundles folder, in nanoseconds of Unix time."""
    read_at_s: float
    answers: AnswerCache

    @property
    def table(self) -> RunTable:
        """All runs, with a column that flags outliers."""
        return self.flagged.table

    @property
    def version(self) -> tuple[str, int]:
        """Index and modification time of the folder. An unreadable bundle changes the folder but not the index."""
        return self.table.source, self.changed_ns


class _Purpose(Enum):
    """Purpose of the answers computed inside a block."""

    REQUEST = "a request"
    PREPARED = "a request for prepared answers"
    PREPARATION = "the preparation"


@dataclass(frozen=True, slots=True)
class _Scope:
    """Scope of a block: all answers inside it are computed from ``snapshot``."""

    store: Store
    snapshot: Snapshot
    purpose: _Purpose


_SCOPE: ContextVar[_Scope | None] = ContextVar("_SCOPE", default=None)


class Store:
    """A repository that all requests share.

    ``small_repository_runs_max``: maximum number of runs at which requests wait for newer runs. ``answers_max``:
    maximum number of cached answers per snapshot.
    """

    def __init__(
        self, root: Path, small_repository_runs_max: int = SMALL_REPOSITORY_RUNS_MAX, answers_max: int = ANSWERS_MAX
    ) -> None:
        self.repository = Repository.open(root)
        self.small_repository_runs_max = small_repository_runs_max
        self.prepare: Callable[[], object] = lambda: None
        """Function that requests the answers to prepare in the background."""
        self._answers_max = answers_max
        self._current_snapshot: Snapshot | None = None
        self._prepared_snapshot: Snapshot | None = None
        self._read_lock = threading.Lock()
        self._refresh_lock = threading.Lock()
        self._refresh_thread: threading.Thread | None = None
        self._next_refresh_s = 0.0
        self._slots = threading.Semaphore(CONCURRENT_ANSWERS_MAX)

    def table(self) -> RunTable:
        """Return all runs as columns."""
        return self.snapshot().table

    def flagged(self) -> FlaggedTable:
        """Return all runs with their flags."""
        return self.snapshot().flagged

    def outdated_as_of(self) -> float | None:
        """Return the Unix time at which the runs were read if there are newer runs; None otherwise."""
        scope = self._scope()
        snapshot = scope.snapshot if scope else self._current_snapshot
        if snapshot is None or not self._is_usable(snapshot) or snapshot.changed_ns == self.repository.changed_ns():
            return None
        return snapshot.read_at_s

    def snapshot(self) -> Snapshot:
        """Return the snapshot to answer from: inside an answer, that answer's snapshot; otherwise the newest."""
        if (scope := self._scope()) is not None:
            return scope.snapshot
        snapshot, requested_at_s = self._current_snapshot, time.time()
        if snapshot is not None and self._is_current(snapshot):
            return snapshot
        if snapshot is not None and self._is_usable(snapshot):
            self._start_refresh(snapshot)
            return snapshot
        with self._read_lock:
            snapshot = self._current_snapshot
            # A read that began after this request serves it, even if the folder has not settled.
            if snapshot is None or (snapshot.read_at_s < requested_at_s and not self._is_current(snapshot)):
                self._current_snapshot = snapshot = self._read(snapshot)
        return snapshot

    def answer(self, key: Hashable, make: Callable[[RunTable], Answer]) -> Answer:
        """Return ``make(table)``, cached under ``key`` until the repository changes.

        Another thread may call ``make`` again after runs were added. ``make`` must read all data that depends on the
        runs from its table or from this store.
        """
        for attempts_left in reversed(range(_ATTEMPTS)):
            snapshot = self.snapshot()
            try:
                return self._answer(snapshot, key, make, time.monotonic())
            except RepositoryError:
                # Another process may have replaced the index between reading the table and looking up its runs.
                if not attempts_left or self.table() is snapshot.table:
                    raise
        raise AssertionError

    @contextmanager
    def prepared_snapshot(self) -> Iterator[None]:
        """Answer inside the block from the last prepared snapshot, or from the newest if none was prepared."""
        snapshot = self._prepared_snapshot
        is_usable = snapshot is not None and self._is_usable(snapshot)
        with self._answering_from(snapshot, _Purpose.PREPARED) if snapshot and is_usable else nullcontext():
            yield

    def preload(self) -> None:
        """Read the runs and the statistics library before the first request."""
        import scipy.special  # noqa: F401 - takes a fraction of a second

        self.table()

    def follow_changes(self) -> None:
        """Read newer runs of a large repository as they are added; never returns."""
        while True:
            time.sleep(_POLL_S)
            snapshot = self._current_snapshot
            if snapshot is not None and self._is_usable(snapshot):
                self.snapshot()

    def prepare_in_background(self) -> None:
        """Call :attr:`prepare` for each new snapshot of a large repository, with pauses; never returns."""
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _PREPARE_NICENESS)  # only for this thread
        prepared_version = None
        while True:
            time.sleep(_POLL_S)
            snapshot = self._current_snapshot
            if snapshot is None or snapshot.version == prepared_version or not self._is_usable(snapshot):
                continue
            began_s, prepared_version = time.monotonic(), snapshot.version
            with contextlib.suppress(AssayError):
                self.prepare_for(snapshot)
            time.sleep(PREPARE_PAUSE_FACTOR * (time.monotonic() - began_s))

    def prepare_for(self, snapshot: Snapshot) -> None:
        """Call :attr:`prepare` for a snapshot. Raises :class:`AssayError`."""
        self._prepared_snapshot = (
            self._prepared_snapshot or snapshot
        )  # requests during the first preparation wait for it
        try:
            with self._answering_from(snapshot, _Purpose.PREPARATION):
                self.prepare()
        except BaseException:
            self._prepared_snapshot = None
            raise
        self._prepared_snapshot = snapshot

    def _scope(self) -> _Scope | None:
        """Return the scope of the enclosing answer."""
        scope = _SCOPE.get()
        return scope if scope is not None and scope.store is self else None

    def _read(self, previous: Snapshot | None) -> Snapshot:
        """Return a new snapshot of the repository. Unchanged parts are reused from ``previous``."""
        changed_ns, read_at_s = self.repository.changed_ns(), time.time()
        is_unchanged = (
            previous is not None and self._has_index_of(previous) and self.repository.covers_all(previous.table)
        )
        if previous is not None and is_unchanged:
            flagged = previous.flagged
        else:
            table = self.repository.table(METRICS_USED)
            if len(table) > self.small_repository_runs_max:
                self.repository.cache_row_lookup(table)
            has_same_runs = (
                previous is not None and previous.table.source == table.source and len(previous.table) == len(table)
            )
            flagged = previous.flagged if previous is not None and has_same_runs else flags(table)
        is_same_version = previous is not None and previous.version == (flagged.table.source, changed_ns)
        answers = previous.answers if previous is not None and is_same_version else AnswerCache(self._answers_max)
        return Snapshot(flagged, changed_ns, read_at_s, answers)

    def _has_index_of(self, snapshot: Snapshot) -> bool:
        return self.repository.has_index_of(snapshot.table)

    def _is_usable(self, snapshot: Snapshot) -> bool:
        """Return whether requests use this snapshot while the next snapshot is read."""
        return len(snapshot.table) > self.small_repository_runs_max and self._has_index_of(snapshot)

    def _is_current(self, snapshot: Snapshot) -> bool:
        is_settled = snapshot.read_at_s - snapshot.changed_ns / 1e9 > _SETTLED_S
        return is_settled and snapshot.changed_ns == self.repository.changed_ns() and self._has_index_of(snapshot)

    def _start_refresh(self, snapshot: Snapshot) -> None:
        """Start to read the next snapshot in the background. Reading uses at most half of the time."""
        with self._refresh_lock:
            if self._refresh_thread is not None or time.monotonic() < self._next_refresh_s:
                return
            self._refresh_thread = threading.Thread(target=self._refresh, args=(snapshot,), daemon=True)
            self._refresh_thread.start()

    def _refresh(self, snapshot: Snapshot) -> None:
        began_s, next_snapshot = time.monotonic(), None
        try:
            with contextlib.suppress(AssayError):
                next_snapshot = self._read(snapshot)
                if next_snapshot.version != snapshot.version:
                    self._remake_answers(snapshot, next_snapshot)
        finally:
            ended_s = time.monotonic()
            with self._refresh_lock:
                self._current_snapshot = (
                    next_snapshot  # None after an error: the next request reads the runs and reports the error
                )
                self._refresh_thread, self._next_refresh_s = None, ended_s + (ended_s - began_s)

    def _remake_answers(self, old_snapshot: Snapshot, new_snapshot: Snapshot) -> None:
        """Compute the recently requested answers from the new snapshot: fast, frequently requested answers first.

        Each computation is followed by a pause of the same duration, which leaves time for requests.
        """
        remaining_s, recent_from_s = REMAKE_S_MAX, time.monotonic() - RECENT_S
        answers = old_snapshot.answers.items()
        for key, answer in sorted(answers, key=lambda item: item[1].took_s / item[1].requests):
            if answer.requested_at_s < recent_from_s or not answer.remake:
                continue
            if remaining_s <= 0:
                break
            began_s = time.monotonic()
            with contextlib.suppress(AssayError):  # the next request reports it
                self._answer(new_snapshot, key, answer.make, answer.requested_at_s)
            took_s = time.monotonic() - began_s
            remaining_s -= took_s
            time.sleep(took_s)

    def _answer(
        self, snapshot: Snapshot, key: Hashable, make: Callable[[RunTable], Answer], requested_at_s: float
    ) -> Answer:
        scope = self._scope()
        purpose = scope.purpose if scope else _Purpose.REQUEST
        cached_answer, is_new = snapshot.answers.entry(
            key, make, requested_at_s, remake=purpose is _Purpose.REQUEST, pinned=purpose is _Purpose.PREPARATION
        )
        if is_new:
            began_s = time.monotonic()
            try:
                with self._slot(), self._answering_from(snapshot, purpose):
                    answer = make(snapshot.table)
                cached_answer.took_s = time.monotonic() - began_s
                cached_answer.future.set_result(answer)
            except BaseException as error:
                cached_answer.future.set_exception(error)
                snapshot.answers.remove(key)
                raise
        result: Answer = cached_answer.future.result()
        return result

    @contextmanager
    def _slot(self) -> Iterator[None]:
        """Wait for a free slot. An answer inside another answer uses the outer answer's slot."""
        acquired = self._scope() is None and self._slots.acquire(timeout=SLOT_WAIT_S_MAX)
        try:
            yield
        finally:
            if acquired:
                self._slots.release()

    @contextmanager
    def _answering_from(self, snapshot: Snapshot, purpose: _Purpose) -> Iterator[None]:
        """Compute all answers inside the block from ``snapshot``."""
        token = _SCOPE.set(_Scope(self, snapshot, purpose))
        try:
            yield
        finally:
            _SCOPE.reset(token)
