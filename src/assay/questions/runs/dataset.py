"""Select runs of an exported dataset with Spark, as the table of runs that questions take.

In: a dataset's address, a Spark master, and conditions as for a repository. Out: a :class:`RunTable` with the order and
the levels of the exported repository, so that answers are the same to the last digit.
"""

from collections.abc import Callable, Sequence

import numpy as np

from assay.analysis.statistics import BASE_VALUES, Column, RunTable, conditions_of, matching
from assay.execution.engines.spark.datasets import select_runs, store_at
from assay.foundation.errors import RepositoryError
from assay.questions.runs.runs import as_recorded
from assay.store.index.dataset import DESCRIPTION, described, read_selected_runs


def dataset_table(address: str, on: str, where: Sequence[str], progress: Callable[[str], None]) -> RunTable:
    """Return the runs that match. Raises the errors of a repository's table, and EngineError if Spark fails."""
    store = store_at(address, progress)
    if DESCRIPTION not in store.names():
        raise RepositoryError(
            "there is no dataset at this address", where=address, hint="`assay export --dataset` writes one"
        )
    levels = described(store.read(DESCRIPTION))
    nothing = np.empty(0, dtype=np.int32)
    columns = {name: Column(nothing, tuple(known)) for name, known in levels.items()}
    empty = RunTable(np.empty(0, dtype=np.int64), columns, {})
    conditions = conditions_of(as_recorded(where, empty), "--where")
    matching(empty, conditions)
    with select_runs(address, on, conditions, BASE_VALUES, progress) as folder:
        return read_selected_runs(folder, levels, BASE_VALUES)
