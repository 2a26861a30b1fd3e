"""Find Spark, or fetch it: ``SPARK_HOME``, else the jars of the package ``pyspark``.

pip fetches the package from its configured index and checks its SHA-256. Only the jars that assay's programs need are
kept, under the user's cache directory. Spark's release archives are not used, because the package has the same jars and
pip knows the user's proxies and mirrors.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from assay.foundation.errors import EngineError
from assay.foundation.installation import cache_directory

FETCHED_VERSION = "4.3.0"
_SHA256 = "e8c517948eff7088a7aa07449aa8eafa4a15a8d50319de2525a6fd26622476c6"
"""SHA-256 of the package's source archive, the form in which it is published."""
_FETCH_TIMEOUT_S = 1800
"""Maximum time of the download of Spark, in seconds."""
OLDEST_MAJOR = 3
"""Oldest major version of Spark that runs assay's programs."""
# Batch programs on YARN or standalone do not use these jars, and each JVM would open all of them at its start.
_OMITTED_JARS = re.compile(
    r"kubernetes-|vertx-|spark-(kubernetes|connect|repl|mllib|graphx|streaming|hive|pipelines)|"
    r"rocksdbjni|breeze|spire|cats-|algebra|lapack|arpack|blas|JTransforms|scala-compiler|derby|datanucleus|"
    r"hive-(exec|metastore|beeline|cli|jdbc|serde|service|common|shims)|jline|"
    r"netty-tcnative-boringssl-static-.*-(osx|windows)"
)
_REQUIRED = {"spark-core_": "Spark itself", "spark-sql_": "Spark SQL", "spark-yarn_": "Spark on YARN"}


@dataclass(frozen=True, slots=True)
class SparkDistribution:
    """A Spark on disk: its jars are in ``home``/jars."""

    home: Path
    version: str

    @property
    def major(self) -> int:
        """The major version."""
        return int(self.version.split(".", 1)[0])


def find() -> SparkDistribution | None:
    """Return the Spark to use; None if it is not installed yet.

    Raises EngineError if ``SPARK_HOME`` is not a complete Spark, or is too old.
    """
    if stated_home := os.environ.get("SPARK_HOME"):
        return _read(Path(stated_home))
    folder = _target()
    return SparkDistribution(folder, FETCHED_VERSION) if (folder / "jars").is_dir() else None


def require(progress: Callable[[str], None]) -> SparkDistribution:
    """Return the Spark to use; fetch it first if it is missing."""
    return find() or fetch(progress)


def _target() -> Path:
    return cache_directory() / f"spark-{FETCHED_VERSION}"


def _read(home: Path) -> SparkDistribution:
    jars = [jar.name for jar in (home / "jars").glob("*.jar")]
    missing_jars = [
        f"{name}*.jar ({purpose})"
        for name, purpose in _REQUIRED.items()
        if not any(jar.startswith(name) for jar in jars)
    ]
    if missing_jars:
        raise EngineError(
            f"this is not a complete Spark: {', '.join(missing_jars)} not found below jars",
            where=f"SPARK_HOME={home}",
            hint=f"point SPARK_HOME at an unpacked Spark, or unset it and assay fetches Spark {FETCHED_VERSION}",
        )
    matches = [match for jar in jars if (match := re.fullmatch(r"spark-core_[\d.]+-(\d[\w.-]*)\.jar", jar))]
    if not matches:
        raise EngineError("the name of its jar spark-core has no version", where=f"SPARK_HOME={home}")
    version = matches[0][1]
    distribution = SparkDistribution(home, version)
    if distribution.major < OLDEST_MAJOR:
        raise EngineError(
            f"Spark {version} is too old: assay's programs need {OLDEST_MAJOR} or newer", where=f"SPARK_HOME={home}"
        )
    return distribution


def fetch(progress: Callable[[str], None]) -> SparkDistribution:
    """Download the jars into the cache directory. They are unpacked in a temporary folder and renamed into place.

    Raises EngineError with a hint if pip is missing or fails.
    """
    target = _target()
    target.parent.mkdir(parents=True, exist_ok=True)
    progress(f"fetching Spark {FETCHED_VERSION} with pip (about 460 MB, once)")
    with tempfile.TemporaryDirectory(prefix="spark-", dir=target.parent) as scratch:
        archive = _download(Path(scratch))
        progress(f"unpacking Spark {FETCHED_VERSION}")
        unpacked_folder = Path(scratch) / "spark"
        _unpack(archive, unpacked_folder / "jars")
        if not target.exists():
            unpacked_folder.rename(target)
    progress(f"Spark {FETCHED_VERSION} is at {target}")
    return SparkDistribution(target, FETCHED_VERSION)


def _download(folder: Path) -> Path:
    """Download and check the archive with pip. Nothing is installed."""
    requirements = folder / "requirements.txt"
    requirements.write_text(f"pyspark=={FETCHED_VERSION} --hash=sha256:{_SHA256}\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--no-binary", "pyspark", "--require-hashes", "--dest", str(folder)]
    hint = "check that pip reaches its index, or set SPARK_HOME to an unpacked Spark"
    try:
        result = subprocess.run(
            [*command, "-r", str(requirements)], capture_output=True, text=True, timeout=_FETCH_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        message = f"pip did not download Spark within {_FETCH_TIMEOUT_S} s"
        raise EngineError(message, where="pip download pyspark", hint=hint) from error
    archive = next(iter(folder.glob("pyspark-*.tar.gz")), None)
    if result.returncode != 0 or archive is None:
        lines = (result.stderr + result.stdout).strip().splitlines()
        errors = [line for line in lines if line.startswith("ERROR")] or lines[-2:] or ["no output"]
        raise EngineError(f"pip could not download Spark: {' '.join(errors)}", where="pip download pyspark", hint=hint)
    return archive


def _unpack(archive: Path, jars: Path) -> None:
    jars.mkdir(parents=True)
    with tarfile.open(archive) as archive_file:
        for member in archive_file:
            folder, _, name = member.name.rpartition("/")
            if not (member.isfile() and folder.endswith("/deps/jars") and name.endswith(".jar")):
                continue
            content = archive_file.extractfile(member)
            if content is not None and not _OMITTED_JARS.match(name):
                with (jars / name).open("wb") as file:
                    shutil.copyfileobj(content, file)
