"""Stages and executors of a Spark application: which stage needs which, what each moved, spilled and used of memory.

In: the events of stages that were completed and of task attempts that ended. Out: the model's values; times in seconds
from the application's start. Peaks are the largest that any attempt tells: of execution memory its own, of the heap
what its executor had used while it ran, which Spark looks at with each heartbeat and at each attempt's end.
"""

from collections.abc import Iterable, Iterator, Mapping

from assay.formats.spark.event_forms import Metrics, StageInfo, TaskEnd
from assay.model import Executor, Stage

_NAME_MAX = 120


def stages_of(infos: Mapping[tuple[int, int], StageInfo], ended: Iterable[TaskEnd], start_ms: int) -> Iterator[Stage]:
    """Yield each attempt of a stage, in the order of ``infos``."""
    attempts: dict[tuple[int, int], list[Metrics]] = {}
    for event in ended:
        if event.metrics:
            attempts.setdefault((event.stage_id, event.stage_attempt), []).append(event.metrics)

    def relative_s(time_ms: int | None) -> float | None:
        return None if time_ms is None else (time_ms - start_ms) / 1000

    for key, info in infos.items():
        told = attempts.get(key, [])
        read = [one.shuffle_read for one in told if one.shuffle_read]
        yield Stage(
            stage_id=info.stage_id,
            attempt=info.attempt,
            name=info.name[:_NAME_MAX],
            parents=tuple(info.parents),
            tasks=info.tasks,
            start_s=relative_s(info.submitted_ms),
            end_s=relative_s(info.completed_ms),
            failure=info.failure,
            read_bytes=sum(one.input.read_bytes for one in told if one.input),
            written_bytes=sum(one.output.written_bytes for one in told if one.output),
            shuffle_read_bytes=sum(one.remote_bytes + one.local_bytes for one in read),
            shuffle_write_bytes=sum(one.shuffle_write.written_bytes for one in told if one.shuffle_write),
            spilled_bytes=sum(one.disk_spilled_bytes for one in told),
            gc_s=sum(one.gc_ms for one in told) / 1000,
            peak_memory_bytes=max((one.peak_bytes for one in told), default=0),
        )


def executors_of(cores: Mapping[str, int], ended: Iterable[TaskEnd]) -> Iterator[Executor]:
    """Yield each executor that had task attempts, in the order of their first ends."""
    by_executor: dict[str, list[TaskEnd]] = {}
    for event in ended:
        by_executor.setdefault(event.info.executor_id, []).append(event)
    for executor_id, events in by_executor.items():
        told = [event.metrics for event in events if event.metrics]
        yield Executor(
            executor_id=executor_id,
            node=events[0].info.host,
            cores=cores.get(executor_id),
            attempts=len(events),
            busy_s=sum(one.run_ms for one in told) / 1000,
            gc_s=sum(one.gc_ms for one in told) / 1000,
            spilled_bytes=sum(one.disk_spilled_bytes for one in told),
            peak_memory_bytes=max((one.peak_bytes for one in told), default=0),
            peak_heap_bytes=max((event.executor.heap_bytes for event in events if event.executor), default=0) or None,
        )
