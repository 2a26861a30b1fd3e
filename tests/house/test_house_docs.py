"""The documentation builds as a site without dead links, and nothing in it loads from another host."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from assay import __version__
from doc_commands import PAGES
from paths import ROOT

FOLDERS = {
    "benchmarks",
    "docs",
    "examples",
    "java",
    "rust",
    "src",
    "tests",
    "tools",
    *(path.name for path in (ROOT / "src" / "assay").iterdir() if path.is_dir()),
}
"""Folders whose names begin a path of the tree, from its root or from ``src/assay``."""


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_builder", ROOT / "tools" / "docs.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_is_in_the_navigation_and_linked_from_the_first_page() -> None:
    sections = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]
    listed = {page for section in sections for pages in section.values() if isinstance(pages, list) for page in pages}
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*/*.md")}
    assert listed == pages
    first = (ROOT / "docs" / "index.md").read_text()
    assert not [page for page in pages if not page.startswith("adr/") and f"({page})" not in first]


def missing_paths(page: str) -> list[str]:
    """Return the paths in backquotes that a page names and the tree does not have."""
    text = re.sub(r"^```.*?^```", "", (ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE)
    named = {match[1].rstrip("/") for match in re.finditer(r"`(?:python )?([\w.-]+/[\w./*-]+)(?: [^`]*)?`", text)}
    return sorted(
        path
        for path in named
        if path.partition("/")[0] in FOLDERS
        and not any(list(base.glob(path)) for base in (ROOT, ROOT / "src" / "assay"))
    )


@pytest.mark.parametrize("page", PAGES)
def test_paths_that_a_page_names_exist(page: str) -> None:
    assert missing_paths(page) == []


def test_a_path_without_a_file_is_reported(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("`src/assay/model` `python benchmarks/nothing.py --runs 5` `execution/lab/build.py` `other/file`")
    assert missing_paths(str(page)) == ["benchmarks/nothing.py"]


def test_the_version_has_release_notes_a_changelog_section_and_install_instructions() -> None:
    notes = (ROOT / "docs" / "release-notes" / f"{__version__}.md").read_text()
    assert notes.startswith(f"# assay {__version__}\n")
    assert f"\n## [{__version__}] - " in (ROOT / "CHANGELOG.md").read_text()
    assert f"assay-{__version__}-py3-none-linux" in (ROOT / "docs" / "how-to" / "install.md").read_text()


@pytest.mark.slow
def test_the_site_builds_without_dead_links_and_loads_nothing_from_other_hosts(builder: ModuleType) -> None:
    assert builder.main() == 0
    page = (ROOT / "build/docs/reference/glossary.html").read_text()
    assert 'src="../assets/iframe-worker' in page


def test_a_page_that_loads_from_another_host_is_reported(builder: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(
        '<script src="https://cdn.example/x.js"></script><a href="https://example.org">'
    )
    assert [line.partition(": ")[2] for line in builder.localise(tmp_path)] == ['<script src="https://']
