"""Read files of /proc and /sys, the output of commands, and the end of stdin, for the scripts in this directory.

Scripts run on nodes without assay, so ``scripts.source`` prepends this module's text to each script that imports it.
"""

import os
import re
import select
import subprocess
import time
from typing import List, Optional

COMMAND_TIMEOUT_S = 5
"""Maximum time of a command, in seconds."""


def text_of(path: str) -> Optional[str]:
    """Return the stripped content of a file; None if it can't be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except (OSError, ValueError):
        return None


def number_of(path: str) -> Optional[int]:
    """Return the integer in a file, decimal or like 0x1f; None if there is none."""
    try:
        return int(text_of(path) or "", 0)
    except ValueError:
        return None


def output_of(argv: List[str], any_status: bool = False) -> Optional[str]:
    """Return the output of a command; None if it is missing, fails or takes too long.

    ``any_status``: return the output for any exit status.
    """
    try:
        result = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout.decode("utf-8", "replace").strip() if any_status or result.returncode == 0 else None


def unescaped(word: str) -> str:
    """Return a path of mountinfo with its octal escapes undone."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), word)


def stdin_ended(wait_s: float) -> bool:
    """Wait at most ``wait_s`` for the end of stdin; return whether it has ended. Input is ignored."""
    deadline_s = time.monotonic() + wait_s
    while True:
        remaining_s = deadline_s - time.monotonic()
        if not select.select([0], [], [], max(remaining_s, 0))[0]:
            return False
        if not os.read(0, 4096):
            return True
