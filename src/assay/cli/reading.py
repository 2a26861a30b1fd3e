"""Reading a repository's runs for a command: as columns, or whole."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import RepositoryError
from assay.model.run import Run
from assay.repository import Repository

if TYPE_CHECKING:
    from assay.statistics.run_table import RunTable


def read_table(root: Path, where: Sequence[str] = (), metrics: Sequence[str] = ()) -> tuple[Repository, RunTable]:
    """Return the repository at ``root`` and its runs as columns, those that match every column of ``COLUMN=LEVEL``.

    Raises RepositoryError when there is no run, and SpecificationError with the choices for an unknown column or level.
    """
    from assay.questions.runs import selected  # imported here to keep start-up short

    repository = Repository.open(root)
    table = repository.table(metrics)
    if len(table) == 0:
        raise RepositoryError(
            "there are no runs yet",
            where=str(root),
            hint="`assay import PATH`, `assay run PLAN` or `assay demo` makes some",
        )
    return repository, selected(table, where, "--where")


def read_runs(root: Path) -> tuple[Repository, list[Run]]:
    """Return the repository at ``root`` and its runs, whole. Raises RepositoryError when there is none."""
    repository, table = read_table(root)
    return repository, repository.runs_at(table, range(len(table)))
