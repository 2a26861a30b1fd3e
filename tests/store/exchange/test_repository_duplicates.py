"""Test that the same runs in another notation do not count twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from assay.interfaces.cli.main import assay
from assay.model.runs.origin import Origin
from assay.store import Repository
from builders import make_run
from table_samples import stored_times_s

pytestmark = pytest.mark.slow

HEADER = "job,disk,when,t\n"
ROWS = "terasort,HDD,2026-01-01T10:00Z,1119\nterasort,SSD,2026-01-02T10:00Z,302\nsort,HDD,2026-01-03T10:00Z,77.5\n"
COLUMNS = {"job": "workload", "disk": "layout", "when": "started_at", "t": "duration_s", "m": "duration_min"}


def taken(folder: Path, name: str, text: str, *words: str) -> Result:
    (folder / name).write_text(text)
    columns = [
        word
        for column, field in COLUMNS.items()
        if column in text.splitlines()[0].replace(";", ",").split(",")
        for word in ("--map", f"{column}={field}")
    ]
    asked = ["import", "table", str(folder / name), *columns, "--repository", str(folder / "r"), *words]
    return CliRunner().invoke(assay, asked)


NOTATIONS = {
    "zeros": HEADER + ROWS.replace("1119", "1119.000").replace("77.5", "77.50"),
    "blanks": HEADER + ROWS.replace("HDD", "HDD ").replace("302", "302.0"),
    "zone": HEADER + ROWS.replace("10:00Z", "11:00+01:00"),
    "comma": (HEADER + ROWS).replace(",", ";").replace("1119", "1119,000").replace("77.5", "77,5"),
    "minutes": "job,disk,when,m\nterasort,HDD,2026-01-01T10:00Z,18.65\n",
}


def test_another_notation_is_the_same_run(tmp_path: Path) -> None:
    assert taken(tmp_path, "a.csv", HEADER + ROWS).exit_code == 0
    for name, text in NOTATIONS.items():
        again = taken(tmp_path, f"{name}.csv", text)
        assert "0 runs imported" in again.output, name
        assert "already present" in again.output, name
    assert stored_times_s(tmp_path) == [77.5, 302, 1119]


def test_without_a_column_they_are_probably_the_same_and_it_asks(tmp_path: Path) -> None:
    taken(tmp_path, "a.csv", HEADER + ROWS)
    less = "job,t\nterasort,1119\nterasort,302\nsort,77.5\n"
    refusal = taken(tmp_path, "b.csv", less)
    assert "3 of 3 runs are probably in" in refusal.output
    assert refusal.exit_code != 0
    assert stored_times_s(tmp_path) == [77.5, 302, 1119]
    (answer,) = json.loads(taken(tmp_path, "b.csv", less, "--json").output)["imports"]
    assert [(match["runs"], match["of"], match["stored_runs"]) for match in answer["probably"]] == [(3, 3, 3)]
    assert taken(tmp_path, "b.csv", less, "--again").exit_code == 0
    assert stored_times_s(tmp_path) == [77.5, 77.5, 302, 302, 1119, 1119]


@pytest.mark.slow
def test_replace_puts_the_new_runs_in_the_place_of_probable_duplicates(tmp_path: Path) -> None:
    taken(tmp_path, "a.csv", "job,t\nterasort,1119\nterasort,302\n")
    assert "replaces import" in taken(tmp_path, "b.csv", HEADER + ROWS, "--replace").output
    assert stored_times_s(tmp_path) == [77.5, 302, 1119]
    assert {run.layout for run in Repository.open(tmp_path / "r").runs()} == {"HDD", "SSD"}


@pytest.mark.slow
def test_replace_loses_no_runs(tmp_path: Path) -> None:
    taken(tmp_path, "a.csv", HEADER + ROWS)
    refused = taken(tmp_path, "b.csv", "job,t\nterasort,1119\n", "--replace")
    assert "others would be lost" in str(refused.exception)
    repository = Repository.open(tmp_path / "r")
    repository.publish(make_run(1, duration_s=12.25, origin=Origin.MEASURED))
    refused = taken(tmp_path, "c.csv", "job,t\nterasort,12.25\n", "--replace")
    assert "runs of campaign" in str(refused.exception)
    assert stored_times_s(tmp_path) == [12.25, 77.5, 302, 1119]


def test_other_runs_and_a_longer_copy_are_taken(tmp_path: Path) -> None:
    taken(tmp_path, "a.csv", HEADER + ROWS)
    assert "1 run imported" in taken(tmp_path, "a.csv", HEADER + ROWS + ROWS.splitlines()[0] + "\n").output
    assert "1 run imported" in taken(tmp_path, "b.csv", "job,disk,t\nterasort,NVE,1119\n").output
    assert "1 run imported" in taken(tmp_path, "c.csv", HEADER + "terasort,HDD,2027-01-01T10:00Z,1119\n").output
    assert len(stored_times_s(tmp_path)) == 6
