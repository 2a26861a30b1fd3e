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
| fault | what becomes of it | held by | holds |
|---|---|---|---|"""
NOT_RUN, SKIPPED = "not run", "skipped: "
WITHOUT_LABS = "not lab and not hadoop"
TIME_MAX_S = 3600.0
MESSAGE_LENGTH_MAX = 160
BAR = r"\|"
"""How a table has it."""


def named(claims: Iterable[Claim]) -> list[str]:
    """Return every test that is named, as pytest takes it in the source tree, each once."""
    return sorted({f"tests/{test}" for claim in claims for test in claim.tests})


def tried(claims: Iterable[Claim], marks: str) -> dict[str, str]:
    """Run the tests that have these markers; return by test, below ``tests/``: empty when it passed, else the words.

    A test that was skipped has ``skipped: `` before its reason.
    """
    with tempfile.TemporaryDirectory(prefix="assay-claims-") as folder:
        report = Path(folder, "report.xml")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:schemathesis", "-p", "no:cacheprovider"]
        command += ["-m", marks, "-o", "junit_family=xunit1", f"--junitxml={report}", *named(claims)]
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
    """Return whether the claim's tests held it, in words: yes with their number, no, in part, skipped, or not run."""
    passed, reasons = 0, []
    for test in claim.tests:
        those = {name: words for name, words in outcomes.items() if name == test or name.startswith(f"{test}[")}
        for name, words in those.items():
            if words and not words.startswith(SKIPPED):
                return f"no: {name.partition('::')[2]}: {words}"
        passed += sum(not words for words in those.values())
        reasons += [words for words in those.values() if words] or (
            [] if those else [f"{NOT_RUN}: {test.partition('::')[2]}"]
        )
    if not passed and not any(words.startswith(SKIPPED) for words in reasons):
        return NOT_RUN
    how = ["in part" if reasons else "yes"] if passed else []
    return "; ".join([*(f"{word} ({passed})" for word in how), *sorted(set(reasons))])


def line(claim: Claim, held: str) -> str:
    """Return a row of the table, from its verdict. Rows of the table above it say themselves whether they hold."""
    by = [*(f"`{test}`" for test in claim.tests), *(f"row “{name}”" for name in claim.rows)]
    cells = [claim.fault, claim.becomes, ", ".join(by), held]
    return f"| {' | '.join(cell.replace('|', BAR) for cell in cells)} |"


def _cell(text: str) -> str:
    return text.strip().partition("\n")[0][:MESSAGE_LENGTH_MAX]
