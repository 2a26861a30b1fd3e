"""Page one of a report: no workload is left out, ties are ties, and money is told up to the price that tips it."""

from __future__ import annotations

import pytest

from assay.model.run import Run
from assay.questions.report_single import SingleReport
from assay.report.document import Facts, Table
from assay.report.opening import opening
from builders import price_book, runs_with, study_runs
from report_support import plain_text, single_of

SURE = (0.0, 0.1, 0.2)


def times(**by_layout: float) -> dict[str, list[float]]:
    return {layout: [time_s + more for more in SURE] for layout, time_s in by_layout.items()}


def renumbered(*groups: list[Run]) -> list[Run]:
    from dataclasses import replace

    every = [run for group in groups for run in group]
    return [replace(run, run_id=f"{place:08d}-0000-7000-8000-000000000000") for place, run in enumerate(every)]


def rows_of(found: SingleReport) -> list[list[str]]:
    table = next(block for block in opening(found) if isinstance(block, Table))
    return [[plain_text(cell) for cell in row] for row in table.rows]


def facts_of(found: SingleReport) -> dict[str, str]:
    return {fact.name: fact.text for block in opening(found) if isinstance(block, Facts) for fact in block.facts}


def test_a_workload_without_gain_stands_on_page_one() -> None:
    runs = renumbered(
        runs_with(times(HD2=30, SS2=20)),
        runs_with(times(HD2=20, SS2=20), workload="kmeans"),
        runs_with(times(HD2=20, SS2=24), workload="bayes"),
    )
    found = single_of(runs)
    assert found.answer.startswith("2 SSDs per worker (SS2) are 1.08× as fast as 2 hard disks per worker (HD2) over 3")
    assert found.detail.endswith("Faster on 1 of 3, slower on 1.")
    assert [(row[1], row[2]) for row in rows_of(found)] == [
        ("2 SSDs per worker (SS2)", "faster"),
        ("2 SSDs per worker (SS2)", "equivalent"),
        ("2 SSDs per worker (SS2)", "slower"),
    ]


def test_ties_share_the_headline() -> None:
    found = single_of(runs_with(times(HD2=30, SS2=20, NVE2=20.05, NVE4=19.95)))
    assert found.answer.startswith("4 NVMe drives per worker (NVE4) are 1.50× as fast as 2 hard disks per worker (HD2)")
    ties = found.detail.partition("Not distinguishable from 4 NVMe drives per worker (NVE4): ")[2]
    assert "2 SSDs per worker (SS2)" in ties
    assert "2 NVMe drives per worker (NVE2)" in ties


def test_the_fastest_of_several_is_named_and_a_baseline_that_nothing_beats() -> None:
    fastest = single_of(runs_with(times(HD2=30, SS2=20, NVE2=10)))
    assert fastest.answer.startswith("2 NVMe drives per worker (NVE2) are 2.98× as fast")
    assert "Not distinguishable" not in fastest.detail
    slower = single_of(runs_with(times(HD2=10, SS2=20, NVE2=30)))
    assert slower.answer == "No option is shown to be faster than 2 hard disks per worker (HD2) on TeraSort."
    assert "2 SSDs per worker (SS2) slower (0.50×" in slower.detail


def test_money_states_the_cost_ratio_and_the_break_even_price() -> None:
    found = single_of(study_runs(), book=price_book())
    (decision,) = found.decisions
    (option,) = decision.options
    assert option.time is not None
    assert option.cost is not None
    assert found.detail.partition("Faster on 3 of 3. ")[2].startswith(
        "A job on 2 SSDs per worker (SS2) costs less than on 2 hard disks per worker (HD2): "
    )
    assert found.detail.endswith(
        f"It stays cheaper below {option.time.ratio:.2f}× the price of 2 hard disks per worker (HD2)."
    )
    assert all(row[5] != "–" for row in rows_of(found))
    assert "threats to validity" in facts_of(found)["Keep in mind"]
    assert facts_of(found)["Caveats"].startswith("The intervals cover the tested settings only")


@pytest.mark.parametrize(("seconds", "words"), [(10, "stays cheaper below"), (29, "becomes cheaper below")])
def test_no_configuration_stays_cheaper_that_costs_more_today(seconds: float, words: str) -> None:
    found = single_of(runs_with(times(HD2=30, SS2=seconds)), book=price_book())
    assert words in found.detail


def test_many_comparisons_leave_one_row_for_each_workload() -> None:
    layouts = {f"NVE{number}": 20.0 - number for number in range(1, 15)}
    found = single_of(runs_with(times(HD2=30, **layouts)))
    (row,) = rows_of(found)
    assert row[:3] == ["TeraSort", "14 NVMe drives per worker (NVE14)", "faster"]
