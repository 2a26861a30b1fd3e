"""Sources and pages are written in plain technical English: names, docstrings, comments, messages and texts."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

from doc_commands import PAGES
from paths import ROOT
from plain_english import Finding, c_findings, findings, phrases_of, rust_findings, template_findings

PACKAGE = ROOT / "src" / "assay"
FOLDERS = [*sorted(path.parent for path in PACKAGE.glob("*/__init__.py")), ROOT / "benchmarks", ROOT / "tools"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_names_and_sentences_are_plain(folder: Path) -> None:
    uses = Counter(
        f"{path.relative_to(ROOT)}: {item.text}"
        for path in sorted(folder.rglob("*.py"))
        for item in findings(path.read_text(encoding="utf-8"))
    )
    assert not uses, uses.most_common(20)


def test_names_and_sentences_of_tests_are_plain() -> None:
    """Strings are left out: in tests they are data."""
    uses = [
        f"{path.relative_to(ROOT)}:{item.line}: {item.text}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for item in findings(path.read_text(encoding="utf-8"))
        if item.kind != "text"
    ]
    assert uses == []


@pytest.mark.parametrize(
    ("suffix", "findings_in"), [("j2", template_findings), ("js", c_findings), ("css", c_findings)]
)
def test_templates_and_scripts_are_plain(suffix: str, findings_in: Callable[[str], list[Finding]]) -> None:
    paths = sorted(PACKAGE.rglob(f"*.{suffix}"))
    assert paths
    uses = [
        f"{path.relative_to(PACKAGE)}:{item.line}: {item.text}"
        for path in paths
        for item in findings_in(path.read_text(encoding="utf-8"))
    ]
    assert uses == []


@pytest.mark.parametrize(
    ("folder", "suffix", "findings_in"), [("rust", "rs", rust_findings), ("java", "java", c_findings)]
)
def test_native_sources_are_plain(folder: str, suffix: str, findings_in: Callable[[str], list[Finding]]) -> None:
    paths = sorted(path for path in (ROOT / folder).glob(f"*/**/*.{suffix}") if "target" not in path.parts)
    assert paths
    uses = [
        f"{path.relative_to(ROOT)}:{item.line}: {item.text}"
        for path in paths
        for item in findings_in(path.read_text(encoding="utf-8"))
    ]
    assert uses == []


@pytest.mark.parametrize(
    ("source", "kind", "line"),
    [
        ("//! The data that\n//! lies below.\n", "comment", 2),
        ("fn read<'a>(found: &'a str, other: &'a str) {}", "name", 1),
        ('let text = "what stands here";', "text", 1),
        ("let place = 1;\nlet c = 'x';", "name", 1),
    ],
)
def test_words_of_rust_that_are_not_plain_are_reported(source: str, kind: str, line: int) -> None:
    assert [(item.kind, item.line) for item in rust_findings(source)] == [(kind, line)]


@pytest.mark.parametrize("page", PAGES)
def test_pages_are_plain(page: str) -> None:
    assert phrases_of((ROOT / page).read_text(encoding="utf-8")) == []


def test_a_phrase_on_a_page_is_reported_and_code_is_not() -> None:
    assert phrases_of("Whoever reads `told of` it.\n```\nnobody\n```\n") == ["Whoever"]


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("def f():\n    found = 1\n", "name"),
        ("def told_of(x): ...\n", "name"),
        ('"""Whoever asks waits."""\n', "docstring"),
        ("x = 1  # nobody reads it\n", "comment"),
        ('raise ValueError("it stands there already")\n', "text"),
    ],
)
def test_words_that_are_not_plain_are_reported(source: str, kind: str) -> None:
    assert [item.kind for item in findings(source)] == [kind]


@pytest.mark.parametrize(
    ("source", "kind", "line"),
    [
        ("<p>Runs</p>\n<p>The file\nlies below.</p>", "text", 3),
        ('{{ figure(chart, "Whoever reads it") }}', "text", 1),
        ("{# nobody reads it #}", "comment", 1),
        ("{% set own = 1 %}", "name", 1),
        ("{% for run in runs %}{{ run.own }}{% endfor %}{{ found(1) }}", "name", 1),
    ],
)
def test_words_of_a_template_that_are_not_plain_are_reported(source: str, kind: str, line: int) -> None:
    assert [(item.kind, item.line) for item in template_findings(source)] == [(kind, line)]


@pytest.mark.parametrize(
    ("source", "kind", "line"),
    [
        ("// The page says what\n// stands below.\n", "comment", 1),
        ("/* nobody reads it */", "comment", 1),
        ("const text = `\n  The results\n  lie below.`;", "text", 3),
        ("const text = `what stands ${here}`;", "text", 1),
        ("const bare = value.replace(/nobody/, '');\nconst told = bare;", "name", 2),
        ("const all = [...found, element.dataset.own];", "name", 1),
    ],
)
def test_words_of_a_script_that_are_not_plain_are_reported(source: str, kind: str, line: int) -> None:
    assert [(item.kind, item.line) for item in c_findings(source)] == [(kind, line)]


def test_class_names_are_unique() -> None:
    files = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for name in re.findall(r"^ *class (\w+)[(:]", path.read_text(encoding="utf-8"), re.MULTILINE):
            files[name].append(str(path.relative_to(PACKAGE)))
    assert len(files) > 500
    shared = {name: paths for name, paths in files.items() if len(paths) > 1}
    assert shared == {}
