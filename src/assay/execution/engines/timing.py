"""Time a client program by the clock of its host, and detect pauses of assay. Times are in seconds.

While assay is paused (SIGSTOP, a closed lid, a paused virtual machine), it can't notice the end of a program. So start
and end are measured on the host that runs the program; assay's clock only detects the pause.
"""

import asyncio
import functools
import re
import time
from collections.abc import Callable, Sequence
from importlib import resources
from typing import Self

from assay.foundation.cancellation import end_tasks

BEAT_S = 1.0
"""Time between two beats, in seconds."""
BEAT_GAP_MAX_S = 10.0
"""Maximum time between two beats on a busy machine, in seconds. A longer time is a pause."""
CLOCK_DIFFERENCE_MIN_S = 1.0
"""Minimum reported difference between the clocks, in seconds. A smaller difference is the time to reach the host."""

# Prefer the system's Python, because others may be wrappers that change the environment (pyenv).
_START = """
python=python3
[ -x /usr/bin/python3 ] && python=/usr/bin/python3
exec "$python" -I -S -c "$@"
"""


@functools.cache
def _script() -> str:
    return resources.files("assay.execution.engines").joinpath("node", "timed.py").read_text(encoding="utf-8")


def timed_command(command: Sequence[str], token: str) -> list[str]:
    """Return a command that runs ``command`` and prints its start and end after ``token`` on stderr."""
    return ["sh", "-c", _START, "sh", _script(), token, *command]


def split_times(stderr: bytes, token: str) -> tuple[float | None, bytes]:
    """Return the duration of a timed command (None if it printed none), and stderr without that line."""
    match = re.search(rb"%s (\d+\.\d+) (\d+\.\d+)\n" % token.encode(), stderr)
    if match is None:
        return None, stderr
    return float(match[2]) - float(match[1]), stderr[: match.start()] + stderr[match.end() :]


def boot_time_s() -> float:
    """Return the time since this machine's boot, including suspended time (clock_gettime(2))."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Heartbeat:
    """Beats every second while a block runs, and records the longest time between two beats."""

    def __init__(self, clock: Callable[[], float] = boot_time_s) -> None:
        self._clock = clock
        self._began_s = self._last_s = clock()
        self._longest_gap_s = 0.0

    async def __aenter__(self) -> Self:
        self._beating = asyncio.create_task(self._beats())
        return self

    async def __aexit__(self, *_: object) -> None:
        await end_tasks(self._beating)
        self._beat()

    async def _beats(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            self._beat()

    def _beat(self) -> None:
        now_s = self._clock()
        self._longest_gap_s, self._last_s = max(self._longest_gap_s, now_s - self._last_s), now_s

    @property
    def took_s(self) -> float:
        """Time from the start to the last beat."""
        return self._last_s - self._began_s

    def pause(self, host_s: float | None) -> str | None:
        """Return a message if assay was paused and its clock therefore disagrees with the host's.

        None without a pause, or if both clocks agree. ``host_s``: the duration by the host's clock; None if the host
        printed no times.
        """
        if self._longest_gap_s < BEAT_GAP_MAX_S:
            return None
        pause_text = f"assay itself did not run for {self._longest_gap_s:.0f} s during the job"
        if host_s is None:
            return pause_text
        if abs(self.took_s - host_s) < CLOCK_DIFFERENCE_MIN_S:
            return None
        return f"{pause_text}, which took {host_s:.1f} s on the master and {self.took_s:.1f} s by assay's clock"
