"""Test the next step after a path that does not exist, for each command that reads a file."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.foundation.errors import AssayError, missing_path_hint
from assay.interfaces.cli.main import assay

HARDWARE = Path(__file__).parents[2] / "examples" / "hardware"
WORK = ("--workload", "terasort:1TB")


def error_of(*words: str) -> AssayError:
    error = CliRunner().invoke(assay, words).exception
    assert isinstance(error, AssayError)
    return error


def test_a_misspelt_name_has_a_suggestion(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").touch()
    assert missing_path_hint(tmp_path / "plna.yaml") == "did you mean 'plan.yaml'? check the path"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "no"
    assert missing_path_hint(folder / "plan.yaml") == f"check the path: there is no folder {folder} either"


def test_a_relative_path_has_a_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert missing_path_hint("plan.yaml") == "check the path: it starts in the current folder"


@pytest.mark.parametrize(
    "words",
    [
        ("run", "nothing.yaml"),
        ("size", "nothing.jhist"),
        ("import", "nothing"),
        ("recommend", "--catalogue", "nothing.yaml", "--prices", str(HARDWARE / "prices.yaml"), *WORK),
        ("recommend", "--catalogue", str(HARDWARE / "catalogue.yaml"), "--prices", "nothing.yaml", *WORK),
    ],
)
def test_each_command_says_what_to_do(words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    error = error_of(*words)
    assert "there is no such file" in error.message
    assert (error.hint or "").startswith("check the path: it starts in the current folder")


def test_a_missing_catalogue_is_called_a_catalogue(tmp_path: Path) -> None:
    words = ("recommend", "--catalogue", str(tmp_path / "nothing.yaml"), "--prices", str(HARDWARE / "prices.yaml"))
    error = error_of(*words, *WORK)
    assert error.message == "the catalogue can't be read: there is no such file"
    assert error.hint == "check the path; an example is examples/hardware/catalogue.yaml"


def test_a_budget_of_0_has_examples() -> None:
    files = ("--catalogue", str(HARDWARE / "catalogue.yaml"), "--prices", str(HARDWARE / "prices.yaml"))
    error = error_of("recommend", *files, *WORK, "--budget", "0")
    assert error.message == "a budget must be more than 0"
    assert "such as 100k" in (error.hint or "")
