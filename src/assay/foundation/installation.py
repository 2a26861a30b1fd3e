"""Describe this installation of assay: its version with the commit, and the parts that are not Python.

A wheel has these parts in the package's folder ``shipped``, where its build puts them (``tools/hatch_build.py``). In a
source tree, each part is where it is built or stored. Other modules get paths from this module, for both cases.
"""

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from assay.foundation.version import __version__

_GIT_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class Installation:
    """The package's folder and the paths of its parts. A missing part is None."""

    package: Path

    @property
    def tree(self) -> Path | None:
        """The source tree from which the package runs; None for an installed wheel."""
        tree = self.package.parents[1]
        return tree if (tree / "pyproject.toml").is_file() and (tree / "rust").is_dir() else None

    @property
    def examples(self) -> Path | None:
        """The folder of example clusters, plans and price books."""
        return self._part("examples", "examples")

    @property
    def disks_daemon(self) -> Path | None:
        """The program that serves modelled disks."""
        return self._program("assay-diskd")

    @property
    def simulator(self) -> Path | None:
        """The program that simulates jobs on a described cluster."""
        return self._program("assay-simulate")

    @property
    def profiles(self) -> Path | None:
        """The folder of profiles that come with assay."""
        return self._part("examples/profiles", "examples/profiles")

    @property
    def hadoop_pom(self) -> Path | None:
        """The POM from which Maven assembles Hadoop."""
        return self._part("hadoop-distribution.pom.xml", "java/hadoop-distribution/pom.xml")

    @property
    def hadoop_jars(self) -> Path | None:
        """The list of Hadoop's jars with their checksums, made from that POM; only in a wheel."""
        return self._part("hadoop-jars.txt", None)

    @property
    def jobs_jar(self) -> Path | None:
        """assay's own jobs, compiled; only in a wheel."""
        return self._part("assay-jobs.jar", None)

    @property
    def jobs_sources(self) -> Path | None:
        """The sources of assay's own jobs; only in a source tree."""
        return self._part(None, "java/jobs")

    @property
    def spark_sources(self) -> Path | None:
        """The sources of assay's own Spark programs, which are compiled for the Spark that runs them."""
        return self._part("spark-jobs", "java/spark-jobs")

    @property
    def table_generator(self) -> Path | None:
        """The program that generates the tables of the decision-support workload; a dependency of assay installs it."""
        generator = shutil.which("tpchgen-cli", path=Path(sys.executable).parent) or shutil.which("tpchgen-cli")
        return Path(generator) if generator else None

    @property
    def commit(self) -> str | None:
        """The commit of this build, followed by ``-dirty`` when files were changed; None when unknown."""
        commit_file = self.package / "shipped" / "commit"
        if commit_file.is_file():
            return commit_file.read_text().strip() or None
        command = ["git", "-C", str(self.tree), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
        if self.tree and (self.tree / ".git").exists():
            with suppress(OSError, subprocess.SubprocessError):
                result = subprocess.run(command, capture_output=True, text=True, timeout=_GIT_TIMEOUT_S, check=True)
                return result.stdout.strip() or None
        return None

    @property
    def version(self) -> str:
        """The version, with the commit in brackets if it is known: ``0.3.0 (8f3c2a91b7de)``."""
        commit = self.commit
        return f"{__version__} ({commit})" if commit else __version__

    def _program(self, name: str) -> Path | None:
        program = self._part(name, f"rust/target/release/{name}")
        return program if program and os.access(program, os.X_OK) else None

    def _part(self, in_wheel: str | None, in_tree: str | None) -> Path | None:
        paths = [self.package / "shipped" / in_wheel] if in_wheel else []
        if in_tree and self.tree:
            paths.append(self.tree / in_tree)
        return next((path for path in paths if path.exists()), None)


def cache_directory() -> Path:
    """Return the folder of a user's downloads and built files (``ASSAY_CACHE``, else the XDG cache)."""
    if explicit := os.environ.get("ASSAY_CACHE"):
        return Path(explicit)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "assay"


def installation() -> Installation:
    """Return the installation that this module is part of."""
    return Installation(Path(__file__).parents[1])
