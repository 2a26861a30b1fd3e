"""Bundles as streams: packed as a tar, and taken from one, for repositories that meet over a network.

A packed bundle is a plain tar (POSIX.1-2001) of its files in their order, with no times and no owners, so that the same
bundle always makes the same bytes. What comes in is not trusted: only plain files with plain names are unpacked, up to
a bound, into a staging repository in which it must verify and its runs must be readable; then it is placed as any copy.
"""

from __future__ import annotations

import hashlib
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from assay.errors import RepositoryError
from assay.repository.bundle import SUMS_FILE, file_in, file_names, is_import
from assay.repository.index import bundle_names
from assay.repository.repository import Repository
from assay.repository.staging import staging

BUNDLE_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,99}")
FILES_MAX = 20_000
_BLOCK = 512
_CHUNK = 1 << 20


class RefusedBundleError(RepositoryError):
    """What came in is no intact bundle; another one may be."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A bundle as a tar: its size in bytes, its SHA-256, and where it is read from."""

    bundle: Path
    names: tuple[str, ...]
    size_bytes: int
    sha256: str

    def chunks(self) -> Iterator[bytes]:
        """Yield the tar."""
        return _chunks(self.bundle, self.names)


def bundle_ids(repository: Repository, after: str = "", limit: int | None = None) -> list[str]:
    """Return the ids of the bundles behind ``after``, sorted, at most ``limit``."""
    return [name for name in bundle_names(repository.folders.bundles) if name > after][:limit]


def pack(repository: Repository, bundle_id: str) -> Packed:
    """Return a bundle ready to be sent. Raises :class:`RepositoryError` when there is none, or it has odd files."""
    bundle = _path(repository, bundle_id)
    if not bundle.is_dir():
        raise RepositoryError(f"there is no bundle {bundle_id!r}", hint="the list of bundles has all ids")
    names = (*file_names(bundle), SUMS_FILE)
    strange = next((name for name in names if (bundle / name).is_symlink() or not (bundle / name).is_file()), None)
    if strange is not None:
        raise RepositoryError(f"{strange!r} is no plain file", where=bundle_id, hint="`assay verify` lists all damage")
    digest, size = hashlib.sha256(), 0
    for chunk in _chunks(bundle, names):
        digest.update(chunk)
        size += len(chunk)
    return Packed(bundle, names, size, digest.hexdigest())


def _path(repository: Repository, bundle_id: str) -> Path:
    if not BUNDLE_ID.fullmatch(bundle_id):
        raise RepositoryError(f"{bundle_id[:100]!r} can't be a bundle's id")
    return repository.folders.bundles / bundle_id


def _chunks(bundle: Path, names: tuple[str, ...]) -> Iterator[bytes]:
    for name in names:
        entry = tarfile.TarInfo(name)
        entry.size = (bundle / name).stat().st_size
        yield entry.tobuf(tarfile.PAX_FORMAT)
        left = entry.size
        with (bundle / name).open("rb") as file:
            while left and (chunk := file.read(min(_CHUNK, left))):
                left -= len(chunk)
                yield chunk
        if left:
            raise RepositoryError(f"{name!r} was cut while it was read", where=bundle.name)
        yield bytes(-entry.size % _BLOCK)
    yield bytes(2 * _BLOCK)


def receive(repository: Repository, bundle_id: str, tar: BinaryIO, *, bytes_max: int) -> bool:
    """Take a packed bundle; say whether it was new here. Its content must be whole and its runs readable.

    Raises :class:`RefusedBundleError` for anything that is not, and :class:`RepositoryError` for a full disk; nothing
    is stored then.
    """
    if _path(repository, bundle_id).exists():
        return False
    try:
        with staging(repository.folders.partial, "receive") as folder:
            scratch = Repository.create(folder / "repository")
            bundle = scratch.folders.bundles / bundle_id
            bundle.mkdir()
            unpack(tar, bundle, bytes_max=bytes_max)
            _check(scratch, bundle)
            return repository.place_copy(bundle)
    except OSError as error:
        raise RepositoryError(
            f"it could not be stored: {error.strerror}", where=bundle_id, hint="nothing of it was stored; make room"
        ) from error


def unpack(tar: BinaryIO, folder: Path, *, bytes_max: int) -> None:
    """Unpack plain files into ``folder``. Raises :class:`RefusedBundleError` for anything else, and too much."""
    taken = 0
    try:
        with tarfile.open(fileobj=tar, mode="r|") as archive:
            for number, entry in enumerate(archive):
                taken += entry.size
                if not entry.isreg() or number >= FILES_MAX or taken > bytes_max:
                    what = f"{entry.name[:100]!r} is no plain file" if not entry.isreg() else "it is too large"
                    raise RefusedBundleError(f"this is no bundle: {what}", where=folder.name)
                content = archive.extractfile(entry)
                try:
                    path = file_in(folder, entry.name)
                except RepositoryError as error:
                    raise RefusedBundleError(f"this is no bundle: {error.message}", where=folder.name) from error
                if content is None or path.exists():
                    raise RefusedBundleError(f"this is no bundle: {entry.name[:100]!r} twice", where=folder.name)
                with path.open("wb") as file:
                    while chunk := content.read(_CHUNK):
                        file.write(chunk)
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise RefusedBundleError(f"this is no packed bundle, or it was cut: {error}", where=folder.name) from error


def _check(scratch: Repository, bundle: Path) -> None:
    problems = scratch.verify()
    if problems:
        first = problems[0]
        raise RefusedBundleError(f"{first.file}: {first.detail}", where=bundle.name, hint="send it from an intact copy")
    runs = scratch.runs(environment=False)
    if not runs or (not is_import(bundle) and [run.run_id for run in runs] != [bundle.name]):
        raise RefusedBundleError("its runs can't be read", where=bundle.name, hint="send it from an intact copy")
