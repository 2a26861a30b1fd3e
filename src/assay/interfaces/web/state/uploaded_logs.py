"""Keep logs that visitors send, in a temporary folder of the server, until newer ones displace them.

In: the key of an upload, file names and sizes. Out: a folder for each upload. The key is a random number that the
sender chooses, so no other visitor can name it. Nothing is written to the repository.
"""

import re
import shutil
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from assay.foundation.errors import SpecificationError

FILE_BYTES_MAX = 500 * 10**6
"""Maximum size of one file, in bytes."""
TOTAL_BYTES_MAX = 2 * 10**9
"""Maximum size of all uploads together, in bytes: the oldest are removed."""
FILES_MAX = 50
"""Maximum number of files of one upload."""
UPLOADS_MAX = 50
"""Maximum number of uploads."""
_KEY = re.compile(r"[0-9a-f]{32}")
_NAME = re.compile(r"[A-Za-z0-9_+-][A-Za-z0-9_.+-]{0,199}")


@dataclass(slots=True)
class UploadedLogs:
    """The uploads of a server, oldest first."""

    _root: TemporaryDirectory[str] | None = None
    _sizes: OrderedDict[str, dict[str, int]] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def begin(self, key: str, name: str, size_bytes: int) -> Path:
        """Return the file to write, with room for ``size_bytes``. Raises SpecificationError for an invalid name."""
        if not _KEY.fullmatch(key):
            raise SpecificationError("the key of an upload has 32 hexadecimal digits", where="upload")
        if not _NAME.fullmatch(name):
            raise SpecificationError(f"{name[:60]!r} is not a file name", where="name")
        if size_bytes > FILE_BYTES_MAX:
            raise SpecificationError(
                f"the file has {size_bytes:,} bytes, and the server accepts at most {FILE_BYTES_MAX:,}",
                where=name,
                hint="compress it, or run assay size where the log is",
            )
        with self._lock:
            files = self._sizes.setdefault(key, {})
            if len(files) >= FILES_MAX and name not in files:
                raise SpecificationError(f"an upload has at most {FILES_MAX} files", where=name)
            files[name] = size_bytes
            self._sizes.move_to_end(key)
            while len(self._sizes) > 1 and (len(self._sizes) > UPLOADS_MAX or self._total() > TOTAL_BYTES_MAX):
                oldest_key, _ = self._sizes.popitem(last=False)
                shutil.rmtree(self._folder(oldest_key), ignore_errors=True)
            folder = self._folder(key)
            folder.mkdir(exist_ok=True)
        return folder / name

    def folder(self, key: str) -> Path | None:
        """Return the folder of an upload; None if there is none, or newer uploads displaced it."""
        return self._folder(key) if key in self._sizes else None

    def close(self) -> None:
        """Remove all files."""
        with self._lock:
            self._sizes.clear()
            if self._root is not None:
                self._root.cleanup()
                self._root = None

    def _total(self) -> int:
        return sum(sum(files.values()) for files in self._sizes.values())

    def _folder(self, key: str) -> Path:
        if self._root is None:
            self._root = TemporaryDirectory(prefix="assay-logs-")
        return Path(self._root.name) / key
