"""assay's own Spark programs: compiled from ``java/spark-jobs`` against the jars of the Spark that runs them.

Spark's package has no benchmarks, and a program that is compiled against one Spark need not run on another, so the
sources come along and are compiled once for each Spark, by the JDK's compiler, into the user's cache directory. The jar
is named by its sources' and that Spark's checksum.
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

from assay.engines.hadoop.distribution import cache_directory
from assay.engines.spark.distribution import SparkDistribution
from assay.errors import EngineError
from assay.hosts.transport import Transport
from assay.installation import installation

_JAR = "assay-spark-jobs.jar"
_NAME_CHARS = 12
_COMPILE_TIMEOUT_S = 300
_LINES_TOLD = 5


def _sources() -> list[Path]:
    folder = installation().spark_sources
    if folder is None:
        raise EngineError("assay's own Spark programs did not come with it", hint="install assay anew")
    return sorted(folder.rglob("*.java"))


def _place(spark: SparkDistribution) -> Path:
    digest = hashlib.sha256(f"{spark.home} {spark.version}\n".encode())
    for path in _sources():
        digest.update(path.name.encode() + path.read_bytes())
    return cache_directory() / f"spark-jobs-{digest.hexdigest()[:_NAME_CHARS]}" / _JAR


def require(spark: SparkDistribution, jobs: Path, progress: Callable[[str], None]) -> Path:
    """Return the jar, compiled first when there is none. ``jobs``: that of assay's Hadoop jobs, whose records it reads.

    Raises EngineError without a Java compiler, or when it fails.
    """
    target = _place(spark)
    if target.is_file():
        return target
    if shutil.which("javac") is None:
        raise EngineError(
            "there is no Java compiler (javac), and assay's Spark programs are compiled by it",
            hint=f"install a JDK of Java {_release(spark)} or newer on this machine",
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    progress(f"compiling assay's programs for Spark {spark.version} (once)")
    with tempfile.TemporaryDirectory(prefix="making-", dir=target.parent) as scratch:
        classes = Path(scratch) / "classes"
        command = ["javac", "-nowarn", "--release", str(_release(spark)), "-d", str(classes)]
        command += ["-cp", f"{spark.home}/jars/*:{jobs}", *map(str, _sources())]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_COMPILE_TIMEOUT_S, check=False)
        if done.returncode != 0:
            lines = (done.stderr + done.stdout).strip().splitlines()[:_LINES_TOLD]
            words = f"assay's programs could not be compiled for Spark {spark.version}:\n{chr(10).join(lines)}"
            raise EngineError(words, where="javac", hint=f"use a JDK of Java {_release(spark)} or newer")
        aside = Path(scratch) / _JAR
        with zipfile.ZipFile(aside, "w") as jar:
            for path in sorted(classes.rglob("*.class")):
                jar.write(path, path.relative_to(classes))
        aside.replace(target)
    return target


def _release(spark: SparkDistribution) -> int:
    return 17 if spark.major >= 4 else 11


async def ship(transports: Mapping[str, Transport], jar: Path, home: str) -> str:
    """Put the jar below ``home`` on every host, and return its path there."""
    content = await asyncio.to_thread(jar.read_bytes)
    path = f"{home}/spark-jobs-{hashlib.sha256(content).hexdigest()[:_NAME_CHARS]}.jar"
    await asyncio.gather(*(transport.write_file(path, content) for transport in transports.values()))
    return path
