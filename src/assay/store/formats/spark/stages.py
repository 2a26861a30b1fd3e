"""Sum the metrics of task attempts, and summarise the stages and executors of a Spark application.

In: the ends of task attempts, one by one, and the events of completed stages. Out: sums per stage attempt and executor,
and from these the values of the model. Times are in seconds from the application's start. Peaks are the largest values
in any attempt. Peak execution memory is that of the attempt. Peak heap is the heap that its executor used during the
attempt; Spark samples it with each heartbeat and at each attempt's end.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

from assay.model import Executor, Stage
from assay.store.formats.spark.event_forms import Metrics, StageInfo, TaskEnd

_NAME_MAX = 120
"""Maximum length of a stored name of a stage, in characters: Spark's names contain a line of the program."""


@dataclass(slots=True)
class AttemptSums:
    """Sums and extremes of task attempts that ended."""

    node: str = ""
    """Host of the first attempt."""
    attempts: int = 0
    succeeded: int = 0
    first_ms: int = 2**53
    """First launch, in milliseconds since 1970."""
    last_ms: int = 0
    """Last end."""
    peak_memory_bytes: int = 0
    peak_heap_bytes: int = 0
    totals: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Metric to its sum, in the unit of its name; metrics that no attempt records are absent."""

    def add(self, event: TaskEnd) -> None:
        """Add one attempt."""
        info = event.info
        self.node = self.node or info.host
        self.attempts += 1
        self.succeeded += event.reason.reason == "Success"
        self.first_ms = min(self.first_ms, info.launch_ms)
        self.last_ms = max(self.last_ms, info.finish_ms, info.launch_ms)
        if event.executor:
            self.peak_heap_bytes = max(self.peak_heap_bytes, event.executor.heap_bytes)
        if event.metrics:
            self._add_metrics(event.metrics)

    def _add_metrics(self, metrics: Metrics) -> None:
        totals = self.totals
        self.peak_memory_bytes = max(self.peak_memory_bytes, metrics.peak_bytes)
        totals["run_ms"] += metrics.run_ms
        totals["gc_ms"] += metrics.gc_ms
        totals["memory_spilled_bytes"] += metrics.memory_spilled_bytes
        totals["disk_spilled_bytes"] += metrics.disk_spilled_bytes
        if metrics.cpu_ns is not None:
            totals["cpu_ns"] += metrics.cpu_ns + metrics.deserialize_cpu_ns
        if read := metrics.shuffle_read:
            totals["shuffle_read_bytes"] += read.remote_bytes + read.local_bytes
            totals["shuffle_remote_read_bytes"] += read.remote_bytes
            totals["shuffle_wait_ms"] += read.wait_ms
        if write := metrics.shuffle_write:
            totals["shuffle_write_bytes"] += write.written_bytes
            totals["shuffle_write_ns"] += write.time_ns
        if metrics.input:
            totals["input_bytes"] += metrics.input.read_bytes
        if metrics.output:
            totals["output_bytes"] += metrics.output.written_bytes

    def merge(self, other: Self) -> None:
        """Add the attempts of ``other``."""
        self.node = self.node or other.node
        self.attempts += other.attempts
        self.succeeded += other.succeeded
        self.first_ms, self.last_ms = min(self.first_ms, other.first_ms), max(self.last_ms, other.last_ms)
        self.peak_memory_bytes = max(self.peak_memory_bytes, other.peak_memory_bytes)
        self.peak_heap_bytes = max(self.peak_heap_bytes, other.peak_heap_bytes)
        for metric, total in other.totals.items():
            self.totals[metric] += total


SumsByStageAndExecutor = Mapping[tuple[int, int, str], AttemptSums]
"""Stage, its attempt and executor, to the sums of their task attempts, in the order of their first ends."""


def all_sums(sums: SumsByStageAndExecutor) -> AttemptSums:
    """Return the sums over all attempts."""
    total_sums = AttemptSums()
    for part in sums.values():
        total_sums.merge(part)
    return total_sums


def stages_of(
    infos: Mapping[tuple[int, int], StageInfo], sums: SumsByStageAndExecutor, start_ms: int
) -> Iterator[Stage]:
    """Yield each attempt of a stage, in the order of ``infos``."""
    sums_of_stages = sums_by_stage(sums)

    def relative_s(time_ms: int | None) -> float | None:
        return None if time_ms is None else (time_ms - start_ms) / 1000

    for key, info in infos.items():
        stage = sums_of_stages[key]
        yield Stage(
            stage_id=info.stage_id,
            attempt=info.attempt,
            name=info.name[:_NAME_MAX],
            parents=tuple(info.parents),
            tasks=info.tasks,
            start_s=relative_s(info.submitted_ms),
            end_s=relative_s(info.completed_ms),
            failure=info.failure,
            read_bytes=stage.totals["input_bytes"],
            written_bytes=stage.totals["output_bytes"],
            shuffle_read_bytes=stage.totals["shuffle_read_bytes"],
            shuffle_write_bytes=stage.totals["shuffle_write_bytes"],
            spilled_bytes=stage.totals["disk_spilled_bytes"],
            gc_s=stage.totals["gc_ms"] / 1000,
            peak_memory_bytes=stage.peak_memory_bytes,
        )


def sums_by_stage(sums: SumsByStageAndExecutor) -> defaultdict[tuple[int, int], AttemptSums]:
    """Return the sums of each attempt of a stage."""
    by_stage: defaultdict[tuple[int, int], AttemptSums] = defaultdict(AttemptSums)
    for (stage_id, attempt, _), part in sums.items():
        by_stage[stage_id, attempt].merge(part)
    return by_stage


def executors_of(cores: Mapping[str, int], sums: SumsByStageAndExecutor) -> Iterator[Executor]:
    """Yield each executor that had task attempts, in the order in which their first attempts ended."""
    sums_of_executors: defaultdict[str, AttemptSums] = defaultdict(AttemptSums)
    for (_, _, executor_id), part in sums.items():
        sums_of_executors[executor_id].merge(part)
    for executor_id, executor in sums_of_executors.items():
        yield Executor(
            executor_id=executor_id,
            node=executor.node,
            cores=cores.get(executor_id),
            attempts=executor.attempts,
            busy_s=executor.totals["run_ms"] / 1000,
            gc_s=executor.totals["gc_ms"] / 1000,
            spilled_bytes=executor.totals["disk_spilled_bytes"],
            peak_memory_bytes=executor.peak_memory_bytes,
            peak_heap_bytes=executor.peak_heap_bytes or None,
        )


def stage_times(
    cores: Mapping[str, int], sums: SumsByStageAndExecutor, start_ms: int
) -> dict[str, dict[int, tuple[float, float]]]:
    """Return when each executor ran each stage, in seconds from the application's start."""
    times: dict[str, dict[int, tuple[float, float]]] = {name: {} for name in cores}
    for (stage_id, _, executor_id), part in sums.items():
        stages = times.setdefault(executor_id, {})
        start_s, end_s = (part.first_ms - start_ms) / 1000, (part.last_ms - start_ms) / 1000
        first_s, last_s = stages.get(stage_id, (start_s, end_s))
        stages[stage_id] = min(first_s, start_s), max(last_s, end_s)
    return times
