"""Find what limited a run, and how much faster it could be at most, from its traces and task attempts.

In: a repository and a run. Out: :class:`~assay.analysis.run_profile.limits.run_limits.Limits`.
"""

from assay.analysis.run_profile.limits.run_limits import Limits, limits_of
from assay.foundation.errors import RepositoryError
from assay.questions.runs.complete_run import CompleteRun, read_complete_run
from assay.store import Repository


def limits_of_run(repository: Repository, run_id: str) -> Limits:
    """Return the limits of the run whose id begins with ``run_id``. Raises RepositoryError for a run without traces."""
    complete_run = read_complete_run(repository, repository.run(run_id))
    limits = limits_of_complete_run(complete_run)
    if limits is None:
        raise RepositoryError(
            "the limits of this run are unknown: it has no traces of its workers",
            where=f"run {complete_run.run.run_id}",
            hint="runs that assay executes have traces; imported runs have them if samples were imported too",
        )
    return limits


def limits_of_complete_run(complete_run: CompleteRun) -> Limits | None:
    """Return the limits of a loaded run; None without traces of its workers."""
    return limits_of(complete_run.run, complete_run.tasks, complete_run.trace)
