"""Headlines: the workloads behind a mean, the range over workloads, and the effect for each storage class."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from assay.analysis.statistics import table_of
from assay.model import LineItem
from assay.model.runs.run import Run
from assay.questions.decisions.answers import answer_question
from assay.questions.decisions.ask import decisions_of
from assay.questions.decisions.buyer import BUYER_QUESTIONS
from assay.questions.decisions.decide import decide
from assay.questions.decisions.decision import Decision, DecisionRequest, FurtherRuns, RunGoal
from assay.questions.decisions.sentences.decision_sentences import answer_of, evidence, headline, remarks
from assay.questions.decisions.sentences.next_sentences import next_sentences
from assay.questions.decisions.sentences.question_sentences import definition_sentence, view_of
from assay.questions.trust.flags import flags_in
from benchmark_support import benchmark
from builders import build_repository, interleaved, make_run, price_book

pytestmark = pytest.mark.slow


def group(times_s: Mapping[str, Sequence[float]], first: int = 0, **changes: object) -> list[Run]:
    """Return one matched group: runs with these times by layout, started in turns."""
    times = [(layout, time_s) for layout, of_layout in times_s.items() for time_s in of_layout]
    return interleaved(
        make_run(first + number, layout=layout, levels={"layout": layout}, duration_s=time_s, **changes)
        for number, (layout, time_s) in enumerate(times)
    )


def decided(runs: Sequence[Run], factor: str = "layout", baseline: str | None = None) -> Decision:
    """Return the only decision on a factor."""
    (decision,) = decide(table_of(list(runs)), DecisionRequest(factor, baseline))
    return decision


def test_a_headline_over_workloads_that_differ_widely_states_their_range() -> None:
    runs = group({"HD2": [60.0, 61.0, 59.0], "SS2": [60.5, 59.5, 60.2]}, workload="kmeans")
    wide = decided(runs + group({"HD2": [60.0, 61.0, 59.0], "SS2": [12.0, 12.2, 11.8]}, 100, workload="sort"))
    near = decided(runs + group({"HD2": [60.0, 61.0, 59.0], "SS2": [48.0, 48.5, 47.5]}, 100, workload="sort"))
    assert headline(wide).endswith(
        " over 2 workloads in the tested settings: 1.00× on K-means (no difference shown) to 5.00× on Sort."
    )
    assert "the ratio is" not in remarks(wide)[0]
    assert headline(near).endswith(" over 2 workloads in the tested settings.")
    assert "the ratio is 1.00× (K-means) to 1.25× (Sort)" in remarks(near)[0]


@pytest.mark.parametrize(("on_ssd", "differs"), [(20.0, True), (30.0, False)])
def test_a_network_that_helps_one_storage_class_has_an_answer_for_each(
    tmp_path: Path, on_ssd: float, differs: bool
) -> None:
    """Hard disks gain nothing from InfiniBand. SSDs gain 1.5 times, or nothing either."""
    runs: list[Run] = []
    for layout, ethernet, infiniband in (("HD2", 60.0, 60.1), ("SS2", 30.0, on_ssd)):
        for repetition in range(8):
            for network, time_s in (("ETH", ethernet), ("IB", infiniband)):
                levels = {"layout": layout, "network": network}
                noise = 1 + 0.01 * ((repetition * 3 + len(runs)) % 4)
                runs.append(make_run(len(runs), layout=layout, levels=levels, duration_s=time_s * noise))
    repository = build_repository(tmp_path / "r", runs)
    (decision,) = decisions_of(repository, flags_in(repository).table, DecisionRequest("network"))
    assert (decision.storage_difference is not None) is differs
    assert decision.storage_effects is not None
    assert {effect.storage for effect in decision.storage_effects.effects} == {"SSD", "hard disks"}
    assert ("depends on the storage" in evidence(decision)) is differs
    (by_storage,) = (text for text in remarks(decision) if text.startswith("By storage, on TeraSort: "))
    assert re.search(r"× with SSDs \(.+\) and .+× with hard disks \(.+\)\.", by_storage)
    assert ("No difference in speedup between them is shown." in by_storage) is not differs
    if differs:
        assert re.search(
            r" The effect depends on the storage: on TeraSort, 1\.\d\d× with SSDs and "
            r"(0\.9|1\.0)\d× with hard disks \(no difference shown\)\.",
            evidence(decision),
        )
    (question,) = (question for question in BUYER_QUESTIONS if question.name == "network")
    view = view_of(answer_question(repository, flags_in(repository).table, question, DecisionRequest()))
    assert (view.confidence == "depends on storage, decided at 95 %") is differs
    book = price_book()
    networks = [
        LineItem(name, Decimal(amount), "cluster", when={"network": (name,)})
        for name, amount in (("ETH", 0), ("IB", 10000))
    ]
    request = DecisionRequest(prices=replace(book, items=(*book.items, *networks)))
    priced = view_of(answer_question(repository, flags_in(repository).table, question, request))
    cost = priced.cost or ""
    assert priced.confidence.startswith("decided at 95 % by cost, ") is differs
    advice = r"By cost per job, InfiniBand is not worth it with hard disks \(\d.+\); worth it with SSDs \(\d.+\)\."
    assert bool(re.fullmatch(advice, priced.advice or "")) is differs
    assert (priced.advice is not None) is differs
    assert ("With SSDs, " in cost) is differs
    assert "not confirmed" not in definition_sentence([priced])
    unconfirmed = replace(priced, summary="1.11× (1.02 to 1.21, not confirmed).")
    assert definition_sentence([priced, unconfirmed]).startswith("Not confirmed: the 95 % interval excludes 1, but ")
    assert priced.amounts is not None
    does_not_pay = "InfiniBand does not pay off at this price: its cluster costs "
    assert priced.amounts.break_even.startswith(does_not_pay) is not differs
    assert ("; it pays off up to $" in priced.amounts.break_even) is not differs
    if differs:
        assert re.fullmatch(
            r"With SSDs, a job on InfiniBand costs (19|20|21) % less than on Ethernet: 0\.\d\d× \(\S+ to \S+\)\. With "
            r"hard disks, a job on InfiniBand costs (26|27|28) % more than on Ethernet: 1\.2\d× \(\S+ to \S+\)\.",
            cost,
        ), cost
    proposal = FurtherRuns(
        "terasort", ("ETH", "IB"), 1, 2, False, (), RunGoal.DIFFERENCE, 1.2, 0.2, 0.1, duration_s=600.0
    )
    (sentence,) = next_sentences(replace(decision, next_runs=(proposal,)))
    assert sentence == (
        "Run TeraSort 2 more times with each of Ethernet and InfiniBand (about 10 min). That is enough to show a "
        "difference if the ratio stays at 1.20× (interval ±10 %, now ±20 %)."
    )


def test_more_remote_volumes_do_not_answer_for_local_disks() -> None:
    remote = group({"R1": [60.0, 61.0, 59.5], "R2": [60.5, 60.0, 61.0]})
    decision = decided([*remote, *group({"HDD": [40.0, 41.0]}, 50)], "disks")
    for text in (headline(decision), answer_of(decision).summary):
        assert text.startswith("Not measured for hard disks: all had 1 per worker. ")
    assert "Not measured" not in evidence(decision)


@pytest.mark.parametrize("baseline", ["1GbE", "1 gbit/s", "1Gbit/s"])
def test_a_network_may_be_named_in_words(baseline: str) -> None:
    runs = interleaved(
        make_run(number, levels={"layout": "HD2", "network": network}, duration_s=time_s)
        for number, (network, time_s) in enumerate(
            (network, time_s)
            for network, times in {"1Gbit/s": [60.0, 61.0, 59.5], "10Gbit/s": [40.0, 41.0, 40.5]}.items()
            for time_s in times
        )
    )
    decision = decided(runs, "network", baseline=baseline)
    assert decision.baseline == "1Gbit/s"
    assert headline(decision).startswith("10 Gbit/s is 1.49× as fast as 1 Gbit/s on ")


def test_equal_effects_seldom_differ_by_storage_and_large_differences_do() -> None:
    errors = benchmark("storage_effect_errors")
    design = errors.Design(2, 3, 3, 3)
    assert errors.rates(design, (1.2, 1.2), tables=30, seed=1)[0] <= 0.1
    assert errors.rates(design, (1.0, 1.3), tables=10, seed=1)[:2] == (1.0, 0.0)
    apart = errors.Design(2, 3, 3, 3, "option")
    assert errors.rates(apart, (1.0, 1.3), tables=5, seed=1)[0] == 0.0, "a day for each option allows no statement"
    crossed = errors.Design(2, 1, 8, 1, "crossed")
    stated, _, held = errors.rates(crossed, (1.0, 1.0), tables=30, seed=1)
    assert (stated, held) == (0.0, 1.0), "runs of another class do not balance a drift"


def test_the_effect_with_a_storage_class_is_that_of_a_question_about_this_class(tmp_path: Path) -> None:
    """Runs of hard disks have pauses of six hours, in which SSDs ran: all runs together are one session."""
    runs = [
        make_run(
            number,
            layout=layout,
            levels={"layout": layout, "network": network},
            duration_s=time_s * (0.8 if network == "IB" else 1.0) * (1 + 0.01 * (number % 5)),
            started_at=f"2026-01-{5 + number * 3 // 24:02d}T{number * 3 % 24:02d}:00:00Z",
        )
        for number in range(24)
        for layout, time_s in [(("HD2", 60.0), ("SS2", 30.0))[number % 2]]
        for network in [("ETH", "IB")[number // 2 % 2]]
    ]
    repository = build_repository(tmp_path / "r", runs)
    table = flags_in(repository).table
    (decision,) = decisions_of(repository, table, DecisionRequest("network"))
    assert decision.storage_effects is not None
    for effect in decision.storage_effects.effects:
        where = (f"device_class={effect.storage}",)
        (of_class,) = decisions_of(repository, table, DecisionRequest("network", where=where))
        time = of_class.options[0].time
        assert time is not None
        assert (time.ratio, time.low, time.high) == (effect.time.ratio, effect.time.low, effect.time.high)


def test_options_are_ranked_on_the_workloads_that_they_share() -> None:
    runs = group({"HD2": [60.0, 61.0, 59.0], "SS2": [30.0, 31.0, 29.0], "HS5": [40.0, 41.0, 39.0]})
    runs += group(
        {"HD2": [20.0, 21.0, 20.0], "SS2": [10.0, 10.5, 9.7], "HS5": [15.0, 16.0, 14.0]}, 100, workload="sort"
    )
    runs += group({"HD2": [90.0, 91.0, 92.0], "HS5": [10.0, 10.1, 9.8]}, 200, workload="wordcount")
    decision = decided(runs)
    assert decision.option("SS2").workloads == ("terasort", "sort")
    assert decision.option("HS5").workloads == ("terasort", "sort", "wordcount")
    assert (decision.leader, decision.headline_workloads) == ("SS2", ("terasort", "sort"))
    assert [option.option for option in decision.options] == ["SS2", "HS5"]
    slower, faster = decision.option("SS2").time, decision.option("HS5").time
    assert slower
    assert faster
    assert faster.ratio > slower.ratio


def test_an_option_with_fewer_workloads_takes_none_from_the_others() -> None:
    """On one cluster, SSDs were 1.88 times as fast over 10 workloads; runs with volumes made it 2.28 times over 7."""
    two = group({"HD2": [60.0, 61.0, 59.0], "SS2": [30.0, 31.0, 29.0]})
    two += group({"HD2": [60.0, 61.0, 59.0], "SS2": [62.0, 61.0, 63.0]}, 100, workload="bayes")
    volumes = group({"HD2": [60.0, 61.0, 59.0], "RL1": [50.0, 51.0, 49.0]}, 200, cluster="cloud")
    alone, both = decided(two).option("SS2"), decided([*two, *volumes]).option("SS2")
    assert both.workloads == alone.workloads == ("terasort", "bayes")
    assert both.time
    assert alone.time
    assert both.time.ratio == pytest.approx(alone.time.ratio)


def test_a_workload_with_too_few_runs_does_not_decide_a_mean() -> None:
    """Hive join was 5.6 times as fast in four runs, and a mean over ten workloads became 1.20 times."""
    runs = group({"HD2": [60.0, 61.0, 59.0], "SS2": [60.0, 60.5, 59.5]})
    runs += group({"HD2": [20.0, 21.0, 20.0], "SS2": [20.0, 20.5, 19.7]}, 100, workload="sort")
    runs += group({"HD2": [900.0, 500.0], "SS2": [100.0, 101.0]}, 200, workload="hivebench_join")
    decision = decided(runs)
    assert decision.headline_workloads == ("terasort", "sort")
    assert "Not in the mean: Hive join (" in " ".join(remarks(decision))
