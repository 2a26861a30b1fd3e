"""Make a class-data-sharing archive of the daemons' classes, so that daemons restart faster.

A restart in a lab is CPU-bound: about ten JVMs parse and verify about 8,000 classes each. Java's class data sharing
(JEP 310) maps these classes from a file instead. The first daemons on this machine record the classes that they load.
From these records, assay makes one archive for all five kinds of daemon in its cache directory, once for each Hadoop
and Java. JVMs of jobs and clients never use the archive, so it does not affect measured programs.

In: a distribution, a Java. Out: Java options, and a file of about 100 MB. Without the archive, daemons start more
slowly.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from assay.execution.engines.hadoop.deployment.distribution import Distribution
from assay.foundation.installation import cache_directory

_MAKE_TIMEOUT_S = 180.0
"""Maximum time for making an archive, in seconds."""
_VERSION_TIMEOUT_S = 20.0
"""Maximum time for ``java -version``, in seconds."""


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """The archive of one Hadoop and one Java on this machine; it may not exist yet."""

    folder: Path
    java: str
    jars: str
    """The archived part of the class path; Java requires it first and unchanged."""
    other_entries: str

    @classmethod
    async def of(cls, distribution: Distribution, java: str) -> ClassArchive | None:
        """Return the archive of a distribution and Java; None if Java prints no version."""
        try:
            status, version = await _run([java, "-version"], _VERSION_TIMEOUT_S)
        except OSError:
            return None
        if status != 0:
            return None
        entries = [f"{distribution.home}/{entry}" for entry in distribution.classpath]
        jars = [entry for entry in entries if entry.endswith("/*")]
        jar_paths = sorted(str(path) for entry in jars for path in Path(entry).parent.glob("*.jar"))
        key = hashlib.sha256(b"\0".join([version, *(name.encode() for name in jar_paths)])).hexdigest()[:12]
        folder = cache_directory() / f"classes-{key}"
        return cls(folder, java, ":".join(jars), ":".join(entry for entry in entries if entry not in jars))

    @property
    def path(self) -> Path:
        """The archive's file."""
        return self.folder / "daemons.jsa"

    @property
    def exists(self) -> bool:
        """Whether the archive exists."""
        return self.path.exists()

    @property
    def must_be_made(self) -> bool:
        """Whether the archive still has to be made; assay tries once."""
        return not (self.exists or (self.folder / "failed").exists())

    def class_path(self, configuration_directory: str) -> str:
        """Return the daemons' class path in the order that the archive requires."""
        return ":".join(part for part in (self.jars, self.other_entries, configuration_directory) if part)

    def options(self, configuration_directory: str) -> list[str]:
        """Return the options with which a daemon uses the archive; a Java that can't use it ignores them."""
        # A jar contains a log4j.properties, and the configuration comes after the jars here.
        log4j = f"-Dlog4j.configuration=file:{configuration_directory}/log4j.properties"
        return ["-Xshare:auto", f"-XX:SharedArchiveFile={self.path}", "-Xlog:cds=off", "-Xlog:class+path=off", log4j]

    def recording(self, daemon: str) -> list[str]:
        """Return the options with which a daemon records the classes that it loads."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            return []
        return ["-Xshare:off", f"-XX:DumpLoadedClassList={self.folder}/{daemon}.classes"]

    async def make(self, progress: Callable[[str], None]) -> bool:
        """Make the archive from the classes that the running daemons have recorded; return whether it exists now.

        It is written to a temporary file and renamed. An error is written to ``failed`` in its folder and not retried.
        """
        lists = sorted(self.folder.glob("*.classes"))
        if not lists or self.exists:
            return self.exists
        progress("archiving the daemons' classes (once): later restarts are faster")
        with tempfile.TemporaryDirectory(prefix="making-", dir=self.folder) as temporary_folder:
            archive = Path(temporary_folder) / "daemons.jsa"
            class_list = Path(temporary_folder) / "all.classes"
            class_list.write_text(_merge_class_lists(lists))
            command = [
                self.java,
                "-Xshare:dump",
                "-XX:+UseSerialGC",
                "-Xmx512m",
                f"-XX:SharedClassListFile={class_list}",
                f"-XX:SharedArchiveFile={archive}",
                "-cp",
                self.jars,
            ]
            status, output = await _run(command, _MAKE_TIMEOUT_S)
            if status == 0 and archive.exists():
                archive.rename(self.path)
            else:
                (self.folder / "failed").write_bytes(output)
        for path in lists:
            path.unlink(missing_ok=True)
        return self.exists


def _merge_class_lists(lists: list[Path]) -> str:
    """Return every class once, without incomplete lines."""
    lines: dict[str, None] = {}
    for path in lists:
        text = path.read_text(errors="replace")
        for line in text[: text.rfind("\n") + 1].splitlines():
            if not line.startswith("#"):
                lines[line] = None
    return "".join(f"{line}\n" for line in lines)


async def _run(command: list[str], timeout_s: float) -> tuple[int, bytes]:
    """Return a command's exit status and output; status 1 if it exceeds ``timeout_s`` and is killed."""
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, env={**os.environ, "LC_ALL": "C"}
    )
    try:
        async with asyncio.timeout(timeout_s):
            output, _ = await process.communicate()
    except BaseException as error:
        process.kill()
        await process.wait()
        if isinstance(error, TimeoutError):
            return 1, f"it took longer than {timeout_s:.0f} s\n".encode()
        raise
    return process.returncode or 0, output
