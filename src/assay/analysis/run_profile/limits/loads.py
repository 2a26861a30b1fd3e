"""Compute how loaded each worker's resources were in each second of a run.

In: a run, its attempts, its trace. Out: :class:`Loads`: shares between 0 and 1 by resource, worker and step. A disk's
load is the share of time in which it was busy, or its bytes/s / its maximum rate if that is larger: the kernel does not
count the time for which a throttled disk holds requests back. A link's load is the bytes/s of its busier direction /
its maximum rate. The CPU's load is the share of time in which cores worked. A lab's nodes share one machine, so each
has that machine's load. Counters are interpolated linearly between samples.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from assay.analysis.run_profile.devices import Purpose, as_observed, purposes, workers
from assay.analysis.run_profile.traffic import counter_growth
from assay.analysis.statistics import Floats
from assay.model import CPU_BUSY, CPU_FREE, LabFacts, Run, TaskAttempt, Trace

STEPS_MAX = 3600
"""Maximum number of steps; runs longer than this many seconds have longer steps."""


class Resource(StrEnum):
    """A possible limit of a worker in one step."""

    CPU = "cpu"
    DISK_HDFS = "disk:hdfs"
    DISK_INTERMEDIATE = "disk:intermediate"
    DISK_SHARED = "disk:shared"
    DISK = "disk"
    """A disk whose purpose the run did not record."""
    NETWORK = "network"
    MEMORY = "memory"
    """Processes waited for free memory."""
    CONTAINERS = "containers"
    """Nothing ran on the node while tasks waited for a container."""
    FIXED = "fixed"
    """Nothing ran on any node: client start, submission, ApplicationMaster, job end."""
    NO_TASK = "no task"
    """The node was idle while other nodes still ran tasks."""
    NONE = "nothing"
    """Attempts ran, but no resource was busy for half of the time: protocol waits, polling, JVM start-up."""


DISKS = (Resource.DISK_HDFS, Resource.DISK_INTERMEDIATE, Resource.DISK_SHARED, Resource.DISK)
_DISK_OF = {
    Purpose.HDFS: Resource.DISK_HDFS,
    Purpose.INTERMEDIATE: Resource.DISK_INTERMEDIATE,
    Purpose.SHARED: Resource.DISK_SHARED,
}


@dataclass(frozen=True, slots=True)
class Loads:
    """Load of resources, shape (workers, steps); ``shares`` lacks resources that were not observed."""

    workers: tuple[str, ...]
    edges_s: Floats
    shares: Mapping[Resource, Floats]
    cores: Floats
    """Cores of each worker (in a lab: of the machine), from its CPU time per second; 1 if CPU time was not observed."""
    waiting_for_cpu: Floats
    """Share of time in which the CPU worked, a process waited for it, or an attempt computed."""
    computing: Floats
    """Mean CPU share of the attempts on the worker. An attempt at 1 waits for its one core, even if others are idle."""
    unknown: tuple[str, ...]
    """Sentences about resources that were not observed."""

    @property
    def steps_s(self) -> Floats:
        """Length of each step, in seconds."""
        return np.diff(self.edges_s)


def loads_of(run: Run, tasks: Sequence[TaskAttempt], trace: Trace) -> Loads | None:
    """Return the loads of the run's workers; None if the trace has no worker."""
    tasks = as_observed(run, tasks)
    observed_nodes = set(trace.node)
    names = tuple(sorted(workers(run, tasks, trace) & observed_nodes))
    if not names or run.duration_s <= 0:
        return None
    edges = np.linspace(0.0, run.duration_s, max(1, min(STEPS_MAX, round(run.duration_s))) + 1)
    counters = _CounterRates(trace, names, edges)
    sentences: list[str] = []
    shares: dict[Resource, Floats] = {}
    cpu, cores = counters.cpu()
    computing, max_share = _computing(tasks, names, edges)
    if cpu is None:
        sentences.append("CPU time was not observed")
    else:
        shares[Resource.CPU] = cpu
    shares |= _disk_shares(run, counters, names)
    if not any(disk in shares for disk in DISKS):
        sentences.append("no disk was observed")
    network = _network_share(run, counters, names)
    if network is None:
        sentences.append("the network is left out: its traffic or the links' rate was not recorded")
    else:
        shares[Resource.NETWORK] = network
    if run.lab_scale is None and (memory := counters.rates("pressure", "memory_some_s")) is not None:
        shares[Resource.MEMORY] = np.minimum(memory, 1.0)
    else:
        sentences.append("waits for memory were not recorded by node")
    zero = np.zeros((len(names), len(edges) - 1))
    pressure = counters.rates("pressure", "cpu_some_s")
    waiting_for_cpu = np.maximum(max_share, zero if pressure is None else np.minimum(pressure, 1.0))
    waiting_for_cpu = np.maximum(waiting_for_cpu, zero if cpu is None else cpu)
    return Loads(names, edges, shares, cores, waiting_for_cpu, computing, tuple(sentences)) if shares else None


def overlap_s(edges: Floats, start_s: float, end_s: float) -> Floats:
    """Return the part of each step between two times, in seconds."""
    overlap: Floats = np.maximum(np.minimum(edges[1:], end_s) - np.maximum(edges[:-1], start_s), 0.0)
    return overlap


def _computing(tasks: Sequence[TaskAttempt], names: Sequence[str], edges: Floats) -> tuple[Floats, Floats]:
    """Return the CPU share of the attempts by worker and step: the mean and the maximum.

    An attempt's CPU time is spread evenly over its duration and counted against one core.
    """
    attempt_s, cpu_s, max_share = (np.zeros((len(names), len(edges) - 1)) for _ in range(3))
    for task in tasks:
        duration_s = task.end_s - task.start_s
        if duration_s <= 0 or task.node not in names:
            continue
        row, overlap = names.index(task.node), overlap_s(edges, task.start_s, task.end_s)
        share = min(1.0, (task.cpu_s or 0.0) / duration_s)
        attempt_s[row] += overlap
        cpu_s[row] += overlap * share
        max_share[row] = np.maximum(max_share[row], share * (overlap > 0))
    mean: Floats = np.divide(cpu_s, attempt_s, out=np.zeros_like(cpu_s), where=attempt_s > 0)
    return mean, max_share


class _CounterRates:
    """Counters of a trace as increases per second, by worker and step."""

    def __init__(self, trace: Trace, names: Sequence[str], edges: Floats) -> None:
        self.names, self.edges = names, edges
        self.series: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
        rows = zip(trace.t_s, trace.node, trace.subject, trace.metric, trace.counter, trace.value, strict=True)
        node_names = set(names)
        for t_s, node, subject, metric, counter, value in rows:
            if counter and node in node_names:
                self.series.setdefault((node, subject, metric), []).append((t_s, value))

    def rate(self, node: str, subject: str, metric: str) -> Floats | None:
        """Return the increase per second of one counter in each step; None if it was not sampled."""
        points = sorted(self.series.get((node, subject, metric), ()))
        if len(points) < 2:
            return None
        rates: Floats = np.array(counter_growth(points, self.edges.tolist())) / np.diff(self.edges)
        return rates

    def rates(self, subject: str, metric: str) -> Floats | None:
        """Return the increase per second on all workers, shape (workers, steps); None if a worker lacks the counter."""
        rates = [self.rate(node, subject, metric) for node in self.names]
        return None if any(rate is None for rate in rates) else np.asarray(rates)

    def subjects(self, kind: str) -> list[str]:
        """Return the subjects of a kind, for example ``disk``."""
        return sorted({subject for _, subject, _ in self.series if subject.partition(":")[0] == kind})

    def cpu(self) -> tuple[Floats | None, Floats]:
        """Return the busy share of CPU time, None if it was not observed, and the cores of each worker.

        Cores are the CPU seconds per second of all states together; 1 if CPU time was not observed.
        """
        all_busy_rates = [self.rates("cpu", metric) for metric in CPU_BUSY]
        free_rates = [self.rates("cpu", metric) for metric in CPU_FREE]
        busy_rates = [rates for rates in all_busy_rates if rates is not None]
        if not busy_rates or not any(rates is not None for rates in free_rates):
            return None, np.ones(len(self.names))
        busy_total = np.sum(busy_rates, axis=0)
        total = busy_total + np.sum([rates for rates in free_rates if rates is not None], axis=0)
        share: Floats = np.divide(busy_total, total, out=np.zeros_like(busy_total), where=total > 0)
        return share, np.maximum(1.0, np.median(total, axis=1))


def _disk_shares(run: Run, counters: _CounterRates, names: Sequence[str]) -> dict[Resource, Floats]:
    """Return the load of the busiest disk of each purpose."""
    purpose_of = purposes(run)
    rates = _device_rates(run)
    shares: dict[Resource, Floats] = {}
    for subject in counters.subjects("disk"):
        device = subject.partition(":")[2]
        purpose = purpose_of.get(device, Purpose.NONE) if purpose_of is not None else Purpose.UNKNOWN
        if purpose is Purpose.NONE:
            continue
        load = np.zeros((len(names), len(counters.edges) - 1))
        for row, node in enumerate(names):
            load[row] = _disk_load(counters, node, subject, rates.get((node, device)))
        resource = _DISK_OF.get(purpose, Resource.DISK)
        shares[resource] = np.maximum(shares.get(resource, load), load)
    return shares


def _disk_load(counters: _CounterRates, node: str, subject: str, rates: tuple[float, float] | None) -> Floats:
    parts = [np.zeros(len(counters.edges) - 1)]
    if (busy := counters.rate(node, subject, "busy_s")) is not None:
        parts.append(busy)
    if rates is not None:
        device_rates = [counters.rate(node, subject, metric) for metric in ("read_bytes", "write_bytes")]
        loads = [
            bytes_per_s / rate for bytes_per_s, rate in zip(device_rates, rates, strict=True) if bytes_per_s is not None
        ]
        parts += [np.sum(loads, axis=0)] if loads else []
    load: Floats = np.minimum(np.max(parts, axis=0), 1.0)
    return load


def _device_rates(run: Run) -> dict[tuple[str, str], tuple[float, float]]:
    """Return (node, device) to the bytes per second that a lab lets it read and write; empty for real hosts."""
    rates = {}
    for node, facts in LabFacts.of(run.recorded.tree.get("lab")).tree.get("nodes", {}).items():
        devices: Mapping[str, Any] = facts.get("devices", {}) if isinstance(facts, dict) else {}
        for name, device in devices.items():
            read, write = device.get("read_bytes_per_s"), device.get("write_bytes_per_s")
            if read and write:
                rates[str(node), str(name)] = (float(read), float(write))
    return rates


def _network_share(run: Run, counters: _CounterRates, names: Sequence[str]) -> Floats | None:
    """Return the load of each worker's links: the busier direction / rate; None if traffic or rate is unknown."""
    rates = _link_rates(run, names)
    rows = []
    for node in names:
        directions = []
        for metric in ("receive_bytes", "transmit_bytes"):
            nic_rates = [
                rate for nic in counters.subjects("nic") if (rate := counters.rate(node, nic, metric)) is not None
            ]
            directions += [np.sum(nic_rates, axis=0)] if nic_rates else []
        if not directions or node not in rates:
            return None
        rows.append(np.minimum(np.max(directions, axis=0) * 8 / rates[node], 1.0))
    return np.asarray(rows)


def _link_rates(run: Run, names: Sequence[str]) -> dict[str, float]:
    network = run.recorded.tree.get("network")
    facts: Mapping[str, Any] = network if isinstance(network, dict) else {}
    rates_by_node, common_rate = facts.get("link_bits_per_s"), facts.get("rate_bits_per_s")
    lab = LabFacts.of(run.recorded.tree.get("lab")).nodes
    rates = {name: lab[name].link_bits_per_s for name in names if name in lab and lab[name].link_bits_per_s > 0}
    if isinstance(common_rate, int | float) and common_rate > 0:
        rates = dict.fromkeys(names, float(common_rate))
    if (groups := run.recorded.node_groups) is not None:
        rates = {name: rate * groups.sizes.get(name, 1) for name, rate in rates.items()}
    if isinstance(rates_by_node, dict):
        rates |= {
            name: float(rates_by_node[name]) for name in names if isinstance(rates_by_node.get(name), int | float)
        }
    return rates
