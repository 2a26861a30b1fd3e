"""Test that the page and the terminal show the same figures and words of a run."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.analysis.run_profile.run_detail import run_detail
from assay.analysis.run_profile.tables.run_tables import run_sections
from assay.interfaces.cli.main import assay
from assay.store import Repository
from builders import build_repository, coded_warnings, make_trace, study_runs
from detail_support import hybrid_run, hybrid_tasks, hybrid_trace
from web_support import client_of

METRICS = {
    "per_stream_mb_per_s": 12.3456,
    "throughput_mib_per_s": 1234.56,
    "exec_time_s": 12_345.67,
    "gated_share": 0.1234,
    "sorted_records_per_s": 2e6,
    "read_bytes_per_request": 31_440.0,
    "written_bytes": 5e9,
}
NOT_ALIKE = ("phases", "environment (in full: --json)", "files in the bundle")
"""Bars and a summary, where a page has a chart and all of it; files are behind links there."""


class Cells(HTMLParser):
    """The texts of a page's cells, notes and list entries."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a text at every element that holds one."""
        if tag in ("td", "th", "p", "li", "h2"):
            self.texts.append("")

    def handle_data(self, data: str) -> None:
        """Add to the text."""
        if self.texts:
            self.texts[-1] += data


def sections_of(printed: str) -> dict[str, list[str]]:
    parts = [part.splitlines() for part in printed.split("\n\n")[1:]]
    return {title: [line.strip() for line in lines] for title, *lines in parts}


@pytest.mark.slow
def test_the_page_of_a_run_says_what_assay_show_prints(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "r")
    run = replace(
        hybrid_run(), metrics=METRICS, sources={"exec_time_s": "TestDFSIO"}, warnings=coded_warnings("the CPU was full")
    )
    repository.publish(run, tasks=hybrid_tasks(), trace=hybrid_trace())
    printed = CliRunner().invoke(assay, ["show", run.run_id, "--repository", str(repository.root)]).output
    page = Cells()
    page.feed(client_of(repository.root).get(f"/runs/{run.run_id}").text)
    shown = {" ".join(text.split()) for text in page.texts}
    sections = sections_of(printed)
    assert {"configuration", "where the time went", "tasks", "data", "disk traffic by purpose", "metrics"} <= set(
        sections
    )
    assert len(sections["metrics"]) == len(METRICS)
    missing = [
        (title, cell)
        for title, lines in sections.items()
        if title not in NOT_ALIKE
        for line in lines
        for cell in re.split(r"  +", line)
        if cell and not {cell, cell[0].upper() + cell[1:], cell.lstrip("✓✗ ").replace(":", "", 1)} & shown
    ]
    assert missing == []


@pytest.mark.slow
def test_terminal_and_api_give_the_same_outliers_and_findings(tmp_path: Path) -> None:
    runs = study_runs()
    repository = build_repository(
        tmp_path / "r", [*runs, replace(runs[0], run_id="odd", duration_s=runs[0].duration_s * 9)]
    )
    client = client_of(repository.root)
    for command, address, of_answer in (
        ("anomalies", "anomalies?limit=1000", "anomalies"),
        ("findings", "findings", "by_origin"),
    ):
        printed = CliRunner().invoke(assay, [command, "--json", "--repository", str(repository.root)]).stdout
        sent = client.get(f"/api/v1/{address}").json()
        assert json.loads(printed) == sent
        assert sent[of_answer]


def test_a_run_shows_sizes_with_units_and_a_long_source_once(tmp_path: Path) -> None:
    source = "simulated with a profile that was learned"
    sources = dict.fromkeys(("written_bytes", "read_bytes_per_request"), source)
    run = replace(
        hybrid_run(),
        metrics={"written_bytes": 5e9, "read_bytes_per_request": 31_440.0},
        sources={**sources, "duration_s": "the program's wall time"},
        parameters={"dfs.blocksize": "134217728", "io.file.buffer.size": "65536"},
    )
    sections = run_sections(run, run_detail(run, (), make_trace(run)), {})
    assert {("dfs.blocksize", "128 MiB"), ("io.file.buffer.size", "64 KiB")} <= set(sections["configuration"].rows)
    assert [row[-1] for row in sections["metrics"].rows] == [source, "as above"]
    assert sections["sources"].rows == (("run time", "the program's wall time"),)
