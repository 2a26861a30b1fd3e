"""Export runs, task attempts and traces as a dataset: Parquet files by workload, for Spark and other readers.

::

    runs/workload=W/BATCH-N.parquet     one row per run: names, ``facts`` and ``figures`` as maps, ``run_json``
    tasks/workload=W/BATCH-N.parquet    one row per task attempt, with ``run_id``
    traces/workload=W/BATCH-N.parquet   one row per sample, with ``run_id``
    _assay/dataset.json                 the version of this layout, and the order of every fact's levels
    _assay/batch-BATCH.json             the bundles of a batch; written last

Each export adds one batch of the bundles that no earlier batch has. An interrupted export leaves files that no batch
file records. The next export removes these files. A :class:`DatasetStore` holds the files, on this machine or
elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from assay.analysis.statistics import Column, RunTable
from assay.foundation.errors import RepositoryError
from assay.store.bundles.bundle import TASKS_FILE, TRACE_FILE, is_import
from assay.store.index import queries
from assay.store.index.index import Index, bundle_names
from assay.store.index.runs_file import read_coding
from assay.store.index.tables import connection
from assay.store.repository import Repository

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

DATASET_VERSION = 1
"""Version of the dataset's layout. assay adds runs only to datasets of this version."""
TABLES = ("runs", "tasks", "traces")
METADATA_FOLDER = "_assay"
"""Folder of the dataset's description. Readers of Parquet skip names that start with an underscore."""
DESCRIPTION = f"{METADATA_FOLDER}/dataset.json"
_BATCH = f"{METADATA_FOLDER}/batch-"
_DIGITS = 16
"""Number of hexadecimal digits of a batch's checksum in its name."""


class DatasetStore(Protocol):
    """The storage of a dataset. Names are relative paths with slashes. Every method raises an AssayError on failure."""

    def names(self) -> list[str]:
        """Return the names of all files; empty if the folder does not exist."""

    def read(self, name: str) -> bytes:
        """Return a small file's content."""

    def put(self, folder: Path, tables: Sequence[str], descriptions: Sequence[str]) -> None:
        """Store the subfolders ``tables`` of the local ``folder``, then its files ``descriptions``, in this order.

        Files of the same names are replaced. ``descriptions`` has at least one name; all are in one subfolder.
        """

    def remove(self, names: Sequence[str]) -> None:
        """Remove files."""


@dataclass(frozen=True, slots=True)
class LocalStore:
    """A folder on this machine, local or mounted."""

    root: Path

    def names(self) -> list[str]:
        """Return the names of all files except dot files."""
        files = (path.relative_to(self.root) for path in self.root.rglob("*") if path.is_file())
        return sorted(str(path) for path in files if not path.name.startswith("."))

    def read(self, name: str) -> bytes:
        """Return a file's content."""
        return (self.root / name).read_bytes()

    def put(self, folder: Path, tables: Sequence[str], descriptions: Sequence[str]) -> None:
        """Copy files. Each is written under a temporary name and then renamed."""
        files = (path for table in tables for path in sorted((folder / table).rglob("*")) if path.is_file())
        try:
            for name in [*(str(path.relative_to(folder)) for path in files), *descriptions]:
                target = self.root / name
                target.parent.mkdir(parents=True, exist_ok=True)
                temporary_file = target.with_name(f".{target.name}")
                temporary_file.write_bytes((folder / name).read_bytes())
                temporary_file.replace(target)
        except OSError as error:
            raise RepositoryError(f"can't write it: {error.strerror}", where=str(self.root)) from error

    def remove(self, names: Sequence[str]) -> None:
        """Remove files."""
        for name in names:
            (self.root / name).unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class ExportSummary:
    """The numbers of bundles, runs, tasks and samples that an export added, and of bundles exported before."""

    bundles: int
    runs: int
    tasks: int
    samples: int
    already_there: int


def export_dataset(repository: Repository, store: DatasetStore) -> ExportSummary:
    """Add the repository's new bundles to a dataset.

    Raises RepositoryError for a dataset of another version, and for a folder with other files.
    """
    names = store.names()
    batches = [name for name in names if name.startswith(_BATCH)]
    if DESCRIPTION in names:
        _check_version(store.read(DESCRIPTION))
    elif names:
        raise RepositoryError("the folder contains files, but no dataset", hint="name an empty or a new folder")
    exported_bundles = {bundle for name in batches for bundle in json.loads(store.read(name))["bundles"]}
    finished_batches = {name.removeprefix(_BATCH).removesuffix(".json") for name in batches}
    unrecorded_files = [
        name
        for name in names
        if name.endswith(".parquet") and name.rsplit("/", 1)[-1].partition("-")[0] not in finished_batches
    ]
    if unrecorded_files:
        store.remove(unrecorded_files)
    new_bundles = [name for name in bundle_names(repository.folders.bundles) if name not in exported_bundles]
    if not new_bundles:
        return ExportSummary(0, 0, 0, 0, len(exported_bundles))
    with tempfile.TemporaryDirectory(prefix="assay-dataset-") as scratch:
        folder = Path(scratch)
        batch = hashlib.sha256("\n".join(new_bundles).encode()).hexdigest()[:_DIGITS]
        counts = Index(repository.folders, [], connection).over_files(
            lambda database, index: _write(database, index, repository.folders.bundles, new_bundles, folder, batch)
        )
        tables = [table for table in TABLES if (folder / table).is_dir()]
        batch_file = f"{_BATCH}{batch}.json"
        (folder / batch_file).write_text(
            json.dumps({"bundles": new_bundles, "rows": dict(zip(TABLES, counts, strict=True))})
        )
        store.put(folder, tables, [DESCRIPTION, batch_file])
    return ExportSummary(len(new_bundles), *counts, len(exported_bundles))


def _check_version(description: bytes) -> None:
    version = json.loads(description).get("version")
    if version != DATASET_VERSION:
        hint = "export into a new folder"
        raise RepositoryError(f"the dataset is of version {version}, not {DATASET_VERSION}", hint=hint)


def levels_in(description: bytes) -> dict[str, list[str]]:
    """Return the levels of every fact, in the repository's order. Raises RepositoryError for another version."""
    _check_version(description)
    levels: dict[str, list[str]] = json.loads(description)["levels"]
    return levels


def read_selected_runs(folder: Path, levels: Mapping[str, Sequence[str]], figures: Sequence[str]) -> RunTable:
    """Return the runs that Spark wrote into ``folder``, oldest first, as in the repository's own table."""
    with connection() as database:
        query = queries.selected_runs(list(levels), len(figures))
        arrays: dict[str, Any] = database.execute(
            query, [*map(list, levels.values()), f"{folder}/*.parquet"]
        ).fetchnumpy()
    columns = {
        name: Column(np.asarray(arrays[f"c{number}"], dtype=np.int32), tuple(column_levels))
        for number, (name, column_levels) in enumerate(levels.items())
    }
    values = {name: np.asarray(arrays[f"v{number}"], dtype=np.float64) for number, name in enumerate(figures)}
    table = RunTable(np.asarray(arrays["place"], dtype=np.int64), columns, values).with_sessions()
    return table.subset(np.argsort(values["started_unix_s"], kind="stable"))


def _write(
    database: DuckDBPyConnection,
    index: Sequence[Path],
    bundles: Path,
    new_bundles: Sequence[str],
    folder: Path,
    batch: str,
) -> tuple[int, int, int]:
    """Write a batch's files and the description below ``folder``; return the number of rows of each table."""
    coding = read_coding(database, index[-1])
    (folder / METADATA_FOLDER).mkdir()
    levels = {name: list(codes) for name, codes in coding.columns.items()}
    description = {"version": DATASET_VERSION, "levels": levels, "figures": list(coding.values)}
    (folder / DESCRIPTION).write_text(json.dumps(description))
    database.execute(queries.NEW_BUNDLES, [list(new_bundles)])
    database.execute(queries.levels_of(len(levels)), list(levels.values()))
    database.execute(queries.new_runs(list(coding.columns), coding.values), [[str(path) for path in index]])
    database.execute(queries.NEW_WORKLOADS)
    run_bundles = [bundles / name for name in new_bundles if not is_import(bundles / name)]
    import_bundles = [bundles / name for name in new_bundles if is_import(bundles / name)]
    tasks = queries.new_rows(
        queries.TASK_COLUMNS,
        _existing_files(bundle / TASKS_FILE for bundle in run_bundles),
        _existing_files(bundle / TASKS_FILE for bundle in import_bundles),
    )
    traces = queries.new_rows(
        queries.TRACE_COLUMNS,
        _existing_files(file for bundle in run_bundles for file in (bundle / "trace").glob("*.parquet")),
        _existing_files(bundle / TRACE_FILE for bundle in import_bundles),
    )
    counts = []
    for table, query in zip(TABLES, (queries.ALL_NEW_RUNS, tasks, traces), strict=True):
        counts.append(0 if query is None else _copy_runs(database, query, folder / table, batch))
    return counts[0], counts[1], counts[2]


def _copy_runs(database: DuckDBPyConnection, query: str, target: Path, batch: str) -> int:
    row = database.execute(queries.copy_by_workload(query, str(target), batch)).fetchone()
    return int(row[0]) if row else 0


def _existing_files(paths: Iterable[Path]) -> list[str]:
    return [str(path.absolute()) for path in paths if path.is_file()]
