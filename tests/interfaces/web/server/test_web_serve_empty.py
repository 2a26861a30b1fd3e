"""Test that ``assay serve`` starts on a new or empty folder, and that its pages show how to get runs."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.foundation.errors import RepositoryError
from assay.interfaces.cli.main import assay
from assay.store import Repository
from web_support import READ, client_of, guarded

WAYS = ("assay demo --repository", "assay import PATH… --repository", "assay discover HOST…")


@pytest.mark.slow
@pytest.mark.parametrize("exists", [False, True])
def test_a_new_or_empty_folder_is_served(tmp_path: Path, exists: bool) -> None:
    root = tmp_path / "my runs"
    if exists:
        root.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", "serve", "--port", "0", "--repository", str(root)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().split(" at ")[1].split()[0]
        assert process.stdout.readline() == f"Made a new repository in {root}\n"
        assert "has no runs yet" in process.stdout.readline()
        with urllib.request.urlopen(address, timeout=60) as answer:
            page = answer.read().decode()
        assert all(way in page for way in WAYS)
        assert f"--repository &#39;{root}&#39;" in page
    finally:
        process.terminate()
        process.wait(20)
    assert Repository.is_at(root)


@pytest.mark.slow
def test_a_repository_that_exists_is_not_called_new(tmp_path: Path) -> None:
    root = Repository.create(tmp_path / "r").root
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", "serve", "--port", "0", "--repository", str(root)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(2)]
    finally:
        process.terminate()
        process.wait(20)
    assert "has no runs yet" in lines[1]


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    done = CliRunner().invoke(assay, ["serve", "--repository", str(tmp_path), "--port", "0"])
    assert isinstance(done.exception, RepositoryError)
    assert "neither empty nor a repository" in str(done.exception)


@pytest.mark.parametrize("address", ["/", "/runs", "/speedup", "/cost", "/quality", "/changes", "/gate", "/predict"])
def test_pages_without_runs_show_three_ways_to_get_some(address: str, tmp_path: Path) -> None:
    page = client_of(Repository.create(tmp_path / "r").root).get(address).text
    assert all(way in page for way in WAYS)


def test_a_guarded_server_does_not_tell_its_folder(tmp_path: Path) -> None:
    client = guarded(Repository.create(tmp_path / "r").root, tmp_path)
    page = client.get("/", headers={"Authorization": f"Bearer {READ}"}).text
    assert "--repository DIR" in page
    assert str(tmp_path) not in page
