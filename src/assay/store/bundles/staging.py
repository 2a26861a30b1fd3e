"""Write files in a staging folder before they are renamed into place, and detect the folders of dead writers.

The name of a staging folder identifies its writer: ``LABEL~SCOPE~PID~START~RANDOM``. SCOPE identifies the boot and the
pid namespace (several hosts or containers may share a repository). PID and START (clock ticks after boot, from
``/proc/PID/stat``) identify the process. A folder of this scope is removed if its process has ended. The writer of a
folder of another scope is not visible here, so the folder is removed after a day, longer than any writer runs.
"""

import os
import secrets
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from assay.foundation.errors import RepositoryError
from assay.foundation.process import pid_namespace_id, start_ticks

FOREIGN_AGE_MAX_S = 86_400.0
"""Age at which a folder of another machine, whose process can't be checked, counts as abandoned, in seconds."""
_TEMPORARY = "assay-index"
"""Prefix of folders in the system's temporary directory."""


def _writer_name(label: str) -> str:
    pid = os.getpid()
    return f"{label}~{pid_namespace_id()}~{pid}~{start_ticks(pid)}~{secrets.token_hex(4)}"


@contextmanager
def staging(partial: Path, label: str) -> Iterator[Path]:
    """Create a folder in ``partial``; it is removed afterwards unless it was renamed into place."""
    partial.mkdir(exist_ok=True)
    path = partial / _writer_name(label)
    path.mkdir()
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


class TemporaryFolders:
    """Temporary folders for files outside the repository, removed by ``close`` or at the end of the process.

    The next process that creates temporary folders removes those of a killed process.
    """

    def __init__(self) -> None:
        self._folders: dict[str, Path] = {}
        self._lock = threading.Lock()
        self.close = weakref.finalize(self, _remove, self._folders)
        """Removes the folders; called at the latest when the process ends."""

    def paths(self) -> list[Path]:
        """Return the existing folders."""
        return list(self._folders.values())

    def create(self) -> Iterator[Path]:
        """Yield a folder on disk (TMPDIR), then one in memory in case the disk is full. Each is created once."""
        for parent_of in (tempfile.gettempdir, lambda: "/dev/shm"):  # noqa: S108 - only the parent folder of the folder to create
            with suppress(OSError):
                yield self._folder_in(parent_of())

    def _folder_in(self, parent: str) -> Path:
        with self._lock:
            if parent not in self._folders:
                for entry in os.scandir(parent):
                    if entry.name.startswith(f"{_TEMPORARY}~{pid_namespace_id()}~") and _is_dead(entry, time.time()):
                        shutil.rmtree(entry.path, ignore_errors=True)
                path = Path(parent, _writer_name(_TEMPORARY))
                path.mkdir(mode=0o700)
                self._folders[parent] = path
            return self._folders[parent]


def _remove(folders: dict[str, Path]) -> None:
    while folders:
        shutil.rmtree(folders.popitem()[1], ignore_errors=True)


def clear_dead(partial: Path, *, now_unix_s: float | None = None) -> list[str]:
    """Remove the folders of dead writers in ``partial`` and return their names. Folders that can't be removed are
    ignored."""
    now = time.time() if now_unix_s is None else now_unix_s
    try:
        entries = list(os.scandir(partial))
    except OSError:
        return []
    dead_folders = [entry for entry in entries if _is_dead(entry, now)]
    for entry in dead_folders:
        shutil.rmtree(entry.path, ignore_errors=True)
    return [entry.name for entry in dead_folders]


def _is_dead(entry: os.DirEntry[str], now_unix_s: float) -> bool:
    match entry.name.split("~"):
        case [_, scope, pid, start, _] if scope == pid_namespace_id() and pid.isdecimal():
            return str(start_ticks(int(pid))) != start
    try:
        return now_unix_s - entry.stat(follow_symlinks=False).st_mtime > FOREIGN_AGE_MAX_S
    except FileNotFoundError:
        return False


def sync(path: Path) -> None:
    """Flush one file or folder to its device."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(root: Path) -> None:
    """Flush every file and folder under ``root``, and ``root`` itself."""
    for folder, _, names in os.walk(root, topdown=False):
        for name in names:
            sync(Path(folder, name))
        sync(Path(folder))


def sync_placed(target: Path) -> None:
    """Flush the parent folder of a renamed file or folder. Raises RepositoryError if the device fails."""
    try:
        sync(target.parent)
    except OSError as error:
        message = f"it is stored, but may be lost after a power failure: {error.strerror}"
        raise RepositoryError(
            message, where=str(target), hint="repair the disk, and check with `assay verify`"
        ) from error


def reasons_of(error: OSError) -> str:
    """Return why a folder could not be copied. shutil lists one reason per file; the first three are returned."""
    reasons = error.args[0] if error.args and isinstance(error.args[0], list) else [error]
    return "; ".join(dict.fromkeys(str(item[-1] if isinstance(item, tuple) else item) for item in reasons[:3]))


def creation_error(root: Path, error: OSError) -> RepositoryError:
    """Return why a repository could not be created."""
    return RepositoryError(
        f"can't make a repository: {error.strerror}",
        where=str(root),
        hint="free disk space, repair the disk, or choose another folder with --repository",
    )


def storage_error(target: Path, error: OSError | None = None) -> RepositoryError:
    """Return why a bundle was not stored: it exists already, or the error."""
    if error is None or target.exists():
        return RepositoryError("this is already stored, and a bundle is never changed", where=str(target))
    return RepositoryError(
        f"it could not be stored: {error.strerror or reasons_of(error)}",
        where=str(error.filename or target),
        hint="nothing was stored; free disk space or repair the disk, and try again",
    )
