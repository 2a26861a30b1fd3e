"""Read and write files of many runs: one Parquet row per run, with levels as integer codes.

::

    run_id bundle campaign_id plan origin status workload layout started_at   texts for filters and lists
    c0 c1 c2 …          codes of the columns of a :class:`RunTable`; absent: -1 or NULL
    v0 v1 v2 …          values: duration_s, started_unix_s and metrics; absent: NULL or NaN
    run_json environment_json    the run, and separately its environment, which is by far its largest part

The meaning of codes and values is JSON in the file's metadata (``coding``). The index and imports have this format.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from assay.analysis.statistics import ABSENT, BASE_VALUES, Column, RunTable, started_unix_s, texts_of_run
from assay.foundation.errors import RepositoryError
from assay.model import Run
from assay.store.bundles.bundle import run_of_json
from assay.store.index import queries
from assay.workloads.catalogue import known_name

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(slots=True)
class Coding:
    """The meaning of a file's codes and values. It grows as runs are added. A code never changes its meaning."""

    columns: dict[str, dict[str, int]] = field(default_factory=dict)
    """Column name to the codes of its levels; the first name belongs to ``c0``."""
    values: dict[str, int] = field(default_factory=dict)
    """Name of a quantity to the number of its column."""

    def encoded(self) -> str:
        """Return the coding as JSON."""
        columns = {name: list(levels) for name, levels in self.columns.items()}
        return msgspec.json.encode(_CodingJson(columns, list(self.values), queries.INDEX_VERSION)).decode()

    @staticmethod
    def decoded(text: str | bytes) -> Coding:
        """Decode the JSON of :meth:`encoded`. Raises :class:`RepositoryError` for other texts.

        Raises :class:`OtherVersionError` for another version: the runs are readable, but the codes have another
        meaning.
        """
        try:
            stored = msgspec.json.decode(text, type=_CodingJson)
        except msgspec.MsgspecError as error:
            raise RepositoryError(f"the codes are damaged: {error}") from error
        if stored.version != queries.INDEX_VERSION:
            raise OtherVersionError(f"the codes are of version {stored.version}, not {queries.INDEX_VERSION}")
        columns = {name: {level: code for code, level in enumerate(ls)} for name, ls in stored.columns.items()}
        return Coding(columns, {name: number for number, name in enumerate(stored.values)})

    def add_levels_of(self, other: Coding) -> None:
        """Add the codes that only ``other`` has."""
        for name, levels in other.columns.items():
            codes = self.columns.setdefault(name, {})
            for level in levels:
                codes.setdefault(level, len(codes))
        for name in other.values:
            self.values.setdefault(name, len(self.values))


class OtherVersionError(RepositoryError):
    """The file of runs was written by another version of assay."""


class _CodingJson(msgspec.Struct):
    columns: dict[str, list[str]]
    values: list[str]
    version: int = 1


_RUN_FIELDS = frozenset({"run_id", "block", "position", "started_at", "duration_s", "metrics", "source_id"})
"""Fields with a separate value in each run."""
_CONTAINERS = ("workload_parameters", "levels", "parameters", "environment")
_FIELDS = tuple(field.name for field in fields(Run))
_JSON_ONLY_FIELDS = frozenset({"phases", "checks", "caches", "jobs", "stages", "executors", "sources", "warnings"})
"""Fields that only the column ``run_json`` has."""
_shared_objects_of = attrgetter(*_CONTAINERS)
_plain_fields_of = attrgetter(
    *(name for name in _FIELDS if name not in {*_RUN_FIELDS, *_CONTAINERS, *_JSON_ONLY_FIELDS})
)
_RUN_TEXTS = ("run_id", "bundle", "started_at", "run_json")
_GROUP_TEXTS = ("campaign_id", "plan", "origin", "status", "workload", "layout", "environment_json")


def rows_of(runs: Sequence[Run], bundle: str | None, coding: Coding) -> dict[str, Any]:
    """Return the columns of ``runs`` as arrays, and add their codes to ``coding``.

    If ``bundle`` is None, each run belongs to the bundle with its id. An object that runs share, such as their
    environment, is encoded once.
    """
    group_numbers: dict[tuple[Any, ...], int] = {}
    groups: list[_RunGroup] = []
    environments: dict[int, str] = {}
    group_of_row = np.zeros(len(runs), dtype=np.int64)
    values: dict[str, Any] = {}
    texts: list[list[str]] = [[], [], [], []]
    ids, bundles, starts, run_texts = texts
    duration_s, started_s = np.empty(len(runs)), np.empty(len(runs))
    for row, run in enumerate(runs):
        key = (_plain_fields_of(run), *map(id, _shared_objects_of(run)))
        group_number = group_numbers.get(key)
        if group_number is None:
            group_number = group_numbers[key] = len(groups)
            groups.append(_RunGroup.of(run, coding, environments))
        group_of_row[row] = group_number
        ids.append(run.run_id)
        bundles.append(bundle or run.run_id)
        starts.append(run.started_at)
        encoded_run = msgspec.json.encode(run).decode()
        run_texts.append(encoded_run.replace(f'"environment":{groups[group_number].texts[-1]}', '"environment":{}', 1))
        duration_s[row], started_s[row] = run.duration_s, started_unix_s(run)
        for name, value in run.metrics.items():
            if name not in values:
                values[name] = np.full(len(runs), np.nan)
            values[name][row] = value
    values |= {"duration_s": duration_s, "started_unix_s": started_s}
    for name in values:
        coding.values.setdefault(name, len(coding.values))
    columns = {name: np.asarray(column, dtype=object) for name, column in zip(_RUN_TEXTS, texts, strict=True)}
    for index, name in enumerate(_GROUP_TEXTS):
        columns[name] = np.array([group.texts[index] for group in groups], dtype=object)[group_of_row]
    names = dict.fromkeys(name for group in groups for name in group.codes)
    codes = {name: np.full(len(groups), ABSENT, dtype=np.int32) for name in names}
    for number, group in enumerate(groups):
        for name, code in group.codes.items():
            codes[name][number] = code
    numbers = {name: number for number, name in enumerate(coding.columns)}
    return {
        **{name: columns[name] for name in queries.RUN_TEXTS},
        **{f"c{numbers[name]}": column[group_of_row] for name, column in codes.items()},
        **{f"v{coding.values[name]}": values[name] for name in values},
    }


@dataclass(frozen=True, slots=True)
class _RunGroup:
    """Codes and texts of runs that differ only in :data:`_RUN_FIELDS`."""

    codes: dict[str, int]
    texts: tuple[str, ...]

    @staticmethod
    def of(run: Run, coding: Coding, environments: dict[int, str]) -> _RunGroup:
        """Return a run's group; ``environments``: cache from the id() of an environment to its JSON."""
        codes = {}
        for name, level in texts_of_run(run).items():
            levels = coding.columns.setdefault(name, {})
            codes[name] = levels.setdefault(level, len(levels))
        environment_id = id(run.environment)
        if environment_id not in environments:
            environments[environment_id] = msgspec.json.encode(run.environment).decode()
        names = (run.campaign_id, run.plan, str(run.origin), str(run.status), run.workload, run.layout)
        return _RunGroup(codes, (*names, environments[environment_id]))


def decode_run(
    run_json: str, environment_json: str | None, environments: dict[str, dict[str, Any]] | None = None
) -> Run:
    """Return a run from its row.

    ``environments`` caches decoded environments, so that runs on equal hosts share one object. Raises
    :class:`RepositoryError` for damaged JSON.
    """
    try:
        run = run_of_json(run_json)
    except msgspec.MsgspecError as error:
        raise _damaged(error) from error
    if environment_json is None:
        return run
    environment_by_json = {} if environments is None else environments
    if environment_json not in environment_by_json:
        environment_by_json[environment_json] = decode_environment(environment_json)
    return replace(run, environment=environment_by_json[environment_json])


def decode_environment(text: str) -> dict[str, Any]:
    """Return a run's environment. Raises :class:`RepositoryError` for damaged JSON."""
    try:
        environment: dict[str, Any] = msgspec.json.decode(text, type=dict[str, Any])
        return environment
    except msgspec.MsgspecError as error:
        raise _damaged(error) from error


def _damaged(error: Exception) -> RepositoryError:
    return RepositoryError(f"the index is damaged: {error}", hint="delete the folder index: it is rebuilt")


def read_coding(database: DuckDBPyConnection, path: Path) -> Coding:
    """Return a file's coding. Raises :class:`RepositoryError` or DuckDB's error if the file has none."""
    rows = database.execute(queries.CODING_OF, [str(path.absolute())]).fetchall()
    if len(rows) != 1:
        raise RepositoryError("this is not a file of runs", where=str(path))
    return Coding.decoded(rows[0][0])


def write_runs(
    database: DuckDBPyConnection,
    path: Path,
    query: str,
    coding: Coding,
    previous_files: Sequence[tuple[str, int]] = (),
    row_group: int = queries.ROW_GROUP,
) -> None:
    """Write the rows of ``query`` as a file of runs, in any order, so that DuckDB can stream them.

    ``previous_files``: the files before it with the same codes, each with its number of rows.
    """
    database.execute(queries.ANY_ORDER)
    previous_files_json = msgspec.json.encode(previous_files).decode()
    database.execute(
        queries.copy_with_coding(query, str(path.absolute()), coding.encoded(), previous_files_json, row_group)
    )


def read_previous_files(database: DuckDBPyConnection, path: Path) -> list[tuple[str, int]]:
    """Return the files that precede ``path``, each with its number of rows; empty for files of older versions."""
    rows = database.execute(queries.PREVIOUS_FILES_OF, [str(path.absolute())]).fetchall()
    try:
        return msgspec.json.decode(rows[0][0], type=list[tuple[str, int]]) if rows else []
    except msgspec.MsgspecError as error:
        raise RepositoryError(f"the index is damaged: {error}", where=str(path)) from error


def query_with_codes_of(source: str, coding: Coding, target_coding: Coding, *, bundle: str | None = None) -> str:
    """Return a query over ``source`` (SQL for a table) with the codes of ``target_coding``.

    ``target_coding`` must contain all levels of ``coding``.
    """
    numbers = {name: number for number, name in enumerate(target_coding.columns)}
    columns = []
    for position, (name, levels) in enumerate(coding.columns.items()):
        target_codes = target_coding.columns[name]
        mapping = [target_codes[level] for level in levels]
        columns.append(queries.recoded_column(f"c{position}", mapping, f"c{numbers[name]}"))
    columns += [f'v{number}::DOUBLE AS "v{target_coding.values[name]}"' for name, number in coding.values.items()]
    return queries.recoded_rows(columns, source, bundle)


def load_table(database: DuckDBPyConnection, files: Sequence[Path], coding: Coding, metrics: Sequence[str]) -> RunTable:
    """Return all runs of files with one coding as a table, oldest first, with the named metrics.

    Rows are numbered through all files. Runs with an unknown start come last.
    """
    parts = [_load(database, path, coding, metrics) for path in files]
    starts = np.cumsum([0, *(len(part[0]) for part in parts)]).tolist()
    rows = np.concatenate([part[0] + start for part, start in zip(parts, starts, strict=False)])
    columns = {
        name: Column(np.concatenate([codes[number] for _, codes, _ in parts]), tuple(levels))
        for number, (name, levels) in enumerate(coding.columns.items())
    }
    if (workload := columns.get("workload")) is not None:
        columns["workload"] = _with_current_names(workload)
    values = {
        name: np.concatenate([file_values[name] for _, _, file_values in parts])
        for name in dict.fromkeys((*BASE_VALUES, *metrics))
    }
    table = RunTable(rows, columns, values, files[-1].name).with_sessions()
    started_s = values["started_unix_s"]
    is_ordered = bool(np.all(started_s[:-1] <= started_s[1:]))  # false where one is NaN
    return table if is_ordered else table.subset(np.argsort(started_s, kind="stable"))


def _with_current_names(workload: Column) -> Column:
    """Return the column with one code per workload, because older imports used other names."""
    codes: dict[str, int] = {}
    mapping = [codes.setdefault(known_name(level), len(codes)) for level in workload.levels]
    if len(codes) == len(mapping):
        return Column(workload.codes, tuple(codes))
    return Column(np.array([*mapping, ABSENT], dtype=np.int32)[workload.codes], tuple(codes))


def _load(
    database: DuckDBPyConnection, path: Path, coding: Coding, metrics: Sequence[str]
) -> tuple[Any, list[Any], dict[str, Any]]:
    """Return a file's row numbers, its codes of all columns, and its values; ABSENT or NaN for a missing column."""
    names = {name for (name,) in database.execute(queries.COLUMNS_OF, [str(path.absolute())]).fetchall()}
    numbers = [number for number in range(len(coding.columns)) if f"c{number}" in names]
    number_by_value = {name: coding.values.get(name, -1) for name in dict.fromkeys((*BASE_VALUES, *metrics))}
    values = [number for number in number_by_value.values() if f"v{number}" in names]
    query = queries.table_of_codes(numbers, values)
    arrays: dict[str, Any] = database.execute(query, [str(path.absolute())]).fetchnumpy()
    rows = np.asarray(arrays["file_row_number"], dtype=np.int64)
    no_codes, no_values = np.full(len(rows), ABSENT, dtype=np.int32), np.full(len(rows), np.nan)
    codes = [np.asarray(arrays.get(f"c{number}", no_codes), dtype=np.int32) for number in range(len(coding.columns))]
    return (
        rows,
        codes,
        {name: np.asarray(arrays.get(f"v{n}", no_values), dtype=np.float64) for name, n in number_by_value.items()},
    )
