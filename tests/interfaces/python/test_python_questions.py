"""Test that every question asked from Python returns the JSON of its command, its sentence, rows and HTML."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import assay
from assay.interfaces.cli.main import assay as command
from assay.interfaces.python.answer import HTML_ROWS_MAX, Answer
from assay.store import Repository
from detail_support import hybrid_run, hybrid_tasks, hybrid_trace
from learning import learning_runs
from paths import EXAMPLES
from simulator_support import measured_repository, needs_simulator

BSC = EXAMPLES / "bsc-2015"
PRICES = str(BSC / "prices.yaml")
SANDISK = EXAMPLES / "sandisk-2014"
CATALOGUE = str(EXAMPLES / "hardware" / "catalogue.yaml")
HARDWARE_PRICES = str(EXAMPLES / "hardware" / "prices.yaml")


def printed(*words: str | Path) -> str:
    done = CliRunner().invoke(command, [str(word) for word in words])
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("python")
    printed("import", BSC / "measured" / "runs.csv", "--repository", folder / "bsc")
    printed("import", SANDISK / "measured" / "runs.csv", "--repository", folder / "sandisk")
    learned = Repository.create(folder / "learned")
    for number, run in enumerate(learning_runs(slots=(2, 4, 8))):
        if number % 5:  # some combinations are not measured
            learned.publish(run)
    watched = Repository.create(folder / "watched")
    watched.publish(hybrid_run(), tasks=hybrid_tasks(), trace=hybrid_trace())
    return {path.name: path for path in folder.iterdir()}


@dataclass(frozen=True)
class Question:
    """A question from Python, with the command that asks the same."""

    ask: Callable[[assay.OpenedRepository], Answer[Any]]
    words: tuple[str, ...]
    repository: str = "bsc"


QUESTIONS: dict[str, Question] = {
    "runs": Question(lambda r: r.runs(), ("runs",)),
    "runs, selected": Question(
        lambda r: r.runs({"layout": "HD5"}, limit=2), ("runs", "--where", "layout=HD5", "--limit", "2")
    ),
    "questions": Question(lambda r: r.questions(prices=PRICES), ("decide", "--prices", PRICES)),
    "decide": Question(lambda r: r.decide("storage", prices=PRICES), ("decide", "storage", "--prices", PRICES)),
    "decide, a factor": Question(
        lambda r: r.decide("layout", {"network": "IB"}, baseline="HD5"),
        ("decide", "layout", "--where", "network=IB", "--baseline", "HD5"),
    ),
    "decide, no decision": Question(lambda r: r.decide("nodes"), ("decide", "nodes")),
    "speedup": Question(lambda r: r.speedup("network"), ("decide", "network", "--details", "options")),
    "cost": Question(lambda r: r.cost(PRICES), ("cost", "--prices", PRICES)),
    "cost_over_years": Question(
        lambda r: r.cost_over_years(SANDISK / "prices.yaml", 3, rounding="paper"),
        ("cost", "--prices", str(SANDISK / "prices.yaml"), "--years", "3", "--rounding", "paper"),
        "sandisk",
    ),
    "scatter": Question(
        lambda r: r.scatter("gc_s", "duration_s", by="layout"), ("scatter", "--x", "gc_s", "--by", "layout")
    ),
    "changes": Question(lambda r: r.changes(), ("changes",)),
    "anomalies": Question(lambda r: r.anomalies(), ("anomalies",), "learned"),
    "findings": Question(lambda r: r.findings(prices=PRICES), ("findings", "--prices", PRICES)),
    "limits": Question(lambda r: r.limits("0"), ("show", "0", "--limits"), "watched"),
    "tasks": Question(lambda r: r.tasks("0"), ("tasks", "0"), "watched"),
    "explain": Question(lambda r: r.explain(by="layout"), ("explain", "--by", "layout"), "learned"),
    "predict": Question(
        lambda r: r.predict({"workload": "terasort", "layout": "SSD"}),
        ("predict", "--where", "workload=terasort,layout=SSD"),
        "learned",
    ),
    "next": Question(lambda r: r.next("3runs"), ("next", "--budget", "3runs"), "learned"),
    "enough_runs": Question(lambda r: r.enough_runs("c8", 0.2), ("next", "c8", "--precision", "20"), "learned"),
}
SIMULATED: dict[str, Question] = {
    "whatif": Question(
        lambda r: r.whatif({"layout": "SS2"}, {"layout": "HD2"}),
        ("whatif", "--set", "layout=SS2", "--where", "layout=HD2"),
    ),
    "recommend": Question(
        lambda r: r.recommend(
            "terasort:100GB:daily", catalogue=CATALOGUE, prices=HARDWARE_PRICES, simulations=20, jobs=1
        ),
        (
            *("recommend", "--workload", "terasort:100GB:daily", "--catalogue", CATALOGUE),
            *("--prices", HARDWARE_PRICES, "--simulations", "20", "--jobs", "1"),
        ),
    ),
}


def _check(question: Question, root: Path) -> None:
    answer = question.ask(assay.open(root))
    at = () if question.words[0] == "recommend" else ("--repository", root)
    assert answer.to_dict() == json.loads(printed(*question.words, *at, "--json"))
    text = printed(*question.words, *at)
    if question.words[0] not in {"runs", "cost"} and question.words != ("decide", "--prices", PRICES):
        assert answer.sentence.split(" (")[0] in " ".join(text.split()), "the sentence of the answer is the command's"
    rows = answer.to_rows()
    assert answer.to_pandas().shape[0] == answer.to_arrow().num_rows == answer.to_polars().height == len(rows)
    html = answer._repr_html_()
    assert html.count("<tr>") == min(len(rows), HTML_ROWS_MAX) + (1 if rows else 0)
    assert html.count("<svg") == len(answer.charts())
    assert str(answer).startswith(answer.sentence)


@pytest.mark.slow
@pytest.mark.parametrize("name", QUESTIONS)
def test_an_answer_has_the_json_and_the_sentence_of_the_command(name: str, repositories: dict[str, Path]) -> None:
    question = QUESTIONS[name]
    _check(question, repositories[question.repository])


def test_compared_runs_have_the_json_of_the_command(repositories: dict[str, Path]) -> None:
    runs = {run.layout: run.run_id for run in assay.open(repositories["bsc"]).runs().value}
    first, second = list(runs.values())[:2]
    _check(Question(lambda r: r.compare(first, second), ("compare", first, second)), repositories["bsc"])


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return measured_repository(tmp_path_factory.mktemp("simulated") / "r").root


@needs_simulator
@pytest.mark.slow
@pytest.mark.parametrize("name", SIMULATED)
def test_a_simulated_answer_has_the_json_and_the_sentence_of_the_command(name: str, measured: Path) -> None:
    _check(SIMULATED[name], measured)


def test_every_question_is_compared_with_its_command() -> None:
    methods = {
        name
        for name, _ in inspect.getmembers(assay.OpenedRepository, inspect.isfunction)
        if not name.startswith("_") and name != "close"
    }
    assert methods == {name.partition(",")[0] for name in (*QUESTIONS, *SIMULATED)} | {"compare"}


def test_a_decision_equals_that_of_the_rest_api(repositories: dict[str, Path]) -> None:
    from web_support import client_of

    answer = assay.open(repositories["bsc"]).decide("layout")
    assert client_of(repositories["bsc"]).get("/api/v1/decisions", params={"factor": "layout"}).json() == (
        json.loads(json.dumps(answer.to_dict()))
    )


def test_html_shows_the_interval_chart_and_escapes_text(repositories: dict[str, Path]) -> None:
    answer = assay.open(repositories["bsc"]).decide("storage")
    html = answer._repr_html_()
    assert answer.sentence in html
    assert "95 % interval, logarithmic axis" in html
    assert answer.charts()[0].spec["$schema"].startswith("https://vega.github.io/schema/vega-lite/")
    hostile = Answer((), "<script>", ("<b>",), rows=lambda _: [{"<i>": "<u>"}])
    assert not {"<script>", "<b>", "<i>", "<u>"} & {part + ">" for part in hostile._repr_html_().split(">")}


def test_rows_of_a_decision_are_its_options_and_results(repositories: dict[str, Path]) -> None:
    answer = assay.open(repositories["bsc"]).decide("storage")
    rows = [row for row in answer.to_rows() if row["factor"] == "device_class" and row["workload"] is None]
    assert [(row["option"], row["time.ratio"]) for row in rows] == [
        (option.option, option.time.ratio if option.time else None) for option in answer.value[0].decision.options
    ]
    frame = answer.to_pandas()
    assert frame["time.ratio"].dtype == "float64"
    assert answer.to_arrow().column("option").to_pylist() == answer.to_polars()["option"].to_list()
