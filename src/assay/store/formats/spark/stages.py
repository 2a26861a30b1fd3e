"""Summarise stages and executors of a Spark application: dependencies, bytes moved and spilled, memory used.

In: the events of completed stages and of ended task attempts. Out: the model's values; times in seconds from the
application's start. Peaks are the largest values in any attempt. Peak execution memory is the attempt's own. Peak heap
is the heap that its executor used during the attempt; Spark samples it with each heartbeat and at each attempt's end.
"""

from collections.abc import Iterable, Iterator, Mapping

from assay.model import Executor, Stage
from assay.store.formats.spark.event_forms import Metrics, StageInfo, TaskEnd

_NAME_MAX = 120
"""Maximum length of a stored name of a stage, in characters: Spark's names contain a line of the program."""


def stages_of(infos: Mapping[tuple[int, int], StageInfo], ended: Iterable[TaskEnd], start_ms: int) -> Iterator[Stage]:
    """Yield each attempt of a stage, in the order of ``infos``."""
    attempts: dict[tuple[int, int], list[Metrics]] = {}
    for event in ended:
        if event.metrics:
            attempts.setdefault((event.stage_id, event.stage_attempt), []).append(event.metrics)

    def relative_s(time_ms: int | None) -> float | None:
        return None if time_ms is None else (time_ms - start_ms) / 1000

    for key, info in infos.items():
        metrics = attempts.get(key, [])
        read = [attempt_metrics.shuffle_read for attempt_metrics in metrics if attempt_metrics.shuffle_read]
        yield Stage(
            stage_id=info.stage_id,
            attempt=info.attempt,
            name=info.name[:_NAME_MAX],
            parents=tuple(info.parents),
            tasks=info.tasks,
            start_s=relative_s(info.submitted_ms),
            end_s=relative_s(info.completed_ms),
            failure=info.failure,
            read_bytes=sum(attempt_metrics.input.read_bytes for attempt_metrics in metrics if attempt_metrics.input),
            written_bytes=sum(
                attempt_metrics.output.written_bytes for attempt_metrics in metrics if attempt_metrics.output
            ),
            shuffle_read_bytes=sum(
                attempt_metrics.remote_bytes + attempt_metrics.local_bytes for attempt_metrics in read
            ),
            shuffle_write_bytes=sum(
                attempt_metrics.shuffle_write.written_bytes
                for attempt_metrics in metrics
                if attempt_metrics.shuffle_write
            ),
            spilled_bytes=sum(attempt_metrics.disk_spilled_bytes for attempt_metrics in metrics),
            gc_s=sum(attempt_metrics.gc_ms for attempt_metrics in metrics) / 1000,
            peak_memory_bytes=max((attempt_metrics.peak_bytes for attempt_metrics in metrics), default=0),
        )


def executors_of(cores: Mapping[str, int], ended: Iterable[TaskEnd]) -> Iterator[Executor]:
    """Yield each executor that had task attempts, in the order in which their first attempts ended."""
    by_executor: dict[str, list[TaskEnd]] = {}
    for event in ended:
        by_executor.setdefault(event.info.executor_id, []).append(event)
    for executor_id, events in by_executor.items():
        metrics = [event.metrics for event in events if event.metrics]
        yield Executor(
            executor_id=executor_id,
            node=events[0].info.host,
            cores=cores.get(executor_id),
            attempts=len(events),
            busy_s=sum(task_metrics.run_ms for task_metrics in metrics) / 1000,
            gc_s=sum(task_metrics.gc_ms for task_metrics in metrics) / 1000,
            spilled_bytes=sum(task_metrics.disk_spilled_bytes for task_metrics in metrics),
            peak_memory_bytes=max((task_metrics.peak_bytes for task_metrics in metrics), default=0),
            peak_heap_bytes=max((event.executor.heap_bytes for event in events if event.executor), default=0) or None,
        )
