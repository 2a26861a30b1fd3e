"""Find or stop the JVMs of one deployment on this node, by the marker in their command lines.

Usage: ``processes.py list|stop MARKER GRACE_S``. Prints a JSON list of ``{"pid": n, "main": class}``: the running
processes (list), or those that had to be killed because they did not end within GRACE_S seconds after SIGTERM (stop).
Daemons that hold data on disk get SIGTERM; all others are killed at once, because their data are not read again. Only
processes with the marker as a whole argument (``-Dassay.deployment=MARKER``) are touched.
"""

import json
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
    wanted = ("-Dassay.deployment=" + marker).encode()
    processes = []  # type: Processes
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open("/proc/" + name + "/cmdline", "rb") as file:
                arguments = file.read().split(b"\0")
        except OSError:
            continue
        if wanted in arguments:
            mains = [a for a in arguments[1:] if a.startswith((b"org.apache.", b"io.github.assay"))]
            processes.append((int(name), mains[0].decode().rsplit(".", 1)[-1] if mains else "java"))
    return processes


def send(processes: Processes, number: int) -> None:
    """Send a signal to each process; processes that have ended are ignored."""
    for pid, _ in processes:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def stop(marker: str, grace_s: float) -> Processes:
    """End every marked process. Return the daemons with data on disk that had to be killed."""
    deadline = time.monotonic() + grace_s
    processes = find(marker)
    send([process for process in processes if process[1] in KEEPERS], signal.SIGTERM)
    while processes and time.monotonic() < deadline:
        send([process for process in processes if process[1] not in KEEPERS], signal.SIGKILL)
        time.sleep(0.05)
        processes = find(marker)
    killed = [process for process in processes if process[1] in KEEPERS]
    limit = time.monotonic() + 10
    while processes and time.monotonic() < limit:
        send(processes, signal.SIGKILL)
        time.sleep(0.05)
        processes = find(marker)
    return killed


if __name__ == "__main__":
    verb, the_marker, grace = sys.argv[1], sys.argv[2], float(sys.argv[3])
    result = stop(the_marker, grace) if verb == "stop" else find(the_marker)
    print(json.dumps([{"pid": pid, "main": main} for pid, main in result]))
