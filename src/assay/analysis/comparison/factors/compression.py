"""Compression of map output as one factor: whether it is on, and with which codec.

In: a table of runs with Hadoop's two parameters. Out: the same table with one column ``compression`` in their place:
``none``, or the codec's short name. They change together (a run without compression has no codec), so neither can be
compared by itself: runs with and without are never equal in all else. Runs of plans that vary ``compression`` have the
level already.
"""

from typing import Final

import numpy as np

from assay.analysis.statistics import ABSENT, Column, Mask, RunTable
from assay.model import COMPRESSION, Meaning, parameters_that

_SWITCHES: Final = parameters_that(Meaning.COMPRESSION_SWITCH)
_CODECS: Final = parameters_that(Meaning.COMPRESSION_CODEC)
UNCOMPRESSED: Final = "none"
_UNNAMED: Final = "default codec"


def with_compression(table: RunTable) -> RunTable:
    """Return ``table`` with the factor ``compression`` for the two parameters; as it is where it has no such switch.

    A run that does not say whether it compressed has no level; one that has a level keeps it.
    """
    switch = next((name for name in _SWITCHES if name in table.columns), None)
    if switch is None:
        return table
    codec = next((name for name in _CODECS if name in table.columns), None)
    given = table.columns.get(COMPRESSION, Column(np.full(len(table), ABSENT, dtype=np.int32), ()))
    levels = {name: code for code, name in enumerate(given.levels)}
    codes = given.codes.astype(np.int32)
    untold = codes == ABSENT
    on, off = (untold & _has(table.columns[switch], level) for level in ("true", "false"))
    if off.any():
        codes[off] = levels.setdefault(UNCOMPRESSED, len(levels))
    if codec is None and on.any():
        codes[on] = levels.setdefault(_UNNAMED, len(levels))
    elif codec is not None:
        known = {name.lower(): name for name in given.levels}
        shorts = [known.get(name.lower(), name) for name in map(_short, table.columns[codec].levels)]
        names = [*shorts, _UNNAMED]  # the last is for the code of those without: -1
        numbers = np.array([levels.setdefault(name, len(levels)) for name in names], dtype=np.int32)
        codes[on] = numbers[table.columns[codec].codes[on]]
    rest = {name: column for name, column in table.columns.items() if name not in (switch, codec, COMPRESSION)}
    return RunTable(table.rows, {**rest, COMPRESSION: Column(codes, tuple(levels))}, table.values, table.source)


def _has(column: Column, level: str) -> Mask:
    code = column.code(level)
    has: Mask = (column.codes == code) & (code != ABSENT)
    return has


def moves_with(factor: str, table: RunTable) -> str | None:
    """Return the parameter that can't stay equal while ``factor`` changes, where the runs have both."""
    for pair in zip(_SWITCHES, _CODECS, strict=True):
        if factor in pair and all(name in table.columns for name in pair):
            return next(name for name in pair if name != factor)
    return None


def _short(codec: str) -> str:
    """Return a codec's class as people call it: ``Snappy`` for ``org.apache.hadoop.io.compress.SnappyCodec``."""
    return codec.rpartition(".")[2].removesuffix("Codec") or codec
