"""Show how long the tasks of a run took, by phase and node, and which tasks are outliers.

In: a repository, a run and optionally a node. Out: :class:`~assay.analysis.run_profile.task_durations.TaskDurations`.
"""

from assay.analysis.outliers.task_outliers import ATTEMPTS_MIN
from assay.analysis.run_profile.task_durations import TaskDurations, task_durations
from assay.foundation.errors import RepositoryError
from assay.questions.runs.complete_run import CompleteRun, read_complete_run
from assay.store import Repository
from assay.text import TextTable, metric_text, plural, seconds


def durations_of_run(
    repository: Repository, run_id: str, node: str | None = None, job: str | None = None
) -> TaskDurations:
    """Return the task durations of the run whose id begins with ``run_id``. Raises RepositoryError without tasks."""
    return durations_of_complete_run(read_complete_run(repository, repository.run(run_id)), node, job)


def durations_of_complete_run(
    complete_run: CompleteRun, node: str | None = None, job: str | None = None
) -> TaskDurations:
    """Return the task durations of a run that was read already. Raises RepositoryError without tasks."""
    if not complete_run.tasks:
        raise RepositoryError(
            "the task durations of this run are unknown: it has no task attempts",
            where=f"run {complete_run.run.run_id}",
            hint="runs that assay executes have them; imported runs have them with their job history",
        )
    return task_durations(complete_run.run, complete_run.tasks, node, job)


def summary_text(durations: TaskDurations) -> str:
    """Return the answer in one sentence."""
    examined_count = durations.succeeded - durations.not_examined
    if not examined_count:
        return f"No task was examined for outliers: each job has fewer than {ATTEMPTS_MIN} tasks of a kind."
    text = f"{plural(durations.outliers_total, 'outlier')} among {plural(examined_count, 'task')}."
    if durations.not_examined:
        not_examined_text = plural(durations.not_examined, "task")
        text += f" Not examined: {not_examined_text} of jobs or stages with fewer than {ATTEMPTS_MIN} of their kind."
    if unsuccessful := durations.attempts - durations.succeeded:
        text += f" Left out: {plural(unsuccessful, 'failed or killed attempt')}."
    return text


def phases_text(durations: TaskDurations) -> TextTable:
    """Return the durations by phase and node as a table."""
    rows = []
    for phase in durations.phases:
        by_node = [row for row in durations.nodes if row.phase == phase.phase and durations.node in (None, row.node)]
        for row in (*([phase] if durations.node is None else []), *by_node):
            tasks, outliers, where = f"{row.tasks:,}", f"{row.outliers:,}", row.node or "all nodes"
            rows.append((row.phase, where, tasks, seconds(row.median_s), seconds(row.longest_s), outliers))
    return TextTable(
        "durations by phase and node", ("phase", "node", "tasks", "median (s)", "longest (s)", "outliers"), tuple(rows)
    )


def outliers_text(durations: TaskDurations) -> TextTable:
    """Return the outlier tasks as a table, the slowest first."""
    rows = []
    for task in durations.outliers:
        reasons = []
        for reason in task.deviations:
            name, value = metric_text(reason.quantity, reason.value)
            reasons.append(f"{name} {value}, median {metric_text(reason.quantity, reason.median)[1]}")
        rows.append(
            (task.attempt_id, task.node, task.kind, seconds(task.start_s), seconds(task.duration_s), "; ".join(reasons))
        )
    hidden_count = durations.outliers_total - len(rows)
    notes = (f"{plural(hidden_count, 'more outlier')} not listed.",) if hidden_count else ()
    headers = ("attempt", "node", "kind", "start (s)", "duration (s)", "differs in")
    return TextTable("outlier tasks", headers, tuple(rows), notes)
