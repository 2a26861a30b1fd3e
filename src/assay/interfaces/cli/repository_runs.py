"""Read the runs of a repository for a command.

In: the repository's folder and the conditions of ``--where``. Out: the repository and tables of runs.
"""

from collections.abc import Sequence
from pathlib import Path

from assay.analysis.statistics import RunTable
from assay.foundation.errors import RepositoryError
from assay.questions.runs.runs import selected
from assay.questions.trust.flags import FlaggedTable, flags_in
from assay.store import Repository


def read_table(root: Path, where: Sequence[str] = (), metrics: Sequence[str] = ()) -> tuple[Repository, RunTable]:
    """Return the repository at ``root`` and the table of its runs that match all conditions ``COLUMN=LEVEL``.

    Raises RepositoryError if there are no runs. Raises SpecificationError for an unknown column or level; the error
    lists the valid choices.
    """
    if any(condition.startswith("anomaly=") for condition in where):
        repository, _, matching_runs = read_flagged(root, where)
        return repository, matching_runs
    repository = Repository.open(root)
    table = repository.table(metrics)
    _require_runs(table, root)
    return repository, selected(table, where, "--where")


def read_flagged(root: Path, where: Sequence[str] = ()) -> tuple[Repository, FlaggedTable, RunTable]:
    """Return the repository at ``root``, all its runs with their flags, and the table of matching runs.

    Raises the errors of :func:`read_table`.
    """
    repository = Repository.open(root)
    flagged = flags_in(repository)
    _require_runs(flagged.table, root)
    return repository, flagged, selected(flagged.table, where, "--where")


def _require_runs(table: RunTable, root: Path) -> None:
    if len(table) == 0:
        raise RepositoryError(
            "there are no runs yet",
            where=str(root),
            hint="create runs with `assay import PATH`, `assay run PLAN` or `assay demo`",
        )
