"""Write, read and check one bundle: the immutable folder of a finished run or of an import.

::

    run.json              the Run
    tasks.parquet         the run's task attempts; absent without attempts
    trace/NODE.parquet    the run's trace, one file per node
    logs/NAME.gz          the raw files behind the run
    plan.yaml             the plan of its campaign, and cluster.yaml: the cluster, both without addresses and
                          secrets; absent from bundles of older versions
    NAME                  any further file, such as the device baseline
    SHA256SUMS            checksums of all the others, as ``sha256sum -c`` reads them
    SHA256SUMS.sig        the signature of these checksums; absent without a signature

An import holds many runs, in the files that :mod:`assay.store.exchange.imports` names.
"""

import gzip
import os
import re
import shutil
import stat
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path, PurePosixPath

import msgspec

from assay.foundation.checksums import file_sha256
from assay.foundation.errors import RepositoryError
from assay.model import RUN_SCHEMA_VERSION, Run, TaskAttempt, Trace
from assay.model.runs import run_json
from assay.store.index import queries
from assay.store.index.tables import ConnectionFactory, add_columns, check_table, connection, read_table, write_table
from assay.workloads.catalogue import known_name

RUN_FILE = "run.json"
TASKS_FILE = "tasks.parquet"
SUMS_FILE = "SHA256SUMS"
SIGNATURE_FILE = "SHA256SUMS.sig"
IMPORT_FILE = "import.json"
_LOG_CHUNK_BYTES = 256_000
"""Maximum bytes of a log that are in memory at a time."""
IMPORT_RUNS_FILE = "runs.parquet"
TRACE_FILE = "trace.parquet"
"""Trace file of an import. A run has a file per node in the folder ``trace``."""
_RESERVED = (RUN_FILE, TASKS_FILE, SUMS_FILE, SIGNATURE_FILE)
"""Names that assay writes. Attached files can't have them."""
_NAME = re.compile(r"^[^/\\\x00-\x1f\x7f.][^/\\\x00-\x1f\x7f]{0,199}$")
_SUM_LINE = re.compile(r"^(?P<digest>[0-9a-f]{64})  (?P<name>.+)$")
_GZIP_LEVEL = 4
"""Compression level of logs, from 1 (fast) to 9 (small)."""


class ProblemKind(StrEnum):
    """Kinds of problems of a bundle."""

    MISSING = "missing"
    EXTRA = "extra"
    CHANGED = "changed"
    UNREADABLE = "unreadable"
    NEWER = "newer"
    SIGNATURE = "signature"


@dataclass(frozen=True, slots=True)
class BundleProblem:
    """A problem of a bundle: the bundle's id, the file, the kind and a description."""

    run_id: str
    file: str
    kind: ProblemKind
    detail: str


@dataclass(frozen=True, slots=True)
class Contents:
    """The content of a new bundle. ``logs`` are compressed; a log can be given as the path of a file to copy."""

    run: Run
    tasks: Sequence[TaskAttempt] = ()
    trace: Trace | None = None
    logs: Mapping[str, bytes | Path] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)


def encode_run(run: Run) -> bytes:
    """Return ``run`` as indented JSON with its keys in a fixed order.

    Raises :class:`RepositoryError` for values that JSON can't hold, for example infinite numbers.
    """
    try:
        encoded = msgspec.json.format(msgspec.json.encode(run), indent=2) + b"\n"
        msgspec.json.decode(encoded, type=Run)
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise RepositoryError(
            f"the run can't be stored as JSON: {error}",
            where=run.run_id,
            hint="every number must be finite; leave out unknown numbers",
        ) from error
    return encoded


def run_of_json(encoded: bytes | str) -> Run:
    """Return a run from JSON of any version of assay.

    Raises ValueError, MsgspecError or RecursionError for anything else. The workload gets its declared name, even if an
    older version imported it under another name.
    """
    run = run_json.run_of_json(encoded)
    name = known_name(run.workload)
    return run if name == run.workload else replace(run, workload=name)


def decode_run(encoded: bytes) -> Run:
    """Return the run in a ``run.json``, ignoring unknown keys.

    Raises :class:`RepositoryError` if the file is damaged or has an unsupported schema.
    """
    try:
        return run_of_json(encoded)
    except (ValueError, RecursionError, msgspec.MsgspecError) as error:
        version = _schema_version(encoded)
        if version is not None and version > RUN_SCHEMA_VERSION:
            raise RepositoryError(
                f"{RUN_FILE} has schema {version}", hint="a newer assay is needed to read it"
            ) from error
        raise RepositoryError(f"{RUN_FILE} is damaged: {error}") from error


def read_run(bundle: Path) -> Run:
    """Return a bundle's run. Raises :class:`RepositoryError` if it can't be read or belongs to another run."""
    where = str(bundle / RUN_FILE)
    hint = "`assay verify` lists all damage; restore the bundle from a copy"
    try:
        run = decode_run((bundle / RUN_FILE).read_bytes())
    except OSError as error:
        raise RepositoryError(f"can't read it: {error.strerror}", where=where, hint=hint) from error
    except RepositoryError as error:
        raise RepositoryError(error.message, where=where, hint=error.hint or hint) from error
    if run.run_id != bundle.name:
        raise RepositoryError(f"it belongs to another run, {run.run_id}", where=where, hint=hint)
    return run


def _schema_version(encoded: bytes) -> int | None:
    try:
        value = msgspec.json.decode(encoded)
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return None
    version = value.get("schema_version") if isinstance(value, dict) else None
    return version if isinstance(version, int) else None


def write_bundle(folder: Path, contents: Contents, connect: ConnectionFactory = connection) -> None:
    """Write ``contents`` to the empty ``folder``, checksums last. Raises OSError if the disk fails or is full."""
    (folder / RUN_FILE).write_bytes(encode_run(contents.run))
    if contents.tasks:
        columns = [[getattr(task, name) for task in contents.tasks] for name in queries.TASK_COLUMNS]
        write_table(folder / TASKS_FILE, queries.TASK_COLUMNS, columns, connect)
    if contents.trace:
        _write_trace(folder / "trace", contents.trace, connect)
    for name, log in contents.logs.items():
        write_log(file_in(folder / "logs", f"{name}.gz"), log)
    for name, content in contents.files.items():
        if name in _RESERVED or name.startswith(("trace/", "logs/")):
            raise RepositoryError(
                f"{name!r} is reserved for the bundle", where=contents.run.run_id, hint="use another name"
            )
        file_in(folder, name).write_bytes(content)
    write_sums(folder)


def write_sums(folder: Path) -> None:
    """Write the checksums of all files in ``folder``. Must be the last step."""
    (folder / SUMS_FILE).write_text("".join(f"{file_sha256(folder / name)}  {name}\n" for name in file_names(folder)))


def file_in(folder: Path, name: str) -> Path:
    """Return the path of the file ``name`` (with optional folders) in ``folder``, and create its folders."""
    parts = name.split("/")
    if not all(_NAME.match(part) for part in parts):
        raise RepositoryError(f"{name!r} is not a valid file name in a bundle")
    path = folder.joinpath(*parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _write_trace(folder: Path, trace: Trace, connect: ConnectionFactory) -> None:
    columns = [getattr(trace, name) for name in queries.TRACE_COLUMNS]
    if len({len(column) for column in columns}) > 1:
        raise RepositoryError("the trace's columns differ in length")
    with connect() as database:
        add_columns(database, "trace", queries.TRACE_COLUMNS, columns)
        for (node,) in database.execute(queries.TRACE_NODES).fetchall():
            path = file_in(folder, f"{node}.parquet").absolute()
            database.sql(queries.TRACE_OF_NODE, params=[node]).write_parquet(str(path), compression="zstd")


def write_log(path: Path, log: bytes | Path) -> None:
    """Write a log compressed. Raises OSError if the disk fails or is full."""
    with gzip.open(path, "wb", compresslevel=_GZIP_LEVEL) as target:
        if isinstance(log, bytes):
            target.write(log)
        else:
            with log.open("rb") as source:
                shutil.copyfileobj(source, target, 1 << 20)


def file_names(bundle: Path) -> list[str]:
    """Return the bundle's files without the checksum list and its signature, sorted, with ``/`` between folders."""
    paths = (path for path in bundle.rglob("*") if path.is_symlink() or not path.is_dir())
    names = (str(PurePosixPath(path.relative_to(bundle))) for path in paths)
    return sorted(name for name in names if name not in (SUMS_FILE, SIGNATURE_FILE))


def all_names(bundle: Path) -> list[str]:
    """Return all files of a bundle. The last names are the checksum list and, if it exists, the signature."""
    return [*file_names(bundle), SUMS_FILE, *([SIGNATURE_FILE] if os.path.lexists(bundle / SIGNATURE_FILE) else [])]


def irregular_files(bundle: Path) -> list[BundleProblem]:
    """Return a bundle's entries that are not regular files, such as symbolic links and FIFOs, without opening them."""
    names = (name for name in all_names(bundle) if not _is_regular(bundle / name))
    return [BundleProblem(bundle.name, name, ProblemKind.UNREADABLE, "not a regular file") for name in names]


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return True  # a missing list of checksums is reported as another problem


def plain_content(path: Path) -> bytes:
    """Return a file's content. Raises ValueError for a FIFO or a device, whose content may never end, and OSError."""
    if path.exists() and not path.is_file():
        raise ValueError("not a regular file")
    return path.read_bytes()


def copy_bundle(bundle: Path, folder: Path) -> None:
    """Copy a bundle's files to a folder. Raises :class:`RepositoryError` for entries that are not regular files."""
    shutil.copytree(bundle, folder, symlinks=True, dirs_exist_ok=True)
    if irregular := irregular_files(folder):  # added after the check of the bundle
        raise RepositoryError("not a regular file", where=str(bundle / irregular[0].file))


def read_tasks(bundle: Path, connect: ConnectionFactory = connection) -> list[TaskAttempt]:
    """Return the task attempts; empty without tasks."""
    path = bundle / TASKS_FILE
    if not path.exists():
        return []
    return [TaskAttempt(*row) for row in zip(*read_table([path], queries.TASK_COLUMNS, connect), strict=True)]


def read_trace(bundle: Path, connect: ConnectionFactory = connection) -> Trace:
    """Return the trace, node by node in name order; empty without a trace."""
    paths = sorted((bundle / "trace").glob("*.parquet"))
    return Trace(*read_table(paths, queries.TRACE_COLUMNS, connect)) if paths else Trace()


def read_log(bundle: Path, name: str) -> bytes:
    """Return a log's content. Raises :class:`RepositoryError` with the available logs if this log is missing."""
    names = log_names(bundle)
    if name not in names:
        hint = f"it has: {', '.join(names)}" if names else "it has no logs"
        raise RepositoryError(f"there is no log {name!r}", where=bundle.name, hint=hint)
    path = bundle / "logs" / f"{name}.gz"
    try:
        return gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise RepositoryError(
            f"the file is damaged: {error}", where=str(path), hint="`assay verify` lists all damage"
        ) from error


def read_log_chunks(bundle: Path, name: str, offset: int = 0) -> Iterator[bytes]:
    """Return the chunks of a log's content from byte ``offset`` on. Raises the errors of :func:`read_log`."""
    if name not in log_names(bundle):
        read_log(bundle, name)  # raises the error for a missing log
    return _chunks(bundle / "logs" / f"{name}.gz", offset)


def _chunks(path: Path, offset: int) -> Iterator[bytes]:
    try:
        with gzip.open(path, "rb") as file:
            file.seek(offset)
            while piece := file.read(_LOG_CHUNK_BYTES):
                yield piece
    except (OSError, EOFError, zlib.error) as error:
        raise RepositoryError(
            f"the file is damaged: {error}", where=str(path), hint="`assay verify` lists all damage"
        ) from error


def log_names(bundle: Path) -> list[str]:
    """Return the names of all logs, as :func:`read_log` accepts them, sorted."""
    names = (name for name in file_names(bundle) if name.startswith("logs/") and name.endswith(".gz"))
    return [name.removeprefix("logs/").removesuffix(".gz") for name in names]


def is_import(bundle: Path) -> bool:
    """Return whether a bundle is an import: many runs with their source files."""
    return (bundle / IMPORT_FILE).exists()


def check_bundle(bundle: Path, connect: ConnectionFactory = connection) -> list[BundleProblem]:
    """Return all problems of one bundle: missing, extra, changed and unreadable files.

    Correct checksums do not prove a valid table: the writer of the file wrote them too.
    """
    if irregular := irregular_files(bundle):
        return irregular
    problems = check_files(bundle)
    if not is_import(bundle):
        problems += _check_run(bundle)
    return problems or _check_tables(bundle, connect)


def _check_tables(bundle: Path, connect: ConnectionFactory) -> list[BundleProblem]:
    """Return the problems of the tables of tasks and traces: unexpected columns and unreadable values."""
    run_id_column = {"run_id": "VARCHAR"} if is_import(bundle) else {}
    traces = [bundle / TRACE_FILE] if is_import(bundle) else sorted((bundle / "trace").glob("*.parquet"))
    tables = [(path, queries.TRACE_COLUMNS) for path in traces] + [(bundle / TASKS_FILE, queries.TASK_COLUMNS)]
    tables = [(path, {**run_id_column, **kinds}) for path, kinds in tables if path.exists()]
    if not tables:
        return []
    problems = []
    with connect() as database:
        for path, kinds in tables:
            name = str(PurePosixPath(path.relative_to(bundle)))
            try:
                check_table(database, path, kinds)
            except RepositoryError as error:
                problems.append(BundleProblem(bundle.name, name, ProblemKind.UNREADABLE, error.message))
    return problems


def check_files(bundle: Path, only: Sequence[str] | None = None) -> list[BundleProblem]:
    """Return a problem for each file that is missing, unexpected or different from its checksum.

    ``only``: the names of the files to check; None for all files of the bundle.
    """
    sums, problems = _read_sums(bundle)
    names = file_names(bundle) if only is None else [name for name in only if (bundle / name).exists()]
    expected_names = sums.keys() if only is None else set(only)
    for name in sorted(expected_names - set(names)):
        problems.append(BundleProblem(bundle.name, name, ProblemKind.MISSING, "the file is gone"))
    for name in names:
        if name not in sums:
            problems.append(BundleProblem(bundle.name, name, ProblemKind.EXTRA, f"the file is not in {SUMS_FILE}"))
            continue
        try:
            digest = file_sha256(bundle / name)
        except OSError as error:
            problems.append(
                BundleProblem(bundle.name, name, ProblemKind.UNREADABLE, f"can't read it: {error.strerror}")
            )
            continue
        if digest != sums[name]:
            problems.append(
                BundleProblem(bundle.name, name, ProblemKind.CHANGED, "the content differs from its checksum")
            )
    return problems


def _check_run(bundle: Path) -> list[BundleProblem]:
    try:
        run = read_run(bundle)
    except RepositoryError as error:
        return [BundleProblem(bundle.name, RUN_FILE, ProblemKind.UNREADABLE, error.message)]
    if run.schema_version > RUN_SCHEMA_VERSION:
        detail = f"schema {run.schema_version} is newer than {RUN_SCHEMA_VERSION}: parts of it are not shown here"
        return [BundleProblem(bundle.name, RUN_FILE, ProblemKind.NEWER, detail)]
    return []


def _read_sums(bundle: Path) -> tuple[dict[str, str], list[BundleProblem]]:
    try:
        lines = (bundle / SUMS_FILE).read_text().splitlines()
    except FileNotFoundError:
        return {}, [BundleProblem(bundle.name, SUMS_FILE, ProblemKind.MISSING, "the file is gone")]
    except (OSError, ValueError) as error:
        return {}, [BundleProblem(bundle.name, SUMS_FILE, ProblemKind.UNREADABLE, f"can't read it: {error}")]
    matches = [(number, line, _SUM_LINE.match(line)) for number, line in enumerate(lines, start=1)]
    sums = {match["name"]: match["digest"] for _, _, match in matches if match}
    broken = [
        BundleProblem(bundle.name, SUMS_FILE, ProblemKind.CHANGED, f"line {number} is not a checksum: {line[:40]!r}")
        for number, line, match in matches
        if not match
    ]
    return sums, broken


def unknown_entries(bundles: Path, names: Sequence[str]) -> list[BundleProblem]:
    """Return the entries of the folder ``bundles`` that are not bundles. ``names``: the names of the bundles."""
    entry_names = sorted(path.name for path in bundles.iterdir()) if bundles.is_dir() else []
    detail = "this is not a bundle"
    return [
        BundleProblem("", f"bundles/{name}", ProblemKind.EXTRA, detail) for name in entry_names if name not in names
    ]
