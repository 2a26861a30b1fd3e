"""Test that a corrected file replaces the earlier import without loss."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.foundation.errors import RepositoryError
from assay.store import Repository
from table_samples import CORRECTED, FIRST, imported, stored_times_s

pytestmark = pytest.mark.slow


def test_replace_leaves_the_corrected_runs_and_those_that_did_not_change(tmp_path: Path) -> None:
    imported(tmp_path, FIRST)
    result = imported(tmp_path, CORRECTED, "--replace")
    assert "2 runs imported" in result.output
    assert "replaces import" in result.output
    assert stored_times_s(tmp_path) == [55, 100]
    assert Repository.open(tmp_path / "r").verify() == []
    assert [*(tmp_path / "r" / "partial").iterdir()] == []


def test_without_replace_both_imports_count_and_a_warning_says_so(tmp_path: Path) -> None:
    imported(tmp_path, FIRST)
    result = imported(tmp_path, CORRECTED)
    assert "both imports count" in result.output
    assert stored_times_s(tmp_path) == [50, 55, 100]
    again = imported(tmp_path, CORRECTED, "--replace")
    assert isinstance(again.exception, RepositoryError)
    assert "import again with --replace" in str(again.exception)
    assert stored_times_s(tmp_path) == [50, 55, 100]


@pytest.mark.parametrize("text", ["job,t\n", "job,t\nsort,-1\n"])
def test_a_file_without_a_valid_run_replaces_nothing(text: str, tmp_path: Path) -> None:
    imported(tmp_path, FIRST)
    imported(tmp_path, text, "--replace")
    imported(tmp_path, text + "terasort,7\n", "--replace", "--strict")
    assert stored_times_s(tmp_path) == ([50, 100] if "-1" in text else [7])


def test_files_of_other_names_stay(tmp_path: Path) -> None:
    imported(tmp_path, FIRST)
    imported(tmp_path, "job,t\nsort,9\n", "--replace", name="others.csv")
    assert stored_times_s(tmp_path) == [9, 50, 100]
