"""Combine Hadoop's parameters of map output compression into one factor.

In: a table of runs with the two parameters, switch and codec. Out: the same table with one column ``compression`` in
their place: ``none``, or the codec's short name. The parameters change together (a run without compression has no
codec), so a comparison by one of them would never find runs that are equal in the other. Runs of plans that vary
``compression`` already have the level.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from assay.analysis.statistics import ABSENT, Column, Mask, RunTable
from assay.model import COMPRESSION, Meaning, parameters_with

_SWITCHES: Final = parameters_with(Meaning.COMPRESSION_SWITCH)
_CODECS: Final = parameters_with(Meaning.COMPRESSION_CODEC)
UNCOMPRESSED: Final = "none"
_DEFAULT_CODEC: Final = "default codec"


def with_compression(table: RunTable) -> RunTable:
    """Return ``table`` with the factor ``compression`` for the two parameters.

    The table is unchanged if no run records whether it compressed. A run that does not record it has no level. A run
    that already has a level of ``compression`` keeps it.
    """
    switch = next((name for name in _SWITCHES if name in table.columns), None)
    if switch is None:
        return table
    codec = next((name for name in _CODECS if name in table.columns), None)
    existing_column = table.columns.get(COMPRESSION, Column(np.full(len(table), ABSENT, dtype=np.int32), ()))
    levels = {name: code for code, name in enumerate(existing_column.levels)}
    codes = existing_column.codes.astype(np.int32)
    without_level = codes == ABSENT
    is_on, is_off = (without_level & _has(table.columns[switch], level) for level in ("true", "false"))
    if is_off.any():
        codes[is_off] = levels.setdefault(UNCOMPRESSED, len(levels))
    if codec is None and is_on.any():
        codes[is_on] = levels.setdefault(_DEFAULT_CODEC, len(levels))
    elif codec is not None:
        existing_names = {name.lower(): name for name in existing_column.levels}
        codec_names = [
            existing_names.get(name.lower(), name) for name in map(_short_codec_name, table.columns[codec].levels)
        ]
        names = [*codec_names, _DEFAULT_CODEC]  # the last name is for runs without a codec, whose code is -1
        numbers = np.array([levels.setdefault(name, len(levels)) for name in names], dtype=np.int32)
        codes[is_on] = numbers[table.columns[codec].codes[is_on]]
    other_columns = {name: column for name, column in table.columns.items() if name not in (switch, codec, COMPRESSION)}
    return replace(table, columns={**other_columns, COMPRESSION: Column(codes, tuple(levels))})


def _has(column: Column, level: str) -> Mask:
    code = column.code(level)
    has_level: Mask = (column.codes == code) & (code != ABSENT)
    return has_level


def paired_parameter(factor: str, table: RunTable) -> str | None:
    """Return the parameter that changes together with ``factor``, if the runs have both; else None."""
    for pair in zip(_SWITCHES, _CODECS, strict=True):
        if factor in pair and all(name in table.columns for name in pair):
            return next(name for name in pair if name != factor)
    return None


def _short_codec_name(codec: str) -> str:
    """Return the short name of a codec's class: ``Snappy`` for ``org.apache.hadoop.io.compress.SnappyCodec``."""
    return codec.rpartition(".")[2].removesuffix("Codec") or codec
