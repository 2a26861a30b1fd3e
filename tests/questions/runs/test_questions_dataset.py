"""Test exported datasets: complete, without duplicates, and with equal answers from a real Spark."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

from assay.execution.engines.hadoop.jobs import jobs
from assay.execution.engines.spark.datasets import select_runs
from assay.execution.engines.spark.distribution import find
from assay.foundation.errors import AssayError, RepositoryError, SpecificationError
from assay.interfaces.cli.main import assay
from assay.model.runs.run_status import RunStatus
from assay.questions.comparisons.speedup import SpeedupRequest, speedups_over
from assay.questions.runs.dataset import dataset_table
from assay.questions.runs.runs import selected
from assay.store import Repository
from assay.store.index.dataset import DESCRIPTION, METADATA_FOLDER, ExportSummary, LocalStore, export_dataset
from builders import build_repository, make_run
from paths import ARCHIVED_JAVA, ROOT


def asked(query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as opened:
        return opened.execute(query).fetchall()


def rows(dataset: Path, table: str) -> list[tuple[Any, ...]]:
    source = f"read_parquet('{dataset}/{table}/**/*.parquet', hive_partitioning = true)"
    return asked(f"SELECT * FROM {source}")


def test_each_export_adds_what_is_new_and_nothing_twice(tmp_path: Path) -> None:
    repository, store = Repository.create(tmp_path / "r"), LocalStore(tmp_path / "dataset")
    repository.publish(make_run(1))
    assert export_dataset(repository, store) == ExportSummary(1, 1, 0, 0, 0)
    repository.publish(make_run(2, workload="sort"))
    assert export_dataset(repository, store) == ExportSummary(1, 1, 0, 0, 1)
    assert export_dataset(repository, store) == ExportSummary(0, 0, 0, 0, 2)
    assert len(rows(store.root, "runs")) == 2
    assert {path.name for path in (store.root / "runs").iterdir()} == {"workload=sort", "workload=terasort"}


@pytest.mark.slow
def test_tasks_and_traces_are_exported_with_their_runs_and_remains_of_an_interruption_are_deleted(
    tmp_path: Path,
) -> None:
    repository, store = build_repository(tmp_path / "r"), LocalStore(tmp_path / "dataset")
    stray = store.root / "runs" / "workload=x" / "0000-0.parquet"
    done = export_dataset(repository, store)
    assert (done.runs, done.samples > 0) == (len(repository.runs()), True)
    assert len(rows(store.root, "runs")) == done.runs
    assert len(rows(store.root, "traces")) == done.samples
    stray.parent.mkdir()
    stray.write_bytes(b"half of it")
    export_dataset(repository, store)
    assert not stray.exists()
    columns = "run_id, facts['layout'], figures['duration_s'], run_json"
    facts = {row[0]: row for row in asked(f"SELECT {columns} FROM read_parquet('{store.root}/runs/**/*.parquet')")}
    for run in repository.runs():
        assert facts[run.run_id][1:3] == (run.layout, run.duration_s)
        assert json.loads(facts[run.run_id][3])["run_id"] == run.run_id


def test_a_folder_of_other_files_and_a_dataset_of_another_version_are_refused(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "r")
    repository.publish(make_run(1))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "holiday.jpg").write_bytes(b"x")
    with pytest.raises(RepositoryError, match="no dataset"):
        export_dataset(repository, LocalStore(tmp_path / "other"))
    (tmp_path / "new" / METADATA_FOLDER).mkdir(parents=True)
    (tmp_path / "new" / DESCRIPTION).write_text('{"version": 99}')
    with pytest.raises(RepositoryError, match="version 99"):
        export_dataset(repository, LocalStore(tmp_path / "new"))


def test_unsupported_options_of_the_command_are_reported(tmp_path: Path) -> None:
    Repository.create(tmp_path / "r").publish(make_run(1))
    here, dataset = ["--repository", str(tmp_path / "r")], str(tmp_path / "dataset")

    def refused(*arguments: str) -> str:
        error = CliRunner().invoke(assay, [*arguments]).exception
        assert isinstance(error, AssayError)
        return str(error)

    assert "no output format" in refused("export", *here)
    assert "takes all runs" in refused("export", "csv", "--dataset", dataset, *here)
    assert "need each other" in refused("decide", "layout", "--on", "local", *here)
    with pytest.raises(RepositoryError, match="there is no dataset"):
        dataset_table(dataset, "local", (), print)
    CliRunner().invoke(assay, ["export", "--dataset", dataset, *here])
    with pytest.raises(SpecificationError, match="no run has layout 'SSD9'"):
        dataset_table(dataset, "local", ("layout=SSD9",), print)
    with (
        pytest.raises(SpecificationError, match="not a Spark master"),
        select_runs(dataset, "mesos", {}, (), METADATA_FOLDER, print),
    ):
        pass


@pytest.mark.slow
def test_the_page_names_every_column_of_each_table(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "dataset")
    export_dataset(build_repository(tmp_path / "r"), store)
    text = (ROOT / "docs" / "how-to" / "read-runs-with-spark.md").read_text()
    for table in ("runs", "traces"):
        source = f"read_parquet('{store.root}/{table}/**/*.parquet', hive_partitioning = true)"
        columns = asked(f"DESCRIBE SELECT * FROM {source}")
        section = text[text.index(f"## `{table}`") :].split("\n## ")[0]
        assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == {name for name, *_ in columns}


@pytest.mark.hadoop
def test_a_real_spark_gives_the_repositorys_answers_to_the_last_digit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In two batches, runs that are not valid among them; the same export goes out by Hadoop's shell."""
    if find() is None:
        pytest.skip("there is no Spark here: `assay spark fetch`, or set SPARK_HOME")
    monkeypatch.setenv("JAVA_HOME", str(ARCHIVED_JAVA))
    jobs.require(print)
    repository = build_repository(tmp_path / "r")
    folder, address = tmp_path / "dataset", f"file://{tmp_path}/by-hadoop"
    here = ["--repository", str(repository.root)]
    for number in range(4):
        more = make_run(9000 + number, layout=("HD2", "SSD")[number % 2], duration_s=31.7 + number / 3)
        repository.publish(replace(more, status=RunStatus.INVALID, cause="x") if number == 3 else more)
        for dataset in (str(folder), address) if number % 3 == 0 else ():
            done = CliRunner().invoke(assay, ["export", "--dataset", dataset, *here], catch_exceptions=False)
            assert "bundles added" in done.output
    where = ("workload=terasort",)
    expected, answered = selected(repository.table(()), where), dataset_table(str(folder), "local", where, print)
    assert len(answered) == len(expected)
    assert speedups_over(answered, SpeedupRequest(("layout",))) == speedups_over(expected, SpeedupRequest(("layout",)))
