"""Test the provisional ratio of the first runs of two options, alone and while a campaign runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.estimation.simulator.campaign import campaign_request
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.interfaces.cli.measure.run import run_campaign_request
from assay.model.runs.run_status import RunStatus
from assay.questions.decisions.provisional import FirstRuns, provisional_sentence
from builders import make_run
from simulator_support import needs_simulator, write_simulated_plan


def test_the_first_valid_run_of_each_option_gives_one_ratio_for_each_workload() -> None:
    first = FirstRuns("layout", "HD2")
    assert first.add(make_run(1, layout="SS2", workload="terasort", duration_s=30.0)) == ()
    assert first.add(make_run(2, layout="HD2", workload="terasort", duration_s=1.0, status=RunStatus.FAILED)) == ()
    assert first.add(make_run(3, layout="HD2", workload="wordcount", duration_s=50.0)) == ()
    [answer] = first.add(make_run(4, layout="HD2", workload="terasort", duration_s=60.0))
    assert answer.speedup == pytest.approx(2.0)
    assert provisional_sentence(answer) == (
        "provisional, one run each, no interval: TeraSort with 2 SSDs per worker (SS2) (30.0 s) against "
        "2 hard disks per worker (HD2) (60.0 s): 2.00×"
    )
    assert first.add(make_run(5, layout="SS2", workload="terasort", duration_s=10.0)) == (), "a second repetition"


def test_without_a_baseline_the_first_run_is_the_baseline() -> None:
    first = FirstRuns("layout", None)
    first.add(make_run(1, layout="SS2", duration_s=30.0))
    [answer] = first.add(make_run(2, layout="HD2", duration_s=60.0))
    assert (answer.baseline.layout, answer.speedup) == ("SS2", 0.5)


@needs_simulator
def test_a_campaign_prints_the_ratio_before_the_second_repetition(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request = campaign_request(load_plan(write_simulated_plan(tmp_path)))
    run_campaign_request(request, tmp_path / "r", first_runs=FirstRuns("layout", "HD2"))
    lines = capsys.readouterr().err.splitlines()
    [at] = [number for number, line in enumerate(lines) if line.startswith("provisional, one run each, no interval: ")]
    finished = [number for number, line in enumerate(lines) if "valid, simulated" in line]
    assert len(finished) == 4
    assert finished[1] < at < finished[2]
