"""Convert a planned run to the simulator's scenario: the described cluster, Hadoop's parameters, the workload's costs.

In: a cluster as described (a lab's at its scale), a configuration, a workload's size, a profile. Out: the scenario as
plain values, in bytes, seconds and cores, as ``rust/simulate`` reads it (docs/reference/simulator-scenarios.md).
No time is computed here. Assumptions are listed as text.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from msgspec.structs import replace as struct_replace

from assay.analysis.devices.model_parameters import dirty_seconds, model_parameters
from assay.estimation.simulator import stages
from assay.estimation.simulator.credits import credit_assumptions, with_credits
from assay.estimation.simulator.error_model import time_shares
from assay.estimation.simulator.process import SimulationResult
from assay.estimation.simulator.scenario_document import (
    ContainerSpace,
    CpuPool,
    RackUplinks,
    ScenarioCluster,
    ScenarioDataset,
    ScenarioDevice,
    ScenarioDocument,
    ScenarioEngine,
    ScenarioJob,
    ScenarioNodes,
    ScenarioStage,
    ScenarioStorage,
    StageCpu,
    StageInput,
    StageOutput,
    StageShuffle,
    StageSort,
)
from assay.execution.engines.hadoop.settings import containers
from assay.execution.engines.hadoop.settings.defaults import BY_DEFAULT
from assay.execution.engines.spark import settings
from assay.execution.planning.forecast.inputs import size_of
from assay.execution.planning.order import PlannedRun
from assay.foundation.errors import SpecificationError
from assay.foundation.units import MIB
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
    Plan,
    Uncertain,
    WorkloadProfile,
    request_bytes,
    splits_of,
)
from assay.model.clusters.credits import CreditBucket
from assay.model.plans.engine_values import block_size_bytes
from assay.model.plans.workload_profile import SPLITS
from assay.workloads.catalogue import workloads
from assay.workloads.workload import Size

DAEMONS_RSS_BYTES = 450 * MIB
"""Resident memory of a DataNode and a NodeManager with small heaps, as in assay's labs."""
CONTAINER_RSS_BYTES = 170 * MIB
"""Resident memory of a task's JVM with a heap of 256 MiB; a larger heap adds the difference."""
TASK_WAIT_S = 0.3
"""Time from a container's launch to its JVM's start, in seconds: localisation, and the shell that starts the JVM."""
LAB_LOCALITY_S = 0.5
"""Time that YARN waits for a node with the data, in seconds, with the heartbeats of assay's labs."""
CODECS = {
    "snappy": (Uncertain.assumed(0.45), 4e-9),
    "gzip": (Uncertain.assumed(0.3), 4e-8),
    "default": (Uncertain.assumed(0.3), 4e-8),
    "bzip2": (Uncertain.assumed(0.25), 2e-7),
}
"""Codec to the compressed share of map output, and CPU seconds per byte to compress and expand it, if no measured run
has them.
"""


@dataclass(frozen=True, slots=True)
class SimulationRequest:
    """One run to simulate."""

    cluster: Cluster
    configuration: Configuration
    workload: str
    size: Size
    profile: CostProfile
    cpu: float = 1.0
    """Factor on all CPU seconds, by which draws vary uncertain costs."""
    disks: float = 1.0
    """Factor on the devices' bandwidths."""
    links: float = 1.0
    fixed: float = 1.0
    """Factor on fixed costs."""
    lab_cpu: float = 1.0
    """Factor on the cores of a lab's machine, which its nodes share."""


def request_of(
    plan: Plan, planned_run: PlannedRun, profile: CostProfile, factors: Mapping[str, float] | None = None
) -> SimulationRequest:
    """Return the request to simulate a planned run; ``factors``: fields ``cpu``, ``disks``, ``links``, ``fixed``
    and ``lab_cpu`` by name.
    """
    configuration = replace(planned_run.configuration, engine=planned_run.configuration.engine or plan.engine)
    size = size_of(planned_run, plan)
    return SimulationRequest(plan.cluster, configuration, planned_run.workload.name, size, profile, **(factors or {}))


@dataclass(frozen=True, slots=True)
class Scenario:
    """The simulator's input, and the assumptions as text."""

    document: ScenarioDocument
    assumptions: tuple[str, ...]
    credits: tuple[CreditBucket, ...] = ()
    """Credits of a worker. The document has the rates with credits; :meth:`limited` slows its results down."""

    def with_seed(self, seed: int, name: str, detail: str = "duration", trace_by: str = "group") -> ScenarioDocument:
        """Return the document of one simulation."""
        if self.credits and detail == "duration":
            detail = "traces"
        return struct_replace(self.document, seed=seed, id=name, detail=detail, trace_by=trace_by, tasks_as="columns")

    def limited(self, result: SimulationResult) -> SimulationResult:
        """Return a result of this scenario with the time in which credits are used up."""
        return with_credits(result, self.credits, self.document.cluster.size)


def scenario_of(request: SimulationRequest) -> Scenario:
    """Return the scenario of ``request``.

    Raises SpecificationError if the profile lacks the workload or is for another engine, or if there is nothing to run.
    """
    engine_name = request.configuration.engine or request.profile.engine
    request = replace(request, profile=request.profile.of_engine(engine_name))
    if engine_name != request.profile.engine:
        raise SpecificationError(
            f"profile {request.profile.name} was learned on {request.profile.engine}, but the run uses {engine_name}",
            hint="learn one from runs of that engine: assay learn --where engine=NAME",
        )
    profile = request.profile.workloads.get(request.workload)
    if profile is None:
        workloads_text = ", ".join(request.profile.workloads) or "none"
        raise SpecificationError(
            f"the profile {request.profile.name} has no workload {request.workload!r}",
            hint=f"it has {workloads_text}; --learn-from takes a repository in which it was measured",
        )
    assumptions: list[str] = []
    if request.profile.learned.lab_scale is not None and request.cluster.lab is None:
        assumptions.append(
            "CPU and fixed costs were learned in labs, whose JVMs optimise less (C1 only) and whose jobs are short. "
            "Real hosts need less CPU: set speed under cpu of the node type, or learn from runs on real hosts"
        )
    cluster = request.cluster.using(request.configuration.workers)
    parameters = {**BY_DEFAULT, **request.configuration.parameters}
    staged_job = None
    if profile.stages:
        executors = settings.executors(parameters, len(cluster.workers))
        staged_job = stages.StagedJob(
            request.workload, request.size, profile, request.profile, parameters, executors, assumptions
        )
    document_cluster = _cluster(request, cluster, parameters, assumptions)
    engine = _engine(request, parameters)
    if staged_job is not None:
        engine = stages.spark_engine(engine, parameters, staged_job.spark_jobs)
    assumptions.append("no speculative attempts, no failures")
    jobs = staged_job or _MapReduceJobs(request, profile, parameters, assumptions)
    block = request.size.block_bytes or block_size_bytes(parameters.get("dfs.blocksize", str(BLOCK_BYTES)))
    document = ScenarioDocument(
        document_cluster,
        ScenarioStorage(block, request.size.replication),
        engine,
        jobs.scenario_jobs(),
        jobs.datasets(),
    )
    machine = cluster.workers[0].type
    assumptions += credit_assumptions(machine.name, machine.credits)
    pool = document_cluster.cpu_pool
    cpu_scale = pool.cores / sum(worker.type.cores for worker in cluster.workers) if pool else 1.0
    buckets = tuple(bucket.scaled(cluster.scale, cpu_scale) for bucket in machine.credits)
    return Scenario(document, tuple(dict.fromkeys(assumptions)), buckets)


def shares_of(request: SimulationRequest, results: Sequence[SimulationResult]) -> dict[str, float]:
    """Return the shares of the time by resource, mean over simulations of ``request``."""
    profile = request.profile.of_engine(request.configuration.engine or request.profile.engine)
    costs, layout = profile.costs, request.configuration.layout
    fixed_s = sum(item.value for item in (costs.client_start_s, costs.job_start_s, costs.job_end_s, costs.client_end_s))
    kinds = {device.name: device.kind for device in request.cluster.workers[0].type.devices}
    disks = {
        purpose: "hdd" if any(kinds[part.device] is DeviceKind.HDD for part in parts) else "flash"
        for purpose, parts in (("dfs", layout.hdfs), ("intermediate", layout.intermediate))
    }
    shares_by_simulation = [time_shares(item.limits, fixed_s, item.duration_s, disks) for item in results]
    names = dict.fromkeys(name for shares in shares_by_simulation for name in shares)
    return {name: fmean(shares.get(name, 0.0) for shares in shares_by_simulation) for name in names}


def _number(parameters: Mapping[str, str], name: str, default: float) -> float:
    """Return a parameter as a number. Raises SpecificationError if it is not a number of 0 or more."""
    text = parameters.get(name, str(default)).strip()
    if not re.fullmatch(r"\+?([0-9]+\.?[0-9]*|\.[0-9]+)", text, re.ASCII):
        raise SpecificationError(f"{name}: {text[:40]!r} is not a number of 0 or more")
    return float(text)


def _cluster(
    request: SimulationRequest, cluster: Cluster, parameters: Mapping[str, str], assumptions: list[str]
) -> ScenarioCluster:
    types: dict[tuple[str, int | None], list[str]] = {}
    by_name: dict[str, NodeType] = {}
    executors: Mapping[str, int] = {}
    if request.profile.workloads[request.workload].stages:
        executors = stages.executors_by_node(parameters, [node.name for node in cluster.workers])
    for node in cluster.workers:
        types.setdefault((node.type.name, executors.get(node.name)), []).append(node.name)
        by_name[node.type.name] = node.type
    nodes = [
        _nodes(request, cluster, by_name[name], names, parameters, count) for (name, count), names in types.items()
    ]
    pool = racks = None
    if cluster.lab is not None:
        cores = request.profile.machine_cores
        if cores is None:
            cores = 2
            assumptions.append("assumed 2 cores for the lab's machine: the profile does not record the number")
        background = min(request.profile.background_cores, 0.9 * cores)
        pool = CpuPool(cores * request.lab_cpu, background * request.lab_cpu)
    if cluster.racks is not None:
        racks = RackUplinks(cluster.racks.nodes, cluster.racks.uplink_bits_per_s / 8 * cluster.scale * request.links)
    return ScenarioCluster(nodes, pool, racks)


def _nodes(
    request: SimulationRequest,
    cluster: Cluster,
    kind: NodeType,
    names: list[str],
    parameters: Mapping[str, str],
    executors: int | None,
) -> ScenarioNodes:
    memory = kind.memory_bytes * cluster.scale
    if cluster.lab is not None:
        memory = max(memory, cluster.lab.memory_floor_bytes)
    container_bytes: float = containers.allocation_mb(parameters, containers.MAP_MEMORY) * MIB
    concurrent_tasks = containers.containers_per_node(parameters, containers.MAP_MEMORY)
    space_bytes: float = containers.node_memory_mb(parameters) * MIB
    cores: float | None = None
    if executors is not None:  # cores of executors limit the tasks, not memory
        concurrent_tasks, container_bytes = executors, stages.resident_bytes(parameters)
        space_bytes, cores = stages.UNLIMITED_BYTES, max(1e-6, executors * stages.cores_of(parameters))
    elif parameters.get(containers.CALCULATOR) == containers.DOMINANT:
        cores = int(_number(parameters, containers.NODE_VCORES, 16))
    resident_bytes = DAEMONS_RSS_BYTES + concurrent_tasks * max(CONTAINER_RSS_BYTES, 0.5 * container_bytes)
    network = request.configuration.network
    link_bits_per_s = cluster.link_bits_per_s(network) if network else kind.nic.rate_bits_per_s * cluster.scale
    return ScenarioNodes(
        name=kind.name,
        names=names,
        cores=kind.cores,
        cpu_speed=kind.cpu_speed / request.cpu,
        memory_bytes=memory,
        cache_bytes=max(0.05 * memory, memory - resident_bytes),
        nic_in_bytes_per_s=link_bits_per_s / 8 * request.links,
        containers=ContainerSpace(space_bytes, cores),
        devices=_devices(request, cluster, kind),
    )


def _devices(request: SimulationRequest, cluster: Cluster, kind: NodeType) -> list[ScenarioDevice]:
    layout, scale = request.configuration.layout, cluster.scale
    in_lab = cluster.lab is not None
    emulation = (cluster.lab.disks if cluster.lab else None) or Disks.MODEL
    used_devices = [device for device in kind.devices if device.name in layout.devices()]
    dirty_s = dirty_seconds(kind.devices, scale) if in_lab else 0.0
    devices = []
    for device in used_devices:
        drawn_device = replace(
            device,
            read_bytes_per_s=device.read_bytes_per_s * request.disks,
            write_bytes_per_s=device.write_bytes_per_s * request.disks,
        )
        window_bytes = request_bytes(device, scale, emulation) if in_lab else None
        devices.append(
            ScenarioDevice(
                name=device.name,
                size_bytes=device.capacity_bytes * scale,
                model=model_parameters(drawn_device, scale),
                purposes=_purposes(layout, device.name),
                readahead_bytes=window_bytes,
                request_bytes=window_bytes,
                dirty_limit_bytes=device.write_bytes_per_s * scale * dirty_s if in_lab else None,
            )
        )
    return devices


def _purposes(layout: Layout, device: str) -> dict[str, int]:
    hdfs = {part.device: part.count for part in layout.hdfs}
    intermediate = {part.device: part.count for part in layout.intermediate}
    directories = {"dfs": hdfs.get(device), "intermediate": intermediate.get(device)}
    return {name: count for name, count in directories.items() if count}


def _engine(request: SimulationRequest, parameters: Mapping[str, str]) -> ScenarioEngine:
    costs, fixed = request.profile.costs, request.fixed
    node_ms = _number(parameters, "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms", 1000)
    am_ms = _number(parameters, "yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms", 1000)
    return ScenarioEngine(
        client_start_s=costs.client_start_s.value * fixed,
        am_start_s=costs.job_start_s.value * fixed,
        job_end_s=costs.job_end_s.value * fixed,
        client_end_s=costs.client_end_s.value * fixed,
        task_start_s=TASK_WAIT_S * fixed,
        task_start_cpu_s=costs.task_cpu_s.value,
        node_heartbeat_s=node_ms / 1e3,
        am_heartbeat_s=am_ms / 1e3,
        locality_wait_s=LAB_LOCALITY_S,
        daemon_memory_bytes=DAEMONS_RSS_BYTES,
    )


@dataclass(frozen=True, slots=True)
class _MapReduceJobs:
    """The jobs of a run, from its workload's costs per byte of data."""

    request: SimulationRequest
    profile: WorkloadProfile
    parameters: Mapping[str, str]
    assumptions: list[str]

    def _count(self, rule: str) -> int:
        size = self.request.size
        counts = {"files": size.files, "maps": size.maps, "reduces": size.reduces}
        if rule == SPLITS:
            return splits_of(self._data_bytes, self._files, size.block_bytes or BLOCK_BYTES)
        if rule in counts:
            return counts[rule] or 1
        return int(rule)

    @property
    def _data_bytes(self) -> int:
        return workloads()[self.request.workload].data_bytes(self.request.size)

    @property
    def _files(self) -> int:
        size = self.request.size
        return size.files or size.maps or size.reduces or 1

    @property
    def _job_count(self) -> int:
        return self.profile.jobs * (workloads()[self.request.workload].iterations(self.request.size))

    def datasets(self) -> list[ScenarioDataset]:
        """Return the datasets in HDFS before the run."""
        if not self.profile.read:
            return []
        files = self._count(self.profile.maps) if self.profile.maps != SPLITS else self._files
        return [ScenarioDataset("input", self._data_bytes * self.profile.read / max(1, self._job_count), files)]

    def scenario_jobs(self) -> list[ScenarioJob]:
        """Return the jobs, one after the other."""
        maps, reduces = self._count(self.profile.maps), self._count(self.profile.reduces)
        job_cpu_s = self.request.profile.costs.job_cpu_s.value / max(1, maps + reduces)
        stages = [self._map(maps, job_cpu_s), *([self._reduce(reduces, job_cpu_s)] if reduces else [])]
        memory_bytes = containers.allocation_mb(self.parameters, containers.MASTER_MEMORY) * MIB
        return [ScenarioJob(f"job{number}", stages, memory_bytes) for number in range(1, self._job_count + 1)]

    @property
    def _io_cpu(self) -> float:
        return self.request.profile.costs.io_cpu_s_per_byte.value

    def _codec(self) -> tuple[float, float]:
        """Return the compressed share of map output, and the CPU seconds per byte."""
        if self.parameters.get(MAP_OUTPUT_COMPRESS) != "true":
            return 1.0, 0.0
        name = self.parameters.get(MAP_OUTPUT_CODEC, "").rpartition(".")[2].removesuffix("Codec").lower() or "default"
        default_share, cpu = CODECS.get(name, CODECS["default"])
        learned_share = self.profile.compression.get(name)
        return stages.compressed_share(name, learned_share, default_share.value, "map output", self.assumptions), cpu

    def _output(self, ratio: float) -> StageOutput:
        """Return the output of a stage that writes ``ratio`` bytes to HDFS for each byte that it reads."""
        copies = workloads()[self.request.workload].output_copies(self.request.size)
        return StageOutput("dfs", dataset="output", ratio=ratio, replication=copies, remote_cpu_s_per_byte=self._io_cpu)

    def _map(self, maps: int, job_cpu_s: float) -> ScenarioStage:
        profile, io_cpu = self.profile, self._io_cpu
        cpu, sort_cpu, write_cpu = profile.map_cpu_s_per_byte.value, 0.0, 0.0
        output, sort = StageOutput("none"), None
        if profile.map_output > 0:
            compressed_share, codec_cpu = self._codec()
            ratio = profile.map_output / (profile.read or 1.0)
            output = StageOutput("shuffle", ratio=ratio, combiner=profile.combined, compression=compressed_share)
            # Half of the CPU is assigned to the map function, half to the sort.
            sort_cpu = cpu * 0.5 * (profile.read or 1.0) / profile.map_output
            cpu, write_cpu = cpu * 0.5, io_cpu + codec_cpu
            sort = StageSort(
                buffer_bytes=_number(self.parameters, containers.SORT_BUFFER, 100) * MIB,
                spill_share=_number(self.parameters, "mapreduce.map.sort.spill.percent", 0.8),
                factor=int(_number(self.parameters, "mapreduce.task.io.sort.factor", 10)),
            )
        elif profile.written:
            output, write_cpu = self._output(profile.written / profile.read if profile.read else 1.0), io_cpu
        source = StageInput("dfs", dataset="input", located=profile.located)
        if not profile.read:
            generated = self._data_bytes * (profile.written if profile.written_by_maps else 1.0)
            source = StageInput("generated", bytes=generated / max(1, self._job_count))
        return ScenarioStage(
            name="map",
            kind="map",
            tasks=maps,
            input=source,
            cpu=StageCpu(job_cpu_s, io_cpu if profile.read else 0.0, cpu, sort_cpu, write_cpu),
            output=output,
            memory_bytes=containers.allocation_mb(self.parameters, containers.MAP_MEMORY) * MIB,
            sort=sort,
        )

    def _reduce(self, reduces: int, job_cpu_s: float) -> ScenarioStage:
        profile, io_cpu = self.profile, self._io_cpu
        writes = bool(profile.written) and not profile.written_by_maps
        shuffled = profile.map_output * profile.combined
        heap_mb = containers.stated_heap_mb(self.parameters.get("mapreduce.reduce.java.opts", ""))
        heap_mb = heap_mb or containers.heap_mb(self.parameters, containers.REDUCE_MEMORY)
        read_cpu = io_cpu + self._codec()[1] if shuffled else 0.0
        return ScenarioStage(
            name="reduce",
            kind="reduce",
            tasks=reduces,
            input=StageInput("stage", stages=["map"]),
            cpu=StageCpu(
                task_s=job_cpu_s,
                read_s_per_byte=read_cpu,
                process_s_per_byte=profile.reduce_cpu_s_per_byte.value,
                write_s_per_byte=io_cpu if writes else 0.0,
            ),
            output=self._output(profile.written / shuffled if shuffled else 1.0) if writes else StageOutput("none"),
            memory_bytes=containers.allocation_mb(self.parameters, containers.REDUCE_MEMORY) * MIB,
            shuffle=StageShuffle(
                slow_start=_number(self.parameters, "mapreduce.job.reduce.slowstart.completedmaps", 0.05),
                copies=int(_number(self.parameters, "mapreduce.reduce.shuffle.parallelcopies", 5)),
                heap_bytes=heap_mb * MIB,
                buffer_share=_number(self.parameters, "mapreduce.reduce.shuffle.input.buffer.percent", 0.7),
                merge_share=_number(self.parameters, "mapreduce.reduce.shuffle.merge.percent", 0.66),
                memory_limit_share=_number(self.parameters, "mapreduce.reduce.shuffle.memory.limit.percent", 0.25),
                factor=int(_number(self.parameters, "mapreduce.task.io.sort.factor", 10)),
            ),
        )
