"""Test that the growing index gives the same answers as a new one."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.foundation.errors import RepositoryError
from assay.model.runs.imported import ImportedRun, foreign_run
from assay.model.runs.run_columns import columns_of_runs
from assay.store import Repository
from assay.store.index.index_builder import REMOVED_AFTER_S
from assay.store.index.runs_file import read_previous_files
from assay.store.index.tables import connection
from assay.text.titles import workload_named
from builders import make_run
from effort import examples


def index_files(repository: Repository) -> dict[str, int]:
    """Return the index's files with their modification times, which show whether a file was written again."""
    return {path.name: path.stat().st_mtime_ns for path in repository.folders.index.glob("runs-*.parquet")}


def import_numbers(repository: Repository, name: str, numbers: list[int]) -> str:
    """Import a run for each number, and return the import's id."""
    source = repository.root.parent / f"{name}.txt"
    source.write_text(f"{name} {numbers}")

    def items() -> list[ImportedRun]:
        return [
            ImportedRun(str(n), f"{name}:{n}", foreign_run(workload=f"w{n % 3}", duration_s=float(n + 1), layout="HDD"))
            for n in numbers
        ]

    return repository.import_runs("numbers", items, [(source.name, source)]).import_id or ""


def answers(repository: Repository) -> list[object]:
    """Return a repository's answer to every kind of query of the index."""
    table = repository.table(["job_s"])
    ids = repository.ids_at(table, range(len(table)))
    ids_of_runs = [run.run_id for run in repository.runs_at(table, range(len(table)))]
    rows = sorted(
        (run_id, table.values["duration_s"][index], tuple((n, c.text(index)) for n, c in sorted(table.columns.items())))
        for index, run_id in enumerate(ids)
    )
    durations = [(run_id, repository.run(run_id).duration_s) for run_id in sorted(ids)[::25]]
    assert ids_of_runs == ids
    assert repository.positions_of(table, ids[::2]) == list(range(0, len(ids), 2))
    assert sorted(run.run_id for run in repository.runs()) == sorted(ids)
    return [rows, durations, [run.run_id for run in repository.runs(workload="w1", limit=3)]]


@pytest.mark.slow
def test_a_run_that_is_added_leaves_the_large_file_as_it_is(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "r")
    import_numbers(repository, "a", list(range(60)))
    repository.table()
    before = index_files(repository)
    for number in range(2):
        repository.publish(make_run(number, layout=f"L{number}", metrics={"job_s": float(number)}))
        table = repository.table(["job_s"])
        assert len(table) == 61 + number
        assert table.columns["layout"].code(f"L{number}") >= 0
        assert before.items() <= index_files(repository).items()
        expected = answers(repository)
        copy = Repository.create(tmp_path / f"fresh{number}")
        for bundle in repository.folders.bundles.iterdir():
            copy.place_copy(bundle)
        assert answers(copy) == expected
        assert len(index_files(copy)) == 1


def test_a_replaced_file_is_removed_ten_minutes_after_it_was_replaced(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "r")
    record = repository.folders.outdated
    repository.publish(make_run(0))
    repository.table()
    (first,) = index_files(repository)
    os.utime(repository.folders.index / first, (0, 0))  # access times say nothing: a backup or a mount changes them
    repository.publish(make_run(1))
    repository.table()
    assert first in index_files(repository)
    since = json.loads(record.read_bytes())
    assert since.keys() == {first}
    record.write_text(json.dumps({first: since[first] - REMOVED_AFTER_S + 60}))
    repository.publish(make_run(2))
    repository.table()
    assert first in index_files(repository)
    record.write_text(json.dumps({**json.loads(record.read_bytes()), first: since[first] - REMOVED_AFTER_S - 60}))
    repository.publish(make_run(3))
    repository.table()
    assert first not in index_files(repository)
    assert first not in json.loads(record.read_bytes())
    assert len(repository.runs()) == 4


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"runs-0.parquet": "yesterday"}'])
def test_a_damaged_record_of_replaced_files_removes_nothing(tmp_path: Path, damage: str) -> None:
    repository = Repository.create(tmp_path / "r")
    repository.publish(make_run(0))
    repository.table()
    (first,) = index_files(repository)
    repository.folders.outdated.write_text(damage)
    repository.publish(make_run(1))
    assert len(repository.table()) == 2
    assert first in index_files(repository)
    assert json.loads(repository.folders.outdated.read_bytes()).keys() == {first}


@pytest.mark.slow
def test_runs_added_one_by_one_need_few_index_files(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "r")
    for number in range(12):
        repository.publish(make_run(number))
        assert len(repository.table()) == number + 1
    last = max(repository.folders.index.glob("runs-*.parquet"), key=lambda path: path.stat().st_mtime_ns)
    with connection() as opened:
        current = {name for name, _ in read_previous_files(opened, last)}
    assert 1 <= len(current) <= 4
    assert repository.verify() == []


@pytest.mark.slow
@settings(max_examples=examples(10), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["run", "import", "remove", "copy"]), st.integers(0, 9)), max_size=5))
def test_an_index_grown_in_steps_answers_like_a_rebuilt_index(tmp_path: Path, steps: list[tuple[str, int]]) -> None:
    for folder in ("r", "other", "fresh"):
        shutil.rmtree(tmp_path / folder, ignore_errors=True)
    repository, other = Repository.create(tmp_path / "r"), Repository.create(tmp_path / "other")
    for number, (step, size) in enumerate(steps):
        bundles = sorted(repository.folders.bundles.iterdir())
        if step == "run":
            repository.publish(make_run(100 * number + size))
        elif step == "import":
            import_numbers(repository, f"i{number}", list(range(size, 2 * size + 1)))
        elif step == "copy":  # of another repository, whose import may hold the same runs
            name = import_numbers(other, f"o{number}", list(range(size + 1)))
            if name:
                repository.place_copy(other.folders.bundles / name)
        elif bundles:
            shutil.rmtree(bundles[size % len(bundles)])
        expected = answers(repository)
    repository.verify()
    assert index_files(repository) == {}
    if steps:
        assert answers(repository) == expected


@pytest.mark.parametrize("position", ["first", "last"])
@pytest.mark.parametrize("damage", ["gone", "cut", "other"])
def test_a_damaged_index_file_is_rebuilt(tmp_path: Path, position: str, damage: str) -> None:
    repository = Repository.create(tmp_path / "r")
    import_numbers(repository, "a", list(range(30)))
    repository.table()
    repository.publish(make_run(1))
    table = repository.table()
    expected = answers(repository)
    files = sorted(repository.folders.index.glob("runs-*.parquet"), key=lambda path: path.stat().st_mtime_ns)
    assert len(files) == 2
    damaged_file = files[0 if position == "first" else -1]
    content = damaged_file.read_bytes()
    damaged_file.unlink()
    if damage != "gone":
        damaged_file.write_bytes(content[: len(content) // 2] if damage == "cut" else b"nothing")
    if damage == "gone":
        with pytest.raises(RepositoryError, match="changed since"):
            repository.ids_at(table, [0])
    assert answers(repository) == expected


def test_runs_in_several_imports_count_once(tmp_path: Path) -> None:
    repository, other = Repository.create(tmp_path / "r"), Repository.create(tmp_path / "other")
    import_numbers(repository, "a", list(range(40)))
    assert len(repository.table()) == 40
    name = import_numbers(other, "b", list(range(35, 45)))
    repository.place_copy(other.folders.bundles / name)
    assert len(repository.table()) == 45


def test_a_workload_has_one_name_if_imports_call_it_differently(tmp_path: Path) -> None:
    """ALOJA's ``dfsioe_write`` is the enhanced DFSIO; bundles of older versions have its runs under that name."""
    repository = Repository.create(tmp_path / "repository")
    repository.publish(make_run(1, workload="dfsioe_write"))
    repository.publish(make_run(2, workload="dfsioe-write"))
    repository.publish(make_run(3, workload="own_job"))
    table = repository.table()
    workload = table.columns["workload"]
    assert sorted(str(workload.text(row)) for row in range(len(table))) == ["dfsioe-write", "dfsioe-write", "own_job"]
    assert len(set(workload.levels)) == len(workload.levels) == 2
    assert [run.workload for run in repository.runs(workload="dfsioe-write")] == ["dfsioe-write"] * 2
    assert [run.workload for run in repository.runs(workload="own_job")] == ["own_job"]
    assert repository.run(make_run(1).run_id).workload == "dfsioe-write"
    assert {row[1] for row in zip(*columns_of_runs(repository.runs())[1], strict=True)} == {"dfsioe-write", "own_job"}
    for name in ("dfsioe_write", "DFSIOE-Write", "enhanced dfsio write"):
        assert workload_named(name, workload.levels) == "dfsioe-write"
