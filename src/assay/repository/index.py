"""The index over all bundles: files of runs, derived from them, that can be deleted at any time.

The last file's name stands for the bundles that all of them cover, so the index is current when the file of that name
is there, and it never changes. Otherwise the newest older one is taken, the bundles that it lacks are read, and their
runs are written aside, as one more file that names those before it, and renamed into place. Small files at the end are
written again with the new one, so that there are few: each is more than twice as long as the next. When a bundle has
vanished, or runs are there twice, all is written again. Readers and writers need no lock: whoever finds no current
index makes it. One that can't be read is made anew. Where the repository can't be written (read-only, or its disk is
full), the last file is written to a temporary folder and kept until the process ends.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
import numpy as np

from assay.errors import RepositoryError
from assay.model import Environment, Run
from assay.repository import queries
from assay.repository.bundle import (
    IMPORT_RUNS_FILE,
    RUN_FILE,
    Problem,
    ProblemKind,
    check_files,
    is_import,
    read_run,
    run_of_json,
)
from assay.repository.coded import Coding, OtherVersionError, load_table, read_coding, recoded, rows_of, write_runs
from assay.repository.folders import Folders
from assay.repository.places import IndexFile, IndexFiles, Memory
from assay.repository.staging import TemporaryFolders, not_stored, staging, sync
from assay.repository.tables import Reading, connection
from assay.statistics import RunTable
from assay.workloads.catalogue import known_name

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Queried = TypeVar("Queried")
_NEW = "new_runs"
_ASKED = "asked_ids"
_OUTDATED_AFTER_S = 600.0
"""Answers that take long to make are given of a state that is minutes old."""
_ROWS_AT_ONCE: Final = 10_000
_KEPT_AT_ONCE_MAX: Final = 2_000
_LONGER: Final = 2
"""Each file of an index is more than so many times as long as the next, so a million runs are twenty files at most."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What a run must match; None: anything. ``limit`` keeps the newest."""

    workload: str | None = None
    layout: str | None = None
    status: str | None = None
    plan: str | None = None
    campaign_id: str | None = None
    limit: int | None = None


def bundle_names(bundles: Path) -> list[str]:
    """Return the names of the bundles, sorted; hidden entries and plain files are none."""
    try:
        entries = list(os.scandir(bundles))
    except FileNotFoundError:
        return []
    return sorted(entry.name for entry in entries if entry.is_dir() and not entry.name.startswith("."))


@dataclass(frozen=True, slots=True)
class Index:
    """A repository's index; ``problems`` are the bundles that the last query could not read."""

    folders: Folders
    problems: list[Problem] = field(default_factory=list)
    reading: Reading = connection
    memory: Memory = field(default_factory=Memory)
    temporary: TemporaryFolders = field(default_factory=TemporaryFolders)
    """Where the last file of the index is kept when the repository can't be written."""

    def runs(self, filters: Filters, *, environment: bool) -> list[Run]:
        """Return the matching runs, newest last; without ``environment`` theirs are left empty, which is faster."""
        statement = queries.NEWEST_RUNS if environment else queries.NEWEST_RUNS_WITHOUT_ENVIRONMENT
        other = (filters.workload or "").replace("-", "_")  # as ALOJA writes it, which older imports kept
        there = other if known_name(other) == filters.workload else filters.workload

        def query(opened: DuckDBPyConnection, index: IndexFiles) -> list[Run]:
            opened.execute(statement, {"index": index.names, "workload_there": there, **asdict(filters)})
            environments: dict[str, dict[str, Any]] = {}
            found: list[Run] = []
            while rows := opened.fetchmany(_ROWS_AT_ONCE):
                found += [_run(run_json, extra, environments) for run_json, extra in rows]
            return found[::-1]

        return self._answer(query)

    def table(self, metrics: Sequence[str]) -> RunTable:
        """Return all runs as columns, with the named metrics."""

        def query(opened: DuckDBPyConnection, index: IndexFiles) -> RunTable:
            found = load_table(opened, index.paths, read_coding(opened, index.paths[-1]), metrics)
            self.memory.note(found.source, index)
            return found

        return self._answer(query)

    def runs_at(self, table: RunTable, positions: Sequence[int]) -> list[Run]:
        """Return the runs at these places of a table, whole, in their order.

        Raises :class:`RepositoryError` when the index that the table was read from is gone.
        """
        wanted, found = self._at(queries.RUNS_AT, table, positions)
        runs = {row: _run(run_json, extra) for row, _, run_json, extra in found}
        return [runs[row] for row in wanted]

    def ids_at(self, table: RunTable, positions: Sequence[int]) -> list[str]:
        """Return the ids of the runs at these places of a table, in their order; raises as :meth:`runs_at`."""
        if (places := self.memory.places.get(table.source)) is not None:
            return places.ids([int(table.rows[position]) for position in positions])
        wanted, found = self._at(queries.IDS_AT, table, positions)
        ids = dict(found)
        return [ids[row] for row in wanted]

    def environments_at(self, table: RunTable, positions: Sequence[int]) -> list[Environment]:
        """Return the environments of the runs at these places, in their order; equal ones are one object."""
        wanted, found = self._at(queries.ENVIRONMENTS_AT, table, positions)
        texts: dict[int, str] = dict(found)
        decoded = {text: Environment(_environment(text)) for text in set(texts.values())}
        return [decoded[texts[row]] for row in wanted]

    def positions_of(self, table: RunTable, ids: Sequence[str]) -> list[int]:
        """Return the places of the runs of these ids in a table, sorted; raises as :meth:`runs_at`."""
        if (places := self.memory.places.get(table.source)) is not None and len(table) == len(places.positions):
            return sorted(places.positions[places.of(ids)].tolist())
        with self._of(table.source) as (opened, files):
            rows = [
                row + file.start
                for file in files.files
                for (row,) in opened.execute(queries.ROWS_OF, [str(file.path), list(ids)]).fetchall()
            ]
        positions: list[int] = np.flatnonzero(np.isin(table.rows, rows)).tolist()
        return positions

    def _at(self, query: str, table: RunTable, positions: Sequence[int]) -> tuple[list[int], list[Any]]:
        """Return the rows' numbers, and what ``query`` finds at them, the number first."""
        wanted = [int(table.rows[position]) for position in positions]
        found: list[Any] = []
        with self._of(table.source) as (opened, files):
            for file, own in files.holding(wanted):
                found += [(row + file.start, *rest) for row, *rest in self._rows(opened, query, file, own)]
        return wanted, found

    def _rows(self, opened: DuckDBPyConnection, query: str, file: IndexFile, rows: Sequence[int]) -> list[Any]:
        """Return what a query finds at rows of a file, the number first."""
        if self.memory.places and len(rows) <= _KEPT_AT_ONCE_MAX:
            return self.memory.rows.found(opened, query, file, rows)
        return opened.execute(query, [str(file.path), list(rows)]).fetchall()

    @contextmanager
    def _of(self, source: str) -> Iterator[tuple[DuckDBPyConnection, IndexFiles]]:
        """Give the files of the index that a table was read from: its last file's name."""
        with self.reading() as opened:
            files = self.memory.files.get(source)
            if files is None and (last := self._located(source)) is not None:
                with suppress(RepositoryError):
                    files = IndexFiles.of(opened, last, self.folders.index)
            if files is None or not files.are_there():
                raise RepositoryError(
                    "the repository has changed since its runs were read",
                    where=str(self.folders.root),
                    hint="read them again",
                )
            self.memory.note(source, files)
            yield opened, files

    def _located(self, name: str) -> Path | None:
        """Return the path of an index file: a temporary one first, since it replaces a damaged one elsewhere."""
        folders = (*self.temporary.paths(), self.folders.index.absolute()) if name else ()
        return next((folder / name for folder in folders if (folder / name).exists()), None)

    def holds(self, table: RunTable) -> bool:
        """Say whether the index that a table was read from is there."""
        files = self.memory.files.get(table.source)
        return files.are_there() if files is not None else self._located(table.source) is not None

    def covers_all(self, table: RunTable) -> bool:
        """Say whether a table was read from the index over the bundles that there are now."""
        return _index_name(bundle_names(self.folders.bundles)) == table.source

    def known(self, run_ids: Sequence[str]) -> set[str]:
        """Return which of some ids are those of runs."""
        if not run_ids or not bundle_names(self.folders.bundles):
            return set()
        ids = np.array(run_ids, dtype=object)

        def query(opened: DuckDBPyConnection, index: IndexFiles) -> set[str]:
            opened.register(_ASKED, {"run_id": ids})  # a million of them as a parameter take seconds
            return {i for (i,) in opened.execute(queries.KNOWN_IDS, [index.names]).fetchall()}

        return self._answer(query)

    def ids_that_begin(self, prefix: str, most: int) -> list[str]:
        """Return the ids that begin with ``prefix``, sorted, at most ``most``."""
        values = [prefix, most]
        return self._answer(
            lambda opened, index: [
                i for (i,) in opened.execute(queries.IDS_THAT_BEGIN, [index.names, *values]).fetchall()
            ]
        )

    def ids_of_source_id(self, source_id: str, most: int) -> list[str]:
        """Return the ids of imported runs that their source calls ``source_id``, sorted, at most ``most``."""
        values = [f'"source_id":{msgspec.json.encode(source_id).decode()}', most]
        return self._answer(
            lambda opened, index: [
                i for (i,) in opened.execute(queries.IDS_OF_SOURCE_ID, [index.names, *values]).fetchall()
            ]
        )

    def find(self, run_id: str) -> tuple[str, Run] | None:
        """Return the bundle that holds a run, and the run; None when there is none."""
        if (placed := self._placed(run_id)) is not None:
            return placed

        def query(opened: DuckDBPyConnection, index: IndexFiles) -> tuple[str, Run] | None:
            row = opened.execute(queries.ONE_RUN, [index.names, run_id]).fetchone()
            return (str(row[0]), _run(row[1], row[2])) if row else None

        return self._answer(query)

    def _placed(self, run_id: str) -> tuple[str, Run] | None:
        """Return the same by places that are kept; None also where the run, or the index that they are of, is gone."""
        for source, places in reversed(list(self.memory.places.items())):
            with suppress(RepositoryError), self._of(source) as (opened, files):
                for file, own in files.holding(places.of([run_id])):
                    for _, bundle, run_json, extra in self._rows(opened, queries.RUNS_AT, file, own):
                        if (run := _run(run_json, extra)).run_id == run_id and (self.folders.bundles / bundle).is_dir():
                            return str(bundle), run
                return None
        return None

    def keep_places(self, table: RunTable) -> None:
        """Keep in memory where the runs of a table of all are; raises as :meth:`runs_at`."""
        with self._of(table.source) as (opened, files):
            self.memory.keep(opened, table, files)

    def forget(self) -> None:
        """Throw the index away; the next query makes it from the bundles."""
        for path in self._files():
            with suppress(OSError):
                path.unlink()

    def _files(self) -> list[Path]:
        folders = (self.folders.index.absolute(), *self.temporary.paths())
        try:
            files = [path for folder in folders for path in folder.glob("runs*.parquet")]
            return sorted(files, key=lambda path: path.stat().st_mtime)
        except OSError:  # one was replaced in between
            return []

    def over_files(self, query: Callable[[DuckDBPyConnection, Sequence[Path]], Queried]) -> Queried:
        """Return what ``query`` answers, given a connection and the index's files, the last of which has the coding."""
        return self._answer(lambda opened, index: query(opened, index.paths))

    def _answer(self, query: Callable[[DuckDBPyConnection, IndexFiles], Queried]) -> Queried:
        try:
            return self._answer_from(self._current(), query)
        except RepositoryError:  # a file is damaged inside, or was removed just now: make the index again, once
            return self._answer_from(self._current(anew=True), query)

    def _answer_from(self, last: Path, query: Callable[[DuckDBPyConnection, IndexFiles], Queried]) -> Queried:
        with self.reading() as opened:
            return query(opened, IndexFiles.of(opened, last, self.folders.index))

    def _current(self, *, anew: bool = False) -> Path:
        """Return the last file of an index that covers all bundles; ``anew``: made from nothing but them."""
        self.problems.clear()
        names = bundle_names(self.folders.bundles)
        path = self._located(_index_name(names))
        if path is not None and not anew:
            return path
        with connection() as opened:  # a separate connection: it is given settings
            return self._make(opened, names, [] if anew else self._files())

    def _make(self, opened: DuckDBPyConnection, names: list[str], older: Sequence[Path]) -> Path:
        """Write the index over ``names`` and return its path, which is temporary where the repository can't hold it."""
        stock = _gathered(opened, older, self.folders, names, self.problems)
        if stock.kept and not stock.parts:  # what it lacks can't be read
            return stock.kept[-1][0]
        replaced = {path for path, _ in stock.kept}
        before = stock.settle(opened, self.folders.index)
        for path in replaced - {path for path, _ in stock.kept}:
            with suppress(OSError):
                os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))  # outdated from now on: see below
        unread = {problem.run_id for problem in self.problems}
        write = partial(
            write_runs,
            opened,
            query=stock.query(opened),
            coding=stock.coding,
            before=before,
            row_group=queries.ROW_GROUP_LOOKED_UP,
        )
        path = self._write(_index_name(name for name in names if name not in unread), write)
        self._remove_outdated({path.name, *(name for name, _ in before)})
        return path

    def _write(self, name: str, write: Callable[[Path], object]) -> Path:
        """Write a file of the index whole and return its path: in the repository, or in a temporary folder."""
        import duckdb

        temporary = ((folder, folder) for folder in self.temporary.made())
        for folder, partial_folder in itertools.chain([(self.folders.index, self.folders.partial)], temporary):
            path = folder.absolute() / name
            try:
                folder.mkdir(exist_ok=True)
                with staging(partial_folder, "index") as aside:
                    write(aside / name)
                    sync(aside / name)
                    (aside / name).rename(path)
                return path
            except (OSError, duckdb.Error) as error:
                failure = error
        raise not_stored(path, failure) if isinstance(failure, OSError) else failure

    def _remove_outdated(self, current: Collection[str]) -> None:
        """Remove files of older indexes, but not while somebody may look up runs in them.

        Since when a file is outdated is noted as the time of its last access: its content did not change.
        """
        for file in self._files():
            with suppress(OSError):
                if file.name not in current and time.time() - file.stat().st_atime > _OUTDATED_AFTER_S:
                    file.unlink()


def _index_name(bundles: Iterable[str]) -> str:
    """Return the name of the last file of an index over these bundles."""
    covers = "\n".join([str(queries.INDEX_VERSION), queries.INDEX_PARTS, *bundles])
    return f"runs-{hashlib.blake2b(covers.encode(), digest_size=8).hexdigest()}.parquet"


def _run(run_json: str, environment_json: str | None, environments: dict[str, dict[str, Any]] | None = None) -> Run:
    """Return a run; ``environments`` are those decoded before, so that runs on equal hosts share one."""
    try:
        run = run_of_json(run_json)
        if environment_json is None:
            return run
        shared = {} if environments is None else environments
        if environment_json not in shared:
            shared[environment_json] = _environment(environment_json)
        return replace(run, environment=shared[environment_json])
    except msgspec.MsgspecError as error:
        raise _damaged(error) from error


def _environment(text: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = msgspec.json.decode(text, type=dict[str, Any])
        return found
    except msgspec.MsgspecError as error:
        raise _damaged(error) from error


def _damaged(error: Exception) -> RepositoryError:
    return RepositoryError(f"the index is damaged: {error}", hint="delete the folder index: it is rebuilt")


@dataclass(slots=True)
class _Stock:
    """What an index is made from: files that stay, queries for rows beside them, and the codes that all share."""

    coding: Coding = field(default_factory=Coding)
    parts: list[str] = field(default_factory=list)
    kept: list[tuple[Path, int]] = field(default_factory=list)
    """The older index's files, with how many rows each has."""
    covered: set[str] = field(default_factory=set)
    may_repeat: bool = False
    """Whether several bundles may hold the same run: imports that overlap, and a run and its own exported figures."""

    def settle(self, opened: DuckDBPyConnection, folder: Path) -> list[tuple[str, int]]:
        """Decide which files stay, and return these; the rows of the others become parts.

        A file outside the index's ``folder`` is temporary and never stays: other processes can't read it.
        """
        files = [str(path) for path, _ in self.kept]
        if self.may_repeat and files:
            ((again,),) = opened.execute(queries.again_there(files, self.parts)).fetchall()
            self.may_repeat = bool(again)
            if again:
                self._take(len(self.kept))
        rows = sum(opened.execute(queries.count_of(part)).fetchall()[0][0] for part in self.parts)
        while self.kept and (self.kept[-1][1] <= _LONGER * rows or self.kept[-1][0].parent != folder.absolute()):
            rows += self.kept[-1][1]
            self._take(1)
        return [(path.name, count) for path, count in self.kept]

    def _take(self, number: int) -> None:
        for path, _ in self.kept[len(self.kept) - number :]:
            self.parts.append(queries.rows_in(str(path)))
        del self.kept[len(self.kept) - number :]

    def query(self, opened: DuckDBPyConnection) -> str:
        """Return the query for the rows of the new file."""
        if self.may_repeat:
            opened.execute(queries.repeated_runs(self.parts))
        return queries.all_rows(self.parts or [queries.NO_ROWS], without_repeated=self.may_repeat)


def _gathered(
    opened: DuckDBPyConnection, older: Sequence[Path], folders: Folders, names: Sequence[str], problems: list[Problem]
) -> _Stock:
    """Return what an index over ``names`` is made from; note the bundles that can't be read.

    It begins with the newest older index that can be read and covers no bundle that has vanished.
    """
    import duckdb

    usable = (_usable(opened, path, folders.index) for path in reversed(older))
    stock = next((found for found in usable if found and found.covered <= set(names)), _Stock())
    bundles = folders.bundles
    singles: list[Run] = []
    recoding: dict[str, list[Run]] = {}
    imports: list[tuple[str, Path, Coding]] = []
    for name in names:
        if name in stock.covered:
            continue
        try:
            if is_import(bundles / name):
                file = _import_file(bundles / name)
                try:
                    imports.append((name, file, read_coding(opened, file)))
                except OtherVersionError:
                    rows = opened.execute(queries.WHOLE_RUNS, [str(file.absolute())]).fetchall()
                    recoding[name] = [_run(run_json, extra) for run_json, extra in rows]
            else:
                singles.append(_single(bundles / name))
        except (duckdb.Error, RepositoryError, OSError) as error:
            detail = error.message if isinstance(error, RepositoryError) else str(error).splitlines()[0]
            problems.append(Problem(name, RUN_FILE, ProblemKind.UNREADABLE, detail))
    for _, _, own in imports:
        stock.coding.merged(own)
    if singles:
        opened.register(_NEW, rows_of(singles, None, stock.coding))
        stock.parts.append(f"SELECT * FROM {_NEW}")  # noqa: S608 - a constant
    for number, (name, runs) in enumerate(recoding.items()):
        opened.register(f"{_NEW}_{number}", rows_of(runs, name, stock.coding))
        stock.parts.append(f"SELECT * FROM {_NEW}_{number}")  # noqa: S608 - a constant and a number
    for name, file, own in imports:
        stock.parts.append(recoded(queries.parquet(str(file.absolute())), own, stock.coding, bundle=name))
    stock.may_repeat = bool(imports or recoding or singles)
    return stock


def _single(bundle: Path) -> Run:
    """Return a single run's bundle's run. Raises :class:`RepositoryError` when it was changed or can't be read."""
    run = read_run(bundle)
    changed = [problem for problem in check_files(bundle, (RUN_FILE,)) if problem.kind is ProblemKind.CHANGED]
    if changed:
        raise RepositoryError(f"{changed[0].file}: {changed[0].detail}", where=str(bundle))
    return run


def _import_file(bundle: Path) -> Path:
    """Return an import's file of runs. Raises :class:`RepositoryError` when it was changed."""
    changed = check_files(bundle, (IMPORT_RUNS_FILE,))
    if changed:
        raise RepositoryError(f"{changed[0].file}: {changed[0].detail}", where=str(bundle))
    return bundle / IMPORT_RUNS_FILE


def _usable(opened: DuckDBPyConnection, path: Path, folder: Path) -> _Stock | None:
    """Return what an older index has, with earlier files in ``folder``; None when it can't be read or is outdated."""
    import duckdb

    try:
        coding = read_coding(opened, path)
        files = IndexFiles.of(opened, path.absolute(), folder)
        kept = {name for (name,) in opened.execute(queries.BUNDLES_OF, [files.names]).fetchall()}
        counts = [int(opened.execute(queries.COUNT_OF, [name]).fetchall()[0][0]) for name in files.names]
    except (duckdb.Error, RepositoryError):
        return None
    return _Stock(coding, kept=list(zip(files.paths, counts, strict=True)), covered=kept)
