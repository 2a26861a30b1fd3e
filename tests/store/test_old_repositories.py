"""Test that repositories of version 0.1.0 open, verify, and give the same answers.

``tests/data/repositories-0.1.0.tar.xz`` holds a repository of runs measured on a lab and one of imported tables, both
with that version's index, and the output of its commands with ``--json``.
"""

from __future__ import annotations

import json
import math
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from assay.interfaces.cli.main import assay
from assay.model.clusters.layout_code import devices_of_code
from assay.model.runs.environment import LabFacts
from assay.store import Repository
from paths import ROOT, TESTS

OLD = TESTS / "data" / "repositories-0.1.0.tar.xz"
REPOSITORIES = ("measured", "imported")
CHANGED: dict[str, str] = {
    r"\.(runtime|time)_(low|high)_s": "fewer than five runs have the pooled scatter of their work",
    r"\.cost(_per_job)?_(low|high)": "so do their costs, and where prices are exact nothing is drawn",
    r"\.(front|cheapest|fastest)_probability": "costs have verdicts; shares of random draws are gone",
    r"\.evidence\[\d+\]\.label": "a gain says which layouts it pools, and whether it is one in time or in cost",
    r"\.measured\[3\]\.evidence\[1\]\.\w+": "containers with disks are compared within clusters that have both",
    r"\.(sentence|claim|remark|verdict)": "results hold values; sentences are made when they are shown",
    r"\.method": "methods are named after matched groups",
    r"measured/speedup:\.speedups\[0\]\.conclusion": "one matched group of fewer than three runs a side has no verdict",
    r"\.holm_p": "the correction is of the p value that the verdict rests on, no longer of the rank test's",
    r"\.best\[\d+\]\.(may_be_best|slower(\..*)?)": "the fastest candidates rest on all groups together, as one family",
    r"measured/compare:\[1\]\.warnings\[0\]": "the size of the devices' difference is not known",
    r"measured/cost:\[\d\]\.take": "all runs of a row count by default",
    r"measured/cost:\[\d\]\.rows\[\d\]\.rank": "the cheapest option and its ties share the first rank",
    r"imported/speedup-ignore:.*": "an ignored factor that differs between sides confounds, so no interval is given",
    r"measured/tco:\.note": "the note is for every comparison in a lab, not for layouts alone",
    r"measured/tco:\.performance\[0\]\.\w+": "a workload with too few runs is not in a mean",
    r"imported/findings:\.measured\[2\]\.evidence\[1\]\..*": "both gains of a claim rest on shared workloads",
    r"imported/findings:\.measured\[[24]\]\.evidence\[\d\]\.\w+": "claims have the estimates of decisions",
    r"imported/findings:\.published\[4\]\.evidence\[1\]\.sets": "a condition is compared on clusters with both sides",
}
"""Path of a value in an answer that changed on purpose, to the reason."""
BOOKS = {"examples/lab/prices.yaml": "examples/sandisk-2014/prices.yaml"}
"""Price book of version 0.1.0 whose prices changed, to the file that has its old prices."""


def under_old_names(command: list[str], answer: Any) -> Any:
    """Return an answer of this version under the names of version 0.1.0."""
    if command[0] == "compare":
        rows = [_comparison_row(row) for row in answer["results"]]
        return sorted(rows, key=lambda row: row["workload"])
    if command[0] == "speedup":
        return {
            **answer,
            "speedups": [_speedup_row(row) for row in answer["results"]],
            "best": [_best_row(row) for row in answer["best"]],
        }
    if command[0] == "cost":
        return [_cost_result(result) for result in answer]
    if command[0] == "findings":
        return {origin: [_claim_row(row) for row in rows] for origin, rows in answer["by_origin"].items()}
    if command[0] == "show":
        return {**answer, "detail": {**answer["detail"], "asked": answer["detail"]["requested"]}}
    if command[0] in ("anomalies", "changes"):  # these were lists
        return answer["anomalies" if command[0] == "anomalies" else "histories"]
    return answer


CONCLUSIONS = {
    "not distinguishable": "no_difference_shown",
    "not enough runs": "not_enough_runs",
    "not compared": "not_enough_runs",
}
EXCLUSIONS = {"failed": "failed", "invalid": "invalid", "warm": "warm beside cold runs"}


def _comparison_row(row: dict[str, Any]) -> dict[str, Any]:
    runs, excluded = row["runs"], row["excluded"]
    baseline, candidate = runs["baseline"], runs["candidate"]

    def pairs(of: Any) -> dict[str, Any]:
        b, c = of(baseline), of(candidate)
        return {name: {"baseline": b.get(name), "candidate": c.get(name)} for name in {**b, **c}}

    return {
        **{name: row[name] for name in ("context", "factor", "baseline", "candidate", "ratio", "origin", "holm_p")},
        "workload": row["group"],
        "lab_scale": row["lab_scale"] and float(row["lab_scale"]),
        "n_baseline": row["runs_baseline"],
        "n_candidate": row["runs_candidate"],
        "ratio_low": row["low"],
        "ratio_high": row["high"],
        "method": row["method"],
        "paired": "paired" in row["method"],
        "conclusion": CONCLUSIONS.get(row["verdict"], row["verdict"]),
        "rank_test_p": runs["rank_test"]["p"],
        "smallest_reachable_p": runs["rank_test"]["smallest_reachable_p"],
        "cliffs_delta": runs["rank_test"]["delta"],
        **{
            f"{name}_{value}_s": side[f"{value}_s"]
            for name, side in (("baseline", baseline), ("candidate", candidate))
            for value in ("median", "mean")
        },
        "phases_s": pairs(lambda side: {phase["name"]: phase["duration_s"] for phase in side["phases"]}),
        "throughputs_mb_per_s": pairs(lambda side: side["throughputs_mb_per_s"]),
        **{f"excluded_{name}": excluded.get(name, 0) for name in EXCLUSIONS},
        "warnings": row["warnings"],
        "baseline_summary": baseline,
        "candidate_summary": candidate,
        "claim": None,
        "remark": None,
        "verdict": None,
    }


def _speedup_row(row: dict[str, Any]) -> dict[str, Any]:
    reasons = EXCLUSIONS | {
        "no_baseline": f"no run of {row['baseline']} is otherwise equal",
        "no_candidate": f"no run of {row['candidate']} is otherwise equal",
    }
    return {
        **row,
        "sets": row["groups"],
        "unmatched": {reasons[reason]: count for reason, count in row["excluded"].items()},
        "conclusion": CONCLUSIONS.get(row["verdict"], row["verdict"]),
        "sentence": None,
    }


def _best_row(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "front": row["fastest"], "may_be_best": row["fastest_candidates"]}


def _cost_result(result: dict[str, Any]) -> dict[str, Any]:
    rows = [{**row, "on_front": row["on_pareto_front"]} for row in result["rows"]]
    return {**result, "rows": rows, "flips": result["switching_prices"]}


def _claim_row(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "evidence": [{**number, "sets": number["groups"]} for number in row["evidence"]]}


@pytest.fixture(scope="module")
def old_repositories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("old")
    with tarfile.open(OLD) as archive:
        archive.extractall(folder, filter="data")
    return folder


def questions() -> Iterator[str]:
    with tarfile.open(OLD) as archive:
        member = archive.extractfile("answers.json")
        assert member is not None
        yield from json.loads(member.read())


def _is_changed(value_path: str) -> bool:
    return any(re.search(f"{changed_path}$", value_path) for changed_path in CHANGED)


def differences(old_value: Any, new_value: Any, path: str = "") -> Iterator[str]:
    """Yield each changed value. A new key is not a difference."""
    if _is_changed(path):
        return
    if isinstance(old_value, dict) and isinstance(new_value, dict):
        for name, value in old_value.items():
            if name in new_value:
                yield from differences(value, new_value[name], f"{path}.{name}")
            elif not _is_changed(f"{path}.{name}"):
                yield f"{path}.{name} is gone"
    elif isinstance(old_value, list) and isinstance(new_value, list):
        if len(old_value) != len(new_value):
            yield f"{path}: {len(old_value)} items then, {len(new_value)} now"
        for number, (left, right) in enumerate(zip(old_value, new_value, strict=False)):
            yield from differences(left, right, f"{path}[{number}]")
    elif isinstance(old_value, str) and isinstance(new_value, dict) and "code" in new_value:  # a warning was a text
        yield from differences(old_value, new_value.get("words"), path)
    elif (
        isinstance(old_value, float)
        and isinstance(new_value, int | float)
        and math.isclose(old_value, new_value, rel_tol=1e-9)
    ):
        return
    elif old_value != new_value:
        yield f"{path}: {old_value!r} then, {new_value!r} now"


@pytest.mark.parametrize("name", REPOSITORIES)
def test_an_old_repository_is_intact(old_repositories: Path, name: str) -> None:
    result = CliRunner().invoke(assay, ["verify", "--repository", str(old_repositories / name)])
    assert (result.exit_code, result.output) == (0, "Every bundle is intact.\n")


@pytest.mark.parametrize("question", [*questions()])
def test_an_old_repository_answers_as_before(
    old_repositories: Path, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    recorded = json.loads((old_repositories / "answers.json").read_text())[question]
    repository = str(old_repositories / question.partition("/")[0])
    command = [BOOKS.get(word, word) for word in recorded["command"]]
    result = CliRunner().invoke(assay, [*command, "--repository", repository, "--json"])
    assert result.exit_code == 0, result.output
    answer = under_old_names(recorded["command"], json.loads(result.stdout))
    assert [*differences(recorded["answer"], answer, f"{question}:")] == []


def test_host_and_lab_records_of_old_runs_are_read_as_values(old_repositories: Path) -> None:
    runs = Repository.open(old_repositories / "measured").runs()
    assert runs
    for run in runs:
        environment, lab = run.recorded, LabFacts.of(run.environment["lab"])
        assert environment.cluster is not None
        assert (environment.cluster.workers, environment.cluster.layout is not None) == (3, True)
        assert environment.layout_devices == devices_of_code(run.layout)
        assert environment.assay_version == "0.1.0"
        assert all(node.kernel and node.java and node.memory_bytes for node in environment.nodes.values())
        assert lab.nodes.keys() == lab.control_groups.keys() == environment.nodes.keys()
        assert environment.request_bytes["ssd1"] == 65536
