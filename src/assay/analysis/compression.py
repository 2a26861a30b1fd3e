"""Compression of map output as one factor: whether it is on, and with which codec.

In: a table of runs with Hadoop's two parameters. Out: the same table with one column ``compression`` in their place:
``none``, or the codec's short name. They change together (a run without compression has no codec), so neither can be
compared by itself: runs with and without are never equal in all else.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from assay.analysis.table import ABSENT, Column, RunTable

COMPRESSION: Final = "compression"
_SWITCHES: Final = ("mapreduce.map.output.compress", "mapred.compress.map.output")
_CODECS: Final = ("mapreduce.map.output.compress.codec", "mapred.map.output.compression.codec")
_NONE: Final = "none"
_UNNAMED: Final = "default codec"


def with_compression(table: RunTable) -> RunTable:
    """Return ``table`` with the factor ``compression`` for the two parameters; as it is where it has no such switch.

    A run that does not say whether it compressed has no level.
    """
    switch = next((name for name in _SWITCHES if name in table.columns), None)
    if COMPRESSION in table.columns or switch is None:
        return table
    codec = next((name for name in _CODECS if name in table.columns), None)
    on, off = (table.columns[switch].code(level) for level in ("true", "false"))
    levels: dict[str, int] = {_NONE: 0}
    codes = np.full(len(table), ABSENT, dtype=np.int32)
    if off != ABSENT:
        codes[table.columns[switch].codes == off] = 0
    compressed = (table.columns[switch].codes == on) & (on != ABSENT)
    if codec is None:
        codes[compressed] = levels.setdefault(_UNNAMED, len(levels))
    else:
        names = [*map(_short, table.columns[codec].levels), _UNNAMED]  # the last is for the code of those without: -1
        numbers = np.array([levels.setdefault(name, len(levels)) for name in names], dtype=np.int32)
        codes[compressed] = numbers[table.columns[codec].codes[compressed]]
    rest = {name: column for name, column in table.columns.items() if name not in (switch, codec)}
    return RunTable(table.rows, {**rest, COMPRESSION: Column(codes, tuple(levels))}, table.values, table.source)


def moves_with(factor: str, table: RunTable) -> str | None:
    """Return the parameter that can't stay equal while ``factor`` changes, where the runs have both."""
    for pair in zip(_SWITCHES, _CODECS, strict=True):
        if factor in pair and all(name in table.columns for name in pair):
            return next(name for name in pair if name != factor)
    return None


def _short(codec: str) -> str:
    """Return a codec's class as people call it: ``Snappy`` for ``org.apache.hadoop.io.compress.SnappyCodec``."""
    return codec.rpartition(".")[2].removesuffix("Codec") or codec
