"""Record the environment of a node: hardware, kernel, file systems and their options, performance settings, JVM.

In: a transport, the data directories, the JVM. Out: a dictionary for the run's environment, so that runs can be
compared factor by factor. Its keys are the keys that ``node/environment.py`` prints.
"""

from collections.abc import Sequence
from typing import Any

from assay.execution.hosts.transport import Transport
from assay.execution.observation.scripts import run_script
from assay.foundation.version import __version__

CAPTURE_TIMEOUT_S = 60.0
"""Maximum time to read the environment of a host, in seconds."""


async def capture(transport: Transport, *, directories: Sequence[str], java: str | None = None) -> dict[str, Any]:
    """Return a node's environment.

    ``java``: the program whose version is recorded; None records no JVM. For a directory that does not exist, the
    file system that would hold it is recorded. Raises HostError if the node is unreachable; a missing JVM is recorded.
    """
    options = {"directories": list(directories), "java": java}
    answer = await run_script(transport, "environment", options, timeout_s=CAPTURE_TIMEOUT_S)
    return {"node": transport.name, "assay": __version__, **answer}
