"""Test that cached answers equal uncached ones and contain new runs at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from assay.analysis.comparison.details.differences import environment_warnings, host_facts
from assay.analysis.statistics.runs.run_table import RunTable
from assay.foundation.errors import RepositoryError
from assay.interfaces.web.state.store import Store
from assay.questions.comparisons.speedup import SpeedupRequest, speedup_view
from assay.store import Repository
from assay.store.index.tables import DuckDBReader
from builders import make_run, make_trace, study_runs
from detail_support import hybrid_tasks, hybrid_trace
from table_samples import CORRECTED, FIRST, imported
from web_support import client_of, filled

pytestmark = pytest.mark.slow

API = "/api/v1"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return filled(tmp_path / "repository").root


def at_once(number: int, call: Callable[[], object]) -> None:
    """Call from many threads that all begin at the same time."""
    ready = threading.Barrier(number)

    def wait_and_call() -> None:
        ready.wait()
        call()

    threads = [threading.Thread(target=wait_and_call) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)


def test_a_repository_starts_one_engine_that_reads_the_same_as_one_for_each_question(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.store.repository.DuckDBReader", DuckDBReader)
    kept, starts, start = Repository.open(root), list[object](), duckdb.connect

    def counted(**options: Any) -> duckdb.DuckDBPyConnection:
        starts.append(options)
        return start(**options)

    for _ in range(2):
        other = kept.table()
        every = range(len(other))
        assert Repository.open(root).runs_at(other, every) == kept.runs_at(other, every)
        for run_id in kept.ids_at(other, every):
            assert Repository.open(root).run(run_id) == kept.run(run_id)
            assert Repository.open(root).trace(run_id) == kept.trace(run_id)
            assert Repository.open(root).tasks(run_id) == kept.tasks(run_id)
    monkeypatch.setattr(duckdb, "connect", counted)
    asked = Repository.open(root)
    for run_id in asked.ids_at(asked.table(), every):
        asked.trace(run_id)
        asked.tasks(run_id)
    target = Repository.create(root.parent / "target")
    for number, run in enumerate(asked.runs()):
        target.publish(replace(run, run_id=f"{number:08x}{run.run_id[8:]}"), tasks=hybrid_tasks(), trace=hybrid_trace())
    assert len(starts) == 2


def test_an_engine_that_broke_is_started_again() -> None:
    engine = DuckDBReader()
    with pytest.raises(RepositoryError, match="broken"), engine.connection():
        raise duckdb.FatalException("broken")
    with engine.connection() as opened:
        assert opened.execute("SELECT 1").fetchall() == [(1,)]


def test_many_threads_share_an_engine(root: Path) -> None:
    repository = Repository.open(root)
    table, answers = repository.table(), []
    at_once(8, lambda: answers.append(repository.ids_at(table, range(len(table)))))
    assert answers == [answers[0]] * 8
    assert len(set(answers[0])) == len(table)


def test_places_and_ids_lead_to_each_other(root: Path) -> None:
    repository = Repository.open(root)
    table = repository.table()
    ids = repository.ids_at(table, range(len(table)))
    assert repository.positions_of(table, [ids[5], ids[1], "no such run"]) == [1, 5]
    assert repository.positions_of(table, []) == []
    environments = repository.environments_at(table, [3, 0])
    assert [environment.tree for environment in environments] == [
        run.environment for run in repository.runs_at(table, [3, 0])
    ]


def test_the_hosts_differences_are_those_of_the_whole_runs(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "r")
    for run in study_runs():
        kernel = "6.1" if run.layout == "SS2" else "5.10"
        repository.publish(replace(run, environment={**run.environment, "kernel": kernel, "uptime_s": run.duration_s}))
    table = repository.table()
    runs = repository.runs_at(table, range(len(table)))
    sides = [host_facts((run.recorded for run in runs if run.layout == name), "layout") for name in ("HD2", "SS2")]
    warnings = speedup_view(repository, table, SpeedupRequest(("layout",), "HD2")).warnings
    assert [*warnings] == environment_warnings(*sides)
    assert any("kernel" in warning.words for warning in warnings)


def test_a_run_of_a_replaced_import_is_selected_in_the_new_one(tmp_path: Path) -> None:
    imported(tmp_path, FIRST)
    repository = Repository.open(tmp_path / "r")
    same = next(run.run_id for run in repository.runs() if run.duration_s == 100)
    repository.run(same)
    before = repository.bundle_path(same)
    imported(tmp_path, CORRECTED, "--replace")
    after = repository.bundle_path(same)
    assert after != before
    assert after.is_dir()
    assert repository.tasks(same) == []


def test_a_new_run_is_in_every_view_at_once(root: Path) -> None:
    client = client_of(root)
    like = next(run for run in study_runs() if run.workload == "terasort" and run.layout == "SS2")
    other = next(run for run in study_runs() if run.workload == "terasort" and run.layout == "HD2")

    def counted() -> dict[str, Any]:
        sides = client.get(f"{API}/sides", params={"run": [like.run_id, other.run_id]}).json()["sides"]
        averages = client.get(f"{API}/speedup/published", params={"method": "aloja"}).json()
        matched = client.get(f"{API}/speedup", params={"baseline": "HD2"}).json()["results"]
        summary = client.get(f"{API}/summary").json()
        return {
            "runs": client.get(f"{API}/runs").json()["of"],
            "bundles": summary["bundles"],
            "sides": sum(len(side["summary"]["durations_s"]) for side in sides),
            "coverage": sum(plan["runs"] for plan in client.get(f"{API}/coverage").json()),
            "traced": sum(plan["traced"] for plan in client.get(f"{API}/coverage").json()),
            "averages": sum(row["runs"] for row in averages),
            "matched": sum(row["runs_candidate"] for row in matched),
        }

    before = counted()
    assert counted() == before, "the same again"
    new = replace(like, run_id=make_run(9100).run_id)
    assert client.get(f"{API}/runs/{new.run_id}/detail").status_code == 404
    Repository.open(root).publish(new, trace=make_trace(new))
    assert counted() == {name: number + 1 for name, number in before.items()}
    assert client.get(f"{API}/runs/{new.run_id}/detail").status_code == 200


def test_a_bundle_that_cannot_be_read_is_counted_among_the_bundles(root: Path) -> None:
    client = client_of(root)
    before = client.get(f"{API}/summary").json()
    (root / "bundles" / "broken").mkdir()
    after = client.get(f"{API}/summary").json()
    assert after == {**before, "bundles": before["bundles"] + 1}


def test_the_same_question_from_many_at_once_is_answered_once(root: Path) -> None:
    store, made, got = Store(root), [], []

    def make(table: RunTable) -> int:
        made.append(len(table))
        time.sleep(0.05)
        return len(table)

    at_once(10, lambda: got.append(store.answer("question", make)))
    assert len(made) == 1
    assert got == made * 10


def test_one_reading_serves_all_who_waited_for_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, read = Store(root), store_reads(monkeypatch)
    store.repository.publish(make_run(9200))  # within the same tick as what follows: not settled
    at_once(10, store.table)
    assert len(store.table()) == len(Repository.open(root).runs())
    assert len(read) <= 4, "the first, one for those who came while it ran, and those after the end"


def store_reads(monkeypatch: pytest.MonkeyPatch) -> list[RunTable]:
    """Note every reading of a table, and let it take a while."""
    read: list[RunTable] = []
    real = Repository.table

    def table(self: Repository, metrics: Sequence[str] = ()) -> RunTable:
        time.sleep(0.02)
        read.append(real(self, metrics))
        return read[-1]

    monkeypatch.setattr(Repository, "table", table)
    return read


def test_warming_reads_the_runs_before_anybody_asks(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    time.sleep(0.3)  # the folder has settled
    store, read = Store(root), store_reads(monkeypatch)
    store.preload()
    store.table()
    assert len(read) == 1
