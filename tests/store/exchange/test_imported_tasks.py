"""Test that the attempts of several runs, written in blocks, are read back from one file."""

from pathlib import Path

import pytest

import spark_samples as samples
from assay.store.bundles.bundle import TASKS_FILE
from assay.store.exchange import imported_tasks
from assay.store.exchange.imported_tasks import write_tasks
from assay.store.exchange.imports import imported_tasks as read_tasks
from assay.store.formats.spark.events import read_application


@pytest.mark.parametrize("rows", [1, 3, 5, 1000])
def test_blocks_of_attempts_are_one_file(rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imported_tasks, "_BLOCK_ROWS", rows)
    tasks = read_application([("x", samples.log(samples.application()).splitlines(keepends=True))]).tasks
    write_tasks(tmp_path / TASKS_FILE, [("a", tasks), ("b", list(tasks)[:1])])
    assert read_tasks(tmp_path, "a") == list(tasks)
    assert read_tasks(tmp_path, "b") == list(tasks)[:1]
    assert [path.name for path in tmp_path.iterdir()] == [TASKS_FILE]
