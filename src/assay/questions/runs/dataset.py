"""Export a repository as a dataset, and select runs of a dataset with Spark, as the table of runs that questions take.

In: a dataset's address; for an export a repository, for a selection a Spark master and conditions as for a repository.
Out: the numbers of added runs, tasks and traces; a :class:`RunTable` with the order and the levels of the exported
repository, so that answers are the same to the last digit.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from assay.analysis.statistics import BASE_VALUES, Column, RunTable, matching
from assay.execution.engines.spark.datasets import hadoop_store, select_runs
from assay.foundation.errors import RepositoryError
from assay.questions.runs.conditions import with_conditions
from assay.store import Repository
from assay.store.index.dataset import (
    DESCRIPTION,
    METADATA_FOLDER,
    DatasetStore,
    ExportSummary,
    LocalStore,
    export_dataset,
    levels_in,
    read_selected_runs,
)


def export_to(repository: Repository, address: str, progress: Callable[[str], None]) -> ExportSummary:
    """Add the repository's new bundles to the dataset at ``address``. Raises RepositoryError for another folder."""
    return export_dataset(repository, _store_at(address, progress))


def dataset_table(address: str, on: str, where: Sequence[str], progress: Callable[[str], None]) -> RunTable:
    """Return the runs that match. Raises the errors of a repository's table, and EngineError if Spark fails."""
    store = _store_at(address, progress)
    if DESCRIPTION not in store.names():
        raise RepositoryError(
            "there is no dataset at this address", where=address, hint="`assay export --dataset` writes one"
        )
    levels = levels_in(store.read(DESCRIPTION))
    no_codes = np.empty(0, dtype=np.int32)
    columns = {name: Column(no_codes, tuple(level_names)) for name, level_names in levels.items()}
    empty_table = RunTable(np.empty(0, dtype=np.int64), columns, {})
    table_with_columns, conditions = with_conditions(empty_table, where)
    matching(table_with_columns, conditions)
    with select_runs(address, on, conditions, BASE_VALUES, METADATA_FOLDER, progress) as folder:
        return read_selected_runs(folder, levels, BASE_VALUES)


def _store_at(address: str, progress: Callable[[str], None]) -> DatasetStore:
    return hadoop_store(address, progress) if "://" in address else LocalStore(Path(address))
