"""What limited a run, and how much faster could it be at most? From its own traces and attempts alone.

In: a repository and a run. Out: :class:`~assay.analysis.run_profile.limits.Limits`; None where the run has no traces.
"""

from assay.analysis.run_profile.limits import Limits, limits_of
from assay.foundation.errors import RepositoryError
from assay.questions.runs.whole_run import WholeRun, whole_run
from assay.store import Repository


def limits_of_run(store: Repository, run_id: str) -> Limits:
    """Return what limited the run whose id begins with ``run_id``.

    Raises RepositoryError, in words, for a run that no trace tells of.
    """
    seen = whole_run(store, store.run(run_id))
    found = limits_of_seen(seen)
    if found is None:
        raise RepositoryError(
            "nobody can say what limited it: there are no traces of its workers",
            where=f"run {seen.run.run_id}",
            hint="runs that assay makes have traces; imported ones do where samples were imported with them",
        )
    return found


def limits_of_seen(seen: WholeRun) -> Limits | None:
    """Return what limited a run that was read already; None where no trace tells of its workers."""
    return limits_of(seen.run, seen.tasks, seen.trace)
