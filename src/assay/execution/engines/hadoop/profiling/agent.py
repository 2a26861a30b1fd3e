"""Provide async-profiler: fetch it once through Maven, verify its checksum, and unpack its native library.

Out: a folder of the user's cache directory with the library for each processor architecture, and the converter of
recordings. The two jars come from Maven, or without Maven from the repository in the user's Maven settings.
"""

import hashlib
import os
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from assay.execution.engines.hadoop.deployment import jars, maven
from assay.execution.engines.hadoop.deployment.jars import Jar
from assay.foundation.errors import EngineError
from assay.foundation.installation import cache_directory

VERSION, CONVERTER_VERSION = "4.6", "4.5"
CONVERTER = "jfr-converter.jar"
LIBRARIES = {"x86_64": "async-profiler-x64.so", "aarch64": "async-profiler-arm64.so"}
"""The machine name of ``uname -m`` to the library's file name."""
_IN_JAR = {"x86_64": "linux-x64/libasyncProfiler.so", "aarch64": "linux-arm64/libasyncProfiler.so"}
_AGENT = Jar(
    f"tools/profiler/async-profiler/{VERSION}/async-profiler-{VERSION}.jar",
    921_927,
    "a5d3d9f4582c2033fa9db518046e73ef97219801f3e7542b82e3e09261ebe493",
)
_CONVERTER = Jar(
    f"tools/profiler/jfr-converter/{CONVERTER_VERSION}/jfr-converter-{CONVERTER_VERSION}.jar",
    155_813,
    "d8a5452b26adb11a2a0abf0c53799a6fd60dbccb0647efa5a734e3c46ced3df4",
)
_POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>io.github.assay</groupId><artifactId>profiler</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>tools.profiler</groupId><artifactId>async-profiler</artifactId>
      <version>{VERSION}</version></dependency>
    <dependency><groupId>tools.profiler</groupId><artifactId>jfr-converter</artifactId>
      <version>{CONVERTER_VERSION}</version></dependency>
  </dependencies>
  <build><plugins><plugin>
    <groupId>org.apache.maven.plugins</groupId><artifactId>maven-dependency-plugin</artifactId><version>3.8.1</version>
    <executions><execution>
      <phase>package</phase><goals><goal>copy-dependencies</goal></goals>
      <configuration><outputDirectory>${{assay.lib}}</outputDirectory></configuration>
    </execution></executions>
  </plugin></plugins></build>
</project>
"""


def require(progress: Callable[[str], None]) -> Path:
    """Return the folder with the libraries and the converter; fetch them first if they are missing.

    Raises EngineError if they can't be fetched, or a checksum differs.
    """
    target = cache_directory() / f"async-profiler-{VERSION}"
    if (target / CONVERTER).is_file():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    progress(f"fetching async-profiler {VERSION} (1 MB, once)")
    with tempfile.TemporaryDirectory(prefix="async-profiler-", dir=target.parent) as scratch:
        lib, temporary_folder = Path(scratch) / "lib", Path(scratch) / "profiler"
        _fetch(lib, Path(scratch), progress)
        temporary_folder.mkdir()
        with zipfile.ZipFile(lib / _AGENT.name) as archive:
            for machine, name in _IN_JAR.items():
                (temporary_folder / LIBRARIES[machine]).write_bytes(archive.read(name))
        (lib / _CONVERTER.name).replace(temporary_folder / CONVERTER)
        if not target.exists():
            temporary_folder.rename(target)
    return target


def _fetch(lib: Path, scratch: Path, progress: Callable[[str], None]) -> None:
    """Put both verified jars into ``lib``."""
    if not maven.is_installed():
        jars.fetch((_AGENT, _CONVERTER), jars.repository(os.environ, Path.home()), lib, progress)
        return
    pom = scratch / "pom.xml"
    pom.write_text(_POM)
    maven.package(pom, "async-profiler", {"assay.lib": str(lib)})
    verify(lib)


def verify(lib: Path) -> None:
    """Raise EngineError if a jar in ``lib`` is missing or its checksum differs from the expected checksum."""
    for jar in (_AGENT, _CONVERTER):
        path = lib / jar.name
        actual_sha256 = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
        if actual_sha256 != jar.sha256:
            raise EngineError(
                f"its checksum is wrong: SHA-256 is {actual_sha256}, expected {jar.sha256}"
                if actual_sha256
                else "the jar is missing",
                where=jar.path,
                hint="use another Maven repository, or remove the file from Maven's local repository",
            )
