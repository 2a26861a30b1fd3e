"""Provide the jobs that stock Hadoop lacks: one jar, on every host's class path.

An installed wheel contains the jar. In a source tree it is built from ``java/jobs`` and stored under the user's cache
directory, in a folder named by the sources' checksum, so changed sources are rebuilt. On hosts, the file name contains
the jar's checksum. The jar contains only assay's classes, and runs on any Hadoop 3.
"""

import asyncio
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.execution.engines.hadoop.deployment.maven import package
from assay.execution.hosts.transport import Transport
from assay.foundation.errors import EngineError
from assay.foundation.installation import cache_directory, installation
from assay.model import JOBS_PACKAGE, Program

_JAR = "assay-jobs.jar"
_NAME_CHARS = 12
"""Number of hexadecimal digits of a checksum in a file name."""


@dataclass(frozen=True, slots=True)
class JobsJar:
    """The jar's path on every host, or why it is missing."""

    path: str | None
    problem: EngineError | None = None

    def with_jar(self, classpath: str) -> str:
        """Return ``classpath`` with the jar appended; unchanged if the jar is missing."""
        return f"{classpath}:{self.path}" if self.path else classpath

    def require_for(self, program: Program) -> None:
        """Raise the EngineError that explains the missing jar, if ``program`` is in it."""
        if self.problem and program.main_class.startswith(JOBS_PACKAGE):
            raise self.problem


def _sources() -> Path:
    folder = installation().jobs_sources
    if folder is None:
        raise EngineError("this installation lacks assay's jobs", hint="install assay from a wheel or a source tree")
    return folder


def _source_files(folder: Path) -> list[Path]:
    return [folder / "pom.xml", *sorted((folder / "src" / "main").rglob("*.java"))]


def fingerprint() -> str:
    """Return a short checksum of the sources."""
    folder = _sources()
    digest = hashlib.sha256()
    for path in _source_files(folder):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder)} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:_NAME_CHARS]


def find() -> Path | None:
    """Return the wheel's jar, else the jar built from these sources; None if it is not built yet."""
    if wheel_jar := installation().jobs_jar:
        return wheel_jar
    jar = cache_directory() / f"jobs-{fingerprint()}" / _JAR
    return jar if jar.is_file() else None


def require(progress: Callable[[str], None]) -> Path:
    """Return the jar; build it first if it is missing. Raises EngineError if it can't be built."""
    return find() or build(progress)


def build(progress: Callable[[str], None]) -> Path:
    """Build the jar in a temporary folder and rename it into place; the sources' folder stays unchanged.

    Raises EngineError if a Java compiler or Maven is missing, or Maven fails.
    """
    if shutil.which("javac") is None:
        raise EngineError(
            "no Java compiler (javac) was found, which assay needs for its own jobs",
            hint="install a JDK of Java 11 or newer; stock Hadoop's programs run without",
        )
    target = cache_directory() / f"jobs-{fingerprint()}" / _JAR
    target.parent.mkdir(parents=True, exist_ok=True)
    progress("building the jobs that stock Hadoop lacks (once)")
    with tempfile.TemporaryDirectory(prefix="jobs-", dir=target.parent) as scratch:
        for source in _source_files(_sources()):
            copy = Path(scratch) / source.relative_to(_sources())
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(source.read_bytes())
        package(Path(scratch) / "pom.xml", "the jobs that stock Hadoop lacks", {"maven.test.skip": "true"})
        (Path(scratch) / "target" / _JAR).replace(target)
    return target


async def ship(transports: Mapping[str, Transport], home: str, progress: Callable[[str], None]) -> JobsJar:
    """Copy the jar below ``home`` on every host; build it first if needed and possible.

    A jar that can't be built is not an error here: stock programs do not need it.
    """
    try:
        jar = await asyncio.to_thread(require, progress)
    except EngineError as error:
        progress(f"continuing without assay's own jobs: {error.message}")
        return JobsJar(None, error)
    content = await asyncio.to_thread(jar.read_bytes)
    path = f"{home}/jobs-{hashlib.sha256(content).hexdigest()[:_NAME_CHARS]}.jar"
    await asyncio.gather(*(transport.write_file(path, content) for transport in transports.values()))
    return JobsJar(path)
