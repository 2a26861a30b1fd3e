"""Encode the runs for the run explorer of a site: codes by column, with the texts that the page shows.

In: the table of runs. Out: the script ``data/runs.js``, because browsers read no JSON from files. A run takes about a
hundred bytes.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from assay.analysis.comparison.factors.device_classes import DEVICE_CLASS
from assay.analysis.statistics import ABSENT, RunTable
from assay.foundation.units import finite
from assay.interfaces.charts.drawing.identity import SHAPE_PATHS, shapes_of
from assay.interfaces.web.state.answering import palette
from assay.model import LAYOUT_FACTOR
from assay.questions.runs.conditions import with_columns
from assay.questions.runs.runs import COLUMNS_SHOWN, RunPageRequest, run_page
from assay.store import Repository
from assay.text import column_title, layout_text, level_text

_FILTERS = ("workload", "cluster", DEVICE_CLASS, LAYOUT_FACTOR, "origin")
"""Columns whose filters are first."""
_LISTED_COLUMNS = (*COLUMNS_SHOWN, "status", "origin", "lab_scale")
"""Columns that the list shows, with or without a filter."""


def explorer_data(
    repository: Repository, table: RunTable, private_columns: Sequence[str], linked_ids: frozenset[str]
) -> bytes:
    """Return the script with the runs. ``private_columns``: omitted columns. ``linked_ids``: ids of runs with pages."""
    table = with_columns((DEVICE_CLASS,), table)
    page = run_page(repository, table, RunPageRequest(limit=1, columns=()))
    order = {facet.column: [level.level for level in facet.levels] for facet in page.facets}
    first_columns = [name for name in (*_FILTERS, *_LISTED_COLUMNS) if name in table.columns]
    colours = palette(table, LAYOUT_FACTOR)
    ids = repository.ids_at(table, range(len(table)))
    data = {
        "ids": ids,
        "linked": "all" if linked_ids.issuperset(ids) else sorted(linked_ids),
        "started_unix_s": [_integer(value) for value in table.values["started_unix_s"].tolist()],
        "duration_s": [finite(value) for value in table.values["duration_s"].tolist()],
        "columns": [
            _column(table, name, order.get(name, []), colours if name == LAYOUT_FACTOR else {})
            for name in dict.fromkeys([*first_columns, *order])
            if name not in private_columns
        ],
        "shown": [name for name in COLUMNS_SHOWN if name in table.columns and name not in private_columns],
    }
    return b"globalThis.assayRuns = " + json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode() + b";\n"


def _column(table: RunTable, name: str, order: Sequence[str], colours: Mapping[str, str]) -> dict[str, Any]:
    """Return a column: title, levels with texts and shapes, the order of its filter, and a code for each run."""
    column = table.columns[name]
    shapes = shapes_of(colours) if colours else {}
    return {
        "name": name,
        "title": column_title(name),
        "levels": list(column.levels),
        "texts": [layout_text(level) if name == LAYOUT_FACTOR else level_text(name, level) for level in column.levels],
        "filter": [column.levels.index(level) for level in order],
        "colours": [colours.get(level, "") for level in column.levels] if colours else [],
        "paths": [SHAPE_PATHS[shapes[level]] for level in column.levels] if colours else [],
        "codes": [-1 if code == ABSENT else code for code in column.codes.tolist()],
    }


def _integer(value: float) -> int | None:
    return round(value) if math.isfinite(value) else None
