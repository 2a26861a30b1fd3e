"""Reserve space for a bundle before its run, and keep bundles that could not be published.

In: a repository's folders, sizes in bytes, the content of a bundle. Out: reserved space, a folder outside the
repository, and later its bundle in the repository. The folder is ``assay/unpublished/CAMPAIGN`` in ``$XDG_STATE_HOME``
(default ``~/.local/state``), or in the system's temporary directory if that folder is not writable.
"""

import errno
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from assay.foundation.errors import RepositoryError
from assay.foundation.units import format_bytes
from assay.model import Run
from assay.store.bundles.bundle import Contents, read_run, write_bundle
from assay.store.bundles.folders import Folders
from assay.store.bundles.staging import staging, sync, sync_tree

RESERVED_BYTES_MIN = 32 << 20
"""Reserved space if no similar bundle exists, in bytes. Bundles of small clusters have some hundred kilobytes."""
INODES_MIN = 64
"""Minimum number of free inodes to write a bundle."""
_UNSUPPORTED = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
"""Errors of file systems that can't reserve space."""


def reserve_space(folders: Folders, room_bytes: int) -> ExitStack:
    """Reserve space until the returned object is closed. Raises RepositoryError if the repository lacks space."""
    reservation = ExitStack()
    try:
        space = os.statvfs(folders.root)
        if space.f_files and space.f_favail < INODES_MIN:
            raise OSError(errno.ENOSPC, "No inodes left on device")
        folder = reservation.enter_context(staging(folders.partial, "room"))
        with (folder / "room").open("wb") as file:
            _allocate(file.fileno(), room_bytes, space.f_bavail * space.f_frsize)
    except OSError as error:
        reservation.close()
        free = shutil.disk_usage(folders.root).free
        raise RepositoryError(
            f"no run is started, because its bundle might not be stored: {error.strerror or error} "
            f"(it may need {format_bytes(room_bytes)}, {format_bytes(free)} are free)",
            where=str(folders.root),
            hint="free disk space there, or repair the disk; the same command resumes",
        ) from error
    return reservation


def _allocate(descriptor: int, room_bytes: int, free_bytes: int) -> None:
    try:
        os.posix_fallocate(descriptor, 0, room_bytes)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        if free_bytes < room_bytes:  # space can't be allocated: check that it is free now
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error


def size_of(folder: Path) -> int:
    """Return the total size of the files below ``folder``, in bytes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _parents() -> list[Path]:
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return [state / "assay" / "unpublished", Path(tempfile.gettempdir()) / f"assay-unpublished-{os.getuid()}"]


def keep_unpublished(campaign_id: str, contents: Contents) -> Path:
    """Write a bundle outside the repository, completely or not at all, and return its folder.

    Raises RepositoryError if no location is writable.
    """
    reasons = []
    for parent in _parents():
        folder = parent / campaign_id / contents.run.run_id
        try:
            folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with staging(folder.parent, "partial") as partial_folder:
                write_bundle(partial_folder, contents)
                sync_tree(partial_folder)
                partial_folder.rename(folder)
            sync(folder.parent)
        except (OSError, RepositoryError) as error:
            reasons.append(f"{parent}: {error}")
        else:
            return folder
    raise RepositoryError("it could not be saved elsewhere either", where="; ".join(reasons))


def publish_copies(campaign_id: str, place_copy: Callable[[Path], bool]) -> list[Run]:
    """Copy a campaign's unpublished bundles to its repository with ``place_copy``, and return the runs.

    Raises RepositoryError on failure; the unpublished bundles stay.
    """
    runs = []
    for folder in [parent / campaign_id for parent in _parents()]:
        bundles = sorted(path for path in folder.iterdir() if "~" not in path.name) if folder.is_dir() else []
        for bundle in bundles:
            run = read_run(bundle)
            place_copy(bundle)
            shutil.rmtree(bundle)
            runs.append(run)
        if folder.is_dir():
            shutil.rmtree(folder, ignore_errors=True)
    return runs
