"""Which process on which boot owns something, so that a later process can tell whether the owner is still alive.

A pid alone is reused; pid and start time (clock ticks since boot, field 22 of ``/proc/PID/stat``, proc(5)) are not.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path


def boot_id() -> str:
    """Return the kernel's identifier of this boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def start_ticks(pid: int) -> int | None:
    """Return when process ``pid`` started, in clock ticks since boot; None when it does not run (any more)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()  # the command name before it may hold anything
    return None if fields[0] in "ZX" else int(fields[19])


@dataclass(frozen=True, slots=True)
class Owner:
    """A process. ``since_unix_s`` is the time at which it took what it owns."""

    pid: int
    start_ticks: int
    boot_id: str
    since_unix_s: float

    @classmethod
    def current(cls) -> Owner:
        """Return this process."""
        pid = os.getpid()
        return cls(pid, start_ticks(pid) or 0, boot_id(), time.time())

    @property
    def alive(self) -> bool:
        """Whether that very process still runs."""
        return self.boot_id == boot_id() and start_ticks(self.pid) == self.start_ticks

    def __str__(self) -> str:
        """Return ``process 123, since 2026-01-31 12:00:00``."""
        return f"process {self.pid}, since {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(self.since_unix_s))}"
