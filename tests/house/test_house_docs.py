"""The documentation builds as a site without dead links, and nothing in it loads from another host."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from assay import __version__
from paths import ROOT


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


def test_the_version_has_release_notes_a_changelog_section_and_install_instructions() -> None:
    notes = (ROOT / "docs" / "release-notes" / f"{__version__}.md").read_text()
    assert notes.startswith(f"# assay {__version__}\n")
    assert f"\n## [{__version__}] - " in (ROOT / "CHANGELOG.md").read_text()
    assert f"assay-{__version__}-py3-none-linux" in (ROOT / "docs" / "how-to" / "install.md").read_text()


def test_the_site_builds_without_dead_links_and_loads_nothing_from_other_hosts(builder: ModuleType) -> None:
    assert builder.main() == 0
    page = (ROOT / "build/docs/reference/glossary.html").read_text()
    assert 'src="../assets/iframe-worker' in page


def test_a_page_that_loads_from_another_host_is_reported(builder: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(
        '<script src="https://cdn.example/x.js"></script><a href="https://example.org">'
    )
    assert [line.partition(": ")[2] for line in builder.localise(tmp_path)] == ['<script src="https://']
