"""Test predictions from a repository: short names, defaults, the stored model, the command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.foundation.errors import SpecificationError
from assay.interfaces.cli.explain.anomalies import anomalies
from assay.interfaces.cli.explain.explain import explain
from assay.interfaces.cli.forecast.predict import predict
from assay.model import Hardware
from assay.questions.forecasts.model_cache import learned
from assay.questions.forecasts.next_runs import NextRunsRequest, budget_of, characterise, next_runs
from assay.questions.forecasts.prediction import ClusterRequest, predict_configuration, prediction_sentence
from assay.store import Repository
from assay.text import seconds
from learning import learned_repository, learning_runs, time_s

pytestmark = pytest.mark.slow
ASKED = ("workload=TeraSort,disk=ssd", "maps=6")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return learned_repository(tmp_path_factory)


def test_short_names_are_accepted_and_defaults_are_listed(repository: Repository) -> None:
    prediction = predict_configuration(repository, ASKED, ClusterRequest("c12", None))
    assert prediction.configuration["mapreduce.tasktracker.map.tasks.maximum"] == "6"
    assert prediction.configuration["layout"] == "SSD"
    assert set(prediction.assumed) == {"network"}
    measured_s = time_s("terasort", "SSD", prediction.assumed["network"], 6, 12)
    assert prediction.expected_s == pytest.approx(measured_s, rel=0.2)
    assert (prediction.origin, prediction.runs, len(prediction.nearest)) == ("predicted", 252, 3)
    assert repository.run(prediction.nearest[0].run_id).workload == "terasort"


def test_runs_of_the_same_configuration_are_the_answer_and_the_prediction_is_second(repository: Repository) -> None:
    where = ("workload=terasort,layout=SSD,network=IB", "maps=6")
    prediction = predict_configuration(repository, where, ClusterRequest("c12", None))
    (same,) = [measured for measured in prediction.nearest if not measured.differs]
    assert prediction.measured is not None
    assert (prediction.measured.median_s, prediction.measured.runs) == (same.median_s, same.runs)
    sentence = prediction_sentence(prediction)
    assert sentence.startswith(f"{seconds(same.median_s)} s, measured")
    assert " Predicted: " in sentence
    assert "s, predicted" not in sentence


def test_a_described_cluster_with_other_hardware_is_predicted_only(repository: Repository) -> None:
    where = ("workload=terasort,layout=SSD,network=IB", "maps=6")
    prediction = predict_configuration(repository, where, ClusterRequest("c12", Hardware(40, 8, 64_000_000_000)))
    assert prediction.measured is None
    assert "s, predicted" in prediction_sentence(prediction) or "Unknown" in prediction_sentence(prediction)


def test_common_words_name_factors(repository: Repository) -> None:
    named, by_words = (
        predict_configuration(repository, [where], ClusterRequest("c12", None)).configuration
        for where in ("workload=sort,layout=SSD,network=IB", "benchmark=sort,storage=SSD,net=IB")
    )
    assert by_words == named


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("workload", "is not COLUMN=LEVEL"),
        ("layout=SSD", "no workload is named"),
        ("workload=sort,colour=red", "no run has a factor 'colour'"),
        ("workload=sort,maps=many", "must be a number or a size, not 'many'"),
        ("workload=sort,workload=sort", "named twice"),
    ],
)
def test_conditions_that_mean_nothing_are_refused_with_a_message(repository: Repository, where: str, why: str) -> None:
    with pytest.raises(SpecificationError, match=why):
        predict_configuration(repository, [where])


def test_a_model_is_cached_and_learned_again_after_a_change(repository: Repository) -> None:
    learned(repository)
    (kept,) = repository.folders.models.iterdir()
    before = kept.read_bytes()
    assert learned(repository).notices == ()
    kept.write_bytes(before[:-1000] + b"x" * 1000)
    (notice,) = learned(repository).notices
    assert "damaged or was changed; the model was trained again" in notice
    assert kept.read_bytes() == before


def test_the_command_says_the_time_the_interval_and_what_is_near(repository: Repository, tmp_path: Path) -> None:
    def output_of(*arguments: str) -> str:
        result = CliRunner().invoke(predict, [*arguments, "--repository", str(repository.root)], catch_exceptions=False)
        assert result.exit_code == 0
        return result.output

    output = output_of("--where", "workload=sort,layout=SSD,maps=6", "--cluster", "c12")
    assert "s, measured in one run. Predicted: 398 s (90 % interval of a single run: " in output.splitlines()[0]
    assert "Nearest measured" in output
    unknown = output_of("--where", "workload=pagerank")
    assert unknown.startswith("Unknown: ")
    assert "no run has workload pagerank" in unknown
    assert json.loads(output_of("--json", "--where", "workload=sort"))["level"] == 0.9


def test_a_wide_interval_has_no_time_in_its_sentence(repository: Repository) -> None:
    answer = predict_configuration(repository, ["workload=sort"])
    assert answer.expected_s is not None
    assert answer.is_precise
    wide = replace(answer, measured=None, low_s=17.5, high_s=50_352.0)
    assert not wide.is_precise
    assert prediction_sentence(wide) == (
        "Unknown: the 90 % interval of a single run, 17.5 to 50,352 s, spans a factor of 2,877."
    )


def test_important_factors_are_shown_as_a_table_and_as_json(repository: Repository) -> None:
    arguments = ["--where", "workload=terasort", "--repository", str(repository.root)]
    output = CliRunner().invoke(explain, [*arguments, "--by", "disk,net"], catch_exceptions=False).output
    assert "Predicted time / typical time" in output
    assert "Configurations measured" in output
    answer = json.loads(CliRunner().invoke(explain, [*arguments, "--json"], catch_exceptions=False).output)
    assert answer["explained"]["factors"][0]["share"]["value"] > 0.2


def test_outliers_of_two_methods_are_one_list_with_the_method(repository: Repository) -> None:
    arguments = ["--second-opinion", "--repository", str(repository.root)]
    result = CliRunner().invoke(anomalies, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    assert "outliers among 252 valid runs" in result.output


def test_the_next_runs_are_unmeasured_configurations(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "repository")
    runs = learning_runs()
    for run in runs[::2]:
        repository.publish(run)
    proposal = next_runs(repository, NextRunsRequest(budget_of("4runs"), ("workload=sort",), about="disk"))
    assert len(proposal.runs) == 4
    assert proposal.measured + proposal.candidates == 72
    measured = {
        (run.cluster, *run.levels.values(), *run.parameters.values()) for run in runs[::2] if run.workload == "sort"
    }
    assert not measured & {tuple(run.configuration.values()) for run in proposal.runs}
    assert proposal.runs[-1].uncertainty_after < proposal.uncertainty
    for run in runs[1::2]:
        repository.publish(run)
    with pytest.raises(SpecificationError, match="every combination"):
        next_runs(repository, NextRunsRequest(budget_of("1run"), ("workload=sort",)))


def test_next_runs_use_networks_that_the_cluster_has_and_state_the_range_of_their_duration(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "repository")
    for run in learning_runs()[::2]:
        if (run.cluster, run.levels["network"]) != ("c8", "IB"):
            repository.publish(run)
    proposal = next_runs(repository, NextRunsRequest(budget_of("30runs"), ("workload=sort",)))
    clusters_with_networks = {(run.configuration["cluster"], run.configuration["network"]) for run in proposal.runs}
    assert clusters_with_networks == {("c8", "ETH"), ("c12", "ETH"), ("c12", "IB")}
    assert proposal.duration_range_s is not None
    low_s, high_s = proposal.duration_range_s
    assert low_s < proposal.duration_s < high_s
    predicted = [run for run in proposal.runs if run.expected_s is not None]
    assert high_s - low_s == pytest.approx(sum((run.high_s or 0) - (run.low_s or 0) for run in predicted))


def test_a_cluster_is_characterised_by_a_small_part_of_its_runs(repository: Repository) -> None:
    result = characterise(repository, "c12", 0.2)
    assert result.enough is not None
    assert result.enough <= 40
    assert len(result.order) == result.enough
    with pytest.raises(SpecificationError, match="no run has cluster 'c99'"):
        characterise(repository, "c99", 0.2)
