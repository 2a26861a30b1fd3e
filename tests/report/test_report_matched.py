"""A report over matched sets: what it says, that the chart shows it, and when it is made by itself."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from click.testing import CliRunner, Result

from assay.charts.identity import colours_of
from assay.charts.speedups import speedup_domain, speedup_forest
from assay.cli.main import assay
from assay.model.run import Origin, Run, RunStatus
from assay.questions.report_combined import combined_of
from assay.report.html import html
from assay.repository import Repository
from assay.statistics.run_table import RunTable, table_of
from assay.wording.ratios import format_ratio
from builders import make_run, said
from learning import learning_runs
from matching import matched_speedups
from report_support import matched, matched_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SETS = 6


def many_runs(script: str = "SS2") -> list[Run]:
    """Return runs of two workloads in sets that differ in block size: sort gains 3, count nothing; and one alone."""
    found: list[Run] = []
    for number in range(SETS):
        for workload, gain in (("sort", 3.0), ("count", 1.0)):
            for layout, speed in (("HD2", 1.0), (script, gain)):
                duration_s = (100 + 7 * number) / speed * (1 + 0.01 * (len(found) % 3))
                levels = {"layout": layout, "dfs.blocksize": str(number)}
                run = make_run(len(found), workload=workload, layout=layout, duration_s=duration_s, levels=levels)
                found.append(replace(run, parameters={"dfs.blocksize": str(number)}))
    found.append(make_run(99, workload="sort", layout="LONE", levels={"layout": "LONE", "dfs.blocksize": "77"}))
    return found


def table(runs: list[Run]) -> RunTable:
    return table_of(runs)


def test_the_report_gives_each_workload_and_all_together() -> None:
    content = matched_of(table(many_runs()), "HD2")
    assert [section.title for section in content.sections] == ["Sort", "count"]
    sort = content.sections[0]
    assert [(s.candidate, s.groups) for s in sort.speedups] == [("SS2", SETS)]
    assert sort.speedups[0].ratio == pytest.approx(3, rel=0.02)
    assert sort.never_compared == ("LONE",)
    assert sort.best is not None
    assert "SS2" in sort.best[0].may_be_best
    assert "HD2" not in sort.best[0].may_be_best
    assert content.overall[0].ratio == pytest.approx(3**0.5, rel=0.02)
    ratio = format_ratio(content.overall[0].ratio or 0)
    words = "2 SSDs per worker (SS2) are", "2 hard disks per worker (HD2) over 2 workloads"
    assert content.answer.startswith(f"{words[0]} {ratio}× as fast as {words[1]}.")
    assert content.runs == 4 * SETS + 1


def test_page_one_has_a_row_for_each_origin_of_a_workload_and_names_what_it_could_not_compare() -> None:
    """What simulated runs say of the fastest never stands in the row of measured ones."""
    simulated = [
        replace(run, run_id=f"s{run.run_id}", origin=Origin.SIMULATED, lab_scale=None)
        for run in many_runs("NV1")
        if run.layout != "LONE"
    ]
    content = matched_of(table([*many_runs(), *simulated, make_run(500, workload="alone", layout="HD2")]), "HD2")
    leaders = {(decision.origin, decision.lab_scale): decision.leader for decision in content.decisions}
    assert leaders == {("measured", "0.05"): "SS2", ("simulated", None): "NV1"}
    fastest = {row[0]: row[2] for one in content.tables if one.title.startswith("Fastest") for row in one.rows}
    assert fastest["Sort (measured, lab 1/20)"] == "SS2"
    assert fastest["Sort (simulated)"] == "NV1"
    told = {fact.name: fact.text for fact in content.points}
    assert told["Not compared"].startswith("alone: of no runs that are equal in all but layout one side is HD2")


def test_nothing_that_is_equal_is_said_and_not_drawn() -> None:
    runs = [
        make_run(1, layout="HD2"),
        make_run(2, layout="SS2", levels={"layout": "SS2", "network": "IB"}),
        make_run(3, layout="SS2", workload="other"),
    ]
    content = matched_of(table(runs), "HD2")
    assert content.sections == ()
    assert content.answer.startswith("Not compared: no two runs differ in layout")
    assert "<svg" not in html(matched(content, table(runs)))


def test_the_chart_has_a_row_for_each_level_with_its_sets_and_a_ring_without_an_interval() -> None:
    found = [s for s in matched_speedups(table(many_runs()), "layout", "HD2") if s.ratio is not None]
    few = matched_speedups(
        table([make_run(1, layout="HD2", duration_s=90), make_run(2, layout="SS2", duration_s=1)]), "layout"
    )
    domain = speedup_domain([*found, *few])
    assert domain[0] <= 0.9
    assert domain[1] == pytest.approx(99)
    spec = speedup_forest(
        [(s.candidate, s) for s in [*found, *few]], colours_of(["HD2", "SS2"]), domain=domain, counted=True
    )
    texts = [row["label"] for row in spec["data"]["values"]]
    assert [text.partition("× ")[2] for text in texts] == [f"({SETS} groups)", f"({SETS} groups)", "(1 group)"]
    assert [row["low"] is None for row in spec["data"]["values"]] == [False, False, True]


def test_a_configuration_has_the_colour_of_the_web_pages() -> None:
    runs = table(many_runs())
    document = matched(matched_of(runs, "HD2"), runs)
    assert document.palette == colours_of(["SS2", "HD2", "LONE"])
    assert document.palette["HD2"] == colours_of(["NVE", "HD2", "RL3"])["HD2"], "whatever else there is"


def test_the_page_is_escaped_and_asks_nobody() -> None:
    runs = table(many_runs("<script>x</script>"))
    page = html(matched(matched_of(runs, "HD2", warnings=said("<b>kernel")), runs))
    assert "<script" not in page
    assert "<b>kernel" not in page
    assert "http:" not in page
    assert "src=" not in page


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    repository = Repository.create(tmp_path_factory.mktemp("r"))
    for run in many_runs():
        repository.publish(run)
    return repository.root


def report(stored: Path, *words: str) -> Result:
    return CliRunner().invoke(assay, ["report", "--repository", str(stored), "--json", *words])


def test_too_many_comparisons_for_a_page_are_put_together(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "comparisons" in json.loads(report(stored, "--baseline", "HD2").stdout)["sections"][0]
    monkeypatch.setattr("assay.questions.report_single.COMPARISONS_MAX", 5)
    found = json.loads(report(stored, "--baseline", "HD2").stdout)
    assert found["sections"][0]["speedups"][0]["groups"] == SETS
    monkeypatch.undo()
    assert "comparisons" in json.loads(report(stored, "--single", "--baseline", "HD2").stdout)["sections"][0]


def test_several_factors_and_prices_make_a_matched_page(stored: Path, tmp_path: Path) -> None:
    book = tmp_path / "prices.yaml"
    book.write_text(
        "prices: p\ncurrency: USD\ndate: 2026-01-01\nsource: s\nitems:\n"
        "  - {name: cluster, price: $2, per: cluster-hour, layouts: [HD2]}\n"
        "  - {name: cluster, price: $3, per: cluster-hour, layouts: [SS2]}\n"
    )
    page = tmp_path / "r.html"
    result = report(stored, "--by", "layout,dfs.blocksize", "--prices", str(book), "-o", str(page))
    assert result.exit_code == 0, result.exception
    found = json.loads(result.stdout)
    assert found["factor"] == "layout + dfs.blocksize"
    assert [row["levels"]["layout"] for row in found["sections"][0]["costs"][0]["rows"]] == ["SS2", "HD2"]
    assert any("LONE" in text for text in found["unpriced"])
    assert "Time against money" in page.read_text()


def test_a_browser_shows_it_without_a_word_and_without_scrolling_sideways(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    runs = table(many_runs())
    page.write_text(html(matched(matched_of(runs, "HD2"), runs)))
    said: list[str] = []
    for width in (1200, 360):
        shown = browser.new_page(viewport={"width": width, "height": 800})
        shown.on("console", lambda message: said.append(message.text))
        shown.goto(page.as_uri())
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
        assert said == []
        assert shown.locator("svg:visible").count() == 4, "overall, two workloads, and what was compared with what"
        shown.close()


def test_threats_of_a_table_are_read_off_it() -> None:
    runs = [
        replace(run, cold=None if number % 2 else False, origin=Origin.PUBLISHED)
        for number, run in enumerate(many_runs())
    ]
    runs.append(make_run(100, workload="sort", layout="SS2", status=RunStatus.FAILED))
    content = matched_of(table(runs), "HD2", warnings=said("the kernel is not the same"))
    found = {threat.title: threat.text for threat in content.threats}
    assert "LONE (sort)" in found["Levels without a counterpart"]
    assert found["Few repetitions"].startswith("In 2 of 2 ratios")
    assert found["More than the factor differed"] == "the kernel is not the same."
    assert "1 failed" in found["Runs that do not count"]
    assert {"Warm runs", "Cache state not proven", "Not everything was measured"} <= found.keys()
    assert "Few matched groups" not in found


def test_storage_network_and_containers_have_a_chapter_of_what_was_measured_together(tmp_path: Path) -> None:
    """One combination was never run: it is counted, and no guess is drawn for it."""
    root = tmp_path / "repository"
    store = Repository.create(root)
    runs = [run for run in learning_runs(clusters=(8,), slots=(2, 4, 8)) if run.workload == "sort"]
    slots = "mapreduce.tasktracker.map.tasks.maximum"
    first = (runs[0].layout, runs[0].levels["network"], runs[0].parameters[slots])
    kept = [run for run in runs if (run.layout, run.levels["network"], run.parameters[slots]) != first]
    for run in kept:
        store.publish(run)
    assert combined_of(store, store.table().taken(np.arange(1))) == ()
    (one,) = combined_of(store, store.table())
    assert (one.title, one.guessed) == ("Sort", 1)
    assert one.by == ("Storage layout", "Network", "Map slots per worker")
    assert all(cell.configurations for cell in one.cells)
    assert first not in {cell.levels for cell in one.cells}
    path = tmp_path / "report.html"
    CliRunner().invoke(assay, ["report", "-o", str(path), "--matched", "--repository", str(root)])
    page = path.read_text()
    assert "Storage × network × containers" in page
    assert "1 combination that nobody measured left out" in page
    assert "the model&#39;s guess" not in page
    assert "the model's guess" not in page
