"""Exported names consist of words of the glossary, of standard terms, and of plain English."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from paths import ROOT

PACKAGE = ROOT / "src" / "assay"
GLOSSARY = re.sub(r"`[^`]*/[^`]*`", "", (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8"))
TERMS = (Path(__file__).parent / "standard_terms.txt").read_text(encoding="utf-8")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def base_forms(word: str) -> set[str]:
    """Return a word and the singulars that it may be the plural of."""
    forms = {word}
    for ending, singular in (("ies", "y"), ("es", ""), ("s", "")):
        if word.endswith(ending):
            forms.add(word.removesuffix(ending) + singular)
    return forms


KNOWN = frozenset(
    word.lower()
    for text in (re.sub(r"\]\([^)]*\)", "]", GLOSSARY), re.sub(r"(?m)^#(?!#).*$", "", TERMS))
    for word in re.findall(r"[A-Za-z]+", text)
)


@cache
def exported(path: Path) -> tuple[str, ...]:
    """Return the names that a package re-exports, and the public classes of a module."""
    names: list[str] = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and path.name == "__init__.py":
            names += [alias.asname or alias.name for alias in node.names]
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            names.append(node.name)
    return tuple(names)


def unknown_words(name: str) -> list[str]:
    return [word for word in map(str.lower, _WORD.findall(name)) if not base_forms(word) & KNOWN]


def test_exported_names_use_known_words() -> None:
    names = defaultdict(set)
    for path in sorted(PACKAGE.rglob("*.py")):
        for name in exported(path):
            for word in unknown_words(name):
                names[word].add(name)
    assert {word: sorted(names[word]) for word in sorted(names)} == {}


@pytest.mark.parametrize("name", ["Gubbins", "run_whatsit", "ClusterDoodad"])
def test_a_coined_word_is_reported(name: str) -> None:
    assert len(unknown_words(name)) == 1


def test_standard_terms_are_used() -> None:
    """A term that no exported name uses leaves the list."""
    used = {
        form
        for path in PACKAGE.rglob("*.py")
        for name in exported(path)
        for word in _WORD.findall(name)
        for form in base_forms(word.lower())
    }
    listed = re.findall(r"[a-z]+", re.sub(r"(?m)^#.*$", "", TERMS))
    assert sorted(set(listed) - used) == []
    assert len(listed) == len(set(listed))
