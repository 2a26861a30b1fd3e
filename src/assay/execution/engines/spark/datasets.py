"""Read and write datasets on any Hadoop file system, and query them with an existing Spark.

In: a dataset's address (``hdfs://…``, or a folder), a Spark master (``local``, ``yarn``, ``spark://…``). Out: its
files, and the runs that assay's Spark program selects. Requires Java and Spark's jars on this machine.
``HADOOP_CONF_DIR`` names the folder of the file system's and YARN's configuration files, if there are any.
"""

import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from assay.execution.engines.hadoop.jobs import jobs as hadoop_jobs
from assay.execution.engines.spark import programs, settings
from assay.execution.engines.spark.distribution import SparkDistribution, require
from assay.execution.engines.spark.engine import SUBMIT
from assay.foundation.errors import EngineError, SpecificationError
from assay.model import SPARK_JOBS_PACKAGE

LOCAL = "local"
_TIMEOUT_S = 3600
"""Maximum time of a command of Hadoop or Spark, in seconds."""
_ERROR_LINES_MAX = 3
"""Maximum number of lines of Hadoop or Spark in an error message."""
_SHELL = "org.apache.hadoop.fs.FsShell"


@dataclass(frozen=True, slots=True)
class HadoopStore:
    """A folder of a Hadoop file system, accessed with Hadoop's shell."""

    address: str
    spark: SparkDistribution

    def _shell(self, *arguments: str) -> bytes:
        # Hadoop's shell needs a configuration to start, even an empty configuration.
        with tempfile.TemporaryDirectory(prefix="assay-shell-") as empty_folder:
            (Path(empty_folder) / "core-site.xml").write_text("<configuration/>\n")
            command = [_java(), "-Xmx256m", "-cp", f"{_classpath(self.spark)}:{empty_folder}", _SHELL, *arguments]
            return _run(command, f"the file system's command {arguments[0]} failed", self.address)

    def names(self) -> list[str]:
        """Return the names of all Parquet and JSON files, sorted. Creates the folder if it does not exist."""
        self._shell("-mkdir", "-p", self.address)
        lines = self._shell("-ls", "-C", "-R", self.address).decode().splitlines()
        root = self.address.split("://", 1)[-1].partition("/")[2].rstrip("/")
        return sorted(line.split(f"{root}/", 1)[-1] for line in lines if line.endswith((".parquet", ".json")))

    def read(self, name: str) -> bytes:
        """Return a file's content."""
        return self._shell("-cat", f"{self.address}/{name}")

    def put(self, folder: Path, tables: Sequence[str], descriptions: Sequence[str]) -> None:
        """Copy the tables as whole folders, because each call of the shell starts a JVM, then the descriptions."""
        target = f"{self.address}/{Path(descriptions[0]).parent}"
        self._shell("-mkdir", "-p", target)
        if tables:
            self._shell("-put", "-f", *(str(folder / table) for table in tables), self.address)
        self._shell("-put", "-f", *(str(folder / name) for name in descriptions), target)

    def remove(self, names: Sequence[str]) -> None:
        """Remove files."""
        self._shell("-rm", "-f", "-skipTrash", *(f"{self.address}/{name}" for name in names))

    def fetch(self, name: str, target: Path) -> None:
        """Copy a folder to ``target`` on this machine, and remove it from the file system."""
        self._shell("-get", f"{self.address}/{name}", str(target))
        self._shell("-rm", "-r", "-f", "-skipTrash", f"{self.address}/{name}")


def hadoop_store(address: str, progress: Callable[[str], None]) -> HadoopStore:
    """Return the folder at ``address`` of a Hadoop file system; fetch Spark's jars if they are missing."""
    return HadoopStore(address.rstrip("/"), require(progress))


@contextmanager
def select_runs(
    address: str,
    master: str,
    where: Mapping[str, Sequence[str]],
    figures: Sequence[str],
    output_folder: str,
    progress: Callable[[str], None],
) -> Iterator[Path]:
    """Let Spark select the runs that have one of the levels in ``where`` for every fact; yield the folder of its
    output.

    Each run has its facts, its place, and ``figures`` (names of numbers, such as ``duration_s``).

    Spark writes into a new folder below ``output_folder`` of the dataset, which is removed when the output is copied.
    Raises SpecificationError if ``master`` is not a Spark master, EngineError with Spark's first error messages if it
    fails.
    """
    if master != LOCAL and master != settings.YARN and not master.startswith(("spark://", "local[")):
        raise SpecificationError(
            f"{master!r} is not a Spark master", where="--on", hint="possible: local, yarn, spark://HOST:PORT"
        )
    spark = require(progress)
    spark_programs = programs.require(spark, hadoop_jobs.require(progress), progress)
    with tempfile.TemporaryDirectory(prefix="assay-picked-") as scratch:
        output, name = Path(scratch) / "runs", f"{output_folder}/asked-{uuid.uuid4().hex}"
        dataset = address.rstrip("/") if "://" in address else f"file://{Path(address).absolute()}"
        target = f"{dataset}/{name}"
        lines = "\n".join("\t".join((fact, *levels)) for fact, levels in where.items())
        command = [_java(), *settings.MODULE_OPTIONS, "-cp", f"{spark_programs.jar}:{_classpath(spark)}", SUBMIT]
        command += ["--master", "local[*]" if master == LOCAL else master, "--conf", "spark.ui.enabled=false"]
        command += ["--class", f"{SPARK_JOBS_PACKAGE}DatasetRuns", str(spark_programs.jar)]
        command += [dataset, target, lines, "\n".join(figures)]
        progress(f"Spark {spark.version} selects runs on {master}")
        _run(command, "Spark could not select the runs", address, {"SPARK_HOME": str(spark.home)})
        if "://" in address:
            HadoopStore(address.rstrip("/"), spark).fetch(name, output)
        else:
            shutil.move(Path(address) / name, output)
        yield output


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    return f"{home}/bin/java" if home else "java"


def _classpath(spark: SparkDistribution) -> str:
    configuration = os.environ.get("HADOOP_CONF_DIR")
    return f"{configuration}:{spark.home}/jars/*" if configuration else f"{spark.home}/jars/*"


def _run(command: Sequence[str], failure: str, where: str, env: Mapping[str, str] | None = None) -> bytes:
    try:
        result = subprocess.run(
            command, capture_output=True, timeout=_TIMEOUT_S, check=False, env={**os.environ, **(env or {})}
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineError(f"{failure}: {error}", where=where) from error
    if result.returncode != 0:
        lines = [line for line in result.stderr.decode(errors="replace").splitlines() if line.strip()]
        error_lines = [line.strip() for line in lines if "Exception" in line or "rror" in line or line.startswith("-")]
        message = " | ".join((error_lines or lines)[:_ERROR_LINES_MAX])[:600]
        hint = "set HADOOP_CONF_DIR to the folder with the configuration of the file system and YARN"
        raise EngineError(f"{failure}: {message}", where=where, hint=hint)
    return result.stdout
