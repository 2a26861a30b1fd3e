"""Test the report as a page: self-contained, escaped, without browser errors, readable on a phone."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from assay.analysis.run_profile.run_detail import run_detail
from assay.foundation.errors import AssayError
from assay.interfaces.report.output.html import html as render
from assay.model.runs.job import Stage
from assay.model.runs.origin import Origin
from assay.model.runs.run import Run
from assay.model.runs.run_status import RunStatus
from assay.model.runs.traces.trace import Trace
from assay.questions.json_values import json_value
from assay.questions.report.values import Report
from assay.questions.runs.complete_run import CompleteRun
from builders import PRICES_YAML, build_repository, coded_warnings, make_trace, price_book, runs_with, study_runs
from command import invoke
from detail_support import hybrid_run, hybrid_tasks, hybrid_trace
from report_support import configurations_of, document_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PAGES_MAX = 20
HOSTILE = "<script>alert('x')</script>\"onload=\"x&amp;"


def content_of(runs: list[Run], **options: Any) -> Report:
    by_id = {run.run_id: run for run in runs}
    return configurations_of(runs, **{"trace_of": lambda run_id: make_trace(by_id[run_id]), **options})


def render_report(content: Report) -> str:
    return render(document_of(content))


@pytest.fixture(scope="module")
def page() -> str:
    return render_report(content_of(study_runs(), book=price_book()))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repository")
    build_repository(folder)
    return folder


@pytest.mark.slow
def test_the_page_loads_nothing_from_any_host(page: str) -> None:
    assert re.findall(r"https?://", page) == []
    assert re.findall(r"(?:src|href|url)\s*[=(]\s*[\"']?(?!data:|#)[^\"')\s]+", page) == []
    assert "<script" not in page
    assert "@import" not in page


def test_the_page_answers_in_its_headline_and_says_where_numbers_come_from(page: str) -> None:
    headline = re.search(r"<h1>(.*?)</h1>", page)
    assert headline is not None
    assert headline[1].startswith("2 SSDs per worker (SS2) are 1.67× as fast as 2 hard disks per worker (HD2) over 3")
    assert "measured in a lab at scale 1/20" in page
    for words in (
        "95 % interval",
        "3 runs each",
        "Caveats and threats to validity",
        "DataNode on worker2 died",
        "Gated aggregate",
        "Per stream",
        "Over job wall time",
        "$37,561",
        "Proven cold",
    ):
        assert words in page, words
    assert all(run.run_id in page for run in study_runs())


def content_with_details(runs: list[Run], lab: dict[str, Any] | None = None, stages: tuple[Stage, ...] = ()) -> Report:
    """Return the content with the details of one run of each configuration."""

    def observed_of(run: Run) -> CompleteRun:
        run_ = hybrid_run()
        run_ = replace(run_, run_id=run.run_id, environment=run_.environment | {"lab": lab}, stages=stages)
        return CompleteRun(
            run_, tuple(hybrid_tasks()), hybrid_trace(), run_detail(run_, hybrid_tasks(), hybrid_trace())
        )

    return content_of(runs, observed_of=observed_of)


@pytest.mark.slow
def test_one_run_of_each_configuration_has_its_details() -> None:
    content = content_with_details(
        runs_with({"HD2": [4.0, 4.1, 4.2], "SS2": [2.0, 2.1, 2.2]}, metrics={"hdfs_read_bytes": 5e9})
    )
    assert content.configurations is not None
    (section,) = content.configurations.sections
    assert [view.level for view in section.views] == ["HD2", "SS2"]
    html = render_report(content)
    for words in (
        "One run of each in detail",
        "Where the time went",
        "Size of disk requests",
        "128 kB",
        "Tasks in each phase",
        "Tasks by container",
        "HDFS + intermediate (hdd2)",
        "shows only their sum",
        "Data and CPU use of each workload",
        "5 GB (1.00)",
    ):
        assert words in unescape(html), words
    names = re.findall(r'\bid="([\w-]+)"', html)
    assert len(names) == len(set(names))
    assert "<script" not in html


@pytest.mark.slow
def test_the_details_of_a_spark_run_have_its_stages() -> None:
    stage = Stage(0, 0, "rows by range", (), 8, 2.0, 5.5, None, 10**8, 0, 0, 10**8, 4 * 10**6, 0.4, 0)
    last = replace(stage, stage_id=1, name="saved", parents=(0,), start_s=5.5, end_s=9.0, spilled_bytes=0)
    runs = runs_with({"HD2": [4.0, 4.1, 4.2], "SS2": [2.0, 2.1, 2.2]})
    text = unescape(re.sub(r"<[^>]+>", " ", render_report(content_with_details(runs, stages=(stage, last)))))
    shown = " ".join(text.split())
    assert "Spark stages" in shown
    assert "HD2 0 – 2.0 5.5 8 rows by range HD2 1 0 5.5 9.0 8 saved SS2 0" in shown
    assert "HD2 0 100 MB – 100 MB – 4 MB 0.4 s –" in shown
    assert "Spark stages" not in render_report(content_with_details(runs))


def test_the_details_of_single_runs_are_in_the_json() -> None:
    """Details of real runs have task attempts, which are no dataclasses."""
    report = content_with_details(runs_with({"HD2": [4.0, 4.1, 4.2], "SS2": [2.0, 2.1, 2.2]}))
    answer = json.loads(json.dumps(json_value(report)))
    placed = answer["configurations"]["sections"][0]["views"][0]["timeline"]["placed"]
    assert {item["task"]["kind"] for item in placed} == {"map", "reduce"}


@pytest.mark.slow
def test_request_sizes_have_the_largest_request_of_the_lab() -> None:
    runs = runs_with({"HD2": [4.0, 4.1, 4.2], "SS2": [2.0, 2.1, 2.2]})
    lab = {"nodes": {"worker1": {"devices": {"hdd1": {"request_bytes": 12288}}}}}
    assert "The lab's largest request is 12 KiB on hdd1 (" in unescape(render_report(content_with_details(runs, lab)))
    assert "largest request" not in render_report(content_with_details(runs))


def test_identifiers_inside_the_charts_are_unique(page: str) -> None:
    names = re.findall(r'\bid="([\w-]+)"', page)
    assert len(names) == len(set(names))
    assert set(re.findall(r"url\(#([\w-]+)\)", page)) <= set(names)


@pytest.mark.slow
def test_hostile_text_in_a_run_stays_text() -> None:
    runs = [
        replace(
            run,
            workload=HOSTILE,
            plan=HOSTILE,
            cluster=HOSTILE,
            cause=HOSTILE,
            warnings=coded_warnings(HOSTILE),
            engine=HOSTILE,
            layout=HOSTILE if run.layout == "SS2" else run.layout,
            started_at=f"{HOSTILE}{run.started_at}",
        )
        for run in study_runs()
    ]
    hostile_trace = Trace()
    for second in range(9):
        hostile_trace.append(second, "n", f"disk:{HOSTILE}", "read_bytes", counter=True, value=second * 1e6)
    html = render_report(content_of(runs, trace_of=lambda _: hostile_trace))
    assert "<script" not in html
    assert "alert(" in html
    assert not re.search(r"<[^>]*\sonload=", html)


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        (runs_with({"HD2": [2.0], "SS2": [1.0]}), "Not enough runs to compare 2 SSDs per worker (SS2) with"),
        (runs_with({"HD2": [2.0, 2.1], "SS2": [1.0, 1.1]}), "Not enough runs to compare 2 SSDs per worker (SS2) with"),
        (
            runs_with({"HD2": [2.0, 2.1, 2.2], "SS2": [2.2, 2.0, 2.1]}),
            "2 SSDs per worker (SS2) and 2 hard disks per worker (HD2) are not distinguishable on TeraSort",
        ),
        (runs_with({"HD2": [2.0, 2.1, 2.2]}), "Not compared: no two runs differ in storage layout"),
        (runs_with({"HD2": [2.0], "SS2": [1.0]}, status=RunStatus.FAILED), "Not compared: no two runs differ in"),
    ],
)
def test_weak_evidence_makes_a_weak_headline(runs: list[Run], words: str) -> None:
    html = render_report(content_of(runs, trace_of=lambda _: Trace()))
    headline = re.search(r"<h1>(.*?)</h1>", html)
    assert headline is not None
    assert words in headline[1]


def test_many_layouts_share_a_section_per_workload() -> None:
    runs = runs_with({"HD2": [4.0, 4.1, 4.2], "HS5": [3.0, 3.1, 3.2], "SS2": [2.0, 2.1, 2.2]})
    content = content_of(runs, trace_of=lambda _: Trace())
    assert content.configurations is not None
    assert [len(section.comparisons) for section in content.configurations.sections] == [2]


def test_measured_and_simulated_runs_are_kept_apart() -> None:
    real = [replace(run, lab_scale=None) for run in runs_with({"HD2": [4.0] * 3, "SS2": [2.0] * 3})]
    simulated = [replace(run, origin=Origin.SIMULATED, lab_scale=0.05, run_id=f"s{run.run_id}") for run in real]
    content = content_of([*simulated, *real], trace_of=lambda _: Trace())
    assert document_of(content).origin == "simulated in a lab at scale 1/20; measured"
    assert content.configurations is not None
    assert {c.origin for c in content.configurations.comparisons} == {Origin.MEASURED, Origin.SIMULATED}


@pytest.mark.slow
def test_details_of_a_decision_are_printed_as_json(root: Path) -> None:
    result = invoke("decide", "layout", "--details", "groups", "--baseline", "HD2", "--repository", root, "--json")
    answer = json.loads(result.stdout)
    assert answer["decisions"][0]["headline"]
    results = answer["results"]
    assert {c["group"] for c in results} == {"dfsio-write", "dfsio-read", "terasort"}
    for c in results:
        assert c.keys() >= {
            "group",
            "factor",
            "baseline",
            "candidate",
            "runs_baseline",
            "runs_candidate",
            "ratio",
            "low",
            "high",
            "verdict",
            "origin",
        }
        assert (c["factor"], c["baseline"], c["candidate"], c["origin"]) == ("layout", "HD2", "SS2", "measured")
        assert (c["runs_baseline"], c["runs_candidate"]) == (3, 3)
        assert 1 < c["low"] < c["ratio"] < c["high"]


def test_details_of_a_decision_are_printed_as_a_table_with_verdicts(root: Path) -> None:
    text = invoke(
        "decide", "layout", "--details", "groups", "--where", "workload=terasort", "--repository", root
    ).stdout
    assert text.startswith("2 SSDs per worker (SS2) are 2.08× as fast as 2 hard disks per worker (HD2) on TeraSort")
    assert "are too few for a test without assumptions." in text
    assert "CPU was the limit in 3 of 6 runs" in text
    assert "dfsio" not in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("colour",), "factors of these runs: "),
        (("layout", "--baseline", "HD9"), "HD2, SS2"),
        (("layout", "--where", "workload=sleep"), "dfsio-write (TestDFSIO write), dfsio-read"),
    ],
)
def test_an_unknown_name_is_refused_with_the_known_names(root: Path, arguments: tuple[str, ...], words: str) -> None:
    result = invoke("decide", *arguments, "--details", "groups", "--repository", root)
    assert isinstance(result.exception, AssayError)
    assert words in str(result.exception)


def test_costs_over_years_are_printed_as_tables_and_json(root: Path, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text(PRICES_YAML)
    text = invoke("cost", "--years", "3", "--details", "--prices", prices, "--repository", root).stdout
    assert "Read the ratios." in text
    assert "Jobs in 3 years" in text
    answer = json.loads(invoke("cost", "--prices", prices, "--repository", root, "--years", "5", "--json").stdout)
    assert answer["years"] == 5
    assert answer["bills"]["SS2"]["total"] == 46567
    assert len(answer["rows"]) == 6
    assert answer["rows"][0]["jobs"] == pytest.approx(86400 / answer["rows"][0]["runtime_s"] * 5 * 365)


@pytest.mark.slow
def test_report_writes_one_file_and_prints_its_data(root: Path, tmp_path: Path) -> None:
    output = tmp_path / "report.html"
    result = invoke("report", "-o", output, "--repository", root, "--json")
    assert result.exit_code == 0
    assert "2 SSDs per worker (SS2) are 1.67× as fast" in json.loads(result.stdout)["decisions"][0]["headline"]
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert output.read_text().startswith("<!doctype html>")


def test_report_names_the_path_that_it_cannot_write(root: Path, tmp_path: Path) -> None:
    result = invoke("report", "-o", tmp_path / "none" / "report.html", "--repository", root)
    assert isinstance(result.exception, AssayError)
    assert str(tmp_path / "none" / "report.html") in str(result.exception)


def test_report_without_a_file_is_refused_with_the_option(root: Path) -> None:
    result = invoke("report", "--repository", root)
    assert isinstance(result.exception, AssayError)
    assert "-o report.html" in str(result.exception)


TABLET_PX = 768


@pytest.mark.parametrize("width_px", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report_opens_in_chromium_without_a_request_or_an_error(
    browser: Browser, page: str, tmp_path: Path, width_px: int, scheme: Literal["light", "dark"]
) -> None:
    file = tmp_path / "report.html"
    file.write_text(page)
    view = browser.new_page(viewport={"width": width_px, "height": 900}, color_scheme=scheme)
    requests: list[str] = []
    problems: list[str] = []
    view.on("request", lambda request: requests.append(request.url))
    view.on("console", lambda message: problems.append(message.text))
    view.on("pageerror", lambda error: problems.append(str(error)))
    view.goto(file.as_uri())
    shown = view.evaluate("[...document.querySelectorAll('.chart')].filter(e => e.offsetParent).length")
    overflow = view.evaluate("document.documentElement.scrollWidth - innerWidth")
    if width_px > TABLET_PX:
        view.set_viewport_size({"width": TABLET_PX, "height": 900})
        overflow = max(overflow, view.evaluate("document.documentElement.scrollWidth - innerWidth"))
        view.set_viewport_size({"width": width_px, "height": 900})
    small = view.evaluate(
        "Math.min(...[...document.querySelectorAll('.chart svg')].filter(e => e.getClientRects().length)"
        ".map(e => e.getBoundingClientRect().width / e.viewBox.baseVal.width))"
    )
    view.close()
    assert requests == [file.as_uri()]
    assert problems == []
    assert shown == 14
    assert overflow <= 0
    assert small > 0.85, "charts are shrunk until their text can't be read"


@pytest.mark.browser
def test_on_paper_page_one_has_the_answer_the_costs_the_chart_and_the_caveats_and_nothing_is_cut(
    browser: Browser, page: str, tmp_path: Path
) -> None:
    """A4 less the browser's margins of 1 cm, at 96 px an inch; letters are the product's own."""
    width_px, height_px = 718, 1046
    path = tmp_path / "report.html"
    path.write_text(page)
    view = browser.new_page(viewport={"width": width_px, "height": height_px})
    view.emulate_media(media="print")
    view.goto(path.as_uri())
    view.wait_for_function("document.fonts.status === 'loaded'")
    assert view.evaluate("document.fonts.check('600 12px \"Source Sans Pro\"') && document.fonts.size") == 2
    assert view.evaluate("document.documentElement.scrollWidth") <= width_px
    bottom = view.evaluate("document.querySelector('.opening').getBoundingClientRect().bottom")
    assert bottom <= height_px
    pages = re.findall(rb"/Type\s*/Page\b", view.pdf(format="A4", prefer_css_page_size=True))
    assert 1 < len(pages) <= PAGES_MAX
    assert view.locator(".opening figure .paper svg").first.is_visible()
    table = view.locator("#comparisons table")
    assert table.locator("thead").first.is_visible()
    assert table.first.evaluate("table => getComputedStyle(table.rows[1]).display") == "table-row"
    view.close()
