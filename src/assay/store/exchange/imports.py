"""Write and read a bulk import: one bundle of many runs that assay did not make, with their source files.

::

    import.json           format, files with checksums, number of runs, skipped items with the reason
    runs.parquet          the runs, see :mod:`assay.store.index.runs_file`
    tasks.parquet         their task attempts with the run's id; absent without attempts
    trace.parquet         their traces with the run's id; absent without traces
    source/NUMBER-NAME.gz the source files, compressed
    SHA256SUMS            checksums of all the others

Ids are made from content. An import's id comes from its format and files, so the same files give the same bundle on
every machine. A run's id comes from its format and its :class:`ImportedRun` key, so importing a longer copy of a file
adds only the new runs. A run that assay exported keeps its id.
"""

from __future__ import annotations

import gc
import gzip
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from assay.analysis.statistics import (
    DuplicateColumnError,
    ImportedRows,
    Item,
    RunTable,
    stacked,
    table_of,
    table_of_rows,
)
from assay.foundation.checksums import file_sha256
from assay.foundation.errors import RepositoryError
from assay.foundation.progress import Progress, no_progress
from assay.model import ImportedRun, Run, SkippedItem, TaskAttempt, Trace
from assay.model.runs import imported
from assay.store.bundles.bundle import IMPORT_FILE, IMPORT_RUNS_FILE, TASKS_FILE, TRACE_FILE, check_files, write_sums
from assay.store.bundles.content_ids import RunIds, uuid8
from assay.store.bundles.duplicates import DuplicateSource
from assay.store.exchange.imported_tasks import write_tasks
from assay.store.index import queries
from assay.store.index.imported_runs_table import StoredRows, joined_blocks, register_rows, storable
from assay.store.index.runs_file import Coding, rows_of, write_runs
from assay.store.index.tables import ConnectionFactory, connection, write_table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

IMPORT_SCHEMA_VERSION = 1
"""Version of an import's description."""
_PIECE_BYTES = 1 << 24
"""Bytes of a source file between two reports of progress."""
_GZIP_LEVEL = 4
"""Compression level of stored source files, from 1 (fast) to 9 (small)."""
_PROGRESS_INTERVAL = 500
"""Number of runs between two reports of progress."""
_UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A source file of an import: name for messages, path, SHA-256 and size in bytes."""

    name: str
    path: Path
    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """Settings for the storage of an import."""

    variant: str = ""
    """Further settings of the reader, for example a table's map. Another variant makes another import."""
    plan: str = ""
    """The plan of runs that do not record a plan."""
    strict: bool = False
    """Whether nothing is stored if a file or row is rejected."""
    replace: bool = False
    """Whether this import replaces earlier imports of files with the same names."""
    by_rows: bool = False
    """Whether a run is identified by the content of its row. The same run in another notation then has another id."""
    again: bool = False
    """Whether these runs are stored even if the repository probably has them in another notation."""


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """The result of an import. ``import_id`` is None if it added nothing."""

    import_id: str | None
    format: str
    taken: int
    already_there: int
    left: tuple[SkippedItem, ...]
    other_mappings: tuple[str, ...] = ()
    """Imports of the same files with another map, whose runs also count."""
    earlier: tuple[str, ...] = ()
    """Imports of files with the same names and other content, whose runs also count."""
    replaced: tuple[str, ...] = ()
    """Earlier imports that this import replaced."""
    probably: tuple[DuplicateSource, ...] = ()
    """Imports that probably hold the same runs in another notation or with other columns. If any, nothing was
    imported."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Runs that are ready to store, with their ids, tasks and traces."""

    import_id: str
    format: str
    runs: list[Run]
    rows: list[StoredRows]
    """Further runs as columns."""
    tasks: list[tuple[str, Sequence[TaskAttempt]]]
    traces: list[tuple[str, Trace]]
    skipped: Sequence[SkippedItem]
    stored_ids: Sequence[str]
    """Ids of runs that are already stored and are skipped."""
    sources: Sequence[SourceFile]

    def __len__(self) -> int:
        """Return the number of runs to store."""
        return len(self.runs) + sum(len(stored.positions) for stored in self.rows)

    def table(self) -> RunTable:
        """Return the runs to store as a table, in any order."""
        runs, tables = list(self.runs), []
        for stored in self.rows:
            try:
                tables.append(table_of_rows(stored.rows))
            except DuplicateColumnError:
                runs += stored.runs()
        return stacked([*tables, table_of(runs)] if runs else tables)

    @property
    def already_there(self) -> int:
        """Number of runs that are already stored."""
        return len(self.stored_ids)


def source_file(name: str, path: Path) -> SourceFile:
    """Return a file with its checksum. Raises :class:`RepositoryError` if it can't be read."""
    try:
        return SourceFile(name, path, file_sha256(path), path.stat().st_size)
    except OSError as error:
        raise RepositoryError(f"can't read it: {error.strerror}", where=name) from error


def import_id(format_name: str, sources: Sequence[SourceFile], variant: str = "") -> str:
    """Return the id of an import of these files: a UUID of version 8 (RFC 9562) from their checksums.

    ``variant``: further settings of the reader.
    """
    return uuid8("import", format_name, variant, *sorted(source.sha256 for source in sources))


@contextmanager
def _garbage_collection_off() -> Iterator[None]:
    """Disable garbage collection, which takes a quarter of the time of a large import. Parsing creates no cycles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@_garbage_collection_off()
def collect_batch(
    items: Iterable[Item],
    *,
    bundle_id: str,
    format_name: str,
    sources: Sequence[SourceFile],
    stored_ids_among: Callable[[Sequence[str]], set[str]],
    plan: str,
    progress: Progress,
) -> Batch:
    """Assign ids to all runs, and drop stored runs. ``stored_ids_among`` returns the stored ids of a sequence.

    ``progress`` receives the number of runs read so far.
    """
    ids = RunIds(format_name)
    accepted: list[tuple[ImportedRun, str] | ImportedRows] = []
    skipped: list[SkippedItem] = []
    exported_ids: set[str] = set()
    """Ids of runs that assay exported: they keep their ids."""
    buffer = bytearray()
    for item in _storable_items(items, progress):
        if isinstance(item, SkippedItem):
            skipped.append(item)
        elif isinstance(item, ImportedRows):
            accepted.append(replace(item, keys=ids.next_ids(item.keys)))  # only the ids are needed from here on
        elif problem := _storage_problem(item.run, buffer):
            skipped.append(SkippedItem(item.where, problem))
        elif not item.run.run_id:
            accepted.append((item, ids.of(item.key)))
        elif item.run.run_id in exported_ids:
            skipped.append(SkippedItem(item.where, "has the run_id of a run above"))
        else:
            exported_ids.add(item.run.run_id)
            accepted.append((item, item.run.run_id))
    stored_ids = stored_ids_among([*ids.ids, *exported_ids])
    batch = Batch(
        import_id=bundle_id,
        format=format_name,
        runs=[],
        rows=[],
        tasks=[],
        traces=[],
        skipped=skipped,
        stored_ids=sorted(stored_ids),
        sources=sources,
    )
    position = 0
    blocks: list[StoredRows] = []
    for entry in accepted:
        if isinstance(entry, ImportedRows):
            rows = (
                entry.subset(np.array([key not in stored_ids for key in entry.keys], dtype=np.bool_))
                if stored_ids
                else entry
            )
            common = imported.like(rows.common, campaign_id=bundle_id, plan=rows.common.plan or plan)
            positions = np.arange(position, position + len(rows))
            blocks.append(StoredRows(replace(rows, common=common), positions))
            position += len(rows)
        elif entry[1] not in stored_ids:
            _add(batch, *entry, position=position, plan=plan)
            position += 1
    batch.rows.extend(joined_blocks(blocks))
    return batch


def _add(batch: Batch, item: ImportedRun, run_id: str, *, position: int, plan: str) -> None:
    """Add a single run to a batch. A run that assay exported keeps its campaign and its position there."""
    run = imported.like(item.run, plan=item.run.plan or plan)
    if not run.run_id:
        run = imported.like(run, run_id=run_id, campaign_id=batch.import_id, block=position, position=position)
    batch.runs.append(run)
    if item.tasks:
        batch.tasks.append((run_id, item.tasks))
    if item.trace:
        batch.traces.append((run_id, item.trace))


def _storable_items(items: Iterable[Item], progress: Progress) -> Iterator[Item]:
    """Yield the items and report progress. If a block has rows that can't be stored, yield its rows one by one."""
    number = reported = 0
    checked_counts: dict[int, int] = {}
    for item in items:
        if isinstance(item, ImportedRows):
            yield from (item,) if storable(item, checked_counts) else item.runs()
            number += len(item)
        else:
            yield item
            number += 1
        if number - reported >= _PROGRESS_INTERVAL:
            progress("runs read", number, 0)
            reported = number


_ENCODER = msgspec.json.Encoder()


def _storage_problem(run: Run, buffer: bytearray) -> str | None:
    """Return why a run can't be stored; None if it can."""
    if not all(map(math.isfinite, (run.duration_s, *run.metrics.values()))):
        return "holds a number that is not finite"
    try:
        _ENCODER.encode_into(run, buffer)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        return f"can't be stored as JSON: {error}"
    return None


def write_import(folder: Path, batch: Batch, assay_version: str, progress: Progress = no_progress) -> None:
    """Write a batch to the empty ``folder``, checksums last. Raises OSError if the disk fails or is full."""
    facts = {
        "schema_version": IMPORT_SCHEMA_VERSION,
        "import_id": batch.import_id,
        "format": batch.format,
        "assay_version": assay_version,
        "imported_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "taken": len(batch),
        "already_there": batch.already_there,
        "left": batch.skipped,
        "sources": [{"name": s.name, "sha256": s.sha256, "size_bytes": s.size_bytes} for s in batch.sources],
    }
    (folder / IMPORT_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(facts), indent=2) + b"\n")
    with ThreadPoolExecutor(1) as compressor, connection() as database:
        # compression releases the interpreter lock
        compression = compressor.submit(_write_sources, folder / "source", batch.sources, progress)
        coding = Coding()
        write_runs(database, folder / IMPORT_RUNS_FILE, _register_batch(database, batch, coding), coding)
        compression.result()
    if batch.tasks:
        write_tasks(folder / TASKS_FILE, batch.tasks)
    if batch.traces:
        _write_traces(folder / TRACE_FILE, batch.traces)
    write_sums(folder)


def _register_batch(database: DuckDBPyConnection, batch: Batch, coding: Coding) -> str:
    """Register a batch's runs with DuckDB; return the query for their rows."""
    runs, parts = list(batch.runs), []
    for number, stored in enumerate(batch.rows):
        try:
            parts.append(register_rows(database, f"rows_{number}", stored, batch.import_id, coding))
        except DuplicateColumnError:
            runs += stored.runs()
    if runs or not parts:
        database.register("imported", rows_of(runs, batch.import_id, coding))
        parts.append("SELECT * FROM imported")
    return queries.all_rows(parts, without_repeated=False)


def _write_sources(folder: Path, sources: Sequence[SourceFile], progress: Progress) -> None:
    folder.mkdir()
    total, stored = sum(source.size_bytes for source in sources), 0
    for number, source in enumerate(sources):
        target = _stored_copy(folder, number, source.path.name)
        with source.path.open("rb") as file, gzip.open(target, "wb", compresslevel=_GZIP_LEVEL) as compressed_file:
            while piece := file.read(_PIECE_BYTES):
                compressed_file.write(piece)
                stored += len(piece)
                progress("MB of source files compressed", stored // 10**6, total // 10**6)


def _stored_copy(folder: Path, number: int, file_name: str) -> Path:
    return folder / f"{number:05d}-{_UNSAFE_CHARACTERS.sub('_', file_name)[-100:]}.gz"


def _write_traces(path: Path, traces: Sequence[tuple[str, Trace]]) -> None:
    names = list(queries.TRACE_COLUMNS)
    columns: list[list[Any]] = [[] for _ in range(len(names) + 1)]
    for run_id, trace in traces:
        rows = len(getattr(trace, names[0]))
        columns[0] += [run_id] * rows
        for column, name in zip(columns[1:], names, strict=True):
            column.extend(getattr(trace, name))
    write_table(path, {"run_id": "VARCHAR", **queries.TRACE_COLUMNS}, columns)


class _ImportRecord(msgspec.Struct):
    format: str
    taken: int
    left: tuple[SkippedItem, ...] = ()


def summary_of(bundle: Path, earlier_imports: Sequence[str] = ()) -> ImportSummary:
    """Return the summary of a stored import. Raises :class:`RepositoryError` if it is damaged.

    ``earlier_imports``: imports that it should replace. Raises :class:`RepositoryError` if there are any, because the
    stored import lacks their runs.
    """
    if earlier_imports:
        raise RepositoryError(
            "these files were imported before without --replace, so this import lacks the runs of the earlier imports",
            where=str(bundle),
            hint="delete this folder and import again with --replace",
        )
    if problems := check_files(bundle, (IMPORT_RUNS_FILE,)):
        raise RepositoryError(
            f"these files were imported before, but {problems[0].file} is damaged: {problems[0].detail}",
            where=str(bundle),
            hint="delete this folder and import again",
        )
    try:
        facts = msgspec.json.decode((bundle / IMPORT_FILE).read_bytes(), type=_ImportRecord)
        return ImportSummary(None, facts.format, 0, facts.taken, facts.left)
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        raise RepositoryError(
            f"{IMPORT_FILE} is damaged: {error}", where=str(bundle), hint="`assay verify` lists all damage; restore it"
        ) from error


class _Sources(msgspec.Struct):
    format: str
    sources: list[dict[str, str | int]]


@dataclass(frozen=True, slots=True)
class ImportFacts:
    """An import's id, its format, and the names and SHA-256 of its files."""

    import_id: str
    format: str
    files: tuple[tuple[str, str], ...]


def import_facts(bundle: Path) -> ImportFacts:
    """Return an import's id, format and files. Raises :class:`RepositoryError` if it can't be read."""
    try:
        facts = msgspec.json.decode((bundle / IMPORT_FILE).read_bytes(), type=_Sources)
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        raise RepositoryError(
            f"the import can't be read: {error}", where=bundle.name, hint="`assay verify` lists all damage"
        ) from error
    files = tuple((str(source.get("name", "")), str(source.get("sha256", ""))) for source in facts.sources)
    return ImportFacts(bundle.name, facts.format, files)


def _imports_of(bundles: Path, format_name: str) -> Iterator[tuple[str, list[dict[str, str | int]]]]:
    """Yield the id and the source files of each import of a format; damaged imports are skipped."""
    for path in sorted(bundles.glob(f"*/{IMPORT_FILE}")):
        try:
            facts = msgspec.json.decode(path.read_bytes(), type=_Sources)
        except (OSError, ValueError, msgspec.MsgspecError):
            continue
        if facts.format == format_name:
            yield path.parent.name, facts.sources


def imports_of_files(bundles: Path, format_name: str, sources: Sequence[SourceFile]) -> list[str]:
    """Return the ids of imports of this format that read one of these files; damaged imports are skipped."""
    checksums = {source.sha256 for source in sources}
    return [
        import_id
        for import_id, files in _imports_of(bundles, format_name)
        if any(file.get("sha256") in checksums for file in files)
    ]


def imported_file(bundles: Path, format_name: str, file_name: str) -> Path | None:
    """Return the newest stored copy (gzip) of a file that an import of this format read; None without one."""
    copies = [
        path
        for import_id, sources in _imports_of(bundles, format_name)
        for number, source in enumerate(sources)
        if Path(str(source.get("name"))).name == file_name
        and (path := _stored_copy(bundles / import_id / "source", number, file_name)).exists()
    ]
    return max(copies, key=lambda path: path.stat().st_mtime, default=None)


def imports_of_file_names(bundles: Path, format_name: str, sources: Sequence[SourceFile]) -> list[str]:
    """Return the ids of imports of this format whose files all have these names; damaged imports are skipped."""
    names = {source.name for source in sources}
    return [
        import_id
        for import_id, files in _imports_of(bundles, format_name)
        if files and {file.get("name") for file in files} <= names
    ]


def import_to_replace(bundles: Path, duplicates: DuplicateSource) -> str:
    """Return the import that the new runs replace. Raises RepositoryError if runs would be lost."""
    if not (bundles / duplicates.bundle / IMPORT_FILE).exists():
        raise RepositoryError(
            f"{duplicates.runs} of these {duplicates.of} runs are probably runs of campaign {duplicates.bundle}",
            hint="the campaign stays; --again also imports these runs",
        )
    if duplicates.runs < duplicates.stored_runs:
        raise RepositoryError(
            f"{duplicates.runs} of {duplicates.stored_runs} stored runs are probably among these; others would be lost",
            where=str(bundles / duplicates.bundle),
            hint="if that is intended, delete this folder and import again",
        )
    return duplicates.bundle


def ids_in(bundle: Path) -> set[str]:
    """Return the ids of an import's runs."""
    with connection() as database:
        rows = database.execute(queries.IDS_IN, [str((bundle / IMPORT_RUNS_FILE).absolute())]).fetchall()
    return {run_id for (run_id,) in rows}


def imported_tasks(bundle: Path, run_id: str, connect: ConnectionFactory = connection) -> list[TaskAttempt]:
    """Return one run's task attempts; empty without tasks."""
    return [TaskAttempt(*row) for row in _rows_of_run(bundle / TASKS_FILE, run_id, list(queries.TASK_COLUMNS), connect)]


def imported_trace(bundle: Path, run_id: str, connect: ConnectionFactory = connection) -> Trace:
    """Return one run's trace; empty without a trace."""
    rows = _rows_of_run(bundle / TRACE_FILE, run_id, list(queries.TRACE_COLUMNS), connect)
    return Trace(*(list(column) for column in zip(*rows, strict=True))) if rows else Trace()


def _rows_of_run(path: Path, run_id: str, names: Sequence[str], connect: ConnectionFactory) -> list[tuple[Any, ...]]:
    if not path.exists():
        return []
    with connect() as database:
        return database.execute(queries.rows_of_run(names), [str(path.absolute()), run_id]).fetchall()
