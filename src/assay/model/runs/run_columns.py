"""Runs as a table with one row per run, and back: the columns of `assay export csv` and `parquet`.

A column is a field of :class:`Run` under its own name, or ``level:NAME``, ``parameter:NAME``, ``option:NAME`` and
``metric:NAME``, as ``assay import table`` names them. Names end in the unit (``duration_s``). Checks, cache
states, phases, warnings and sources are JSON text in one column each. A run's environment, jobs, stages and executors
are not in the table.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from assay.model.plans.factor import LAYOUT_FACTOR
from assay.model.runs.run import Run
from assay.model.runs.run_status import RunStatus

SCALARS: Final[Mapping[str, str]] = {
    "run_id": "VARCHAR",
    "workload": "VARCHAR",
    "layout": "VARCHAR",
    "cluster": "VARCHAR",
    "engine": "VARCHAR",
    "engine_version": "VARCHAR",
    "status": "VARCHAR",
    "origin": "VARCHAR",
    "started_at": "VARCHAR",
    "duration_s": "DOUBLE",
    "data_bytes": "BIGINT",
    "source_id": "VARCHAR",
    "cold": "BOOLEAN",
    "repetition": "INTEGER",
    "plan": "VARCHAR",
    "campaign_id": "VARCHAR",
    "lab_scale": "DOUBLE",
    "cause": "VARCHAR",
    "failure_class": "VARCHAR",
    "block": "INTEGER",
    "position": "INTEGER",
    "attempt": "INTEGER",
}
"""Fields with one value per run, with their SQL types, in the order of the table."""
JSON_FIELDS: Final = ("checks", "caches", "phases", "warnings", "sources")
"""Fields whose cell is JSON."""
PREFIXED_FIELDS: Final[Mapping[str, tuple[str, str]]] = {
    "level": ("levels", "VARCHAR"),
    "parameter": ("parameters", "VARCHAR"),
    "option": ("workload_parameters", "VARCHAR"),
    "metric": ("metrics", "DOUBLE"),
}
"""Prefix of a column to the field of :class:`Run` that holds its value, and the SQL type."""
IDENTIFYING_COLUMNS: Final = frozenset(
    {"run_id", "workload", "campaign_id", "status", "origin", "duration_s", "lab_scale", "cold"}
)
"""Columns that identify an exported table: every version of assay exports them."""
_ABSENT: Final[Mapping[str, Any]] = {
    "cause": None,
    "lab_scale": None,
    "cold": None,
    "data_bytes": None,
    "plan": "",
    "cluster": "",
    "engine": "",
    "engine_version": "",
    "layout": "",
    "started_at": "",
    "repetition": 1,
    "attempt": 1,
}
"""Values for missing cells of fields that have no default in :class:`Run`."""
_RUN_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CAMPAIGN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def columns_of_runs(runs: Sequence[Run]) -> tuple[dict[str, str], list[list[Any]]]:
    """Return the columns of the table with their SQL types, and their values; None if a run has no value."""
    sql_types = {**SCALARS, **dict.fromkeys(JSON_FIELDS, "VARCHAR")}
    columns = [[_cell(getattr(run, name)) for run in runs] for name in SCALARS]
    columns += [[_json(getattr(run, name)) for run in runs] for name in JSON_FIELDS]
    for prefix, (field, sql_type) in PREFIXED_FIELDS.items():
        for name in sorted({name for run in runs for name in getattr(run, field)}):
            if name == LAYOUT_FACTOR and all(run.levels == _levels(run.levels, run.layout) for run in runs):
                continue  # the column `layout` has this level
            sql_types[f"{prefix}:{name}"] = sql_type
            columns.append([getattr(run, field).get(name) for run in runs])
    return sql_types, columns


def _levels(levels: Mapping[str, str], layout: str) -> dict[str, str]:
    """Return the levels of a run, including its layout."""
    return {**levels, LAYOUT_FACTOR: layout} if layout else dict(levels)


def _cell(value: Any) -> Any:
    return str(value) if isinstance(value, str) else value


def _json(value: Any) -> str | None:
    return msgspec.json.encode(value).decode() if value else None


def unknown_columns(names: Sequence[str]) -> Iterator[str]:
    """Yield the columns that :func:`columns_of_runs` does not write."""
    for name in names:
        prefix, colon, _ = name.partition(":")
        if name not in SCALARS and name not in JSON_FIELDS and not (colon and prefix in PREFIXED_FIELDS):
            yield name


def run_of_cells(cells: Mapping[str, Any], row: int) -> Run:
    """Return the run of one row. A cell is text or a value of the column's type; None or "" if empty.

    ``row`` replaces block and position in tables of older versions, which lack them, so that unpaired runs are not
    compared as pairs. Raises ValueError with the reason for a row that is not a run.
    """
    fields: dict[str, Any] = {**_ABSENT, "block": row, "position": row}
    fields |= {field: {} for field, _ in PREFIXED_FIELDS.values()}
    for name, value in cells.items():
        if value is None or value == "":
            continue
        prefix, colon, key = name.partition(":")
        if name in JSON_FIELDS:
            fields[name] = _decoded(name, value)
        elif name in SCALARS:
            fields[name] = value.lower() if name == "cold" and isinstance(value, str) else value
        elif colon and prefix in PREFIXED_FIELDS:
            fields[PREFIXED_FIELDS[prefix][0]][key] = value
    if f"level:{LAYOUT_FACTOR}" not in cells:
        fields["levels"] = _levels(fields["levels"], fields["layout"])
    try:
        run = msgspec.convert(fields, Run, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error
    check_run(run)
    return run


def _decoded(name: str, text: Any) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, TypeError) as error:
        raise ValueError(f"{name} is not JSON: {error}") from error


def check_run(run: Run) -> None:
    """Raise ValueError with the reason for a run that assay can't have exported."""
    if not _RUN_ID.fullmatch(run.run_id):
        raise ValueError(f"run_id is {run.run_id[:40]!r}, which is not a run id")
    if not _CAMPAIGN_ID.fullmatch(run.campaign_id):
        raise ValueError(f"campaign_id is {run.campaign_id[:40]!r}, which is not a campaign id")
    if not run.workload:
        raise ValueError("workload is empty")
    for name, number in {"duration_s": run.duration_s, "lab_scale": run.lab_scale or 0.0, **run.metrics}.items():
        if not math.isfinite(number):
            raise ValueError(f"{name} is not a finite number")
    if run.duration_s < 0 or (run.duration_s == 0 and run.status is RunStatus.VALID):
        raise ValueError(f"duration_s is {run.duration_s:g}; a valid run takes more than 0")
    if run.lab_scale is not None and not 0 < run.lab_scale <= 1:
        raise ValueError(f"lab_scale is {run.lab_scale:g}; it is above 0 and at most 1")
    if run.data_bytes is not None and run.data_bytes < 0:
        raise ValueError(f"data_bytes is {run.data_bytes}; it is at least 0")
    if run.started_at:
        try:
            datetime.fromisoformat(run.started_at)
        except ValueError as error:
            raise ValueError(
                f"started_at is {run.started_at[:40]!r}, which is not an ISO 8601 date and time"
            ) from error
