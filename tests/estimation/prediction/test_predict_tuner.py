"""Test tuning: candidates, the next trial, failed and hopeless trials, and the final comparison."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from assay.estimation.tuning.planned_tuning import TUNING, TuningRequest, WarmStart
from assay.estimation.tuning.space import LEVELS_MAX, Space, space_of
from assay.estimation.tuning.tuner import SLOW_RUN_TIMEOUT_MIN_S, Strategy, Tuner
from assay.estimation.tuning.tuning import CandidateRun, first_candidates
from assay.execution.planning.order import PlannedRun
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.foundation.errors import AssayError, SpecificationError
from assay.interfaces.cli.main import assay
from assay.model.runs.origin import Origin
from assay.model.runs.run import Run
from assay.model.runs.run_status import FailureClass, RunStatus
from assay.questions.forecasts.tuning import TuningState, planned_tuning, state_of, tuning_state
from assay.store import Repository
from assay.store.bundles.ids import new_run_id
from assay.store.campaigns.journal import create_campaign
from benchmark_support import benchmark
from builders import make_run
from paths import ROOT
from simulator_support import needs_simulator

pytestmark = pytest.mark.slow

PLAN = ROOT / "examples" / "bsc-2015" / "quick-containers.yaml"
OVER = ("containers=1..6", "mapreduce.task.io.sort.mb=5..60")


def space(*over: str, at: dict[str, str] | None = None) -> Space:
    return space_of(load_plan(PLAN), "terasort", at or {}, over or OVER, 10)


def run_of(planned: PlannedRun, duration_s: float, failure: FailureClass | None = None) -> Run:
    return make_run(
        run_id=f"run-{planned.index}",
        workload=planned.workload.key,
        levels=dict(planned.configuration.levels),
        repetition=planned.repetition,
        block=planned.block,
        position=planned.index,
        duration_s=duration_s,
        status=RunStatus.FAILED if failure else RunStatus.VALID,
        failure_class=failure,
    )


def finished_runs(tuner: Tuner, time_of: Callable[[PlannedRun], float], finished: list[Run] | None = None) -> list[Run]:
    runs = list(finished or [])
    while remaining_runs := tuner(tuner.space.plan, (), runs):
        runs.append(run_of(remaining_runs[0], time_of(remaining_runs[0])))
    return runs


def bowl_time(planned: PlannedRun, noise: float = 0.03) -> float:
    """Return a time, shortest with 4 containers and 20 MB, with noise that follows from the number of the run."""
    levels = planned.configuration.levels
    containers, buffer_mb = int(levels["containers"]), int(levels["mapreduce.task.io.sort.mb"])
    log_ratio = (containers - 4) ** 2 * 0.05 + math.log(buffer_mb / 20) ** 2 / 4
    return float(100.0 * math.exp(log_ratio + np.random.default_rng(planned.index).normal(0.0, noise)))


def test_candidates_are_the_combinations_and_the_first_is_the_plans_configuration() -> None:
    tuning_space = space()
    assert tuning_space.levels(0) == {"containers": "2", "mapreduce.task.io.sort.mb": "5"}
    assert [len(dimension.levels) for dimension in tuning_space.dimensions] == [6, LEVELS_MAX]
    assert tuning_space.combinations == len(tuning_space.points) == 6 * LEVELS_MAX
    planned = tuning_space.run(5, 3, 7, 1)
    assert planned is not None
    assert planned.configuration.levels == {"layout": "HDD", **tuning_space.levels(5)}
    assert (
        planned.configuration.parameters["mapreduce.task.io.sort.mb"]
        == tuning_space.levels(5)["mapreduce.task.io.sort.mb"]
    )
    assert tuning_space.candidate_of(dict(planned.configuration.levels)) == 5
    assert tuning_space.coordinates().shape == (len(tuning_space.points), 2)


def test_impossible_candidates_are_not_tried_and_have_the_reason_of_the_engine() -> None:
    tuning_space = space("containers=2..30")
    assert tuning_space.why_not(0) is None
    assert "3.2 GB" in (tuning_space.why_not(len(tuning_space.points) - 1) or "")
    tuner = Tuner(tuning_space, 8, 0)
    runs = finished_runs(tuner, lambda planned: 100.0 / int(planned.configuration.levels["containers"]))
    tried_containers = {int(run.levels["containers"]) for run in runs}
    assert max(tried_containers) == max(
        int(tuning_space.points[index][0] or 0) for index in np.flatnonzero(tuner.possible)
    )


def test_the_engine_default_of_the_plan_is_a_separate_candidate() -> None:
    tuning_space = space("compression=none,snappy")
    assert tuning_space.points[0] == (None,)
    planned = tuning_space.run(0, 1, 0, 0)
    assert planned is not None
    assert "compression" not in planned.configuration.levels


@pytest.mark.parametrize(
    ("over", "words"),
    [
        (("containers",), "is not NAME=LEVELS"),
        (("containers=",), "is not NAME=LEVELS"),
        (("containers=4",), "only one level"),
        (("containers=9..2",), "write the lower end first"),
        (("containers=2..x",), "is not a range"),
        (("containers=2,2",), "given twice"),
        (("containers=2,,4",), "a level is missing"),
        (("containers=2..4", "containers=5..6"), "named twice"),
        (("dfs.blocksize=16MiB..64MB",), "in one unit"),
        (("workers.count=2..4",), "a tuning does not change"),
        (("terasort.data=1GB,2GB",), "changes the work"),
        (("container=2..4",), "containers"),
        ((), "no parameter is varied"),
        (tuple(f"a.b{number}=1,2" for number in range(13)), "the maximum is 12"),
    ],
)
def test_a_factor_that_cannot_be_varied_is_refused_with_the_reason(over: tuple[str, ...], words: str) -> None:
    with pytest.raises(SpecificationError) as raised:  # which words is asserted below
        space_of(load_plan(PLAN), "terasort", {}, over, 10)
    assert words in f"{raised.value}"


def test_a_request_that_cannot_be_tuned_is_refused_with_a_message() -> None:
    plan = load_plan(PLAN)
    for request, words in (
        (TuningRequest(OVER, "wordcount", 10), "workload"),
        (TuningRequest(OVER, "terasort", 10, at={"layout": "SS9"}), "level of layout"),
        (TuningRequest(OVER, "terasort", 10, at={"disk": "HDD"}), "factor of the plan"),
        (TuningRequest(OVER, "terasort", 3), "too few"),
        (TuningRequest(("containers=100,200",), "terasort", 10), "none of these configurations can be run"),
    ):
        with pytest.raises(AssayError) as raised:
            planned_tuning(plan, request, None, None, Origin.MEASURED)
        assert words in str(raised.value)


def test_the_search_finds_the_fastest_configuration_despite_noise_and_sooner_than_random_search() -> None:
    def relative_time(strategy: Strategy, seed: int) -> float:
        tuner = Tuner(space(), 16, 0, strategy, seed=seed)
        runs = finished_runs(tuner, lambda planned: bowl_time(replace(planned, index=planned.index + 100 * seed)))
        winner = tuner.winner(tuner.candidate_runs(runs))
        planned = tuner.space.run(winner or 0, 1, 999, 0)
        assert planned is not None
        return bowl_time(planned, noise=0.0) / 100.0

    assert np.mean([relative_time(Strategy.BAYESIAN, seed) for seed in (1, 2)]) < 1.02
    assert np.mean([relative_time(Strategy.RANDOM, seed) for seed in range(1, 9)]) > 1.03


def test_the_final_comparison_uses_new_runs_in_turn_and_repeats_failed_ones() -> None:
    tuner = Tuner(space(), 8, 2)
    runs = finished_runs(tuner, bowl_time)
    assert len(runs) == 12
    comparison_runs = runs[8:]
    is_baseline = [
        run.levels["containers"] == "2" and run.levels["mapreduce.task.io.sort.mb"] == "5" for run in comparison_runs
    ]
    assert is_baseline == [True, False, False, True]
    assert [run.block for run in comparison_runs] == [8, 8, 9, 9]
    keys = [(tuple(run.levels.items()), run.repetition) for run in runs]
    assert len(set(keys)) == len(keys)  # no planned run twice
    with_failed_run = [*runs[:-1], replace(runs[-1], status=RunStatus.FAILED, failure_class=FailureClass.ENGINE)]
    assert [planned.index for planned in tuner(tuner.space.plan, (), with_failed_run)] == [11]


def test_an_interrupted_call_continues_with_the_same_runs() -> None:
    all_runs = finished_runs(Tuner(space(), 10, 1), bowl_time)
    for run_count in (1, 5, 10, 11):
        continued_runs = finished_runs(Tuner(space(), 10, 1), bowl_time, all_runs[:run_count])
        assert [(run.levels, run.repetition) for run in continued_runs] == [
            (run.levels, run.repetition) for run in all_runs
        ]


def test_a_failed_candidate_is_not_retried_unless_its_host_was_lost() -> None:
    tuner = Tuner(space(), 12, 0)
    first = tuner(tuner.space.plan, (), [])[0]
    second = tuner(tuner.space.plan, (), [run_of(first, 100.0)])[0]
    for failure, is_candidate_failure in ((FailureClass.WORKLOAD, True), (FailureClass.INFRASTRUCTURE, False)):
        runs = [run_of(first, 100.0), run_of(second, 1.0, failure)]
        assert (
            CandidateRun(tuner.space.candidate_of(dict(second.configuration.levels)) or 0, None)
            in tuner.candidate_runs(runs)
        ) is is_candidate_failure
        all_runs = list(runs)
        while remaining_runs := tuner(tuner.space.plan, (), all_runs):
            all_runs.append(run_of(remaining_runs[0], bowl_time(remaining_runs[0])))
        retries = [run for run in all_runs[2:] if run.levels == second.configuration.levels]
        assert not retries or not is_candidate_failure


def test_a_run_far_slower_than_the_fastest_is_stopped() -> None:
    tuner = Tuner(space(), 8, 0)
    first = tuner(tuner.space.plan, (), [])[0]
    assert first.at_most_s is None
    assert tuner(tuner.space.plan, (), [run_of(first, 100.0)])[0].at_most_s == pytest.approx(250.0)
    assert tuner(tuner.space.plan, (), [run_of(first, 1.0)])[0].at_most_s == SLOW_RUN_TIMEOUT_MIN_S


def test_a_search_starts_from_an_estimate_and_learns_its_error() -> None:
    tuner = Tuner(space(), 12, 0)
    estimate = np.zeros(len(tuner.possible))
    estimate[17] = -1.0
    assert first_candidates(tuner.possible, 3, estimate, 1)[0] == 17
    warm_tuner = replace(tuner, estimate=estimate, _orders={})
    runs = finished_runs(warm_tuner, bowl_time)
    assert (warm_tuner.winner(warm_tuner.candidate_runs(runs)) or 0) != 17  # the estimate is wrong: it is slow


def test_a_tuning_without_an_expected_gain_records_this_even_after_one_fast_run(tmp_path: Path) -> None:
    """All candidates are equally fast. In the chosen search, one was fastest by chance, and no gain is expected."""
    request = TuningRequest(OVER, "terasort", 10, 2)
    tuning = planned_tuning(load_plan(PLAN), request, None, None, Origin.MEASURED)
    journal = create_campaign(Repository.create(tmp_path).folders.campaigns, tuning.plan, 14)
    tuning.write_description(journal)

    def state(runs: list[Run]) -> TuningState:
        document = json.loads((journal.folder / TUNING).read_text())
        return state_of(journal.campaign_id, document, {}, runs)

    for seed in range(30):
        tuning = replace(tuning, tuner=replace(tuning.tuner, seed=seed, _orders={}))
        search_runs = finished_runs(replace(tuning.tuner, pairs=0), partial(equal_time, seed=seed))
        campaign_runs = [replace(run, campaign_id=journal.campaign_id) for run in search_runs]
        best = state(campaign_runs).search_best
        if (
            tuning.tuner.expects_no_gain(campaign_runs)
            and best is not None
            and best.levels != state(campaign_runs).defaults
        ):
            break
    else:
        pytest.fail("every search expected a gain over the luckiest configuration")
    assert not tuning.tuner.expects_no_gain(campaign_runs[:-1])
    assert (state(campaign_runs).claim, state(campaign_runs).complete) == ("not compared yet", False)
    tuning.record_expectation(journal, campaign_runs)
    assert (state(campaign_runs).claim, state(campaign_runs).complete) == (
        "the search found nothing faster than the plan's configuration",
        True,
    )


def equal_time(planned: PlannedRun, seed: int) -> float:
    return float(60.0 * math.exp(np.random.default_rng((seed, planned.index)).normal(0.0, 0.05)))


@pytest.mark.parametrize(("low", "high", "truth", "wrong"), [(1.1, 1.2, 1.0, True), (1.1, 1.2, 1.15, False)])
def test_the_benchmark_of_tunings_counts_a_false_result_as_wrong(
    low: float, high: float, truth: float, wrong: bool
) -> None:
    module = benchmark("tuning_errors")
    outcome = module.ScoredTuning(True, False, 1.2, 1.15, low, high, truth, 1.3)
    assert (outcome.faster, outcome.slower, outcome.wrong, outcome.holds) == (True, False, wrong, not wrong)
    slower_outcome = module.ScoredTuning(True, False, 0.9, 1 / 1.15, 1 / high, 1 / low, 1 / truth, 1.3)
    assert (slower_outcome.faster, slower_outcome.slower, slower_outcome.wrong) == (False, True, wrong)
    unclear_outcome = module.ScoredTuning(True, False, 1.0, 1.0, 0.9, 1.1, truth, 1.3)
    assert (unclear_outcome.wrong, unclear_outcome.holds) == (False, truth == 1.0)


def test_the_benchmark_of_tunings_knows_the_true_gain() -> None:
    module = benchmark("tuning_errors")
    [outcome] = module.tunings("one gain of 1.3", Strategy.RANDOM, 1, seed=2)
    assert outcome.best == pytest.approx(1.3)
    assert outcome.truth in (pytest.approx(1.3), pytest.approx(1.0))
    assert module.row([outcome])[0] == "0.0%"


@needs_simulator
def test_a_tuning_by_simulation_stops_continues_and_reports_its_result(tmp_path: Path) -> None:
    arguments = ["tune", str(PLAN), "--at", "layout=HD5", "--for", "terasort", "--budget", "8runs", "--pairs", "2"]
    arguments += ["--over", "containers=1..6", "--over", "compression=none,snappy"]
    arguments += ["--simulate", "--repository", str(tmp_path), "--json"]
    first_result = CliRunner().invoke(assay, [*arguments, "--until", "3 runs"])
    assert first_result.exit_code == 1, "the search is not over"
    first_answer = json.loads(first_result.stdout)
    assert (first_answer["searched"], first_answer["complete"], first_answer["ratio"]) == (3, False, None)
    assert "the search is not finished: 3 of 8" in first_answer["claim"]
    second_result = CliRunner().invoke(assay, arguments)
    assert second_result.exit_code == 0
    second_answer = json.loads(second_result.stdout)
    assert second_answer["campaign_id"] == first_answer["campaign_id"]
    assert [trial["run_id"] for trial in second_answer["trials"][:3]] == [
        trial["run_id"] for trial in first_answer["trials"]
    ]
    assert second_answer["complete"]
    assert second_answer["searched"] == 8
    assert second_answer["ratio_low"] < second_answer["ratio"] < second_answer["ratio_high"]
    assert second_answer["compared"]["runs"] == second_answer["compared_defaults"]["runs"] == 2
    assert second_answer["origin"] == "simulated"
    third_result = CliRunner().invoke(assay, arguments)
    assert "no runs left" in third_result.output
    assert third_result.exit_code == 0
    state = tuning_state(Repository.open(tmp_path), first_answer["campaign_id"][:8])
    assert state.complete
    random_answer = json.loads(CliRunner().invoke(assay, [*arguments, "--strategy", "random"]).stdout)
    assert random_answer["campaign_id"] != first_answer["campaign_id"]


def repository_of(folder: Path, runs: int, **fields: object) -> Repository:
    """Return a repository with runs of another campaign on the plan's cluster, with the times of ``bowl_time``."""
    repository, tuning_space = Repository.create(folder), space()
    for position in range(runs):
        planned = tuning_space.run(1 + position * 37 % (len(tuning_space.points) - 1), 1, position, position)
        if planned is None:
            continue
        workload = planned.workload
        document: dict[str, object] = {
            "run_id": new_run_id(),
            "campaign_id": "another",
            "cluster": tuning_space.plan.cluster.name,
            "lab_scale": tuning_space.plan.cluster.scale,
            "workload": workload.key,
            "workload_parameters": {"program": workload.name, **workload.parameters},
            "layout": planned.configuration.layout.name,
            "levels": dict(planned.configuration.levels),
            "parameters": dict(planned.configuration.parameters),
            "data_bytes": round(workload.data_bytes * tuning_space.plan.cluster.scale),
            "position": position,
            "duration_s": bowl_time(planned),
        }
        changes: dict[str, Any] = {"origin": Origin.MEASURED, **document, **fields}
        repository.publish(make_run(**changes))
    return repository


def test_a_search_can_begin_with_a_prediction_from_other_runs(tmp_path: Path) -> None:
    request = TuningRequest(OVER, "terasort", 8, warm=WarmStart.PREDICTION)
    tuning = planned_tuning(load_plan(PLAN), request, repository_of(tmp_path, 60), None, Origin.MEASURED)
    estimate = tuning.tuner.estimate
    assert estimate is not None
    assert "from" in tuning.lines()[-1]
    assert "measured runs" in tuning.lines()[-1]
    planned = tuning.tuner.space.run(int(np.argmin(estimate)), 1, 1, 1)
    assert planned is not None
    assert bowl_time(planned, noise=0.0) < 1.15 * 100.0
    first = tuning.tuner(tuning.plan, (), [run_of(tuning.tuner._search_run(0, 1, (), 0), 100.0)])[0]
    assert tuning.tuner.space.candidate_of(dict(first.configuration.levels)) == int(np.argmin(estimate))


def test_a_prediction_for_unknown_levels_is_refused_with_a_message(tmp_path: Path) -> None:
    request = TuningRequest(OVER, "terasort", 8, warm=WarmStart.PREDICTION)
    other_workload = repository_of(
        tmp_path / "other", 40, workload="wordcount", workload_parameters={"program": "wordcount"}
    )
    few_runs = repository_of(tmp_path / "few", 5)
    for repository, origin, words in (
        (None, Origin.MEASURED, "there is no repository to predict from"),
        (few_runs, Origin.MEASURED, "5 valid runs are too few to learn from"),
        (few_runs, Origin.SIMULATED, "0 valid runs are too few to learn from"),
        (other_workload, Origin.MEASURED, "predict none of these configurations: no run has workload terasort"),
    ):
        with pytest.raises(SpecificationError) as raised:  # which words is asserted below
            planned_tuning(load_plan(PLAN), request, repository, None, origin)
        assert words in str(raised.value)
        assert "--warm simulation" in str(raised.value)


def test_the_runs_of_a_tuning_do_not_change_its_estimate(tmp_path: Path) -> None:
    plan, request = load_plan(PLAN), TuningRequest(OVER, "terasort", 8, warm=WarmStart.PREDICTION)
    repository = repository_of(tmp_path, 60)
    before = planned_tuning(plan, request, repository, None, Origin.MEASURED)
    journal = create_campaign(repository.folders.campaigns, before.plan, 8)
    before.write_description(journal)
    first = before.tuner(before.plan, (), [])[0]
    repository.publish(replace(run_of(first, 1.0), run_id=new_run_id(), campaign_id=journal.campaign_id))
    after = planned_tuning(plan, request, repository, None, Origin.MEASURED)
    assert before.tuner.estimate is not None
    assert after.tuner.estimate is not None
    assert np.array_equal(before.tuner.estimate, after.tuner.estimate)


def test_times_that_never_differ_end_a_search_without_a_gain() -> None:
    tuner = Tuner(space(), 8, 1)
    runs = finished_runs(tuner, lambda planned: 100.0)
    assert len(runs) in (8, 10)  # with a comparison, or without one


def test_a_search_treats_contradictory_runs_as_noise() -> None:
    tuner = Tuner(space(), 12, 0)
    runs = finished_runs(tuner, lambda planned: 100.0 if planned.index % 2 else 300.0)
    assert tuner.posterior(tuner.candidate_runs(runs)).noise > 0.1
