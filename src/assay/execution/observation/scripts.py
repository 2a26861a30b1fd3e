"""Run the scripts of ``observation/node`` on a node without installing anything.

In: the name of a script and its options, which are sent as JSON. Out: the command line, or the script's JSON output. A
script is an argument of ``python3 -c``; Linux limits it to 128 KiB (MAX_ARG_STRLEN).
"""

import functools
import json
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

from assay.execution.hosts.transport import Transport
from assay.foundation.errors import HostError

_SHARED_IMPORT = re.compile(r"^from assay\.execution\.observation\.node\.files import .*$", re.MULTILINE)


@functools.cache
def source(name: str) -> str:
    """Return the text of the script ``name``, with ``files.py`` prepended if it is imported, so that the script is
    self-contained."""
    folder = resources.files("assay.execution.observation").joinpath("node")
    text = folder.joinpath(f"{name}.py").read_text(encoding="utf-8")
    if not _SHARED_IMPORT.search(text):
        return text
    return folder.joinpath("files.py").read_text(encoding="utf-8") + _SHARED_IMPORT.sub("", text)


def command(name: str, options: Mapping[str, Any]) -> list[str]:
    """Return the command that runs the script ``name`` with ``options``."""
    return ["python3", "-u", "-c", source(name), json.dumps(options)]


def script_error(name: str, node: str, status: int, stderr: str) -> HostError:
    """Return an error with the reason why the script ``name`` failed on ``node``."""
    if status == 127:
        hint = "install Python 3.6 or newer there, or put it on the PATH of non-interactive logins"
        return HostError("there is no python3", where=f"{node}: {name}", hint=hint)
    if "SyntaxError" in stderr:
        hint = "install Python 3.6 or newer there as python3, or put it first on the PATH of non-interactive logins"
        return HostError("its python3 is older than 3.6", where=f"{node}: {name}", hint=hint)
    tail = "\n".join(stderr.strip().splitlines()[-3:])
    return HostError(f"exit status {status}: {tail}", where=f"{node}: {name}")


async def run_script(transport: Transport, name: str, options: Mapping[str, Any], *, timeout_s: float) -> Any:
    """Run a script to its end and return its JSON. Raises HostError if it fails or prints no JSON."""
    result = await transport.run(command(name, options), timeout_s=timeout_s, check=False)
    if result.exit_status != 0:
        raise script_error(name, transport.name, result.exit_status, result.stderr.decode(errors="replace"))
    try:
        return json.loads(result.stdout)
    except ValueError as error:
        text = f"its answer is not JSON: {result.stdout[:80]!r}"
        hint = "a start-up file of the login shell, such as .bashrc, must not print anything"
        raise HostError(text, where=f"{transport.name}: {name}", hint=hint) from error
