"""Compute the use of each disk and node during a run, by purpose: HDFS blocks or intermediate data.

In: a trace with ``disk:``, ``nic:`` and ``cpu`` counters, and the layout. Out: bytes, requests, bytes per request
(LISA'14, figure 3), waits, queues and busy shares of devices, and each node's part of the work.

The kernel counts requests by device, not by file. The traffic of a purpose is therefore exact if its devices hold
nothing else. A device that holds both is shown as *shared*, and its traffic is never split. The job's counters have the
bytes that it requested before the page cache (:mod:`assay.analysis.run_profile.job_figures`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from statistics import fmean

from msgspec.structs import replace as struct_replace

from assay.foundation.units import scaled
from assay.model import CPU_BUSY, CPU_FREE, NodeGroups, Run, TaskAttempt, Trace
from assay.model.runs.traces.counters import counter_increases

IMBALANCE_MEAN_MIN = {"cpu": 1.0, "disk": 16e6, "nic": 16e6}
"""Minimum CPU time (s), or bytes, of the mean worker for an imbalance to be meaningful."""


class Purpose(StrEnum):
    """The data that a layout keeps on a device."""

    HDFS = "hdfs"
    INTERMEDIATE = "intermediate"
    SHARED = "shared"
    NONE = "none"
    """The layout does not use it."""
    UNKNOWN = "unknown"
    """The run did not record its layout."""


@dataclass(frozen=True, slots=True)
class Transfers:
    """Traffic of one disk, or sums over several disks; None if it was not observed."""

    read_bytes: float | None = None
    write_bytes: float | None = None
    reads: float | None = None
    writes: float | None = None
    read_s: float | None = None
    """Sum of the durations of all reads; ``write_s`` likewise for writes."""
    write_s: float | None = None
    read_merges: float | None = None
    """Requests that the kernel merged with others before they reached the device."""
    write_merges: float | None = None
    busy_s: float | None = None
    queue_s: float | None = None
    """Requests in flight, integrated over time in seconds."""

    @property
    def read_request_bytes(self) -> float | None:
        """Bytes per read request."""
        return quotient(self.read_bytes, self.reads)

    @property
    def write_request_bytes(self) -> float | None:
        """Bytes per write request."""
        return quotient(self.write_bytes, self.writes)

    @property
    def read_await_s(self) -> float | None:
        """Mean time of a read from its submission to its end."""
        return quotient(self.read_s, self.reads)

    @property
    def write_await_s(self) -> float | None:
        """Mean time of a write from its submission to its end."""
        return quotient(self.write_s, self.writes)

    @property
    def moved_bytes(self) -> float:
        """Bytes of both directions."""
        return (self.read_bytes or 0.0) + (self.write_bytes or 0.0)


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """One device by name, summed over ``nodes`` nodes."""

    device: str
    purpose: Purpose
    nodes: int
    transfers: Transfers
    busy_share: float | None
    """Share of the run's time in which the device was busy, mean over the nodes."""
    queue: float | None
    """Requests in flight, mean over time and nodes."""


@dataclass(frozen=True, slots=True)
class PurposeUse:
    """All devices of one purpose on all workers."""

    purpose: Purpose
    devices: tuple[str, ...]
    transfers: Transfers


@dataclass(frozen=True, slots=True)
class NodeUse:
    """One node's part of a run; None if it was not observed."""

    node: str
    worker: bool
    cpu_s: float | None
    cpu_busy_share: float | None
    """Busy share of the machine's CPU time. In a lab, all nodes share one machine and have its busy share."""
    disk_read_bytes: float | None
    disk_write_bytes: float | None
    nic_receive_bytes: float | None
    nic_transmit_bytes: float | None
    attempts: int
    """Number of task attempts that ran on the node."""
    nodes: int = 1
    """Number of nodes that were observed together under this name."""


def quotient(amount: float | None, divisor: float | None) -> float | None:
    """Return ``amount / divisor``; None if one is unknown or the divisor is 0."""
    return amount / divisor if amount is not None and divisor else None


def total_of_known(parts: Iterable[float | None]) -> float | None:
    """Return the sum of the values that are known; None if none is."""
    known_parts = [part for part in parts if part is not None]
    return sum(known_parts) if known_parts else None


def sum_of_transfers(parts: Sequence[Transfers]) -> Transfers:
    """Return the sums of the figures of several disks."""
    return Transfers(
        **{field.name: total_of_known(getattr(part, field.name) for part in parts) for field in fields(Transfers)}
    )


def purposes(run: Run) -> dict[str, Purpose] | None:
    """Return the purpose of each device that the run's layout uses; None if the run did not record its layout."""
    facts = run.recorded.cluster
    if facts is None or facts.layout is None:
        return None
    hdfs, intermediate = set(facts.layout.hdfs), set(facts.layout.intermediate)
    purpose_of = dict.fromkeys(hdfs, Purpose.HDFS) | dict.fromkeys(intermediate, Purpose.INTERMEDIATE)
    return purpose_of | dict.fromkeys(hdfs & intermediate, Purpose.SHARED)


def workers(run: Run, tasks: Sequence[TaskAttempt], trace: Trace) -> frozenset[str]:
    """Return the names under which workers, or groups of workers, were observed.

    These are the recorded workers, else the nodes of the run's attempts, else all observed nodes.
    """
    if (groups := run.recorded.node_groups) is not None:
        return frozenset(groups.sizes)
    facts = run.recorded.cluster
    if facts is not None and facts.worker_names is not None:
        return frozenset(facts.worker_names)
    observed = frozenset(trace.node)
    return (frozenset(task.node for task in tasks if task.node) & observed) or observed


def as_observed(run: Run, tasks: Sequence[TaskAttempt]) -> Sequence[TaskAttempt]:
    """Return the attempts; if nodes were observed in groups, with the group as the node."""
    groups = run.recorded.node_groups
    if groups is None:
        return tasks
    return [struct_replace(task, node=groups.of_node.get(task.node, task.node)) for task in tasks]


@dataclass(frozen=True, slots=True)
class Observation:
    """The increases of a run's counters over its duration."""

    increases: Mapping[tuple[str, str, str], float]
    duration_s: float
    workers: frozenset[str]
    purposes: Mapping[str, Purpose] | None
    emulated: bool
    groups: NodeGroups | None = None

    @classmethod
    def of(cls, run: Run, tasks: Sequence[TaskAttempt], trace: Trace) -> Observation:
        """Return the increases of a trace's counters from the run's start to its end."""
        increases, groups = counter_increases(trace, 0.0, run.duration_s), run.recorded.node_groups
        return cls(
            increases, run.duration_s, workers(run, tasks, trace), purposes(run), run.lab_scale is not None, groups
        )

    def _disks(self) -> dict[str, dict[str, Transfers]]:
        """Return the workers' figures by device and node."""
        metrics = {field.name for field in fields(Transfers)}
        values_by_disk: dict[str, dict[str, dict[str, float]]] = {}
        for (node, subject, metric), value in self.increases.items():
            kind, _, name = subject.partition(":")
            if kind == "disk" and metric in metrics and node in self.workers:
                values_by_disk.setdefault(name, {}).setdefault(node, {})[metric] = value
        return {
            name: {node: Transfers(**values) for node, values in nodes.items()}
            for name, nodes in values_by_disk.items()
        }

    def devices(self) -> tuple[DeviceUse, ...]:
        """Return the workers' devices in the order of purposes, each name once.

        Unused devices, and devices of unknown purpose, are omitted if they moved no bytes.
        """
        uses = []
        for name, by_node in sorted(self._disks().items()):
            sums = sum_of_transfers(list(by_node.values()))
            nodes = sum(self._node_count(node) for node in by_node)
            times_s = nodes * self.duration_s
            # The busy time of nodes that were observed together is their mean.
            busy_s = total_of_known(
                scaled(transfers.busy_s, self._node_count(node)) for node, transfers in by_node.items()
            )
            use = DeviceUse(
                name,
                Purpose.UNKNOWN if self.purposes is None else self.purposes.get(name, Purpose.NONE),
                nodes,
                sums,
                quotient(busy_s, times_s),
                quotient(sums.queue_s, times_s),
            )
            if sums.moved_bytes or use.purpose not in (Purpose.NONE, Purpose.UNKNOWN):
                uses.append(use)
        order = list(Purpose)
        return tuple(sorted(uses, key=lambda use: order.index(use.purpose)))

    def _node_count(self, name: str) -> int:
        return self.groups.sizes.get(name, 1) if self.groups else 1

    def by_purpose(self) -> tuple[PurposeUse, ...]:
        """Return the use of the layout's devices for each purpose."""
        uses = [use for use in self.devices() if use.purpose is not Purpose.NONE]
        return tuple(
            PurposeUse(
                purpose,
                tuple(use.device for use in purpose_uses),
                sum_of_transfers([use.transfers for use in purpose_uses]),
            )
            for purpose in dict.fromkeys(use.purpose for use in uses)
            if (purpose_uses := [use for use in uses if use.purpose is purpose])
        )

    def nodes(self, tasks: Sequence[TaskAttempt]) -> tuple[NodeUse, ...]:
        """Return every observed node, workers first."""
        sums: dict[str, dict[tuple[str, str], float]] = {}
        for (node, subject, metric), value in self.increases.items():
            totals, kind = sums.setdefault(node, {}), (subject.partition(":")[0], metric)
            totals[kind] = totals.get(kind, 0.0) + value
        attempts = Counter(task.node for task in tasks)
        if self.groups:
            attempts_of_groups: Counter[str] = Counter()
            for node, count in attempts.items():
                attempts_of_groups[self.groups.of_node.get(node, node)] += count
            attempts = attempts_of_groups
        names = sorted(sums, key=lambda name: (name not in self.workers, name))
        return tuple(self._node(name, sums[name], attempts[name]) for name in names)

    def _node(self, node: str, totals: Mapping[tuple[str, str], float], attempts: int) -> NodeUse:
        busy_s = total_of_known(self.increases.get((node, "cpu", metric)) for metric in CPU_BUSY)
        idle_s = total_of_known(self.increases.get((node, "cpu", metric)) for metric in CPU_FREE)
        total_s = (busy_s or 0.0) + (idle_s or 0.0)
        cgroup_s = self.increases.get((node, "cgroup", "cpu_s"))
        return NodeUse(
            node=node,
            worker=node in self.workers,
            cpu_s=cgroup_s if cgroup_s is not None or self.emulated else busy_s,
            cpu_busy_share=quotient(busy_s, total_s),
            disk_read_bytes=totals.get(("disk", "read_bytes")),
            disk_write_bytes=totals.get(("disk", "write_bytes")),
            nic_receive_bytes=totals.get(("nic", "receive_bytes")),
            nic_transmit_bytes=totals.get(("nic", "transmit_bytes")),
            attempts=attempts,
            nodes=self._node_count(node),
        )


def imbalances(nodes: Sequence[NodeUse]) -> dict[str, float]:
    """Return the maximum / mean over workers of CPU time, disk bytes and network bytes.

    Workers that were observed together count with their mean. An amount is absent if fewer than two workers, or not all
    of them, recorded it, or if it is negligible.
    """
    observed_workers = [node for node in nodes if node.worker]
    amounts = {
        "cpu": [node.cpu_s for node in observed_workers],
        "disk": [total_of_known((node.disk_read_bytes, node.disk_write_bytes)) for node in observed_workers],
        "nic": [total_of_known((node.nic_receive_bytes, node.nic_transmit_bytes)) for node in observed_workers],
    }
    ratios = {}
    for name, values in amounts.items():
        amounts_per_node = [
            amount / node.nodes for node, amount in zip(observed_workers, values, strict=True) if amount is not None
        ]
        if len(amounts_per_node) == len(observed_workers) > 1 and fmean(amounts_per_node) >= IMBALANCE_MEAN_MIN[name]:
            ratios[f"{name}_imbalance"] = max(amounts_per_node) / fmean(amounts_per_node)
    return ratios
