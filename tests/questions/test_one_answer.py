"""One question, one answer: the terminal, --json, the API, pages and reports print the same decision.

Four repositories: measured on a lab, several clusters, ALOJA's dump, simulated.
"""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.cli.main import assay
from assay.model.run import Origin
from assay.questions.decisions.ask import decisions_of
from assay.questions.decisions.option_words import option_text
from assay.questions.decisions.sentences import answer_of, basis_text, cost_headline, evidence, headline, interval_text
from assay.questions.decisions.values import Decision, DecisionRequest
from assay.questions.flags import flags_in
from assay.questions.json_values import json_value
from assay.report.opening import ROWS_MAX
from assay.repository import Repository
from assay.spec import load_prices
from assay.wording import ratio, workload_title
from builders import PRICES_YAML, build_repository, make_run, study_runs
from paths import ROOT
from web_support import client_of

pytestmark = pytest.mark.slow
ALOJA = ROOT.parent / "shared" / "data" / "aloja" / "aloja-execs-2014-09-dump.csv"


@dataclass(frozen=True)
class Case:
    """A repository, with its price book if it has one."""

    root: Path
    prices: Path | None


def clusters(root: Path) -> None:
    """Three clusters, two of them with layouts in common, one with its own."""
    number, runs = 0, []
    for cluster, times in {
        "rack-1": {"HD2": 60.0, "SS2": 44.0, "HS5": 50.0},
        "rack-2": {"HD2": 66.0, "SS2": 47.0},
        "cloud": {"RL1": 90.0, "RL3": 80.0},
    }.items():
        for layout, time_s in times.items():
            for network in ("ETH", "IB"):
                for repetition in range(3):
                    number += 1
                    levels = {"layout": layout, "network": network}
                    duration_s = time_s * (0.95 if network == "IB" else 1.0) * (1 + 0.01 * ((number * 7) % 5))
                    runs.append(
                        make_run(
                            number,
                            cluster=cluster,
                            layout=layout,
                            levels=levels,
                            lab_scale=None,
                            repetition=repetition,
                            duration_s=duration_s,
                        )
                    )
    build_repository(root, runs)


@pytest.fixture(scope="module", params=["lab", "clusters", "aloja", "simulated"])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    folder = tmp_path_factory.mktemp(request.param)
    root, prices = folder / "repository", folder / "prices.yaml"
    prices.write_text(PRICES_YAML)
    if request.param == "lab":
        build_repository(root)
        return Case(root, prices)
    if request.param == "clusters":
        clusters(root)
        return Case(root, None)
    if request.param == "simulated":
        build_repository(root, [replace(run, origin=Origin.SIMULATED, cold=None) for run in study_runs()])
        return Case(root, prices)
    if not ALOJA.exists():
        pytest.skip(f"SKIPPED LOUDLY: no {ALOJA.name}, so ALOJA's dump was not asked")
    assert CliRunner().invoke(assay, ["import", str(ALOJA), "--repository", str(root)]).exit_code == 0
    return Case(root, None)


def decisions(case: Case, factor: str) -> tuple[Decision, ...]:
    repository = Repository.open(case.root)
    book = load_prices(case.prices) if case.prices else None
    return decisions_of(repository, flags_in(repository).table, DecisionRequest(factor, prices=book))


def printed(case: Case, command: str, *arguments: str) -> str:
    prices = ["--prices", str(case.prices)] if case.prices and command in ("decide", "tco") else []
    result = CliRunner().invoke(assay, [command, *arguments, *prices, "--repository", str(case.root)])
    assert result.exit_code == 0, result.output
    return result.output


def figures(decision: Decision) -> list[list[str]]:
    """Return what every interface prints of each result: workload, option, verdict, ratio, interval, runs, cost."""
    rows = []
    for result in decision.results:
        row = [workload_title(result.workload), option_text(decision.factor, result.option), result.verdict.value]
        if result.time:
            row += [ratio(result.time.ratio), basis_text(result.time)]
            row += [interval_text(result.time)] if result.time.low is not None else []
        if result.cost:
            row += [ratio(result.cost.ratio), interval_text(result.cost)]
        rows.append(row)
    return rows


def assert_printed(text: str, decision: Decision) -> None:
    """Assert that ``text`` has the decision's sentences, and one line with all figures of each result."""
    assert headline(decision) in text
    assert evidence(decision) in text
    if money := cost_headline(decision):
        assert money in text
    lines = text.splitlines()
    for row in figures(decision):
        assert any(all(cell in line for cell in row) for line in lines), row


def text_of(page: str) -> str:
    """Return a page's text with one line for each row of a table."""
    bare = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page, flags=re.DOTALL)
    rows = re.sub(r"\s*\n\s*", " ", bare)
    return html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"</(tr|p|h\d|li)>", "\n", rows))).replace("\u202f", " ")


@pytest.mark.parametrize("factor", ["layout", "network"])
def test_terminal_json_api_pages_and_report_print_the_same_decision(case: Case, factor: str, tmp_path: Path) -> None:
    asked = decisions(case, factor) if factor == "layout" or _varies(case, factor) else ()
    if not asked:
        pytest.skip(f"all runs have the same {factor}")
    shown = printed(case, "decide", factor, "--all")
    book = load_prices(case.prices) if case.prices else None
    client = client_of(case.root, book=book)
    answers = json_value([answer_of(decision) for decision in asked])
    assert json.loads(printed(case, "decide", factor, "--json")) == answers
    assert client.get("/api/v1/decisions", params={"factor": factor}).json() == answers
    pages = [text_of(client.get(address).text) for address in ("/", f"/speedup?by={factor}")]
    for decision in asked:
        assert_printed(shown, decision)
        for page in pages:
            assert_printed(page, decision)
        if not case.prices:
            assert_printed(printed(case, "compare", "--by", factor, "--all"), decision)
            assert_printed(printed(case, "speedup", "--by", factor, "--all"), decision)
        elif factor == "layout":
            assert_printed(printed(case, "tco"), decision)
    report = tmp_path / "report.html"
    prices = ["--prices", str(case.prices)] if case.prices else []
    arguments = ["report", "-o", str(report), "--by", factor, *prices, "--repository", str(case.root)]
    assert CliRunner().invoke(assay, arguments).exit_code == 0
    written = text_of(report.read_text(encoding="utf-8"))
    for decision in asked:
        assert headline(decision) in written
    if len(asked[0].results) <= ROWS_MAX:
        assert_printed(written, asked[0])
    assert (cost_headline(asked[0]) or "") in written


def _varies(case: Case, factor: str) -> bool:
    table = Repository.open(case.root).table()
    return factor in table.columns and len(table.columns[factor].levels) > 1
