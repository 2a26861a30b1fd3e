"""Watch daemons, links, devices and memory of a node during a run.

In: a transport and what to check. Out: :class:`NodeObservations`, which grows while the watch runs. ``node/watch.py``
describes the format of the lines and its sources. One check every two seconds; times in seconds, free space in bytes.
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
"""Time between two checks, in seconds."""
STOP_TIMEOUT_S = 2.0
"""Maximum wait for a watch to end by itself, and then for its termination, in seconds."""
LOW_SHARE, LOW_BYTES_MAX = 0.1, 256 << 20
"""Limits below which free space is low: a tenth of a device or 256 MiB, whichever is less. HDFS needs a few blocks."""
FULL_BYTES = 1 << 20
"""Free space below which a device counts as full, in bytes."""
KERNEL_LINES_MAX = 50
"""Maximum number of messages about devices that are kept for a node."""
SILENT_CHECKS_MIN = 4
"""Number of consecutive checks without response after which a peer counts as cut off: about eight seconds."""
_KILLED = re.compile(r"oom-kill:.*\btask=([^,]+),pid=([0-9]+)")


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """The daemons, directories and peers to check on a node."""

    daemons: Mapping[str, str] = field(default_factory=dict)
    """Name to pid file."""
    directories: Mapping[str, str] = field(default_factory=dict)
    """Device to a directory on it."""
    peers: Mapping[str, str] = field(default_factory=dict)
    """Other nodes to the addresses that this node pings."""
    cgroup: str | None = None
    """The node's memory control group; None for a host without one."""
    is_shared_kernel: bool = False
    """Whether other nodes share this kernel."""


@dataclass(frozen=True, slots=True)
class NodeEvent:
    """An unexpected event on a node, as text, with its time."""

    message: str
    at_unix_s: float


@dataclass(slots=True)
class NodeObservations:
    """All observations of one node."""

    node: str
    daemons: dict[str, str] = field(default_factory=dict)
    """Daemon to "dead" or "stopped" at the last check."""
    stopped_daemons: tuple[str, ...] = ()
    """Daemons that were stopped at the last two checks."""
    down_checks: dict[str, int] = field(default_factory=dict)
    """Link to the number of consecutive checks without carrier."""
    links: dict[str, NodeEvent] = field(default_factory=dict)
    """The event of each link that lost its carrier."""
    silent_checks: dict[str, int] = field(default_factory=dict)
    """Peer to the number of consecutive checks without response."""
    lost_peers: dict[str, NodeEvent] = field(default_factory=dict)
    """The event of each peer that was cut off."""
    low_space: dict[str, NodeEvent] = field(default_factory=dict)
    """The event of each device that was nearly full or full, with its minimum free space."""
    devices: list[NodeEvent] = field(default_factory=list)
    """Messages of the kernel's log about devices."""
    memory: list[NodeEvent] = field(default_factory=list)
    """Processes that were killed for lack of memory."""
    least_bytes: dict[str, int] = field(default_factory=dict)
    """Device to its minimum free space, in bytes, if it was low."""
    checks: int = 0
    cpu_s: float = 0.0
    """CPU time of the watch itself."""

    def add_check(self, line: Mapping[str, Any], now_unix_s: float) -> None:
        """Add one check. Raises ValueError, KeyError or TypeError for invalid lines."""
        self.checks += 1
        self.cpu_s = float(line["cpu_s"])
        previous_states, self.daemons = self.daemons, dict(line["daemons"])
        self.stopped_daemons = tuple(
            name for name, state in self.daemons.items() if state == previous_states.get(name) == "stopped"
        )
        for name, (carrier, changes) in line["links"].items():
            self.down_checks[name] = 0 if carrier else self.down_checks.get(name, 0) + 1
            if changes or not carrier:
                state_text = "is down" if not carrier else f"was down (its carrier changed {changes} times)"
                message = f"the link {name} of {self.node} {state_text}"
                self.links[name] = NodeEvent(message, self.links[name].at_unix_s if name in self.links else now_unix_s)
        self.silent_checks = dict(line["silent_checks"])
        for name, checks in self.silent_checks.items():
            if checks >= SILENT_CHECKS_MIN and name not in self.lost_peers:
                message = f"packets between {self.node} and {name} are lost, in one direction at least"
                self.lost_peers[name] = NodeEvent(message, now_unix_s)
        for name, (free_bytes, all_bytes, inodes) in line["room"].items():
            self._add_free_space(name, free_bytes, all_bytes, inodes, now_unix_s)
        for text in line["kernel"]:
            self._add_kernel_message(text, now_unix_s)
        if int(line["oom"]) > len(self.memory):
            message = f"the kernel ended a process on {self.node} for lack of memory"
            self.memory.append(NodeEvent(message, now_unix_s))

    def _add_kernel_message(self, text: str, now_unix_s: float) -> None:
        """Add a line of the kernel's log. Two lines about the same out-of-memory kill count once."""
        if victim := _KILLED.search(text):
            message = f"the kernel ended {victim[1]} (process {victim[2]}) on {self.node} for lack of memory"
            self.memory.append(NodeEvent(message, now_unix_s))
        elif "memory" not in text.lower() and len(self.devices) < KERNEL_LINES_MAX:
            self.devices.append(NodeEvent(f"the kernel of {self.node} says: {text}", now_unix_s))

    def _add_free_space(self, name: str, free_bytes: int, all_bytes: int, inodes: int, now_unix_s: float) -> None:
        if free_bytes < 0:
            message = f"{name} of {self.node} does not answer"
            if all(event.message != message for event in self.devices):
                self.devices.append(NodeEvent(message, now_unix_s))
            return
        is_low = free_bytes < min(LOW_SHARE * all_bytes, LOW_BYTES_MAX)
        if (is_low or not inodes) and free_bytes < self.least_bytes.get(name, all_bytes + 1):
            self.least_bytes[name] = free_bytes
            if not inodes:
                message = f"{name} of {self.node} has no inodes left"
            elif free_bytes < FULL_BYTES:
                message = f"{name} of {self.node} was full"
            else:
                space_text = f"{format_bytes(free_bytes)} of {format_bytes(all_bytes)}"
                message = f"{name} of {self.node} was nearly full: {space_text} were left"
            self.low_space[name] = NodeEvent(message, now_unix_s)


def contact_losses(node_observations: Sequence[NodeObservations]) -> list[NodeEvent]:
    """Return messages about nodes that lost contact with each other.

    If no other node hears a node, the message names only that node.
    """
    losses: dict[frozenset[str], NodeEvent] = {}
    for observations in node_observations:
        for peer, event in observations.lost_peers.items():
            losses.setdefault(frozenset((observations.node, peer)), event)
    nodes = {observations.node for observations in node_observations}
    isolated_nodes = {
        node
        for node in nodes
        if len(nodes) > 2 and all(frozenset((node, other_node)) in losses for other_node in nodes - {node})
    }
    isolation_events = [
        NodeEvent(f"no other node receives packets from {node}", _first_loss_s(node, losses))
        for node in sorted(isolated_nodes)
    ]
    return [*isolation_events, *(event for pair, event in losses.items() if not pair & isolated_nodes)]


def _first_loss_s(node: str, losses: Mapping[frozenset[str], NodeEvent]) -> float:
    return min(event.at_unix_s for pair, event in losses.items() if node in pair)


class NodeWatch(NodeStream):
    """A watch on a node that runs until :meth:`end`, or until the connection or assay dies."""

    script, title, stop_timeout_s = "watch", "the watch", STOP_TIMEOUT_S

    def __init__(self, transport: Transport, process: RemoteProcess) -> None:
        self.observations = NodeObservations(transport.name)
        self.last_check_s = time.monotonic()
        self.lost: HostError | None = None
        super().__init__(transport, process)

    @classmethod
    async def start(cls, transport: Transport, options: WatchOptions) -> NodeWatch:
        """Start watching; return after the first check. Raises HostError on failure."""
        arguments = {
            "interval_s": INTERVAL_S,
            "daemons": dict(options.daemons),
            "directories": dict(options.directories),
            "peers": dict(options.peers),
            "cgroup": options.cgroup,
            "shared": options.is_shared_kernel,
        }
        return await cls.start_script(transport, arguments)

    @property
    def has_reported(self) -> bool:
        """Whether a check has arrived."""
        return self.observations.checks > 0

    def take(self, line: bytes) -> bool:
        """Add a check."""
        with contextlib.suppress(ValueError, KeyError, TypeError):  # a line cut off by a lost connection
            self.observations.add_check(json.loads(line), time.time())
            self.last_check_s = time.monotonic()
            return True
        return False

    def handle_end(self, error: HostError | None) -> None:
        """Record that the watch was lost."""
        self.lost = error or HostError("the watch ended by itself", where=f"{self.transport.name}: watch")

    async def next_check(self, timeout_s: float) -> None:
        """Wait for the next check, at most ``timeout_s``."""
        self._received.clear()
        if self.lost is None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await self._received.wait()
