"""Find or assemble the Hadoop distribution.

In order: the cluster file's ``hadoop_home``, the environment's ``HADOOP_HOME``, and a distribution that is assembled
from Maven Central and stored under the user's cache directory. Maven assembles it from the POM in
``java/hadoop-distribution``; without Maven, assay fetches the jars in the wheel's list
(:mod:`assay.execution.engines.hadoop.deployment.jars`). Only one version can be assembled
(:data:`ASSEMBLED_VERSION`): the newest version with daemons and examples in Maven Central.
"""

import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from assay.execution.engines.hadoop.deployment import jars, maven
from assay.foundation.errors import EngineError
from assay.foundation.installation import cache_directory, installation

ASSEMBLED_VERSION = "3.4.2"
_WEBAPPS = ("hdfs", "datanode", "secondary", "static")
# The jars of a complete distribution: file-name prefix to its purpose.
_REQUIRED = {
    "hadoop-common-": "the common library",
    "hadoop-hdfs-": "NameNode and DataNode",
    "hadoop-yarn-server-resourcemanager-": "ResourceManager",
    "hadoop-yarn-server-nodemanager-": "NodeManager",
    "hadoop-mapreduce-client-hs-": "JobHistoryServer",
    "hadoop-mapreduce-examples-": "TeraGen, TeraSort, TeraValidate and WordCount",
}


@dataclass(frozen=True, slots=True)
class Distribution:
    """A Hadoop on disk. ``classpath`` entries are relative to ``home`` and may end in ``/*``."""

    home: Path
    version: str
    classpath: tuple[str, ...]

    def classpath_at(self, home: str) -> str:
        """Return the Java class path for a copy of the distribution that is at ``home`` on a host."""
        return ":".join(f"{home}/{entry}" for entry in self.classpath)


def find(hadoop_home: str | None = None) -> Distribution | None:
    """Return the distribution to use; None if none exists yet.

    Raises EngineError if an explicitly named distribution is incomplete.
    """
    stated_home = hadoop_home or os.environ.get("HADOOP_HOME")
    if stated_home:
        return _read_installed(Path(stated_home))
    folder = cache_directory() / f"hadoop-{ASSEMBLED_VERSION}"
    return Distribution(folder, ASSEMBLED_VERSION, ("web", "lib/*")) if (folder / "lib").is_dir() else None


def require(hadoop_home: str | None, progress: Callable[[str], None]) -> Distribution:
    """Return the distribution; assemble it first if it is missing."""
    return find(hadoop_home) or assemble(progress)


def _read_installed(home: Path) -> Distribution:
    share = home / "share" / "hadoop"
    parts = ("common/lib", "common", "hdfs/lib", "hdfs", "yarn/lib", "yarn", "mapreduce/lib", "mapreduce")
    existing_parts = [part for part in parts if (share / part).is_dir()]
    jars = [jar.name for part in existing_parts for jar in (share / part).glob("*.jar")]
    missing_jars = [
        f"{name}*.jar ({purpose})"
        for name, purpose in _REQUIRED.items()
        if not any(jar.startswith(name) for jar in jars)
    ]
    if missing_jars:
        raise EngineError(
            f"this is not a complete Hadoop: {', '.join(missing_jars)} not found below share/hadoop",
            where=str(home),
            hint="point HADOOP_HOME (or hadoop_home in the cluster file) at an unpacked Hadoop 3 release, "
            "or leave it out and run `assay hadoop fetch`",
        )
    # A vendor's version has dashes: 3.1.1.7.1.8.0-801.
    matches = [match for jar in jars if (match := re.fullmatch(r"hadoop-common-(\d[\w.-]*?)(-tests)?\.jar", jar))]
    if not matches:
        raise EngineError("the name of its jar hadoop-common has no version", where=str(home))
    version = matches[0][1]
    return Distribution(home, version, ("share/hadoop/hdfs", *(f"share/hadoop/{part}/*" for part in existing_parts)))


def assemble(progress: Callable[[str], None]) -> Distribution:
    """Fetch Hadoop's jars into a temporary folder, and rename it into the cache directory.

    Raises EngineError, with a hint, if there is neither Maven nor a list of jars, or if fetching fails.
    """
    target = cache_directory() / f"hadoop-{ASSEMBLED_VERSION}"
    target.parent.mkdir(parents=True, exist_ok=True)
    progress(f"fetching the jars of Hadoop {ASSEMBLED_VERSION} (about 100 MB, once)")
    with tempfile.TemporaryDirectory(prefix="hadoop-", dir=target.parent) as scratch:
        temporary_home = Path(scratch) / "hadoop"
        try:
            _fetch_jars(temporary_home / "lib", Path(scratch), progress)
        except EngineError as error:
            hint = f"{error.hint}, or set HADOOP_HOME" if error.hint else "set HADOOP_HOME"
            raise EngineError(error.message, where=error.where, hint=hint) from error
        for webapp in _WEBAPPS:  # not in the jars; without them the daemons' HTTP servers don't start
            folder = temporary_home / "web" / "webapps" / webapp / "WEB-INF"
            folder.mkdir(parents=True)
            (folder / "web.xml").write_text("<web-app/>\n")
        if not target.exists():
            temporary_home.rename(target)
    progress(f"Hadoop {ASSEMBLED_VERSION} is at {target}")
    return Distribution(target, ASSEMBLED_VERSION, ("web", "lib/*"))


def _fetch_jars(lib: Path, scratch: Path, progress: Callable[[str], None]) -> None:
    """Fetch the jars with Maven, which knows the user's proxies and passwords, else from the list."""
    folders = installation()
    if folders.hadoop_jars and not maven.is_installed():
        jars.fetch(
            jars.read_list(folders.hadoop_jars.read_text()), jars.repository(os.environ, Path.home()), lib, progress
        )
        return
    if folders.hadoop_pom is None:
        raise EngineError("this installation of assay lacks Hadoop's list of jars", hint="install assay from a wheel")
    pom = scratch / "pom.xml"
    pom.write_bytes(folders.hadoop_pom.read_bytes())
    maven.package(pom, "Hadoop's distribution", {"assay.lib": str(lib)})
