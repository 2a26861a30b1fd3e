"""Train the time model of a repository, and store it next to the index until the runs change.

In: a repository. Out: its runs as a table with the hardware of their clusters, and the model trained on them.
"""

from dataclasses import dataclass, replace

from assay.analysis.statistics import RunTable, first_rows, groups_by
from assay.estimation.prediction.contradictions import data_warnings
from assay.estimation.prediction.features import hardware_values
from assay.estimation.prediction.model import TimeModel, learn
from assay.estimation.prediction.model_file import decode_model, encode_model
from assay.estimation.prediction.nearest import MeasuredConfigurations
from assay.foundation.errors import RepositoryError
from assay.specs.instances import shipped_instances
from assay.store import Repository
from assay.store.index.cached_models import cache_model, cached_model


@dataclass(frozen=True, slots=True)
class RepositoryModel:
    """A model with the runs that it was trained on."""

    table: RunTable
    measured: MeasuredConfigurations
    """The configurations of the table."""
    model: TimeModel
    notices: tuple[str, ...]
    """Warnings about the stored model or the runs."""


def with_hardware(repository: Repository, table: RunTable) -> RunTable:
    """Return the table with the clusters' hardware as values, where runs recorded it."""
    names = [name for name in ("cluster", "origin") if name in table.columns]
    groups = groups_by(table, names)
    if not table.source or not len(table):
        return table
    clusters = [environment.hardware for environment in repository.environments_at(table, first_rows(groups).tolist())]
    hardware = hardware_values(clusters, shipped_instances() if any(h.instance_type for h in clusters) else {})
    values = {name: column[groups.of_row] for name, column in hardware.items()}
    return replace(table, values={**table.values, **values})


def learned(repository: Repository, runs: RunTable | None = None, *, threads: int = 2) -> RepositoryModel:
    """Return the model of all runs of the repository: the stored one if the runs have not changed.

    ``runs``: the table of all runs, if the caller has read it. ``threads``: number of training threads; the model does
    not depend on it. Raises SpecificationError for too few runs.
    """
    table = with_hardware(repository, repository.table() if runs is None else runs)
    measured = MeasuredConfigurations.of(table)
    name = f"times-{table.source.removesuffix('.parquet')}.model"
    notices = []
    if (stored_model := cached_model(repository.folders, name)) is not None:
        try:
            model = decode_model(stored_model, table.source)
            return RepositoryModel(table, measured, model, data_warnings(model, table))
        except RepositoryError as error:
            notices.append(f"{error.message}; the model was trained again")
    from joblib import parallel_config  # imported here because only training needs it

    with parallel_config(backend="threading", n_jobs=threads):
        model = learn(table)
    cache_model(repository.folders, name, encode_model(model, table.source))
    return RepositoryModel(table, measured, model, (*notices, *data_warnings(model, table)))
