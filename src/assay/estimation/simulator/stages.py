"""Convert a Spark program to the simulator's scenario: executors for the whole run, and the graph of its stages.

In: a run to simulate, with the profile of a workload that has stages. Out: the parts of the scenario in which Spark
differs from MapReduce: how many tasks a node runs at once, one job of stages that depend on each other, and the inputs
of the stages. The model follows Spark's sources (4.x):

- Tasks run in the cores of executors, which exist from the start of the run.
- A stage begins when the stages that it reads from have ended.
- A shuffle with few partitions writes a file for each partition, and then joins the files
  (BypassMergeSortShuffleWriter).
- A task sorts in its share of the heap's execution memory and spills the rest (UnifiedMemoryManager,
  ExternalSorter). It merges all spills at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec.structs import replace as struct_replace

from assay.estimation.simulator.scenario_document import (
    ScenarioDataset,
    ScenarioEngine,
    ScenarioJob,
    ScenarioStage,
    StageCpu,
    StageInput,
    StageOutput,
    StageShuffle,
    StageSort,
)
from assay.execution.engines.spark import settings
from assay.foundation.units import MIB, format_percent
from assay.model import (
    BLOCK_BYTES,
    COMPRESSED_SHARES,
    DEFAULT_CODEC,
    CostProfile,
    StageProfile,
    Uncertain,
    WorkloadProfile,
    shuffle_codec,
    splits_of,
)
from assay.model.plans.workload_profile import SPLITS
from assay.workloads.catalogue import workloads
from assay.workloads.workload import Size

UNLIMITED_BYTES = 1e15
"""Memory that no task fills."""
RESERVED_BYTES = 300 * MIB
"""Part of a heap that Spark reserves, in bytes (UnifiedMemoryManager)."""
EXECUTION_SHARE = 0.6
"""Share of the rest of the heap for execution and storage (spark.memory.fraction)."""
BYPASS_MAX = 200
"""Maximum number of partitions of a shuffle that neither combines nor sorts
(spark.shuffle.sort.bypassMergeThreshold)."""
COMBINED_SHARE = 0.5
"""Maximum ratio of output to input of a stage that combines records."""
PARTITION_FILES = 8
"""Number of simulated spills that represent a task's partition files, which are merged into one file at its end."""
MERGE_FACTOR = 1000
"""Maximum number of files that one merge reads: high enough for a single merge, as in Spark."""
FETCHES_IN_FLIGHT = 5
"""Maximum number of requests in flight: each is for a fifth of the bytes allowed in flight
(ShuffleBlockFetcherIterator)."""
CODEC_CPU_S = {"lz4": 3e-9, "lzf": 6e-9, "snappy": 4e-9, "zstd": 1e-8}
"""Codec to CPU seconds per shuffled byte, to compress and expand it."""


def executors_by_node(parameters: Mapping[str, str], names: list[str]) -> dict[str, int]:
    """Return the number of executors on each worker, as even as possible."""
    executors_min, remainder = divmod(settings.executors(parameters, len(names)), len(names))
    return {name: executors_min + (index < remainder) for index, name in enumerate(names)}


def compressed_share(
    codec: str, learned_share: Uncertain | None, default_share: float, data: str, assumptions: list[str]
) -> float:
    """Return the compressed size of ``data`` as a share of its size; adds an assumption if no measured run shows it."""
    share = default_share if learned_share is None else learned_share.value
    if learned_share is None or not learned_share.n:
        assumptions.append(f"assumed that {codec} compresses {data} to {format_percent(share)} (not measured)")
    return share


def cores_of(parameters: Mapping[str, str]) -> int:
    """Return how many tasks an executor runs at once."""
    return max(1, settings.count_value(parameters, settings.CORES))


def resident_bytes(parameters: Mapping[str, str]) -> float:
    """Return the memory of an executor's container, in bytes."""
    return settings.container_mb(parameters, settings.MEMORY, settings.OVERHEAD) * MIB


def spark_engine(engine: ScenarioEngine, parameters: Mapping[str, str], jobs: int) -> ScenarioEngine:
    """Return the costs of Spark's scheduler: no heartbeats between tasks, and all executors from the start."""
    return struct_replace(
        engine,
        am_start_s=engine.am_start_s * jobs,
        task_start_s=0.0,
        node_heartbeat_s=0.0,
        am_heartbeat_s=0.0,
        locality_wait_s=settings.locality_wait_s(parameters),
    )


@dataclass(frozen=True, slots=True)
class StagedJob:
    """The job of a run, from the costs per byte of its workload's stages."""

    workload: str
    size: Size
    profile: WorkloadProfile
    cost_profile: CostProfile
    parameters: Mapping[str, str]
    executors: int
    assumptions: list[str]

    @property
    def spark_jobs(self) -> int:
        """Number of Spark jobs of the application."""
        return 1 + max(stage.job for stage in self.profile.stages)

    @property
    def _data_bytes(self) -> int:
        return workloads()[self.workload].data_bytes(self.size)

    def _count(self, rule: str) -> int:
        size = self.size
        counts = {"files": size.files, "maps": size.maps, "reduces": size.reduces}
        if rule == SPLITS:
            files = size.files or size.maps or size.reduces or 1
            return splits_of(self._data_bytes, files, size.block_bytes or BLOCK_BYTES)
        return (counts[rule] or 1) if rule in counts else max(1, int(rule))

    def _processed_per_byte(self, stage: StageProfile) -> float:
        """Return the bytes that a stage processes per byte of data."""
        fetched = sum(self.profile.stages[parent].shuffled for parent in stage.parents)
        return (fetched if stage.parents else stage.read) or max(stage.shuffled, stage.written) or 1.0

    def datasets(self) -> list[ScenarioDataset]:
        """Return the datasets in HDFS before the run: one dataset for each reading stage, or a single dataset that is
        read repeatedly."""
        reading_stages = [index for index, stage in enumerate(self.profile.stages) if stage.read and not stage.parents]
        files = self.size.files or self.size.maps or self.size.reduces or 1
        if not reading_stages:
            return []
        amounts = {index: self._data_bytes * self.profile.stages[index].read for index in reading_stages}
        if self._reads_repeatedly(reading_stages):
            return [ScenarioDataset("input", max(amounts.values()), files)]
        return [ScenarioDataset(f"input{index}", amounts[index], files) for index in reading_stages]

    def _reads_repeatedly(self, reading_stages: list[int]) -> bool:
        return sum(self.profile.stages[index].read for index in reading_stages) > 1.5 and len(reading_stages) > 1

    def scenario_jobs(self) -> list[ScenarioJob]:
        """Return the application as one job."""
        tasks = [self._count(stage.tasks) for stage in self.profile.stages]
        jvm_cpu_s = self.cost_profile.costs.job_cpu_s.value * self.executors / sum(tasks)
        return [ScenarioJob("application", [self._stage(index, tasks, jvm_cpu_s) for index in range(len(tasks))])]

    def _stage(self, index: int, tasks: list[int], jvm_cpu_s: float) -> ScenarioStage:
        stage, io_cpu = self.profile.stages[index], self.cost_profile.costs.io_cpu_s_per_byte.value
        compression, codec_cpu = self._codec()
        processed, memory = self._processed_per_byte(stage), self._memory(stage)
        read_cpu = io_cpu if stage.parents or stage.read else 0.0
        output, sort, shuffle, write_cpu = StageOutput("none"), None, None, 0.0
        if stage.parents:
            read_cpu += codec_cpu
            shuffle = StageShuffle(
                slow_start=1.0,
                copies=FETCHES_IN_FLIGHT,
                heap_bytes=memory,
                buffer_share=1.0,
                merge_share=1.0,
                memory_limit_share=1.0,
                factor=MERGE_FACTOR,
                kept_share=1.0,
            )
        if stage.shuffled:
            ratio = stage.shuffled / processed
            task_bytes = self._data_bytes * stage.shuffled / tasks[index]
            bypasses = ratio >= COMBINED_SHARE and self._partitions(index, tasks) <= BYPASS_MAX
            buffer_bytes = max(1.0, task_bytes / PARTITION_FILES if bypasses else memory)
            output = StageOutput("shuffle", ratio=ratio, compression=compression)
            sort = StageSort(buffer_bytes, spill_share=1.0, factor=MERGE_FACTOR, metadata_share=0.0)
            write_cpu = io_cpu + codec_cpu
        elif stage.written:
            replication = workloads()[self.workload].output_copies(self.size)
            ratio, write_cpu = stage.written / processed, io_cpu
            output = StageOutput("dfs", ratio=ratio, replication=replication, remote_cpu_s_per_byte=io_cpu)
        return ScenarioStage(
            name=f"stage {index}",
            kind="map" if stage.shuffled else "reduce",
            tasks=tasks[index],
            input=self._input(index, processed),
            cpu=StageCpu(jvm_cpu_s, read_cpu, stage.cpu_s_per_byte.value, write_s_per_byte=write_cpu),
            output=output,
            sort=sort,
            shuffle=shuffle,
            after=[f"stage {n}" for n, earlier in enumerate(self.profile.stages[:index]) if earlier.job < stage.job],
        )

    def _input(self, index: int, processed: float) -> StageInput:
        stage = self.profile.stages[index]
        if stage.parents:
            return StageInput("stage", stages=[f"stage {parent}" for parent in stage.parents])
        if not stage.read:
            return StageInput("generated", bytes=self._data_bytes * processed)
        reading_stages = [
            n for n, candidate in enumerate(self.profile.stages) if candidate.read and not candidate.parents
        ]
        name = "input" if self._reads_repeatedly(reading_stages) else f"input{index}"
        return StageInput("dfs", dataset=name, bytes=self._data_bytes * stage.read, located=True)

    def _partitions(self, index: int, tasks: list[int]) -> int:
        return max((tasks[n] for n, stage in enumerate(self.profile.stages) if index in stage.parents), default=1)

    def _memory(self, stage: StageProfile) -> float:
        """Return the number of bytes that a task can process before it spills."""
        heap = (settings.memory_mb(settings.setting_value(self.parameters, settings.MEMORY)) or 0) * MIB
        memory_bytes = max(0.0, heap - RESERVED_BYTES) * EXECUTION_SHARE / cores_of(self.parameters)
        return max(1.0, memory_bytes / stage.memory) if stage.memory else UNLIMITED_BYTES

    def _codec(self) -> tuple[float, float]:
        """Return the compressed share of shuffled bytes, and the CPU seconds per byte."""
        name = shuffle_codec(self.parameters)
        if not name:
            return 1.0, 0.0
        default_share = COMPRESSED_SHARES.get(name, COMPRESSED_SHARES[DEFAULT_CODEC])
        share = compressed_share(
            name, self.profile.compression.get(name), default_share, "shuffled bytes", self.assumptions
        )
        return share, CODEC_CPU_S.get(name, CODEC_CPU_S[DEFAULT_CODEC])
