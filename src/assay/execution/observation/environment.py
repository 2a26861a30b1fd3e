"""Record what a node is: hardware, kernel, file systems and their options, settings that change results, JVM.

In: a transport, the directories that hold data, the JVM that will be used. Out: a dictionary that becomes part of the
run's environment, so that two runs can be compared factor by factor; its keys are those of ``node/environment.py``.
"""

from collections.abc import Sequence
from typing import Any

from assay import __version__
from assay.execution.hosts.transport import Transport
from assay.execution.observation.scripts import run_script

CAPTURE_TIMEOUT_S = 60.0


async def capture(transport: Transport, *, directories: Sequence[str], java: str | None = None) -> dict[str, Any]:
    """Return a node's environment. ``java`` is the program to ask for its version; None: not asked.

    A directory need not exist: the file system that would hold it is meant. Raises HostError when the node can't be
    asked; a missing JVM is part of the answer.
    """
    options = {"directories": list(directories), "java": java}
    answer = await run_script(transport, "environment", options, timeout_s=CAPTURE_TIMEOUT_S)
    return {"node": transport.name, "assay": __version__, **answer}
