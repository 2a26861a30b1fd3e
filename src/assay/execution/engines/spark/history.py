"""Read a Spark program's event log: jobs, tasks, phases and sums, and whether the log is complete.

In: the log's files as the driver left them, and the driver's start in Unix seconds. Out: values of the model, with
times in seconds from that start.
"""

import dataclasses
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace as struct_replace

from assay.execution.engines.hadoop.profiling.parts import StageSpan
from assay.foundation.errors import FormatError
from assay.model import Check, Executor, Job, Phase, Stage, TaskAttempt
from assay.store.formats.spark.codecs import unpacked
from assay.store.formats.spark.events import Application, read_application
from assay.store.formats.spark.figures import metrics_of, phases_of

_CHECK = "event log"
_NAME_MAX = 120
"""Maximum length of a job's name, in characters."""
_LOST_MAX = 3
"""Maximum number of lost executors that a message lists."""
# Spark's exit code for an exhausted heap (SparkExitCode.OOM), and YARN's messages for a container that exceeds its
# memory: another attempt with the same settings fails the same way.
_OUT_OF_MEMORY = re.compile(r"(?i)exit ?code:? 52\b|OutOfMemoryError|(exceeding|beyond) .*memory limit")


@dataclass(frozen=True, slots=True)
class SparkJobHistory:
    """The content of an event log; empty if there is no log."""

    files: Mapping[str, bytes]
    jobs: tuple[Job, ...] = ()
    tasks: tuple[TaskAttempt, ...] = ()
    stages: tuple[Stage, ...] = ()
    executors: tuple[Executor, ...] = ()
    stage_spans: Mapping[str, Sequence[StageSpan]] = field(default_factory=dict)
    """When each executor ran each stage."""
    phases: tuple[Phase, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    failed_tasks: int = 0
    problem: str | None = None


def read_history(files: Mapping[str, bytes], started_unix_s: float) -> SparkJobHistory:
    """Return the content of the log in ``files``. A missing or unreadable log gives a failed check."""
    parts = {name: content for name, content in files.items() if not name.startswith("appstatus_")}
    if not parts:
        return SparkJobHistory(
            files, checks=(Check(_CHECK, False, "there is no event log, so the work of the tasks is unknown"),)
        )
    try:
        logs = ((name, unpacked(io.BytesIO(parts[name]), name)) for name in sorted(parts, key=_sort_key))
        application = read_application(logs)
    except FormatError as error:
        return SparkJobHistory(files, checks=(Check(_CHECK, False, str(error)),))
    shift_s = application.start_unix_s - started_unix_s
    tasks = tuple(
        struct_replace(task, start_s=task.start_s + shift_s, end_s=task.end_s + shift_s) for task in application.tasks
    )
    end_s = application.duration_s if application.duration_s is not None else max((t.end_s for t in tasks), default=0)
    phases = _merged_by_description(phases_of(application, end_s, begin_s=-shift_s), application)
    metrics, _ = metrics_of(application)
    failed_tasks = sum(task.status == "failed" for task in tasks)
    return SparkJobHistory(
        files,
        jobs=_jobs(application, shift_s),
        tasks=tasks,
        stages=tuple(_shifted_stage(stage, shift_s) for stage in application.stages),
        executors=application.executors,
        stage_spans={
            name: [
                StageSpan(number, application.start_unix_s + first_s, application.start_unix_s + last_s)
                for number, (first_s, last_s) in stages.items()
            ]
            for name, stages in application.stage_times.items()
        },
        phases=tuple(Phase(phase.name, max(0.0, phase.start_s + shift_s), phase.end_s + shift_s) for phase in phases),
        metrics=metrics,
        checks=tuple(_checks(application)),
        failed_tasks=failed_tasks,
        problem=_losses_text(application),
    )


def _merged_by_description(phases: Iterable[Phase], application: Application) -> list[Phase]:
    """Return the phases, merging stages whose jobs have the same description. A program of many queries has
    hundreds."""
    jobs = reversed(application.jobs.values())  # the first job that needs a stage runs it
    names = {f"stage {number}": job.description for job in jobs for number in job.stage_ids}
    phases_by_name: dict[str, Phase] = {}
    for phase in phases:
        name = names.get(phase.name.split(".", 1)[0]) or phase.name
        merged_phase = phases_by_name.get(name, phase)
        phases_by_name[name] = Phase(
            name, min(merged_phase.start_s, phase.start_s), max(merged_phase.end_s, phase.end_s)
        )
    return list(phases_by_name.values())


def _losses_text(application: Application) -> str | None:
    """Return executors that were lost during a job, as text; None without losses. Executors that ran out of memory do
    not count."""
    losses = [
        f"executor {loss.executor_id} on {loss.node} was lost: {loss.reason}"
        for loss in application.lost
        if not _OUT_OF_MEMORY.search(loss.reason)
    ]
    return "; ".join(losses[:_LOST_MAX]) or None


def _shifted_stage(stage: Stage, shift_s: float) -> Stage:
    def shifted_s(time_s: float | None) -> float | None:
        return None if time_s is None else round(time_s + shift_s, 3)

    return dataclasses.replace(stage, start_s=shifted_s(stage.start_s), end_s=shifted_s(stage.end_s))


def _sort_key(name: str) -> tuple[int, str]:
    """Return the sort key of a rolled log's file: ``events_12_app`` is the twelfth."""
    parts = name.split("_")
    return (int(parts[1]) if len(parts) > 1 and parts[1].isdecimal() else 0, name)


def _checks(application: Application) -> list[Check]:
    """Return a check that the log records the ends of the application and of all tasks. If a task failed, also return
    a failed check with the first failure."""
    open_jobs = sum(job.failure is None for job in application.jobs.values())
    if application.duration_s is None or open_jobs:
        checks = [Check(_CHECK, False, f"the log ends before the application, with {open_jobs} jobs running")]
    elif application.missing_ends:
        message = f"{application.missing_ends} successful tasks are missing: Spark dropped their events"
        checks = [Check(_CHECK, False, message)]
    else:
        checks = [Check(_CHECK, True, f"the ends of all {len(application.tasks)} task attempts are recorded")]
    if application.first_failure:
        checks.append(Check("task attempts", False, f"the first failure: {application.first_failure}"))
    return checks


def _jobs(application: Application, shift_s: float) -> tuple[Job, ...]:
    kinds = Counter((task.job_id, task.kind) for task in application.tasks if task.status == "succeeded")
    names = {stage.stage_id: stage.name for stage in application.stages}
    last_s = application.duration_s or 0.0
    jobs = []
    for number, job in application.jobs.items():
        stage_names = [names[stage] for stage in job.stage_ids if stage in names]
        failure_status = "error" if job.failure is None else "failed"
        submit_s = (job.submit_s or 0.0) + shift_s
        jobs.append(
            Job(
                job_id=str(number),
                name=(stage_names[-1] if stage_names else f"{application.name} {number}")[:_NAME_MAX],
                status="succeeded" if job.failure == "" else failure_status,
                submit_s=round(submit_s, 3),
                launch_s=round(submit_s, 3),
                finish_s=round((job.end_s if job.end_s is not None else last_s) + shift_s, 3),
                maps=kinds[str(number), "shuffle_map"],
                reduces=kinds[str(number), "result"],
            )
        )
    return tuple(jobs)
