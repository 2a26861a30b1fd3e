"""Compile assay's own Spark programs (``java/spark-jobs``) against the jars of the Spark that runs them.

Spark's package has no benchmarks, and a program that is compiled for one Spark may not run on another. So assay ships
the sources, and the JDK's compiler compiles them once for each Spark, into the user's cache directory. The name of the
jar's folder contains a checksum of the sources and that Spark. A file next to the jar lists that Spark's defaults,
which differ between minor versions and are recorded with each run.
"""

import asyncio
import hashlib
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.execution.engines.spark.distribution import SparkDistribution
from assay.execution.hosts.transport import Transport
from assay.foundation.errors import EngineError
from assay.foundation.installation import cache_directory, installation
from assay.model import SPARK_JOBS_PACKAGE, TABLE_GENERATOR
from assay.store.formats.spark.parameters import spark_parameters

_JAR = "assay-spark-jobs.jar"
_DEFAULTS, _DEFAULTS_PROGRAM = "defaults.txt", f"{SPARK_JOBS_PACKAGE}Defaults"
_NAME_CHARS = 12
"""Hexadecimal digits of a content's SHA-256 in a file's name."""
_COMPILE_TIMEOUT_S = 300
"""Maximum time of the compilation of assay's Spark programs, in seconds."""
_ERROR_LINES_MAX = 5
"""Maximum number of the compiler's lines in an error message."""


def tool(name: str) -> bytes:
    """Return the content of a program that assay's Spark programs call. Raises EngineError if it is not installed."""
    path = installation().table_generator if name == TABLE_GENERATOR else None
    if path is None:
        hint = f"install assay with its requirements, or the package {name}"
        raise EngineError(f"the program {name} is not installed", hint=hint)
    return path.read_bytes()


def _sources() -> list[Path]:
    folder = installation().spark_sources
    if folder is None:
        raise EngineError("this installation lacks assay's Spark programs", hint="reinstall assay")
    return sorted(folder.rglob("*.java"))


@dataclass(frozen=True, slots=True)
class SparkPrograms:
    """The programs for one Spark, and that Spark's defaults of settings that affect its speed."""

    jar: Path
    defaults: Mapping[str, str]


def require(spark: SparkDistribution, jobs: Path, progress: Callable[[str], None]) -> SparkPrograms:
    """Return the programs; compile them first if necessary. ``jobs``: the jar of assay's Hadoop jobs, which they use.

    Raises EngineError if there is no Java compiler, or if the compiler fails.
    """
    digest = hashlib.sha256(f"{spark.home} {spark.version}\n".encode())
    for path in _sources():
        digest.update(path.name.encode() + path.read_bytes())
    target = cache_directory() / f"spark-jobs-{digest.hexdigest()[:_NAME_CHARS]}" / _JAR
    if not target.is_file():
        _compile(spark, jobs, target, progress)
    lines = (target.parent / _DEFAULTS).read_text().splitlines()
    return SparkPrograms(target, spark_parameters(dict(line.split("=", 1) for line in lines if "=" in line)))


def _compile(spark: SparkDistribution, jobs: Path, target: Path, progress: Callable[[str], None]) -> None:
    if shutil.which("javac") is None:
        raise EngineError(
            "no Java compiler (javac) was found, which assay needs for its Spark programs",
            hint=f"install a JDK of Java {_release(spark)} or newer on this machine",
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    progress(f"compiling assay's programs for Spark {spark.version} (once)")
    with tempfile.TemporaryDirectory(prefix="making-", dir=target.parent) as scratch:
        classes = Path(scratch) / "classes"
        command = ["javac", "-nowarn", "--release", str(_release(spark)), "-d", str(classes)]
        command += ["-cp", f"{spark.home}/jars/*:{jobs}", *map(str, _sources())]
        _output_of(command, f"assay's programs could not be compiled for Spark {spark.version}", spark)
        temporary_jar = Path(scratch) / _JAR
        with zipfile.ZipFile(temporary_jar, "w") as jar:
            for path in sorted(classes.rglob("*.class")):
                jar.write(path, path.relative_to(classes))
        print_defaults = ["java", "-Xmx256m", "-cp", f"{classes}:{spark.home}/jars/*", _DEFAULTS_PROGRAM]
        defaults = _output_of(print_defaults, f"Spark {spark.version} did not print its defaults", spark)
        (target.parent / _DEFAULTS).write_text(defaults)
        temporary_jar.replace(target)


def _output_of(command: list[str], failure: str, spark: SparkDistribution) -> str:
    """Return a command's output. Raises EngineError, with the output's first lines, if it fails or takes too long."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=_COMPILE_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise EngineError(f"{failure} within {_COMPILE_TIMEOUT_S} s", where=command[0]) from error
    if result.returncode != 0:
        lines = (result.stderr + result.stdout).strip().splitlines()[:_ERROR_LINES_MAX]
        hint = f"use a JDK of Java {_release(spark)} or newer"
        raise EngineError(f"{failure}:\n{chr(10).join(lines)}", where=command[0], hint=hint)
    return result.stdout


def _release(spark: SparkDistribution) -> int:
    return 17 if spark.major >= 4 else 11


async def ship(transports: Mapping[str, Transport], jar: Path, home: str) -> str:
    """Copy the jar below ``home`` on every host, and return its path there."""
    content = await asyncio.to_thread(jar.read_bytes)
    path = f"{home}/spark-jobs-{hashlib.sha256(content).hexdigest()[:_NAME_CHARS]}.jar"
    await asyncio.gather(*(transport.write_file(path, content) for transport in transports.values()))
    return path
