"""Test that ARCHITECTURE.md links every glossary term, package and decision to an existing file."""

from __future__ import annotations

import re

import pytest

from paths import ROOT

ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()
SOURCE = ROOT / "src" / "assay"
_WORDS = ARCHITECTURE.split("## Where each term lives")[1].split("\n## ")[0]
PLACED = dict(re.findall(r"^\| ([^|`]+) \| (.*) \|$", _WORDS, re.MULTILINE))
GLOSSARY = [
    word
    for word in re.findall(r"^\| ([^|]+) \|", (ROOT / "docs" / "reference" / "glossary.md").read_text(), re.MULTILINE)
    if word not in ("term", "---")
]


def test_every_word_of_the_glossary_has_its_place() -> None:
    assert sorted(set(GLOSSARY) - set(PLACED)) == []
    assert sorted(set(PLACED) - {"term"} - set(GLOSSARY)) == []


@pytest.mark.parametrize("word", GLOSSARY)
def test_the_files_that_a_word_leads_to_are_there(word: str) -> None:
    files = re.findall(r"`([^`]+)`", PLACED[word])
    assert files
    assert [name for name in files if not (SOURCE / name).exists() and not (ROOT / name).exists()] == []


def test_every_package_is_listed_and_exists() -> None:
    table = ARCHITECTURE.split("## Packages")[1].split("\n## ")[0]
    named = set(re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE))
    assert named == {f"{path.name}/" for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    assert {path.name for path in SOURCE.glob("*.py")} == {"__init__.py", "__main__.py"}


def test_every_decision_is_listed() -> None:
    listed = re.findall(r"\(docs/adr/([^)]+)\)", ARCHITECTURE)
    assert sorted(set(listed)) == sorted(path.name for path in (ROOT / "docs" / "adr").glob("*.md"))
