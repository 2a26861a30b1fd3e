"""How loaded each worker's resources were in each second of a run, and which attempts ran there.

In: a run, its attempts, its trace. Out: :class:`Loads`: shares between 0 and 1 by resource, worker and step. A disk's
load is the share of the time in which it had something to do, or its bytes over its rate where that is more (a
throttled disk waits before its queue is counted); a link's is the busier direction over its rate; the CPU's the share
of time in which cores worked. A lab's nodes share one machine, and each has that machine's load. Between two samples a
counter grows evenly.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from assay.explain.devices import Purpose, as_observed, purposes, workers
from assay.model import CPU_BUSY, CPU_FREE, LabFacts, Run, Task, Trace
from assay.statistics import Floats

STEPS_MAX = 3600
"""A longer run is looked at in longer steps than a second."""


class Resource(StrEnum):
    """What can be the limit of a worker at a moment."""

    CPU = "cpu"
    DISK_HDFS = "disk:hdfs"
    DISK_INTERMEDIATE = "disk:intermediate"
    DISK_SHARED = "disk:shared"
    DISK = "disk"
    """A disk of which the run does not say what it is for."""
    NETWORK = "network"
    MEMORY = "memory"
    """Processes waited for memory to become free."""
    CONTAINERS = "containers"
    """Nothing ran on the node, and tasks that could have run were not there yet."""
    FIXED = "fixed"
    """Nothing ran on any node: the client, the submission, the ApplicationMaster, the end."""
    NO_TASK = "no task"
    """Nothing was left to do for this node while others still worked."""
    NOTHING = "nothing"
    """Attempts ran and no resource was busy for half of the time: waits of protocols, polling, start-up of JVMs."""


DISKS = (Resource.DISK_HDFS, Resource.DISK_INTERMEDIATE, Resource.DISK_SHARED, Resource.DISK)
_DISK_OF = {
    Purpose.HDFS: Resource.DISK_HDFS,
    Purpose.INTERMEDIATE: Resource.DISK_INTERMEDIATE,
    Purpose.SHARED: Resource.DISK_SHARED,
}


@dataclass(frozen=True, slots=True)
class Loads:
    """Shares of resources by worker (row) and step (column); what was not observed is not in ``shares``."""

    workers: tuple[str, ...]
    edges_s: Floats
    shares: Mapping[Resource, Floats]
    cores: Floats
    """Of each worker, in a lab of the machine, by the CPU time that there was; 1 where that was not observed."""
    waiting_for_cpu: Floats
    """Share of the time in which the CPU worked or some process waited for it, or some attempt computed."""
    computing: Floats
    """Share of their time that the attempts there computed: one that does so all the time waits for its one core,
    however many others are idle."""
    unknown: tuple[str, ...]
    """What could not be told, in words."""

    @property
    def steps_s(self) -> Floats:
        """The lengths of the steps."""
        return np.diff(self.edges_s)


def loads_of(run: Run, tasks: Sequence[Task], trace: Trace) -> Loads | None:
    """Return the loads of the run's workers; None where no trace tells of any."""
    tasks = as_observed(run, tasks)
    observed = set(trace.node)
    names = tuple(sorted(workers(run, tasks, trace) & observed))
    if not names or run.duration_s <= 0:
        return None
    edges = np.linspace(0.0, run.duration_s, max(1, min(STEPS_MAX, round(run.duration_s))) + 1)
    grown = _Grown(trace, names, edges)
    unknown: list[str] = []
    shares: dict[Resource, Floats] = {}
    cpu, cores = grown.cpu()
    computing, most = _computing(tasks, names, edges)
    if cpu is None:
        unknown.append("CPU time was not observed")
    else:
        shares[Resource.CPU] = cpu
    shares |= _disk_shares(run, grown, names)
    if not any(disk in shares for disk in DISKS):
        unknown.append("no disk was observed")
    network = _network_share(run, grown, names)
    if network is None:
        unknown.append("the network is left out: its traffic or the links' rate was not recorded")
    else:
        shares[Resource.NETWORK] = network
    if run.lab_scale is None and (memory := grown.of("pressure", "memory_some_s")) is not None:
        shares[Resource.MEMORY] = np.minimum(memory, 1.0)
    else:
        unknown.append("waits for memory are not told node by node")
    zero = np.zeros((len(names), len(edges) - 1))
    pressure = grown.of("pressure", "cpu_some_s")
    waiting = np.maximum(most, zero if pressure is None else np.minimum(pressure, 1.0))
    waiting = np.maximum(waiting, zero if cpu is None else cpu)
    return Loads(names, edges, shares, cores, waiting, computing, tuple(unknown)) if shares else None


def overlap_s(edges: Floats, start_s: float, end_s: float) -> Floats:
    """Return how much of each step lies between two times, in seconds."""
    found: Floats = np.maximum(np.minimum(edges[1:], end_s) - np.maximum(edges[:-1], start_s), 0.0)
    return found


def _computing(tasks: Sequence[Task], names: Sequence[str], edges: Floats) -> tuple[Floats, Floats]:
    """Return what share of their time the attempts computed, by worker and step: their mean, and the most of any.

    An attempt's CPU time is taken as spread evenly, and as one core's.
    """
    ran, used, most = (np.zeros((len(names), len(edges) - 1)) for _ in range(3))
    for task in tasks:
        took_s = task.end_s - task.start_s
        if took_s <= 0 or task.node not in names:
            continue
        row, here = names.index(task.node), overlap_s(edges, task.start_s, task.end_s)
        share = min(1.0, (task.cpu_s or 0.0) / took_s)
        ran[row] += here
        used[row] += here * share
        most[row] = np.maximum(most[row], share * (here > 0))
    mean: Floats = np.divide(used, ran, out=np.zeros_like(used), where=ran > 0)
    return mean, most


class _Grown:
    """The counters' increase per second, by worker and step."""

    def __init__(self, trace: Trace, names: Sequence[str], edges: Floats) -> None:
        self.names, self.edges = names, edges
        self.series: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
        rows = zip(trace.t_s, trace.node, trace.subject, trace.metric, trace.counter, trace.value, strict=True)
        wanted = set(names)
        for t_s, node, subject, metric, counter, value in rows:
            if counter and node in wanted:
                self.series.setdefault((node, subject, metric), []).append((t_s, value))

    def one(self, node: str, subject: str, metric: str) -> Floats | None:
        """Return one counter's growth per second in each step; None where it was not sampled."""
        points = sorted(self.series.get((node, subject, metric), ()))
        if len(points) < 2:
            return None
        t_s, values = np.asarray(points).T
        steps = np.diff(values)
        sums = np.concatenate(([0.0], np.cumsum(np.where(steps < 0, values[1:], steps))))
        found: Floats = np.diff(np.interp(self.edges, t_s, sums)) / np.diff(self.edges)
        return found

    def of(self, subject: str, metric: str) -> Floats | None:
        """Return a counter's growth on all workers; None where one of them lacks it."""
        found = [self.one(node, subject, metric) for node in self.names]
        return None if any(one is None for one in found) else np.asarray(found)

    def subjects(self, kind: str) -> list[str]:
        """Return the subjects of a kind, such as ``disk``."""
        return sorted({subject for _, subject, _ in self.series if subject.partition(":")[0] == kind})

    def cpu(self) -> tuple[Floats | None, Floats]:
        """Return the share of the CPU time that was not free, None where that was not observed; and each worker's
        cores, which all of that time tells (1 where nothing does).
        """
        busy = [self.of("cpu", metric) for metric in CPU_BUSY]
        free = [self.of("cpu", metric) for metric in CPU_FREE]
        told = [one for one in busy if one is not None]
        if not told or not any(one is not None for one in free):
            return None, np.ones(len(self.names))
        used = np.sum(told, axis=0)
        whole = used + np.sum([one for one in free if one is not None], axis=0)
        share: Floats = np.divide(used, whole, out=np.zeros_like(used), where=whole > 0)
        return share, np.maximum(1.0, np.median(whole, axis=1))


def _disk_shares(run: Run, grown: _Grown, names: Sequence[str]) -> dict[Resource, Floats]:
    """Return the load of the busiest disk of each purpose."""
    kept = purposes(run)
    rates = _device_rates(run)
    found: dict[Resource, Floats] = {}
    for subject in grown.subjects("disk"):
        device = subject.partition(":")[2]
        purpose = kept.get(device, Purpose.NONE) if kept is not None else Purpose.UNKNOWN
        if purpose is Purpose.NONE:
            continue
        load = np.zeros((len(names), len(grown.edges) - 1))
        for row, node in enumerate(names):
            load[row] = _disk_load(grown, node, subject, rates.get((node, device)))
        resource = _DISK_OF.get(purpose, Resource.DISK)
        found[resource] = np.maximum(found.get(resource, load), load)
    return found


def _disk_load(grown: _Grown, node: str, subject: str, rates: tuple[float, float] | None) -> Floats:
    parts = [np.zeros(len(grown.edges) - 1)]
    if (busy := grown.one(node, subject, "busy_s")) is not None:
        parts.append(busy)
    if rates is not None:
        moved = [grown.one(node, subject, metric) for metric in ("read_bytes", "write_bytes")]
        told = [one / rate for one, rate in zip(moved, rates, strict=True) if one is not None]
        parts += [np.sum(told, axis=0)] if told else []
    load: Floats = np.minimum(np.max(parts, axis=0), 1.0)
    return load


def _device_rates(run: Run) -> dict[tuple[str, str], tuple[float, float]]:
    """Return node and device to the bytes per second that a lab lets it read and write; nothing for real hosts."""
    found = {}
    for node, told in LabFacts.of(run.recorded.tree.get("lab")).tree.get("nodes", {}).items():
        devices: Mapping[str, Any] = told.get("devices", {}) if isinstance(told, dict) else {}
        for name, device in devices.items():
            read, write = device.get("read_bytes_per_s"), device.get("write_bytes_per_s")
            if read and write:
                found[str(node), str(name)] = (float(read), float(write))
    return found


def _network_share(run: Run, grown: _Grown, names: Sequence[str]) -> Floats | None:
    """Return the busier direction of each worker's links over their rate; None where either is not known."""
    rates = _link_rates(run, names)
    rows = []
    for node in names:
        ways = []
        for metric in ("receive_bytes", "transmit_bytes"):
            told = [one for nic in grown.subjects("nic") if (one := grown.one(node, nic, metric)) is not None]
            ways += [np.sum(told, axis=0)] if told else []
        if not ways or node not in rates:
            return None
        rows.append(np.minimum(np.max(ways, axis=0) * 8 / rates[node], 1.0))
    return np.asarray(rows)


def _link_rates(run: Run, names: Sequence[str]) -> dict[str, float]:
    network = run.recorded.tree.get("network")
    told: Mapping[str, Any] = network if isinstance(network, dict) else {}
    each, every = told.get("link_bits_per_s"), told.get("rate_bits_per_s")
    lab = LabFacts.of(run.recorded.tree.get("lab")).nodes
    found = {name: lab[name].link_bits_per_s for name in names if name in lab and lab[name].link_bits_per_s > 0}
    if isinstance(every, int | float) and every > 0:
        found = dict.fromkeys(names, float(every))
    if (groups := run.recorded.node_groups) is not None:
        found = {name: rate * groups.sizes.get(name, 1) for name, rate in found.items()}
    if isinstance(each, dict):
        found |= {name: float(each[name]) for name in names if isinstance(each.get(name), int | float)}
    return found
