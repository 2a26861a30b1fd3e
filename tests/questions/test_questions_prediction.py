"""What is asked of a repository: short names, what was not said, a model kept beside the index, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.foundation.errors import SpecificationError
from assay.interfaces.cli.explain.anomalies import anomalies
from assay.interfaces.cli.explain.explain import explain
from assay.interfaces.cli.forecast.predict import predict
from assay.questions.forecasts.model_cache import learned
from assay.questions.forecasts.next_runs import budget_of, characterise, next_runs
from assay.questions.forecasts.prediction import NewCluster, predicted
from assay.store import Repository
from learning import learning_runs, time_s

pytestmark = pytest.mark.slow
ASKED = ("workload=TeraSort,disk=ssd", "maps=6")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    made = Repository.create(tmp_path_factory.mktemp("learned") / "repository")
    for run in learning_runs():
        made.publish(run)
    return made


def test_short_names_are_understood_and_what_was_not_said_is_told(repository: Repository) -> None:
    found = predicted(repository, ASKED, NewCluster("c12", None))
    assert found.configuration["mapreduce.tasktracker.map.tasks.maximum"] == "6"
    assert found.configuration["layout"] == "SSD"
    assert set(found.assumed) == {"network"}
    assert found.expected_s == pytest.approx(time_s("terasort", "SSD", found.assumed["network"], 6, 12), rel=0.2)
    assert (found.origin, found.runs, len(found.nearest)) == ("predicted", 252, 3)
    assert repository.run(found.nearest[0].run_id).workload == "terasort"


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
def test_conditions_that_mean_nothing_are_refused_in_words(repository: Repository, where: str, why: str) -> None:
    with pytest.raises(SpecificationError, match=why):
        predicted(repository, [where])


def test_a_model_is_kept_used_again_and_learned_anew_when_it_was_changed(repository: Repository) -> None:
    learned(repository)
    (kept,) = repository.folders.models.iterdir()
    before = kept.read_bytes()
    assert learned(repository).notices == ()
    kept.write_bytes(before[:-1000] + b"x" * 1000)
    (notice,) = learned(repository).notices
    assert "damaged or was changed; the model was trained again" in notice
    assert kept.read_bytes() == before


def test_the_command_says_the_time_the_interval_and_what_is_near(repository: Repository, tmp_path: Path) -> None:
    def said(*arguments: str) -> str:
        found = CliRunner().invoke(predict, [*arguments, "--repository", str(repository.root)], catch_exceptions=False)
        assert found.exit_code == 0
        return found.output

    told = said("--where", "workload=sort,layout=SSD,maps=6", "--cluster", "c12")
    assert "90% interval of one run" in told
    assert "Nearest measured" in told
    unknown = said("--where", "workload=pagerank")
    assert "unknown." in unknown
    assert "no run has workload pagerank" in unknown
    assert json.loads(said("--json", "--where", "workload=sort"))["level"] == 0.9


def test_what_matters_is_said_as_a_table_and_as_json(repository: Repository) -> None:
    arguments = ["--where", "workload=terasort", "--repository", str(repository.root)]
    told = CliRunner().invoke(explain, [*arguments, "--by", "disk,net"], catch_exceptions=False).output
    assert "Time / typical time" in told
    assert "Configurations measured" in told
    found = json.loads(CliRunner().invoke(explain, [*arguments, "--json"], catch_exceptions=False).output)
    assert found["explained"]["factors"][0]["share"]["value"] > 0.2


def test_two_opinions_are_one_list_with_who_says_so(repository: Repository) -> None:
    arguments = ["--second-opinion", "--repository", str(repository.root)]
    told = CliRunner().invoke(anomalies, arguments, catch_exceptions=False)
    assert told.exit_code == 0
    assert "outliers among 252 valid runs" in told.output


def test_the_next_runs_are_configurations_that_nobody_ran(tmp_path: Path) -> None:
    some = Repository.create(tmp_path / "repository")
    runs = learning_runs()
    for run in runs[::2]:
        some.publish(run)
    found = next_runs(some, ["workload=sort"], "disk", budget_of("4runs"))
    assert len(found.runs) == 4
    assert found.measured + found.candidates == 72
    made = {
        (run.cluster, *run.levels.values(), *run.parameters.values()) for run in runs[::2] if run.workload == "sort"
    }
    assert not made & {tuple(run.configuration.values()) for run in found.runs}
    assert found.runs[-1].doubt_left < found.doubt
    for run in runs[1::2]:
        some.publish(run)
    with pytest.raises(SpecificationError, match="every combination"):
        next_runs(some, ["workload=sort"], "surface", budget_of("1run"))


def test_a_cluster_is_characterised_by_few_of_its_runs(repository: Repository) -> None:
    found = characterise(repository, "c12", 0.2)
    assert found.enough is not None
    assert found.enough <= 40
    assert len(found.order) == found.enough
    with pytest.raises(SpecificationError, match="no run has cluster 'c99'"):
        characterise(repository, "c99", 0.2)
