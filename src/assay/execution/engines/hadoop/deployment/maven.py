"""Run Maven on assay's POMs, with the repository of the user's Maven settings.

In: a POM and properties. Out: the files that Maven writes; on failure an EngineError with Maven's error lines.
"""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from assay.foundation.errors import EngineError

_TIMEOUT_S = 900
"""Maximum time of a Maven build, in seconds."""
_ERROR_LINES_MAX = 3
"""Maximum number of Maven's lines in an error message."""


def is_installed() -> bool:
    """Return whether Maven is on the PATH."""
    return shutil.which("mvn") is not None


def package(pom: Path, product: str, properties: Mapping[str, str]) -> None:
    """Run ``mvn package`` on ``pom``; ``product`` is what it builds, for errors.

    Raises EngineError if Maven is missing, fails or exceeds its time limit.
    """
    if not is_installed():
        raise EngineError(
            f"Maven (mvn) is not installed; assay needs it to build {product}",
            hint="install Maven (apt-get install maven)",
        )
    defines = [f"-D{name}={value}" for name, value in properties.items()]
    command = ["mvn", "-B", "-q", "-f", str(pom), "package", *defines]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise EngineError(f"Maven did not build {product} within {_TIMEOUT_S} s", where="mvn package") from error
    if result.returncode != 0:
        lines = (result.stdout + result.stderr).strip().splitlines()
        error_lines = [line for line in lines if line.startswith("[ERROR]") and "[Help" not in line][:_ERROR_LINES_MAX]
        raise EngineError(
            f"Maven could not build {product}:\n{chr(10).join(error_lines or lines[-_ERROR_LINES_MAX:])}",
            where="mvn package",
            hint="check that Maven reaches its repository",
        )
