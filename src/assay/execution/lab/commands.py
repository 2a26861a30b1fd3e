"""Run system programs (``ip``, ``tc``, ``losetup``, ``mkfs.ext4``) with a time limit and readable errors.

In: an argument vector, never a shell string. Out: the program's output. A program that is missing, fails or exceeds
``timeout_s`` seconds raises :class:`~assay.foundation.errors.LabError` with the command and its last lines of output.
"""

import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from assay.foundation.errors import LabError

COMMAND_TIMEOUT_S = 30.0
"""Maximum time of one command, in seconds."""
PARALLEL_COMMANDS = 8
"""Maximum number of commands that run at the same time."""
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
"""Environment of all commands: a search path with the sbin directories, and English output."""
KILL_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL")
"""Terminate the command if this process is killed. Otherwise it would create resources after the clean-up."""
T = TypeVar("T")
R = TypeVar("R")


def run(argv: Sequence[str], *, stdin: str = "", timeout_s: float = COMMAND_TIMEOUT_S) -> str:
    """Run ``argv`` with ``stdin`` as input and return its output. Raises LabError if it fails."""
    where = f"this machine: {shlex.join(argv)}"
    if shutil.which(argv[0], path=ENVIRONMENT["PATH"]) is None:
        raise LabError(f"{argv[0]} is not installed", where=where, hint="assay lab probe lists what a lab needs")
    try:
        result = subprocess.run(
            [*KILL_WITH_PARENT, *argv],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
            env=ENVIRONMENT,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired as error:
        raise LabError(
            f"the command did not end within {timeout_s:g} s",
            where=where,
            hint="check the load of this machine, then try again",
        ) from error
    if result.returncode:
        lines = (result.stderr or result.stdout).strip().splitlines()[-3:]
        raise LabError(" / ".join(lines) or f"exit status {result.returncode}", where=where)
    return result.stdout


def parallel(function: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Call ``function`` for each item, a few at a time, and return the results in order.

    Raises the first error after all calls have ended.
    """
    with ThreadPoolExecutor(max_workers=PARALLEL_COMMANDS) as pool:
        futures = [pool.submit(function, item) for item in items]
    return [future.result() for future in futures]


def read_text(path: Path) -> str | None:
    """Return the stripped content of a small kernel file; None if it does not exist or can't be read."""
    try:
        return path.read_text().strip()
    except OSError:
        return None


def write_text(path: Path, value: str) -> bool:
    """Write ``value`` to a kernel file; return False if the kernel lacks the file or refuses the value."""
    try:
        path.write_text(value)
    except OSError:
        return False
    return True
