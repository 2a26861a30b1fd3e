"""Pack bundles and their files into one archive ``NAME.tar.gz``, and import runs from an archive.

The archive has one folder with ``repository/`` (a repository with these bundles only), other given files, and
``SHA256SUMS`` over all, in the format of ``sha256sum -c``. Members are sorted and have no times or owners, so equal
content gives equal bytes. Received archives are not trusted: only regular files with plain names are unpacked, up to a
size limit, and every bundle is checked before it is copied.
"""

import gzip
import hashlib
import io
import tarfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from assay.foundation.checksums import file_sha256
from assay.foundation.errors import RepositoryError
from assay.foundation.output import output_file
from assay.store.bundles.bundle import SUMS_FILE, all_names, check_bundle, is_import
from assay.store.bundles.folders import MARKER
from assay.store.bundles.staging import staging
from assay.store.exchange.attached_profiles import profile_bundle
from assay.store.exchange.exchange import CopySummary, copy_bundles
from assay.store.exchange.imports import ImportFacts, ids_in, import_facts
from assay.store.exchange.transfer import FILES_MAX, RefusedBundleError, unpack
from assay.store.index.index import bundle_names
from assay.store.repository import Repository

FOLDER = "repository"
BYTES_MAX = 1 << 36
"""Maximum size of an unpacked package: 64 GiB."""


def bundles_with(repository: Repository, run_ids: Collection[str]) -> list[str]:
    """Return the bundles that contain any of these runs or a profile attached to them, sorted."""
    ids, folder = set(run_ids), repository.folders.bundles
    names = bundle_names(folder)
    run_bundles = ids.intersection(names)
    imported_ids = ids - run_bundles
    imports = [name for name in names if imported_ids and is_import(folder / name)]
    profiles = {profile_bundle(folder, run_id).name for run_id in ids}.intersection(names)
    return sorted(
        [*run_bundles, *profiles, *(name for name in imports if not imported_ids.isdisjoint(ids_in(folder / name)))]
    )


def imports_of(repository: Repository) -> list[ImportFacts]:
    """Return the facts of all imports in the repository."""
    folder = repository.folders.bundles
    return [import_facts(folder / name) for name in bundle_names(folder) if is_import(folder / name)]


def write_package(path: Path, repository: Repository, bundles: Sequence[str], files: Mapping[str, bytes]) -> int:
    """Write the package, completely or not at all; return its size in bytes.

    Raises :class:`RepositoryError` for a damaged bundle and for too many files, and AssayError if it can't be written.
    """
    members = _members(repository, bundles, files)
    if len(members) >= FILES_MAX:
        raise RepositoryError(
            f"{len(members):,} files are more than a package holds ({FILES_MAX:,})",
            where=str(path),
            hint="choose runs with --workload, or `assay push` the repository",
        )
    top = path.name.split(".", 1)[0] or "report"
    with output_file(path) as new_file:
        with new_file.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
            _write(packed, top, members)
        return new_file.stat().st_size


Member = tuple[str, Path | bytes]


def _members(repository: Repository, bundles: Sequence[str], files: Mapping[str, bytes]) -> list[Member]:
    members: list[Member] = [*files.items(), (f"{FOLDER}/{MARKER}", repository.folders.marker)]
    for name in bundles:
        bundle = repository.folders.bundles / name
        problems = check_bundle(bundle)
        if problems:
            raise RepositoryError(
                f"{problems[0].file}: {problems[0].detail}",
                where=name,
                hint="`assay verify` lists all damage; a package contains only intact runs",
            )
        members += [(f"{FOLDER}/bundles/{name}/{file}", bundle / file) for file in all_names(bundle)]
    return members


def _write(package: gzip.GzipFile, top: str, members: Sequence[Member]) -> None:
    sums = []
    with tarfile.open(fileobj=package, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        for name, content in members:
            digest = _add(archive, f"{top}/{name}", content)
            sums.append(f"{digest}  {name}\n")
        _add(archive, f"{top}/{SUMS_FILE}", "".join(sums).encode())


def _add(archive: tarfile.TarFile, name: str, content: Path | bytes) -> str:
    entry = tarfile.TarInfo(name)
    if isinstance(content, bytes):
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
        return hashlib.sha256(content).hexdigest()
    with content.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        entry.size = file.tell()
        file.seek(0)
        archive.addfile(entry, file)
    return digest


@contextmanager
def opened_package(path: Path, scratch: Path) -> Iterator[Repository]:
    """Unpack a package into a folder in ``scratch``, check its checksums, and yield its repository.

    Raises :class:`RepositoryError` if the file is not a package or is damaged.
    """
    with staging(scratch, "package") as folder:
        try:
            with gzip.open(path, "rb") as tar:
                unpack(cast("BinaryIO", tar), folder, bytes_max=BYTES_MAX)
        except RefusedBundleError as error:
            raise RepositoryError(f"this is not a package of assay: {error.message}", where=str(path)) from error
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise RepositoryError(f"this is not a package, or it is truncated: {error}", where=str(path)) from error
        except OSError as error:
            raise RepositoryError(f"it can't be unpacked: {error.strerror}", where=str(path)) from error
        folders = [entry for entry in folder.iterdir() if (entry / FOLDER / MARKER).is_file()]
        if len(folders) != 1:
            raise RepositoryError(
                "the package holds no repository", where=str(path), hint="`assay report --bundle` makes such a file"
            )
        _check_checksums(folders[0], path)
        yield Repository.open(folders[0] / FOLDER)


def _check_checksums(folder: Path, path: Path) -> None:
    """Raise :class:`RepositoryError` if files of the unpacked ``folder`` are missing, unlisted or changed."""
    try:
        lines = (folder / SUMS_FILE).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RepositoryError(f"its {SUMS_FILE} can't be read: {error}", where=str(path)) from error
    digests = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    files = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()} - {SUMS_FILE}
    problems = [f"{name!r} is missing" for name in sorted(digests.keys() - files)]
    problems += [f"{name!r} is not listed in {SUMS_FILE}" for name in sorted(files - digests.keys())]
    for name in [] if problems else sorted(files):
        if file_sha256(folder / name) != digests[name]:
            problems.append(f"{name!r} does not match its checksum")
    if problems:
        raise RepositoryError(problems[0], where=str(path), hint="it was damaged or changed in transit: fetch it again")


def pull_package(path: Path, target: Repository, progress: Callable[[int, int], None]) -> CopySummary:
    """Copy the bundles of a package that ``target`` lacks."""
    with opened_package(path, target.folders.partial) as source:
        return copy_bundles(source, target, progress)
