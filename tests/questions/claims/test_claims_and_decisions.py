"""Claims have the figures of decisions, and every interface states them in the same sentences."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from answer_repositories import repository_of, text_of, without_spaces
from assay.analysis.comparison.factors.device_classes import DeviceClass
from assay.analysis.statistics import RunTable
from assay.model import PriceBook
from assay.questions.claims.claims import Finding
from assay.questions.claims.findings import FindingsView, findings_view
from assay.questions.decisions.ask import decisions_of
from assay.questions.decisions.decision import Decision, DecisionRequest
from assay.questions.json_values import json_value
from assay.questions.trust.flags import flags_in
from assay.specs import load_prices
from assay.store import Repository
from command import printed
from web_support import client_of

pytestmark = pytest.mark.slow


def claims_of(view: FindingsView, decision: Decision) -> dict[str, Finding]:
    """Return the claims on the runs of a decision, by name."""
    scale = f", lab scale {decision.lab_scale}" if decision.lab_scale else ""
    return {finding.name: finding for finding in view.by_origin[f"{decision.origin}{scale}"]}


@pytest.mark.parametrize("name", ["lab", "clusters", "aloja", "simulated"])
def test_claims_have_the_figures_of_the_decisions_on_every_interface(name: str, tmp_path: Path) -> None:
    root, prices = repository_of(name, tmp_path)
    book = load_prices(prices) if prices else None
    repository = Repository.open(root)
    table = flags_in(repository).table
    view = findings_view(repository, table, book)
    assert_interfaces_agree(view, root, prices, tmp_path / "report.html")
    compared = [*storage_figures(view, repository, table), *network_figures(view, repository, table, book)]
    assert compared
    for of_claim, of_decision in compared:
        assert of_decision == [pytest.approx(of_claim)]


def assert_interfaces_agree(view: FindingsView, root: Path, prices: Path | None, report: Path) -> None:
    options = [*(["--prices", str(prices)] if prices else []), "--repository", str(root)]
    assert json.loads(printed("findings", "--json", *options)) == json_value(view)
    printed("report", "-o", str(report), *options)
    report_text = without_spaces(text_of(report.read_text(encoding="utf-8")))
    with client_of(root, book=load_prices(prices) if prices else None) as client:
        overview = without_spaces(text_of(client.get("/").text))
    shown = printed("findings", *options)
    for item in [item for findings in view.by_origin.values() for finding in findings for item in finding.evidence]:
        assert str(item) in shown
        assert without_spaces(str(item)) in overview
        assert item.ratio is None or without_spaces(str(item)) in report_text


def storage_figures(view: FindingsView, repository: Repository, table: RunTable) -> Iterator[tuple[object, object]]:
    """Yield the figure of each claim on SSDs and one workload, and that of the decision."""
    for decision in decisions_of(repository, table, DecisionRequest("device_class")):
        claims = claims_of(view, decision)
        for item in (claims[name].evidence[0] for name in ("ssd-helps-shuffle", "ssd-not-for-cpu")):
            if item.ratio is None or len(item.workloads) != 1 or decision.baseline != DeviceClass.HARD_DISKS:
                continue
            times = [r.time for r in decision.results if (r.workload, r.option) == (item.workloads[0], DeviceClass.SSD)]
            yield (item.ratio, item.low, item.high), [(time.ratio, time.low, time.high) for time in times if time]


def network_figures(
    view: FindingsView, repository: Repository, table: RunTable, book: PriceBook | None
) -> Iterator[tuple[object, object]]:
    """Yield the figures of the claim on InfiniBand, and the effects by storage of the decision."""
    for decision in decisions_of(repository, table, DecisionRequest("network", prices=book)):
        effects = decision.storage_effects.effects if decision.storage_effects else ()
        of_all = [effect for effect in effects if not effect.workload or all(other.workload for other in effects)]
        evidence = claims_of(view, decision)["infiniband-needs-ssd"].evidence
        for item, storage in zip(evidence, (DeviceClass.SSD, DeviceClass.HARD_DISKS), strict=True):
            if item.ratio is None:
                continue
            ratios = [effect.cost if book else effect.time for effect in of_all if effect.storage == storage]
            yield (item.ratio, item.low, item.high), [(ratio.ratio, ratio.low, ratio.high) for ratio in ratios if ratio]
