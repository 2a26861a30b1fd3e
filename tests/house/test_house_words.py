"""Test that glossary terms name existing modules, and that ARCHITECTURE.md lists every package and decision."""

from __future__ import annotations

import re

import pytest

from paths import ROOT

ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()
SOURCE = ROOT / "src" / "assay"
GLOSSARY: dict[str, str] = {
    term: code
    for term, code in re.findall(
        r"^\| ([^|]+) \| [^|]+ \| ([^|]+) \|$", (ROOT / "docs" / "reference" / "glossary.md").read_text(), re.MULTILINE
    )
    if term not in ("term", "---")
}


def test_every_term_has_one_entry() -> None:
    page = (ROOT / "docs" / "reference" / "glossary.md").read_text()
    rows = [row for row in page.splitlines() if row.startswith("| ")][1:]
    assert len(rows) == len(GLOSSARY) > 50


@pytest.mark.parametrize("term", GLOSSARY)
def test_the_modules_of_a_term_exist(term: str) -> None:
    modules = re.findall(r"`([^`]+)`", GLOSSARY[term])
    assert modules
    assert [name for name in modules if not (SOURCE / name).exists() and not (ROOT / name).exists()] == []


def test_every_package_is_listed_and_exists() -> None:
    table = ARCHITECTURE.split("## Packages")[1].split("\n## ")[0]
    named = set(re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE))
    assert named == {f"{path.name}/" for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    assert {path.name for path in SOURCE.glob("*.py")} == {"__init__.py", "__main__.py"}


def test_every_decision_is_listed() -> None:
    listed = re.findall(r"\(docs/adr/([^)]+)\)", ARCHITECTURE)
    assert sorted(set(listed)) == sorted(path.name for path in (ROOT / "docs" / "adr").glob("*.md"))
