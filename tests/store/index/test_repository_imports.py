"""Test imports: repeated, concurrent and interrupted ones store each run once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from assay.foundation.errors import RepositoryError
from assay.model.runs.imported import ImportedRun, SkippedItem, foreign_run
from assay.store import Repository
from builders import make_run
from line_imports import TASK, import_lines
from paths import SUPPORT


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository.create(tmp_path / "repository")


def text_file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_an_import_is_one_bundle_with_its_source_and_answers_like_measured_runs(
    repository: Repository, tmp_path: Path
) -> None:
    repository.publish(make_run(1))
    summary = import_lines(repository, text_file(tmp_path, "results.txt", "10\n20\n20\n"))
    assert (summary.taken, summary.already_there, summary.left) == (3, 0, ())
    runs = [run for run in repository.runs() if run.workload == "sort"]
    assert sorted(run.duration_s for run in runs) == [10.0, 20.0, 20.0]
    assert len({run.run_id for run in runs}) == 3
    assert {(run.plan, run.campaign_id) for run in runs} == {("test", summary.import_id)}
    first = next(run for run in runs if run.duration_s == 10.0)
    assert repository.run(first.run_id[:20]) == first
    assert repository.tasks(first.run_id) == [TASK]
    assert repository.trace(first.run_id).value == [0.0, 10.0]
    assert repository.tasks(next(run for run in runs if run.duration_s == 20.0).run_id) == []
    assert "source/00000-results.txt.gz" in repository.files(first.run_id)
    assert repository.run(make_run(1).run_id) == make_run(1)
    assert repository.verify() == []
    assert len(repository.runs()) == 4


def test_the_table_holds_every_run_and_names_it(repository: Repository, tmp_path: Path) -> None:
    repository.publish(make_run(1, duration_s=5.0, metrics={"job_s": 4.0}))
    import_lines(repository, text_file(tmp_path, "results.txt", "10\n20\n"))
    repository.publish(make_run(2, layout="SS2", duration_s=7.0))
    table = repository.table(["job_s", "no_such_metric"])
    ids = [run.run_id for run in repository.runs_at(table, range(len(table)))]
    by_id = {run.run_id: run for run in repository.runs()}
    assert repository.runs_at(table, [2, 0]) == [by_id[ids[2]], by_id[ids[0]]]
    for row, run_id in enumerate(ids):
        run = by_id[run_id]
        assert table.values["duration_s"][row] == run.duration_s
        assert table.columns["workload"].text(row) == run.workload
        assert table.columns["layout"].text(row) == run.layout
        assert table.columns["dfs.blocksize"].text(row) == run.parameters.get("dfs.blocksize")
        assert (table.values["job_s"][row] == 4.0) == (run == make_run(1, duration_s=5.0, metrics={"job_s": 4.0}))
    assert len(ids) == 4


def test_a_second_import_adds_nothing_and_a_longer_copy_only_new_runs(repository: Repository, tmp_path: Path) -> None:
    path = text_file(tmp_path, "results.txt", "10\n20\n20\n")
    import_lines(repository, path)
    second_summary = import_lines(repository, path)
    assert (second_summary.import_id, second_summary.taken, second_summary.already_there) == (None, 0, 3)
    copy_summary = import_lines(repository, text_file(tmp_path, "copy.txt", "10\n20\n20\n"))
    assert (copy_summary.taken, copy_summary.already_there) == (0, 3)
    longer_summary = import_lines(repository, text_file(tmp_path, "longer.txt", "10\n20\n20\n20\n30\n"))
    assert (longer_summary.taken, longer_summary.already_there) == (2, 3)
    assert sorted(run.duration_s for run in repository.runs()) == [10.0, 20.0, 20.0, 20.0, 30.0]


def test_bundles_of_overlapping_imports_that_are_copied_together_count_each_run_once(tmp_path: Path) -> None:
    first, other = (Repository.create(tmp_path / name) for name in ("one", "other"))
    import_lines(first, text_file(tmp_path, "short.txt", "10\n20\n"))
    import_lines(other, text_file(tmp_path, "long.txt", "10\n20\n30\n"))
    for bundle in (other.root / "bundles").iterdir():
        bundle.rename(first.root / "bundles" / bundle.name)
    assert sorted(run.duration_s for run in first.runs()) == [10.0, 20.0, 30.0]
    assert len(first.table()) == 3


def test_skipped_items_are_listed_and_strict_imports_nothing(repository: Repository, tmp_path: Path) -> None:
    path = text_file(tmp_path, "results.txt", "10\nx\n")
    summary = import_lines(repository, path, strict=True)
    assert (summary.taken, summary.left) == (0, (SkippedItem("results.txt:2", "is not a number"),))
    assert repository.runs() == []
    assert import_lines(repository, path).taken == 1


def test_a_flipped_bit_is_detected_and_the_other_runs_remain(repository: Repository, tmp_path: Path) -> None:
    repository.publish(make_run(1))
    summary = import_lines(repository, text_file(tmp_path, "results.txt", "10\n"))
    assert summary.import_id
    file = repository.root / "bundles" / summary.import_id / "runs.parquet"
    content = bytearray(file.read_bytes())
    content[len(content) // 3] ^= 4
    file.write_bytes(content)
    (problem,) = repository.verify()
    assert (problem.run_id, problem.file) == (summary.import_id, "runs.parquet")
    assert repository.runs() == [make_run(1)]
    assert repository.runs() == [make_run(1)]


def test_a_damaged_import_does_not_hide_runs_that_are_added_later(repository: Repository, tmp_path: Path) -> None:
    summary = import_lines(repository, text_file(tmp_path, "results.txt", "10\n"))
    assert summary.import_id
    (repository.root / "bundles" / summary.import_id / "runs.parquet").write_bytes(b"")
    repository.publish(make_run(1))
    assert repository.runs() == [make_run(1)]
    repository.publish(make_run(2))
    assert repository.runs() == [make_run(1), make_run(2)]


CODE = """
import sys
sys.path[:0] = [{support!r}]
from pathlib import Path
from assay.store import Repository
from line_imports import import_lines
print("ready", flush=True)
print(import_lines(Repository.open(Path({root!r})), Path({path!r})).taken)
"""


def start_import(repository: Repository, path: Path) -> subprocess.Popen[str]:
    code = CODE.format(support=str(SUPPORT), root=str(repository.root), path=str(path))
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_two_concurrent_imports_of_a_file_store_it_once(repository: Repository, tmp_path: Path) -> None:
    path = text_file(tmp_path, "results.txt", "".join(f"{number}\n" for number in range(1, 2000)))
    processes = [start_import(repository, path) for _ in range(2)]
    stored_counts = [process.communicate(timeout=60)[0].split()[-1] for process in processes]
    assert sorted(stored_counts) == ["0", "1999"]
    assert len(repository.table()) == 1999
    assert repository.verify() == []


@pytest.mark.slow
@pytest.mark.parametrize("delay_s", [0.0, 0.05, 0.2])
def test_a_killed_import_leaves_the_repository_intact(repository: Repository, tmp_path: Path, delay_s: float) -> None:
    repository.publish(make_run(1))
    path = text_file(tmp_path, "results.txt", "".join(f"{number}\n" for number in range(1, 4000)))
    process = start_import(repository, path)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(delay_s)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    reopened = Repository.open(repository.root)
    assert reopened.verify() == []
    assert len(reopened.runs()) in (1, 4000)
    import_lines(reopened, path)
    assert len(reopened.runs()) == 4000
    assert list((reopened.root / "partial").iterdir()) == []


def test_a_full_disk_stores_nothing(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_disk_full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    path = text_file(tmp_path, "results.txt", "10\n")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", raise_disk_full)
        with pytest.raises(RepositoryError, match="No space left"):
            import_lines(repository, path)
    assert repository.verify() == []
    assert repository.runs() == []
    assert import_lines(repository, path).taken == 1


def test_a_run_of_an_import_keeps_the_warnings_of_the_parser(repository: Repository, tmp_path: Path) -> None:
    path = text_file(tmp_path, "x", "anything")
    run = foreign_run(
        workload="sort",
        duration_s=1.5,
        layout="SSD",
        levels={"network": "IB"},
        parameters={"dfs.replication": "1"},
        environment={"cluster": {"workers": 3}},
        metrics={"job_s": 1.0},
        plan="theirs",
    )
    items: Callable[[], Iterator[ImportedRun | SkippedItem]] = lambda: iter([ImportedRun("k", "x:1", run)])  # noqa: E731
    repository.import_runs("any", items, [("x", path)])
    (stored,) = repository.runs()
    assert stored == replace(run, run_id=stored.run_id, campaign_id=stored.campaign_id)


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["layout=SSD", "v0=7", "c0=5", "run_id=5", "file_row_number=3", "it's [odd]*"])
def test_a_folder_that_is_called_like_a_column_changes_nothing(tmp_path: Path, folder: str) -> None:
    repository = Repository.create(tmp_path / folder / "repository")
    import_lines(repository, text_file(tmp_path, "results.txt", "10\n20\n"))
    repository.publish(make_run(1, duration_s=5.0))
    table = repository.table()
    assert sorted(table.values["duration_s"]) == [5.0, 10.0, 20.0]
    assert sorted(run.duration_s for run in repository.runs()) == [5.0, 10.0, 20.0]
    assert len(repository.runs(layout="HDD")) == 2
    first = repository.runs()[0]
    assert repository.run(first.run_id) == first


def test_rows_belong_to_the_table_that_they_were_read_with(repository: Repository, tmp_path: Path) -> None:
    import_lines(repository, text_file(tmp_path, "results.txt", "".join(f"{n}\n" for n in range(1, 400))))
    table = repository.table()
    repository.publish(make_run(1))
    repository.runs()
    runs = repository.runs_at(table, range(0, len(table), 7))
    assert [run.duration_s for run in runs] == table.values["duration_s"][::7].tolist()
    repository.verify()
    with pytest.raises(RepositoryError, match="has changed"):
        repository.runs_at(table, [0])


def test_names_of_levels_and_metrics_do_not_hide_fields_of_a_run(repository: Repository, tmp_path: Path) -> None:
    run = foreign_run(
        workload="sort",
        duration_s=5.0,
        levels={"workload": "ZZZ", "status": "fast", "codec": "None"},
        metrics={"duration_s": 1.0},
    )
    path = text_file(tmp_path, "x", "anything")
    repository.import_runs("any", lambda: iter([ImportedRun("k", "x:1", run)]), [("x", path)])
    table = repository.table()
    assert table.values["duration_s"].tolist() == [5.0]
    texts = {name: column.text(0) for name, column in table.columns.items()}
    assert (texts["workload"], texts["status"], texts["codec"]) == ("sort", "valid", "None")
    assert (texts["level:workload"], texts["level:status"]) == ("ZZZ", "fast")


def test_a_number_that_is_not_finite_is_rejected_and_other_values_are_imported(
    repository: Repository, tmp_path: Path
) -> None:
    runs = [
        foreign_run(workload="sort", duration_s=value, metrics={"m": m})
        for value, m in ((1.0, 1.0), (2.0, float("nan")), (float("inf"), 1.0))
    ]
    path = text_file(tmp_path, "x", "anything")
    items = [ImportedRun(str(number), f"x:{number}", run) for number, run in enumerate(runs)]
    summary = repository.import_runs("any", lambda: iter(items), [("x", path)])
    assert (summary.taken, [item.where for item in summary.left]) == (1, ["x:1", "x:2"])
    assert [run.duration_s for run in repository.runs()] == [1.0]


def test_a_run_with_a_changed_number_is_omitted_until_it_is_restored(repository: Repository) -> None:
    file = repository.publish(make_run(1)) / "run.json"
    content = file.read_bytes()
    file.write_bytes(content.replace(b'"duration_s": 60.0', b'"duration_s": 90.0'))
    assert repository.runs() == []
    file.write_bytes(content)
    assert repository.runs() == [make_run(1)]


def test_an_import_with_damaged_facts_is_reported(repository: Repository, tmp_path: Path) -> None:
    path = text_file(tmp_path, "results.txt", "10\n")
    summary = import_lines(repository, path)
    assert summary.import_id
    for content in (b"", b"[]", b'{"taken": "many"}'):
        (repository.root / "bundles" / summary.import_id / "import.json").write_bytes(content)
        with pytest.raises(RepositoryError, match="damaged"):
            import_lines(repository, path)


def test_an_index_and_an_import_of_another_version_are_read_again(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("assay.store.index.queries.INDEX_VERSION", 999)
        patch.setattr("assay.store.index.runs_file.texts_of_run", lambda run: {"old": "x"})
        import_lines(repository, text_file(tmp_path, "results.txt", "10\n20\n"))
        assert list(repository.table().columns) == ["old"]
    repository.publish(make_run(1))
    table = repository.table()
    assert "old" not in table.columns
    assert sorted(table.columns["workload"].text(row) or "" for row in range(3)) == ["sort", "sort", "terasort"]
    assert len(repository.runs()) == 3
