"""Test page one of a report: the decision, its chart, and the three most important caveats."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from assay.analysis.comparison.factors.device_classes import DEVICE_CLASS
from assay.analysis.statistics import table_of
from assay.interfaces.report.decisions import CAVEATS_MAX, CHART_WORKLOADS_MAX, first_page, questions_chapter
from assay.interfaces.report.output.document import Facts, ReportDocument, ReportFigure, Table, plain_text
from assay.model import CONTAINERS, Energy, LineItem, PriceBook
from assay.model.runs.run import Run
from assay.questions.decisions.chart_rows import forest_rows
from assay.questions.decisions.costs.run_costs import run_costs
from assay.questions.decisions.decide import decide
from assay.questions.decisions.decision import CostVerdict, DecisionRequest
from assay.questions.decisions.sentences.amount_sentences import amount_sentences
from assay.questions.decisions.sentences.cost_sentences import cheapest_sentence, cost_headline
from assay.questions.decisions.sentences.decision_sentences import evidence, headline, remarks
from assay.questions.report.build import report_of
from assay.questions.report.provenance import report_command
from assay.questions.report.request import Fact, ReportRequest
from assay.questions.report.values import Report
from assay.questions.runs.workload_limits import LIMITS_QUESTION, WorkloadLimits, workload_limits
from assay.specs import load_prices
from assay.text import workload_title
from builders import build_repository, make_run, price_book, runs_with, study_runs
from paths import EXAMPLES
from report_support import document_of, report_on

SURE = (0.0, 0.1, 0.2)


def times(**by_layout: float) -> dict[str, list[float]]:
    return {layout: [time_s + more for more in SURE] for layout, time_s in by_layout.items()}


def renumbered(*groups: list[Run]) -> list[Run]:
    every = [run for group in groups for run in group]
    return [replace(run, run_id=f"{number:08d}-0000-7000-8000-000000000000") for number, run in enumerate(every)]


def rows_of(document: ReportDocument) -> list[list[str]]:
    (chapter,) = [chapter for chapter in document.chapters if chapter.anchor == "comparisons"]
    table = next(block for block in chapter.blocks if isinstance(block, Table))
    return [[plain_text(cell) for cell in row] for row in table.rows]


def facts_of(document: ReportDocument) -> dict[str, str]:
    return {fact.name: fact.text for block in document.opening if isinstance(block, Facts) for fact in block.facts}


def lead_of(report: Report) -> str:
    return " ".join(document_of(report).lead)


def test_page_one_is_the_first_decision_in_its_sentences() -> None:
    report = report_on(study_runs(), book=price_book())
    document = document_of(report)
    (decision,) = report.decisions
    assert document.answer == headline(decision)
    assert document.lead == (evidence(decision), cost_headline(decision))
    assert [type(block) for block in document.opening] == [Facts, ReportFigure, Facts]
    caveats = [caveat.text for caveat in decision.caveats]
    amounts = amount_sentences(decision)
    assert amounts is not None
    assert list(facts_of(document).values()) == [caveats[0], *amounts.sentences, *caveats[1:CAVEATS_MAX]]
    assert len(caveats) > CAVEATS_MAX, "the chapter on caveats has the others"
    assert document.title == document.question == "Which storage layout?"


def test_a_workload_without_gain_has_a_row() -> None:
    runs = renumbered(
        runs_with(times(HD2=30, SS2=20)),
        runs_with(times(HD2=20, SS2=20), workload="kmeans"),
        runs_with(times(HD2=20, SS2=24), workload="bayes"),
    )
    document = document_of(report_on(runs))
    assert document.answer.startswith(
        "2 SSDs per worker (SS2) are 1.08× as fast as 2 hard disks per worker (HD2) over 3"
    )
    assert document.answer.endswith(" over 3 workloads in the tested settings: 0.83× on Bayes to 1.50× on TeraSort.")
    assert "Faster on 1 of 3 workloads, slower on 1, after the correction for" in str(document.chapters)
    assert [(row[1], row[2]) for row in rows_of(document)] == [
        ("2 SSDs per worker (SS2)", "faster"),
        ("2 SSDs per worker (SS2)", "equivalent"),
        ("2 SSDs per worker (SS2)", "slower"),
    ]


def test_ties_share_the_headline() -> None:
    document = document_of(report_on(runs_with(times(HD2=30, SS2=20, NVE2=20.05, NVE4=19.95))))
    assert document.answer.startswith(
        "4 NVMe drives per worker (NVE4) are 1.50× as fast as 2 hard disks per worker (HD2)"
    )
    ties = document.lead[0].partition("No difference shown: 4 NVMe drives per worker (NVE4) are ")[2]
    assert "2 SSDs per worker (SS2)" in ties
    assert "2 NVMe drives per worker (NVE2)" in ties


def test_the_fastest_of_several_is_named_and_a_baseline_that_nothing_beats() -> None:
    fastest = document_of(report_on(runs_with(times(HD2=30, SS2=20, NVE2=10))))
    assert fastest.answer.startswith("2 NVMe drives per worker (NVE2) are 2.98× as fast")
    assert "Not distinguishable" not in fastest.lead[0]
    slower = document_of(report_on(runs_with(times(HD2=10, SS2=20, NVE2=30))))
    assert slower.answer == "No option is shown to be faster than 2 hard disks per worker (HD2) on TeraSort."
    assert "2 SSDs per worker (SS2): slower (0.50×" in slower.lead[0]


def test_money_states_the_cost_ratio_and_the_break_even_price() -> None:
    report = report_on(study_runs(), book=price_book())
    (decision,) = report.decisions
    (option,) = decision.options
    assert option.time is not None
    document = document_of(report)
    costs_less = r"A job on 2 SSDs per worker \(SS2\) costs \d+ % less than on 2 hard disks per worker \(HD2\): "
    assert re.match(costs_less, document.lead[1])
    assert not any("the price" in remark for remark in remarks(decision))
    amounts = amount_sentences(decision)
    assert amounts is not None
    price = "2 SSDs per worker (SS2) pay off at this price: their cluster costs $46,567 over 3 years; "
    assert amounts.break_even.startswith(f"{price}they pay off up to ${option.time.ratio * 37561:,.0f} (")
    assert all(row[6] != "–" for row in rows_of(document))


def test_page_one_states_amounts_of_money_that_follow_from_the_prices() -> None:
    """HD2 takes 40 s on average, SS2 20 s; the price book has $37,561 and $46,567."""
    times_s = {"HD2": [39.0, 40.0, 41.025641], "SS2": [19.5, 20.0, 20.5128205]}
    report = report_on(runs_with(times_s, lab_scale=None), book=price_book())
    facts = facts_of(document_of(report))
    hours = 3 * 8760
    before, after = 37561 / hours * 40 / 3600, 46567 / hours * 20 / 3600
    assert f" costs ${before:.4f} (" in facts["Cost per job"]
    assert f") on 2 hard disks per worker (HD2), and ${after:.5f} (" in facts["Cost per job"]
    assert facts["Cost per job"].endswith(
        " The amount on 2 hard disks per worker (HD2) is the mean of the 3 runs that match runs on 2 SSDs per worker "
        "(SS2). Another question matches other runs, so its amount can differ."
    )
    assert facts["Cost over years of use"] == (
        "Cost of the cluster over 3 years, used 24 h a day: $37,561 with 2 hard disks per worker (HD2), $46,567 with "
        "2 SSDs per worker (SS2)."
    )
    amounts = amount_sentences(report.decisions[0])
    assert amounts is not None
    assert amounts.over_years_details.startswith(
        "For the work that 2 hard disks per worker (HD2) do in 3 years ($37,561), 2 SSDs per worker (SS2) cost "
        f"${46567 / 2:,.0f} ("
    )
    assert "their cluster costs $46,567 over 3 years; they pay off up to $75,122 (" in facts["Break-even price"]
    assert facts["Prices"] == "Price book sandisk-2014 of 2014-06-01, in USD. Intervals are of 95 %."


def test_a_mean_cost_names_the_workloads_that_differ_from_it() -> None:
    """At 1.24 times the price, TeraSort takes a third of the time and K-means as long as before."""
    runs = renumbered(runs_with(times(HD2=30, SS2=10)), runs_with(times(HD2=20, SS2=20), workload="kmeans"))
    (decision,) = report_on(runs, book=price_book()).decisions
    assert re.search(r" It costs more on K-means: 1\.24× \(\d\.\d+ to \d\.\d+\)\.$", cost_headline(decision) or "")
    assert re.search(
        r"over 2 workloads: .*\. A lower cost is shown on 1 of the 2 workloads \(.+\)\.$",
        cheapest_sentence(decision) or "",
    )


def test_a_scale_model_has_the_price_of_the_hardware_and_no_amounts_per_job() -> None:
    facts = facts_of(document_of(report_on(study_runs(), book=price_book())))
    assert facts["Cost per job"].startswith("Measured at scale 1/20, so costs per job are ratios")
    assert "$" not in facts["Cost per job"]
    assert facts["Cost over years of use"].endswith(
        "$37,561 with 2 hard disks per worker (HD2), $46,567 with 2 SSDs per worker (SS2)."
    )


def test_rents_are_those_of_one_setting_which_is_named() -> None:
    """Five hard disks cost $4.50 an hour with Ethernet and $5.30 with InfiniBand. Most runs have InfiniBand, but
    Ethernet is the baseline of the question on networks."""
    measured = [
        replace(run, levels={**run.levels, "network": network})
        for network in ("ETH", "IB", "IB")
        for run in runs_with(times(HD5=30, SS2=20))
    ]
    book = load_prices(EXAMPLES / "bsc-2015" / "prices.yaml")
    report = report_on(renumbered(measured), book=book, baseline="HD5")
    facts = facts_of(document_of(report))
    assert facts["Cost over years of use"] == (
        "Rent of a cluster with 8 workers for 3 years, used 24 h a day, with Ethernet: $118,260 with 5 hard disks per "
        "worker (HD5), $128,772 with 2 SSDs per worker (SS2). Price book bsc-2015 prices a cluster with 8 workers, and "
        "the runs do not record their number."
    )
    amounts = amount_sentences(report.decisions[0])
    assert amounts is not None
    all_settings = "In all compared settings: $118,260 to $139,284 and $128,772 to $149,796."
    assert amounts.over_years_details == all_settings
    (option,) = report.decisions[0].options
    assert option.time is not None
    assert "their cluster costs $128,772 over 3 years, with Ethernet; " in facts["Break-even price"]
    assert f"they pay off up to ${option.time.ratio * 118260:,.0f} (" in facts["Break-even price"]


def test_a_device_class_with_several_layouts_has_the_range_of_their_prices() -> None:
    runs = runs_with(times(HD5=30, SSD=20, SS2=19), lab_scale=None)
    table = table_of(runs)
    book = load_prices(EXAMPLES / "bsc-2015" / "prices.yaml")
    networks = [replace(run, levels={**run.levels, "network": "ETH"}) for run in runs]
    table = table_of(networks)
    (decision,) = decide(table, DecisionRequest(DEVICE_CLASS), run_costs({}, table, book))
    amounts = amount_sentences(decision)
    assert amounts is not None
    assert amounts.over_years == (
        "Rent of a cluster with 8 workers for 3 years, used 24 h a day: $118,260 with hard disks, $110,376 to $128,772 "
        "with SSDs (1 SSD (SSD) to 2 SSDs (SS2)). Price book bsc-2015 prices a cluster with 8 workers, and the runs do "
        "not record their number."
    )
    work = "For the work that hard disks do in 3 years ($118,260), SSDs cost $"
    assert amounts.over_years_details.startswith(work)
    assert "SSDs pay off at this price: their cluster costs $110,376 to $128,772 over 3 years; " in amounts.break_even
    (option,) = decision.options
    assert option.cost is not None
    open_cost = replace(option.cost, low=0.9, high=1.1, verdict=CostVerdict.NOT_DISTINGUISHABLE)
    for price_ratio, start in ((1.0, "Open: "), (0.5, "Open in the mean over the compared settings: ")):
        cost = replace(open_cost, price_ratio=price_ratio, break_even_price_ratio=price_ratio)
        open_amounts = amount_sentences(decision, replace(option, cost=cost))
        assert open_amounts is not None
        assert open_amounts.break_even.startswith(f"{start}the break-even price of the cluster with SSDs is $")


def test_a_setting_has_no_price_and_no_break_even_price() -> None:
    """Runs with another number of containers, on the same hardware: only the time of a job differs."""
    runs = [
        make_run(number, levels={"layout": "HD2", CONTAINERS: level}, duration_s=time_s + number / 10)
        for number, (level, time_s) in enumerate([("2", 40.0), ("4", 20.0)] * 4)
    ]
    table = table_of(runs)
    (decision,) = decide(table, DecisionRequest(CONTAINERS), run_costs({}, table, price_book()))
    decision = replace(decision, lab_scale=None)
    amounts = amount_sentences(decision)
    assert amounts is not None
    assert amounts.over_years == "Cost of the cluster over 3 years, used 24 h a day: $37,561 with both."
    assert amounts.over_years_details.startswith("For the work that 2 ")
    assert amounts.break_even == (
        "The price of a cluster is the same with 4 containers per worker, so there is no break-even price."
    )


def test_page_one_states_no_amounts_without_enough_runs_for_a_verdict() -> None:
    facts = facts_of(document_of(report_on(runs_with({"HD2": [40.0], "SS2": [20.0]}), book=price_book())))
    assert facts["Cost"] == "Not enough runs for a verdict on costs, so no amounts are stated."
    assert not {"Cost per job", "Cost over years of use", "Break-even price"} & facts.keys()


def test_page_one_says_why_nothing_is_priced() -> None:
    runs = runs_with(times(HD2=30, SS2=20))
    assert facts_of(document_of(report_on(runs)))["Cost"].startswith("Not priced: no price book")
    other = [replace(run, layout="HD3", levels={**run.levels, "layout": "HD3"}) for run in runs if run.layout == "HD2"]
    runs = [*other, *(run for run in runs if run.layout != "HD2")]
    missing = facts_of(document_of(report_on(runs, book=price_book(), baseline="HD3")))["Cost"]
    assert "Price book sandisk-2014 has no price for" in missing
    assert "HD3" in missing


def test_a_chapter_on_energy_where_the_price_book_states_power() -> None:
    """1,000 W on HD2 and 500 W on SS2, PUE 1.5: 40 s and 20 s, and $0.10 per kWh."""
    items = (
        LineItem("All-HDD", Decimal(30000), "cluster", layouts=("HD2",), power_w=Decimal(1000)),
        LineItem("All-SSD", Decimal(30000), "cluster", layouts=("SS2",), power_w=Decimal(500)),
    )
    book = PriceBook("powered", "USD", "2026-01-01", "list", items, energy=Energy(Decimal("0.10"), Decimal("1.5")))
    runs = runs_with({"HD2": [39.0, 40.0, 41.025641], "SS2": [19.5, 20.0, 20.5128205]})
    chapters = {chapter.anchor: chapter for chapter in document_of(report_on(runs, book=book)).chapters}
    (table,) = [block for block in chapters["energy"].blocks if isinstance(block, Table)]
    rows = [[plain_text(cell) for cell in row] for row in table.rows]
    assert [row[1] for row in rows] == ["1,500", "750"]
    assert [row[2] for row in rows] == [f"{1500 * 40 / 3.6e6:.3g}", f"{750 * 20 / 3.6e6:.3g}"]
    assert [row[4] for row in rows] == ["39,420", "19,710"]
    assert [row[5] for row in rows] == ["$3,942", "$1,971"]
    assert "energy" not in {chapter.anchor for chapter in document_of(report_on(runs, book=price_book())).chapters}


@pytest.mark.parametrize(("seconds", "words"), [(10, " % less than on "), (29, " % more than on ")])
def test_a_cost_is_stated_as_a_percentage(seconds: float, words: str) -> None:
    assert words in lead_of(report_on(runs_with(times(HD2=30, SS2=seconds)), book=price_book()))


def test_many_comparisons_leave_the_leading_option_and_a_file_with_all() -> None:
    layouts = {f"NVE{number}": 20.0 - number for number in range(1, 18)}
    document = document_of(report_on(runs_with(times(HD2=30, **layouts))))
    (row,) = rows_of(document)
    assert row[:3] == ["TeraSort", "17 NVMe drives per worker (NVE17)", "faster"]
    (table,) = [t for c in document.chapters for t in c.blocks if isinstance(t, Table) and t.file]
    assert len(table.all_rows) == 17


def test_the_chart_of_page_one_has_a_bounded_number_of_rows() -> None:
    names = [f"job{number:02d}" for number in range(CHART_WORKLOADS_MAX + 6)]
    runs = renumbered(*(runs_with(times(HD2=30, SS2=20), workload=name) for name in names))
    figure = next(block for block in document_of(report_on(runs)).opening if isinstance(block, ReportFigure))
    assert len(figure.make(600)["data"]["values"]) == CHART_WORKLOADS_MAX + 1
    assert "6 further workloads: see the table." in figure.caption


def test_the_recorded_command_has_the_conditions_and_changes_of_the_report() -> None:
    request = ReportRequest(conditions=("network=IB", "layout=SS2"), changes=("workers=12",), date="2026-11-28")
    command = report_command(request)
    assert "--where network=IB --where layout=SS2 --set workers=12" in command
    assert command.startswith("assay report -o report.html --by layout --date 2026-11-28")


def test_the_chart_of_page_one_prefers_workloads_with_a_verdict_on_cost() -> None:
    names = [f"job{number:02d}" for number in range(CHART_WORKLOADS_MAX + 2)]
    seconds = [20.0 if name == names[-1] else 24.0 for name in names]
    runs = renumbered(
        *(
            runs_with(times(HD2=30, SS2=duration_s), workload=name)
            for name, duration_s in zip(names, seconds, strict=True)
        )
    )
    (decision,) = report_on(runs, book=price_book()).decisions
    rows = [name for name, _ in forest_rows(decision, {}, CHART_WORKLOADS_MAX)]
    decided = [r.workload for r in decision.results if r.cost and r.cost.verdict is CostVerdict.CHEAPER]
    assert decided == names[-1:]
    assert len(rows) == CHART_WORKLOADS_MAX + 1
    assert rows[-1] == workload_title(names[-1])


def test_a_report_states_what_limits_the_runs_as_decide_does(tmp_path: Path) -> None:
    repository = build_repository(tmp_path / "r")
    table = repository.table()
    report = report_of(repository, table, ReportRequest())
    assert report.limits == workload_limits(repository, table)
    chapter = questions_chapter(report)
    assert chapter is not None
    questions = next(block for block in chapter.blocks if isinstance(block, Table))
    assert [plain_text(cell) for cell in questions.rows[-1]][:2] == [LIMITS_QUESTION, report.limits.answer]
    known = replace(report, limits=WorkloadLimits("The CPU limits TeraSort.", (), 3, 3))
    facts = [fact for block in first_page(known, {}) if isinstance(block, Facts) for fact in block.facts]
    assert Fact("Limits", "The CPU limits TeraSort.") in facts
    assert next(block for block in first_page(known, {}) if isinstance(block, Facts)).facts[0].name.startswith("Caveat")
