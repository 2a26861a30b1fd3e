"""Watch a node while something is executed on it, and tell what was seen of its daemons, links, devices and memory.

In: a transport and what to look at. Out: :class:`NodeObservations`, which grows while the watch continues. The lines'
format and their sources are described in ``node/watch.py``. A look every two seconds; times in seconds, room in bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.execution.hosts.transport import RemoteProcess, Transport
from assay.execution.observation.stream import NodeStream
from assay.foundation.errors import HostError
from assay.foundation.units import format_bytes

INTERVAL_S = 2.0
STOP_TIMEOUT_S = 2.0
LOW_SHARE, LOW_BYTES_MAX = 0.1, 256 << 20
"""Room is low below a tenth of a device or 256 MiB, whichever is less: less than what a few HDFS blocks need."""
FULL_BYTES = 1 << 20
KERNEL_LINES_MAX = 50
UNHEARD_LOOKS = 4
"""A peer that has not answered for this many looks in a row, some eight seconds, is cut off."""
_KILLED = re.compile(r"oom-kill:.*\btask=([^,]+),pid=([0-9]+)")


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """What is examined on one node."""

    daemons: Mapping[str, str] = field(default_factory=dict)
    """Name to pid file."""
    directories: Mapping[str, str] = field(default_factory=dict)
    """Device to a directory on it."""
    peers: Mapping[str, str] = field(default_factory=dict)
    """Other nodes to their addresses: whether they can be reached from this one."""
    cgroup: str | None = None
    """The node's memory control group; None for a host without one."""
    shared: bool = False
    """Whether other nodes have the same kernel."""


@dataclass(frozen=True, slots=True)
class NodeEvent:
    """Something of a node that is not as it should be, in words, and when it was seen."""

    words: str
    at_unix_s: float


@dataclass(slots=True)
class NodeObservations:
    """What was seen of one node."""

    node: str
    daemons: dict[str, str] = field(default_factory=dict)
    """Daemon to "dead" or "stopped", as of the last look."""
    stuck: tuple[str, ...] = ()
    """Daemons that were stopped at the last two looks."""
    down: dict[str, int] = field(default_factory=dict)
    """Link to the number of looks in a row at which it had no carrier."""
    links: dict[str, NodeEvent] = field(default_factory=dict)
    """What became of each link that lost its carrier."""
    unheard: dict[str, int] = field(default_factory=dict)
    """Peer to the number of looks in a row at which it had not answered."""
    cut: dict[str, NodeEvent] = field(default_factory=dict)
    """What became of each peer that was cut off."""
    low: dict[str, NodeEvent] = field(default_factory=dict)
    """Each device that had little or no room left, at its least."""
    devices: list[NodeEvent] = field(default_factory=list)
    """What the kernel's log says of devices."""
    memory: list[NodeEvent] = field(default_factory=list)
    """Processes that were ended for lack of memory."""
    least_bytes: dict[str, int] = field(default_factory=dict)
    looks: int = 0
    cpu_s: float = 0.0
    """What the watch took itself."""

    def take(self, line: Mapping[str, Any], now_unix_s: float) -> None:
        """Add one look. Raises ValueError, KeyError or TypeError for what is none."""
        self.looks += 1
        self.cpu_s = float(line["cpu_s"])
        before, self.daemons = self.daemons, dict(line["daemons"])
        self.stuck = tuple(name for name, state in self.daemons.items() if state == before.get(name) == "stopped")
        for name, (carrier, changes) in line["links"].items():
            self.down[name] = 0 if carrier else self.down.get(name, 0) + 1
            if changes or not carrier:
                now = "is down" if not carrier else f"was down (its carrier changed {changes} times)"
                words = f"the link {name} of {self.node} {now}"
                self.links[name] = NodeEvent(words, self.links[name].at_unix_s if name in self.links else now_unix_s)
        self.unheard = dict(line["unheard"])
        for name, looks in self.unheard.items():
            if looks >= UNHEARD_LOOKS and name not in self.cut:
                words = f"packets between {self.node} and {name} are lost, in one direction at least"
                self.cut[name] = NodeEvent(words, now_unix_s)
        for name, (free_bytes, all_bytes, inodes) in line["room"].items():
            self._room(name, free_bytes, all_bytes, inodes, now_unix_s)
        for text in line["kernel"]:
            self._kernel(text, now_unix_s)
        if int(line["oom"]) > len(self.memory):
            words = f"the kernel ended a process on {self.node} for lack of memory"
            self.memory.append(NodeEvent(words, now_unix_s))

    def _kernel(self, text: str, now_unix_s: float) -> None:
        """Take a line of the kernel's log. What it says of memory twice, in two lines, counts once."""
        if victim := _KILLED.search(text):
            words = f"the kernel ended {victim[1]} (process {victim[2]}) on {self.node} for lack of memory"
            self.memory.append(NodeEvent(words, now_unix_s))
        elif "memory" not in text.lower() and len(self.devices) < KERNEL_LINES_MAX:
            self.devices.append(NodeEvent(f"the kernel of {self.node} says: {text}", now_unix_s))

    def _room(self, name: str, free_bytes: int, all_bytes: int, inodes: int, now_unix_s: float) -> None:
        if free_bytes < 0:
            words = f"{name} of {self.node} does not answer"
            if all(change.words != words for change in self.devices):
                self.devices.append(NodeEvent(words, now_unix_s))
            return
        low = free_bytes < min(LOW_SHARE * all_bytes, LOW_BYTES_MAX)
        if (low or not inodes) and free_bytes < self.least_bytes.get(name, all_bytes + 1):
            self.least_bytes[name] = free_bytes
            if not inodes:
                words = f"{name} of {self.node} has no inodes left"
            elif free_bytes < FULL_BYTES:
                words = f"{name} of {self.node} was full"
            else:
                left = f"{format_bytes(free_bytes)} of {format_bytes(all_bytes)}"
                words = f"{name} of {self.node} was nearly full: {left} were left"
            self.low[name] = NodeEvent(words, now_unix_s)


def cuts(seen: Sequence[NodeObservations]) -> list[NodeEvent]:
    """Return which nodes did not hear each other, in words; one that none of several others hears is named alone."""
    lost: dict[frozenset[str], NodeEvent] = {}
    for observations in seen:
        for peer, change in observations.cut.items():
            lost.setdefault(frozenset((observations.node, peer)), change)
    nodes = {observations.node for observations in seen}
    alone = {
        node for node in nodes if len(nodes) > 2 and all(frozenset((node, other)) in lost for other in nodes - {node})
    }
    single = [NodeEvent(f"no other node hears {node}", _first_s(node, lost)) for node in sorted(alone)]
    return [*single, *(change for pair, change in lost.items() if not pair & alone)]


def _first_s(node: str, lost: Mapping[frozenset[str], NodeEvent]) -> float:
    return min(change.at_unix_s for pair, change in lost.items() if node in pair)


class NodeWatch(NodeStream):
    """A watch that continues on a node until :meth:`end`, or until the connection or assay dies."""

    script, title, stop_timeout_s = "watch", "the watch", STOP_TIMEOUT_S

    def __init__(self, transport: Transport, process: RemoteProcess) -> None:
        self.seen = NodeObservations(transport.name)
        self.heard_s = time.monotonic()
        self.lost: HostError | None = None
        super().__init__(transport, process)

    @classmethod
    async def start(cls, transport: Transport, options: WatchOptions) -> NodeWatch:
        """Start watching; returns after the first look. Raises HostError when it can't."""
        arguments = {
            "interval_s": INTERVAL_S,
            "daemons": dict(options.daemons),
            "directories": dict(options.directories),
            "peers": dict(options.peers),
            "cgroup": options.cgroup,
            "shared": options.shared,
        }
        return await cls.start_script(transport, arguments)

    @property
    def has_reported(self) -> bool:
        """Whether there was a look."""
        return self.seen.looks > 0

    def take(self, line: bytes) -> bool:
        """Take a look."""
        with contextlib.suppress(ValueError, KeyError, TypeError):  # a line cut off by a lost connection
            self.seen.take(json.loads(line), time.time())
            self.heard_s = time.monotonic()
            return True
        return False

    def ended(self, error: HostError | None) -> None:
        """Take note that it is lost."""
        self.lost = error or HostError("the watch ended by itself", where=f"{self.transport.name}: watch")

    async def look(self, timeout_s: float) -> None:
        """Wait for the next look, so long at most."""
        self._came.clear()
        if self.lost is None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await self._came.wait()
