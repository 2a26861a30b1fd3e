"""Page one of a report: no workload is left out, ties are ties, and money is told up to the price that tips it."""

from __future__ import annotations

from typing import Any

import pytest

from assay.model.run import Run
from assay.model.trace import Trace
from assay.questions.report_single import SingleReport, single_report
from assay.report.document import Facts, Table
from assay.report.opening import opening
from builders import price_book, runs_with, study_runs
from report_support import plain_text

SURE = (0.0, 0.1, 0.2)


def report(runs: list[Run], **options: Any) -> SingleReport:
    return single_report(runs, factor="layout", baseline="HD2", trace_of=lambda _: Trace(), **options)


def times(**by_layout: float) -> dict[str, list[float]]:
    return {layout: [time_s + more for more in SURE] for layout, time_s in by_layout.items()}


def renumbered(*groups: list[Run]) -> list[Run]:
    from dataclasses import replace

    every = [run for group in groups for run in group]
    return [replace(run, run_id=f"{place:08d}-0000-7000-8000-000000000000") for place, run in enumerate(every)]


def rows_of(found: SingleReport) -> list[list[str]]:
    table = next(block for block in opening(found) if isinstance(block, Table))
    return [[plain_text(cell) for cell in row] for row in table.rows]


def test_a_workload_without_gain_stands_on_page_one() -> None:
    runs = renumbered(
        runs_with(times(HD2=30, SS2=20)),
        runs_with(times(HD2=20, SS2=20), workload="kmeans"),
        runs_with(times(HD2=20, SS2=24), workload="bayes"),
    )
    found = report(runs)
    assert found.answer == "SS2 is faster than HD2 on 1 of 3 workloads: 1.50 times as fast."
    assert "slower on" in found.detail
    assert "No difference is shown on" in found.detail
    assert [(row[1], row[3]) for row in rows_of(found)] == [
        ("SS2", "faster"),
        ("SS2", "no difference shown"),
        ("SS2", "slower"),
    ]


def test_equal_results_share_the_headline() -> None:
    found = report(runs_with(times(HD2=30, SS2=20, NV2=20.05, NV4=19.95)))
    assert found.answer == "SS2, NV2 and NV4 are the fastest on TeraSort; which of them is, is not shown."
    assert found.detail.startswith("1.49 to 1.50 times as fast as HD2.")


def test_the_fastest_of_several_is_named_and_a_baseline_that_nothing_beats() -> None:
    assert report(runs_with(times(HD2=30, SS2=20, NV2=10))).answer == "NV2 is the fastest on TeraSort."
    assert (
        report(runs_with(times(HD2=10, SS2=20, NV2=30))).answer == "Nothing is shown to be faster than HD2 on TeraSort."
    )


def test_no_configuration_is_called_the_fastest_where_workloads_disagree() -> None:
    runs = renumbered(
        runs_with(times(HD2=30, SS2=20, NV2=10)), runs_with(times(HD2=30, SS2=10, NV2=20), workload="kmeans")
    )
    found = report(runs)
    assert found.answer == "No layout is the fastest on both workloads."
    assert "NV2 on TeraSort" in found.detail
    assert "SS2 on" in found.detail


def test_money_says_what_to_buy_and_which_price_would_change_it() -> None:
    found = report(study_runs(), book=price_book())
    facts = {fact.name: fact.text for block in opening(found) if isinstance(block, Facts) for fact in block.facts}
    cheaper = [answer.title for answer in found.workloads for cost in answer.costs if (cost.ratio_high or 9) < 1]
    assert cheaper == ["TestDFSIO write", "TeraSort"]
    assert "SS2: a job costs less on TestDFSIO write and TeraSort; " in facts["By cost"]
    least = min(c.ratio or 9.0 for answer in found.workloads for c in answer.compared)
    tips = facts["What would change it"]
    assert tips.startswith("SS2 would by these ratios be the cheaper for a job on each workload ")
    assert f"where its price is below {least:.2f}×" in tips
    assert "threats to validity" in facts["Keep in mind"]


@pytest.mark.parametrize(("seconds", "words"), [(10, "stays the cheaper"), (29, "becomes the cheaper")])
def test_no_configuration_stays_the_cheaper_that_is_dearer_today(seconds: float, words: str) -> None:
    found = report(runs_with(times(HD2=30, SS2=seconds)), book=price_book())
    facts = {fact.name: fact.text for block in opening(found) if isinstance(block, Facts) for fact in block.facts}
    assert facts["What would change it"].startswith(f"SS2 {words} for a TeraSort job ")


def test_many_comparisons_leave_one_row_for_each_workload() -> None:
    layouts = {f"NV{number}": 20.0 - number for number in range(1, 15)}
    found = report(runs_with(times(HD2=30, **layouts)))
    (row,) = rows_of(found)
    assert row[0] == "TeraSort"
    assert row[1] == row[2] == "NV14"
    assert row[4] == "faster"
