"""Read a run with all contents of its bundle. Jobs of older bundles are read from their logs.

In: a repository and a run. Out: the run with its jobs, task attempts, trace and :class:`RunDetail`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from assay.analysis.run_profile.run_detail import RunDetail, detail_metrics, run_detail
from assay.analysis.run_profile.workload_ratios import WorkloadRatios, workload_ratios
from assay.analysis.statistics import RunTable, first_rows, groups_by
from assay.foundation.errors import FormatError
from assay.model import Job, Run, TaskAttempt, Trace
from assay.store import Repository
from assay.store.formats.hadoop.jhist import job_of, parse_jhist

_PROGRAM = "program"
"""Workload parameter that only runs executed by assay record. Imported runs have no logs."""
_HISTORY = re.compile(r"job_[0-9]+_[0-9]+\.jhist")


@dataclass(frozen=True, slots=True)
class CompleteRun:
    """A run with all contents of its bundle."""

    run: Run
    tasks: tuple[TaskAttempt, ...]
    trace: Trace
    detail: RunDetail
    logs: tuple[str, ...] = ()
    """Names of its logs."""
    files: dict[str, int] = field(default_factory=dict)
    """The bundle's files with their sizes in bytes."""


def read_complete_run(repository: Repository, run: Run) -> CompleteRun:
    """Return ``run`` with the contents of its bundle."""
    tasks, trace = tuple(repository.tasks(run.run_id)), repository.trace(run.run_id)
    run_with_jobs = with_jobs(repository, run)
    logs, files = tuple(repository.logs(run.run_id)), repository.files(run.run_id)
    return CompleteRun(run_with_jobs, tasks, trace, run_detail(run_with_jobs, tasks, trace), logs, files)


def with_jobs(repository: Repository, run: Run) -> Run:
    """Return ``run`` with its jobs, which for older bundles are read from their logs."""
    return run if run.jobs else replace(run, jobs=_jobs_in_logs(repository, run))


def _jobs_in_logs(repository: Repository, run: Run) -> tuple[Job, ...]:
    """Return the jobs from the job histories among the logs, because older bundles have jobs only there."""
    names = [name for name in repository.logs(run.run_id) if _HISTORY.fullmatch(name)]
    if not names or not run.started_at:
        return ()
    start_unix_s = datetime.fromisoformat(run.started_at).timestamp()
    jobs = []
    for name in names:
        try:
            jobs.append(job_of(parse_jhist(repository.log(run.run_id, name), source=name), start_unix_s))
        except FormatError:  # damaged history: the rest of the bundle is shown without it
            return ()
    return tuple(sorted(jobs, key=lambda job: job.submit_s))


def workload_table(repository: Repository, table: RunTable, reference: str) -> WorkloadRatios:
    """Return the data and CPU use of each workload, compared with the workload ``reference``."""
    return workload_ratios(with_figures(repository, repository.runs_at(table, range(len(table)))), reference=reference)


def with_figures(repository: Repository, runs: Sequence[Run]) -> list[Run]:
    """Return ``runs`` with the metrics of their details; for older bundles they are computed now."""
    return [
        replace(run, metrics=detail_metrics(read_complete_run(repository, run).detail) | run.metrics)
        if jobs_in_logs_only(run)
        else run
        for run in runs
    ]


def jobs_in_logs_only(run: Run) -> bool:
    """Return whether the jobs of a run can only be in its logs: assay executed it, and the record has no jobs."""
    return not run.jobs and _PROGRAM in run.workload_parameters


def examples_of(repository: Repository, table: RunTable) -> list[Run]:
    """Return one run of each cluster, engine and origin."""
    names = [name for name in ("cluster", "engine", "engine_version", "origin") if name in table.columns]
    return repository.runs_at(table, first_rows(groups_by(table, names)).tolist()) if len(table) else []
