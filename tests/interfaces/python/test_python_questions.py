"""Test that every question asked from Python returns the JSON of its command, its sentence, rows and HTML."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pytest

import assay
from assay.interfaces.python.answer import HTML_ROWS_MAX, Answer
from command import printed
from question_table import (
    PRICES,
    QUESTIONS,
    SIMULATED,
    Question,
    command_json,
    question_repositories,
    simulated_repository,
)
from simulator_support import needs_simulator


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return question_repositories(tmp_path_factory)


def _check(question: Question, root: Path) -> None:
    answer = question.ask(assay.open(root))
    assert answer.to_dict() == command_json(question, root)
    at = () if question.words[0] == "recommend" else ("--repository", root)
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
    return simulated_repository(tmp_path_factory)


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
