"""Write the files of a site: only those that changed, and all of them at once.

In: a folder and the site's files. Out: the folder with these files, and ``assay-site.json``, which lists them with
their SHA-256. Files that an earlier publication wrote and this one lacks are deleted. Other files are never
overwritten: a folder without ``assay-site.json`` must be empty, except for names that begin with a dot, such as
``.git``.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assay.foundation.checksums import file_sha256
from assay.foundation.errors import AssayError, SpecificationError
from assay.foundation.output import write_output
from assay.foundation.process import deferred_signals

LISTING: Final = "assay-site.json"
"""Name of the file that marks a site and lists its files."""
STAGING: Final = ".assay-publish"
"""Name of the folder in the site's folder in which changed files wait until all are made."""
SITE_VERSION: Final = 1
"""Version of the listing."""
_UNFINISHED: Final = ""
"""Checksum of a file that an interrupted publication has not written yet."""


@dataclass(frozen=True, slots=True)
class SiteFile:
    """A file of a site. ``name``: path below the site's folder."""

    name: str
    make: Callable[[], bytes]
    """Makes the content."""
    key: str = ""
    """Hash of everything that the content depends on. If it is unchanged, the content is not made again. Empty: the
    content is always made, and compared."""


@dataclass(frozen=True, slots=True)
class SiteSummary:
    """The result of a publication: numbers of files, and the size of the whole site in bytes."""

    written: int
    unchanged: int
    deleted: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class _ListingEntry:
    sha256: str
    key: str


def check_site(folder: Path) -> None:
    """Raise SpecificationError if ``folder`` holds something other than a site. Call it before long work."""
    _listed_entries(folder)


def write_site(folder: Path, files: Sequence[SiteFile], progress: Callable[[int, int], None]) -> SiteSummary:
    """Replace the files that changed, all at once, and delete those that the site no longer has.

    ``progress`` receives the number of finished files and the total. Changed files are first written to the folder
    :data:`STAGING`. An interruption before they replace the old ones leaves the old site; afterwards, the new one.
    """
    old_entries = _listed_entries(folder)
    _refuse_foreign(folder, files, old_entries)
    new_entries: dict[str, _ListingEntry] = {}
    size_bytes = 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(folder / STAGING, ignore_errors=True)
        for number, file in enumerate(files, start=1):
            new_entries[file.name] = _stage(folder, file, old_entries.get(file.name))
            size_bytes += newest_path(folder, file.name).stat().st_size
            progress(number, len(files))
        written_names = [file.name for file in files if (folder / STAGING / file.name).exists()]
        with deferred_signals():
            deleted = _replace(folder, written_names, old_entries, new_entries)
    except OSError as error:
        raise AssayError(f"the site can't be written: {error.strerror}", where=str(error.filename or folder)) from error
    finally:
        shutil.rmtree(folder / STAGING, ignore_errors=True)
    return SiteSummary(len(written_names), len(files) - len(written_names), deleted, size_bytes)


def newest_path(folder: Path, name: str) -> Path:
    """Return the path of a site's file: the changed one, if this publication has written it already."""
    staged_path = folder / STAGING / name
    return staged_path if staged_path.exists() else folder / name


def _stage(folder: Path, file: SiteFile, entry: _ListingEntry | None) -> _ListingEntry:
    """Write a file to the staging folder if it changed; return its entry of the listing."""
    path = folder / file.name
    if entry is not None and file.key and path.is_file() and entry.key == file.key:
        return entry
    content = file.make()
    digest = hashlib.sha256(content).hexdigest()
    if not path.is_file() or file_sha256(path) != digest:
        staged_path = folder / STAGING / file.name
        staged_path.parent.mkdir(parents=True, exist_ok=True)
        write_output(staged_path, content)
    return _ListingEntry(digest, file.key)


def _replace(
    folder: Path, names: Sequence[str], old_entries: Mapping[str, _ListingEntry], new_entries: dict[str, _ListingEntry]
) -> int:
    """Move the staged files to their places; return the number of deleted files.

    The first listing names old and new files, so that after a loss of power the next publication recognises them.
    """
    _write_listing(folder, {**old_entries, **new_entries, **dict.fromkeys(names, _ListingEntry(_UNFINISHED, ""))})
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / STAGING / name).replace(folder / name)
    deleted = _delete(folder, old_entries.keys() - new_entries.keys())
    _write_listing(folder, new_entries)
    return deleted


def _listed_entries(folder: Path) -> dict[str, _ListingEntry]:
    """Return the files that an earlier publication listed; empty for a new folder."""
    hint = "name a new or empty folder, or one that `assay publish` wrote"
    try:
        if not folder.exists():
            return {}
        if not folder.is_dir():
            raise SpecificationError("this is not a folder", where=str(folder), hint=hint)
        if not (folder / LISTING).exists():
            foreign_names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
            if foreign_names:
                message = f"the folder holds other files, for example {foreign_names[0]!r}; nothing was written"
                raise SpecificationError(message, where=str(folder), hint=hint)
            return {}
        listing = json.loads((folder / LISTING).read_text(encoding="utf-8"))
        version = listing["assay_site"]
        entries = {name: _ListingEntry(entry["sha256"], entry["key"]) for name, entry in listing["files"].items()}
    except OSError as error:
        raise AssayError(f"the folder can't be read: {error.strerror}", where=str(folder)) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SpecificationError("this is not a listing of a site", where=str(folder / LISTING), hint=hint) from error
    if version != SITE_VERSION:
        message = f"the site was published by another version of assay (listing {version}, not {SITE_VERSION})"
        raise SpecificationError(message, where=str(folder / LISTING), hint="publish into a new folder")
    return entries


def _refuse_foreign(folder: Path, files: Sequence[SiteFile], old_entries: Mapping[str, _ListingEntry]) -> None:
    """Raise SpecificationError if a new file of the site would replace a file that assay did not write."""
    foreign_name = next(
        (file.name for file in files if file.name not in old_entries and (folder / file.name).exists()), None
    )
    if foreign_name is not None:
        raise SpecificationError(
            "this file was not written by `assay publish`; nothing was written",
            where=str(folder / foreign_name),
            hint="move it, or name another folder",
        )


def _delete(folder: Path, names: Set[str]) -> int:
    for name in sorted(names):
        if name.startswith("/") or ".." in Path(name).parts:  # a listing that was edited must not reach other folders
            continue
        (folder / name).unlink(missing_ok=True)
    return len(names)


def _write_listing(folder: Path, entries: Mapping[str, _ListingEntry]) -> None:
    listing_values = {name: {"sha256": entry.sha256, "key": entry.key} for name, entry in sorted(entries.items())}
    content = json.dumps({"assay_site": SITE_VERSION, "files": listing_values}, indent=1) + "\n"
    path = folder / LISTING
    if not path.is_file() or path.read_text(encoding="utf-8") != content:
        write_output(path, content.encode())
