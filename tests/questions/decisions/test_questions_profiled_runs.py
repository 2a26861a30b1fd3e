"""Test that no question compares profiled with unprofiled runs unless it is asked about profiles."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from assay.analysis.statistics import Verdict, table_of
from assay.interfaces.cli.main import assay
from assay.model import PROFILED
from assay.model.runs.run import Run
from assay.questions.decisions.decide import decide
from assay.questions.decisions.decision import DecisionRequest
from assay.store import Repository
from builders import build_repository, interleaved, make_run
from simulator_support import measured_repository, needs_simulator

PLAIN_S = {"HD2": [60.0, 63.0, 57.0], "SS2": [30.0, 31.0, 29.5]}


def runs_of(times_s: dict[str, list[float]], first: int, profile: str | None = None) -> list[Run]:
    runs = [
        make_run(first + number, layout=layout, levels={"layout": layout}, duration_s=time_s)
        for number, (layout, time_s) in enumerate((name, time) for name, times in times_s.items() for time in times)
    ]
    return interleaved(
        replace(run, parameters={**run.parameters, PROFILED: profile}) if profile else run for run in runs
    )


def ratios(runs: Sequence[Run], factor: str = "layout") -> list[tuple[str, Verdict, float | None]]:
    decisions = decide(table_of(list(runs)), DecisionRequest(factor))
    return [
        (result.option, result.verdict, result.time.ratio if result.time else None)
        for decision in decisions
        for result in decision.results
    ]


def test_a_decision_compares_profiled_runs_with_profiled_runs_only() -> None:
    plain = runs_of(PLAIN_S, 0)
    alone = ratios([*plain, *runs_of({"SS2": [5.0, 5.1, 5.2]}, 10, "cpu")])
    assert alone == ratios(plain), "profiled runs of one option have no partner"
    mixed = ratios([*runs_of({"HD2": PLAIN_S["HD2"]}, 0), *runs_of({"SS2": PLAIN_S["SS2"]}, 10, "cpu")])
    assert all(ratio is None for _, _, ratio in mixed)


def test_a_decision_on_profiles_compares_profiled_with_unprofiled_runs() -> None:
    runs = [*runs_of(PLAIN_S, 0), *runs_of({"HD2": [66.0, 69.3, 62.7]}, 10, "cpu")]
    varied = [replace(run, levels={**run.levels, "profile": run.parameters.get(PROFILED, "off")}) for run in runs]
    ((option, _, ratio),) = ratios(varied, "profile")
    assert ratio == pytest.approx(60 / 66 if option == "cpu" else 66 / 60)


@pytest.mark.parametrize("command", [("decide", "layout", "--details", "groups"), ("decide",)])
def test_commands_answer_as_without_the_profiled_runs(command: tuple[str, ...], tmp_path: Path) -> None:
    plain = runs_of(PLAIN_S, 0)
    extra = runs_of({"SS2": [5.0, 5.1, 5.2]}, 10, "cpu")
    answers = []
    for name, runs in (("plain", plain), ("both", [*plain, *extra])):
        build_repository(tmp_path / name, runs)
        done = CliRunner().invoke(assay, [*command, "--json", "--repository", str(tmp_path / name)])
        assert done.exit_code == 0, (done.output, done.exception)
        answers.append(done.stdout)
    assert speedups(json.loads(answers[0])) == speedups(json.loads(answers[1])) != []


def speedups(answer: Any) -> list[float]:
    """Return every value of a key ``ratio`` or ``speedup``, in order."""
    if isinstance(answer, dict):
        numbers = [value for key, value in answer.items() if key in ("ratio", "speedup") and isinstance(value, float)]
        return numbers + [number for value in answer.values() for number in speedups(value)]
    return [number for value in answer for number in speedups(value)] if isinstance(answer, list) else []


@needs_simulator
def test_a_what_if_answer_does_not_read_profiled_runs_with_unprofiled_ones(tmp_path: Path) -> None:
    store = measured_repository(tmp_path / "plain")
    shutil.copytree(store.root, tmp_path / "both")
    both = Repository.open(tmp_path / "both")
    for number, path in enumerate(sorted(store.root.glob("bundles/*/run.json"))):
        run = store.run(json.loads(path.read_text())["run_id"])
        profiled = {**run.parameters, PROFILED: "cpu"}
        copy = replace(
            run, run_id=f"{run.run_id[:-4]}{9000 + number}", parameters=profiled, duration_s=run.duration_s * 3
        )
        both.publish(copy, tasks=store.tasks(run.run_id), trace=store.trace(run.run_id))
    change = ["whatif", "--where", "layout=HD2", "--where", "workload=terasort", "--set", "layout=SS2", "--json"]
    answers = []
    for root in (store.root, both.root):
        done = CliRunner().invoke(assay, [*change, "--repository", str(root)])
        assert done.exit_code == 0, (done.output, done.exception)
        answers.append([(row["n_measured"], row["measured_s"]) for row in json.loads(done.output)["configurations"]])
    assert answers[0][0] in answers[1]
    assert {count for count, _ in answers[1]} == {answers[0][0][0]}, "no answer mixes both"
