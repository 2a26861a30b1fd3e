"""Test that repositories of version 0.1.0 open, verify, and give the same answers.

``tests/data/repositories-0.1.0.tar.xz`` holds one of runs measured on a lab, one of imported tables, both with that
version's index, and what its commands printed with ``--json``.
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
"""What is answered otherwise on purpose: a path in an answer, and why."""
BOOKS = {"examples/lab/prices.yaml": "examples/sandisk-2014/prices.yaml"}
"""Price books of version 0.1.0 that have other prices now, and the file with the same prices."""


def under_old_names(command: list[str], answer: Any) -> Any:
    """Return an answer of today under the names that version 0.1.0 gave its values."""
    if command[0] == "compare":
        rows = [_compared(row) for row in answer["results"]]
        return sorted(rows, key=lambda row: row["workload"])
    if command[0] == "speedup":
        return {
            **answer,
            "speedups": [_sped_up(row) for row in answer["results"]],
            "best": [_best(row) for row in answer["best"]],
        }
    if command[0] == "cost":
        return [_priced(plane) for plane in answer]
    if command[0] == "findings":
        return {origin: [_claimed(row) for row in rows] for origin, rows in answer["by_origin"].items()}
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


def _compared(row: dict[str, Any]) -> dict[str, Any]:
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


def _sped_up(row: dict[str, Any]) -> dict[str, Any]:
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


def _best(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "front": row["fastest"], "may_be_best": row["fastest_candidates"]}


def _priced(plane: dict[str, Any]) -> dict[str, Any]:
    rows = [{**row, "on_front": row["on_pareto_front"]} for row in plane["rows"]]
    return {**plane, "rows": rows, "flips": plane["switching_prices"]}


def _claimed(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "evidence": [{**number, "sets": number["groups"]} for number in row["evidence"]]}


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("old")
    with tarfile.open(OLD) as archive:
        archive.extractall(folder, filter="data")
    return folder


def known() -> Iterator[str]:
    with tarfile.open(OLD) as archive:
        member = archive.extractfile("answers.json")
        assert member is not None
        yield from json.loads(member.read())


def _is_changed(at: str) -> bool:
    return any(re.search(f"{path}$", at) for path in CHANGED)


def differences(then: Any, now: Any, at: str = "") -> Iterator[str]:
    """Yield each changed value; new keys are no difference."""
    if _is_changed(at):
        return
    if isinstance(then, dict) and isinstance(now, dict):
        for name, value in then.items():
            if name in now:
                yield from differences(value, now[name], f"{at}.{name}")
            elif not _is_changed(f"{at}.{name}"):
                yield f"{at}.{name} is gone"
    elif isinstance(then, list) and isinstance(now, list):
        if len(then) != len(now):
            yield f"{at}: {len(then)} items then, {len(now)} now"
        for number, (left, right) in enumerate(zip(then, now, strict=False)):
            yield from differences(left, right, f"{at}[{number}]")
    elif isinstance(then, str) and isinstance(now, dict) and "code" in now:  # a warning was words alone
        yield from differences(then, now.get("words"), at)
    elif isinstance(then, float) and isinstance(now, int | float) and math.isclose(then, now, rel_tol=1e-9):
        return
    elif then != now:
        yield f"{at}: {then!r} then, {now!r} now"


@pytest.mark.parametrize("name", REPOSITORIES)
def test_an_old_repository_is_whole(old: Path, name: str) -> None:
    result = CliRunner().invoke(assay, ["verify", "--repository", str(old / name)])
    assert (result.exit_code, result.output) == (0, "Every bundle is intact.\n")


@pytest.mark.parametrize("question", [*known()])
def test_an_old_repository_answers_as_before(old: Path, question: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    asked = json.loads((old / "answers.json").read_text())[question]
    repository = str(old / question.partition("/")[0])
    command = [BOOKS.get(word, word) for word in asked["command"]]
    result = CliRunner().invoke(assay, [*command, "--repository", repository, "--json"])
    assert result.exit_code == 0, result.output
    now = under_old_names(asked["command"], json.loads(result.stdout))
    assert [*differences(asked["answer"], now, f"{question}:")] == []


def test_host_and_lab_records_of_old_runs_are_read_as_values(old: Path) -> None:
    runs = Repository.open(old / "measured").runs()
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
