"""Query the index over all bundles: files of runs that are derived from the bundles and can be deleted at any time.

The name of an index's last file is a hash of the names of the bundles that the index covers. The index is current if a
file with the right name exists. Index files never change, so readers and writers need no lock. A reader that finds no
current or undamaged index writes it (:mod:`assay.store.index.index_builder`). If the repository can't be written
(read-only, or a full disk), the last file goes to a temporary folder and is kept until the process ends.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
import numpy as np

from assay.analysis.statistics import RunTable
from assay.foundation.errors import RepositoryError
from assay.model import Environment, Run
from assay.store.bundles.bundle import BundleProblem
from assay.store.bundles.folders import Folders
from assay.store.bundles.staging import TemporaryFolders
from assay.store.index import queries
from assay.store.index.index_builder import IndexBuilder, index_files, index_name
from assay.store.index.index_cache import IndexCache, IndexFile, IndexFiles
from assay.store.index.runs_file import decode_environment, decode_run, load_table, read_coding
from assay.store.index.tables import ConnectionFactory, connection
from assay.workloads.catalogue import known_name

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Queried = TypeVar("Queried")
_REQUESTED_IDS = "asked_ids"
_FETCHED_ROWS: Final = 10_000
"""Maximum number of rows that are fetched from DuckDB at once."""
_CACHED_ROWS_MAX: Final = 2_000
"""Maximum number of rows of a query that uses the cache."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions on runs; None matches any run. ``limit`` keeps the newest runs."""

    workload: str | None = None
    layout: str | None = None
    status: str | None = None
    plan: str | None = None
    campaign_id: str | None = None
    limit: int | None = None


def bundle_names(bundles: Path) -> list[str]:
    """Return the names of the bundles, sorted; hidden entries and plain files are left out."""
    try:
        entries = list(os.scandir(bundles))
    except FileNotFoundError:
        return []
    return sorted(entry.name for entry in entries if entry.is_dir() and not entry.name.startswith("."))


@dataclass(frozen=True, slots=True)
class Index:
    """A repository's index; ``problems`` names the bundles that the last query could not read."""

    folders: Folders
    problems: list[BundleProblem] = field(default_factory=list)
    connect: ConnectionFactory = connection
    cache: IndexCache = field(default_factory=IndexCache)
    temporary: TemporaryFolders = field(default_factory=TemporaryFolders)
    """Folders for the last file of the index when the repository can't be written."""

    def runs(self, filters: Filters, *, environment: bool) -> list[Run]:
        """Return the matching runs, newest last. ``environment=False`` leaves environments empty, which is faster."""
        statement = queries.NEWEST_RUNS if environment else queries.NEWEST_RUNS_WITHOUT_ENVIRONMENT
        aloja_name = (filters.workload or "").replace("-", "_")  # older imports kept ALOJA's spelling
        older_workload = aloja_name if known_name(aloja_name) == filters.workload else filters.workload

        def query(database: DuckDBPyConnection, index: IndexFiles) -> list[Run]:
            database.execute(
                statement, {"index": index.path_texts, "older_workload": older_workload, **asdict(filters)}
            )
            environments: dict[str, dict[str, Any]] = {}
            runs: list[Run] = []
            while rows := database.fetchmany(_FETCHED_ROWS):
                runs += [decode_run(run_json, environment, environments) for run_json, environment in rows]
            return runs[::-1]

        return self._answer(query)

    def table(self, metrics: Sequence[str]) -> RunTable:
        """Return all runs as columns, with the named metrics."""

        def query(database: DuckDBPyConnection, index: IndexFiles) -> RunTable:
            table = load_table(database, index.paths, read_coding(database, index.paths[-1]), metrics)
            self.cache.remember(table.source, index)
            return table

        return self._answer(query)

    def metrics(self) -> list[str]:
        """Return the names of all metrics that a run can have in :meth:`table`, without those of the base."""

        def query(database: DuckDBPyConnection, index: IndexFiles) -> list[str]:
            return list(read_coding(database, index.paths[-1]).values)

        return self._answer(query)

    def runs_at(self, table: RunTable, positions: Sequence[int]) -> list[Run]:
        """Return the complete runs at these positions of a table, in the same order.

        Raises :class:`RepositoryError` if the index that the table was read from no longer exists.
        """
        row_numbers, rows = self._rows_at(queries.RUNS_AT, table, positions)
        runs = {row: decode_run(run_json, environment) for row, _, run_json, environment in rows}
        return [runs[row] for row in row_numbers]

    def ids_at(self, table: RunTable, positions: Sequence[int]) -> list[str]:
        """Return the ids of the runs at these positions of a table, in the same order; errors as in :meth:`runs_at`."""
        if (lookup := self.cache.lookups.get(table.source)) is not None:
            return lookup.ids([int(table.rows[position]) for position in positions])
        row_numbers, rows = self._rows_at(queries.IDS_AT, table, positions)
        ids = dict(rows)
        return [ids[row] for row in row_numbers]

    def environments_at(self, table: RunTable, positions: Sequence[int]) -> list[Environment]:
        """Return the environments of the runs at these positions, in order. Equal environments are one object."""
        row_numbers, rows = self._rows_at(queries.ENVIRONMENTS_AT, table, positions)
        texts: dict[int, str] = dict(rows)
        environments = {text: Environment(decode_environment(text)) for text in set(texts.values())}
        return [environments[texts[row]] for row in row_numbers]

    def positions_of(self, table: RunTable, ids: Sequence[str]) -> list[int]:
        """Return the positions of the runs with these ids in a table, sorted; errors as in :meth:`runs_at`."""
        if (lookup := self.cache.lookups.get(table.source)) is not None and len(table) == len(lookup.positions):
            return sorted(lookup.positions[lookup.rows_of(ids)].tolist())
        with self._database(table.source) as (database, files):
            rows = [
                row + file.start
                for file in files.files
                for (row,) in database.execute(queries.ROWS_OF, [str(file.path), list(ids)]).fetchall()
            ]
        positions: list[int] = np.flatnonzero(np.isin(table.rows, rows)).tolist()
        return positions

    def _rows_at(self, query: str, table: RunTable, positions: Sequence[int]) -> tuple[list[int], list[Any]]:
        """Return the row numbers of these positions, and the query's result rows, each with its row number first."""
        row_numbers = [int(table.rows[position]) for position in positions]
        rows: list[Any] = []
        with self._database(table.source) as (database, files):
            for file, numbers in files.with_rows(row_numbers):
                rows += [(row + file.start, *values) for row, *values in self._rows(database, query, file, numbers)]
        return row_numbers, rows

    def _rows(self, database: DuckDBPyConnection, query: str, file: IndexFile, rows: Sequence[int]) -> list[Any]:
        """Return a query's result for rows of a file, each with its number within the file first."""
        if self.cache.lookups and len(rows) <= _CACHED_ROWS_MAX:
            return self.cache.rows.read(database, query, file, rows)
        return database.execute(query, [str(file.path), list(rows)]).fetchall()

    @contextmanager
    def _database(self, source: str) -> Iterator[tuple[DuckDBPyConnection, IndexFiles]]:
        """Yield a connection and the files of the index whose last file is ``source``."""
        with self.connect() as database:
            files = self.cache.files.get(source)
            if files is None and (last_file := self._existing_path(source)) is not None:
                with suppress(RepositoryError):
                    files = IndexFiles.of(database, last_file, self.folders.index)
            if files is None or not files.exist():
                raise RepositoryError(
                    "the repository has changed since its runs were read",
                    where=str(self.folders.root),
                    hint="read them again",
                )
            self.cache.remember(source, files)
            yield database, files

    def _existing_path(self, name: str) -> Path | None:
        """Return the path of an index file, or None. A temporary file takes precedence over one in the repository."""
        folders = (*self.temporary.paths(), self.folders.index.absolute()) if name else ()
        return next((folder / name for folder in folders if (folder / name).exists()), None)

    def holds(self, table: RunTable) -> bool:
        """Return whether the index that a table was read from still exists."""
        files = self.cache.files.get(table.source)
        return files.exist() if files is not None else self._existing_path(table.source) is not None

    def covers_all(self, table: RunTable) -> bool:
        """Return whether a table was read from the index over all current bundles."""
        return index_name(bundle_names(self.folders.bundles)) == table.source

    def stored_ids_among(self, run_ids: Sequence[str]) -> set[str]:
        """Return the ids in ``run_ids`` that exist in the repository."""
        if not run_ids or not bundle_names(self.folders.bundles):
            return set()
        ids = np.array(run_ids, dtype=object)

        def query(database: DuckDBPyConnection, index: IndexFiles) -> set[str]:
            database.register(_REQUESTED_IDS, {"run_id": ids})  # a million ids as a parameter take seconds
            return {i for (i,) in database.execute(queries.KNOWN_IDS, [index.path_texts]).fetchall()}

        return self._answer(query)

    def ids_that_begin(self, prefix: str, count_max: int) -> list[str]:
        """Return the ids that begin with ``prefix``, sorted, at most ``count_max``."""
        values = [prefix, count_max]
        return self._answer(
            lambda database, index: [
                i for (i,) in database.execute(queries.IDS_THAT_BEGIN, [index.path_texts, *values]).fetchall()
            ]
        )

    def ids_of_source_id(self, source_id: str, count_max: int) -> list[str]:
        """Return the ids of imported runs that their source calls ``source_id``, sorted, at most ``count_max``."""
        values = [f'"source_id":{msgspec.json.encode(source_id).decode()}', count_max]
        return self._answer(
            lambda database, index: [
                i for (i,) in database.execute(queries.IDS_OF_SOURCE_ID, [index.path_texts, *values]).fetchall()
            ]
        )

    def find(self, run_id: str) -> tuple[str, Run] | None:
        """Return the bundle that holds a run, and the run; None if no run has this id."""
        if (cached := self._find_cached(run_id)) is not None:
            return cached

        def query(database: DuckDBPyConnection, index: IndexFiles) -> tuple[str, Run] | None:
            row = database.execute(queries.ONE_RUN, [index.path_texts, run_id]).fetchone()
            return (str(row[0]), decode_run(row[1], row[2])) if row else None

        return self._answer(query)

    def _find_cached(self, run_id: str) -> tuple[str, Run] | None:
        """Find a run by the cached lookups. Return None if they lack it, or if it or the index no longer exists."""
        for source, lookup in reversed(list(self.cache.lookups.items())):
            with suppress(RepositoryError), self._database(source) as (database, files):
                for file, numbers in files.with_rows(lookup.rows_of([run_id])):
                    for _, bundle, run_json, environment in self._rows(database, queries.RUNS_AT, file, numbers):
                        run = decode_run(run_json, environment)
                        if run.run_id == run_id and (self.folders.bundles / bundle).is_dir():
                            return str(bundle), run
                return None
        return None

    def cache_row_lookup(self, table: RunTable) -> None:
        """Keep the row of every run of a table of all runs in memory; errors as in :meth:`runs_at`."""
        with self._database(table.source) as (database, files):
            self.cache.add_lookup(database, table, files)

    def forget(self) -> None:
        """Delete the index; the next query builds it from the bundles."""
        for path in index_files(self.folders, self.temporary):
            with suppress(OSError):
                path.unlink()

    def over_files(self, query: Callable[[DuckDBPyConnection, Sequence[Path]], Queried]) -> Queried:
        """Call ``query`` with a connection and the index's files; the last file has the coding of all files."""
        return self._answer(lambda database, index: query(database, index.paths))

    def _answer(self, query: Callable[[DuckDBPyConnection, IndexFiles], Queried]) -> Queried:
        try:
            return self._answer_from(self._current(), query)
        except RepositoryError:  # a file is damaged, or was just removed: build the index again, once
            return self._answer_from(self._current(rebuild=True), query)

    def _answer_from(self, last_file: Path, query: Callable[[DuckDBPyConnection, IndexFiles], Queried]) -> Queried:
        with self.connect() as database:
            return query(database, IndexFiles.of(database, last_file, self.folders.index))

    def _current(self, *, rebuild: bool = False) -> Path:
        """Return the last file of an index over all bundles; with ``rebuild``, an index made from the bundles alone."""
        self.problems.clear()
        names = bundle_names(self.folders.bundles)
        path = self._existing_path(index_name(names))
        if path is not None and not rebuild:
            return path
        older_files = [] if rebuild else index_files(self.folders, self.temporary)
        with self.connect() as database:
            return IndexBuilder(self.folders, self.temporary, self.problems, rebuild).build(
                database, names, older_files
            )
