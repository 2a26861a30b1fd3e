"""Every SQL statement of the repository, and the columns of its tables (DuckDB's dialect and types).

``runs`` is the index: a view on its Parquet file, or a table where that file can't be written.
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

INDEXED_IDS = "SELECT run_id FROM read_parquet(?) WHERE index_version = ?"

KEPT_ROWS = """
CREATE TEMP TABLE kept AS
SELECT * FROM read_parquet($path)
WHERE index_version = $version AND list_contains($run_ids::VARCHAR[], run_id)
"""

MERGED_ROWS = "CREATE TEMP TABLE runs AS SELECT * FROM (FROM kept UNION ALL FROM added) ORDER BY started_at, run_id"

NEWEST_RUNS = """
SELECT run_json, CASE WHEN $environment THEN environment_json END
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


def index_view(path: str) -> str:
    """Return the statement that makes ``runs`` a view on the index at ``path``: views take no parameters."""
    quoted = path.replace("'", "''")
    return f"CREATE TEMP VIEW runs AS SELECT * FROM read_parquet('{quoted}')"  # noqa: S608 - quoted above
