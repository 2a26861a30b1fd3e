"""Open and create repositories: folders of immutable bundles, one per run or import, with an index over them.

:mod:`assay.store.bundles.folders` defines the layout. A bundle is written in a staging folder, flushed to the device,
and renamed into place. So it exists completely or not at all, also after kill -9 or a power loss. Many readers and
writers work at once without locks.
"""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final, Self

import msgspec
import numpy as np

from assay.analysis.statistics import Item, RunTable
from assay.foundation.errors import RepositoryError
from assay.foundation.progress import Progress, no_progress
from assay.foundation.version import __version__
from assay.model import SIMULATED_HIGH_S, SIMULATED_LOW_S, Environment, Run, TaskAttempt, Trace
from assay.store.bundles import bundle as bundle_files
from assay.store.bundles.bundle import BundleProblem, Contents
from assay.store.bundles.duplicates import DuplicateSource, probable_duplicates
from assay.store.bundles.folders import INITIAL_FOLDERS, MARKER, Folders
from assay.store.bundles.staging import clear_dead, creation_error, staging, storage_error, sync, sync_placed, sync_tree
from assay.store.exchange.attached_profiles import AttachedFacts, AttachedProfile, profile_bundle, write_profile
from assay.store.exchange.imports import (
    Batch,
    ImportRequest,
    ImportSummary,
    collect_batch,
    ids_in,
    import_id,
    import_to_replace,
    imported_tasks,
    imported_trace,
    imports_of_file_names,
    imports_of_files,
    source_file,
    summary_of,
    write_import,
)
from assay.store.index.coverage import traced_runs
from assay.store.index.index import Filters, Index, bundle_names
from assay.store.index.tables import DuckDBReader
from assay.store.near_repository import repository_hint
from assay.store.other_version import other_version

VERSION: Final = 1
"""Version of the repository's format. assay opens only this version."""
_RUN_ID = re.compile(r"^[0-9A-Za-z][0-9A-Za-z._-]{0,99}$")
_CANDIDATES_MAX = 10
"""Maximum number of runs that a message lists for an ambiguous id."""
_COUNTED_MAX = 10_000
"""Maximum number of runs that are counted for an ambiguous id."""
_IMPORTS_CACHED_MAX = 10_000
"""Maximum number of run ids whose import is cached."""


class Repository:
    """The runs in one folder. Create an instance with :meth:`open` or :meth:`create`."""

    def __init__(self, root: Path) -> None:
        self.folders = Folders(root)
        self._connect = DuckDBReader().connection
        self._problems: list[BundleProblem] = []
        self._imports: dict[str, Path] = {}
        self._index = Index(self.folders, self._problems, self._connect)

    @classmethod
    def open(cls, root: Path) -> Self:
        """Open the repository in ``root`` and remove the files of dead writers.

        Raises :class:`RepositoryError` if there is no repository, or if it has another version.
        """
        try:
            version = msgspec.json.decode(bundle_files.plain_content(Folders(root).marker))["assay_repository"]
        except (FileNotFoundError, NotADirectoryError) as error:
            raise RepositoryError("there is no repository here", where=str(root), hint=repository_hint(root)) from error
        except (OSError, ValueError, KeyError, TypeError, msgspec.MsgspecError) as error:
            raise RepositoryError(
                f"this is not a repository's marker file: {error}",
                where=str(root / MARKER),
                hint=f'its content should be {{"assay_repository": {VERSION}}}',
            ) from error
        if version != VERSION:
            raise other_version(version, VERSION, root / MARKER)
        clear_dead(Folders(root).partial)
        return cls(root)

    def close(self) -> None:
        """Remove temporary files. Call it if a signal ends the process; at a normal end, assay removes them itself."""
        self._index.temporary.close()

    @staticmethod
    def is_at(root: Path) -> bool:
        """Return whether ``root`` holds a repository, of any version."""
        return Folders(root).marker.exists()

    @classmethod
    def create(cls, root: Path) -> Self:
        """Open the repository in ``root``, or create it.

        Raises :class:`RepositoryError` if the folder can't be created or holds something else.
        """
        if cls.is_at(root):
            return cls.open(root)
        try:
            root.mkdir(parents=True, exist_ok=True)
            foreign_names = sorted(path.name for path in root.iterdir() if path.name not in INITIAL_FOLDERS)
            if foreign_names and cls.is_at(root):  # another process has just created it
                return cls.open(root)
            if foreign_names:
                raise RepositoryError(
                    f"the folder is neither empty nor a repository: it contains {foreign_names[0]!r}",
                    where=str(root),
                    hint="name an empty or new folder",
                )
            for name in INITIAL_FOLDERS:
                (root / name).mkdir(exist_ok=True)
            with staging(Folders(root).partial, "marker") as folder:
                (folder / MARKER).write_text(f'{{"assay_repository": {VERSION}}}\n')
                (folder / MARKER).rename(root / MARKER)
        except OSError as error:
            raise creation_error(root, error) from error
        return cls.open(root)

    @property
    def root(self) -> Path:
        """The repository's folder, for messages and other processes; :attr:`folders` has the paths in it."""
        return self.folders.root

    def changed_ns(self) -> int:
        """Return when a process last added or removed a bundle, in ns; caches of answers depend on it."""
        try:
            return self.folders.bundles.stat().st_mtime_ns
        except OSError:
            return 0

    def has_index_of(self, table: RunTable) -> bool:
        """Return whether the runs of a table from :meth:`table` can still be looked up."""
        return self._index.holds(table)

    def covers_all(self, table: RunTable) -> bool:
        """Return whether a table from :meth:`table` has the runs of all current bundles."""
        return self._index.covers_all(table)

    def cache_row_lookup(self, table: RunTable) -> None:
        """Keep in memory the rows of the runs of a table from :meth:`table`, for many lookups: about 60 bytes per run.

        From then on, data of single runs that were looked up is cached too, up to some tens of MB.
        """
        self._index.cache_row_lookup(table)

    def scratch_file(self) -> IO[bytes]:
        """Return a temporary file for a bundle that is being received. Closing the file deletes it."""
        return TemporaryFile(dir=self.folders.partial)

    def traced_runs(self, *, or_tasks: bool = False) -> set[str]:
        """Return the ids of the runs that have a trace; with ``or_tasks``, a trace or task attempts."""
        return traced_runs(self.folders.bundles, self._connect, or_tasks=or_tasks)

    def publish(
        self,
        run: Run,
        *,
        tasks: Sequence[TaskAttempt] = (),
        trace: Trace | None = None,
        logs: Mapping[str, bytes | Path] | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> Path:
        """Store a finished run as a bundle, completely or not at all, and return the bundle's folder.

        ``logs`` are compressed; a path is copied. ``files`` are stored unchanged. Names may contain folders (``w1/x``).
        Raises :class:`RepositoryError` if the run id exists already, a value can't be stored, or the disk is full.
        """
        if not _RUN_ID.match(run.run_id):
            raise RepositoryError(f"{run.run_id!r} can't be a run's id", hint="use new_run_id()")
        contents = Contents(run, tasks, trace, logs or {}, files or {})
        return self._publish_folder(run.run_id, lambda path: bundle_files.write_bundle(path, contents, self._connect))

    def _publish_folder(self, name: str, write: Callable[[Path], object]) -> Path:
        """Create the bundle ``name`` from the files that ``write`` puts into a folder, completely or not at all."""
        target = self.folders.bundles / name
        if target.exists():
            raise storage_error(target)
        try:
            target.parent.mkdir(exist_ok=True)
            with staging(self.folders.partial, name) as folder:
                write(folder)
                sync_tree(folder)
                folder.rename(target)
        except OSError as error:
            raise storage_error(target, error) from error
        sync_placed(target)
        return target

    def place_copy(self, bundle: Path) -> bool:
        """Copy a bundle of another repository; return whether it is new here. Raises :class:`RepositoryError`."""
        return self._place_new(bundle.name, lambda folder: bundle_files.copy_bundle(bundle, folder))

    def _place_new(self, name: str, write: Callable[[Path], object]) -> bool:
        """Publish a bundle as :meth:`_publish_folder` does; False if another process stored it first."""
        try:
            self._publish_folder(name, write)
        except RepositoryError:
            if (self.folders.bundles / name).exists():
                return False
            raise
        return True

    def import_runs(
        self,
        format_name: str,
        items: Callable[[], Iterable[Item]],
        sources: Sequence[tuple[str, Path]],
        request: ImportRequest | None = None,
        progress: Progress = no_progress,
    ) -> ImportSummary:
        """Store the runs that ``items()`` reads from ``sources`` (names and paths) as one bundle.

        Runs that the repository already has are not stored again. ``progress`` receives the number of runs read, then
        the megabytes of the sources that are stored.
        Raises :class:`RepositoryError` if the bundle can't be stored, and the errors of ``items``.
        """
        request = request or ImportRequest()
        files = [source_file(name, path) for name, path in sources]
        folder = self.folders.bundles
        bundle = folder / import_id(format_name, files, request.variant)
        earlier_imports = [name for name in imports_of_file_names(folder, format_name, files) if name != bundle.name]
        to_replace = earlier_imports if request.replace else []
        if bundle.exists():
            return summary_of(bundle, to_replace)
        other_mappings = imports_of_files(folder, format_name, files) if request.variant else []

        def read_batch(replaced_imports: Sequence[str]) -> Batch:
            replaced_ids = {run_id for name in replaced_imports for run_id in ids_in(folder / name)}
            return collect_batch(
                items(),
                bundle_id=bundle.name,
                format_name=format_name,
                sources=files,
                plan=request.plan,
                progress=progress,
                stored_ids_among=lambda ids: self._index.stored_ids_among(ids) - replaced_ids,
            )

        batch = read_batch(to_replace)
        skipped = tuple(batch.skipped)
        if not len(batch) or (request.strict and skipped):
            return ImportSummary(None, format_name, 0, batch.already_there, skipped)
        checks_duplicates = request.by_rows and not request.again
        if checks_duplicates and (duplicates := self._probable_duplicates(batch, to_replace)):
            if not request.replace:
                return ImportSummary(None, format_name, 0, batch.already_there, skipped, probably=tuple(duplicates))
            earlier_imports += [import_to_replace(folder, source) for source in duplicates]
            batch = read_batch(earlier_imports)
        if not self._place_new(batch.import_id, lambda folder: write_import(folder, batch, __version__, progress)):
            # another process stored one of the same files at the same time
            return ImportSummary(None, format_name, 0, len(batch), skipped)
        if request.replace:
            for name in earlier_imports:
                self._remove(name)
            other_mappings = [name for name in other_mappings if name not in earlier_imports]
        return ImportSummary(
            batch.import_id,
            format_name,
            len(batch),
            batch.already_there,
            skipped,
            tuple(other_mappings),
            earlier=() if request.replace else tuple(earlier_imports),
            replaced=tuple(earlier_imports) if request.replace else (),
        )

    def _probable_duplicates(self, batch: Batch, excluded_imports: Sequence[str]) -> list[DuplicateSource]:
        """Return the imports that probably hold the runs of ``batch``, except ``excluded_imports``."""
        if not bundle_names(self.folders.bundles):
            return []
        stored_runs = self.table()
        rows_of_new = np.array(self.positions_of(stored_runs, batch.stored_ids), dtype=np.int64)
        return [
            match
            for match in probable_duplicates(stored_runs, batch.table(), rows_of_new)
            if match.bundle not in excluded_imports
        ]

    def _remove(self, name: str) -> None:
        """Remove a bundle completely: it leaves ``bundles`` before any of its files is deleted."""
        try:
            with staging(self.folders.partial, name) as folder:
                (self.folders.bundles / name).rename(folder / name)
            sync(self.folders.bundles)
        except OSError as error:
            raise RepositoryError(
                f"the new import is stored, but the import that it replaces can't be removed: {error.strerror}",
                where=str(self.folders.bundles / name),
                hint="delete this folder",
            ) from error

    def runs(
        self,
        *,
        workload: str | None = None,
        layout: str | None = None,
        status: str | None = None,
        plan: str | None = None,
        campaign_id: str | None = None,
        limit: int | None = None,
        environment: bool = True,
    ) -> list[Run]:
        """Return the runs that match all conditions, newest last; ``limit`` keeps the newest.

        With ``environment=False``, their environments stay empty, which is faster. A bundle that can't be read is left
        out with a logged warning. Raises :class:`RepositoryError` if the index can't be built.
        """
        runs = self._index.runs(Filters(workload, layout, status, plan, campaign_id, limit), environment=environment)
        self._warn()
        return runs

    def table(self, metrics: Sequence[str] = ()) -> RunTable:
        """Return all runs as columns, with the named metrics; see :meth:`runs_at`. Fast for a million runs.

        The bounds of simulated times are always included because conclusions from these times depend on them.
        """
        table = self._index.table((SIMULATED_LOW_S, SIMULATED_HIGH_S, *metrics))
        self._warn()
        return table

    def metrics(self) -> list[str]:
        """Return the names of the values that :meth:`table` can have."""
        return self._index.metrics()

    def runs_at(self, table: RunTable, positions: Sequence[int]) -> list[Run]:
        """Return the complete runs at these positions of :meth:`table`, in the same order.

        Raises :class:`RepositoryError` if the index that the table was read from no longer exists: read the table
        again.
        """
        return self._index.runs_at(table, positions)

    def environments_at(self, table: RunTable, positions: Sequence[int]) -> list[Environment]:
        """Return the environments of the runs at these positions, in the same order; errors as in :meth:`runs_at`.

        Runs on equal hosts share one object.
        """
        return self._index.environments_at(table, positions)

    def positions_of(self, table: RunTable, ids: Sequence[str]) -> list[int]:
        """Return the positions in :meth:`table` of the runs with these ids, sorted; errors as in :meth:`runs_at`."""
        return self._index.positions_of(table, ids)

    def ids_at(self, table: RunTable, positions: Sequence[int]) -> list[str]:
        """Return the ids of the runs at these positions of :meth:`table`, in order; errors as in :meth:`runs_at`."""
        return self._index.ids_at(table, positions)

    def _warn(self) -> None:
        for problem in self._problems:
            logging.getLogger(__name__).warning(
                "bundle %s is left out: %s. `assay verify` lists all damage.", problem.run_id, problem.detail
            )

    def run(self, prefix: str) -> Run:
        """Return the run whose id begins with ``prefix``, or whose source calls it ``prefix``.

        Raises :class:`RepositoryError` if there is none, if there are several (with the candidates), or if its bundle
        is damaged.
        """
        return self._run_with_id(prefix) or self._run_with_id(self._full_id(prefix)) or self._import_of(prefix)[1]

    def _run_with_id(self, run_id: str) -> Run | None:
        """Return the run with exactly this id, or None. Faster than a prefix because other ids are not searched."""
        if not _RUN_ID.match(run_id):
            return None
        bundle = self.folders.bundles / run_id
        if bundle.is_dir() and not bundle_files.is_import(bundle):
            return bundle_files.read_run(bundle)
        bundle_and_run = self._index.find(run_id)
        if bundle_and_run is None:
            return None
        self._remember(run_id, bundle_and_run[0])
        return bundle_and_run[1]

    def _remember(self, run_id: str, bundle_name: str) -> None:
        """Remember the import that holds a run: bundles never change."""
        if len(self._imports) >= _IMPORTS_CACHED_MAX:
            self._imports.clear()
        self._imports[run_id] = self.folders.bundles / bundle_name

    def _full_id(self, prefix: str) -> str:
        bundles = self.folders.bundles
        matches = [name for name in bundle_names(bundles) if prefix and name.startswith(prefix)]
        matches = [name for name in matches if not bundle_files.is_import(bundles / name)]
        if prefix in matches:
            return prefix
        if prefix:
            matches = sorted({*matches, *self._index.ids_that_begin(prefix, _COUNTED_MAX)})
        if prefix in matches:
            return prefix
        if prefix and (not matches or prefix.isdecimal()):  # the beginning of a run's id may be a source's id
            source_matches = self._index.ids_of_source_id(prefix, _COUNTED_MAX)
            matches = sorted({*matches, *source_matches}) if len(matches) == 1 else source_matches or matches
        if len(matches) == 1:
            return matches[0]
        if not matches:
            raise RepositoryError(
                f"no run has an id that begins with {prefix!r}, or this id in its source",
                where=str(self.root),
                hint="`assay runs` lists them",
            )
        listed_ids = "\n    ".join(matches[:_CANDIDATES_MAX])
        others = f"\n    and {len(matches) - _CANDIDATES_MAX} more" if len(matches) > _CANDIDATES_MAX else ""
        raise RepositoryError(
            f"{len(matches)} runs have an id that begins with {prefix!r}, or this id in their source",
            where=str(self.root),
            hint=f"one of\n    {listed_ids}{others}",
        )

    def _import_of(self, run_id: str) -> tuple[Path, Run]:
        """Return the import that holds a run, and the run."""
        bundle_and_run = self._index.find(run_id) if _RUN_ID.match(run_id) else None
        if bundle_and_run is None:
            raise RepositoryError(f"there is no run {run_id!r}", where=str(self.root), hint="`assay runs` lists them")
        self._remember(run_id, bundle_and_run[0])
        return self.folders.bundles / bundle_and_run[0], bundle_and_run[1]

    def bundle_path(self, run_id: str) -> Path:
        """Return the folder of the run's bundle, or of the import that holds it.

        Raises :class:`RepositoryError` if the run does not exist.
        """
        path = self.folders.bundles / run_id
        if _RUN_ID.match(run_id) and path.is_dir():
            return path
        cached_import = self._imports.get(run_id)
        return cached_import if cached_import and cached_import.is_dir() else self._import_of(run_id)[0]

    def tasks(self, run_id: str) -> list[TaskAttempt]:
        """Return the run's task attempts; empty without tasks."""
        if (bundle := self.bundle_path(run_id)).name == run_id:
            return bundle_files.read_tasks(bundle, self._connect)
        return imported_tasks(bundle, run_id, self._connect)

    def trace(self, run_id: str) -> Trace:
        """Return the run's trace, node by node; empty without a trace."""
        if (bundle := self.bundle_path(run_id)).name == run_id:
            return bundle_files.read_trace(bundle, self._connect)
        return imported_trace(bundle, run_id, self._connect)

    def attach_profile(self, profile: AttachedProfile, sources: Sequence[tuple[str, Path]]) -> Path:
        """Store a profile that was recorded outside assay for a run, and return its bundle; the run does not change.

        Raises :class:`RepositoryError` if the run has an attached profile, or if the bundle can't be stored.
        """
        files = [source_file(name, path) for name, path in sources]
        name = profile_bundle(self.folders.bundles, profile.facts.run_id).name
        return self._publish_folder(name, lambda folder: write_profile(folder, name, profile, files, __version__))

    def attached_profile(self, run_id: str) -> AttachedFacts | None:
        """Return the facts about the profile attached to a run; None without one."""
        return AttachedFacts.of(profile_bundle(self.folders.bundles, run_id))

    def _bundle_of_log(self, run_id: str, name: str) -> Path:
        attached = profile_bundle(self.folders.bundles, run_id)
        return attached if name in bundle_files.log_names(attached) else self.bundle_path(run_id)

    def log(self, run_id: str, name: str) -> bytes:
        """Return a log. Raises :class:`RepositoryError`, with the names of the run's logs, if ``name`` is unknown."""
        return bundle_files.read_log(self._bundle_of_log(run_id, name), name)

    def log_chunks(self, run_id: str, name: str, offset: int = 0) -> Iterator[bytes]:
        """Return a log from byte ``offset`` on, in chunks; errors as in :meth:`log`."""
        return bundle_files.read_log_chunks(self._bundle_of_log(run_id, name), name, offset)

    def logs(self, run_id: str) -> list[str]:
        """Return the names of the run's logs, sorted. An imported run has only those of an attached profile."""
        attached = profile_bundle(self.folders.bundles, run_id)
        return sorted([*bundle_files.log_names(self.bundle_path(run_id)), *bundle_files.log_names(attached)])

    def files(self, run_id: str) -> dict[str, int]:
        """Return the names of the bundle's files, sorted, with the size of each stored file in bytes."""
        bundle = self.bundle_path(run_id)
        return {name: (bundle / name).lstat().st_size for name in bundle_files.file_names(bundle)}

    def verify(self, progress: Callable[[int, int], None] | None = None) -> list[BundleProblem]:
        """Check every bundle against its checksums and return all problems.

        ``progress`` receives the number of finished bundles and the total. The index is deleted, so that the next query
        builds it from the checked bundles.
        """
        names = bundle_names(self.folders.bundles)
        problems = bundle_files.unknown_entries(self.folders.bundles, names)
        for done, name in enumerate(names, start=1):
            problems += bundle_files.check_bundle(self.folders.bundles / name, self._connect)
            if progress:
                progress(done, len(names))
        self._index.forget()
        return problems
