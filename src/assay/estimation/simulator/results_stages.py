"""Add the parts of a Spark run to a simulation's result: stages, executors, attempts by stage, sums of the event log.

In: the run of :mod:`assay.estimation.simulator.results`, the simulator's result, and the scenario. Out: the run with
stages, so that every view of measured Spark runs also shows simulated runs. Values that are not simulated are 0:
garbage collection, and the execution memory that was used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec.structs import replace as struct_replace

from assay.estimation.simulator.results import SimulatedRun
from assay.estimation.simulator.scenario_document import ScenarioCluster, ScenarioDocument, ScenarioStage
from assay.model import Executor, Job, Phase, Stage, TaskAttempt

_JOB = "0"


def with_stages(run: SimulatedRun, result: Mapping[str, Any], scenario: ScenarioDocument) -> SimulatedRun:
    """Return ``run`` with the values of Spark's event log."""
    [scenario_job], [job_result] = scenario.jobs, result["jobs"]
    stage_indices = {stage.name: index for index, stage in enumerate(scenario_job.stages)}
    shuffles = [stage.output.to == "shuffle" for stage in scenario_job.stages]
    columns = result["task_columns"]
    numbers = zip(columns["stage"], columns["index"], columns["attempt"], strict=True)
    amounts = zip(columns["shuffle_bytes"], columns["output_bytes"], strict=True)
    tasks = tuple(
        _task(
            task,
            name=f"{stage}.0.{index}",
            attempt=attempt,
            fetched_bytes=round(fetched_bytes),
            shuffled_bytes=round(output_bytes) if shuffles[stage] else None,
        )
        for task, (stage, index, attempt), (fetched_bytes, output_bytes) in zip(
            run.tasks, numbers, amounts, strict=True
        )
    )
    by_stage: list[list[TaskAttempt]] = [[] for _ in scenario_job.stages]
    spilled_by_stage = [0] * len(by_stage)
    for task, index, spilled_bytes in zip(tasks, columns["stage"], columns["spilled_bytes"], strict=True):
        by_stage[index].append(task)
        spilled_by_stage[index] += round(spilled_bytes)
    stages = tuple(
        _stage(stage, index, job_result["stages"][index], by_stage[index], spilled_by_stage[index], stage_indices)
        for index, stage in enumerate(scenario_job.stages)
    )
    jobs = tuple(_job(job, tasks) for job in run.jobs)
    return replace(
        run,
        jobs=jobs,
        tasks=tasks,
        phases=_phases(stages, run.duration_s),
        stages=stages,
        executors=_executors(tasks, scenario.cluster),
        metrics=_metrics(tasks, stages),
    )


def _task(task: TaskAttempt, *, name: str, attempt: int, fetched_bytes: int, shuffled_bytes: int | None) -> TaskAttempt:
    """Return an attempt with the values of Spark's log. ``shuffled_bytes``: its shuffle output; None for results."""
    return struct_replace(
        task,
        job_id=_JOB,
        task_id=name,
        attempt_id=f"{name}.{attempt}",
        kind="result" if shuffled_bytes is None else "shuffle_map",
        shuffle_end_s=None,
        merge_end_s=None,
        local_read_bytes=fetched_bytes,
        local_write_bytes=shuffled_bytes or 0,
    )


def _stage(
    scenario_stage: ScenarioStage,
    stage_index: int,
    stage_result: Mapping[str, Any],
    tasks: Sequence[TaskAttempt],
    spilled_bytes: int,
    stage_indices: Mapping[str, int],
) -> Stage:
    return Stage(
        stage_id=stage_index,
        attempt=0,
        name=scenario_stage.name,
        parents=tuple(stage_indices[name] for name in scenario_stage.input.stages),
        tasks=int(stage_result["tasks"]),
        start_s=float(stage_result["start_s"]),
        end_s=float(stage_result["end_s"]),
        failure=None,
        read_bytes=sum(task.hdfs_read_bytes for task in tasks),
        written_bytes=sum(task.hdfs_write_bytes for task in tasks),
        shuffle_read_bytes=sum(task.local_read_bytes for task in tasks),
        shuffle_write_bytes=sum(task.local_write_bytes for task in tasks),
        # Without shuffle input, simulated spills are the shuffle files that the stage writes.
        spilled_bytes=spilled_bytes if scenario_stage.shuffle is not None else 0,
        gc_s=0.0,
        peak_memory_bytes=0,
    )


def _job(job: Job, tasks: Sequence[TaskAttempt]) -> Job:
    kinds = {kind: sum(task.kind == kind for task in tasks) for kind in ("shuffle_map", "result")}
    return replace(job, job_id=_JOB, maps=kinds["shuffle_map"], reduces=kinds["result"], counters={})


def _phases(stages: Sequence[Stage], duration_s: float) -> tuple[Phase, ...]:
    spans = [(stage.stage_id, stage.start_s or 0.0, stage.end_s or 0.0) for stage in stages]
    first_s, last_s = min(start for _, start, _ in spans), max(end for _, _, end in spans)
    phases = (Phase(f"stage {number}", start, end) for number, start, end in spans)
    return (Phase("setup", 0.0, first_s), *phases, Phase("cleanup", last_s, duration_s))


def _executors(tasks: Sequence[TaskAttempt], cluster: ScenarioCluster) -> tuple[Executor, ...]:
    """Return one executor per node: executors on the same node are not distinguished."""
    cores = {name: kind.containers.cores or 0 for kind in cluster.nodes for name in kind.names}
    by_node: dict[str, list[TaskAttempt]] = {}
    for task in tasks:
        by_node.setdefault(task.node, []).append(task)
    executors = []
    for number, (node, node_tasks) in enumerate(sorted(by_node.items()), start=1):
        busy_s = sum(task.end_s - task.start_s for task in node_tasks)
        executors.append(
            Executor(
                executor_id=str(number),
                node=node,
                cores=int(cores[node]),
                attempts=len(node_tasks),
                busy_s=busy_s,
                gc_s=0.0,
                spilled_bytes=0,
                peak_memory_bytes=0,
                peak_heap_bytes=None,
            )
        )
    return tuple(executors)


def _metrics(tasks: Sequence[TaskAttempt], stages: Sequence[Stage]) -> dict[str, float]:
    return {
        "executor_run_s": sum(task.end_s - task.start_s for task in tasks),
        "cpu_s": sum(task.cpu_s or 0.0 for task in tasks),
        "input_bytes": float(sum(stage.read_bytes for stage in stages)),
        "output_bytes": float(sum(stage.written_bytes for stage in stages)),
        "shuffle_read_bytes": float(sum(stage.shuffle_read_bytes for stage in stages)),
        "shuffle_write_bytes": float(sum(stage.shuffle_write_bytes for stage in stages)),
        "disk_spilled_bytes": float(sum(stage.spilled_bytes for stage in stages)),
        "stages": float(len(stages)),
        "tasks": float(len(tasks)),
    }
