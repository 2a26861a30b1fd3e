"""Select the job histories of one benchmark in an ALOJA folder: tasks, phases, and time span.

In: the folder's files, and when the benchmark ran. Out: :class:`RunJobs`, times in seconds from the run's start. Hadoop
keeps the histories of all jobs since its start. ALOJA starts Hadoop before it generates a benchmark's input, so the
folder also has the jobs that generated the input. These jobs ended before the run began. If the time of the run is
unknown, they are the jobs that are also in the folder ``prep_BENCHMARK``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from msgspec import structs

from assay.foundation.errors import FormatError
from assay.model import Job, Phase, SkippedItem, TaskAttempt
from assay.store.formats.aloja.tasks import phases_of_tasks
from assay.store.formats.hadoop.jhist import JobHistory, job_of, parse_jhist, phases
from assay.store.formats.hadoop.jhist_hadoop1 import parse_hadoop1_history
from assay.store.formats.source import Source

MARGIN_S = 5.0
"""Maximum time that a job may extend beyond its run, in seconds. Clocks differ."""
ATTEMPT_MARGIN_S = 60.0
"""Maximum time between the end of a run and the recorded end of a killed attempt, in seconds."""
_HISTORY = re.compile(r"(?:.*/)?history/(?:.*/)?(job_[0-9]+_[0-9]+)(?![^/]*\.(?:xml|crc))[^/]*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class RunJobs:
    """The jobs of one run."""

    tasks: tuple[TaskAttempt, ...] = ()
    phases: tuple[Phase, ...] = ()
    span_unix_s: tuple[float, float] | None = None
    """From the first submission to the last end; None without jobs."""
    failure: str | None = None
    """Why a job failed."""
    jobs: tuple[Job, ...] = ()


def is_history(path: str) -> bool:
    """Return whether a path is a job history."""
    return _HISTORY.fullmatch(path) is not None


def job_ids(paths: Mapping[str, Source]) -> frozenset[str]:
    """Return the ids of jobs with histories among the files."""
    return frozenset(match[1] for path in paths if (match := _HISTORY.fullmatch(path)))


def _read(
    sources: Mapping[str, Source], excluded_jobs: frozenset[str]
) -> tuple[dict[str, JobHistory], list[SkippedItem]]:
    histories: dict[str, JobHistory] = {}
    skipped: list[SkippedItem] = []
    for path, source in sources.items():
        match = _HISTORY.fullmatch(path)
        if match is None or match[1] in excluded_jobs:
            continue
        try:
            content = source.content()
            if content.startswith(b"Avro"):
                history = parse_jhist(content, source=source.name)
            else:
                history = parse_hadoop1_history(source.text(), source=source.name)
            histories.setdefault(history.job_id, history)
        except FormatError as error:
            skipped.append(SkippedItem(error.where or source.name, error.message))
    return histories, skipped


def jobs_within(
    sources: Mapping[str, Source], start_unix_s: float, duration_s: float
) -> tuple[RunJobs, list[SkippedItem]]:
    """Return the jobs within a run, and histories that are unreadable or extend beyond it."""
    histories, skipped = _read(sources, frozenset())
    histories_within = []
    for history in histories.values():
        begin_s, end_s = history.submit_unix_s - start_unix_s, history.finish_unix_s - start_unix_s
        if begin_s >= -MARGIN_S and end_s <= duration_s + MARGIN_S:
            histories_within.append(history)
        elif end_s > MARGIN_S:
            why = f"ran from second {begin_s:.0f} to {end_s:.0f} of a run of {duration_s:.0f} s"
            skipped.append(SkippedItem(history.job_id, why))
    jobs = _jobs(histories_within, start_unix_s)
    outside_count = sum(not _is_within(task, duration_s) for task in jobs.tasks)
    if outside_count:
        skipped.append(
            SkippedItem(
                histories_within[0].job_id, f"attempts of it or of concurrent jobs are outside the run: {outside_count}"
            )
        )
        return replace(
            jobs, tasks=tuple(task for task in jobs.tasks if _is_within(task, duration_s)), phases=()
        ), skipped
    return jobs, skipped


def _is_within(task: TaskAttempt, duration_s: float) -> bool:
    return task.start_s >= -MARGIN_S and task.end_s <= duration_s + ATTEMPT_MARGIN_S


def jobs_of(sources: Mapping[str, Source], preparation: Mapping[str, Source]) -> tuple[RunJobs, list[SkippedItem]]:
    """Return the jobs of a run with unknown time: all jobs except the jobs of its preparation.

    If there are several jobs, and it is unknown which of them generated the input, return no jobs.
    """
    histories, skipped = _read(sources, job_ids(preparation))
    if not histories:
        return RunJobs(), skipped
    if len(histories) > 1 and not preparation:
        skipped.append(
            SkippedItem(min(histories), "there are several jobs, and it is unknown which of them made the input")
        )
        return RunJobs(), skipped
    return _jobs(list(histories.values()), min(history.submit_unix_s for history in histories.values())), skipped


def _jobs(histories: list[JobHistory], start_unix_s: float) -> RunJobs:
    if not histories:
        return RunJobs()
    span = min(history.submit_unix_s for history in histories), max(history.finish_unix_s for history in histories)
    tasks = tuple(_shifted(task, start_unix_s) for history in histories for task in history.tasks)
    only_history = histories[0] if len(histories) == 1 else None
    job_phases = phases(only_history, start_unix_s) if only_history else phases_of_tasks(tasks, span[1] - span[0])
    failed_history = next((history for history in histories if history.status != "succeeded"), None)
    message = (
        f"{failed_history.job_id} {failed_history.status}: {(failed_history.diagnostics or 'unknown reason')[:300]}"
        if failed_history
        else None
    )
    ordered_histories = sorted(histories, key=lambda history: history.submit_unix_s)
    return RunJobs(
        tasks, job_phases, span, message, tuple(job_of(history, start_unix_s) for history in ordered_histories)
    )


def _shifted(task: TaskAttempt, start_unix_s: float) -> TaskAttempt:
    """Return a task with times from the run's start instead of from 1970."""

    def after_s(time_s: float) -> float:
        return round(time_s - start_unix_s, 3)

    return structs.replace(
        task,
        start_s=after_s(task.start_s),
        end_s=after_s(task.end_s),
        shuffle_end_s=None if task.shuffle_end_s is None else after_s(task.shuffle_end_s),
        merge_end_s=None if task.merge_end_s is None else after_s(task.merge_end_s),
    )
