"""What is learned from a repository, kept beside its index: learned once, and anew when the runs changed.

In: a repository. Out: its runs as a table with the hardware of their clusters, and the model of them.
"""

from dataclasses import dataclass, replace

from assay.analysis.statistics import RunTable, first_rows, groups_by
from assay.estimation.prediction.contradictions import data_warnings
from assay.estimation.prediction.features import hardware_values
from assay.estimation.prediction.model import TimeModel, learn
from assay.estimation.prediction.model_file import decode_model, encode_model
from assay.estimation.prediction.nearest import MeasuredConfigurations
from assay.foundation.errors import RepositoryError
from assay.store import Repository


@dataclass(frozen=True, slots=True)
class Learned:
    """A model with the runs that it was learned from."""

    table: RunTable
    measured: MeasuredConfigurations
    """The configurations of the table."""
    model: TimeModel
    notices: tuple[str, ...]
    """What a reader should know of how it came about."""


def with_hardware(repository: Repository, table: RunTable) -> RunTable:
    """Return the table with values of the clusters' hardware, as far as runs recorded it."""
    names = [name for name in ("cluster", "origin") if name in table.columns]
    groups = groups_by(table, names)
    if not table.source or not len(table):
        return table
    clusters = [found.hardware for found in repository.environments_at(table, first_rows(groups).tolist())]
    values = {name: found[groups.of_row] for name, found in hardware_values(clusters).items()}
    return replace(table, values={**table.values, **values})


def learned(repository: Repository, runs: RunTable | None = None, *, threads: int = 2) -> Learned:
    """Return what is learned from all runs, which are ``runs`` where the caller has read them.

    ``threads``: how many learn at a time; the model is the same.

    Raises SpecificationError when there is too little to learn from.
    """
    table = with_hardware(repository, repository.table() if runs is None else runs)
    measured = MeasuredConfigurations.of(table)
    name = f"times-{table.source.removesuffix('.parquet')}.model"
    notices = []
    if (kept := repository.kept_model(name)) is not None:
        try:
            model = decode_model(kept, table.source)
            return Learned(table, measured, model, data_warnings(model, table))
        except RepositoryError as error:
            notices.append(f"{error.message}; it was learned again")
    from joblib import parallel_config  # imported here: most models were learned before

    with parallel_config(backend="threading", n_jobs=threads):
        model = learn(table)
    repository.keep_model(name, encode_model(model, table.source))
    return Learned(table, measured, model, (*notices, *data_warnings(model, table)))
