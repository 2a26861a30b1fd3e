"""Stop the JVMs of one deployment on this node, found by the marker in their command lines.

Usage: ``processes.py MARKER GRACE_S``. Daemons that hold data on disk get SIGTERM, and SIGKILL if they have not ended
after GRACE_S seconds. All others are killed at once, because their data are not read again. Only processes with the
marker as a whole argument (``-Dassay.deployment=MARKER``) are stopped.
"""

import os
import signal
import sys
import time
from typing import List, Tuple

Processes = List[Tuple[int, str]]
KEEPERS = ("NameNode", "DataNode")
"""Main classes of daemons that hold data on disk."""


def find(marker: str) -> Processes:
    """Return (pid, main class) of every process of this user that carries the marker."""
    argument = ("-Dassay.deployment=" + marker).encode()
    processes = []  # type: Processes
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open("/proc/" + name + "/cmdline", "rb") as file:
                arguments = file.read().split(b"\0")
        except OSError:
            continue
        if argument in arguments:
            main_classes = [item for item in arguments[1:] if item.startswith((b"org.apache.", b"io.github.assay"))]
            processes.append((int(name), main_classes[0].decode().rsplit(".", 1)[-1] if main_classes else "java"))
    return processes


def send(processes: Processes, signal_number: int) -> None:
    """Send a signal to each process; processes that have ended are ignored."""
    for pid, _ in processes:
        try:
            os.kill(pid, signal_number)
        except ProcessLookupError:
            pass


def stop(marker: str, grace_s: float) -> None:
    """End every marked process."""
    deadline = time.monotonic() + grace_s
    processes = find(marker)
    send([process for process in processes if process[1] in KEEPERS], signal.SIGTERM)
    while processes and time.monotonic() < deadline:
        send([process for process in processes if process[1] not in KEEPERS], signal.SIGKILL)
        time.sleep(0.05)
        processes = find(marker)
    kill_deadline = time.monotonic() + 10
    while processes and time.monotonic() < kill_deadline:
        send(processes, signal.SIGKILL)
        time.sleep(0.05)
        processes = find(marker)


if __name__ == "__main__":
    stop(sys.argv[1], float(sys.argv[2]))
