"""Every SQL statement of the repository, and the columns of its tables (DuckDB's dialect and types).

``runs`` is the index as it was at one moment: the file may be replaced by another process between two statements.
"""

from __future__ import annotations

from collections.abc import Mapping

INDEX_VERSION = 1
"""Rows of the index with another number are read again from their bundles."""

TRACE_COLUMNS: Mapping[str, str] = {
    "t_s": "DOUBLE", "node": "VARCHAR", "subject": "VARCHAR", "metric": "VARCHAR", "counter": "BOOLEAN",
    "value": "DOUBLE",
}  # fmt: skip

TASK_COLUMNS: Mapping[str, str] = {
    "job_id": "VARCHAR", "task_id": "VARCHAR", "attempt_id": "VARCHAR", "kind": "VARCHAR", "node": "VARCHAR",
    "status": "VARCHAR", "start_s": "DOUBLE", "end_s": "DOUBLE", "shuffle_end_s": "DOUBLE", "merge_end_s": "DOUBLE",
    "hdfs_read_bytes": "BIGINT", "hdfs_write_bytes": "BIGINT", "local_read_bytes": "BIGINT",
    "local_write_bytes": "BIGINT", "spilled_records": "BIGINT", "cpu_s": "DOUBLE", "gc_s": "DOUBLE",
}  # fmt: skip

INDEX_COLUMNS: Mapping[str, str] = {
    "index_version": "INTEGER", "run_id": "VARCHAR", "campaign_id": "VARCHAR", "plan": "VARCHAR", "origin": "VARCHAR",
    "status": "VARCHAR", "workload": "VARCHAR", "layout": "VARCHAR", "started_at": "VARCHAR", "duration_s": "DOUBLE",
    "cold": "BOOLEAN", "run_json": "VARCHAR", "environment_json": "VARCHAR",
}  # fmt: skip
"""``run_json`` is the whole run but its environment, which has a column of its own because it is by far the largest."""

EMPTY_INDEX = "CREATE OR REPLACE TEMP TABLE runs (" + ", ".join(f"{n} {k}" for n, k in INDEX_COLUMNS.items()) + ")"
INDEXED_IDS = "SELECT run_id FROM runs"
DROP_VANISHED = "DELETE FROM runs WHERE NOT list_contains(?::VARCHAR[], run_id)"
ALL_SORTED = "SELECT * FROM runs ORDER BY started_at, run_id"

NEWEST_RUNS = """
SELECT run_json, environment_json
FROM runs
WHERE ($workload IS NULL OR workload = $workload)
  AND ($layout IS NULL OR layout = $layout)
  AND ($status IS NULL OR status = $status)
  AND ($plan IS NULL OR plan = $plan)
  AND ($campaign_id IS NULL OR campaign_id = $campaign_id)
ORDER BY started_at DESC, run_id DESC
LIMIT $limit
"""

TRACE_NODES = "SELECT DISTINCT node FROM trace ORDER BY node"
TRACE_OF_NODE = "SELECT * FROM trace WHERE node = ?"


def literal(columns: Mapping[str, str]) -> str:
    """Return a query whose parameters are the columns as lists and whose rows are theirs side by side."""
    return "SELECT " + ", ".join(f'unnest(?::{kind}[]) AS "{name}"' for name, kind in columns.items())


def selected(columns: Mapping[str, str]) -> str:
    """Return a query for the columns of one Parquet file, in the order of its rows."""
    return "SELECT " + ", ".join(f'"{name}"' for name in columns) + " FROM read_parquet(?)"  # noqa: S608 - constants


def index_snapshot(*, environment: bool) -> str:
    """Return the statement that reads the index into ``runs``, with or without its one large column."""
    kinds = INDEX_COLUMNS.items()
    sources = [f'"{name}"' if environment or name != "environment_json" else "NULL" for name in INDEX_COLUMNS]
    columns = ", ".join(f'{source}::{kind} AS "{name}"' for source, (name, kind) in zip(sources, kinds, strict=True))
    return (
        f"CREATE OR REPLACE TEMP TABLE runs AS SELECT {columns} "  # noqa: S608 - constants
        "FROM read_parquet(?) WHERE index_version = ?"
    )


def index_insert() -> str:
    """Return the statement that adds rows to ``runs``, its parameters the index's columns as lists."""
    return f"INSERT INTO runs {literal(INDEX_COLUMNS)}"
