"""Write columns to Parquet files and read them, with DuckDB in memory.

DuckDB is imported with the first table, never downloads an extension, and holds no file open between calls. Starting
DuckDB takes longer than most queries, so a repository starts it once, with a :class:`DuckDBReader`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.foundation.errors import RepositoryError
from assay.store.index import queries

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


ConnectionFactory = Callable[[], "AbstractContextManager[DuckDBPyConnection]"]
"""Returns a connection: :func:`connection`, or the method of a :class:`DuckDBReader`."""
_OFFLINE: Mapping[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
"""Settings that prevent DuckDB from downloading and loading extensions."""


_ROWS_AT_ONCE = 1_000
"""Number of rows that are fetched from DuckDB at a time."""


@contextmanager
def connection() -> Iterator[DuckDBPyConnection]:
    """Open DuckDB in memory. Its errors are raised as :class:`RepositoryError`."""
    import duckdb  # imported here: it takes longer than everything else that a command imports

    with _translated_errors(), duckdb.connect(config={**_OFFLINE}) as database:
        yield database


@contextmanager
def _translated_errors() -> Iterator[None]:
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise _repository_error(str(error)) from error


class DuckDBReader:
    """DuckDB in memory, started once, for readers in any thread. It caches no file contents."""

    def __init__(self) -> None:
        self._database: DuckDBPyConnection | None = None
        self._starting = threading.Lock()

    @contextmanager
    def connection(self) -> Iterator[DuckDBPyConnection]:
        """Yield a separate connection for reading; errors as in :func:`connection`."""
        import duckdb

        with self._starting:
            if self._database is None:
                self._database = duckdb.connect(config={**_OFFLINE, "enable_external_file_cache": False})
            database = self._database.cursor()
        with _translated_errors(), database:
            try:
                yield database
            except (duckdb.FatalException, duckdb.InternalException):
                self._database = None  # DuckDB refuses all further queries
                raise


def _repository_error(message: str) -> RepositoryError:
    """Return a DuckDB error as a RepositoryError with its location and, for a full disk, a hint."""
    inner_message = _INNER.search(message)
    text = inner_message[1].replace('\\"', '"') if inner_message else message.splitlines()[0]
    path = _PATH.search(text)
    where = path[1].partition("/partial/")[0] if path else None
    full_reason = next((reason for reason in _FULL if reason in message), None)
    if full_reason:
        return RepositoryError(
            f"there is no room to write: {full_reason}",
            where=where,
            hint="nothing was stored; free disk space (TMPDIR sets another folder for temporary files), and try again",
        )
    return RepositoryError(f"a table can't be read or written: {text}", where=where)


_INNER = re.compile(r'"exception_message":"((?:[^"\\]|\\.)*)"')
_PATH = re.compile(r'file "([^"]+)"', re.IGNORECASE)
_FULL = ("No space left on device", "Disk quota exceeded", "File too large")


def add_columns(
    database: DuckDBPyConnection, name: str, sql_types: Mapping[str, str], columns: Sequence[Sequence[Any]]
) -> None:
    """Create the temporary table ``name`` from ``columns`` of equal length, in the order of ``sql_types``.

    ``sql_types``: name of each column to its type.
    The values are passed as arrays because lists as parameters take DuckDB some hundred times as long.
    """
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    nullable = []
    for column, (values, sql_type) in enumerate(zip(columns, sql_types.values(), strict=True)):
        if sql_type == "VARCHAR":
            arrays[queries.value_name(column)] = np.fromiter(values, dtype=object, count=len(values))
            continue
        if None in values:
            nullable.append(column)
            arrays[queries.null_name(column)] = np.asarray([value is None for value in values])
            arrays[queries.value_name(column)] = np.asarray([0 if value is None else value for value in values])
        else:
            arrays[queries.value_name(column)] = np.asarray(values)
    database.register("columns_of_arrays", arrays)
    try:
        database.execute(
            f'CREATE TEMP TABLE "{name}" AS {queries.of_arrays(sql_types, nullable)} FROM columns_of_arrays'
        )
    finally:
        database.unregister("columns_of_arrays")


def write_table(
    path: Path, sql_types: Mapping[str, str], columns: Sequence[Sequence[Any]], connect: ConnectionFactory = connection
) -> None:
    """Write ``columns`` of equal length, in the order of ``sql_types``, as one Parquet file."""
    with connect() as database:
        add_columns(database, "rows", sql_types, columns)
        database.table("rows").write_parquet(str(path.absolute()), compression="zstd")


def write_blocks(path: Path, sql_types: Mapping[str, str], blocks: Iterable[Sequence[Sequence[Any]]]) -> None:
    """Write blocks of columns, one after the other, as one Parquet file. Only one block is in memory."""
    parts: list[Path] = []
    for number, columns in enumerate(blocks):
        parts.append(path.with_name(f"{path.name}.{number:05d}"))
        write_table(parts[-1], sql_types, columns)
    if len(parts) == 1:
        parts[0].rename(path)
        return
    with connection() as database:
        rows = database.sql(queries.select_columns(sql_types), params=[[str(part.absolute()) for part in parts]])
        rows.write_parquet(str(path.absolute()), compression="zstd")
    for part in parts:
        part.unlink()


def read_table(
    paths: Sequence[Path], sql_types: Mapping[str, str], connect: ConnectionFactory = connection
) -> list[list[Any]]:
    """Return the columns of Parquet files in the order of ``sql_types``, with the rows of one file after the other."""
    with connect() as database:
        rows = database.execute(
            queries.select_columns(sql_types), [[str(path.absolute()) for path in paths]]
        ).fetchall()
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in sql_types]


def rows_of_table(path: Path) -> Iterator[dict[str, Any]]:
    """Yield each row of a Parquet file as column name to value."""
    with connection() as database:
        result = database.execute(f"SELECT * FROM {queries.READ}", [str(path.absolute())])  # noqa: S608 - a constant
        names = [name for name, *_ in result.description or []]
        while rows := result.fetchmany(_ROWS_AT_ONCE):
            yield from (dict(zip(names, row, strict=True)) for row in rows)


def check_table(database: DuckDBPyConnection, path: Path, sql_types: Mapping[str, str]) -> None:
    """Raise :class:`RepositoryError` for a file that is not Parquet or has no columns with these names and types."""
    import duckdb

    try:
        columns = database.execute(queries.select_columns(sql_types), [[str(path.absolute())]]).description or []
        mismatched_columns = [
            name
            for (name, column_type, *_), expected_type in zip(columns, sql_types.values(), strict=True)
            if not _fits(column_type, expected_type)
        ]
        if mismatched_columns:
            raise RepositoryError(f"this is not a table of assay: its column {mismatched_columns[0]} has another type")
        database.execute(queries.every_value(sql_types), [[str(path.absolute())]])
    except duckdb.Error as error:
        raise RepositoryError("this is not a table of assay, or it is damaged") from error


def _fits(column_type: object, expected_type: str) -> bool:
    sql_type = str(column_type)
    return sql_type == expected_type if expected_type in ("VARCHAR", "BOOLEAN") else sql_type in _NUMBERS


_NUMBERS = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE"})
