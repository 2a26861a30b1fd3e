"""What a reader of many runs keeps of an index in memory, so that few questions of a server need its files.

In: the files of an index, which never change. Out: the ids of rows, the rows of ids, and texts of rows that were read
before. A million runs take some 60 MB; of a file that the next index has too, nothing is read again.
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

from assay.errors import RepositoryError
from assay.repository import queries
from assay.repository.coded import read_before
from assay.statistics import Ints, RunTable

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Ids = NDArray[np.bytes_]
_SEED: Final = 20
_CHARACTERS_MAX: Final = 50_000_000
_LONG_BYTES: Final = 1_000_000
_INDEXES_MAX: Final = 3
"""The newest one, the one that answers are still given of, and the next."""


@dataclass(frozen=True, slots=True)
class IndexFile:
    """A file of an index."""

    path: Path
    start: int
    """The number of its first row, through all files."""
    stamp: tuple[int, int]
    """Its inode, and when it was written, in ns: one of the same name may have been made anew, in another order."""
    size_bytes: int

    @property
    def key(self) -> Hashable:
        """What stands for its content."""
        return self.path, self.stamp


@dataclass(frozen=True, slots=True)
class IndexFiles:
    """The files of one index, in the order of their rows."""

    files: tuple[IndexFile, ...]

    @staticmethod
    def of(opened: DuckDBPyConnection, last: Path, folder: Path) -> IndexFiles:
        """Return the files of an index, by its last. Raises :class:`RepositoryError` when one can't be read."""
        before = read_before(opened, last)
        starts = itertools.accumulate((rows for _, rows in before), initial=0)
        paths = [*((folder / name).absolute() for name, _ in before), last.absolute()]
        try:
            files = [IndexFile(path, start, *_stamp(path)) for path, start in zip(paths, starts, strict=True)]
        except OSError as error:
            raise RepositoryError(f"a file of the index can't be read: {error.strerror}", where=str(last)) from error
        return IndexFiles(tuple(files))

    @property
    def paths(self) -> list[Path]:
        """The files' paths."""
        return [file.path for file in self.files]

    @property
    def names(self) -> list[str]:
        """The paths as DuckDB takes them."""
        return [str(file.path) for file in self.files]

    def are_there(self) -> bool:
        """Say whether the files are still those."""
        try:
            return all(_stamp(file.path)[0] == file.stamp for file in self.files)
        except OSError:
            return False

    def holding(self, rows: Sequence[int]) -> Iterator[tuple[IndexFile, list[int]]]:
        """Yield each file that has some of these rows, and their numbers within it."""
        wanted = np.asarray(rows, dtype=np.int64)
        of_row = np.searchsorted([file.start for file in self.files], wanted, side="right") - 1
        for place, file in enumerate(self.files):
            if len(own := wanted[of_row == place]):
                yield file, (own - file.start).tolist()


def _stamp(path: Path) -> tuple[tuple[int, int], int]:
    """Return what tells a file from another one of its name, and its size in bytes."""
    found = path.stat()
    return (found.st_ino, found.st_mtime_ns), found.st_size


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of one file."""

    file: IndexFile
    ids: Ids
    hashes: NDArray[np.uint64]
    """Of all ids, sorted."""
    of_hash: Ints
    """The number of the row, within the file, that each hash is of."""

    def of(self, run_id: bytes, hashed: np.uint64) -> list[int]:
        """Return the numbers of the rows of this id through all files."""
        first, last = (int(np.searchsorted(self.hashes, hashed, side=side)) for side in ("left", "right"))
        return [int(row) + self.file.start for row in self.of_hash[first:last] if self.ids[row] == run_id]


def _hashes(ids: Ids) -> NDArray[np.uint64]:
    """Return numbers that hardly two ids have in common: their words, each times an odd number of its own, mixed.

    M. Dietzfelbinger et al., J. Algorithms 25 (1997). Whoever finds one compares the ids.
    """
    width = max(1, -(-ids.dtype.itemsize // 8))
    words = np.frombuffer(ids.astype(f"S{8 * width}").tobytes(), dtype="<u8").reshape(len(ids), width)
    numbers = np.random.default_rng(_SEED).integers(2**63, size=width, dtype=np.uint64)  # the same, however many
    hashed: NDArray[np.uint64] = (words * (2 * numbers + 1)).sum(axis=1, dtype=np.uint64)
    return hashed


@dataclass(frozen=True, slots=True)
class Places:
    """The rows of one index."""

    rows: tuple[_Rows, ...]
    """By its files."""
    positions: Ints
    """The place of each row in the table of all runs."""

    def of(self, ids: Sequence[str]) -> list[int]:
        """Return the numbers of the rows that have these ids, sorted."""
        encoded = [run_id.encode("utf-8", "replace") for run_id in ids]
        hashed = _hashes(np.array(encoded, dtype=np.bytes_)) if encoded else ()
        found = {
            row for one in self.rows for run_id, h in zip(encoded, hashed, strict=True) for row in one.of(run_id, h)
        }
        return sorted(found)

    def ids(self, rows: Sequence[int]) -> list[str]:
        """Return the ids of the rows of these numbers, in their order."""
        wanted = np.asarray(rows, dtype=np.int64)
        of_row = np.searchsorted([one.file.start for one in self.rows], wanted, side="right") - 1
        return [
            self.rows[place].ids[row - self.rows[place].file.start].decode()
            for place, row in zip(of_row.tolist(), wanted.tolist(), strict=True)
        ]


def _read(opened: DuckDBPyConnection, file: IndexFile) -> _Rows:
    found = opened.execute(queries.NUMBERED_IDS, [str(file.path)]).fetchnumpy()
    texts = np.asarray(found["run_id"]).astype(np.bytes_)
    ids = np.empty_like(texts)
    ids[np.asarray(found["file_row_number"], dtype=np.int64)] = texts
    hashes = _hashes(ids)
    order = np.argsort(hashes, kind="stable")
    return _Rows(file, ids, hashes[order], order)


@dataclass(slots=True)
class KeptRows:
    """What was read of rows, kept until others were read that come to so many characters; any thread may ask."""

    characters_max: int = _CHARACTERS_MAX
    _rows: OrderedDict[Hashable, tuple[Any, ...]] = field(default_factory=OrderedDict)
    _characters: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def found(self, opened: DuckDBPyConnection, query: str, file: IndexFile, rows: Sequence[int]) -> list[Any]:
        """Return what a query finds at these rows of a file, the row's number first; only rows not kept are read."""
        places = [(query, file.key, row) for row in rows]
        with self._lock:
            known = [self._rows[place] for place in places if place in self._rows]
            for place in places:
                if place in self._rows:
                    self._rows.move_to_end(place)
        if len(known) == len(rows):
            return known
        there = {row for row, *_ in known}
        if file.size_bytes > _LONG_BYTES:  # of short ones, which come with each addition, nothing is to pile up
            opened.execute(queries.KEEP_METADATA)
        read = opened.execute(query, [str(file.path), [row for row in rows if row not in there]]).fetchall()
        with self._lock:
            for row in read:
                place = (query, file.key, row[0])
                self._characters += 0 if place in self._rows else _characters(row)
                self._rows[place] = row
            while self._characters > self.characters_max:
                _, oldest = self._rows.popitem(last=False)
                self._characters -= _characters(oldest)
        return known + read


def _characters(row: tuple[Any, ...]) -> int:
    return sum(len(text) for text in row if isinstance(text, str))


@dataclass(slots=True)
class Memory:
    """What one reader keeps of indexes: which files they are, and, where it is told to, what was read of them."""

    files: OrderedDict[str, IndexFiles] = field(default_factory=OrderedDict)
    """Of the indexes that were read last, by the names of their last files."""
    places: OrderedDict[str, Places] = field(default_factory=OrderedDict)
    rows: KeptRows = field(default_factory=KeptRows)

    def note(self, source: str, files: IndexFiles) -> None:
        """Keep which files an index is; what is known of rows of other files of the same names is forgotten."""
        if self.files.get(source) != files:
            self.places.pop(source, None)
        _put(self.files, source, files)

    def keep(self, opened: DuckDBPyConnection, table: RunTable, files: IndexFiles) -> None:
        """Keep where the runs of a table of all are; of a file that another kept one has too, nothing is read."""
        known = {one.file.key: one for places in self.places.values() for one in places.rows}
        positions = np.empty(len(table), dtype=np.int64)
        positions[table.rows] = np.arange(len(table))
        rows = tuple(known.get(file.key) or _read(opened, file) for file in files.files)
        _put(self.places, table.source, Places(rows, positions))


def _put(kept: OrderedDict[str, Any], source: str, what: object) -> None:
    kept[source] = what
    kept.move_to_end(source)
    while len(kept) > _INDEXES_MAX:
        kept.popitem(last=False)
