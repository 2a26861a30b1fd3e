"""Convert the result of a column reader to a form comparable with the row reader."""

from __future__ import annotations

import json

from assay.analysis.statistics.runs.imported_rows import ImportedRows, Item
from assay.analysis.statistics.runs.run_table import RunTable
from assay.model import ImportedRun, SkippedItem


def runs_of(items: list[Item]) -> list[ImportedRun]:
    runs: list[ImportedRun] = []
    for item in items:
        runs += [item] if isinstance(item, ImportedRun) else item.runs() if isinstance(item, ImportedRows) else []
    return runs


def reasons_of(items: list[Item]) -> list[SkippedItem]:
    return [item for item in items if isinstance(item, SkippedItem)]


def same(a: RunTable, b: RunTable) -> bool:
    assert list(a.columns) == list(b.columns)
    assert {name: column.levels for name, column in a.columns.items()} == {n: c.levels for n, c in b.columns.items()}
    codes = all((a.columns[name].codes == b.columns[name].codes).all() for name in a.columns)
    return codes and json.dumps({n: v.tolist() for n, v in a.values.items()}, sort_keys=True) == json.dumps(
        {n: v.tolist() for n, v in b.values.items()}, sort_keys=True
    )
