"""Write a file that a user named: completely or not at all, and without replacing a special file.

- A regular file, also behind a symbolic link, is replaced in one step by a new file from the same folder. It keeps its
  mode and its owner, and the link stays a link.
- Any other file (a device, a FIFO, ``/dev/stdout``) is not replaced: the content is written to a temporary file and
  copied. A block device is refused, because writing would destroy its content.
"""

import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote

from assay.foundation.errors import AssayError

_LINKS_MAX = 40
"""Maximum number of symbolic links that Linux follows (``MAXSYMLINKS``)."""


@contextmanager
def output_file(path: Path) -> Iterator[Path]:
    """Yield the path of an empty file to write. When the block ends without an error, ``path`` gets its content.

    Raises :class:`AssayError` for any OSError, and leaves ``path`` unchanged.
    """
    try:
        with _in_place(path) if _must_write_in_place(path) else _replacement(path) as new_file:
            yield new_file
    except OSError as error:
        raise _write_error(path, error) from error


def write_output(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path``, completely or not at all; see :func:`output_file`."""
    with output_file(path) as new_file:
        new_file.write_bytes(content)


def check_output(path: Path) -> None:
    """Raise :class:`AssayError` if it is certain that ``path`` can't be written. Call it before long work."""
    folder = Path(os.path.realpath(path)).parent
    try:
        if not _must_write_in_place(path) and not os.access(folder, os.W_OK | os.X_OK):
            raise OSError("its folder is not writable" if folder.is_dir() else "its folder does not exist")
    except OSError as error:
        raise _write_error(path, error) from error


def _write_error(path: Path, error: OSError) -> AssayError:
    hint = None if path.parent.is_dir() else f"`mkdir -p {quote(str(path.parent))}` makes the folder"
    return AssayError(f"the file can't be written: {error.strerror or error}", where=str(path), hint=hint)


def _must_write_in_place(path: Path) -> bool:
    """Return whether ``path`` must be written in place. Raises OSError if it must not be written at all."""
    if _process_descriptor(path) is not None:
        return True
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISBLK(mode):
        raise OSError("this is a block device, and its content would be lost")
    if not stat.S_ISREG(mode):
        return True
    # Opening checks the write permission, and the links that the kernel's protected_symlinks forbids.
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        return not os.path.samestat(os.fstat(descriptor), Path(os.path.realpath(path)).stat())
    except FileNotFoundError:
        return True  # a deleted file that is still open, named by its descriptor in /proc
    finally:
        os.close(descriptor)


def _process_descriptor(path: Path) -> int | None:
    """Return the descriptor of this process that ``path`` names, such as ``/dev/stdout``; None for other paths."""
    process_folder = f"/proc/{os.getpid()}/"
    for _ in range(_LINKS_MAX):
        folder = os.path.realpath(path.parent)
        if folder.startswith(process_folder) and folder.endswith("/fd") and path.name.isdecimal():
            return int(path.name)
        path = Path(folder, path.name)
        if not path.is_symlink():
            return None
        path = Path(folder, path.readlink())
    return None


@contextmanager
def _in_place(path: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        new_file = Path(folder, "output")
        new_file.touch()
        yield new_file
        sys.stdout.flush()  # earlier output comes first
        descriptor = _process_descriptor(path)
        output_descriptor = (
            os.open(path, os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC) if descriptor is None else os.dup(descriptor)
        )
        with os.fdopen(output_descriptor, "wb") as target, new_file.open("rb") as source:
            if descriptor is None and stat.S_ISREG(os.fstat(output_descriptor).st_mode):
                target.truncate()
            shutil.copyfileobj(source, target, 1 << 20)


@contextmanager
def _replacement(path: Path) -> Iterator[Path]:
    target, created = Path(os.path.realpath(path)), False
    if path.is_symlink() and not path.exists():
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666))
        created = True
    scratch_folder = target.parent / f".assay-{secrets.token_hex(8)}"
    try:
        scratch_folder.mkdir(0o700)
        new_file = scratch_folder / "output"
        new_file.touch()
        yield new_file
        _copy_attributes(new_file, target)
        new_file.replace(target)
        created = False
    finally:
        shutil.rmtree(scratch_folder, ignore_errors=True)
        if created:
            with suppress(OSError):
                target.unlink()


def _copy_attributes(new_file: Path, target: Path) -> None:
    """Give the new file the mode and owner of the file that it replaces, and flush it to its device."""
    descriptor = os.open(new_file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with suppress(FileNotFoundError):
            old_status, new_status = target.stat(), os.fstat(descriptor)
            if (old_status.st_uid, old_status.st_gid) != (new_status.st_uid, new_status.st_gid):
                with suppress(PermissionError):
                    os.fchown(descriptor, old_status.st_uid, old_status.st_gid)
            os.fchmod(descriptor, old_status.st_mode & 0o777)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
