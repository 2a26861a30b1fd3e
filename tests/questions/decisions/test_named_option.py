"""Test which option an answer names where the fastest option has no verdict on cost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from click.testing import CliRunner

from assay.interfaces.cli.main import assay
from assay.questions.decisions.ask import decisions_of
from assay.questions.decisions.decision import CostVerdict, Decision, DecisionRequest
from assay.questions.decisions.sentences.amount_sentences import amount_sentences
from assay.questions.decisions.sentences.cost_sentences import cost_headline
from assay.questions.decisions.sentences.decision_sentences import evidence, headline
from assay.specs.prices import load_prices
from assay.store import Repository
from paths import EXAMPLES

BSC = EXAMPLES / "bsc-2015"


def decision_of(folder: Path, *, with_prices: bool) -> Decision:
    imported = CliRunner().invoke(
        assay, ["import", "assay", str(BSC / "measured/runs.csv"), "--repository", str(folder)]
    )
    assert imported.exit_code == 0, imported.output
    repository = Repository.open(folder)
    prices = load_prices(BSC / "prices.yaml") if with_prices else None
    (decision,) = decisions_of(repository, repository.table(), DecisionRequest("layout", prices=prices))
    return decision


def test_an_answer_names_the_option_that_is_shown_to_cost_less_and_is_as_fast_as_the_fastest(tmp_path: Path) -> None:
    """Two SSDs are 1.36 times as fast with an open cost; one SSD costs 29 % less, and is not shown to be slower."""
    decision = decision_of(tmp_path / "r", with_prices=True)
    assert decision.leader == "SS2"
    fastest_cost = decision.option("SS2").cost
    assert fastest_cost is not None
    assert fastest_cost.verdict is CostVerdict.NOT_DISTINGUISHABLE
    assert decision.named_option is decision.option("SSD")
    assert headline(decision).startswith("1 SSD per worker (SSD) is 1.32× as fast as 5 hard disks per worker (HD5)")
    assert (
        "No difference shown: 2 SSDs per worker (SS2) are 1.03× as fast as 1 SSD per worker (SSD) (0.77 to 1.40)."
        in evidence(decision)
    )
    cost = cost_headline(decision)
    assert cost is not None
    assert cost.startswith("1 SSD per worker (SSD) has the lowest mean cost per job on TeraSort: 0.71× (0.60 to 0.84)")
    amounts = amount_sentences(decision)
    assert amounts is not None
    assert amounts.break_even.startswith("1 SSD per worker (SSD) pays off at this price")


def test_an_answer_names_the_fastest_option_without_prices(tmp_path: Path) -> None:
    decision = decision_of(tmp_path / "r", with_prices=False)
    assert decision.named_option is decision.option("SS2")


def test_an_answer_names_no_cheaper_option_that_is_shown_to_be_slower_than_the_fastest(tmp_path: Path) -> None:
    decision = decision_of(tmp_path / "r", with_prices=True)
    slower = replace(decision.option("SSD"), tied_with_leader=None)
    others = [option for option in decision.options if option.option not in ("SSD", "HS5")]
    decision = replace(decision, options=(*others, slower))
    assert decision.named_option is decision.option("SS2")
