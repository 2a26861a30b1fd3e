"""The time of a client program by its own host's clock, and whether assay itself ran meanwhile. Times in seconds.

A pause of assay (SIGSTOP, a closed lid, a paused virtual machine) makes it notice a program's end late. So the host
that runs the program takes both times; assay's own clock tells only that there was a pause.
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
MISSED_S = 10.0
"""Longest time without a beat that a busy machine explains."""
DISAGREE_S = 1.0
"""Least difference of the two clocks that counts; below it is what it takes to reach the host."""

# The system's own Python first: another one may be a wrapper that changes the environment, as pyenv's is.
_START = """
python=python3
[ -x /usr/bin/python3 ] && python=/usr/bin/python3
exec "$python" -I -S -c "$@"
"""


@functools.cache
def _script() -> str:
    return resources.files("assay.execution.engines").joinpath("node", "timed.py").read_text(encoding="utf-8")


def timed(command: Sequence[str], token: str) -> list[str]:
    """Return ``command`` as one that also prints, behind ``token`` on stderr, when it was started and had ended."""
    return ["sh", "-c", _START, "sh", _script(), token, *command]


def split_times(stderr: bytes, token: str) -> tuple[float | None, bytes]:
    """Return how long a timed command ran, None when it did not say, and stderr without that line."""
    match = re.search(rb"%s (\d+\.\d+) (\d+\.\d+)\n" % token.encode(), stderr)
    if match is None:
        return None, stderr
    return float(match[2]) - float(match[1]), stderr[: match.start()] + stderr[match.end() :]


def boot_time_s() -> float:
    """Return the time since this machine's boot, in which a suspended machine counts (clock_gettime(2))."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Heartbeat:
    """Beats every second while a block runs, and keeps the longest time between two beats."""

    def __init__(self, clock: Callable[[], float] = boot_time_s) -> None:
        self._clock = clock
        self._began_s = self._last_s = clock()
        self._missed_s = 0.0

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
        self._missed_s, self._last_s = max(self._missed_s, now_s - self._last_s), now_s

    @property
    def took_s(self) -> float:
        """From the begin to the last beat."""
        return self._last_s - self._began_s

    def pause(self, host_s: float | None) -> str | None:
        """Say that assay did not run for a while, and that its clock and the host's therefore disagree.

        None where it ran, or where the pause changed no time. ``host_s``: None where the host gave no time.
        """
        if self._missed_s < MISSED_S:
            return None
        missed = f"assay itself did not run for {self._missed_s:.0f} s during the job"
        if host_s is None:
            return missed
        if abs(self.took_s - host_s) < DISAGREE_S:
            return None
        return f"{missed}, which took {host_s:.1f} s on the master and {self.took_s:.1f} s by assay's clock"
