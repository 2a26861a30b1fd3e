"""Test that each question of a buyer is answered by one command, on its first line.

In: the runs of an example, and ALOJA's published runs if ``ASSAY_ALOJA_DATA`` names their folder.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay.questions.decisions.answers import answer_questions
from assay.questions.decisions.buyer import BUYER_QUESTIONS
from assay.questions.decisions.decision import DecisionRequest
from assay.questions.decisions.sentences.question_sentences import QuestionView, view_of
from assay.questions.trust.flags import flags_in
from assay.specs import load_prices
from assay.store import Repository
from command import printed
from doc_commands import ALOJA
from paths import ROOT

pytestmark = pytest.mark.slow
EXAMPLE = ROOT / "examples" / "bsc-2015"


@pytest.fixture(scope="module", params=["bsc-2015", "aloja"])
def inputs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a repository and its price book."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "bsc-2015":
        printed("import", EXAMPLE / "measured" / "runs.csv", "--repository", folder / "r")
        return folder / "r", EXAMPLE / "prices.yaml"
    data = os.environ.get("ASSAY_ALOJA_DATA", "")
    if not data or any(not Path(data, name).exists() for name in ALOJA):
        pytest.skip(f"ASSAY_ALOJA_DATA names no folder with {' and '.join(ALOJA)}")
    printed("import", *(Path(data, name) for name in ALOJA), "--repository", folder / "r")
    prices = folder / "prices.yaml"
    prices.write_text(printed("prices", "aloja", Path(data, ALOJA[1])))
    return folder / "r", prices


@pytest.fixture(scope="module")
def views(inputs: tuple[Path, Path]) -> dict[str, QuestionView]:
    repository = Repository.open(inputs[0])
    request = DecisionRequest(prices=load_prices(inputs[1]))
    views = map(view_of, answer_questions(repository, flags_in(repository).table, request))
    return {view.name: view for view in views}


def test_the_examples_answer_storage_network_and_costs(views: dict[str, QuestionView]) -> None:
    assert {"storage", "network", "cheapest"} <= {name for name, view in views.items() if view.answered}


@pytest.mark.parametrize("name", [question.name for question in BUYER_QUESTIONS])
def test_the_first_line_is_the_sentence_of_the_decision(
    inputs: tuple[Path, Path], views: dict[str, QuestionView], name: str
) -> None:
    text = printed("decide", name, "--prices", inputs[1], "--repository", inputs[0])
    assert text.splitlines()[0] == (views[name].advice or views[name].answer)
    if not views[name].answered:
        assert text.splitlines()[1].startswith("next: ")


def test_one_command_lists_all_answers(inputs: tuple[Path, Path], views: dict[str, QuestionView]) -> None:
    lines = printed("decide", "--prices", inputs[1], "--repository", inputs[0]).splitlines()
    assert [line for view in views.values() for line in lines if line == f"{view.name:<10}  {view.summary}"] == [
        f"{view.name:<10}  {view.summary}" for view in views.values()
    ]


def test_the_list_names_the_command_of_costs_over_years(
    inputs: tuple[Path, Path], views: dict[str, QuestionView]
) -> None:
    options = ("--prices", inputs[1], "--repository", inputs[0])
    command = f"assay decide cheapest --years 3 --prices {inputs[1]} --repository {inputs[0]}"
    assert f"Over 3 years: {command}\n" in printed("decide", *options)
    over_years = views["cheapest"].over_years
    assert over_years is not None
    lab = "All answers: measured in a lab at scale 1/20. Use the ratios, not the times and costs."
    assert (lab in printed("decide", *options)) is (views["storage"].decisions[0].decision.lab_scale is not None)
    assert over_years.answer in printed("decide", "--years", "3", *options)
    text = printed(*command.split()[1:])
    assert text.startswith(f"{over_years.answer}\n")
    assert "\n".join(over_years.sentences[1:]) in text


@pytest.mark.parametrize("words", [("decide", "cheapest"), ("cost",)])
def test_details_have_every_option_over_years(
    inputs: tuple[Path, Path], views: dict[str, QuestionView], words: tuple[str, ...]
) -> None:
    over_years = views["cheapest"].over_years
    assert over_years is not None
    options = ("--years", "3", "--prices", inputs[1], "--repository", inputs[0])
    brief, full = printed(*words, *options), printed(*words, "--details", *options)
    rows = [over_years.cells(option)[0] for option in over_years.further]
    assert rows or "Left out, because they ran in other settings only: " in over_years.covers
    assert not rows or f"… {len(rows)} more (--details)\n" in brief
    table, few = (text[: text.index(over_years.lowest_price)] for text in (full, brief))
    assert all(row in table and row not in few for row in rows)
    positions = [table.index(f"\n{over_years.cells(option)[0]} ") for option in over_years.by_cost]
    assert positions == sorted(positions)
