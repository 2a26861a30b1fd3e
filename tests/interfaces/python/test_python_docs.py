"""Run the Python examples of the documentation, which print what the page shows."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.interfaces.cli.main import assay
from paths import ROOT

PAGES = [ROOT / "docs" / "how-to" / name for name in ("use-from-python.md", "use-in-a-notebook.md")]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_print_what_the_page_shows(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    done = CliRunner().invoke(assay, ["import", "examples/bsc-2015/measured/runs.csv", "--repository", "results"])
    assert done.exit_code == 0, done.output
    text = page.read_text(encoding="utf-8").replace("```\n", "\n")
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False).run(test, out=report.append)
    assert len(test.examples) > 4
    assert not report, "".join(report)
