"""Pack bundles as tar streams and unpack them, for repositories that exchange runs over a network.

A packed bundle is a plain tar (POSIX.1-2001) of its files in order, without times and owners, so equal bundles give
equal bytes. Received data is not trusted: only regular files with plain names are unpacked, up to a size limit, into a
staging repository. assay checks the bundle and reads its runs there, then copies it to the repository.
"""

import hashlib
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from assay.foundation.errors import RepositoryError
from assay.store.bundles.bundle import (
    IMPORT_FILE,
    RUN_FILE,
    SIGNATURE_FILE,
    SUMS_FILE,
    all_names,
    file_in,
    irregular_files,
    is_import,
)
from assay.store.bundles.folders import MARKER
from assay.store.bundles.received import out_of_range, table_out_of_range
from assay.store.bundles.signatures import signature_problem
from assay.store.bundles.staging import staging
from assay.store.exchange.attached_profiles import PROFILE_FILE, AttachedFacts, profile_bundle
from assay.store.index.index import bundle_names
from assay.store.repository import Repository

BUNDLE_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,99}")
FILES_MAX = 20_000
"""Maximum number of files in a bundle or package."""
_BLOCK = 512
"""Block size of a tar archive, in bytes."""
_CHUNK = 1 << 20
"""Maximum bytes of a file that are in memory at a time."""
_EXTENDED_BYTES_MAX = 64 * 1024
"""Maximum size of an extended header, in bytes. A path has at most 4,096 bytes."""
_EXTENDED_MAX = 2
"""Maximum number of extended headers before one file."""
_CHECKED_FILES = frozenset({RUN_FILE, IMPORT_FILE, PROFILE_FILE, SUMS_FILE, SIGNATURE_FILE, MARKER})
"""Files that are read completely and checked on receipt."""
_CHECKED_BYTES_MAX = 64 << 20
"""Maximum size of a file that is read completely for checking, in bytes."""


class RefusedBundleError(RepositoryError):
    """The received data is not an intact bundle. Other bundles are unaffected."""


@dataclass(frozen=True, slots=True)
class BundleArchive:
    """A bundle as a tar: size in bytes, SHA-256, and source."""

    bundle: Path
    names: tuple[str, ...]
    size_bytes: int
    sha256: str

    def chunks(self) -> Iterator[bytes]:
        """Yield the tar in chunks."""
        return _chunks(self.bundle, self.names)


def bundle_ids(repository: Repository, after: str = "", limit: int | None = None) -> list[str]:
    """Return the sorted ids of bundles that follow ``after``, at most ``limit`` ids."""
    return [name for name in bundle_names(repository.folders.bundles) if name > after][:limit]


def pack(repository: Repository, bundle_id: str) -> BundleArchive:
    """Return a bundle for sending. Raises :class:`RepositoryError` if it does not exist or has unexpected files."""
    bundle = _path(repository, bundle_id)
    if not bundle.is_dir():
        raise RepositoryError(f"there is no bundle {bundle_id!r}", hint="the list of bundles has all ids")
    if irregular := irregular_files(bundle):
        raise RepositoryError(
            f"{irregular[0].file!r} is not a regular file", where=bundle_id, hint="`assay verify` lists all damage"
        )
    names = tuple(all_names(bundle))
    digest, size = hashlib.sha256(), 0
    for chunk in _chunks(bundle, names):
        digest.update(chunk)
        size += len(chunk)
    return BundleArchive(bundle, names, size, digest.hexdigest())


def _path(repository: Repository, bundle_id: str) -> Path:
    if not BUNDLE_ID.fullmatch(bundle_id):
        raise RepositoryError(f"{bundle_id[:100]!r} can't be a bundle's id")
    return repository.folders.bundles / bundle_id


def _chunks(bundle: Path, names: tuple[str, ...]) -> Iterator[bytes]:
    for name in names:
        entry = tarfile.TarInfo(name)
        entry.size = (bundle / name).stat().st_size
        yield entry.tobuf(tarfile.PAX_FORMAT)
        remaining_bytes = entry.size
        with (bundle / name).open("rb") as file:
            while remaining_bytes and (chunk := file.read(min(_CHUNK, remaining_bytes))):
                remaining_bytes -= len(chunk)
                yield chunk
        if remaining_bytes:
            raise RepositoryError(f"{name!r} was cut while it was read", where=bundle.name)
        yield bytes(-entry.size % _BLOCK)
    yield bytes(2 * _BLOCK)


def receive(repository: Repository, bundle_id: str, tar: BinaryIO, *, bytes_max: int) -> bool:
    """Store a packed bundle; return whether it is new.

    Raises :class:`RefusedBundleError` for an incomplete bundle or unreadable runs, and :class:`RepositoryError` for a
    full disk. Nothing is stored in these cases.
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
            if message := signature_problem(repository.folders, bundle):
                raise RefusedBundleError(
                    message, where=bundle_id, hint="`assay sign` signs, with a key that is listed there"
                )
            return repository.place_copy(bundle)
    except OSError as error:
        raise RepositoryError(
            f"it could not be stored: {error.strerror}", where=bundle_id, hint="nothing was stored; free disk space"
        ) from error


class _Member(tarfile.TarInfo):
    """A header of an untrusted archive. tarfile reads some kinds of headers into memory, however large they are.

    Archives of assay contain regular files, and one extended header of POSIX.1-2001 for a long or non-ASCII name. GNU
    tar, which may repack an archive, writes another header for a long name. All other kinds are rejected.
    """

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        assert isinstance(archive, _Archive)
        if self.type in (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME):
            archive.extended += 1
            if not 0 <= self.size <= _EXTENDED_BYTES_MAX or archive.extended > _EXTENDED_MAX:
                raise _not_a_bundle("a header in it is too large")
        elif self.type in (tarfile.REGTYPE, tarfile.AREGTYPE):
            archive.extended = 0
        else:
            raise _not_a_bundle(f"{self.name[:100]!r} is not a regular file")
        member: tarfile.TarInfo = super()._proc_member(archive)  # type: ignore[misc]
        if member.size < 0:
            raise _not_a_bundle(f"{member.name[:100]!r} has a negative size")
        return member

    def _refuse_sparse(self, *_: object) -> None:
        raise _not_a_bundle(f"{self.name[:100]!r} is not a regular file")

    _proc_gnusparse_00 = _proc_gnusparse_01 = _proc_gnusparse_10 = _refuse_sparse


class _Archive(tarfile.TarFile):
    extended = 0
    """Number of extended headers since the last file."""


def _not_a_bundle(problem: str) -> RefusedBundleError:
    return RefusedBundleError(f"this is not a bundle: {problem}")


def unpack(tar: BinaryIO, folder: Path, *, bytes_max: int) -> None:
    """Unpack regular files to ``folder``.

    Raises :class:`RefusedBundleError` for other entries, and for more than ``bytes_max`` bytes.
    """
    try:
        with _Archive.open(fileobj=tar, mode="r|", tarinfo=_Member) as archive:
            remaining_bytes = bytes_max
            for number, entry in enumerate(archive):
                bytes_max_of_file = min(
                    remaining_bytes,
                    _CHECKED_BYTES_MAX if entry.name.rpartition("/")[2] in _CHECKED_FILES else remaining_bytes,
                )
                if number >= FILES_MAX or entry.size > bytes_max_of_file:
                    raise _not_a_bundle("it is too large")
                remaining_bytes -= entry.size
                _unpack_file(archive, entry, folder)
                archive.members.clear()  # type: ignore[attr-defined]
    except RefusedBundleError as error:
        raise RefusedBundleError(error.message, where=folder.name) from error
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise RefusedBundleError(
            f"this is not a packed bundle, or it is truncated: {error}", where=folder.name
        ) from error


def _unpack_file(archive: tarfile.TarFile, entry: tarfile.TarInfo, folder: Path) -> None:
    content = archive.extractfile(entry)
    try:
        path = file_in(folder, entry.name)
    except RepositoryError as error:
        raise _not_a_bundle(error.message) from error
    if content is None or path.exists():
        raise _not_a_bundle(f"{entry.name[:100]!r} twice")
    with path.open("wb") as file:
        while chunk := content.read(_CHUNK):
            file.write(chunk)


def _check(scratch: Repository, bundle: Path) -> None:
    problems = scratch.verify()
    if problems:
        first = problems[0]
        raise RefusedBundleError(f"{first.file}: {first.detail}", where=bundle.name, hint="send it from an intact copy")
    runs = scratch.runs(environment=False)
    if (facts := AttachedFacts.of(bundle)) is not None:
        is_intact = not runs and is_import(bundle) and profile_bundle(bundle.parent, facts.run_id).name == bundle.name
    else:
        is_intact = bool(runs) and (is_import(bundle) or [run.run_id for run in runs] == [bundle.name])
    if not is_intact:
        raise RefusedBundleError("its runs can't be read", where=bundle.name, hint="send it from an intact copy")
    message = next(filter(None, map(out_of_range, runs)), None) or table_out_of_range(scratch.table())
    if message:
        raise RefusedBundleError(message, where=bundle.name, hint="assay does not write values like this")
