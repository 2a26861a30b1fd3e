"""Define every SQL statement of the repository, and the columns of its tables (DuckDB's dialect and types)."""

from collections.abc import Collection, Iterable, Mapping, Sequence

INDEX_VERSION = 7
"""Indexes of other versions are ignored."""

TRACE_COLUMNS: Mapping[str, str] = {
    "t_s": "DOUBLE",
    "node": "VARCHAR",
    "subject": "VARCHAR",
    "metric": "VARCHAR",
    "counter": "BOOLEAN",
    "value": "DOUBLE",
}

TASK_COLUMNS: Mapping[str, str] = {
    "job_id": "VARCHAR",
    "task_id": "VARCHAR",
    "attempt_id": "VARCHAR",
    "kind": "VARCHAR",
    "node": "VARCHAR",
    "status": "VARCHAR",
    "start_s": "DOUBLE",
    "end_s": "DOUBLE",
    "shuffle_end_s": "DOUBLE",
    "merge_end_s": "DOUBLE",
    "hdfs_read_bytes": "BIGINT",
    "hdfs_write_bytes": "BIGINT",
    "local_read_bytes": "BIGINT",
    "local_write_bytes": "BIGINT",
    "spilled_records": "BIGINT",
    "cpu_s": "DOUBLE",
    "gc_s": "DOUBLE",
}

RUN_TEXTS = (
    "run_id",
    "bundle",
    "campaign_id",
    "plan",
    "origin",
    "status",
    "workload",
    "layout",
    "started_at",
    "run_json",
    "environment_json",
)
"""The text columns of a file of runs. ``run_json`` is the run without its environment, which is by far its largest
part."""

READ = "read_parquet(?, hive_partitioning = false, union_by_name = true)"
READ_NUMBERED = "read_parquet(?, hive_partitioning = false, file_row_number = true)"
"""Without ``hive_partitioning = false``, a parent folder named ``NAME=VALUE`` would become a column."""

INDEX_PARTS = "parts"
"""Part of an index's name. An index of older versions, a single file of rows, has another name."""
PREVIOUS_FILES_OF = "SELECT decode(value) FROM parquet_kv_metadata(?) WHERE decode(key) = 'before'"
CODING_OF = "SELECT decode(value) FROM parquet_kv_metadata(?) WHERE decode(key) = 'coding'"
BUNDLES_OF = f"SELECT DISTINCT bundle FROM {READ}"
RUNS_AT = f"""
SELECT file_row_number, bundle, run_json, environment_json
FROM {READ_NUMBERED} WHERE list_contains(?, file_row_number)
"""
IDS_AT = f"SELECT file_row_number, run_id FROM {READ_NUMBERED} WHERE list_contains(?, file_row_number)"
ENVIRONMENTS_AT = (
    f"SELECT file_row_number, environment_json FROM {READ_NUMBERED} WHERE list_contains(?, file_row_number)"
)
NUMBERED_IDS = f"SELECT file_row_number, run_id FROM {READ_NUMBERED}"
ROWS_OF = f"SELECT file_row_number FROM {READ_NUMBERED} WHERE run_id IN (SELECT unnest(?::VARCHAR[]))"
KNOWN_IDS = f"SELECT run_id FROM {READ} WHERE run_id IN (SELECT run_id FROM asked_ids)"
IDS_THAT_BEGIN = f"SELECT run_id FROM {READ} WHERE starts_with(run_id, ?) ORDER BY run_id LIMIT ?"
IDS_OF_SOURCE_ID = f"SELECT run_id FROM {READ} WHERE contains(run_json, ?) ORDER BY run_id LIMIT ?"
"""The parameter is the JSON of the key and its value, which no text in the run can hold unescaped."""
IDS_IN = f"SELECT run_id FROM {READ}"
WHOLE_RUNS = f"SELECT run_json, environment_json FROM {READ}"
ONE_RUN = f"SELECT bundle, run_json, environment_json FROM {READ} WHERE run_id = ?"

NEWEST_RUNS = """
SELECT run_json, environment_json
FROM read_parquet($index, hive_partitioning = false, union_by_name = true)
WHERE ($workload IS NULL OR workload IN ($workload, $older_workload))
  AND ($layout IS NULL OR layout = $layout)
  AND ($status IS NULL OR status = $status)
  AND ($plan IS NULL OR plan = $plan)
  AND ($campaign_id IS NULL OR campaign_id = $campaign_id)
ORDER BY started_at DESC, run_id DESC
LIMIT $limit
"""
NEWEST_RUNS_WITHOUT_ENVIRONMENT = NEWEST_RUNS.replace("run_json, environment_json", "run_json, NULL")

NO_ROWS = f"SELECT {', '.join(f'NULL::VARCHAR AS {name}' for name in RUN_TEXTS)} WHERE false"

ANY_ORDER = "SET SESSION preserve_insertion_order = false"
ROW_GROUP = 16_384
"""Number of rows that each writing thread buffers. It is small because a run's JSON is long."""
ROW_GROUP_LOOKED_UP = 2_048
"""Rows per group of an index. It is smaller, because DuckDB decodes all rows of a group to look up a single run."""


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def quoted(text: str) -> str:
    """Quote a text for SQL."""
    return "'" + text.replace("'", "''") + "'"


def parquet(path: str) -> str:
    """Return SQL for the table in one Parquet file."""
    return f"read_parquet({quoted(path)}, hive_partitioning = false)"


def copy_with_coding(query: str, path: str, coding: str, previous_files: str, row_group: int) -> str:
    """Return the statement that writes a query to a Parquet file with a coding and the previous files as metadata."""
    metadata = f"{{coding: {quoted(coding)}, before: {quoted(previous_files)}}}"
    options = f"FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {row_group}, KV_METADATA {metadata}"
    return f"COPY ({query}) TO {quoted(path)} ({options})"


def recoded_column(name: str, mapping: Sequence[int], target: str) -> str:
    """Return a column of codes under the name ``target``, with each code replaced by its entry in ``mapping``."""
    if list(mapping) == list(range(len(mapping))):
        return f'{name}::INTEGER AS "{target}"'
    return f'coalesce(list_extract({list(mapping)}::INTEGER[], {name} + 1), -1)::INTEGER AS "{target}"'


def recoded_rows(columns: Sequence[str], source: str, bundle: str | None) -> str:
    """Return the query for the rows of ``source``, with ``columns`` in place of its codes and values."""
    texts = [f"{quoted(bundle)} AS bundle" if bundle and name == "bundle" else name for name in RUN_TEXTS]
    return f"SELECT {', '.join([*texts, *columns])} FROM {source}"


def rows_in(path: str) -> str:
    """Return the query for all rows and columns of a file of runs."""
    return f"SELECT * FROM {parquet(path)}"


def count_of(part: str) -> str:
    """Return the query for the number of rows of a query."""
    return f"SELECT count(*) FROM ({part})"


KEEP_METADATA = "SET SESSION parquet_metadata_cache = true"
"""Cache the metadata at the end of Parquet files for this connection, so that lookups do not read it again."""
COLUMNS_OF = "SELECT name FROM parquet_schema(?)"
COUNT_OF = "SELECT num_rows FROM parquet_file_metadata(?)"


def table_of_codes(columns: Sequence[int], values: Sequence[int]) -> str:
    """Return the query for the code columns and value columns with these numbers."""
    expressions = [
        *(f"coalesce(c{number}, -1)::INTEGER AS c{number}" for number in columns),
        *(f"coalesce(v{number}, 'nan'::DOUBLE) AS v{number}" for number in values),
        "file_row_number",
    ]
    return f"SELECT {', '.join(expressions)} FROM {READ_NUMBERED}"


def all_rows(parts: Sequence[str], *, without_repeated: bool) -> str:
    """Return the query for the rows of all ``parts``, with or without the rows of the table ``repeated``."""
    union = " UNION ALL BY NAME ".join(f"({part})" for part in parts)
    if not without_repeated:
        return union
    return f"SELECT * FROM ({union}) WHERE (run_id, bundle) NOT IN (SELECT run_id, bundle FROM repeated)"


def repeated_runs(parts: Sequence[str]) -> str:
    """Return the statement that creates ``repeated``: for each run in several bundles, all of these bundles except one.

    The exception is the bundle of the run itself, if it exists: an import of exported figures lacks tasks and traces.
    """
    union = " UNION ALL ".join(f"SELECT run_id, bundle FROM ({part})" for part in parts)
    first = "first_value(bundle) OVER (PARTITION BY run_id ORDER BY bundle <> run_id, bundle)"
    return f"CREATE OR REPLACE TEMP TABLE repeated AS SELECT run_id, bundle FROM ({union}) QUALIFY bundle <> {first}"


def pieces(name: str) -> str:
    """Return the statement that creates a table of texts, numbered from 0; the texts are the statement's parameter."""
    return f"CREATE TEMP TABLE {name} AS SELECT unnest($1::VARCHAR[]) AS piece, unnest(range(len($1))) AS number"


def join_pieces(name: str, column: str) -> str:
    """Return the join of a row with the piece that its code in ``column`` names."""
    return f"JOIN {name} ON {name}.number = rows.{column}"


def rows_with_pieces(columns: Sequence[str], name: str, joins: Sequence[str]) -> str:
    """Return the query for ``columns`` of the table ``name``, under the alias ``rows``, and of its pieces."""
    return f"SELECT {', '.join(columns)} FROM {name} AS rows {' '.join(joins)}"


def duplicated_runs(files: Sequence[str], parts: Sequence[str]) -> str:
    """Return a query with one truth value: whether a run of ``parts`` is in one of the files, or in several parts."""
    new_ids = " UNION ALL ".join(f"SELECT run_id FROM ({part})" for part in parts)
    indexed_ids = " UNION ALL ".join(f"SELECT run_id FROM {parquet(path)}" for path in files)
    return (
        f"WITH fresh AS MATERIALIZED ({new_ids}) SELECT (SELECT count(*) <> count(DISTINCT run_id) FROM fresh) "
        f"OR EXISTS (SELECT 1 FROM ({indexed_ids}) SEMI JOIN fresh USING (run_id))"
    )


TRACE_NODES = "SELECT DISTINCT node FROM trace ORDER BY node"
TRACE_OF_NODE = "SELECT * FROM trace WHERE node = ?"


def value_name(column: int) -> str:
    """Return the name of the array with a column's values."""
    return f"value{column}"


def null_name(column: int) -> str:
    """Return the name of the array that marks a column's NULL values."""
    return f"null{column}"


def of_arrays(columns: Mapping[str, str], nullable: Collection[int]) -> str:
    """Return the beginning of a query for ``columns`` of a table of arrays.

    ``nullable`` are the numbers of columns with NULL values; an array marks the rows in which they are NULL.
    """
    texts = []
    for number, (name, kind) in enumerate(columns.items()):
        value = value_name(number)
        if number in nullable:
            value = f"CASE WHEN {null_name(number)} THEN NULL ELSE {value} END"
        texts.append(f"CAST({value} AS {kind}) AS {_name(name)}")
    return f"SELECT {', '.join(texts)}"


def select_columns(columns: Mapping[str, str]) -> str:
    """Return a query for the columns of one Parquet file, in the order of its rows."""
    return f"SELECT {', '.join(map(_name, columns))} FROM {READ}"


def every_value(columns: Mapping[str, str]) -> str:
    """Return a query that reads every value of the columns of one Parquet file. Its result is not used."""
    return f"SELECT count(*) FILTER (hash({', '.join(map(_name, columns))}) = 0) FROM {READ}"


def rows_of_run(names: Sequence[str]) -> str:
    """Return the query for one run's rows of an import's tasks or traces, in their order."""
    return f"SELECT {', '.join(names)} FROM {READ} WHERE run_id = ?"


NEW_BUNDLES = "CREATE OR REPLACE TEMP TABLE new_bundles AS SELECT unnest(?::VARCHAR[]) AS bundle"
NEW_WORKLOADS = "CREATE OR REPLACE TEMP TABLE new_workloads AS SELECT DISTINCT run_id, workload FROM new_runs"
ALL_NEW_RUNS = "SELECT * FROM new_runs"


def levels_of(columns: int) -> str:
    """Return the statement that creates ``levels``: one row, with a list of texts for each column of codes."""
    lists = ", ".join(f"?::VARCHAR[] AS l{number}" for number in range(columns))
    return f"CREATE OR REPLACE TEMP TABLE levels AS SELECT {lists or '1 AS nothing'}"


def new_runs(columns: Sequence[str], values: Mapping[str, int]) -> str:
    """Return the statement that creates ``new_runs``: the runs of ``new_bundles``, with codes as texts in a map."""
    facts = _map((name, f"CASE WHEN c{n} >= 0 THEN list_extract(l{n}, c{n} + 1) END") for n, name in enumerate(columns))
    figures = _map((name, f"CASE WHEN NOT isnan(v{n}) THEN v{n} END") for name, n in values.items())
    texts = ", ".join(name for name in RUN_TEXTS if name not in ("run_json", "environment_json"))
    numbered_rows = f"SELECT *, row_number() OVER () - 1 AS place FROM {READ}"
    return (
        f"CREATE OR REPLACE TEMP TABLE new_runs AS SELECT {texts}, place, {facts} AS facts, {figures} AS figures, "
        f"run_json FROM ({numbered_rows}) CROSS JOIN levels WHERE bundle IN (SELECT bundle FROM new_bundles)"
    )


def _map(entries: Iterable[tuple[str, str]]) -> str:
    entry_list = ", ".join(f"{{'k': {quoted(name)}, 'v': {value}}}" for name, value in entries)
    return f"map_from_entries(list_filter([{entry_list}], lambda entry: entry.v IS NOT NULL))"


def new_rows(columns: Mapping[str, str], of_runs: Sequence[str], of_imports: Sequence[str]) -> str | None:
    """Return the query for tasks or traces in these files, with run and workload; None if there is no file."""
    names = ", ".join(map(_name, columns))
    parts = []
    if of_runs:
        run_id = "regexp_extract(filename, '/bundles/([^/]+)/', 1)"
        source = f"read_parquet({_list_of(of_runs)}, hive_partitioning = false, filename = true)"
        parts.append(f"SELECT {run_id} AS run_id, {names} FROM {source}")
    if of_imports:
        parts.append(f"SELECT run_id, {names} FROM read_parquet({_list_of(of_imports)}, hive_partitioning = false)")
    union = " UNION ALL ".join(parts)
    return f"SELECT * FROM ({union}) JOIN new_workloads USING (run_id)" if parts else None


def _list_of(paths: Sequence[str]) -> str:
    return f"[{', '.join(map(quoted, paths))}]"


def copy_by_workload(query: str, folder: str, prefix: str) -> str:
    """Return the statement that writes a query's rows into one folder per workload, in files with this prefix."""
    options = f"FORMAT parquet, COMPRESSION zstd, PARTITION_BY (workload), FILENAME_PATTERN '{prefix}-{{i}}'"
    return f"COPY ({query}) TO {quoted(folder)} ({options})"


def selected_runs(columns: Sequence[str], figures: int) -> str:
    """Return the query for the runs that Spark selected, as codes.

    Its parameters are the levels of each column and the files.
    """
    codes = [
        f"(coalesce(list_position(?::VARCHAR[], facts[{quoted(name)}]), 0) - 1)::INTEGER AS c{number}"
        for number, name in enumerate(columns)
    ]
    values = [f"coalesce(figure_{number}, 'nan'::DOUBLE) AS v{number}" for number in range(figures)]
    return f"SELECT {', '.join([*codes, *values, 'place'])} FROM {READ} ORDER BY place"
