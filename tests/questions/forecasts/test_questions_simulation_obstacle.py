"""Test the commands that answer as far as possible where measured runs can't be simulated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from assay.questions.commands import CommandOptions
from assay.questions.forecasts.whatif.simulation_obstacle import near_answers, simulation_obstacle
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
    assert obstacle.unpredictable
    assert not any(command.startswith("assay predict") for command in commands)
    predictable = near_answers(replace(obstacle, unpredictable=""), options)
    [predict] = [near for near in predictable if near.address == "/predict"]
    assert predict.command.startswith(f"assay predict --where workload={runs[0].workload} --repository ")
    assert not any("--prices" in near.command for near in predictable if near.command.startswith("assay decide"))
