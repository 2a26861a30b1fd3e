"""Test sizes of files and functions, docstrings, and words that do not belong in the source."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from paths import ROOT, TESTS

SOURCES = sorted((ROOT / "src").rglob("*.py"))
TESTED = sorted(TESTS.rglob("*.py"))
FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
MODULES_MAX = 15
OPTIONS_MAX = 7
"""Maximum number of parameters of a function of the terminal; further options are passed on to a request as one."""
DOCSTRING_CHARACTERS_MIN = 25
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
"""Paths of a developer's machine."""


def tracked() -> list[Path]:
    git_ls_files = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if git_ls_files.returncode != 0:
        pytest.skip("not a git checkout: tracked files are unknown")
    return [ROOT / name for name in git_ls_files.stdout.splitlines() if (ROOT / name).is_file()]


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.fixture(scope="module")
def texts() -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in [*SOURCES, *TESTED]}


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield every statement. Expressions, which are most of a tree, are skipped."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for node in getattr(tree, name, ()):
            yield node
            yield from statements(node)


def long_functions(path: Path, text: str) -> Iterator[str]:
    for node in statements(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            length = node.end_lineno - node.lineno + 1
            if length > FUNCTION_LINES_MAX:
                yield f"{shown(path)}: {node.name} has {length} lines"


def test_files_and_functions_fit(texts: dict[Path, str]) -> None:
    assert len(SOURCES) > 250
    lines = {path: len(text.splitlines()) for path, text in texts.items()}
    assert {shown(path): count for path, count in lines.items() if count > FILE_LINES_MAX} == {}
    long_files = (path for path in SOURCES if lines[path] > FUNCTION_LINES_MAX)
    assert [message for path in long_files for message in long_functions(path, texts[path])] == []


def test_a_function_that_is_too_long_would_be_seen() -> None:
    text = "class A:\n  if True:\n    async def f(self):\n" + "      x = 1\n" * FUNCTION_LINES_MAX
    assert [*long_functions(ROOT / "a.py", text)] == [f"a.py: f has {FUNCTION_LINES_MAX + 1} lines"]
    assert [*long_functions(ROOT / "a.py", text.removesuffix("      x = 1\n"))] == []


def docstring(text: str) -> str:
    """Return the text that a module begins with, behind comments."""
    match = re.match(r'(?:#.*\n|\s)*+r?"""(.*?)"""', text, re.DOTALL)
    return match[1] if match else ""


def test_modules_say_what_they_answer(texts: dict[Path, str]) -> None:
    modules_without_docstring = [
        shown(path) for path, text in texts.items() if len(docstring(text)) < DOCSTRING_CHARACTERS_MIN
    ]
    assert modules_without_docstring == []


def test_every_folder_of_sources_is_a_package() -> None:
    """A folder without ``__init__.py`` is neither imported by name nor checked for import directions."""
    folders = {path.parent for path in SOURCES} - {ROOT / "src"}
    folders_without_init = [shown(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()]
    assert [name for name in folders_without_init if not name.endswith("/node")] == []


def formatter_exemptions(text: str) -> list[str]:
    """Return the comments that exempt code from the formatter: there is one layout."""
    return re.findall(r"#[ \t]*(?:fmt|yapf)[ \t]*:[ \t]*(?:skip|off|disable)\b", text)


def test_no_folder_of_sources_holds_more_than_fifteen_modules() -> None:
    counts = Counter(path.parent.relative_to(ROOT).as_posix() for path in SOURCES if path.name != "__init__.py")
    assert {folder: count for folder, count in counts.items() if count > MODULES_MAX} == {}


def test_commands_pass_their_options_to_requests() -> None:
    for path in (ROOT / "src/assay/interfaces/cli").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                number = len(node.args.posonlyargs) + len(node.args.args) + len(node.args.kwonlyargs)
                assert number <= OPTIONS_MAX, f"{shown(path)}:{node.lineno} {node.name}: {number} parameters"


def test_no_code_is_exempt_from_the_formatter() -> None:
    assert [shown(path) for path in tracked() if path.suffix == ".py" and formatter_exemptions(path.read_text())] == []


@pytest.mark.parametrize("words", ["fmt: " + "skip", "fmt:" + "off", "fmt: " + "skip because"])
def test_a_formatter_exemption_is_detected(words: str) -> None:
    assert formatter_exemptions(f"x = [1,2]  # {words}\n")
    assert not formatter_exemptions(f"x = {words!r}\n")


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
