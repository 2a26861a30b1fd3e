"""Test ``assay decide --details options``, ``findings``, ``anomalies`` and ``import``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from assay.foundation.errors import AssayError
from assay.interfaces.cli.data.imports import import_results
from assay.interfaces.cli.decide.decide import decide
from assay.interfaces.cli.decide.findings import findings
from assay.interfaces.cli.decide.report import report
from assay.interfaces.cli.explain.anomalies import anomalies
from assay.interfaces.cli.explain.changes import changes
from assay.interfaces.cli.explain.runs import runs
from assay.questions.comparisons.speedup import published_speedups
from assay.store import Repository
from builders import make_run

HEADER = "workload,layout,network,minutes,blocks,status"
FIELDS = (
    "workload=workload",
    "layout=layout",
    "network=level:network",
    "minutes=duration_min",
    "blocks=parameter:dfs.blocksize",
    "status=status",
)
MAP = [word for field in FIELDS for word in ("--map", field)]


OPTIONS = ("--details", "options")
GROUPS = ("--details", "groups")


def invoke(command: Any, *arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments), catch_exceptions=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository where SSD is twice as fast as HDD in eight matched groups, and one level matches nothing."""
    lines = [HEADER]
    for block in range(1, 9):
        for network in ("IB", "ETH"):
            lines.append(f"terasort,HDD,{network},{20 + block},{block * 2**20},valid")
            lines.append(f"terasort,SSD,{network},{10 + block / 2},{block * 2**20},valid")
    lines.append("terasort,NFS,other,40,1048576,valid")
    lines.append("terasort,SSD,IB,900,1048576,invalid")
    table = tmp_path / "results.csv"
    table.write_text("\n".join(lines) + "\n")
    done = invoke(import_results, "table", str(table), *MAP, "--repository", str(tmp_path / "repository"))
    assert done.exit_code == 0, done.output
    assert "34 runs imported as import" in done.output
    return tmp_path / "repository"


def test_a_speedup_is_over_matched_runs_and_counts_the_excluded_runs(folder: Path) -> None:
    shown = invoke(decide, "layout", *OPTIONS, "--baseline", "HDD", "--repository", str(folder))
    assert shown.exit_code == 0
    assert "1 SSD per worker (SSD) is 2.00× as fast as 1 hard disk per worker (HDD)" in shown.output
    assert "16 matched groups" in shown.output
    assert "TeraSort NFS" in shown.output
    assert "34 runs read, 1 invalid" in shown.output
    answer = json.loads(
        invoke(decide, "layout", *OPTIONS, "--baseline", "HDD", "--json", "--repository", str(folder)).output
    )
    by_level = {item["candidate"]: item for item in answer["results"]}
    assert by_level["SSD"]["ratio"] == pytest.approx(2.0)
    assert (by_level["SSD"]["groups"], by_level["NFS"]["ratio"]) == (16, None)
    (best,) = answer["best"]
    assert "HDD" in best["slower"]


def test_published_definitions_are_there_by_name(folder: Path) -> None:
    aloja = json.loads(
        invoke(
            decide, "layout", *OPTIONS, "--method", "aloja", "--baseline", "HDD", "--json", "--repository", str(folder)
        ).output
    )
    assert next(item["value"] for item in aloja if item["level"] == "SSD") == pytest.approx(2.0)
    lisa = invoke(decide, "layout", *OPTIONS, "--method", "lisa14", "--baseline", "HDD", "--repository", str(folder))
    assert "mean gain of SSD: 2.00" in lisa.output
    refused = invoke(decide, "layout", *OPTIONS, "--method", "lisa14", "--repository", str(folder))
    assert isinstance(refused.exception, AssayError)


def test_published_definitions_accept_derived_factors(folder: Path) -> None:
    figures = published_speedups(Repository.open(folder).table(), "device_class", None, "aloja").figures
    assert len({figure.level for figure in figures}) > 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["colour"], "colour"),
        (["layout", "--baseline", "SS9"], "SS9"),
        (["layout", "--where", "layout=SS9"], "its levels: HDD, SSD, NFS"),
        (["layout", "--where", "colour=red"], "columns: "),
    ],
)
def test_a_name_that_no_run_has_is_answered_with_those_that_there_are(
    folder: Path, arguments: list[str], words: str
) -> None:
    done = invoke(decide, *arguments, *OPTIONS, "--repository", str(folder))
    assert isinstance(done.exception, AssayError)
    assert words in str(done.exception)


def test_findings_and_anomalies_answer_on_the_same_runs(folder: Path) -> None:
    answer = json.loads(invoke(findings, "--json", "--repository", str(folder)).output)
    by_name = {item["name"]: item for item in answer["by_origin"]["measured"]}
    assert any(item["answer"] == "supported" and "SSD" in item["claim"] for item in by_name.values())
    assert "SUPPORTED" in invoke(findings, "--repository", str(folder)).output
    odd = invoke(anomalies, "--repository", str(folder))
    assert odd.exit_code == 0
    assert "among 33 valid runs" in odd.output


def test_an_import_lists_rejected_items_and_strict_refuses_all(tmp_path: Path) -> None:
    table = tmp_path / "results.csv"
    table.write_text(f"{HEADER}\nterasort,HDD,IB,20,1048576,valid\nterasort,HDD,IB,-3,1048576,valid\n")
    repository = ["--repository", str(tmp_path / "repository")]
    strict = invoke(import_results, "table", str(table), *MAP, "--strict", *repository)
    assert strict.exit_code == 7
    assert "results.csv:3" in strict.output
    assert "No runs" in invoke(runs, *repository).output
    answer = json.loads(invoke(import_results, "table", str(table), *MAP, "--json", *repository).output)
    assert [(item["taken"], len(item["left"])) for item in answer["imports"]] == [(1, 1)]
    again = json.loads(invoke(import_results, "table", str(table), *MAP, "--json", *repository).output)
    assert [(item["taken"], item["already_there"]) for item in again["imports"]] == [(0, 1)]


def test_an_unknown_format_and_an_unknown_format_name_are_errors(tmp_path: Path) -> None:
    strange = tmp_path / "strange.bin"
    strange.write_bytes(b"\x00\x01" * 100)
    repository = ["--repository", str(tmp_path / "repository")]
    done = invoke(import_results, str(strange), *repository)
    assert done.exit_code == 7
    assert "Unrecognised format" in done.output
    assert isinstance(invoke(import_results, "nothing", str(strange), *repository).exception, AssayError)
    assert isinstance(invoke(import_results, *repository).exception, AssayError)
    assert isinstance(invoke(import_results, str(strange), "--map", "a=b", *repository).exception, AssayError)
    listed = json.loads(invoke(import_results, "--list", "--json").output)
    assert {"aloja", "jhist", "spark", "testdfsio", "table"} <= {item["name"] for item in listed}


def test_the_newest_runs_are_listed_first_hand(folder: Path) -> None:
    assert len(invoke(runs, "--limit", "3", "--repository", str(folder)).output.splitlines()) == 4


def test_many_comparisons_are_cut_and_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.interfaces.cli.decide.group_details.ROWS_SHOWN", 5)
    arguments = ("layout", *GROUPS, "--baseline", "HDD", "--repository", str(folder))
    shown = invoke(decide, *arguments).output
    assert "… 11 more (--all)" in shown
    assert "In 1 of 17 matched groups, all valid runs have the same level of layout" in shown
    assert "more (--all)" not in invoke(decide, *arguments, "--all").output
    answer = json.loads(invoke(decide, "layout", *GROUPS, "--json", "--repository", str(folder)).output)
    assert len(answer["results"]) == 16


def test_a_report_of_hundreds_of_comparisons_is_refused_with_a_hint(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.questions.report.build.COMPARISONS_MAX", 5)
    refused = invoke(report, "--by", "layout", "--single", "-o", str(tmp_path / "r.html"), "--repository", str(folder))
    assert isinstance(refused.exception, AssayError)
    assert "assay report --matched --by layout" in str(refused.exception)
    nowhere = invoke(report, "-o", str(tmp_path / "no" / "r.html"), "--repository", str(folder))
    assert "its folder does not exist" in str(nowhere.exception)
    assert f"→ `mkdir -p {tmp_path / 'no'}` makes the folder" in str(nowhere.exception)


def test_a_change_in_a_history_is_dated_and_sized(tmp_path: Path) -> None:
    times = [100.0 + day % 3 for day in range(12)] + [150.0 + day % 3 for day in range(12)]
    rows = [f"sort,HDD,{time},2026-03-{day + 1:02d}T00:00:00Z" for day, time in enumerate(times)]
    table = tmp_path / "history.csv"
    table.write_text("\n".join(["workload,layout,seconds,when", *rows]) + "\n")
    columns = ("workload=workload", "layout=layout", "seconds=duration_s", "when=started_at")
    words = [word for field in columns for word in ("--map", field)]
    repository = ["--repository", str(tmp_path / "repository")]
    assert invoke(import_results, "table", str(table), *words, *repository).exit_code == 0
    shown = invoke(changes, *repository)
    assert "2026-03-13" in shown.output
    assert "1 change in 1 configuration" in shown.output
    (history,) = json.loads(invoke(changes, "--json", *repository).output)["histories"]
    assert history["changes"][0]["ratio"]["value"] == pytest.approx(151 / 101, rel=0.01)


def test_a_correlation_of_zero_is_not_printed(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "repository")
    for day in range(12):
        repository.publish(make_run(day, duration_s=100.0, started_at=f"2026-03-{day + 1:02d}T00:00:00Z"))
    output = invoke(changes, "--repository", str(repository.root)).output
    assert "0 changes in 1 configuration" in output
    assert "correlation" not in output


def test_too_few_runs_for_a_change_are_stated(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "repository")
    repository.publish(make_run(0, started_at="2026-03-01T00:00:00Z"))
    output = invoke(changes, "--repository", str(repository.root)).output
    assert "No change can be found yet: no configuration has 12 valid runs." in output


def test_many_comparisons_correct_their_p_values(folder: Path) -> None:
    answer = json.loads(invoke(decide, "layout", *GROUPS, "--json", "--repository", str(folder)).output)["results"]
    tested = [item for item in answer if item["runs"]["rank_test"] is not None]
    assert tested
    assert all(item["holm_p"] is None for item in tested if item["verdict"] == "not enough runs")
    assert {item["runs"]["rank_test"]["delta"] for item in tested} <= {1.0, -1.0}


def test_the_same_table_is_read_twice_with_two_maps_and_a_copy_is_not_doubled(tmp_path: Path) -> None:
    table = tmp_path / "wide.csv"
    table.write_text("workload,hdd_s,ssd_s\nterasort,200,100\nwordcount,300,290\n")
    (tmp_path / "copy.csv").write_bytes(table.read_bytes())
    repository = ["--repository", str(tmp_path / "repository"), "--json"]

    def taken(column: str, layout: str, *paths: str) -> tuple[int, int]:
        words = ["--map", "workload=workload", "--map", f"{column}=duration_s", "--set", f"layout={layout}"]
        (summary,) = json.loads(invoke(import_results, "table", *paths, *words, *repository).output)["imports"]
        return summary["taken"], summary["already_there"]

    assert taken("hdd_s", "HDD", str(table), str(tmp_path / "copy.csv")) == (2, 0)
    assert taken("ssd_s", "SSD", str(table)) == (2, 0)
    assert taken("ssd_s", "SSD", str(tmp_path / "copy.csv")) == (0, 2)
    shown = json.loads(invoke(decide, "layout", *OPTIONS, "--baseline", "HDD", *repository).output)
    assert [round(item["ratio"], 2) for item in shown["results"]] == [2.0, 1.03]
    words = ["--map", "workload=workload", "--map", "ssd_s=duration_min", "--set", "layout=SSD"]
    output = invoke(import_results, "table", str(table), *words, *repository[:2]).output
    assert output.count("imported before with another --map") == 2
    bundle = next(line.split("bundles/")[1].split(" ")[0] for line in output.splitlines() if "bundles/" in line)
    assert (tmp_path / "repository" / "bundles" / bundle).is_dir()


def test_strict_takes_nothing_when_a_file_is_of_no_format(tmp_path: Path) -> None:
    (tmp_path / "junk.txt").write_text("nothing that anybody knows\n")
    published = tmp_path / "p.yaml"
    published.write_text("source: a paper\nruns:\n  - {workload: sort, duration: 5s, layout: HDD}\n")
    repository = ["--repository", str(tmp_path / "repository")]
    refused = invoke(import_results, "--strict", str(published), str(tmp_path / "junk.txt"), *repository)
    assert refused.exit_code == 7
    assert "No runs" in invoke(runs, *repository).output
    assert invoke(import_results, str(published), str(tmp_path / "junk.txt"), *repository).exit_code == 0


def test_one_run_against_several_with_equal_times_is_compared(tmp_path: Path) -> None:
    table = tmp_path / "tie.csv"
    table.write_text("job,s,disk\nterasort,100,HD1\nterasort,100,HD2\nterasort,120,HD2\n")
    words = [w for field in ("job=workload", "s=duration_s", "disk=layout") for w in ("--map", field)]
    repository = ["--repository", str(tmp_path / "repository")]
    assert invoke(import_results, "table", str(table), *words, *repository).exit_code == 0
    (comparison,) = json.loads(invoke(decide, *GROUPS, "--json", *repository).output)["results"]
    assert (comparison["baseline"], comparison["runs_baseline"], comparison["runs_candidate"]) == (
        "HD2",
        2,
        1,
    )  # most runs
    assert comparison["runs"]["rank_test"]["p"] == 1.0


def test_skipped_items_are_listed_again_and_damage_is_named(tmp_path: Path) -> None:
    table = tmp_path / "results.csv"
    table.write_text(f"{HEADER}\nterasort,HDD,IB,20,1048576,valid\nterasort,HDD,IB,-3,1048576,valid\n")
    repository = ["--repository", str(tmp_path / "repository")]
    for _ in range(2):
        done = invoke(import_results, "table", str(table), *MAP, *repository)
        assert "results.csv:3" in done.output
    (bundle,) = (tmp_path / "repository" / "bundles").iterdir()
    (bundle / "runs.parquet").write_bytes(b"")
    refused = invoke(import_results, "table", str(table), *MAP, *repository)
    assert isinstance(refused.exception, AssayError)
    assert "delete this folder and import again" in str(refused.exception)


def test_a_repository_among_the_files_is_not_imported_into_itself(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("source: a paper\nruns:\n  - {workload: sort, duration: 5s, layout: HDD}\n")
    repository = ["--repository", str(tmp_path / "repository")]
    for _ in range(3):
        assert "left: " not in invoke(import_results, str(tmp_path), *repository).output
    assert len(json.loads(invoke(runs, "--json", *repository).output)) == 1


def test_other_differences_between_hosts_are_a_warning(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "repository")
    for number in range(8):
        layout, kernel = ("HD2", "6.1") if number % 2 else ("SS2", "6.12")
        environment = {"kernel": kernel, "jvm": "17"}
        repository.publish(make_run(number, layout=layout, duration_s=10.0 + number, environment=environment))
    words = ["layout", *OPTIONS, "--baseline", "HD2", "--repository", str(tmp_path / "repository")]
    shown = invoke(decide, *words).output
    assert "warning: kernel was not the same in all runs: 6.1 against 6.12" in shown
    assert "jvm" not in shown
    assert len(json.loads(invoke(decide, *words, "--json").output)["warnings"]) == 1
