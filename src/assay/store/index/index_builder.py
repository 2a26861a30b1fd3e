"""Write the files of an index: the runs of all bundles, derived from them.

In: the names of the bundles and the files of older indexes. Out: the path of the last file of an index that covers
these bundles, and a note of each bundle that can't be read.

The builder starts from the newest usable older index. It writes the runs of missing bundles as one further file, which
names the files before it. It merges small files at the end into the new file, so there are few files: each has more
than twice the rows of the next. If a bundle has vanished, or two bundles hold the same run, it writes all files again.
"""

from __future__ import annotations

import hashlib
import itertools
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from assay.foundation.errors import RepositoryError
from assay.model import Run
from assay.store.bundles.bundle import (
    IMPORT_RUNS_FILE,
    RUN_FILE,
    BundleProblem,
    ProblemKind,
    check_files,
    is_import,
    read_run,
)
from assay.store.bundles.folders import Folders
from assay.store.bundles.staging import TemporaryFolders, staging, storage_error, sync
from assay.store.index import queries
from assay.store.index.index_cache import IndexFiles
from assay.store.index.runs_file import (
    Coding,
    OtherVersionError,
    decode_run,
    query_with_codes_of,
    read_coding,
    rows_of,
    write_runs,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

REMOVED_AFTER_S = 600.0
"""Time for which a replaced index file is kept, in seconds: slow queries still use the index they started with."""
_NEW_RUNS: Final = "new_runs"
_LENGTH_RATIO: Final = 2
"""Minimum ratio of the rows of a file to the rows of the next file. An index of a million runs has at most 20 files."""


def index_name(bundles: Iterable[str]) -> str:
    """Return the name of the last file of an index over these bundles."""
    content = "\n".join([str(queries.INDEX_VERSION), queries.INDEX_PARTS, *bundles])
    return f"runs-{hashlib.blake2b(content.encode(), digest_size=8).hexdigest()}.parquet"


def index_files(folders: Folders, temporary: TemporaryFolders) -> list[Path]:
    """Return the files of all indexes, oldest first."""
    parents = (folders.index.absolute(), *temporary.paths())
    try:
        files = [path for folder in parents for path in folder.glob("runs*.parquet")]
        return sorted(files, key=lambda path: path.stat().st_mtime)
    except OSError:  # another process removed a file in between
        return []


@dataclass(frozen=True, slots=True)
class IndexBuilder:
    """A writer of indexes of one repository."""

    folders: Folders
    temporary: TemporaryFolders
    """Folders for the last file when the repository can't be written."""
    problems: list[BundleProblem]
    """Receives a note of each bundle that can't be read."""
    replace: bool = False
    """Whether to replace an existing file of the same name, which is damaged.

    Otherwise the existing file stays. Another process wrote it, perhaps with other files before it, and a reader may
    have read its list of files but not yet its rows.
    """

    def build(self, database: DuckDBPyConnection, names: Sequence[str], older_paths: Sequence[Path]) -> Path:
        """Write the index over the bundles ``names``, and return its last file. ``older_paths``: existing files."""
        sources = self._sources(database, names, older_paths)
        if sources.older_files and not sources.parts:  # no missing bundle can be read
            return sources.older_files[-1][0]
        previous_files = sources.merge_small_files(database, self.folders.index)
        unreadable_bundles = {problem.run_id for problem in self.problems}
        write = partial(
            write_runs,
            database,
            query=sources.query(database),
            coding=sources.coding,
            previous_files=previous_files,
            row_group=queries.ROW_GROUP_LOOKED_UP,
        )
        path = self._write(index_name(name for name in names if name not in unreadable_bundles), write)
        self._remove_outdated({path.name, *(name for name, _ in previous_files)})
        return path

    def _write(self, name: str, write: Callable[[Path], object]) -> Path:
        """Write a whole index file and return its path: in the repository, or in a temporary folder."""
        import duckdb

        temporary = ((folder, folder) for folder in self.temporary.create())
        for folder, partial_folder in itertools.chain([(self.folders.index, self.folders.partial)], temporary):
            path = folder.absolute() / name
            try:
                folder.mkdir(exist_ok=True)
                with staging(partial_folder, "index") as staging_folder:
                    write(staging_folder / name)
                    sync(staging_folder / name)
                    self._move_into_index(staging_folder / name, path)
                return path
            except (OSError, duckdb.Error) as error:
                failure = error
        raise storage_error(path, failure) if isinstance(failure, OSError) else failure

    def _move_into_index(self, new_file: Path, path: Path) -> None:
        """Move a written file to ``path``; an existing file stays unless ``replace`` is set."""
        if not self.replace:
            try:
                path.hardlink_to(new_file)
                return
            except FileExistsError:
                return
            except OSError:  # the file system has no hard links
                if path.exists():
                    return
        new_file.rename(path)

    def _remove_outdated(self, current: Collection[str]) -> None:
        """Remove index files that have been outdated for ten minutes.

        Each folder of index files has a record of when they became outdated. For files without a time in the record,
        and for all files if the record is damaged, the ten minutes start now.
        """
        now_unix_s = time.time()
        for folder in (self.folders.index, *self.temporary.paths()):
            record = folder / self.folders.outdated.name
            with suppress(OSError):
                recorded_times = _outdated_since(record)
                names = {path.name for path in folder.glob("runs*.parquet")} - set(current)
                since_unix_s = {name: recorded_times.get(name, now_unix_s) for name in names}
                for name in sorted(names):
                    if now_unix_s - since_unix_s[name] > REMOVED_AFTER_S:
                        (folder / name).unlink(missing_ok=True)
                        del since_unix_s[name]
                with staging(
                    self.folders.partial if folder == self.folders.index else folder, "index"
                ) as staging_folder:
                    (staging_folder / record.name).write_bytes(msgspec.json.encode(since_unix_s))
                    (staging_folder / record.name).rename(record)

    def _sources(
        self, database: DuckDBPyConnection, names: Sequence[str], older_paths: Sequence[Path]
    ) -> _IndexSources:
        """Return the content of an index over ``names``, and note the bundles that can't be read.

        It starts from the newest older index that can be read and covers no vanished bundle.
        """
        import duckdb

        bundles = self.folders.bundles
        older_indexes = (_older_index(database, path, self.folders.index) for path in reversed(older_paths))
        sources = next(
            (index for index in older_indexes if index and index.covered_bundles <= set(names)), _IndexSources()
        )
        single_runs: list[Run] = []
        recoded_imports: dict[str, list[Run]] = {}
        imports: list[tuple[str, Path, Coding]] = []
        for name in names:
            if name in sources.covered_bundles:
                continue
            try:
                if is_import(bundles / name):
                    bundle = bundles / name
                    problems = check_files(bundle, (IMPORT_RUNS_FILE,))
                    if problems:
                        raise RepositoryError(f"{problems[0].file}: {problems[0].detail}", where=str(bundle))
                    file = bundle / IMPORT_RUNS_FILE
                    try:
                        imports.append((name, file, read_coding(database, file)))
                    except OtherVersionError:
                        rows = database.execute(queries.WHOLE_RUNS, [str(file.absolute())]).fetchall()
                        recoded_imports[name] = [decode_run(run_json, environment) for run_json, environment in rows]
                else:
                    single_runs.append(_single_run(bundles / name))
            except (duckdb.Error, RepositoryError, OSError) as error:
                detail = error.message if isinstance(error, RepositoryError) else str(error).splitlines()[0]
                self.problems.append(BundleProblem(name, RUN_FILE, ProblemKind.UNREADABLE, detail))
        for _, _, coding in imports:
            sources.coding.add_levels_of(coding)
        if single_runs:
            database.register(_NEW_RUNS, rows_of(single_runs, None, sources.coding))
            sources.parts.append(f"SELECT * FROM {_NEW_RUNS}")  # noqa: S608 - a constant
        for number, (name, runs) in enumerate(recoded_imports.items()):
            database.register(f"{_NEW_RUNS}_{number}", rows_of(runs, name, sources.coding))
            sources.parts.append(f"SELECT * FROM {_NEW_RUNS}_{number}")  # noqa: S608 - a constant and a number
        for name, file, coding in imports:
            sources.parts.append(
                query_with_codes_of(queries.parquet(str(file.absolute())), coding, sources.coding, bundle=name)
            )
        sources.may_repeat = bool(imports or recoded_imports or single_runs)
        return sources


@dataclass(slots=True)
class _IndexSources:
    """The content of a new index: files that stay, queries for further rows, and the codes that all share."""

    coding: Coding = field(default_factory=Coding)
    parts: list[str] = field(default_factory=list)
    older_files: list[tuple[Path, int]] = field(default_factory=list)
    """The older index's files, each with its number of rows."""
    covered_bundles: set[str] = field(default_factory=set)
    may_repeat: bool = False
    """Whether several bundles may hold the same run: imports that overlap, or a run and its exported figures."""

    def merge_small_files(self, database: DuckDBPyConnection, folder: Path) -> list[tuple[str, int]]:
        """Merge small files into the new file, and return the files that stay, each with its number of rows.

        The rows of merged files become parts. A file outside the index's ``folder`` is temporary and never stays
        because other processes can't read it.
        """
        files = [str(path) for path, _ in self.older_files]
        if self.may_repeat and files:
            ((has_repeats,),) = database.execute(queries.duplicated_runs(files, self.parts)).fetchall()
            self.may_repeat = bool(has_repeats)
            if has_repeats:
                self._merge(len(self.older_files))
        rows = sum(database.execute(queries.count_of(part)).fetchall()[0][0] for part in self.parts)
        while self.older_files and (
            self.older_files[-1][1] <= _LENGTH_RATIO * rows or self.older_files[-1][0].parent != folder.absolute()
        ):
            rows += self.older_files[-1][1]
            self._merge(1)
        return [(path.name, count) for path, count in self.older_files]

    def _merge(self, number: int) -> None:
        """Merge the rows of the last ``number`` files into the new file."""
        for path, _ in self.older_files[len(self.older_files) - number :]:
            self.parts.append(queries.rows_in(str(path)))
        del self.older_files[len(self.older_files) - number :]

    def query(self, database: DuckDBPyConnection) -> str:
        """Return the query for the rows of the new file."""
        if self.may_repeat:
            database.execute(queries.repeated_runs(self.parts))
        return queries.all_rows(self.parts or [queries.NO_ROWS], without_repeated=self.may_repeat)


def _single_run(bundle: Path) -> Run:
    """Return the run of a single run's bundle. Raises :class:`RepositoryError` if it was changed or can't be read."""
    run = read_run(bundle)
    changed_files = [problem for problem in check_files(bundle, (RUN_FILE,)) if problem.kind is ProblemKind.CHANGED]
    if changed_files:
        raise RepositoryError(f"{changed_files[0].file}: {changed_files[0].detail}", where=str(bundle))
    return run


def _older_index(database: DuckDBPyConnection, path: Path, folder: Path) -> _IndexSources | None:
    """Return the content of an older index from its last file, with its other files in ``folder``; None if damaged."""
    import duckdb

    try:
        coding = read_coding(database, path)
        files = IndexFiles.of(database, path.absolute(), folder)
        covered_bundles = {name for (name,) in database.execute(queries.BUNDLES_OF, [files.path_texts]).fetchall()}
        counts = [int(database.execute(queries.COUNT_OF, [name]).fetchall()[0][0]) for name in files.path_texts]
    except (duckdb.Error, RepositoryError):
        return None
    return _IndexSources(
        coding, older_files=list(zip(files.paths, counts, strict=True)), covered_bundles=covered_bundles
    )


def _outdated_since(record: Path) -> dict[str, float]:
    """Return when index files became outdated, in seconds since 1970; empty if no record can be read."""
    try:
        return msgspec.json.decode(record.read_bytes(), type=dict[str, float])
    except (FileNotFoundError, msgspec.MsgspecError):
        return {}
