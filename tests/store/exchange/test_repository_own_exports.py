"""Test the import of assay's own exports: every form, and no duplicates."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.foundation.errors import FormatError
from assay.interfaces.cli.main import assay
from assay.model import CacheState, Check, CodedWarning, Origin, Phase, Run, RunStatus, WarningCode
from assay.store import Repository
from builders import make_run
from paths import ROOT

MEASURED = sorted((ROOT / "examples").glob("*/measured/**/*.csv"))
FORMS = ("csv", "jsonl", "parquet")


def output_of(*words: str | Path, code: int = 0) -> str:
    result = CliRunner().invoke(assay, [str(word) for word in words])
    assert result.exit_code == code, result.output
    return result.output


def without_environment(runs: list[Run]) -> list[Run]:
    return sorted((replace(run, environment={}) for run in runs), key=lambda run: run.run_id)


def test_there_are_examples_to_read() -> None:
    assert len(MEASURED) == 7


@pytest.mark.slow
@pytest.mark.parametrize("path", MEASURED, ids=lambda path: "-".join(path.parts[-3:]))
def test_an_examples_measured_runs_are_equal_after_export_and_import(path: Path, tmp_path: Path) -> None:
    repository = tmp_path / "first"
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    assert f"assay: {len(rows):,} runs imported" in output_of("import", path, "--repository", repository)
    runs = Repository.open(repository).runs()
    by_id = {run.run_id: run for run in runs}
    for row in rows:
        run = by_id[row["run_id"]]
        assert (str(run.origin), str(run.lab_scale), str(run.cold)) == (row["origin"], row["lab_scale"], row["cold"])
        assert (run.plan, run.campaign_id, str(run.repetition)) == (row["plan"], row["campaign_id"], row["repetition"])
    for form in FORMS:
        file = tmp_path / f"runs.{form}"
        output_of("export", form, "-o", file, "--repository", repository)
        second_repository = tmp_path / form
        assert f"assay: {len(rows):,} runs imported" in output_of("import", file, "--repository", second_repository)
        assert without_environment(Repository.open(second_repository).runs()) == without_environment(runs)
        if form == "csv":
            exported_rows = list(csv.DictReader(io.StringIO(file.read_text())))
            assert [
                {name: row[name] for name in rows[0]} for row in sorted(exported_rows, key=lambda row: row["run_id"])
            ] == sorted(rows, key=lambda row: row["run_id"])


def full_run(number: int) -> Run:
    return make_run(
        number,
        layout="SS2",
        levels={"layout": "SS2", "network": "=IB, 1"},
        metrics={"job_s": 1 / 3, "disk_read_bytes": 1e15},
        checks=(Check("teravalidate", True, "checksum 1f"), Check("bytes", True, 'said "12"\nof 12')),
        caches=(CacheState("w1", 10, 0, 5, 0, True, None),),
        phases=(Phase("map", 0.0, 12.5),),
        warnings=(CodedWarning(WarningCode.CPU_LIMIT, "CPU was the limit; ü"),),
        sources={"duration_s": "the client"},
    )


RUNS = [
    full_run(1),
    full_run(2),
    make_run(3, status=RunStatus.FAILED, cause="no space", duration_s=0.0, cold=None, data_bytes=None, checks=()),
    make_run(4, origin=Origin.SIMULATED, lab_scale=None, cold=False, started_at=""),
    make_run(5, layout="All-HDD", levels={}),
]


@pytest.mark.parametrize("form", FORMS)
def test_checks_caches_warnings_and_failures_are_equal_after_export_and_import(form: str, tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "first")
    for run in RUNS:
        repository.publish(run)
    file = tmp_path / f"runs.{form}"
    output_of("export", form, "-o", file, "--repository", tmp_path / "first")
    output_of("import", file, "--repository", tmp_path / "again")
    imported_runs = Repository.open(tmp_path / "again").runs()
    assert without_environment(imported_runs) == without_environment(RUNS)
    assert form != "jsonl" or all(run.environment["kernel"] == "6.1.0-18" for run in imported_runs)


@pytest.mark.parametrize("form", FORMS)
def test_a_repository_does_not_import_its_exports_again(form: str, tmp_path: Path) -> None:
    root = tmp_path / "here"
    repository = Repository.create(root)
    repository.publish(full_run(1))
    file = tmp_path / f"runs.{form}"
    output_of("export", form, "-o", file, "--repository", root)
    assert "0 runs imported, 1 already present" in output_of("import", file, "--repository", root)
    assert len(Repository.open(root).runs()) == 1


def test_a_pulled_run_counts_once_and_before_its_exported_figures(tmp_path: Path) -> None:
    source = Repository.create(tmp_path / "source")
    source.publish(full_run(1), logs={"client": b"whole"})
    file = tmp_path / "runs.csv"
    output_of("export", "csv", "-o", file, "--repository", tmp_path / "source")
    output_of("import", file, "--repository", tmp_path / "here")
    assert [run.environment for run in Repository.open(tmp_path / "here").runs()] == [{}]
    output_of("pull", tmp_path / "source", "--repository", tmp_path / "here")
    [run] = Repository.open(tmp_path / "here").runs()
    assert run.environment["kernel"] == "6.1.0-18", "the bundle's run, not the one of the table"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("duration_s", "-1", "duration_s is -1"),
        ("duration_s", "1e999", "duration_s"),
        ("run_id", "../../x", "not a run id"),
        ("campaign_id", "../../x", "not a campaign id"),
        ("origin", "guessed", "origin"),
        ("lab_scale", "20", "lab_scale is 20"),
        ("started_at", "yesterday", "not an ISO 8601 date and time"),
        ("checks", "[", "checks is not JSON"),
        ("cold", "perhaps", "cold"),
    ],
)
def test_a_cell_that_assay_cannot_have_written_skips_its_row(name: str, text: str, words: str, tmp_path: Path) -> None:
    Repository.create(tmp_path / "r").publish(make_run(1))
    [row] = csv.DictReader(io.StringIO(output_of("export", "csv", "--repository", tmp_path / "r")))
    path = tmp_path / "runs.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(row))
        writer.writeheader()
        writer.writerow(row | {name: text})
    output = output_of("import", path, "--repository", tmp_path / "again", code=FormatError.exit_code)
    assert "runs.csv:2" in output
    assert words in output


def test_a_duplicate_run_id_is_imported_once(tmp_path: Path) -> None:
    Repository.create(tmp_path / "r").publish(make_run(1))
    header, row = output_of("export", "csv", "--repository", tmp_path / "r").splitlines()
    (tmp_path / "runs.csv").write_text(f"{header}\n{row}\n{row}\n")
    output = output_of("import", tmp_path / "runs.csv", "--repository", tmp_path / "again")
    assert "1 run imported" in output
    assert "runs.csv:3: has the run_id of a run above" in output


def test_an_unknown_column_is_named_and_the_runs_are_imported(tmp_path: Path) -> None:
    Repository.create(tmp_path / "r").publish(make_run(1))
    header, row = output_of("export", "csv", "--repository", tmp_path / "r").splitlines()
    (tmp_path / "runs.csv").write_text(f"{header},remark\n{row},mine\n")
    output = output_of("import", tmp_path / "runs.csv", "--repository", tmp_path / "again")
    assert "1 run imported" in output
    assert "column 'remark' is not a column that assay exports" in output


def test_semicolons_of_a_spreadsheet_are_read(tmp_path: Path) -> None:
    Repository.create(tmp_path / "r").publish(make_run(1))
    rows = list(csv.reader(io.StringIO(output_of("export", "csv", "--repository", tmp_path / "r"))))
    with (tmp_path / "runs.csv").open("w", newline="") as file:
        csv.writer(file, delimiter=";").writerows(rows)
    assert "1 run imported" in output_of("import", tmp_path / "runs.csv", "--repository", tmp_path / "again")


def test_parquet_of_others_and_unrecognised_files_are_refused_with_what_to_do(tmp_path: Path) -> None:
    Repository.create(tmp_path / "r").publish(make_run(1))
    output_of("runs", "--repository", tmp_path / "r")  # makes the index, which is Parquet too
    index = next((tmp_path / "r" / "index").rglob("*.parquet"))
    output = output_of("import", index, "--repository", tmp_path / "again", code=FormatError.exit_code)
    assert "is not a table of `assay export`" in output
    (tmp_path / "own.csv").write_text("job,seconds\nsort,12\n")
    output = output_of("import", tmp_path / "own.csv", "--repository", tmp_path / "again", code=FormatError.exit_code)
    assert "own.csv: Unrecognised format\n" in output
    assert "assay import table FILE --map" in output
    assert json.loads(output_of("import", "--list", "--json"))[0]["name"] == "assay"
