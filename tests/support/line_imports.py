"""Define the simplest import: a file with one duration per line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from assay.model.runs.imported import ImportedRun, SkippedItem, foreign_run
from assay.model.runs.task_attempt import TaskAttempt
from assay.model.runs.traces.trace import Trace
from assay.store import ImportRequest, ImportSummary, Repository

TASK = TaskAttempt(
    "job_1", "task_1", "attempt_1", "map", "w1", "succeeded", 1.0, 2.0, None, None, 1, 2, 3, 4, 5, 0.5, 0.1
)


def trace_of(value: float) -> Trace:
    return Trace([0.0, 1.0], ["w1", "w1"], ["cpu", "cpu"], ["user_s", "user_s"], [True, True], [0.0, value])


def import_lines(repository: Repository, path: Path, *, strict: bool = False) -> ImportSummary:
    """Import a file whose lines are durations; the first of them has a task and a trace."""

    def items() -> Iterator[ImportedRun | SkippedItem]:
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            if not line.isdecimal():
                yield SkippedItem(f"{path.name}:{number}", "is not a number")
                continue
            run = foreign_run(workload="sort", duration_s=float(line), layout="HDD")
            more = ((TASK,), trace_of(float(line))) if number == 1 else ((), None)
            yield ImportedRun(line, f"{path.name}:{number}", run, *more)

    return repository.import_runs("lines", items, [(path.name, path)], ImportRequest(plan="test", strict=strict))
