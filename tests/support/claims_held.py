"""Check that tests support each claim in :mod:`fault_claims`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.etree import ElementTree

from fault_claims import Claim
from paths import ROOT

HEAD = """\
| fault | what becomes of it | verdict_text by | holds |
|---|---|---|---|"""
NOT_RUN, SKIPPED = "not run", "skipped: "
WITHOUT_LABS = "not lab and not hadoop"
TIME_MAX_S = 3600.0
MESSAGE_LENGTH_MAX = 160
BAR = r"\|"
"""A vertical bar in a cell of a Markdown table."""


def test_ids(claims: Iterable[Claim]) -> list[str]:
    """Return the tests of the claims, each once, as arguments of pytest."""
    return sorted({f"tests/{test}" for claim in claims for test in claim.tests})


def run_tests(claims: Iterable[Claim], marks: str) -> dict[str, str]:
    """Run the tests that have these markers; return by test, below ``tests/``: empty if it passed, else the message.

    A test that was skipped has ``skipped: `` before its reason.
    """
    with tempfile.TemporaryDirectory(prefix="assay-claims-") as folder:
        report = Path(folder, "report.xml")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:schemathesis", "-p", "no:cacheprovider"]
        command += ["-m", marks, "-o", "junit_family=xunit1", f"--junitxml={report}", *test_ids(claims)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIME_MAX_S, check=False)
        if not report.exists():
            raise RuntimeError(f"pytest did not run: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        cases = ElementTree.parse(report).iter("testcase")
        return {f"{case.get('file', '').removeprefix('tests/')}::{case.get('name')}": _words(case) for case in cases}


def _words(case: ElementTree.Element) -> str:
    for kind, before in (("failure", ""), ("error", ""), ("skipped", SKIPPED)):
        if (element := case.find(kind)) is not None:
            return before + _cell(element.get("message") or kind)
    return ""


def verdict(claim: Claim, outcomes: Mapping[str, str]) -> str:
    """Return in words whether the claim's tests passed: yes with their number, no, in part, skipped, or not run."""
    passed, reasons = 0, []
    for test in claim.tests:
        matching = {name: words for name, words in outcomes.items() if name == test or name.startswith(f"{test}[")}
        for name, words in matching.items():
            if words and not words.startswith(SKIPPED):
                return f"no: {name.partition('::')[2]}: {words}"
        passed += sum(not words for words in matching.values())
        reasons += [words for words in matching.values() if words] or (
            [] if matching else [f"{NOT_RUN}: {test.partition('::')[2]}"]
        )
    if not passed and not any(words.startswith(SKIPPED) for words in reasons):
        return NOT_RUN
    words_ = ["in part" if reasons else "yes"] if passed else []
    return "; ".join([*(f"{word} ({passed})" for word in words_), *sorted(set(reasons))])


def table_row(claim: Claim, verdict_text: str) -> str:
    """Return a row of the table. A claim that names rows of the table of injected faults holds if they do."""
    by = [*(f"`{test}`" for test in claim.tests), *(f"row “{name}”" for name in claim.rows)]
    cells = [claim.fault, claim.becomes, ", ".join(by), verdict_text]
    return f"| {' | '.join(cell.replace('|', BAR) for cell in cells)} |"


def _cell(text: str) -> str:
    return text.strip().partition("\n")[0][:MESSAGE_LENGTH_MAX]
