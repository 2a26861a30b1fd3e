"""Read a file to import: find it on disk, decompress it, and decode its text.

gzip, bzip2 and xz are recognised by their first bytes. Text is UTF-8 (with or without a byte-order mark), UTF-16 with a
byte-order mark, or else Latin-1, in which every byte is a character.
"""

import bz2
import gzip
import hashlib
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from assay.foundation.errors import FormatError, missing_path_hint
from assay.foundation.progress import Progress

_REPOSITORY: Final = "repository.json"
"""A folder with this file is an assay repository."""
HEAD_BYTES: Final = 65_536
"""Number of bytes from a file's start by which its format is recognised."""
SIZE_MAX_BYTES: Final = 2 * 2**30
"""Maximum size after decompression: no result file is longer, and a small archive can hold terabytes."""
LINE_BYTES_MAX: Final = 1 << 20
"""Maximum length of a table's line, in bytes; a longer line is not a row and could fill the memory."""
EVENT_BYTES_MAX: Final = 256 * 2**20
"""Maximum length of a line of an event log, in bytes."""
_REPORT_BYTES: Final = 2**24
"""Bytes between two reports of progress."""
_MB: Final = 10**6
_MAGIC: Final[dict[bytes, Callable[[io.BufferedReader], Any]]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
_SPLIT_HINT: Final = "files of this format are read at once: split the file, if each part is then a complete file"
_UNREADABLE: Final = (OSError, EOFError, zlib.error, lzma.LZMAError)
"""Errors in reading a file that is damaged or not accessible."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file. ``name`` is its name in messages: the path below the folder that the user gave."""

    path: Path
    name: str
    report: Callable[[int], None] | None = field(default=None, compare=False)
    """Receives the number of bytes of the stored file that were read since the last call."""

    @contextmanager
    def _open(self) -> Iterator[tuple[io.BufferedReader, io.BufferedReader]]:
        """Yield the file, and its decompressed content; for an uncompressed file both are the same."""
        with self.path.open("rb") as file:
            first_bytes = file.read(6)
            file.seek(0)
            open_packed = next((function for magic, function in _MAGIC.items() if first_bytes.startswith(magic)), None)
            yield file, open_packed(file) if open_packed else file

    def _bytes(self, bytes_max: int) -> bytes:
        try:
            buffer = io.BytesIO()  # grows with the data: read(bytes_max) would allocate the maximum first
            with self._open() as (_, file):
                while piece := file.read(min(1 << 20, bytes_max - buffer.tell())):
                    buffer.write(piece)
            return buffer.getvalue()
        except _UNREADABLE as error:
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> FormatError:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        hint = missing_path_hint(self.path) if isinstance(error, FileNotFoundError) else "is it cut off? Fetch it again"
        return FormatError(f"can't be read: {why}", where=self.name, hint=hint)

    def head(self) -> bytes:
        """Return the first 64 KiB after decompression. Raises :class:`FormatError` if they can't be read."""
        return self._bytes(HEAD_BYTES)

    def digest(self) -> str:
        """Return the SHA-256 of the decompressed content, or of the file itself if it can't be decompressed."""
        try:
            with self._open() as (_, file):
                return hashlib.file_digest(file, "sha256").hexdigest()
        except _UNREADABLE:
            return hashlib.sha256(self.path.read_bytes()).hexdigest()

    def content(self) -> bytes:
        """Return the whole file, decompressed. Raises :class:`FormatError` if it is damaged or too large."""
        content = self._bytes(SIZE_MAX_BYTES + 1)
        if len(content) > SIZE_MAX_BYTES:
            raise FormatError(f"holds more than {SIZE_MAX_BYTES // 2**30} GiB", where=self.name, hint=_SPLIT_HINT)
        if self.report is not None:
            self.report(self.path.stat().st_size)
        return content

    @contextmanager
    def stream(self) -> Iterator[BinaryIO]:
        """Yield the decompressed content, for a file of any size. Raises :class:`FormatError` if it is damaged."""
        try:
            with self._open() as (stored, file):
                yield file if self.report is None else cast(BinaryIO, _ReportedStream(file, stored, self.report))
        except _UNREADABLE as error:
            raise self._damaged(error) from error

    def lines(self, unpack: Callable[[BinaryIO, str], BinaryIO] | None = None) -> Iterator[bytes]:
        """Yield the decompressed lines of a file of any size; only one line is in memory.

        ``unpack``: decompresses a file with the codec of its format; it receives the file and its name. Raises
        :class:`FormatError` if the file is damaged or a line is too long.
        """
        unreported = reported = 0
        try:
            with self._open() as (stored, packed):
                file = packed if unpack is None else unpack(packed, self.name)
                while line := file.readline(EVENT_BYTES_MAX + 1):
                    if len(line) > EVENT_BYTES_MAX:
                        raise FormatError(f"holds a line of more than {EVENT_BYTES_MAX // 2**20} MiB", where=self.name)
                    unreported += len(line)
                    if self.report is not None and unreported >= _REPORT_BYTES:
                        self.report(stored.tell() - reported)
                        unreported, reported = 0, stored.tell()
                    yield line
        except _UNREADABLE as error:
            raise self._damaged(error) from error

    def text(self) -> str:
        """Return the whole file as text. Raises :class:`FormatError` if it is damaged, too large or binary."""
        return decoded(self.content(), self.name)

    def check_lines(self, bytes_max: int) -> None:
        """Raise :class:`FormatError` if a line has more than ``bytes_max`` bytes, to within one read.

        The content is not kept in memory.
        """
        number, length = 1, 0
        try:
            with self._open() as (_, file):
                while length <= bytes_max and (piece := file.read(HEAD_BYTES)):
                    end = max(piece.rfind(b"\n"), piece.rfind(b"\r"))
                    length = len(piece) - end - 1 + (length if end < 0 else 0)
                    number += piece.count(b"\n")
        except _UNREADABLE as error:
            raise self._damaged(error) from error
        if length > bytes_max:
            raise FormatError(
                f"is a line of more than {bytes_max:,} bytes, which no row of a table has",
                where=f"{self.name}:{number}",
            )


class _ReportedStream:
    """A stream that reports how many bytes of the stored file were read."""

    def __init__(self, file: BinaryIO, stored: BinaryIO, report: Callable[[int], None]) -> None:
        self._file, self._stored, self._report = file, stored, report
        self._unreported = self._reported = 0

    def read(self, size: int) -> bytes:
        """Return the next ``size`` bytes."""
        return self._with_report(self._file.read(size))

    def readline(self, size: int) -> bytes:
        """Return the next line, or ``size`` bytes of it."""
        return self._with_report(self._file.readline(size))

    def _with_report(self, piece: bytes) -> bytes:
        self._unreported += len(piece)
        if self._unreported >= _REPORT_BYTES:
            self._report(self._stored.tell() - self._reported)
            self._unreported, self._reported = 0, self._stored.tell()
        return piece


def with_progress(sources: Sequence[Source], progress: Progress) -> list[Source]:
    """Return the files with a report of progress: the megabytes read of all files."""
    total = sum(source.path.stat().st_size for source in sources)
    read_bytes = 0

    def report(count: int) -> None:
        nonlocal read_bytes
        read_bytes += count
        progress("MB read", read_bytes // _MB, max(total, read_bytes) // _MB)

    return [replace(source, report=report) for source in sources]


def decoded(content: bytes, name: str) -> str:
    """Return ``content`` as text. Raises :class:`FormatError` if it is binary."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", errors="replace")
    if b"\0" in content[:HEAD_BYTES]:
        raise FormatError("is binary, not text", where=name)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _storable_name(name: str) -> str:
    """Return a file's name as text that can be stored. Bytes that are not UTF-8 become escapes."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _files_below(folder: Path) -> list[Path]:
    paths: list[Path] = []

    def refuse(error: OSError) -> None:
        raise FormatError(f"can't be listed: {error.strerror}", where=str(error.filename)) from error

    for name, folders, files in os.walk(folder, onerror=refuse):
        if _REPOSITORY in files:  # a repository's runs are stored already
            folders.clear()
            continue
        folders[:] = [inner for inner in folders if not inner.startswith(".")]
        paths += [Path(name, file) for file in files if not file.startswith(".") and Path(name, file).is_file()]
    return sorted(paths)


def sources_in(paths: list[Path]) -> Iterator[Source]:
    """Yield the files below ``paths``, sorted; hidden files are skipped unless they are in ``paths``.

    Raises :class:`FormatError` if a path does not exist or can't be listed.
    """
    for path in paths:
        if path.is_file():
            yield Source(path, _storable_name(path.name))
        elif path.is_dir():
            for entry in _files_below(path):
                yield Source(entry, _storable_name(f"{path.resolve().name}/{entry.relative_to(path)}"))
        else:
            raise FormatError("there is no such file or folder", where=str(path), hint=missing_path_hint(path))
