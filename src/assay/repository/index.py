"""The index over all bundles: one Parquet file, derived from them, that can be deleted at any time.

Bundles never change, so the index is current when it names the bundles that there are. Otherwise the missing ones are
read, the vanished ones dropped, and a new index is written aside and renamed over the old one. Readers and writers need
no lock: whoever finds the index behind brings it up to date, and the last to rename wins. An index that can't be read
is built anew; where none can be written, one is made in memory for the query at hand.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from assay.errors import RepositoryError
from assay.model.run import Run
from assay.repository import queries
from assay.repository.bundle import Problem, ProblemKind, read_run
from assay.repository.staging import staging, sync
from assay.repository.tables import connection

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

INDEX_FILE = "runs.parquet"


@dataclasses.dataclass(frozen=True, slots=True)
class Filters:
    """What a run must match; None: anything. ``limit`` keeps the newest."""

    workload: str | None = None
    layout: str | None = None
    status: str | None = None
    plan: str | None = None
    campaign_id: str | None = None
    limit: int | None = None


def bundle_names(bundles: Path) -> list[str]:
    """Return the names of the bundles, sorted; hidden entries and plain files are none."""
    try:
        entries = list(os.scandir(bundles))
    except FileNotFoundError:
        return []
    return sorted(entry.name for entry in entries if entry.is_dir() and not entry.name.startswith("."))


def query_runs(
    root: Path, filters: Filters, *, environment: bool, partial: Path, bundles: Path
) -> tuple[list[Run], list[Problem]]:
    """Bring the index up to date; return the matching runs, newest last, and the bundles that can't be read."""
    index = root / INDEX_FILE
    try:
        return _query(index, filters, environment, partial, bundles)
    except RepositoryError:
        with contextlib.suppress(OSError):  # damaged where opening it did not show it: build it anew, once
            index.unlink(missing_ok=True)
        return _query(index, filters, environment, partial, bundles)


def _query(
    index: Path, filters: Filters, environment: bool, partial: Path, bundles: Path
) -> tuple[list[Run], list[Problem]]:
    with connection() as opened:
        problems = _bring_up_to_date(opened, index, partial, bundles, environment=environment)
        rows = opened.execute(queries.NEWEST_RUNS, dataclasses.asdict(filters)).fetchall()
        runs = [_run(run_json, extra if environment else None) for run_json, extra in reversed(rows)]
    return runs, problems


def _run(run_json: str, environment_json: str | None) -> Run:
    try:
        run = msgspec.json.decode(run_json, type=Run)
        if environment_json is None:
            return run
        return dataclasses.replace(run, environment=msgspec.json.decode(environment_json))
    except msgspec.MsgspecError as error:
        raise RepositoryError(
            f"the index is damaged: {error}", hint="delete the folder index: it is rebuilt"
        ) from error


def _bring_up_to_date(
    opened: DuckDBPyConnection, index: Path, partial: Path, bundles: Path, *, environment: bool
) -> list[Problem]:
    """Make ``runs`` in ``opened`` stand for all bundles, and return those that can't be read.

    The bundles are listed after the index was read, so that one published in between is missing, never vanished.
    """
    indexed = _load(opened, index, environment=environment)
    names = set(bundle_names(bundles))
    if indexed == names and index.exists():
        return []
    indexed = _load(opened, index, environment=True)
    names = set(bundle_names(bundles))
    added, problems = _read_bundles(bundles, sorted(names - indexed))
    if added or indexed - names or not index.exists():
        opened.execute(queries.index_insert(), _columns(added))
        opened.execute(queries.DROP_VANISHED, [sorted(names)])
        _write(opened, index, partial)
    return problems


def _load(opened: DuckDBPyConnection, index: Path, *, environment: bool) -> set[str]:
    """Read the index into ``runs`` and return its run ids; none when it is absent, damaged or of another version."""
    import duckdb

    try:
        if not index.exists():
            raise FileNotFoundError(index)
        values = [str(index.absolute()), queries.INDEX_VERSION]
        opened.execute(queries.index_snapshot(environment=environment), values)
    except (OSError, duckdb.Error):
        opened.execute(queries.EMPTY_INDEX)
    return {run_id for (run_id,) in opened.execute(queries.INDEXED_IDS).fetchall()}


def _read_bundles(bundles: Path, names: Iterable[str]) -> tuple[list[Run], list[Problem]]:
    runs, problems = [], []
    for name in names:
        try:
            runs.append(read_run(bundles / name))
        except RepositoryError as error:
            problems.append(Problem(name, "run.json", ProblemKind.UNREADABLE, error.message))
    return runs, problems


def _columns(runs: list[Run]) -> list[list[Any]]:
    """Return the index's columns for ``runs``; a column that a run has no field for is worked out."""
    derived: dict[str, list[Any]] = {
        "index_version": [queries.INDEX_VERSION for _ in runs],
        "run_json": [msgspec.json.encode(dataclasses.replace(run, environment={})).decode() for run in runs],
        "environment_json": [msgspec.json.encode(run.environment).decode() for run in runs],
    }
    return [derived.get(name) or [getattr(run, name) for run in runs] for name in queries.INDEX_COLUMNS]


def _write(opened: DuckDBPyConnection, index: Path, partial: Path) -> None:
    """Write ``runs`` as the new index, where it can be written: it is only a shortcut."""
    import duckdb

    try:
        index.parent.mkdir(exist_ok=True)
        with staging(partial, "index") as folder:
            aside = folder / INDEX_FILE
            opened.sql(queries.ALL_SORTED).write_parquet(str(aside.absolute()), compression="zstd")
            sync(aside)
            aside.rename(index)
    except (OSError, duckdb.Error):
        return
