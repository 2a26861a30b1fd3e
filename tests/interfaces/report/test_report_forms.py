"""Test a report as Markdown, PDF and charts: same content, escaped text, whole files."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answer_repositories import ALOJA, repository_of
from assay.foundation.errors import AssayError, SpecificationError
from assay.interfaces.report.output.document import ReportDocument, charts_of, plain_text
from assay.interfaces.report.output.html import html
from assay.interfaces.report.output.markdown import escaped, markdown
from assay.interfaces.report.output.pdf import as_data
from assay.interfaces.report.output.pictures import on_paper, svg
from assay.interfaces.report.output.writing import write_document
from assay.model.runs.origin import Origin
from assay.model.runs.run import Run
from builders import PRICES_YAML, build_repository, coded_warnings, make_trace, price_book, runs_with, study_runs
from command import invoke
from report_support import configurations_of, document_of
from simulator_support import measured_repository, needs_simulator

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HOSTILE = "<b>x</b> | `y` [z](http://w) *s* _u_ # $v$ \\"
CHAPTERS = [
    "How it was measured",
    "Every comparison",
    "Details",
    "Each configuration by itself",
    "TestDFSIO write",
    "TestDFSIO read",
    "TeraSort",
    "Meaning of the three throughputs",
    "Cost per job",
    "Findings",
    "Caveats and threats to validity",
    "Appendix: configuration and provenance",
    "How to reproduce it",
]


def made_of(runs: list[Run], **options: Any) -> ReportDocument:
    by_id = {run.run_id: run for run in runs}
    return document_of(configurations_of(runs, trace_of=lambda run_id: make_trace(by_id[run_id]), **options))


@pytest.fixture(scope="module")
def document() -> ReportDocument:
    return made_of(study_runs(), book=price_book())


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repository")
    build_repository(folder)
    return folder


def test_every_report_has_its_chapters_in_their_order(document: ReportDocument) -> None:
    assert [chapter.title for chapter in document.chapters] == CHAPTERS
    anchors = [chapter.anchor for chapter in document.chapters]
    assert len(anchors) == len(set(anchors))


@pytest.mark.slow
def test_html_has_a_contents_list_whose_links_lead_somewhere(document: ReportDocument) -> None:
    page = html(document)
    links = re.findall(r'href="#([^"]+)"', page)
    assert links == [chapter.anchor for chapter in document.chapters]
    assert all(f'<section id="{link}"' in page for link in links)
    assert document.question in unescape(page)


def test_the_question_is_that_of_the_decision(document: ReportDocument) -> None:
    assert document.question == "Which storage layout?"


@pytest.mark.slow
def test_markdown_has_the_sentences_of_html(document: ReportDocument) -> None:
    text, page = markdown(document, "r-charts"), unescape(html(document))
    assert [
        line.lstrip("# ") for line in text.splitlines() if re.match(r"#{2,3} ", line) and line.lstrip("# ") in CHAPTERS
    ] == CHAPTERS
    assert (
        text.count("](r-charts/")
        == len(charts_of(document))
        == page.count("<figcaption>") - page.count('class="listing"><figcaption')
    )
    assert "| TeraSort | SS2 against HD2 | 2.08× |" in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    widths = [len(re.findall(r"(?<!\\)\|", row)) for row in rows]
    assert min(widths) >= 3
    assert "\\$37,561" in text


def test_hostile_text_stays_text_in_markdown() -> None:
    warnings = coded_warnings(HOSTILE)
    runs = [replace(run, plan=HOSTILE, cluster=HOSTILE, cause=HOSTILE, warnings=warnings) for run in study_runs()]
    text = markdown(made_of(runs), "c")
    shown = re.sub(r"^(`{3,})\n.*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert "<b>" not in shown
    assert "\\[z\\](http" in shown
    assert not re.search(r"(?<!\\)\[z", shown)


@given(st.text(max_size=40))
def test_an_escaped_text_is_one_line_without_live_marks(text: str) -> None:
    line = escaped(text)
    assert "\n" not in line
    bare = re.sub(r"\\.", "x", line)
    assert not set(bare) & set("`*_[]<>|#~$")
    assert not re.match(r"\s*([-+=]|\d+[.)])(\s|$)", bare)


def test_charts_for_paper_have_other_colours(document: ReportDocument) -> None:
    figure = charts_of(document)[0]
    drawn = svg(figure)
    assert "currentColor" not in drawn
    assert "#16191d" in drawn
    assert on_paper(figure.make(340), background=None)["config"]["background"] is None


def test_names_of_charts_are_unique_and_plain(document: ReportDocument) -> None:
    names = [figure.name for figure in charts_of(document)]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in names)


def test_workloads_whose_titles_look_alike_keep_charts_apart() -> None:
    runs = [
        replace(run, workload=name, run_id=f"{name[-1]}{run.run_id}")
        for name in ("a b!", "a-b?")
        for run in runs_with({"HD2": [2.0, 2.1, 2.2], "SS2": [1.0, 1.1, 1.2]})
    ]
    report = made_of([replace(run, run_id=f"r{index}") for index, run in enumerate(runs)])
    names = [figure.name for figure in charts_of(report)]
    assert len(names) == len(set(names))
    anchors = [chapter.anchor for chapter in report.chapters]
    assert len(anchors) == len(set(anchors))


@pytest.mark.slow
def test_markdown_is_written_with_separate_chart_files(root: Path, tmp_path: Path) -> None:
    assert invoke("report", "-o", tmp_path / "a b.md", "--repository", root).exit_code == 0
    text = (tmp_path / "a b.md").read_text()
    named = re.findall(r"\]\(a%20b-charts/([\w-]+\.svg)\)", text)
    assert sorted(named) == sorted(path.name for path in (tmp_path / "a b-charts").iterdir())
    assert (tmp_path / "a b-charts" / named[0]).read_text().startswith("<svg")


@pytest.mark.slow
def test_charts_are_written_as_svg_and_png(root: Path, tmp_path: Path) -> None:
    result = invoke("report", "--charts", tmp_path / "deep" / "charts", "--workload", "terasort", "--repository", root)
    assert result.exit_code == 0, result.exception
    files = sorted((tmp_path / "deep" / "charts").iterdir())
    assert {path.suffix for path in files} == {".svg", ".png"}
    assert len({path.stem for path in files}) * 2 == len(files)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in files if path.suffix == ".png")


@pytest.mark.slow
def test_title_and_question_can_be_given(root: Path, tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    result = invoke(
        "report", "-o", page, "--title", "Disks <1>", "--question", "Which & why?", "--repository", root, "--json"
    )
    assert "<title>Disks &lt;1&gt; · assay</title>" in page.read_text()
    assert "Which &amp; why?" in page.read_text()
    answer = json.loads(result.stdout)
    assert (answer["title"], answer["question"]) == ("Disks <1>", "Which & why?")
    assert "--title 'Disks <1>' --question 'Which & why?' --date " in answer["provenance"]["commands"][-1]


@pytest.mark.parametrize("name", ["report.doc", "report"])
def test_an_unknown_file_ending_is_refused_before_the_repository_is_opened(tmp_path: Path, name: str) -> None:
    result = invoke("report", "-o", tmp_path / name, "--repository", tmp_path / "none")
    assert isinstance(result.exception, SpecificationError)
    assert ".html, .md, .pdf" in str(result.exception)


def test_pdf_without_typst_says_what_to_do(
    document: ReportDocument, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "typst", None)
    with pytest.raises(AssayError, match="pip install typst"):
        write_document(tmp_path / "r.pdf", document)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_pdf_has_every_chapter_and_hostile_text_as_text(tmp_path: Path) -> None:
    pytest.importorskip("typst", reason="NOT tested: typst is not installed, so no PDF was made")
    evil = '#panic("x") $x$ *b* @ref <label> // /* `r` "'
    runs = [replace(run, plan=evil, cluster=evil, cause=evil, warnings=coded_warnings(evil)) for run in study_runs()]
    made = made_of(runs, book=price_book())
    path = tmp_path / "r.pdf"
    write_document(path, made)
    first = path.read_bytes()
    assert first.startswith(b"%PDF-")
    assert len(re.findall(rb"/Title", first)) >= len(CHAPTERS)
    write_document(path, made)
    assert path.read_bytes() == first


@pytest.mark.slow
def test_a_pdf_of_alojas_runs_has_at_most_twenty_pages(tmp_path: Path) -> None:
    pytest.importorskip("typst", reason="NOT tested: typst is not installed, so no PDF was made")
    root, _ = repository_of("aloja", tmp_path)
    prices, path = tmp_path / "prices.yaml", tmp_path / "r.pdf"
    prices.write_text(invoke("prices", "aloja", str(ALOJA.with_name("aloja-clusters.csv"))).stdout)
    invoke("report", "-o", str(path), "--prices", str(prices), "--repository", str(root))
    assert 15 < len(re.findall(rb"/Type\s*/Page\b", path.read_bytes())) <= 20


def test_figures_are_numbered_in_the_order_in_which_they_stand_on_paper(document: ReportDocument) -> None:
    captions = re.findall(r'"caption": "Figure (\d+)\.', as_data(document))
    assert len(captions) > 3
    assert [int(number) for number in captions] == sorted(map(int, captions))


def test_columns_of_text_have_room_on_paper_by_what_they_hold(document: ReportDocument) -> None:
    tables = [b for c in json.loads(as_data(document))["chapters"] for b in c["blocks"] if b["kind"] == "table"]
    assert tables
    for table in tables:
        for index, column in enumerate(table["columns"]):
            longest = max(sum(len(part["text"]) for part in row[index]) for row in table["rows"])
            assert column["room"] >= min(longest, 44)


def test_claims_without_evidence_are_one_sentence(document: ReportDocument) -> None:
    (chapter,) = [chapter for chapter in document.chapters if chapter.anchor == "findings"]
    texts = [plain_text(block.line) for block in chapter.blocks if block.kind == "paragraph"]  # type: ignore[union-attr]
    assert any(text.startswith("Not tested: ") for text in texts)


@pytest.mark.parametrize("media", ["screen", "print"])
def test_details_are_folded_on_a_screen_and_open_on_paper(
    browser: Browser, tmp_path: Path, media: Literal["screen", "print"]
) -> None:
    page = tmp_path / "r.html"
    page.write_text(html(made_of(runs_with({"HD2": [2.0, 2.1, 2.2], "SS2": [1.0, 1.1, 1.2]}), observed_of=None)))
    view = browser.new_page()
    view.goto(page.as_uri())
    view.emulate_media(media=media)
    folded = view.locator("details").first
    assert folded.locator("table").is_visible() == (media == "print")
    if media == "screen":
        folded.locator("summary").press("Enter")
        assert folded.locator("table").is_visible()
    view.close()


@pytest.mark.parametrize("width_px", [1440, 390])
def test_chapters_of_details_are_folded_until_they_are_opened(browser: Browser, tmp_path: Path, width_px: int) -> None:
    page = tmp_path / "r.html"
    document = made_of(runs_with({"HD2": [2.0, 2.1, 2.2], "SS2": [1.0, 1.1, 1.2]}), observed_of=None)
    page.write_text(html(document))
    view = browser.new_page(viewport={"width": width_px, "height": 900})
    view.goto(page.as_uri())
    inner = [chapter for chapter in document.chapters if chapter.inner]
    assert inner
    for chapter in inner:
        section = view.locator(f"#{chapter.anchor}")
        assert section.get_by_role("heading", name=chapter.title, exact=True).is_visible()
        assert section.locator("details").first.get_attribute("open") is None
        section.locator("summary").first.click()
        assert section.locator("details > :not(summary)").first.is_visible()
    assert view.evaluate("document.documentElement.scrollWidth <= innerWidth")
    view.close()


def test_a_report_without_traces_or_prices_leaves_those_parts_out() -> None:
    runs = runs_with({"HD2": [2.0, 2.1, 2.2], "SS2": [1.0, 1.1, 1.2]})
    assert "Cost per job" not in [chapter.title for chapter in document_of(configurations_of(runs)).chapters]


def test_a_report_on_published_runs_states_only_recorded_facts() -> None:
    runs = [
        replace(run, origin=Origin.PUBLISHED, lab_scale=None, started_at="", block=index, cold=None)
        for index, run in enumerate(runs_with({"HD2": [2.0], "SS2": [1.0]}))
    ]
    content = configurations_of(runs)
    assert not {fact.name for fact in content.method} & {"Order", "When"}
    titles = [threat.title for threat in content.threats]
    assert "Published, not measured here" in titles
    assert "Nothing here was measured" not in titles


@needs_simulator
def test_unmeasured_configurations_have_a_chapter_with_origin_interval_and_assumptions(tmp_path: Path) -> None:
    measured = measured_repository(tmp_path / "r").root
    target = tmp_path / "report.md"
    prices = tmp_path / "prices.yaml"
    prices.write_text(PRICES_YAML)
    asked: list[str | Path] = [
        "report",
        "-o",
        target,
        "--set",
        "workers.count=6",
        "--prices",
        prices,
        "--repository",
        measured,
    ]
    done = invoke(*asked, "--workload", "terasort", "--json")
    assert done.exit_code == 0, done.output
    text = target.read_text()
    assert text.index("What if") > text.index("Cost per job")
    chapter = text[text.index("Not measured. The simulator") : text.index("Findings")]
    rows = [row for row in chapter.splitlines() if row.startswith("| TeraSort")]
    assert len(rows) == 2
    assert all("| simulated |" in row and " to " in row for row in rows)
    assert "rofile measured runs of the repository: learned from" in chapter
    assert "--set workers.count=6" in text
    plain = invoke("report", "-o", target, "--repository", measured)
    assert plain.exit_code == 0
    assert "What if" not in target.read_text()
