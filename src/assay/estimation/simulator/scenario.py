"""A planned run as the simulator's scenario: the described cluster, Hadoop's parameters, and what the workload costs.

In: a cluster as described (a lab's at its scale), a configuration, a workload's size, a profile. Out: the scenario as
plain values, in bytes, seconds and cores, as ``rust/simulate`` reads it (docs/simulator.md). Nothing is computed here
of how long anything takes. What had to be assumed is said.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from assay.analysis.devices.numbers import dirty_seconds, model_numbers
from assay.estimation.simulator import stages
from assay.estimation.simulator.error_model import time_shares
from assay.estimation.simulator.process import SimulationResult
from assay.execution.engines.hadoop.settings import containers
from assay.execution.engines.hadoop.settings.defaults import BY_DEFAULT
from assay.execution.engines.spark import settings
from assay.foundation.errors import SpecificationError
from assay.model import (
    BLOCK_BYTES,
    MAP_OUTPUT_CODEC,
    MAP_OUTPUT_COMPRESS,
    Cluster,
    Configuration,
    CostProfile,
    DeviceKind,
    Disks,
    Layout,
    NodeType,
    Uncertain,
    WorkloadProfile,
    request_bytes,
    splits_of,
)
from assay.model.plans.engine_values import block_size_bytes
from assay.model.plans.workload_profile import SPLITS
from assay.workloads.catalogue import workloads
from assay.workloads.workload import Size

MIB = 2**20
DAEMONS_RSS_BYTES = 450 * MIB
"""A DataNode and a NodeManager with small heaps, as assay's labs have them."""
CONTAINER_RSS_BYTES = 170 * MIB
"""A task's JVM with a heap of 256 MiB at work; a larger heap takes so much more."""
TASK_WAIT_S = 0.3
"""From a container's launch to its JVM's start: localisation, the shell that starts it."""
LAB_LOCALITY_S = 0.5
CODECS = {
    "snappy": (Uncertain.assumed(0.45), 4e-9),
    "gzip": (Uncertain.assumed(0.3), 4e-8),
    "default": (Uncertain.assumed(0.3), 4e-8),
    "bzip2": (Uncertain.assumed(0.25), 2e-7),
}
"""Codec to the share that is left of map output, and CPU seconds per byte to compress and expand it, where no measured
run tells."""


@dataclass(frozen=True, slots=True)
class SimulationRequest:
    """What is to be simulated."""

    cluster: Cluster
    configuration: Configuration
    workload: str
    size: Size
    profile: CostProfile
    cpu: float = 1.0
    """Factor on all CPU seconds: what draws of uncertain costs are."""
    disks: float = 1.0
    """Factor on the devices' bandwidths."""
    links: float = 1.0
    fixed: float = 1.0
    """Factor on fixed costs."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """What the simulator reads, and what was assumed in words."""

    tree: Mapping[str, Any]
    assumptions: tuple[str, ...]

    def with_seed(self, seed: int, name: str, detail: str = "duration", trace_by: str = "group") -> dict[str, Any]:
        """Return the tree for one simulation. ``trace_by``: ``node`` observes each node alone, however many there are.

        Else those of a large cluster are observed together.
        """
        chosen = {"seed": seed, "id": name, "detail": detail, "trace_by": trace_by, "tasks_as": "columns"}
        return {**self.tree, **chosen}


def scenario_of(asked: SimulationRequest) -> Scenario:
    """Return the scenario of ``asked``.

    Raises SpecificationError where the profile has no such workload, is another engine's, or there is nothing to run.
    """
    wanted = asked.configuration.engine or asked.profile.engine
    asked = replace(asked, profile=asked.profile.of_engine(wanted))
    if wanted != asked.profile.engine:
        raise SpecificationError(
            f"the profile {asked.profile.name} is of {asked.profile.engine}, and this is to run on {wanted}",
            hint="learn one from runs of that engine: assay learn --where engine=NAME",
        )
    profile = asked.profile.workloads.get(asked.workload)
    if profile is None:
        known = ", ".join(asked.profile.workloads) or "none"
        raise SpecificationError(
            f"the profile {asked.profile.name} has no workload {asked.workload!r}",
            hint=f"it has {known}; --learn-from takes a repository in which it was measured",
        )
    assumptions: list[str] = []
    if asked.profile.learned.lab_scale is not None and asked.cluster.lab is None:
        assumptions.append(
            "CPU and fixed costs were learned in labs, whose Java compiles quickly and badly and whose jobs are small: "
            "on real hosts CPU is less; state cpu: {speed} of the node type, or learn from runs on such hosts"
        )
    cluster = asked.cluster.using(asked.configuration.workers)
    parameters = _parameters(asked.configuration)
    staged = _staged(asked, cluster, profile, parameters, assumptions)
    tree: dict[str, Any] = {
        "fidelity": "flows",
        "cluster": _cluster(asked, cluster, parameters, assumptions),
        "storage": _storage(asked, parameters),
        "engine": _engine(asked, parameters, assumptions),
        "jobs": [],
        "datasets": [],
    }
    if staged is not None:
        tree["engine"] |= stages.engine_parts(parameters, staged.jobs, tree["engine"]["am_start_s"])
    jobs = staged or _Jobs(asked, profile, parameters, assumptions)
    tree["jobs"], tree["datasets"] = jobs.made(), jobs.datasets()
    return Scenario(tree, tuple(dict.fromkeys(assumptions)))


def _staged(
    asked: SimulationRequest,
    cluster: Cluster,
    profile: WorkloadProfile,
    parameters: Mapping[str, str],
    assumptions: list[str],
) -> stages.StagedJob | None:
    """Return the job of an engine of stages; None for maps and reduces."""
    if not profile.stages:
        return None
    executors = settings.executors(parameters, len(cluster.workers))
    costs = asked.profile
    return stages.StagedJob(asked.workload, asked.size, profile, costs, parameters, executors, assumptions)


def shares_of(asked: SimulationRequest, simulated: Sequence[SimulationResult]) -> dict[str, float]:
    """Return the shares of the time by resource, mean over simulations of ``asked``."""
    profile = asked.profile.of_engine(asked.configuration.engine or asked.profile.engine)
    costs, layout = profile.costs, asked.configuration.layout
    fixed_s = sum(cost.value for cost in (costs.client_start_s, costs.job_start_s, costs.job_end_s, costs.client_end_s))
    kinds = {device.name: device.kind for device in asked.cluster.workers[0].type.devices}
    disks = {
        purpose: "hdd" if any(kinds[part.device] is DeviceKind.HDD for part in parts) else "flash"
        for purpose, parts in (("dfs", layout.hdfs), ("intermediate", layout.intermediate))
    }
    every = [time_shares(cost.limits, fixed_s, cost.duration_s, disks) for cost in simulated]
    names = dict.fromkeys(name for shares in every for name in shares)
    return {name: fmean(shares.get(name, 0.0) for shares in every) for name in names}


def _parameters(configuration: Configuration) -> dict[str, str]:
    return {**BY_DEFAULT, **configuration.parameters}


def _number(parameters: Mapping[str, str], name: str, default: float) -> float:
    """Return a parameter's number. Raises SpecificationError for text that Hadoop refuses, and for less than 0."""
    text = parameters.get(name, str(default)).strip()
    if not re.fullmatch(r"\+?([0-9]+\.?[0-9]*|\.[0-9]+)", text, re.ASCII):
        raise SpecificationError(f"{name}: {text[:40]!r} is not a number of 0 or more")
    return float(text)


def _cluster(
    asked: SimulationRequest, cluster: Cluster, parameters: Mapping[str, str], assumptions: list[str]
) -> dict[str, Any]:
    types: dict[tuple[str, int | None], list[str]] = {}
    by_name: dict[str, NodeType] = {}
    executors: Mapping[str, int] = {}
    if asked.profile.workloads[asked.workload].stages:
        executors = stages.executors_by_node(parameters, [node.name for node in cluster.workers])
    for node in cluster.workers:
        types.setdefault((node.type.name, executors.get(node.name)), []).append(node.name)
        by_name[node.type.name] = node.type
    nodes = [
        _node(asked, cluster, by_name[name], names, (parameters, overrides))
        for (name, overrides), names in types.items()
    ]
    tree: dict[str, Any] = {"nodes": nodes}
    if cluster.lab is not None:
        cores = asked.profile.machine_cores
        if cores is None:
            cores = 2
            assumptions.append("the lab's machine is taken to have 2 cores: nothing says how many it has")
        tree["cpu_pool"] = {"cores": cores, "background_cores": min(asked.profile.background_cores, 0.9 * cores)}
    if cluster.racks is not None:
        tree["racks"] = {
            "nodes": cluster.racks.nodes,
            "uplink_bytes_per_s": cluster.racks.uplink_bits_per_s / 8 * cluster.scale * asked.links,
        }
    return tree


def _node(
    asked: SimulationRequest,
    cluster: Cluster,
    kind: NodeType,
    names: list[str],
    given: tuple[Mapping[str, str], int | None],
) -> dict[str, Any]:
    parameters, executors = given
    memory = kind.memory_bytes * cluster.scale
    if cluster.lab is not None:
        memory = max(memory, cluster.lab.memory_floor_bytes)
    asks: float = containers.allocation_mb(parameters, containers.MAP_MEMORY) * MIB
    at_once = containers.containers_per_node(parameters, containers.MAP_MEMORY)
    room: dict[str, Any] = {"memory_bytes": containers.node_memory_mb(parameters) * MIB}
    if executors is not None:  # whose cores take tasks, whatever memory these need
        at_once, asks = executors, stages.resident_bytes(parameters)
        room = {"memory_bytes": 1e15, "cores": max(1e-6, executors * stages.cores_of(parameters))}
    elif parameters.get(containers.CALCULATOR) == containers.DOMINANT:
        room["cores"] = int(_number(parameters, containers.NODE_VCORES, 16))
    resident = DAEMONS_RSS_BYTES + at_once * max(CONTAINER_RSS_BYTES, 0.5 * asks)
    return {
        "name": kind.name,
        "names": names,
        "cores": kind.cores,
        "cpu_speed": kind.cpu_speed / asked.cpu,
        "memory_bytes": memory,
        "cache_bytes": max(0.05 * memory, memory - resident),
        "nic_in_bytes_per_s": _link(asked, cluster, kind),
        "containers": room,
        "devices": _devices(asked, cluster, kind),
    }


def _link(asked: SimulationRequest, cluster: Cluster, kind: NodeType) -> float:
    network = asked.configuration.network
    bits = cluster.link_bits_per_s(network) if network else kind.nic.rate_bits_per_s * cluster.scale
    return bits / 8 * asked.links


def _devices(asked: SimulationRequest, cluster: Cluster, kind: NodeType) -> list[dict[str, Any]]:
    layout, scale = asked.configuration.layout, cluster.scale
    in_lab = cluster.lab is not None
    emulated = (cluster.lab.disks if cluster.lab else None) or Disks.MODEL
    used = [device for device in kind.devices if device.name in layout.devices()]
    dirty_s = dirty_seconds(kind.devices, scale) if in_lab else 0.0
    devices = []
    for device in used:
        changed = replace(
            device,
            read_bytes_per_s=device.read_bytes_per_s * asked.disks,
            write_bytes_per_s=device.write_bytes_per_s * asked.disks,
        )
        numbers = model_numbers(changed, scale)
        window = request_bytes(device, scale, emulated)
        devices.append(
            {
                "name": device.name,
                "size_bytes": device.capacity_bytes * scale,
                "model": numbers,
                "purposes": _purposes(layout, device.name),
                **({"readahead_bytes": window, "request_bytes": window} if in_lab else {}),
                **({"dirty_limit_bytes": device.write_bytes_per_s * scale * dirty_s} if in_lab else {}),
            }
        )
    return devices


def _purposes(layout: Layout, device: str) -> dict[str, int]:
    hdfs = {part.device: part.count for part in layout.hdfs}
    intermediate = {part.device: part.count for part in layout.intermediate}
    both = {"dfs": hdfs.get(device), "intermediate": intermediate.get(device)}
    return {name: count for name, count in both.items() if count}


def _storage(asked: SimulationRequest, parameters: Mapping[str, str]) -> dict[str, Any]:
    return {
        "block_bytes": asked.size.block_bytes or block_size_bytes(parameters.get("dfs.blocksize", str(BLOCK_BYTES))),
        "replication": asked.size.replication,
    }


def _engine(asked: SimulationRequest, parameters: Mapping[str, str], assumptions: list[str]) -> dict[str, Any]:
    costs, fixed = asked.profile.costs, asked.fixed
    engine = {
        "client_start_s": costs.client_start_s.value * fixed,
        "am_start_s": costs.job_start_s.value * fixed,
        "job_end_s": costs.job_end_s.value * fixed,
        "client_end_s": costs.client_end_s.value * fixed,
        "task_start_s": TASK_WAIT_S * fixed,
        "task_start_cpu_s": costs.task_cpu_s.value,
        "node_heartbeat_s": _number(parameters, "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms", 1000) / 1e3,
        "am_heartbeat_s": _number(parameters, "yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms", 1000) / 1e3,
        "locality_wait_s": LAB_LOCALITY_S,
        "daemon_memory_bytes": DAEMONS_RSS_BYTES,
    }
    assumptions.append("no speculative attempts, no failures")
    return engine


@dataclass(frozen=True, slots=True)
class _Jobs:
    """The jobs of a run, from what its workload does with each byte of its data."""

    asked: SimulationRequest
    profile: WorkloadProfile
    parameters: Mapping[str, str]
    assumptions: list[str]

    def _count(self, rule: str) -> int:
        size = self.asked.size
        counts = {"files": size.files, "maps": size.maps, "reduces": size.reduces}
        if rule == SPLITS:
            return splits_of(self._data, self._files, size.block_bytes or BLOCK_BYTES)
        if rule in counts:
            return counts[rule] or 1
        return int(rule)

    @property
    def _data(self) -> int:
        return workloads()[self.asked.workload].data_bytes(self.asked.size)

    @property
    def _files(self) -> int:
        size = self.asked.size
        return size.files or size.maps or size.reduces or 1

    @property
    def _repeated(self) -> int:
        return self.profile.jobs * (workloads()[self.asked.workload].iterations(self.asked.size))

    def datasets(self) -> list[dict[str, Any]]:
        """Return what is in HDFS before the run."""
        if not self.profile.read:
            return []
        files = self._count(self.profile.maps) if self.profile.maps != SPLITS else self._files
        return [{"name": "input", "bytes": self._data * self.profile.read / max(1, self._repeated), "files": files}]

    def made(self) -> list[dict[str, Any]]:
        """Return the jobs, one after the other."""
        maps, reduces = self._count(self.profile.maps), self._count(self.profile.reduces)
        job_cpu = self.asked.profile.costs.job_cpu_s.value / max(1, maps + reduces)
        share = 1 / max(1, self._repeated)
        jobs = [self._map(maps, job_cpu, share)]
        if reduces:
            jobs.append(self._reduce(reduces, job_cpu, share))
        memory = containers.allocation_mb(self.parameters, containers.MASTER_MEMORY) * MIB
        return [
            {"name": f"job{number}", "am_memory_bytes": memory, "stages": jobs}
            for number in range(1, self._repeated + 1)
        ]

    @property
    def _io_cpu(self) -> float:
        return self.asked.profile.costs.io_cpu_s_per_byte.value

    def _codec(self) -> tuple[float, float]:
        """Return what compression leaves of map output, and its CPU per byte."""
        if self.parameters.get(MAP_OUTPUT_COMPRESS) != "true":
            return 1.0, 0.0
        name = self.parameters.get(MAP_OUTPUT_CODEC, "").rpartition(".")[2].removesuffix("Codec").lower() or "default"
        usual, cpu = CODECS.get(name, CODECS["default"])
        codec = self.profile.compression.get(name)
        if codec is None:
            self.assumptions.append(f"{name} leaves {usual.value:.0%} of map output: no run that was learned from says")
        return (codec or usual).value, cpu

    def _map(self, maps: int, job_cpu: float, share: float) -> dict[str, Any]:
        profile, io_cpu = self.profile, self._io_cpu
        shuffles = profile.map_output > 0
        cpu = profile.map_cpu_s_per_byte.value
        generated = self._data * (profile.written if profile.written_by_maps else 1.0) * share
        ratio = profile.written / profile.read if profile.read else 1.0
        output: dict[str, Any] = {"to": "none"}
        if shuffles:
            left, codec_cpu = self._codec()
            output = {
                "to": "shuffle",
                "ratio": profile.map_output / (profile.read or 1.0),
                "combiner": profile.combined,
                "compression": left,
            }
            io_cpu_out = io_cpu + codec_cpu
        elif profile.written:
            copies = workloads()[self.asked.workload].output_copies(self.asked.size)
            output = {
                "to": "dfs",
                "dataset": "output",
                "ratio": ratio,
                "replication": copies,
                "remote_cpu_s_per_byte": io_cpu,
            }
            io_cpu_out = io_cpu
        else:
            io_cpu_out = 0.0
        source: dict[str, Any] = {"from": "generated", "bytes": generated}
        if profile.read:
            source = {"from": "dfs", "dataset": "input", "located": profile.located}
        tree = {
            "name": "map",
            "kind": "map",
            "tasks": maps,
            "memory_bytes": containers.allocation_mb(self.parameters, containers.MAP_MEMORY) * MIB,
            "input": source,
            "cpu": {
                "task_s": job_cpu,
                "read_s_per_byte": io_cpu if profile.read else 0.0,
                "process_s_per_byte": cpu * (0.5 if shuffles else 1.0),
                "sort_s_per_byte": cpu * 0.5 * (profile.read or 1.0) / profile.map_output if shuffles else 0.0,
                "write_s_per_byte": io_cpu_out,
            },
            "output": output,
        }
        if shuffles:
            tree["sort"] = {
                "buffer_bytes": _number(self.parameters, containers.SORT_BUFFER, 100) * MIB,
                "spill_share": _number(self.parameters, "mapreduce.map.sort.spill.percent", 0.8),
                "factor": int(_number(self.parameters, "mapreduce.task.io.sort.factor", 10)),
            }
        return tree

    def _reduce(self, reduces: int, job_cpu: float, share: float) -> dict[str, Any]:
        del share
        profile, io_cpu = self.profile, self._io_cpu
        copies = workloads()[self.asked.workload].output_copies(self.asked.size)
        writes = profile.written and not profile.written_by_maps
        shuffled = profile.map_output * profile.combined
        heap_mb = containers.stated_heap_mb(self.parameters.get("mapreduce.reduce.java.opts", ""))
        heap_mb = heap_mb or containers.heap_mb(self.parameters, containers.REDUCE_MEMORY)
        _, codec_cpu = self._codec() if shuffled else (1.0, 0.0)
        output: dict[str, Any] = {"to": "none"}
        if writes:
            output = {
                "to": "dfs",
                "dataset": "output",
                "ratio": profile.written / shuffled if shuffled else 1.0,
                "replication": copies,
                "remote_cpu_s_per_byte": io_cpu,
            }
        return {
            "name": "reduce",
            "kind": "reduce",
            "tasks": reduces,
            "memory_bytes": containers.allocation_mb(self.parameters, containers.REDUCE_MEMORY) * MIB,
            "input": {"from": "stage", "stage": "map"},
            "cpu": {
                "task_s": job_cpu,
                "read_s_per_byte": io_cpu + codec_cpu if shuffled else 0.0,
                "process_s_per_byte": profile.reduce_cpu_s_per_byte.value,
                "write_s_per_byte": io_cpu if writes else 0.0,
            },
            "output": output,
            "shuffle": {
                "slow_start": _number(self.parameters, "mapreduce.job.reduce.slowstart.completedmaps", 0.05),
                "copies": int(_number(self.parameters, "mapreduce.reduce.shuffle.parallelcopies", 5)),
                "heap_bytes": heap_mb * MIB,
                "buffer_share": _number(self.parameters, "mapreduce.reduce.shuffle.input.buffer.percent", 0.7),
                "merge_share": _number(self.parameters, "mapreduce.reduce.shuffle.merge.percent", 0.66),
                "memory_limit_share": _number(self.parameters, "mapreduce.reduce.shuffle.memory.limit.percent", 0.25),
                "factor": int(_number(self.parameters, "mapreduce.task.io.sort.factor", 10)),
            },
        }
