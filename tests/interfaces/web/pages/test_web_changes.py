"""Test the pages Changes and Gate: they have the sentences, tables and notes of `assay changes` and `assay gate`."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from assay.interfaces.cli.main import assay
from builders import build_repository
from nightly import nightly_runs
from web_support import client_of


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = nightly_runs(1.3, nights=30, slow_from=15)
    return build_repository(tmp_path_factory.mktemp("gate") / "slower", runs).root


@pytest.fixture(scope="module")
def client(root: Path) -> TestClient:
    return client_of(root)


def shown(client: TestClient, address: str) -> str:
    """Return the text of a page's main part, without tags."""
    page = client.get(address)
    assert page.status_code == 200
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page.text[page.text.index("<main") :])).split())


def printed_cells(root: Path, *words: str) -> tuple[str, list[str]]:
    """Return the command's first line, and all cells of its tables."""
    output = CliRunner().invoke(assay, [*words, "--repository", str(root), "--all"]).stdout
    first, *lines = output.splitlines()
    return first, [cell.strip() for line in lines for cell in re.split(r"[│|]| {2,}", line) if cell.strip(" ─━")]


@pytest.mark.slow
def test_the_page_has_the_changes_of_the_command(tmp_path: Path) -> None:
    runs = [replace(run, levels={"layout": run.layout or ""}) for run in nightly_runs(1.3, nights=60, slow_from=30)]
    root = build_repository(tmp_path / "slower", runs).root
    sentence, cells = printed_cells(root, "changes")
    text = shown(client_of(root), "/changes")
    assert sentence.startswith("1 change in 2 configurations")
    assert sentence in text
    assert [cell for cell in cells if cell not in text] == []
    assert "SS2" in text


def test_the_page_has_the_verdicts_of_the_command(client: TestClient, root: Path) -> None:
    sentence, cells = printed_cells(root, "gate", "--baseline", "2026-03-15T12:00", "--ignore", "build")
    text = shown(client, "/gate?baseline=2026-03-15T12:00&ignore=build")
    assert sentence.startswith("Failed: 1 of 2 configurations")
    assert sentence in text
    assert [cell for cell in cells if cell not in text] == []
    permitted = shown(client, "/gate?baseline=2026-03-15T12:00&ignore=build&slowdown=50")
    assert "Passed: none of 2 configurations is shown to be more than 50 % slower" in permitted


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("baseline=yesterday", "not a time, condition, campaign or run"),
        ("baseline=2026-03-15&ignore=biuld", "Did you mean 'build'"),
        ("baseline=2026-03-15", "ignore the factors that differ from run to run"),
    ],
)
def test_a_mistake_is_explained_above_the_form_that_keeps_it(client: TestClient, asked: str, words: str) -> None:
    page = client.get(f"/gate?{asked}").text
    assert words in html.unescape(page)
    assert 'role="alert"' in page
    assert 'name="baseline"' in page


def test_the_gate_without_a_baseline_asks_for_one(client: TestClient) -> None:
    page = client.get("/gate").text
    assert 'name="baseline" required' in page
    assert "<table" not in page
    assert '<option value="build">' in page
