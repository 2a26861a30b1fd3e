"""Test the exchange of runs: no loss, no duplicates, damage is not copied."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from assay.foundation.errors import RepositoryError
from assay.interfaces.cli.data.exchange import pull, push
from assay.interfaces.cli.data.export import export
from assay.interfaces.cli.main import assay
from assay.model.runs.imported import ImportedRun
from assay.model.runs.run_columns import columns_of_runs
from assay.model.runs.spreadsheet import escaped_cell, unescaped_text
from assay.store import Repository
from assay.store.exchange.exchange import copy_bundles, perfkit_samples, write_csv, write_otava
from assay.store.formats.source import Source
from assay.store.formats.tables.table import table_format
from builders import make_run, runs_with


def repository_with(folder: Path, *numbers: int) -> Repository:
    repository = Repository.create(folder)
    for number in numbers:
        repository.publish(make_run(number))
    return repository


def test_repositories_merge_by_copying_missing_bundles(tmp_path: Path) -> None:
    first, other = repository_with(tmp_path / "one", 1, 2), repository_with(tmp_path / "other", 2, 3)
    progress_calls: list[tuple[int, int]] = []
    summary = copy_bundles(first, other, lambda done, total: progress_calls.append((done, total)))
    assert (summary.copied, summary.already_there, summary.refused) == (1, 1, ())
    assert progress_calls == [(1, 1)]
    assert other.runs() == [make_run(1), make_run(2), make_run(3)]
    assert other.verify() == []


def test_a_damaged_bundle_is_refused_by_name(tmp_path: Path) -> None:
    first, other = repository_with(tmp_path / "one", 1, 2), repository_with(tmp_path / "other")
    (first.root / "bundles" / make_run(1).run_id / "run.json").write_text("{}")
    summary = copy_bundles(first, other, lambda *_: None)
    assert (summary.copied, [problem.run_id for problem in summary.refused]) == (1, [make_run(1).run_id])
    assert other.runs() == [make_run(2)]


def test_pull_and_push_report_their_copies(tmp_path: Path) -> None:
    repository_with(tmp_path / "one", 1, 2)
    options = ["--repository", str(tmp_path / "here"), "--json"]
    pulled = CliRunner().invoke(pull, [str(tmp_path / "one"), *options])
    assert json.loads(pulled.output) == {"copied": 2, "already_there": 0, "refused": []}
    pushed = CliRunner().invoke(push, [str(tmp_path / "one"), *options])
    assert json.loads(pushed.output) == {"copied": 0, "already_there": 2, "refused": []}
    failed = CliRunner().invoke(pull, [str(tmp_path / "none"), *options])
    assert isinstance(failed.exception, RepositoryError)


def test_an_exported_csv_is_the_same_after_a_table_import(tmp_path: Path) -> None:
    runs = [make_run(number, duration_s=10.0 + number, metrics={"job_s": 9.0}) for number in range(3)]
    text = io.StringIO()
    write_csv(runs, text)
    path = tmp_path / "runs.csv"
    path.write_text(text.getvalue(), newline="")
    fields = (
        "workload",
        "layout",
        "cluster",
        "started_at",
        "duration_s",
        "data_bytes",
        "parameter:dfs.blocksize",
        "metric:job_s",
    )
    read = table_format({name: name for name in fields}, {}).read
    imported_runs = [item.run for item in read([Source(path, "runs.csv")]) if isinstance(item, ImportedRun)]
    assert [(r.workload, r.layout, r.cluster, r.duration_s, r.data_bytes, r.parameters) for r in imported_runs] == [
        (r.workload, r.layout, r.cluster, r.duration_s, r.data_bytes, r.parameters) for r in runs
    ]
    assert [run.metrics["job_s"] for run in imported_runs] == [9.0, 9.0, 9.0]


FORMULAS = ["=cmd|' /C calc'!A0", "+1+cmd", "-2+3", "@SUM(A1)", "'=x", "''@y"]
HARMLESS_TEXTS = ["-1", "+2.5e3", "'quoted'", "a=b", "1-2"]


def test_no_cell_of_a_csv_is_a_formula_and_an_import_restores_every_text(tmp_path: Path) -> None:
    runs = [
        make_run(number, workload=text, parameters={"a.b": text})
        for number, text in enumerate(FORMULAS + HARMLESS_TEXTS)
    ]
    path = tmp_path / "runs.csv"
    with path.open("w", newline="") as file:
        write_csv(runs, file)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert not [cell for row in rows for cell in row.values() if cell[:1] in "=@" and cell]
    assert [row["workload"] for row in rows] == [f"'{text}" for text in FORMULAS] + HARMLESS_TEXTS
    read = table_format({n: n for n in ("workload", "duration_s", "parameter:a.b")}, {}).read
    imported_runs = [item.run for item in read([Source(path, "runs.csv")]) if isinstance(item, ImportedRun)]
    assert [run.workload for run in imported_runs] == FORMULAS + HARMLESS_TEXTS
    assert [run.parameters["a.b"] for run in imported_runs] == FORMULAS + HARMLESS_TEXTS


@given(st.text(alphabet="'=+-@a1.\t", min_size=1, max_size=6))
def test_cells_are_reversible_and_harmless(text: str) -> None:
    cell = escaped_cell(text)
    assert unescaped_text(cell) == text
    assert cell[0] not in "=@\t"


def test_a_run_is_selected_by_the_id_of_its_source_and_keeps_it_when_exported(tmp_path: Path) -> None:
    path = tmp_path / "execs.csv"
    path.write_text(
        "id_exec,id_cluster,exec,bench,exe_time,start_time,end_time,net,disk,bench_type,maps,iosf,replication,iofilebuf,"
        "comp,blk_size,valid\n84766,9,20140310_101500_conf_IB_HS2_b_m8_i10_r1_I65536_c3_z64/terasort,terasort,600.000,"
        "2014-03-10 10:20:00,2014-03-10 10:30:00,IB,HS2,b,8,10,1,65536,3,64,1\n"
    )
    options = ["--repository", str(tmp_path / "r")]
    assert CliRunner().invoke(assay, ["import", str(path), *options]).exit_code == 0
    assert "TeraSort" in CliRunner().invoke(assay, ["show", "84766", *options]).output
    text = CliRunner().invoke(assay, ["export", "csv", *options]).output
    assert [row["source_id"] for row in csv.DictReader(io.StringIO(text))] == ["84766"]


def test_the_wide_table_has_a_value_or_an_empty_cell_for_every_run() -> None:
    kinds, columns = columns_of_runs([make_run(1), make_run(2, metrics={"job_s": 1.0}, parameters={}, cold=None)])
    rows = dict(zip(kinds, columns, strict=True))
    assert rows["metric:job_s"] == [None, 1.0]
    assert rows["parameter:dfs.blocksize"] == ["64MiB", None]
    assert rows["cold"] == [True, None]


def test_perfkit_samples_carry_figure_unit_and_configuration() -> None:
    first, second = perfkit_samples(make_run(1, metrics={"job_throughput_mb_per_s": 8.0}))
    assert (first["metric"], first["value"], first["unit"]) == ("duration_s", 60.0, "seconds")
    assert (second["unit"], second["value"]) == ("MB/s", 8.0)
    assert "|layout:HD2|" in first["labels"]
    assert first["sample_uri"] != second["sample_uri"]


def test_otava_takes_one_series_only() -> None:
    text = io.StringIO()
    write_otava(runs_with({"HD2": [3.0, 1.0, 2.0]}), text)
    rows = list(csv.DictReader(io.StringIO(text.getvalue())))
    assert [row["duration_s"] for row in rows] == ["3.0", "1.0", "2.0"]
    assert [row["time"] for row in rows] == sorted(row["time"] for row in rows)
    with pytest.raises(RepositoryError, match="2 configurations"):
        write_otava(runs_with({"HD2": [1.0], "SS2": [1.0]}), text)


def test_export_writes_to_a_file_or_the_terminal(tmp_path: Path) -> None:
    repository_with(tmp_path / "one", 1, 2)
    options = ["--repository", str(tmp_path / "one")]
    assert len(CliRunner().invoke(export, ["jsonl", *options]).output.splitlines()) == 2
    target = tmp_path / "runs.parquet"
    assert CliRunner().invoke(export, ["parquet", "-o", str(target), *options]).exit_code == 0
    assert target.read_bytes().startswith(b"PAR1")
    failed = CliRunner().invoke(export, ["csv", "--workload", "none", *options])
    assert isinstance(failed.exception, RepositoryError)


def test_a_failed_export_keeps_the_existing_file(tmp_path: Path) -> None:
    repository = repository_with(tmp_path / "one", 1)
    repository.publish(make_run(2, layout="SS2"))
    target = tmp_path / "series.csv"
    target.write_text("existing content")
    result = CliRunner().invoke(export, ["otava", "-o", str(target), "--repository", str(tmp_path / "one")])
    assert isinstance(result.exception, RepositoryError)
    assert target.read_text() == "existing content"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "series.csv"]


def test_otava_refuses_different_configurations_and_an_empty_selection() -> None:
    for change in ({"data_bytes": 1}, {"engine": "spark"}, {"workload_parameters": {"reduces": "3"}}):
        with pytest.raises(RepositoryError, match="2 configurations"):
            write_otava([make_run(1), make_run(2, **change)], io.StringIO())
    with pytest.raises(RepositoryError, match="no valid run with a date"):
        write_otava([make_run(1, started_at="")], io.StringIO())
