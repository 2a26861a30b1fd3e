"""Keep parts of an index in memory, so that a server rarely reads the index's files.

In: the files of an index, which never change. Out: the ids of rows, the rows of ids, and texts of rows that were read
before. A million runs take about 60 MB. A file that two indexes share is read once.
"""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from assay.analysis.statistics import Ints, RunTable
from assay.foundation.errors import RepositoryError
from assay.store.index import queries
from assay.store.index.runs_file import read_previous_files

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Ids = NDArray[np.bytes_]
_SEED: Final = 20
"""Seed of the multipliers of the ids' hashes. It is fixed, so that all indexes have the same hashes."""
_CHARACTERS_MAX: Final = 50_000_000
"""Maximum size of cached texts of rows, in characters."""
_LONG_BYTES: Final = 1_000_000
"""Minimum size of files whose metadata stay in DuckDB's cache, in bytes."""
_INDEXES_MAX: Final = 3
"""Maximum number of cached indexes: the newest, the index that running queries use, and the next."""


@dataclass(frozen=True, slots=True)
class IndexFile:
    """A file of an index."""

    path: Path
    start: int
    """Number of rows in the files before it."""
    stamp: tuple[int, int]
    """Inode and modification time in ns. A rebuilt file of the same name may have its rows in another order."""
    size_bytes: int

    @property
    def key(self) -> Hashable:
        """A key that identifies the file's content."""
        return self.path, self.stamp


@dataclass(frozen=True, slots=True)
class IndexFiles:
    """The files of one index, in the order of their rows."""

    files: tuple[IndexFile, ...]

    @staticmethod
    def of(database: DuckDBPyConnection, last_file: Path, folder: Path) -> IndexFiles:
        """Return the files of an index from its last file. Raises :class:`RepositoryError` if a file can't be read."""
        previous_files = read_previous_files(database, last_file)
        starts = itertools.accumulate((rows for _, rows in previous_files), initial=0)
        paths = [*((folder / name).absolute() for name, _ in previous_files), last_file.absolute()]
        try:
            files = [IndexFile(path, start, *_stamp(path)) for path, start in zip(paths, starts, strict=True)]
        except OSError as error:
            raise RepositoryError(
                f"a file of the index can't be read: {error.strerror}", where=str(last_file)
            ) from error
        return IndexFiles(tuple(files))

    @property
    def paths(self) -> list[Path]:
        """The files' paths."""
        return [file.path for file in self.files]

    @property
    def path_texts(self) -> list[str]:
        """The paths in the form that DuckDB expects."""
        return [str(file.path) for file in self.files]

    def exist(self) -> bool:
        """Return whether all files still exist unchanged."""
        try:
            return all(_stamp(file.path)[0] == file.stamp for file in self.files)
        except OSError:
            return False

    def with_rows(self, rows: Sequence[int]) -> Iterator[tuple[IndexFile, list[int]]]:
        """Yield each file that has some of these rows, with the row numbers within it."""
        row_numbers = np.asarray(rows, dtype=np.int64)
        file_of_row = np.searchsorted([file.start for file in self.files], row_numbers, side="right") - 1
        for number, file in enumerate(self.files):
            if len(rows_in_file := row_numbers[file_of_row == number]):
                yield file, (rows_in_file - file.start).tolist()


def _stamp(path: Path) -> tuple[tuple[int, int], int]:
    """Return a file's inode and modification time, and its size in bytes."""
    status = path.stat()
    return (status.st_ino, status.st_mtime_ns), status.st_size


@dataclass(frozen=True, slots=True)
class _FileRows:
    """The ids of one file's rows, with a hash index over them."""

    file: IndexFile
    ids: Ids
    hashes: NDArray[np.uint64]
    """The hashes of all ids, sorted."""
    row_of_hash: Ints
    """The row number of each hash, within the file."""

    def rows_of(self, run_id: bytes, id_hash: np.uint64) -> list[int]:
        """Return the numbers of the rows with this id, counted through all files."""
        first, last = (int(np.searchsorted(self.hashes, id_hash, side=side)) for side in ("left", "right"))
        return [int(row) + self.file.start for row in self.row_of_hash[first:last] if self.ids[row] == run_id]


def _hashes(ids: Ids) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each id: the sum of its 8-byte words, each multiplied by a fixed random odd number.

    M. Dietzfelbinger et al., J. Algorithms 25 (1997). Two ids may share a hash, so a lookup also compares the ids.
    """
    width = max(1, -(-ids.dtype.itemsize // 8))
    words = np.frombuffer(ids.astype(f"S{8 * width}").tobytes(), dtype="<u8").reshape(len(ids), width)
    numbers = np.random.default_rng(_SEED).integers(2**63, size=width, dtype=np.uint64)  # the same for every width
    hashes: NDArray[np.uint64] = (words * (2 * numbers + 1)).sum(axis=1, dtype=np.uint64)
    return hashes


@dataclass(frozen=True, slots=True)
class RowLookup:
    """A lookup of rows of one index by id, and of ids by row."""

    files: tuple[_FileRows, ...]
    positions: Ints
    """The position of each row in the table of all runs."""

    def rows_of(self, ids: Sequence[str]) -> list[int]:
        """Return the numbers of the rows with these ids, sorted."""
        encoded_ids = [run_id.encode("utf-8", "replace") for run_id in ids]
        hashes = _hashes(np.array(encoded_ids, dtype=np.bytes_)) if encoded_ids else ()
        keys = list(zip(encoded_ids, hashes, strict=True))
        return sorted({row for file in self.files for run_id, hash_ in keys for row in file.rows_of(run_id, hash_)})

    def ids(self, rows: Sequence[int]) -> list[str]:
        """Return the ids of these rows, in the same order."""
        row_numbers = np.asarray(rows, dtype=np.int64)
        file_of_row = np.searchsorted([file.file.start for file in self.files], row_numbers, side="right") - 1
        return [
            self.files[number].ids[row - self.files[number].file.start].decode()
            for number, row in zip(file_of_row.tolist(), row_numbers.tolist(), strict=True)
        ]


def _read_ids(database: DuckDBPyConnection, file: IndexFile) -> _FileRows:
    """Read the ids of all rows of a file."""
    columns = database.execute(queries.NUMBERED_IDS, [str(file.path)]).fetchnumpy()
    texts = np.asarray(columns["run_id"]).astype(np.bytes_)
    ids = np.empty_like(texts)
    ids[np.asarray(columns["file_row_number"], dtype=np.int64)] = texts
    hashes = _hashes(ids)
    order = np.argsort(hashes, kind="stable")
    return _FileRows(file, ids, hashes[order], order)


@dataclass(slots=True)
class RowCache:
    """A thread-safe cache of texts of rows, limited by their characters. It drops the least recently used rows."""

    characters_max: int = _CHARACTERS_MAX
    _rows: OrderedDict[Hashable, tuple[Any, ...]] = field(default_factory=OrderedDict)
    _characters: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self, database: DuckDBPyConnection, query: str, file: IndexFile, rows: Sequence[int]) -> list[Any]:
        """Return a query's result for these rows of a file, each with its number first; reads only the missing rows."""
        keys = [(query, file.key, row) for row in rows]
        with self._lock:
            cached_rows = [self._rows[key] for key in keys if key in self._rows]
            for key in keys:
                if key in self._rows:
                    self._rows.move_to_end(key)
        if len(cached_rows) == len(rows):
            return cached_rows
        cached_numbers = {number for number, *_ in cached_rows}
        if file.size_bytes > _LONG_BYTES:  # each addition writes a small file, whose metadata would accumulate
            database.execute(queries.KEEP_METADATA)
        uncached_rows = database.execute(
            query, [str(file.path), [row for row in rows if row not in cached_numbers]]
        ).fetchall()
        with self._lock:
            for row in uncached_rows:
                key = (query, file.key, row[0])
                self._characters += 0 if key in self._rows else _characters(row)
                self._rows[key] = row
            while self._characters > self.characters_max:
                _, oldest = self._rows.popitem(last=False)
                self._characters -= _characters(oldest)
        return cached_rows + uncached_rows


def _characters(row: tuple[Any, ...]) -> int:
    return sum(len(text) for text in row if isinstance(text, str))


@dataclass(slots=True)
class IndexCache:
    """The parts of indexes that one reader caches: their files, and, on request, row lookups and texts."""

    files: OrderedDict[str, IndexFiles] = field(default_factory=OrderedDict)
    """The files of the most recently read indexes, by the name of the last file."""
    lookups: OrderedDict[str, RowLookup] = field(default_factory=OrderedDict)
    rows: RowCache = field(default_factory=RowCache)

    def remember(self, source: str, files: IndexFiles) -> None:
        """Remember the files of an index, and drop the row lookup of other files with the same name."""
        if self.files.get(source) != files:
            self.lookups.pop(source, None)
        _put(self.files, source, files)

    def add_lookup(self, database: DuckDBPyConnection, table: RunTable, files: IndexFiles) -> None:
        """Cache the row lookup of a table of all runs. Files that another cached lookup shares are not read again."""
        rows_by_file = {file.file.key: file for lookup in self.lookups.values() for file in lookup.files}
        positions = np.empty(len(table), dtype=np.int64)
        positions[table.rows] = np.arange(len(table))
        rows = tuple(rows_by_file.get(file.key) or _read_ids(database, file) for file in files.files)
        _put(self.lookups, table.source, RowLookup(rows, positions))


def _put(cache: OrderedDict[str, Any], source: str, value: object) -> None:
    """Cache a value for an index, and drop the least recently used value."""
    cache[source] = value
    cache.move_to_end(source)
    while len(cache) > _INDEXES_MAX:
        cache.popitem(last=False)
