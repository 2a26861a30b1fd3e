"""Where in an index each run is, for who looks up many runs one at a time: 16 bytes a run, instead of reading all ids.

In: the files of an index. Out: the numbers of the rows that have certain ids, through all files. Ids are known by
hashes of 64 bits, so among a million runs an id that none of them has is taken for one once in 10^13 times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.repository import queries
from assay.statistics import Ints

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True, slots=True)
class Places:
    """The places of the runs of one index."""

    source: str
    """The index: its last file's name."""
    hashes: NDArray[np.uint64]
    """Of all ids, sorted."""
    rows: Ints
    """The number of the row that each hash is of."""

    def of(self, opened: DuckDBPyConnection, ids: Sequence[str]) -> list[int]:
        """Return the numbers of the rows that have these ids, sorted."""
        found = opened.execute(queries.HASHES, [list(ids)]).fetchnumpy()["hashed"]
        wanted = np.asarray(found, dtype=np.uint64)
        first, last = (np.searchsorted(self.hashes, wanted, side=side) for side in ("left", "right"))
        rows: list[int] = sorted({int(self.rows[at]) for a, b in zip(first, last, strict=True) for at in range(a, b)})
        return rows


def read_places(opened: DuckDBPyConnection, source: str, files: Sequence[tuple[str, int]]) -> Places:
    """Return the places of the runs in ``files``: paths as DuckDB takes them, with the number of their first rows."""
    hashes, rows = [np.zeros(0, dtype=np.uint64)], [np.zeros(0, dtype=np.int64)]
    for path, start in files:
        found = opened.execute(queries.HASHES_OF, [path]).fetchnumpy()
        hashes.append(np.asarray(found["hashed"], dtype=np.uint64))
        rows.append(np.asarray(found["file_row_number"], dtype=np.int64) + start)
    every = np.concatenate(hashes)
    order = np.argsort(every, kind="stable")
    return Places(source, every[order], np.concatenate(rows)[order])
