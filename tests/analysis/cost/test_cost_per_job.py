"""Test prices, jobs per year and cost per job against the tables in SanDisk's paper."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.cost.job_cost import Runtime, cost_per_job, job_cost_rows, jobs_over, jobs_per_day
from assay.analysis.cost.parts import Counts
from assay.analysis.cost.prices import run_price
from assay.analysis.statistics import table_of
from assay.foundation.errors import RepositoryError, SpecificationError
from assay.model.clusters.price_book import LineItem, PriceBook
from assay.model.runs.run import Run
from assay.model.runs.run_status import RunStatus
from assay.questions.clusters.cluster_facts import first_facts
from assay.questions.costs.job_cost import cost_view, counts_of
from assay.questions.decisions.costs.run_costs import run_costs
from assay.questions.decisions.decide import decide
from assay.questions.decisions.decision import CostVerdict, Decision, DecisionRequest
from builders import make_run, price_book, runs_with, study_runs

RUNTIMES = {("read", "HDD"): 1756.0, ("read", "SSD"): 485.0, ("write", "HDD"): 5131.0, ("write", "SSD"): 1319.0}
PRICES = {"HDD": Decimal(37561), "SSD": Decimal(46567)}
SECONDS = st.floats(0.1, 1e6)
MONEY = st.decimals(1, 10**7, places=2)


def book(*items: LineItem) -> PriceBook:
    return PriceBook("test", "USD", "2026-01-01", "made up", items)


def test_sandisks_tables_5_and_7_come_out_as_printed() -> None:
    rows = job_cost_rows({key: Runtime(s) for key, s in RUNTIMES.items()}, PRICES, years=3, rounding="paper")
    costs = {(row.workload, row.layout): row for row in rows}
    assert {key: row.jobs for key, row in costs.items()} == {
        ("read", "HDD"): 53876,
        ("read", "SSD"): 195068,
        ("write", "HDD"): 18438,
        ("write", "SSD"): 71727,
    }
    assert {key: row.cost_per_job for key, row in costs.items()} == {
        ("read", "HDD"): 0.69,
        ("read", "SSD"): 0.23,
        ("write", "HDD"): 2.03,
        ("write", "SSD"): 0.64,
    }
    assert costs["read", "HDD"].jobs_per_day == 49.2
    assert costs["write", "HDD"].jobs_per_day == 16.84
    assert costs["write", "SSD"].jobs_per_day == 65.5
    # As the paper prints it; 86400 / 485 is 178.144, and its own 195068 jobs follow from that.
    assert costs["read", "SSD"].jobs_per_day == 178.15


def test_without_the_papers_rounding_nothing_is_rounded() -> None:
    (row,) = job_cost_rows({("read", "HDD"): Runtime(1756.0)}, PRICES)
    assert row.jobs == pytest.approx(86400 / 1756 * 1095)
    assert row.cost_per_job == pytest.approx(37561 / (86400 / 1756 * 1095))


@given(SECONDS, MONEY, st.floats(0.5, 20))
def test_cost_per_job_times_jobs_is_the_price(runtime_s: float, price: Decimal, years: float) -> None:
    assert cost_per_job(price, runtime_s, years) * jobs_over(runtime_s, years) == pytest.approx(float(price))


@given(SECONDS, MONEY)
def test_the_papers_rounding_never_adds(runtime_s: float, price: Decimal) -> None:
    jobs, exact = jobs_over(runtime_s, 3, "paper"), jobs_over(runtime_s, 3)
    assert exact * (1 - 1e-9) - 1 <= jobs <= exact * (1 + 1e-9)
    assert cost_per_job(price, runtime_s, 3, "paper") <= float(price) / jobs * (1 + 1e-9)


@given(SECONDS, MONEY, st.floats(1.01, 50))
def test_a_faster_job_is_cheaper_and_a_dearer_cluster_is_not(runtime_s: float, price: Decimal, factor: float) -> None:
    assert cost_per_job(price, runtime_s / factor, 3) < cost_per_job(price, runtime_s, 3)
    assert cost_per_job(price * 2, runtime_s, 3) == pytest.approx(2 * cost_per_job(price, runtime_s, 3))


@given(SECONDS, st.floats(0.7, 0.99), st.floats(1.01, 1.5), MONEY)
def test_the_costs_interval_is_the_run_times(runtime_s: float, low: float, high: float, price: Decimal) -> None:
    (row,) = job_cost_rows({("w", "L"): Runtime(runtime_s, runtime_s * low, runtime_s * high, 3)}, {"L": price})
    assert row.cost_per_job_low == pytest.approx(row.cost_per_job * low)
    assert row.cost_per_job_high == pytest.approx(row.cost_per_job * high)


@pytest.mark.parametrize("runtime_s", [0.0, -1.0, float("nan"), float("inf")])
def test_an_impossible_run_time_is_refused(runtime_s: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        jobs_per_day(runtime_s)


def test_a_bill_counts_nodes_workers_and_the_layouts_devices() -> None:
    priced = book(
        LineItem("switch", Decimal(1000), "cluster"),
        LineItem("node", Decimal(2000), "node"),
        LineItem("name server", Decimal(500), "master"),
        LineItem("NIC", Decimal("99.50"), "worker"),
        LineItem("HDD", Decimal(50), "device", "hdd"),
        LineItem("SSD", Decimal(300), "device", "ssd"),
        LineItem("licence", Decimal(7), "cluster", layouts=("SS2",)),
    )
    counts = Counts(nodes=7, masters=1, workers=6, layout_devices={"hdd": 2})
    assert run_price(priced, counts, "HD2").total == 1000 + 14000 + 500 + Decimal(597) + 600
    ssd = Counts(nodes=7, masters=1, workers=6, layout_devices={"ssd": 2})
    assert run_price(priced, ssd, "SS2").total == 1000 + 14000 + 500 + Decimal(597) + 3600 + 7


def test_a_layout_without_a_price_is_named() -> None:
    with pytest.raises(SpecificationError, match="does not price layout HS5"):
        run_price(price_book(), Counts(), "HS5")


def test_a_device_without_a_price_is_named_instead_of_being_free() -> None:
    priced = book(LineItem("node", Decimal(2000), "node"), LineItem("HDD", Decimal(50), "device", "hdd"))
    with pytest.raises(SpecificationError, match="no price for the ssd devices of layout SS2"):
        run_price(priced, Counts(7, 1, 6, {"ssd": 2}), "SS2")


def test_a_count_that_the_runs_do_not_have_is_an_error() -> None:
    with pytest.raises(SpecificationError, match="priced per worker"):
        run_price(book(LineItem("NIC", Decimal(9), "worker")), Counts(), "HD2")


def test_counts_are_read_from_the_runs_environment() -> None:
    counts = counts_of(study_runs(), "SS2")
    assert (counts.nodes, counts.masters, counts.workers, counts.layout_devices) == (4, 1, 3, {"ssd": 2})
    assert counts.levels["cluster"] == "lab-small"
    assert counts_of([], "SS2") == Counts(layout_devices={"ssd": 2})
    odd = runs_with({"HD2": [1.0]}, environment={"cluster": {"nodes": "many", "layout_devices": None}})
    counts = counts_of(odd, "HD2")
    assert (counts.nodes, counts.workers, counts.layout_devices) == (None, None, {"hdd": 2})


def test_counts_that_differ_between_the_runs_of_a_layout_are_unknown() -> None:
    environments = [{"cluster": {"nodes": workers + 1, "masters": 1, "workers": workers}} for workers in (3, 6)]
    counts = counts_of([make_run(number, environment=facts) for number, facts in enumerate(environments)], "HD2")
    assert (counts.nodes, counts.masters, counts.workers) == (None, 1, None)
    assert counts.layout_devices == {"hdd": 2}


def test_costs_of_runs_use_the_same_runs_as_a_comparison_and_its_interval() -> None:
    view = cost_view(study_runs(), price_book(), decisions=decided(study_runs()))
    assert [(row.workload, row.layout, row.n) for row in view.rows][:2] == [
        ("dfsio-write", "HD2", 3),
        ("dfsio-write", "SS2", 3),
    ]
    assert view.note is not None
    assert "ratios" in view.note
    assert {ratio.workload for ratio in view.ratios} == {row.workload for row in view.rows}
    for ratio in view.ratios:
        costs = {row.layout: row.cost_per_job for row in view.rows if row.workload == ratio.workload}
        assert ratio.ratio == pytest.approx(costs["SS2"] / costs["HD2"])
        assert (ratio.ratio_low or 9) < ratio.ratio < (ratio.ratio_high or 0)


def test_the_interval_of_a_cost_over_years_does_not_depend_on_the_compared_runs() -> None:
    single = runs_with({"HD2": [100.0]}, cluster="quiet")
    again = runs_with({"SS2": [50.0, 51.0, 52.0]}, cluster="quiet")
    elsewhere = runs_with({"SS2": [50.0, 80.0, 30.0]}, cluster="loud")

    def interval(runs: list[Run], similar: list[Run]) -> tuple[float | None, float | None]:
        rows = cost_view(runs, price_book(), similar=similar).rows
        [single_row] = [row for row in rows if (row.layout, row.n) == ("HD2", 1)]
        return single_row.cost_per_job_low, single_row.cost_per_job_high

    known = interval([*single, *again], [])
    assert None not in known
    assert interval(single, [*single, *again]) == known
    assert interval(single, [*single, *again, *elsewhere]) == known, "times of another cluster tell nothing of it"
    assert interval(single, []) == (None, None)


def test_without_a_valid_run_there_is_nothing_to_price() -> None:
    with pytest.raises(RepositoryError, match="no valid run"):
        cost_view(runs_with({"HD2": [1.0]}, status=RunStatus.INVALID), price_book())


def test_a_lower_cost_is_corrected_for_the_number_of_jobs() -> None:
    other = {"HD2": [100.0, 117.1, 84.3, 95.7], "SS2": [101.3, 83.9, 116.7, 96.1]}

    def verdict(jobs: int) -> CostVerdict:
        near = runs_with({"HD2": [100.1, 108.2, 93.7, 97.9], "SS2": [85.3, 92.4, 82.8, 88.1]})
        more = [runs_with(other, workload=f"job{number}") for number in range(jobs - 1)]
        runs = [replace(run, block=0) for group in [near, *more] for run in group]
        ratios = cost_view(runs, price_book(), decisions=decided(runs, equal_prices=True)).ratios
        return next(row.verdict for row in ratios if row.workload == near[0].workload)

    assert (verdict(1), verdict(8)) == (CostVerdict.CHEAPER, CostVerdict.NOT_DISTINGUISHABLE)


def test_two_runs_a_side_are_too_few_for_a_verdict_on_cost() -> None:
    runs = runs_with({"HD2": [100.0, 101.0], "SS2": [50.0, 50.5]})
    (row,) = cost_view(runs, price_book(), decisions=decided(runs)).ratios
    assert row.verdict is CostVerdict.NOT_ENOUGH_RUNS
    assert row.ratio_high is not None


def test_without_a_decision_there_are_no_ratios() -> None:
    view = cost_view(study_runs(), price_book(), baseline="HD2")
    assert (view.ratios, view.performance, view.baseline) == ((), (), "HD2")


def decided(runs: list[Run], *, equal_prices: bool = False) -> tuple[Decision, ...]:
    """Return the decisions on the layouts of ``runs``, priced by the price book or with one price for all."""
    table = table_of(runs)
    facts = first_facts(({**run.levels, "cluster": run.cluster, "layout": run.layout}, run.recorded) for run in runs)
    costs = run_costs(facts, table, price_book())
    if equal_prices:
        costs = replace(costs, per_h=np.ones(len(table)))
    return decide(table, DecisionRequest("layout", "HD2"), costs)
