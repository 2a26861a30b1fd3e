"""Write the task attempts of an import as one Parquet file, a block at a time: a run may have millions.

In: the id of each run with its attempts. Out: a file with the column ``run_id`` and the columns of attempts.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from assay.model import TaskAttempt
from assay.store.index import queries
from assay.store.index.tables import write_blocks

_BLOCK_ROWS = 1 << 18
"""Number of attempts in memory while they are written."""


def write_tasks(path: Path, tasks: Sequence[tuple[str, Sequence[TaskAttempt]]]) -> None:
    """Write the attempts in the order of the runs."""
    write_blocks(path, {"run_id": "VARCHAR", **queries.TASK_COLUMNS}, _blocks(tasks))


def _blocks(tasks: Sequence[tuple[str, Sequence[TaskAttempt]]]) -> Iterator[list[list[Any]]]:
    rows = ((run_id, task) for run_id, attempts in tasks for task in attempts)
    while block := list(islice(rows, _BLOCK_ROWS)):
        columns = [[getattr(task, name) for _, task in block] for name in queries.TASK_COLUMNS]
        yield [[run_id for run_id, _ in block], *columns]
