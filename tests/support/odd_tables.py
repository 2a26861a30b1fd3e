"""Provide tables with partly invalid rows, and the expected runs and reasons.

``tests/data/tables/*.csv`` holds the tables, ``*.expected.jsonl`` what a reader yields: a line for each run or skipped
line. The expected files were written by an earlier, independent reader
that converted one row at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from assay.analysis.statistics import ImportedRows, Item
from assay.model import ImportedRun, SkippedItem
from paths import ROOT

TABLES = ROOT / "tests" / "data" / "tables"


def in_order(items: Iterable[Item]) -> list[ImportedRun | SkippedItem]:
    """Return the runs and skipped lines in the order of the files' names and lines; a reader yields blocks of both."""
    singles: list[ImportedRun | SkippedItem] = []
    for item in items:
        singles += item.runs() if isinstance(item, ImportedRows) else [item]
    return sorted(singles, key=lambda item: (item.where.partition(":")[0], int(item.where.partition(":")[2] or 0)))


def lines_of(items: Iterable[Item]) -> list[str]:
    """Return the items as JSON, in the order of the table's lines."""
    return [json.dumps(_without_empty(msgspec.to_builtins(item)), sort_keys=True) for item in in_order(items)]


def _without_empty(value: Any) -> Any:
    """Leave out empty values, and that a run is of no streaming application, as no table has one."""
    if isinstance(value, dict):
        full = {name: inner for name, inner in value.items() if inner not in (None, "", {}, [])}
        return {name: _without_empty(inner) for name, inner in full.items() if (name, inner) != ("is_streaming", False)}
    return value


def expected_lines(name: str) -> list[str]:
    """Return the expected items of a table."""
    return (TABLES / f"{name}.expected.jsonl").read_text().splitlines()


def table_path(name: str) -> Path:
    """Return the path of a table."""
    return TABLES / f"{name}.csv"
