"""Test that a large repository answers from its current snapshot while newer runs are read in the background."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from assay.analysis.statistics import RunTable
from assay.foundation.errors import RepositoryError
from assay.interfaces.web.state.store import Store
from assay.model.runs.imported import ImportedRun, foreign_run
from assay.store import Repository
from builders import make_run
from web_support import client_of

NEXT_S_MAX = 60.0


@pytest.fixture
def root(tmp_path: Path) -> Path:
    repository = Repository.create(tmp_path / "repository")
    for number in range(3):
        repository.publish(make_run(number))
    return repository.root


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Let a repository's table be read while it is set, as it is at first."""
    passing, real = threading.Event(), Repository.table
    passing.set()

    def table(self: Repository, metrics: Sequence[str] = ()) -> RunTable:
        passing.wait(NEXT_S_MAX)
        return real(self, metrics)

    monkeypatch.setattr(Repository, "table", table)
    return passing


def add(root: Path, number: int) -> None:
    Repository.open(root).publish(make_run(number))


def runs_become(store: Store, runs: int) -> bool:
    ends_s = time.monotonic() + NEXT_S_MAX
    while len(store.table()) != runs and time.monotonic() < ends_s:
        time.sleep(0.02)
    return len(store.table()) == runs


def test_answers_come_from_the_current_snapshot_until_the_next_one_is_ready(root: Path, gate: threading.Event) -> None:
    store, made = Store(root, small_repository_runs_max=0), []

    def count(table: RunTable) -> tuple[int, int]:
        made.append(len(table))
        return len(table), len(store.flagged().table)

    assert store.answer("question", count) == (3, 3)
    assert store.outdated_as_of() is None
    gate.clear()
    add(root, 3)
    assert store.answer("question", count) == (3, 3)
    assert (store.outdated_as_of() or 0) > 0
    gate.set()
    assert runs_become(store, 4)
    assert made == [3, 4], "the answer was made again before the new snapshot was shown"
    assert store.answer("question", count) == (4, 4)
    assert made == [3, 4]
    assert store.outdated_as_of() is None


def test_requests_wait_for_newer_runs_of_a_small_repository(root: Path) -> None:
    store = Store(root)
    assert len(store.table()) == 3
    add(root, 3)
    assert store.outdated_as_of() is None
    assert len(store.table()) == 4


def test_an_error_in_the_background_is_reported_to_the_next_request(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(root, small_repository_runs_max=0)
    store.table()

    def table(self: Repository, metrics: Sequence[str] = ()) -> RunTable:
        raise RepositoryError("no room")

    with monkeypatch.context() as broken:
        broken.setattr(Repository, "table", table)
        add(root, 3)
        with pytest.raises(RepositoryError, match="no room"):
            runs_become(store, 4)
    assert len(store.table()) == 4


def test_pages_and_answers_say_when_their_runs_were_read(root: Path, gate: threading.Event) -> None:
    client = client_of(root)
    store: Store = client.app.state.context.store  # type: ignore[attr-defined]
    store.small_repository_runs_max = 0
    now = client.get("/hosts")
    assert "Runs as of" not in client.get("/runs").text
    assert "assay-runs-as-of" not in now.headers
    gate.clear()
    add(root, 3)
    page, answer = client.get("/runs"), client.get("/api/v1/runs")
    assert "Runs as of" in page.text
    assert page.headers["assay-runs-as-of"].endswith("+00:00")
    assert answer.headers["assay-runs-as-of"] == page.headers["assay-runs-as-of"]
    assert answer.json()["of"] == 3
    assert client.get(f"/api/v1/runs/{make_run(3).run_id}").status_code == 200, "the run has its page at once"
    gate.set()
    assert runs_become(store, 4)
    page = client.get("/runs")
    assert "Runs as of" not in page.text
    assert "assay-runs-as-of" not in page.headers


def test_runs_of_the_index_before_can_be_looked_up_for_a_while(root: Path) -> None:
    Repository.open(root).table()
    for path in (root / "index").glob("*.parquet"):
        os.utime(path, (0, 0))  # written long ago, but in use until now
    repository = Repository.open(root)
    table = repository.table()
    ids = repository.ids_at(table, range(3))
    add(root, 3)
    assert len(repository.table()) == 4
    assert repository.ids_at(table, range(3)) == ids


def test_runs_of_an_index_that_was_made_anew_under_its_name_are_not_taken_for_others(root: Path) -> None:
    repository = Repository.open(root)
    repository.table()
    add(root, 3)
    table = repository.table()
    repository.cache_row_lookup(table)
    ids = repository.ids_at(table, range(4))
    for path in repository.folders.index.glob("*.parquet"):
        path.unlink()
    assert Repository.open(root).table().source == table.source  # the same name, and rows in any order
    assert not repository.has_index_of(table)
    with pytest.raises(RepositoryError, match="changed since"):
        repository.runs_at(table, [0])
    newest = repository.table()
    assert sorted(repository.ids_at(newest, range(4))) == sorted(ids)
    assert [run.run_id for run in repository.runs_at(newest, range(4))] == repository.ids_at(newest, range(4))


def test_completeness_of_a_table_is_known_without_reading_it(root: Path) -> None:
    repository = Repository.open(root)
    table = repository.table()
    assert repository.covers_all(table)
    add(root, 3)
    assert not repository.covers_all(table)


def test_ids_are_looked_up_in_memory_as_in_the_index(root: Path) -> None:
    repository, other = Repository.open(root), Repository.open(root)
    source = root.parent / "numbers.txt"
    source.write_text("some")
    imported = [ImportedRun(str(n), f"numbers:{n}", foreign_run(workload="sort", duration_s=n + 1.0)) for n in range(5)]
    repository.import_runs("numbers", lambda: imported, [(source.name, source)])
    table = repository.table()
    repository.cache_row_lookup(table)
    add(root, 3)
    ids = repository.ids_at(table, range(len(table)))
    assert repository.positions_of(table, [ids[6], "no such run", ids[1]]) == [1, 6]
    assert repository.positions_of(table, []) == []
    assert repository.positions_of(table, ids[::-1]) == list(range(len(table)))
    assert repository.positions_of(table, ["é" * 500, ids[2] + "x", ids[3][:-1], ""]) == []
    newest = repository.table()
    for run_id in other.ids_at(newest, range(len(newest))):
        assert repository.run(run_id) == other.run(run_id)
        assert repository.bundle_path(run_id) == other.bundle_path(run_id)
    with pytest.raises(RepositoryError, match="no run has an id"):
        repository.run("nothing")
