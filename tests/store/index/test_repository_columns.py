"""Test Parquet columns: absent values, large integers, empty tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.store.index.tables import read_table, write_table

KINDS = {"text": "VARCHAR", "number": "DOUBLE", "whole": "BIGINT", "truth": "BOOLEAN"}


@pytest.mark.parametrize(
    "columns",
    [
        [["a", None, "c"], [1.5, None, float("inf")], [2**62 + 1, None, -3], [True, None, False]],
        [[None, None], [None, None], [None, None], [None, None]],
        [["ä", "x" * 1000], [0.0, -1e-300], [0, 1], [False, True]],
        [[], [], [], []],
    ],
)
def test_written_values_are_read_back(tmp_path: Path, columns: list[list[Any]]) -> None:
    write_table(tmp_path / "t.parquet", KINDS, columns)
    assert read_table([tmp_path / "t.parquet"], KINDS) == columns


@pytest.mark.slow
def test_rows_keep_their_order(tmp_path: Path) -> None:
    count = 300_000
    columns: list[list[Any]] = [
        [str(n) for n in range(count)],
        [float(n) for n in range(count)],
        [*range(count)],
        [True] * count,
    ]
    write_table(tmp_path / "t.parquet", KINDS, columns)
    assert read_table([tmp_path / "t.parquet"], KINDS)[2] == columns[2]
