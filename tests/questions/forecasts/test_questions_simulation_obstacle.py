"""Test the commands that answer as far as possible where measured runs can't be simulated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from assay.questions.commands import CommandOptions
from assay.questions.forecasts.whatif.simulation_obstacle import hint_of, near_answers, simulation_obstacle
from assay.store import Repository
from builders import make_run


def test_the_commands_keep_the_price_book_and_predict_where_the_runs_allow_it(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "r")
    for number in range(8):
        network = "IB" if number % 2 else "ETH"
        run = make_run(number, levels={"layout": "HD2", "network": network}, duration_s=100.0 + number)
        repository.publish(replace(run, plan="", campaign_id="imported"))
    runs = list(repository.runs())
    obstacle = simulation_obstacle(repository, repository.table(), runs, [("nic", "25Gbit/s")])
    options = CommandOptions(str(repository.root))
    commands = [near.command for near in near_answers(obstacle, replace(options, prices="my prices.yaml"))]
    [decide] = [command for command in commands if command.startswith("assay decide network ")]
    assert decide == f"assay decide network --prices 'my prices.yaml' --repository {repository.root}"
    assert commands[-1] == "assay run --help"
    assert not obstacle.prediction, "too few runs"
    assert not any(command.startswith("assay predict") for command in commands)
    predictable = near_answers(replace(obstacle, prediction=("workload=terasort",)), options)
    [predict] = [near for near in predictable if near.address == "/predict"]
    assert predict.command == f"assay predict --where workload=terasort --repository {repository.root}"
    assert not any("--prices" in near.command for near in predictable if near.command.startswith("assay decide"))


def test_a_prediction_is_named_only_where_the_runs_show_the_effect_of_each_change(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "r")
    for number in range(40):
        layout, parameters = "HD2" if number % 2 else "SS2", {"dfs.blocksize": str((64 + 32 * (number // 2)) << 20)}
        run = make_run(number, layout=layout, parameters=parameters, duration_s=100.0 + number)
        repository.publish(replace(run, plan="", campaign_id="imported"))
    runs = list(repository.runs())

    def prediction(*changes: tuple[str, str]) -> tuple[str, ...]:
        return simulation_obstacle(repository, repository.table(), runs, changes).prediction

    workload = f"workload={runs[0].workload}"
    assert prediction() == (workload,)
    conditions = prediction(("layout", "SS2"), ("dfs.blocksize", "128MiB"))
    assert conditions == (workload, "layout=SS2", "dfs.blocksize=128MiB")
    assert prediction(("layout", "SS4")) == (), "no run has this layout"
    assert prediction(("layout", "SS2"), ("workers.count", "12")) == (), "all runs have 3 workers"


def test_a_refusal_without_an_answer_in_the_runs_says_to_simulate_or_measure(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "r")
    for number in range(24):
        run = make_run(number, layout="HD2" if number % 2 else "SS2", duration_s=100.0 + number)
        repository.publish(replace(run, plan="", campaign_id="imported"))
    obstacle = simulation_obstacle(repository, repository.table(), list(repository.runs()), [("workers.count", "12")])
    obstacle = replace(obstacle, clusters=(), missing=("a cluster file", "the size of their data"))
    lines = hint_of(obstacle, CommandOptions(str(repository.root))).splitlines()
    assert lines[:2] == [
        "12 workers: the runs have 3 workers.",
        "    No command answers this from these runs. Simulate other hardware, or measure it:",
    ]
    assert not any("assay predict" in line for line in lines)
    assert any("runs a plan that measures 12 workers" in line for line in lines)
