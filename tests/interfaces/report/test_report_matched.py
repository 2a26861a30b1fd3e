"""Test a report over matched groups: decisions and details of groups."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from click.testing import CliRunner, Result

from assay.analysis.comparison.factors.device_classes import layout_classes
from assay.analysis.statistics.runs.run_table import RunTable, table_of
from assay.interfaces.charts.drawing.identity import colours_of
from assay.interfaces.charts.speedups import speedup_domain, speedup_forest
from assay.interfaces.cli.main import assay
from assay.interfaces.report.output.document import Facts, Points
from assay.interfaces.report.output.html import html
from assay.model.runs.origin import Origin
from assay.model.runs.run import Run
from assay.model.runs.run_status import RunStatus
from assay.questions.decisions.chart_rows import forest_rows
from assay.questions.report.combinations import combined_times
from assay.store import Repository
from assay.text.ratios import format_ratio
from builders import coded_warnings, make_run
from learning import learning_runs
from matching import matched_speedups
from report_support import document_of, groups_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser

GROUPS = 6


def many_runs(layout_name: str = "SS2") -> list[Run]:
    """Return runs of two workloads in groups that differ in block size. Sort is 3 times as fast on SSDs, count is not.

    One more run has a layout that no other run of its group has.
    """
    runs: list[Run] = []
    for number in range(GROUPS):
        for workload, gain in (("sort", 3.0), ("count", 1.0)):
            for layout, speed in (("HD2", 1.0), (layout_name, gain)):
                duration_s = (100 + 7 * number) / speed * (1 + 0.01 * (len(runs) % 3))
                levels = {"layout": layout, "dfs.blocksize": str(number)}
                run = make_run(len(runs), workload=workload, layout=layout, duration_s=duration_s, levels=levels)
                runs.append(replace(run, parameters={"dfs.blocksize": str(number)}))
    runs.append(make_run(99, workload="sort", layout="LONE", levels={"layout": "LONE", "dfs.blocksize": "77"}))
    return runs


def table(runs: list[Run]) -> RunTable:
    return table_of(runs)


def test_the_decision_gives_each_workload_and_all_of_them() -> None:
    report = groups_of(table(many_runs()))
    (decision,) = report.decisions
    assert [(r.workload, r.option, r.time.groups if r.time else 0) for r in decision.results] == [
        ("sort", "SS2", GROUPS),
        ("count", "SS2", GROUPS),
    ]
    assert report.not_compared == (("layout", "LONE"),)
    (option,) = decision.options
    assert option.time is not None
    assert option.time.ratio == pytest.approx(3**0.5, rel=0.02)
    document = document_of(report)
    ratio = format_ratio(option.time.ratio)
    assert document.answer == (
        f"2 SSDs per worker (SS2) are {ratio}× as fast as 2 hard disks per worker (HD2) over 2 workloads: "
        "1.00× on count (no difference shown) to 3.00× on Sort."
    )
    assert document.kicker == f"{4 * GROUPS + 1} runs"


def test_the_chart_lists_the_options_of_a_device_class_together() -> None:
    speeds = {"HD2": 1.0, "SS2": 4.0, "HD5": 3.0, "SSD": 2.0}
    runs = [
        make_run(
            4 * number + index,
            layout=layout,
            duration_s=(100 + 7 * number + index) / speed,
            levels={"layout": layout, "dfs.blocksize": str(number)},
            parameters={"dfs.blocksize": str(number)},
        )
        for number in range(GROUPS)
        for index, (layout, speed) in enumerate(speeds.items())
    ]
    (decision,) = groups_of(table(runs)).decisions
    assert [option.option for option in decision.options if option.time] == ["SS2", "HD5", "SSD"]
    rows = forest_rows(decision, layout_classes(table(runs)))
    assert [row.candidate for _, row in rows] == ["SS2", "SSD", "HD5"]


def test_measured_and_simulated_runs_have_separate_decisions_and_details() -> None:
    simulated = [
        replace(run, run_id=f"s{run.run_id}", origin=Origin.SIMULATED, lab_scale=None)
        for run in many_runs("NV1")
        if run.layout != "LONE"
    ]
    report = groups_of(table([*many_runs(), *simulated, make_run(500, workload="alone", layout="HD2")]))
    leaders = {(decision.origin, decision.lab_scale): decision.leader for decision in report.decisions}
    assert leaders == {("measured", "0.05"): "SS2", ("simulated", None): "NV1"}
    assert report.groups is not None
    for groups in report.groups.decisions:
        decision = report.decisions[groups.decision]
        options = {row[1] for shown in groups.tables if shown.title == "Scope" for row in shown.rows}
        words = {"SS2": "2 SSDs (SS2)", "NV1": "NV1"}
        assert options == {f"2 hard disks (HD2) → {words[decision.leader]}"}
    assert report.workloads_not_compared == ("alone",)
    facts = {f.name: f.text for block in document_of(report).opening if isinstance(block, Facts) for f in block.facts}
    assert facts["Workloads not compared"].startswith("alone: no two runs differ in the factor alone")
    assert facts["Options not compared"].startswith("LONE: ")


def test_equal_values_are_stated_and_not_drawn() -> None:
    runs = [
        make_run(1, layout="HD2"),
        make_run(2, layout="SS2", levels={"layout": "SS2", "network": "IB"}),
        make_run(3, layout="SS2", workload="other"),
    ]
    document = document_of(groups_of(table(runs)))
    assert document.answer.startswith("Not compared: no two runs differ in storage layout")
    assert "<svg" not in html(document)


def test_the_chart_has_a_row_for_each_level_with_its_groups_and_a_ring_without_an_interval() -> None:
    speedups = [s for s in matched_speedups(table(many_runs()), "layout", "HD2") if s.ratio is not None]
    single_group = matched_speedups(
        table([make_run(1, layout="HD2", duration_s=90), make_run(2, layout="SS2", duration_s=1)]), "layout"
    )
    spec = speedup_forest([(s.candidate, s) for s in [*speedups, *single_group]], colours_of(["HD2", "SS2"]))
    low, high = spec["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert low <= 0.9
    assert high == pytest.approx(99)
    bases = [row["basis"] for row in spec["data"]["values"]]
    groups = f"{GROUPS} matched groups"
    assert [basis.partition(",")[0] for basis in bases] == [groups, groups, "1 run each"]
    assert [row["low"] is None for row in spec["data"]["values"]] == [False, False, True]


def test_one_wide_interval_ends_at_the_axis_with_an_arrow() -> None:
    rows = [s for s in matched_speedups(table(many_runs()), "layout", "HD2") if s.ratio is not None]
    wide_row = replace(rows[0], low=0.02, high=90.0)
    assert speedup_domain([*rows, wide_row]) == speedup_domain(rows), "the other rows have the whole width"
    low, high = speedup_domain([wide_row, replace(wide_row, low=0.03)])
    assert high == pytest.approx(4 * (rows[0].ratio or 0.0)), "where all are wide, the axis has some of them"
    assert low == pytest.approx(0.25)
    spec = speedup_forest([("a", rows[1]), ("b", wide_row)], colours_of(["HD2", "SS2"]))
    [_, cut_row] = spec["data"]["values"]
    assert (cut_row["low"], cut_row["high"]) == (0.02, 90.0), "the tooltip has the true ends"
    shapes = [layer["mark"].get("shape") for layer in spec["layer"] if layer["mark"].get("shape")]
    assert shapes == ["triangle-left", "triangle-right"]
    assert "arrow" in str(spec["layer"][0]["encoding"]["x"]["title"])
    spec_without_arrows = speedup_forest([("a", rows[0])], colours_of(["HD2", "SS2"]))
    assert not [layer for layer in spec_without_arrows["layer"] if layer["mark"].get("shape")]


def test_a_configuration_has_the_colour_of_the_web_pages() -> None:
    runs = table(many_runs())
    document = document_of(groups_of(runs))
    names = ("SS2", "HD2", "LONE")
    assert {name: document.palette[name] for name in names} == colours_of(names, layout_classes(runs))
    assert document.palette["HD2"] == colours_of(["NVE", "HD2", "RL3"])["HD2"], "whatever else there is"


def test_the_page_is_escaped_and_makes_no_requests() -> None:
    runs = table(many_runs("<script>x</script>"))
    page = html(document_of(groups_of(runs, warnings=coded_warnings("<b>kernel"))))
    assert "<script" not in page
    assert "<b>kernel" not in page
    assert "http:" not in page
    assert "src=" not in page


@pytest.fixture(scope="module")
def repository_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    repository = Repository.create(tmp_path_factory.mktemp("r"))
    for run in many_runs():
        repository.publish(run)
    return repository.root


def report(repository_root: Path, *words: str) -> Result:
    return CliRunner().invoke(assay, ["report", "--repository", str(repository_root), "--json", *words])


def test_single_configurations_are_shown_where_they_fit(repository_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full_report = json.loads(report(repository_root, "--baseline", "HD2").stdout)
    assert len(full_report["configurations"]["comparisons"]) == 2 * GROUPS
    assert full_report["groups"]["decisions"][0]["tables"]
    single_report = json.loads(report(repository_root, "--single", "--baseline", "HD2").stdout)
    assert (single_report["configurations"] is None, single_report["groups"]) == (False, None)
    monkeypatch.setattr("assay.questions.report.build.COMPARISONS_MAX", 5)
    report_without_configurations = json.loads(report(repository_root, "--baseline", "HD2").stdout)
    assert report_without_configurations["configurations"] is None
    assert report_without_configurations["groups"]["decisions"][0]["tables"]
    assert report_without_configurations["decisions"] == full_report["decisions"] == single_report["decisions"]


def test_several_factors_and_prices_make_a_matched_page(repository_root: Path, tmp_path: Path) -> None:
    book = tmp_path / "prices.yaml"
    book.write_text(
        "prices: p\ncurrency: USD\ndate: 2026-01-01\nsource: s\nitems:\n"
        "  - {name: cluster, price: $2, per: cluster-hour, layouts: [HD2]}\n"
        "  - {name: cluster, price: $3, per: cluster-hour, layouts: [SS2]}\n"
    )
    page = tmp_path / "r.html"
    result = report(repository_root, "--by", "layout,dfs.blocksize", "--prices", str(book), "-o", str(page))
    assert result.exit_code == 0, result.exception
    answer = json.loads(result.stdout)
    assert answer["decisions"][0]["decision"]["factor"] == "layout + dfs.blocksize"
    jobs = {job["job"]["workload"]: job for job in answer["run_costs"]["jobs"]}
    assert [row["levels"]["layout"] for row in jobs["sort"]["rows"]] == ["SS2", "HD2"]
    assert any("LONE" in text for text in answer["run_costs"]["unpriced"])
    assert "Time against cost" in page.read_text()


def test_a_browser_shows_the_report_without_console_messages_or_horizontal_scrolling(
    browser: Browser, tmp_path: Path
) -> None:
    page = tmp_path / "r.html"
    runs = table(many_runs())
    page.write_text(html(document_of(groups_of(runs))))
    messages: list[str] = []
    for width in (1200, 360):
        tab = browser.new_page(viewport={"width": width, "height": 800})
        tab.on("console", lambda message: messages.append(message.text))
        tab.goto(page.as_uri())
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert messages == []
        assert tab.locator("svg:visible").count() == 1, "the decision"
        tab.close()


def test_caveats_and_threats_of_a_table_have_a_chapter() -> None:
    runs = [
        replace(run, cold=None if number % 2 else False, origin=Origin.PUBLISHED)
        for number, run in enumerate(many_runs())
    ]
    runs.append(make_run(100, workload="sort", layout="SS2", status=RunStatus.FAILED))
    report = groups_of(table(runs), warnings=coded_warnings("the kernel is not the same"))
    (chapter,) = [chapter for chapter in document_of(report).chapters if chapter.anchor == "threats"]
    texts = [point.text for block in chapter.blocks if isinstance(block, Points) for point in block.points]
    assert set(texts) >= {caveat.text for caveat in report.decisions[0].caveats}
    assert len(texts) == len(set(texts))
    assert "the kernel is not the same." in texts
    assert any("1 failed" in text for text in texts)
    assert any("warm caches" in text for text in texts)
    assert any("cache state" in text for text in texts)


@pytest.mark.slow
def test_a_chapter_shows_times_of_storage_network_and_containers_together(tmp_path: Path) -> None:
    """One combination was never run: it is counted, and no guess is drawn for it."""
    root = tmp_path / "repository"
    store = Repository.create(root)
    runs = [run for run in learning_runs(clusters=(8,), slots=(2, 4, 8)) if run.workload == "sort"]
    slots = "mapreduce.tasktracker.map.tasks.maximum"
    missing_levels = (runs[0].layout, runs[0].levels["network"], runs[0].parameters[slots])
    stored_runs = [run for run in runs if (run.layout, run.levels["network"], run.parameters[slots]) != missing_levels]
    for run in stored_runs:
        store.publish(run)
    assert combined_times(store, store.table().subset(np.arange(1))) == ()
    (times,) = combined_times(store, store.table())
    assert (times.workload, times.not_measured) == ("sort", 1)
    assert times.factors == ("layout", "network", slots)
    assert all(cell.configurations for cell in times.cells)
    assert missing_levels not in {cell.levels for cell in times.cells}
    path = tmp_path / "report.html"
    CliRunner().invoke(assay, ["report", "-o", str(path), "--matched", "--repository", str(root)])
    page = path.read_text()
    assert "Storage × network × containers" in page
    assert "Left out: 1 combination that no run has" in page
    assert "the model&#39;s guess" not in page
    assert "the model's guess" not in page
