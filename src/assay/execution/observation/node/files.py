"""Read files of /proc and /sys, and the output of commands, for the scripts of this folder.

A script runs on a node without assay, so ``scripts.source`` puts this text in front of each script that imports it.
"""

import subprocess
from typing import List, Optional

COMMAND_TIMEOUT_S = 5


def text_of(path: str) -> Optional[str]:
    """Return a file's content without the white space around it; None when it can't be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except (OSError, ValueError):
        return None


def number_of(path: str) -> Optional[int]:
    """Return the whole number in a file, in decimal or as 0x1f; None when there is none."""
    try:
        return int(text_of(path) or "", 0)
    except ValueError:
        return None


def output_of(argv: List[str], any_status: bool = False) -> Optional[str]:
    """Return the output of a command; None when it is missing, fails or takes too long.

    ``any_status``: the output counts whatever the exit status is.
    """
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip() if any_status or done.returncode == 0 else None
