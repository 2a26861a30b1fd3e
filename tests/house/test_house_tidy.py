"""The code's own form: sizes of files and functions, docstrings that say something, words that don't belong."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

from paths import ROOT

SOURCES = sorted((ROOT / "src").rglob("*.py"))
FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
# Hosts of package registries must not be named: they come from the machine's own configuration.
_HOSTS = (
    "pypi" + ".org",
    "python" + "hosted",
    "registry.npm" + "js",
    "repo.mav" + "en",
    "repo1.mav" + "en",
    "crates" + ".io",
    "deb.debian" + ".org",
    '"/wor' + "k/",
    '"/roo' + "t/",
)
"""And paths of the machine that somebody happened to work on."""


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout: tracked files are unknown")
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_functions_fit(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= FILE_LINES_MAX
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            length = node.end_lineno - node.lineno + 1
            assert length <= FUNCTION_LINES_MAX, f"{node.name} has {length} lines"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_say_what_they_answer(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert docstring
    assert len(docstring) >= 25


def test_no_file_names_a_registry_or_leaves_work_undone() -> None:
    for path in tracked():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for host in _HOSTS:
            assert host not in text, f"{path.relative_to(ROOT)} names {host}"
        if path.suffix == ".py":
            marker = re.search(r"#\s*(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b", text)
            assert marker is None, f"{path.relative_to(ROOT)}: {marker}"


def test_no_jar_or_lock_file_with_hosts_is_tracked() -> None:
    names = [path.name for path in tracked()]
    assert not [name for name in names if name.endswith(".jar") or name in ("uv.lock", "pylock.toml")]


def test_relative_links_in_the_documentation_lead_somewhere() -> None:
    links = [
        (page, target)
        for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if not re.match(r"[a-z]+:", target)
    ]
    broken = [f"{p.relative_to(ROOT)} → {target}" for p, target in links if not (p.parent / target).exists()]
    assert links
    assert not broken
