"""Test the pure functions behind pages: facets, pages of runs, thinned series, campaign states."""

from __future__ import annotations

import html
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.run_profile.series import rates, series_of, thinned
from assay.analysis.statistics.runs.facets import conditions_of, facets, matching, page_of
from assay.analysis.statistics.runs.run_table import table_of
from assay.foundation.errors import SpecificationError
from assay.interfaces.cli.decide.decide import decide
from assay.model.runs.traces.trace import Trace
from assay.store import Repository
from assay.store.campaigns.plan_texts import PlanText, plan_texts
from builders import make_run, make_trace, price_book, study_runs
from web_support import client_of, filled


def test_counts_of_a_facet_ignore_its_condition_only() -> None:
    table = table_of(study_runs())
    conditions = conditions_of(["layout=HD2", "workload=terasort"])
    facets_ = {facet.column: facet for facet in facets(table, conditions, ["layout", "workload"])}
    layouts = {level.level: (level.runs, level.chosen) for level in facets_["layout"].levels}
    workloads = {level.level: level.runs for level in facets_["workload"].levels}
    assert layouts == {"HD2": (4, True), "SS2": (3, False)}
    assert workloads == {"terasort": 4, "dfsio-write": 3, "dfsio-read": 3}
    assert int(matching(table, conditions).sum()) == 4


def test_numbers_stand_in_their_order_and_other_levels_by_count() -> None:
    runs = [make_run(n, parameters={"sort": str(value)}) for n, value in enumerate((100, 5, 5, 25))]
    (facet,) = facets(table_of(runs), {}, ["sort"])
    assert [level.level for level in facet.levels] == ["5", "25", "100"]


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=200), st.integers(0, 210), st.integers(1, 50), st.booleans())
def test_a_page_is_what_sorting_everything_gives(times_s: list[float], offset: int, limit: int, down: bool) -> None:
    table = table_of([make_run(n, duration_s=t) for n, t in enumerate(times_s)])
    sort = "-duration_s" if down else "duration_s"
    page = page_of(table, np.ones(len(table), np.bool_), sort=sort, offset=offset, limit=limit)
    expected = sorted(range(len(times_s)), key=lambda row: -times_s[row] if down else times_s[row])
    assert list(page.positions) == expected[offset : offset + limit]
    assert page.total == len(times_s)


def test_runs_without_a_value_come_last_both_ways() -> None:
    table = table_of([make_run(0, started_at=""), make_run(1), make_run(2)])
    every = np.ones(3, np.bool_)
    assert page_of(table, every, sort="started_unix_s").positions == (1, 2, 0)
    assert page_of(table, every, sort="-started_unix_s").positions == (2, 1, 0)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=500), st.integers(1, 20))
def test_thinning_keeps_ends_and_extremes_in_order(values: list[float], windows: int) -> None:
    t_s, series = np.arange(len(values), dtype=np.float64), np.array(values)
    at, kept = thinned(t_s, series, windows)
    assert len(at) <= max(4 * windows, 1)
    assert (at[0], at[-1]) == (t_s[0], t_s[-1])
    assert (kept.min(), kept.max()) == (series.min(), series.max())
    assert bool(np.all(np.diff(at) > 0))
    assert all(series[int(t)] == value for t, value in zip(at, kept, strict=True))


def test_a_single_spike_among_a_million_survives() -> None:
    values = np.zeros(1_000_000)
    values[765_432] = 1.0
    at, kept = thinned(np.arange(1_000_000, dtype=np.float64), values, 300)
    assert len(at) <= 1200
    assert at[int(np.argmax(kept))] == 765_432


def test_counters_become_rates_and_a_restart_is_no_negative_one() -> None:
    at, values = rates(np.array([0.0, 1.0, 3.0, 4.0]), np.array([0.0, 10.0, 50.0, 5.0]))
    assert (at.tolist(), values.tolist()) == ([1.0, 3.0, 4.0], [10.0, 20.0, 5.0])
    trace = Trace()
    for t, value in ((0.0, 0.0), (1.0, 2e6)):
        trace.append(t, "n", "disk:hdd1", "read_bytes", counter=True, value=value)
        trace.append(t, "n", "memory", "cached_bytes", counter=False, value=value)
    units = {series.metric: (series.unit, series.values) for series in series_of(trace)}
    assert units == {"read_bytes": ("MB/s", (2.0,)), "cached_bytes": ("MB", (0.0, 2.0))}


def test_an_unknown_column_is_an_error_with_the_choices() -> None:
    with pytest.raises(SpecificationError) as raised:
        matching(table_of(study_runs()), conditions_of(["colour=red"]))
    assert "workload" in str(raised.value)


def test_plans_are_listed_as_written_and_damaged_ones_are_skipped(tmp_path: Path) -> None:
    for name, text in (("c1", b"plan: p\n"), ("c2", b"\xff")):
        folder = tmp_path / "campaigns" / name
        folder.mkdir(parents=True)
        (folder / "campaign.json").write_text(json.dumps({"plan": "p", "runs": 4, "started_unix_s": 5.0}))
        (folder / "plan.yaml").write_bytes(text)
    assert plan_texts(tmp_path / "campaigns") == [PlanText("p", "c1", "plan: p\n")]
    Repository.create(tmp_path / "r")
    shutil.copytree(tmp_path / "campaigns", tmp_path / "r" / "campaigns")
    (newest, _) = client_of(tmp_path / "r").get("/api/v1/campaigns").json()
    assert (newest["campaign_id"], newest["planned"], newest["running"]) == ("c2", 4, False)


@pytest.mark.slow
def test_the_best_founded_comparison_of_each_workload_is_shown_and_all_by_a_click(tmp_path: Path) -> None:
    """Which is shown is chosen by the number of matched groups, never by what it says."""
    repository = Repository.create(tmp_path / "repository")
    layouts = {"HD2": 60.0, "SS2": 30.0, "HD3": 50.0, "HD4": 10.0}
    number = 0
    for workload in ("terasort", "sort", "wordcount", "kmeans", "pagerank"):
        for layout, time_s in layouts.items():
            for containers in range(6 if layout in ("HD2", "SS2") else 2):
                number += 1
                levels = {"layout": layout, "containers": str(containers)}
                repository.publish(
                    make_run(number, workload=workload, layout=layout, levels=levels, duration_s=time_s + number % 5)
                )
    client = client_of(tmp_path / "repository")
    page = client.get("/speedup?by=layout&baseline=HD2").text
    rows = re.findall(r'<th scope="row">([^<]*)</th><td data-label="Compared">.*?</svg>[^<]*\(([A-Z0-9]+)\)', page)
    assert [layout for _, layout in rows] == ["SS2"] * 5
    assert len({workload for workload, _ in rows}) == 5
    row = 'data-label="Compared"><span class="config"'
    address = re.search(r'<a href="([^"]*every=1[^"]*)">All 15 comparisons', page)
    assert address is not None
    assert client.get(address[1].replace("&amp;", "&")).text.count(row) == 15
    narrowed = client.get("/speedup?by=layout&baseline=HD2&where=workload%3Dsort").text
    assert narrowed.count(row) == 3
    assert "every=1" not in narrowed


@pytest.mark.slow
def test_a_question_without_prices_leads_to_the_page_cost(tmp_path: Path) -> None:
    filled(tmp_path / "repository")
    page = client_of(tmp_path / "repository").get("/").text
    card = page.partition('id="cheapest"')[2].partition("</section>")[0]
    assert '<a href="/cost">Enter prices</a>' in card
    assert "Plan runs" not in card


@pytest.mark.slow
def test_questions_have_one_order_on_the_first_page_and_in_the_terminal(tmp_path: Path) -> None:
    root = filled(tmp_path / "r").root
    page = client_of(root, book=price_book()).get("/").text.partition('id="further"')[0]
    cards = re.findall(r'class="card question( unanswered)?" data-question="(\w+)" id=', page)
    result = CliRunner().invoke(decide, ["--repository", str(root), "--json"])
    assert [name for _, name in cards] == [view["name"] for view in json.loads(result.stdout)]
    answered = [not unanswered for unanswered, _ in cards]
    assert answered != sorted(answered, reverse=True), "an unanswered question comes before an answered one"


@pytest.mark.slow
def test_why_is_offered_where_two_runs_have_traces_or_task_attempts(tmp_path: Path) -> None:
    bare, traced = (Repository.create(tmp_path / name) for name in ("bare", "traced"))
    for run in study_runs():
        bare.publish(run)
        traced.publish(run, trace=make_trace(run) if run.workload == "terasort" else None)
    for address in ("/", "/speedup?by=layout"):
        assert 'class="why"' not in client_of(bare.root).get(address).text
    page = client_of(traced.root).get("/").text
    assert re.findall(r">(Why, on [^<]*)<", page) == ["Why, on TeraSort?"]
    rows = client_of(traced.root).get("/speedup?by=layout").text.split("<tr>")
    offered = {"TeraSort" in row for row in rows if 'data-label="Reasons"><a class="why"' in row}
    assert offered == {True}


@pytest.mark.slow
def test_why_opens_below_the_question_of_its_card_with_the_same_filter(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "r")
    for run in study_runs():
        repository.publish(run, trace=make_trace(run))
    client = client_of(repository.root)
    card = client.get("/?where=workload=terasort&where=status=valid").text
    answer = re.search(r'data-question="storage".*?<strong>([^<]+)<', card, re.DOTALL)
    link = re.search(r'data-question="storage".*?class="why" href="([^"]+)"', card, re.DOTALL)
    assert answer
    assert link
    page = client.get(html.unescape(link[1])).text
    assert 'id="decision-0">SSDs or hard disks?' in page
    assert f"<strong>{answer[1]}</strong>" in page
    assert "The answer uses all matching runs: Workload TeraSort, Status valid." in page
    assert 'class="why"' not in page, "this page is the explanation"


@pytest.mark.slow
def test_a_card_states_the_break_even_price_outside_its_fold_and_the_amounts_in_it(tmp_path: Path) -> None:
    client = client_of(filled(tmp_path / "r").root, book=price_book())
    view = next(item for item in client.get("/api/v1/questions").json() if item["name"] == "storage")
    card, _, folded = client.get("/").text.split('data-question="storage"')[1].partition('<details class="full"')
    assert view["amounts"]
    assert html.escape(view["amounts"]["break_even"], quote=False) in card
    assert html.escape(view["amounts"]["per_job"], quote=False) in folded
    assert html.escape(view["amounts"]["over_years"], quote=False) in folded


def test_why_compares_the_pair_that_the_api_names(tmp_path: Path) -> None:
    client = client_of(filled(tmp_path / "r").root)
    query = {"by": "layout", "baseline": "HD2", "candidate": "SS2", "where": "workload=terasort"}
    pair = client.get("/api/v1/why", params=query).json()
    page = client.get("/why", params=query, follow_redirects=False)
    assert page.status_code == 303
    runs = "&".join(f"run={run_id}" for run_id in pair["runs"])
    assert page.headers["location"] == f"/compare?{runs}&by=layout&baseline=HD2&where=workload%3Dterasort"
    absent = client.get("/api/v1/why", params=query | {"candidate": "none"})
    assert absent.status_code == 404
    assert client.get("/why", params={"by": "layout"}).status_code in (400, 422)
