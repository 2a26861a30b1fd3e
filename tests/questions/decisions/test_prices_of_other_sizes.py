"""Test that a price of a whole cluster says for which number of workers it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.foundation.errors import SpecificationError
from assay.interfaces.cli.main import assay as command
from assay.questions.decisions.ask import decisions_of
from assay.questions.decisions.decision import CaveatKind, Decision, DecisionRequest
from assay.questions.decisions.sentences.amount_sentences import amount_sentences
from assay.specs.prices import load_prices, prices_of
from assay.store import Repository
from builders import CLUSTER_PRICE, build_repository, runs_with
from paths import EXAMPLES


def test_a_price_of_another_number_of_workers_is_stated_next_to_the_amounts(tmp_path: Path) -> None:
    repository = build_repository(
        tmp_path / "r", runs_with({"HD2": [60.0, 61.0, 59.0], "SS2": [40.0, 41.0, 39.0]}, lab_scale=None)
    )

    def decision_with(condition: str) -> Decision:
        request = DecisionRequest("layout", prices=prices_of(CLUSTER_PRICE % condition, "prices.yaml"))
        (decision,) = decisions_of(repository, repository.table(), request)
        return decision

    decision = decision_with(", workers: 6")
    text = "price book three-workers prices a cluster with 6 workers, and the runs had 3"
    caveats = [caveat.text for caveat in decision.caveats if caveat.kind is CaveatKind.OTHER_SIZE]
    assert caveats == [f"{text[0].upper()}{text[1:]}."]
    amounts = amount_sentences(decision)
    assert amounts is not None
    assert amounts.over_years.startswith("Cost of a cluster with 6 workers over 3 years, used 24 h a day: ")
    assert amounts.over_years.endswith(f" {text[0].upper()}{text[1:]}.")
    for condition in (", workers: 3", ""):
        assert not any(caveat.kind is CaveatKind.OTHER_SIZE for caveat in decision_with(condition).caveats)
    with pytest.raises(SpecificationError, match="the key workers goes together with"):
        prices_of((CLUSTER_PRICE % ", workers: 3").replace("per: cluster,", "per: node,"), "prices.yaml")


def test_the_cluster_file_of_the_runs_states_their_workers_where_the_runs_do_not(tmp_path: Path) -> None:
    bsc = EXAMPLES / "bsc-2015"
    imported = CliRunner().invoke(
        command, ["import", str(bsc / "measured" / "runs.csv"), "--repository", str(tmp_path / "r")]
    )
    assert imported.exit_code == 0, imported.output
    repository = Repository.open(tmp_path / "r")
    request = DecisionRequest("network", prices=load_prices(bsc / "prices.yaml"))
    (decision, *_) = decisions_of(repository, repository.table(), request)
    text = "Price book bsc-2015 prices a cluster with 8 workers, and the runs had 3."
    assert text in [caveat.text for caveat in decision.caveats if caveat.kind is CaveatKind.OTHER_SIZE]
    amounts = amount_sentences(decision)
    assert amounts is not None
    assert text in amounts.over_years
    assert "it costs $149,796 over 3 years, with 2 SSDs per worker (SS2)." in amounts.break_even
