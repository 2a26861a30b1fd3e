"""Test flagged runs: one judgement for all uses of a run, and its effect on costs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.analysis.outliers.anomalies import Kind
from assay.analysis.outliers.anomaly_column import time_outliers
from assay.analysis.statistics.runs.run_table import table_of
from assay.model.runs.imported import ImportedRun
from assay.model.runs.run import Run
from assay.questions.costs.conclusion import conclusion
from assay.questions.costs.cost_effectiveness import cost_effectiveness, cost_effectiveness_of_table
from assay.questions.costs.cost_json import cost_effectiveness_json
from assay.questions.costs.cost_rows import CostEffectivenessRequest, JobCostEffectiveness, RowVerdict
from assay.questions.costs.job_cost import cost_view, without_outliers
from assay.questions.decisions.ask import decisions_of
from assay.questions.decisions.decision import CaveatKind, DecisionRequest
from assay.questions.decisions.sentences.cost_sentences import cheapest_sentence
from assay.questions.runs.run_quality import anomalous_runs
from assay.questions.runs.runs import RunPageRequest, run_page, selected
from assay.questions.trust.flags import FlagCount, flag_count, flags, flags_in, flags_of_run
from assay.specs.prices import prices_of
from assay.store import Repository
from assay.store.formats.aloja import execs
from assay.store.formats.aloja.clusters import parse_clusters
from assay.store.formats.aloja.price_book import price_book_text
from assay.store.formats.source import Source
from builders import make_run
from paths import ROOT

ALOJA = ROOT.parent / "shared" / "data" / "aloja"
BOOK = prices_of(
    """
prices: made-up
currency: USD
date: 2026-01-01
source: made up
amortisation: {years: 3}
items:
  - {name: disks, price: $26280, per: cluster, layouts: [HDD]}
  - {name: flash, price: $52560, per: cluster, layouts: [SSD]}
""",
    "prices",
)
BY = ("layout", "network", "cluster")
TIMES_OF_EQUAL_COST = ((0, "HDD", [200.0, 204.0, 196.0, 202.0]), (10, "SSD", [100.0, 103.0, 97.0, 99.0]))
ODD = 30
"""The run of hard disks that ended after a fifth of their time."""


def times_of(number: int, layout: str, seconds: list[float], **changes: Any) -> list[Run]:
    levels = {"layout": layout}
    return [make_run(number + n, layout=layout, levels=levels, duration_s=s, **changes) for n, s in enumerate(seconds)]


def study() -> list[Run]:
    """Return a dozen repetitions of two layouts, one odd run, and one run of another cluster that nothing prices."""
    scatter = [1.0, 1.02, 0.98, 1.01, 0.99, 1.03, 0.97, 1.0, 1.01, 0.99, 1.02, 0.98]
    disks = times_of(0, "HDD", [100 * s for s in scatter])
    flash = times_of(15, "SSD", [60 * s for s in scatter])
    return [*disks, *flash, *times_of(ODD, "HDD", [20.0]), *times_of(40, "NVE", [30.0], cluster="elsewhere")]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    made = Repository.create(tmp_path_factory.mktemp("r"))
    for run in study():
        made.publish(run)
    return made


def planes(repository: Repository, *where: str, **asked: Any) -> list[JobCostEffectiveness]:
    table = selected(flags_in(repository).table, where)
    by = asked.pop("by", ())
    return cost_effectiveness(repository, table, BOOK, CostEffectivenessRequest(by, **asked))


def test_a_run_has_the_same_flag_and_reason_in_every_view(repository: Repository) -> None:
    known = flags_in(repository)
    run = repository.run(make_run(ODD).run_id)
    (flag,) = flags_of_run(repository, known, run)
    assert flag.reason.startswith("20 s: 5.00 times as fast as the median of 13 repetitions (100 s)")
    assert flags_of_run(repository, known, repository.run(make_run(0).run_id)) == ()
    alone = selected(known.table, [f"anomaly={flag.kind}"])
    outliers = anomalous_runs(repository, known, alone)
    assert [odd.run_id for odd in outliers.anomalies] == [run.run_id]
    assert flag_count(known.table) == FlagCount(26, 1, (("too fast", 1),))
    assert flag_count(known.table).sentence == "1 of 26 valid runs is an outlier (1 too fast)"


def test_runs_can_be_filtered_by_kind_of_outlier(repository: Repository) -> None:
    table = flags_in(repository).table
    facet = next(f for f in run_page(repository, table, RunPageRequest()).facets if f.column == "anomaly")
    assert {level.level: level.runs for level in facet.levels if level.runs} == {"none": 25, "too fast": 1}
    assert run_page(repository, table, RunPageRequest(("anomaly=too fast",))).total == 1
    assert "anomaly" not in table.factors


def test_a_flagged_run_counts_unless_it_is_excluded(repository: Repository) -> None:
    (every,) = planes(repository, by=("layout",))
    assert [(row.label, row.n, row.flagged) for row in every.rows] == [("HDD", 13, 1), ("SSD", 12, 0)]
    assert (every.flagged, every.includes_flagged) == (1, True)
    (view,) = planes(repository, by=("layout",), exclude_flagged=True)
    assert [(row.label, row.n, row.flagged) for row in view.rows] == [("HDD", 12, 1), ("SSD", 12, 0)]
    assert view.rows[0].time_s == pytest.approx(100, rel=0.01)
    assert (view.flagged, view.includes_flagged) == (1, False)


def test_a_flag_about_bytes_excludes_no_time(tmp_path: Path) -> None:
    store = Repository.create(tmp_path / "r")
    for number in range(6):
        read = 2e8 if number == 5 else 1e9
        store.publish(make_run(number, layout="HDD", levels={"layout": "HDD"}, metrics={"disk_read_bytes": read}))
    known = flags_in(store)
    assert flag_count(known.table).kinds == (("too few bytes", 1),)
    assert not time_outliers(known.table).any()
    (view,) = cost_effectiveness(store, known.table, BOOK, CostEffectivenessRequest(("layout",), exclude_flagged=True))
    assert (view.rows[0].n, view.flagged) == (6, 0)


def test_a_cluster_whose_data_size_is_implausible_wins_no_ranking() -> None:
    """A suite named 1 TB that ended after 513 s, where every other cluster takes hours, was the cheapest of all."""

    def suites(number: int, cluster: str, seconds: dict[str, float]) -> list[Run]:
        return [
            replace(run, workload_parameters={"suite": name}, data_bytes=None)
            for at, (name, s) in enumerate(seconds.items())
            for run in times_of(number + 10 * at, "HDD", [s, 1.01 * s], cluster=cluster)
        ]

    runs = []
    for number, factor in enumerate((1.0, 1.2, 0.8, 1.1)):
        times = {"HiBench-100GB": 900 * factor, "HiBench-1TB": 9100 * factor}
        runs += suites(100 * number, f"al-1{number}", times)
    runs += suites(900, "al-05", {"HiBench-100GB": 500.0, "HiBench-1TB": 513.0})
    small, large = cost_effectiveness_of_table(
        table_of(runs), {}, BOOK, CostEffectivenessRequest(by=("layout", "cluster"))
    )
    assert len(small.rows) == 5
    assert small.set_apart == {}
    assert [row.levels["cluster"] for row in large.rows] == ["al-12", "al-10", "al-13", "al-11"]
    assert large.set_apart == {
        "HDD al-05": "19 times as fast per worker as the same work on other clusters: "
        "the recorded data size is implausible"
    }
    fast = [replace(run, duration_s=run.duration_s / 3) if run.cluster == "al-05" else run for run in runs[:-2]]
    fast += suites(950, "al-05", {"HiBench-1TB": 3200.0})
    _, plausible = cost_effectiveness_of_table(
        table_of(fast), {}, BOOK, CostEffectivenessRequest(by=("layout", "cluster"))
    )
    assert plausible.rows[0].levels["cluster"] == "al-05"


def test_the_headline_names_rows_with_lower_means_that_no_matched_run_compares(tmp_path: Path) -> None:
    """The cluster al-9 has other settings, so no run of it matches one of al-0, and its mean costs less."""
    store = Repository.create(tmp_path / "r")
    for first, cluster, layout, time_s, size in (
        (0, "al-0", "HDD", 100.0, "64"),
        (10, "al-0", "SSD", 90.0, "64"),
        (20, "al-9", "HDD", 20.0, "128"),
    ):
        for run in times_of(first, layout, [time_s + n / 10 for n in range(4)], cluster=cluster):
            store.publish(replace(run, levels={**run.levels, "block": size}))
    (view,) = cost_effectiveness(store, flags_in(store).table, BOOK, CostEffectivenessRequest(("layout", "cluster")))
    cheap = next(row for row in view.rows if row.levels["cluster"] == "al-9")
    assert cheap.verdict is RowVerdict.NOT_COMPARED
    assert view.headline.startswith("Of 2 rows with matched runs: ")
    assert "the only other option compared costs more. 1 of 3 rows are not compared with these" in view.headline
    assert f"Some of their means are lower: 1 hard disk (HDD), al-9 (${cheap.cost:.4f}" in view.headline


def test_cost_and_decide_exclude_the_same_implausible_runs_and_print_the_same_sentence(tmp_path: Path) -> None:
    store = Repository.create(tmp_path / "r")
    for number, factor in enumerate((1.0, 1.2, 0.8, 1.1, 0.05)):
        for layout, time_s in (("HDD", 9000.0), ("SSD", 4000.0)):
            first = 100 * number + (50 if layout == "SSD" else 0)
            runs = times_of(first, layout, [time_s * factor * (1 + 0.01 * n) for n in range(3)], cluster=f"al-{number}")
            for run in runs:
                store.publish(run)
    table = flags_in(store).table
    (view,) = cost_effectiveness(store, table, BOOK, CostEffectivenessRequest(("layout",)))
    (decision,) = decisions_of(store, table, DecisionRequest("layout", prices=BOOK))
    assert view.decision is not None
    assert view.headline == cheapest_sentence(decision)
    assert view.decision.results == decision.results
    assert sum(row.n for row in view.rows) == decision.runs == 24
    assert list(view.set_apart) == ["HDD", "SSD"]
    excluded = [caveat.text for caveat in decision.caveats if caveat.kind is CaveatKind.EXCLUDED]
    assert len(excluded) == 1
    assert excluded[0].startswith("6 runs on al-4 do not count: 23 times as fast per worker as the same work on other")


def test_runs_of_another_cluster_are_omitted_with_the_reason_and_the_others_are_answered(
    repository: Repository,
) -> None:
    (view,) = planes(repository)
    assert [row.levels["layout"] for row in view.rows] == ["HDD", "SSD"]
    assert view.unpriced == {"NVE elsewhere": "price book 'made-up' does not price layout NVE"}
    tco = cost_view(study(), BOOK)
    assert list(tco.bills) == ["HDD", "SSD"]
    assert "NVE" in tco.unpriced


def test_the_option_where_selects_the_runs_that_are_priced(repository: Repository) -> None:
    (view,) = planes(repository, "layout=SSD")
    assert (view.decision, [row.levels["layout"] for row in view.rows]) == (None, ["SSD"])
    assert "is the only row with a price" in view.headline


def test_cost_and_years_give_one_interval_for_one_number(repository: Repository) -> None:
    many, left_out = without_outliers(repository, flags_in(repository).table)
    few = [run for run in many if run.repetition in (0, 1, 2, 15, 16, 17, 18)]
    assert left_out == 1
    for runs in (many, few):
        (plane,) = cost_effectiveness_of_table(table_of(runs), {}, BOOK, CostEffectivenessRequest(by=("layout",)))
        rows = {row.label: row for row in plane.rows}
        for job in cost_view(runs, BOOK, years=3).rows:
            row = rows[job.layout]
            assert (job.cost_per_job, job.cost_per_job_low, job.cost_per_job_high) == pytest.approx(
                (float(row.cost), row.cost_low, row.cost_high), rel=1e-9
            )


def test_costs_over_years_have_the_interval_of_the_row_with_their_network() -> None:
    times = {("HDD", "ETH"): [100.0, 104.0], ("SSD", "ETH"): [60.0, 66.0]}
    times |= {("HDD", "IB"): [90.0, 120.0], ("SSD", "IB"): [50.0, 51.0]}
    runs = []
    for first, ((layout, network), seconds) in enumerate(times.items()):
        made = times_of(10 * first, layout, seconds)
        runs += [replace(run, levels={**run.levels, "network": network}) for run in made]
    (view,) = cost_effectiveness_of_table(table_of(runs), {}, BOOK, CostEffectivenessRequest(by=("layout", "network")))
    rows = {row.label: row for row in view.rows}
    ethernet = [run for run in runs if run.levels["network"] == "ETH"]
    for job in cost_view(ethernet, BOOK, years=3, similar=runs).rows:
        row = rows[f"{job.layout} ETH"]
        assert (job.cost_per_job_low, job.cost_per_job_high) == pytest.approx((row.cost_low, row.cost_high), rel=1e-9)


def test_the_lowest_cost_of_a_single_run_has_no_verdict() -> None:
    runs = [*times_of(0, "HDD", [100.0, 110.0, 90.0, 105.0, 95.0]), *times_of(10, "SSD", [30.0])]
    (view,) = cost_effectiveness_of_table(table_of(runs), {}, BOOK, CostEffectivenessRequest(by=("layout",)))
    assert {row.verdict for row in view.rows} == {RowVerdict.NOT_ENOUGH_RUNS}
    assert [row.rank for row in view.rows] == [None, None]
    assert conclusion(view) == "Not enough runs for a verdict on 2 options"
    assert view.headline.endswith("Which is the cheapest is open: a verdict needs 3 runs of each option, not 1.")
    assert view.rows[0].borrowed
    assert " the lowest mean cost per job on TeraSort" in view.headline
    assert " the cheapest per job" not in view.headline
    lonely = [run for run in runs if run.run_id in {make_run(n).run_id for n in (0, 10)}]
    (view,) = cost_effectiveness_of_table(table_of(lonely), {}, BOOK, CostEffectivenessRequest(by=("layout",)))
    assert {(row.cost_low, row.verdict) for row in view.rows} == {(None, RowVerdict.NOT_ENOUGH_RUNS)}


def test_suites_of_known_size_are_separate_cost_planes() -> None:
    def suite(name: str, number: int, seconds: float) -> list[Run]:
        return [
            replace(run, workload_parameters={"suite": name}, data_bytes=None)
            for run in times_of(number, "HDD", [seconds])
        ]

    runs = [*suite("HiBench-1TB", 0, 5000.0), *suite("HiBench-100GB", 1, 500.0)]
    views = cost_effectiveness_of_table(table_of(runs), {}, BOOK, CostEffectivenessRequest(by=("layout",)))
    assert [view.rows[0].time_s for view in views] == [5000.0, 500.0]
    assert all(view.size_recorded for view in views)


@pytest.mark.slow
def test_no_single_run_of_alojas_k_means_is_named_the_cheapest() -> None:
    """One K-means run on hard disks took 344 s, a third of comparable runs, and had the lowest cost of all."""
    if not ALOJA.is_dir():
        pytest.skip("ALOJA's tables are not here")
    clusters, dump = ALOJA / "aloja-clusters.csv", ALOJA / "aloja-execs-2014-09-dump.csv"
    text = price_book_text(parse_clusters(Source(clusters, clusters.name).text()), source="x", date="2015-10-01")
    items = execs.FORMAT.read([Source(dump, dump.name)])
    known = flags(table_of([item.run for item in items if isinstance(item, ImportedRun)]))
    table, book = selected(known.table, ["workload=kmeans"]), prices_of(text, "prices")
    for include in (True, False):
        (view,) = cost_effectiveness_of_table(
            table, {}, book, CostEffectivenessRequest(by=BY, take="best", exclude_flagged=not include)
        )
        assert RowVerdict.CHEAPEST not in {row.verdict for row in view.rows if row.n == 1 or row.group == 1}
        first = view.answers[0]
        assert " the lowest mean cost per job on K-means" in first
        assert " the cheapest" not in first


def test_a_run_in_which_one_node_did_most_is_flagged_where_the_others_like_it_were_even(tmp_path: Path) -> None:
    """What is read of all runs has the metric: without it no command and no page ever flagged one."""
    store = Repository.create(tmp_path / "r")
    uneven = {1: 1.1, 2: 1.2, 3: 1.15, 4: 2.4}
    for number, imbalance in uneven.items():
        store.publish(make_run(number, duration_s=60.0 + number, metrics={"disk_imbalance": imbalance}))
    known = flags_in(store)
    [only] = known.anomalies.listed()
    assert only.kind is Kind.IMBALANCE
    assert only.observed == pytest.approx(2.4)
    assert only.reason.endswith("2.40× the mean of the nodes; the median of its 4 repetitions is 1.17×")
    assert flag_count(known.table).kinds == (("imbalance", 1),)


def test_runs_with_few_tasks_are_uneven_and_no_outliers() -> None:
    runs = [make_run(n, duration_s=60.0 + n, metrics={"cpu_imbalance": 1.6 + 0.1 * n}) for n in range(5)]
    assert not len(flags(table_of(runs)).anomalies)


def test_the_conclusion_states_how_many_rows_may_be_the_cheapest() -> None:
    """Flash costs twice as much per hour as disks and takes half the time: the costs are equal."""
    disks, flash = (times_of(n, layout, seconds) for n, layout, seconds in TIMES_OF_EQUAL_COST)
    request = CostEffectivenessRequest(by=("layout",))
    (view,) = cost_effectiveness_of_table(table_of([*disks, *flash]), {}, BOOK, request)
    assert conclusion(view) == "Open: any of 2 compared options may be the cheapest"


def test_rows_of_clusters_without_matched_runs_are_ranked_in_groups_the_lowest_cost_first() -> None:
    """The large cluster has more matched runs, and the small one costs less: the small one comes first."""
    times = {("large", "HDD"): 900.0, ("large", "SSD"): 1200.0, ("small", "HDD"): 400.0, ("small", "SSD"): 100.0}
    runs = []
    for first, ((cluster, layout), seconds) in enumerate(times.items()):
        count = 9 if cluster == "large" else 4
        made = times_of(10 * first, layout, [seconds + number for number in range(count)])
        runs += [replace(run, cluster=cluster, parameters={"size": cluster}) for run in made]
    request = CostEffectivenessRequest(by=("layout", "cluster"))
    (view,) = cost_effectiveness_of_table(table_of(runs), {}, BOOK, request)
    assert [(row.label, row.group, row.rank) for row in view.rows] == [
        ("SSD small", 1, 1),
        ("HDD small", 1, 2),
        ("HDD large", 2, 1),
        ("SSD large", 2, 2),
    ]
    small, large = view.answers
    assert small.startswith("The 2 options on cluster small: 1 SSD per worker (SSD) is the cheapest per job")
    assert large.startswith("The 2 options on cluster large: 1 hard disk per worker (HDD) is the cheapest per job")
    assert "on cluster" not in small.partition(": ")[2]
    assert "The two groups can't be compared: no two of their runs have the same settings." in view.headline
    assert conclusion(view) == "Cheapest of the 2 options on cluster small (2 other options not compared)"
    assert [row.label for row in view.rows if row.on_pareto_front] == ["SSD small", "HDD large"]
    assert [row.pareto_front_probability for row in view.rows] == pytest.approx([1.0, 0.0, 1.0, 0.0], abs=0.01)
    assert [(group.name, [row.label for row in group.rows]) for group in view.groups] == [
        ("the 2 options on cluster small", ["SSD small", "HDD small"]),
        ("the 2 options on cluster large", ["HDD large", "SSD large"]),
    ]
    assert view.quadrants is None
    assert cost_effectiveness_json(view)["quadrants"] is None
    # A price changes the order within a cluster: no row of the small cluster takes the place of one of the large.
    winners = {row.price.name: (row.below_winner, row.above_winner) for row in view.switching_prices}
    assert winners == {"flash": ("SSD large", "HDD small"), "disks": ("HDD small", "SSD large")}
    prices = {row.price.name: row for row in view.switching_prices}
    assert prices["flash"].below == pytest.approx(26280 * 904 / 1204, rel=1e-4)
    assert prices["flash"].above == pytest.approx(26280 * 401.5 / 101.5, rel=1e-3)


def test_rows_with_too_few_runs_make_no_group() -> None:
    """Two runs of each option allow no verdict, so the small cluster has no ranks; the large one is the answer."""
    times = {("large", "HDD"): 900.0, ("large", "SSD"): 1200.0, ("small", "HDD"): 400.0, ("small", "SSD"): 100.0}
    runs = []
    for first, ((cluster, layout), seconds) in enumerate(times.items()):
        made = times_of(10 * first, layout, [seconds + number for number in range(9 if cluster == "large" else 2)])
        runs += [replace(run, cluster=cluster, parameters={"size": cluster}) for run in made]
    request = CostEffectivenessRequest(by=("layout", "cluster"))
    (view,) = cost_effectiveness_of_table(table_of(runs), {}, BOOK, request)
    assert [(row.label, row.group, row.rank) for row in view.rows] == [
        ("HDD large", 1, 1),
        ("SSD large", 1, 2),
        ("SSD small", None, None),
        ("HDD small", None, None),
    ]
    assert [group.name for group in view.groups] == [""]
    assert view.quadrants is not None
    (answer,) = view.answers
    assert answer.startswith("Of 2 rows with matched runs: 1 hard disk per worker (HDD)")
    assert "2 of 4 rows are not compared with these" in view.headline
