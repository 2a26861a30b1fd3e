"""Test the question about storage, the question about layouts, and effects of another factor by storage."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from answer_repositories import repository_of, text_of
from assay.analysis.comparison.factors.device_classes import DeviceClass
from assay.analysis.statistics import Verdict
from assay.model.runs.run import Run
from assay.questions.claims.findings import findings_view
from assay.questions.decisions.ask import decisions_of
from assay.questions.decisions.corrections import WITH_FILTER, with_corrections
from assay.questions.decisions.decision import CaveatKind, CostVerdict, DecisionRequest
from assay.questions.decisions.sentences.amount_sentences import amount_sentences
from assay.questions.decisions.sentences.cost_sentences import cost_headline, storage_advice
from assay.questions.decisions.sentences.decision_sentences import answer_of, headline
from assay.questions.decisions.sentences.estimate_text import interval_text
from assay.questions.decisions.sentences.option_words import compared_option
from assay.questions.decisions.sentences.years_sentences import costs_over_years
from assay.questions.trust.flags import flags_in
from assay.specs import load_prices
from assay.store import Repository
from builders import build_repository, make_run
from command import printed
from web_support import client_of

PRICES = """\
prices: rack
currency: USD
date: 2026-01-05
source: list prices
items:
  - {name: Rack, price: $5, per: cluster-hour, covers: [nodes, devices]}
  - {name: Ethernet, price: $0, per: cluster-hour, covers: [network], when: {network: [ETH]}}
  - {name: InfiniBand, price: $1, per: cluster-hour, covers: [network], when: {network: [IB]}}
"""


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    root, prices = repository_of("clusters", tmp_path_factory.mktemp("storage"))
    assert prices is not None
    return root, prices


def test_the_question_on_layouts_is_answered_for_layouts_and_that_on_storage_for_classes_first(
    clusters: tuple[Path, Path],
) -> None:
    repository = Repository.open(clusters[0])
    table = flags_in(repository).table
    assert {decision.factor for decision in decisions_of(repository, table, DecisionRequest("layout"))} == {"layout"}
    of_storage = decisions_of(repository, table, DecisionRequest("storage"))
    assert of_storage[0].factor == "device_class"
    brief = printed("decide", "layout", "--repository", str(clusters[0]))
    assert "2 hard disks per worker (HD2)" in brief.splitlines()[0]


def test_the_question_on_storage_over_years_states_the_costs_over_these_years(clusters: tuple[Path, Path]) -> None:
    root, prices = clusters
    repository = Repository.open(root)
    request = DecisionRequest("storage", prices=load_prices(prices), years=5)
    amounts = amount_sentences(decisions_of(repository, flags_in(repository).table, request)[0])
    assert amounts is not None
    words = ("decide", "storage", "--prices", str(prices), "--repository", str(root))
    brief = printed(*words, "--years", "5")
    assert "over 5 years" in amounts.over_years
    assert f"{amounts.over_years}\n{amounts.over_years_details}\n{amounts.break_even}\n" in brief
    assert amounts.over_years not in printed(*words)


@pytest.mark.slow
def test_the_page_of_costs_over_years_has_one_baseline_and_one_verdict(clusters: tuple[Path, Path]) -> None:
    root, prices = clusters
    book, repository = load_prices(prices), Repository.open(root)
    with client_of(root, book=book) as client:
        page = text_of(client.get("/cost?view=years&question=storage").text)
    table = flags_in(repository).table
    decision = decisions_of(repository, table, DecisionRequest("storage", prices=book, years=3))[0]
    over_years, amounts = costs_over_years(decision), amount_sentences(decision)
    assert over_years is not None
    assert amounts is not None
    assert over_years.answer in page
    assert over_years.assumptions in page
    for option in over_years.options:
        assert " ".join(over_years.cells(option)[1:4]) in " ".join(page.split())
    cheapest = decisions_of(repository, table, DecisionRequest("cheapest", prices=book, years=3))[0]
    other = costs_over_years(cheapest)
    assert other is not None
    assert other.assumptions != over_years.assumptions
    assert other.answer not in page
    assert other.assumptions not in page
    [of_option] = [option for option in over_years.options if option.option == "SSD"]
    assert f"{over_years.cells(of_option)[1]} with SSDs" in amounts.over_years


@pytest.mark.slow
def test_the_terminal_has_the_limits_of_the_home_page(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    build_repository(root)
    with client_of(root) as client:
        answer, home = client.get("/api/v1/limits").json(), " ".join(text_of(client.get("/").text).split())
    assert json.loads(printed("decide", "limits", "--json", "--repository", str(root))) == answer
    text = printed("decide", "limits", "--repository", str(root))
    first, *_, last = text.splitlines()
    assert first in home
    assert last.removeprefix("next: ").replace("`", "") in home
    assert f"limits      {first}\n" in printed("decide", "--repository", str(root))


def network_runs(classes: dict[str, tuple[str, float]]) -> list[Run]:
    """Return three runs of each network on each layout; ``classes``: layout to its cluster and gain of InfiniBand."""
    return [
        make_run(
            20 * number + repetition,
            cluster=cluster,
            layout=layout,
            levels={"layout": layout, "network": network},
            duration_s=100.0 / (gain if network == "IB" else 1.0) + 0.1 * (repetition % 4),
        )
        for number, (layout, (cluster, gain)) in enumerate(classes.items())
        for repetition, network in enumerate(["ETH", "IB"] * 4)
    ]


def test_a_class_on_other_clusters_does_not_remove_the_comparison_of_ssds_with_hard_disks(tmp_path: Path) -> None:
    two = {"HD2": ("rack", 1.05), "SS2": ("rack", 1.5)}
    runs = network_runs({**two, "RL1": ("cloud", 1.2)})
    repository = build_repository(tmp_path / "r", runs)
    table = flags_in(repository).table
    decisions = decisions_of(repository, table, DecisionRequest("network"))
    effects = decisions[0].storage_effects
    assert effects is not None
    assert {effect.storage for effect in effects.effects} == {DeviceClass.SSD, DeviceClass.HARD_DISKS}
    (claims,) = findings_view(repository, table).by_origin.values()
    evidence = next(claim for claim in claims if claim.name == "infiniband-needs-ssd").evidence
    assert [item.ratio for item in evidence] == [effect.time.ratio for effect in effects.effects]
    shared = network_runs({**two, "RL1": ("rack", 1.2)})
    repository = build_repository(tmp_path / "shared", shared)
    effects = decisions_of(repository, flags_in(repository).table, DecisionRequest("network"))[0].storage_effects
    assert effects is not None
    assert {effect.storage for effect in effects.effects} == {
        DeviceClass.SSD,
        DeviceClass.HARD_DISKS,
        DeviceClass.REMOTE,
    }


def test_conditions_do_not_change_the_variance_between_sessions_of_claims(clusters: tuple[Path, Path]) -> None:
    repository = Repository.open(clusters[0])
    table = flags_in(repository).table
    where = ("cluster=rack-1",)
    decision = decisions_of(repository, table, DecisionRequest("network", where=where))[0]
    effects = decision.storage_effects
    assert effects is not None
    words = ("findings", "--where", *where, "--json", "--repository", str(clusters[0]))
    (claims,) = json.loads(printed(*words))["by_origin"].values()
    evidence = next(claim for claim in claims if claim["name"] == "infiniband-needs-ssd")["evidence"]
    of_class = {
        effect.storage: (effect.time.ratio, effect.time.low, effect.time.high)
        for effect in effects.effects
        if not effect.workload or effects.workloads == 1
    }
    for item, storage in zip(evidence, (DeviceClass.SSD, DeviceClass.HARD_DISKS), strict=True):
        assert (item["ratio"], item["low"], item["high"]) == pytest.approx(of_class[storage])
    assert headline(decision)


def test_verdicts_on_cost_by_storage_class_are_stated_where_they_differ(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text(PRICES)
    repository = build_repository(tmp_path / "r", network_runs({"HD2": ("rack", 1.0), "SS2": ("rack", 1.5)}))
    request = DecisionRequest("network", prices=load_prices(prices))
    decision = decisions_of(repository, flags_in(repository).table, request)[0]
    effects = decision.storage_effects
    assert effects is not None
    same_time = replace(decision, storage_effects=replace(effects, differs_on=()))
    assert same_time.storage_difference is None
    assert {effect.cost.verdict for effect in effects.effects if effect.cost} == {
        CostVerdict.CHEAPER,
        CostVerdict.DEARER,
    }
    assert same_time.storage_costs == same_time.storage_effects
    sentence = cost_headline(same_time) or ""
    assert "With hard disks, a job on InfiniBand costs 20 % more than on Ethernet" in sentence
    assert "With SSDs, a job on InfiniBand costs 20 % less than on Ethernet" in sentence
    advice = storage_advice(same_time) or ""
    start, middle = (
        "By cost per job, InfiniBand is not worth it with hard disks (1.20×, 1.",
        "); worth it with SSDs (0.80×, 0.",
    )
    assert advice.startswith(start)
    assert middle in advice
    unconfirmed = tuple(
        replace(effect, cost=replace(effect.cost, verdict=CostVerdict.NOT_DISTINGUISHABLE))
        if effect.cost and effect.cost.ratio > 1
        else effect
        for effect in effects.effects
    )
    partly = storage_advice(replace(same_time, storage_effects=replace(effects, differs_on=(), effects=unconfirmed)))
    assert (partly or "").startswith("By cost per job, InfiniBand is undecided with hard disks (1.20×, ")
    assert ", not confirmed); worth it with SSDs (0.80×, 0." in (partly or "")
    no_verdicts = tuple(
        replace(effect, cost=replace(effect.cost, verdict=CostVerdict.NOT_DISTINGUISHABLE))
        for effect in effects.effects
        if effect.cost
    )
    undecided = replace(same_time, storage_effects=replace(effects, differs_on=(), effects=no_verdicts))
    assert (storage_advice(undecided) or "").startswith(
        "It is undecided whether InfiniBand is worth the cost per job with SSDs (0.80×, "
    )
    alike = tuple(replace(effect, cost=effects.effects[0].cost) for effect in effects.effects)
    assert replace(same_time, storage_effects=replace(effects, differs_on=(), effects=alike)).storage_costs is None
    open_options = tuple(replace(option, verdict=Verdict.NOT_DISTINGUISHABLE) for option in decision.options)
    unnamed = replace(
        decision, options=(*open_options, replace(open_options[0], option="40GbE")), leader=decision.baseline
    )
    baseline = compared_option(decision, decision.baseline)
    assert f" against {baseline}: " in answer_of(unnamed).summary


def test_a_filter_that_changes_a_verdict_or_an_interval_through_other_comparisons_says_so(tmp_path: Path) -> None:
    noise = (0.0, 3.0, -2.0, 1.0, -1.0, 2.5, -3.0, 0.5)
    runs = [
        make_run(
            40 * number + 2 * repetition + (layout == "SS2"),
            workload=workload,
            layout=layout,
            levels={"layout": layout},
            duration_s=100.0 + offset - (2.8 if layout == "SS2" and workload == "terasort" else 0.0),
        )
        for number, workload in enumerate(("terasort", "sort", "wordcount", "kmeans", "bayes", "pagerank"))
        for layout in ("HD2", "SS2")
        for repetition, offset in enumerate(noise)
    ]
    repository = build_repository(tmp_path / "r", runs)
    table = flags_in(repository).table
    [every] = decisions_of(repository, table, DecisionRequest("layout"))
    [filtered] = decisions_of(repository, table, DecisionRequest("layout", where=("workload=terasort",)))
    notes = [caveat.text for caveat in filtered.caveats if caveat.kind is CaveatKind.COMPARISONS]
    of_terasort = [row for decision in (every, filtered) for row in decision.results if row.workload == "terasort"]
    assert [row.verdict for row in of_terasort] == [Verdict.NOT_DISTINGUISHABLE, Verdict.FASTER]
    assert notes == [
        f"1 comparison with this filter, {every.family} without it: the verdict on 2 SSDs per worker (SS2) on TeraSort "
        f'is "faster" instead of "faster, not confirmed".'
    ]
    assert not any(caveat.kind is CaveatKind.COMPARISONS for caveat in every.caveats)
    [result] = [row for row in every.results if row.workload == "sort" and row.time]
    assert result.time is not None
    assert result.time.high is not None
    wider = replace(every, results=(replace(result, time=replace(result.time, low=0.5)),))
    [caveat] = [item for item in with_corrections(wider, [every], WITH_FILTER).caveats if item not in every.caveats]
    assert caveat.text == (
        f"The interval of 2 SSDs per worker (SS2) on Sort is 0.50 to {result.time.high:.2f} with this filter and "
        f"{interval_text(result.time)} without it: whether speedups depend on a setting is tested over all comparisons "
        "of an answer."
    )
    of_another_option = replace(wider, results=(replace(wider.results[0], option="SS4"),))
    assert with_corrections(of_another_option, [every], WITH_FILTER) == of_another_option
    [other] = decisions_of(repository, table, DecisionRequest("layout", where=("workload=sort",)))
    assert not any(caveat.kind is CaveatKind.COMPARISONS for caveat in other.caveats)


def test_the_page_over_years_leads_with_the_verdict_by_storage_and_no_mean_where_the_verdict_on_cost_depends_on_it(
    tmp_path: Path,
) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text(PRICES)
    root = tmp_path / "r"
    repository = build_repository(root, network_runs({"HD2": ("rack", 1.0), "SS2": ("rack", 1.5)}))
    book = load_prices(prices)
    decision = decisions_of(repository, flags_in(repository).table, DecisionRequest("network", prices=book, years=3))[0]
    assert decision.cheapest is not None
    assert decision.storage_costs is not None
    assert costs_over_years(decision) is None
    advice = storage_advice(decision)
    assert advice is not None
    with client_of(root, book=book) as client:
        html = client.get("/cost?view=years&question=network").text
    [heading] = re.findall(r"<h1[^>]*>(.*?)</h1>", html)
    assert text_of(heading).strip() == advice
