"""Test batch predictions: equal values on every interface, bad rows by line, clusters by hardware."""

from __future__ import annotations

import csv
import io
import json
import random
from dataclasses import asdict
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from assay.foundation.errors import FormatError, SpecificationError
from assay.interfaces.cli.data.imports import import_results
from assay.interfaces.cli.forecast.predict import predict
from assay.questions.forecasts import prediction_batch
from assay.questions.forecasts.model_cache import learned
from assay.questions.forecasts.prediction import predict_configuration, predict_with
from assay.questions.forecasts.prediction_batch import batch_predicted
from assay.store import Repository
from assay.store.formats.source import Source
from assay.store.formats.tables.configuration_rows import ConfigurationRow, read_configuration_rows
from learning import learned_repository
from web_support import client_of

pytestmark = pytest.mark.slow
ROWS = """\
workload,disk,maps,cluster
sort,SSD,6,c12
terasort,HDD,,c8
sort,SSD,many,c12

,SSD,6,c12
terasort,HDD
sort,HDD,4,c99
pagerank,HDD,4,c8
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return learned_repository(tmp_path_factory)


def asked(repository: Repository, file: Path, *options: str) -> Result:
    arguments = ["--batch", str(file), "--repository", str(repository.root), *options]
    return CliRunner().invoke(predict, arguments, catch_exceptions=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "asked.csv"
    path.write_text(ROWS)
    return path


def test_a_batch_has_the_values_of_single_predictions_on_every_surface(repository: Repository, file: Path) -> None:
    single = predict_configuration(repository, ["workload=sort,disk=SSD,maps=6,cluster=c12"])
    shown = json.loads(asked(repository, file, "--json").stdout)
    first = shown["rows"][0]
    assert (first["expected_s"], first["low_s"], first["high_s"]) == (single.expected_s, single.low_s, single.high_s)
    assert single.measured is not None
    assert first["measured"] == asdict(single.measured)
    assert (first["basis"], first["assumed"], first["extrapolated"]) == (single.basis, single.assumed, False)
    assert (shown["level"], shown["origin"], shown["runs"]) == (0.9, "predicted", 252)
    rows = [
        {"workload": "sort", "disk": "SSD", "maps": 6, "cluster": "c12"},
        {"workload": "terasort", "disk": "HDD", "cluster": "c8"},
    ]
    answer = client_of(repository.root).post("/api/v1/predict", json={"rows": rows})
    assert answer.status_code == 200, answer.text
    posted = answer.json()["rows"]
    assert [{**row, "line": 0} for row in posted] == [{**row, "line": 0} for row in shown["rows"][:2]]
    cells = next(csv.DictReader(io.StringIO(asked(repository, file).stdout)))
    assert [cells[name] for name in ("expected_s", "low_s", "high_s")] == [
        f"{time_s:.3f}" for time_s in (first["expected_s"], first["low_s"], first["high_s"])
    ]
    assert (cells["measured_median_s"], cells["measured_runs"]) == (
        f"{single.measured.median_s:.3f}",
        str(single.measured.runs),
    )


def test_bad_rows_are_named_by_their_line_and_stop_no_other(repository: Repository, file: Path, tmp_path: Path) -> None:
    target = tmp_path / "predicted.csv"
    done = asked(repository, file, "-o", str(target))
    assert done.exit_code == 0
    assert "asked.csv:4: mapreduce.tasktracker.map.tasks.maximum must be a number or a size, not 'many'" in done.stderr
    assert "asked.csv:6: no workload is named" in done.stderr
    assert "asked.csv:7: has 2 cells where the header has 4" in done.stderr
    rows = list(csv.DictReader(target.open()))
    assert [row["line"] for row in rows] == ["2", "3", "4", "6", "7", "8", "9"]
    assert [bool(row["problem"]) for row in rows] == [False, False, True, True, True, False, False]
    assert [row["extrapolated"] for row in rows] == ["no", "no", "", "", "", "yes", "yes"]
    assert "no run has cluster c99" in rows[5]["reasons"]
    assert (rows[6]["expected_s"], "no run has workload pagerank" in rows[6]["reasons"]) == ("", True)


def test_a_batch_without_one_good_row_fails(repository: Repository, tmp_path: Path) -> None:
    file = tmp_path / "bad.csv"
    file.write_text("workload,maps\nsort,many\n")
    assert asked(repository, file).exit_code == FormatError.exit_code


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("workload,colour\nsort,red\n", "no run has a factor 'colour'"),
        ("workload,workload\nsort,sort\n", "two columns are named workload"),
        ("workload,\nsort,x\n", "column 2 has no name"),
        ("workload,maps\n", "has no rows to predict"),
    ],
)
def test_an_invalid_table_is_refused_with_a_message(
    repository: Repository, tmp_path: Path, text: str, why: str
) -> None:
    file = tmp_path / "none.csv"
    file.write_text(text)
    with pytest.raises((SpecificationError, FormatError), match=why):
        asked(repository, file)


def test_progress_is_shown_for_large_files_and_parallel_parts_change_no_value(
    repository: Repository, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = asked(repository, file).stdout
    monkeypatch.setattr(prediction_batch, "ROWS_AT_ONCE", 3)
    parts = asked(repository, file)
    assert parts.stdout == whole
    assert "3 of 7 rows predicted" in parts.stderr
    assert "7 of 7 rows predicted" in parts.stderr


def test_rows_describe_a_cluster_by_its_hardware(repository: Repository) -> None:
    known = learned(repository)
    levels = {"workload": "sort", "layout": "SSD", "maps": "6"}
    rows = [
        ConfigurationRow(1, {**levels, "workers": "3", "cores": "10", "memory_bytes": "64GB"}),
        ConfigurationRow(2, {**levels, "cluster": "c12", "workers": "3", "cores": "12", "memory_bytes": "64GB"}),
        ConfigurationRow(3, {**levels, "cores": "-1"}),
    ]
    new, named, bad = batch_predicted(known, rows).rows
    assert (new.configuration["cluster"], new.basis) == ("3x 10 cores 64 GB", "other clusters")
    assert (
        named.expected_s
        == predict_configuration(repository, ["workload=sort,layout=SSD,maps=6,cluster=c12"]).expected_s
    )
    assert bad.problem == "cores is '-1', which is not a valid cores"


@pytest.mark.parametrize(
    ("body", "why", "where"),
    [
        ({"rows": [{"workload": "sort"}] * 10_001}, "10,001 entries exceed the maximum of 10,000", "rows"),
        ({"rows": []}, "at least 1 entry is required", "rows"),
        ({}, "this parameter is required", "rows"),
        ({"rows": [{"workload": "sort"}], "limit": 1}, "unknown field", "limit"),
        ("workload", "the request's body is not a valid JSON object", None),
    ],
)
def test_an_invalid_batch_request_is_refused_with_a_message(
    repository: Repository, body: object, why: str, where: str | None
) -> None:
    answer = client_of(repository.root).post("/api/v1/predict", json=body)
    assert (answer.status_code, answer.json()["message"], answer.json()["where"]) == (422, why, where)


def test_null_and_empty_text_name_nothing(repository: Repository) -> None:
    rows = [{"workload": "sort"}, {"workload": "sort", "maps": None, "layout": ""}]
    first, second = client_of(repository.root).post("/api/v1/predict", json={"rows": rows}).json()["rows"]
    assert {**first, "line": 2} == second


def test_separators_and_empty_cells_of_a_table_are_read(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("\ufeffworkload; maps\n\nsort;6\nkmeans;\n")
    read = read_configuration_rows(Source(file, "t.csv"))
    assert read.columns == ("workload", "maps")
    assert read.rows == (
        ConfigurationRow(3, {"workload": "sort", "maps": "6"}),
        ConfigurationRow(4, {"workload": "kmeans"}),
    )


def test_hardware_of_an_imported_table_predicts_the_time_on_an_unmeasured_cluster_size(tmp_path: Path) -> None:
    speeds = {"m4.xlarge": (4, 1.0), "r4.2xlarge": (8, 1.1), "c4.4xlarge": (16, 1.3)}
    noise = random.Random(3)
    lines = ["job,seconds,machine,nodes,vcpu,data"]
    for job, work in (("sort", 4000.0), ("grep", 1500.0)):
        for machine, (cores, speed) in speeds.items():
            for nodes in (2, 4, 6, 10, 12):
                for data_gb in (10, 20):
                    time_s = 20 + work * data_gb / 10 / (nodes * cores * speed) * noise.lognormvariate(0, 0.03)
                    lines.append(f"{job},{time_s:.1f},{machine},{nodes},{cores},{data_gb}GB")
    table = tmp_path / "cloud.csv"
    table.write_text("\n".join(lines) + "\n")
    fields = ("job=workload", "seconds=duration_s", "machine=instance_type", "nodes=workers", "vcpu=cores")
    mapping = [part for field in (*fields, "data=data_bytes") for part in ("--map", field)]
    root = str(tmp_path / "repository")
    taken = CliRunner().invoke(
        import_results, ["table", str(table), *mapping, "--repository", root], catch_exceptions=False
    )
    assert taken.exit_code == 0, taken.output
    known = learned(Repository.open(Path(root)))
    assert "cluster.instance_type=m4.xlarge" in known.model.encoding.names
    levels = {"workload": "sort", "instance_type": "r4.2xlarge", "workers": "8", "cores": "8", "data_bytes": "20GB"}
    (row,) = batch_predicted(known, [ConfigurationRow(1, levels)]).rows
    assert (row.configuration["cluster"], row.basis, row.problem) == ("8x r4.2xlarge", "other clusters", "")
    true_s = 20 + 4000 * 2 / (8 * 8 * 1.1)
    assert row.expected_s == pytest.approx(true_s, rel=0.3)
    assert row.low_s is not None
    assert row.high_s is not None
    assert row.low_s < true_s < row.high_s < 10 * true_s
    conditions = ("workload=sort,data_bytes=20GB", "cluster=8x m5.2xlarge")
    rented = predict_with(Repository.open(Path(root)), known, conditions)
    assert rented.basis == "other clusters"
    assert rented.reasons[0].startswith("no run has instance type m5.2xlarge")
    assert rented.expected_s == pytest.approx(20 + 4000 * 2 / (8 * 8), rel=0.35)
    unknown = predict_with(Repository.open(Path(root)), known, (conditions[0], "cluster=8x m5.huge"))
    assert unknown.reasons[0].startswith("no run has cluster 8x m5.huge")
