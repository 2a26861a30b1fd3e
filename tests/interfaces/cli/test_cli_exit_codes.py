"""Test that every command returns the exit codes of docs/reference/exit-codes.md."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click import ClickException
from click.testing import CliRunner

from assay.foundation import errors
from assay.foundation.errors import AssayError
from assay.interfaces.cli.main import assay
from assay.store import Repository
from builders import make_run
from paths import ROOT

DOC = ROOT / "docs" / "reference" / "exit-codes.md"


def test_every_kind_of_error_has_a_documented_exit_code() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, AssayError)]
    codes = [kind.exit_code for kind in kinds if "exit_code" in vars(kind)]
    assert len(set(codes)) == len(codes)
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", DOC.read_text(), re.MULTILINE)}
    assert documented == {0, 130, 141, *codes}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    repository = Repository.create(tmp_path / "r")
    repository.publish(make_run(1))
    return repository.root


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["runs"], 0),
        (["runs", "--nonsense"], 2),
        (["import"], 2),
        (["import", "nonsense", "README.md"], 2),
        (["import", "README.md", "--map", "a=b"], 2),
        (["import", "table", "README.md", "--map", "nonsense"], 2),
        (["export", "parquet"], 2),
        (["decide", "nonsense"], 2),
        (["decide", "layout", "--details", "groups", "--where", "workload=nonsense"], 2),
        (["decide", "nonsense", "--details", "options"], 2),
        (["report"], 2),
        (["cost", "--prices", "README.md", "--on", "nonsense"], 2),
        (["show", "nonsense"], 6),
        (["export", "csv", "--workload", "nonsense"], 6),
        (["push", "/nonexistent/repository"], 6),
        (["import", "README.md"], 7),
        (["import", "testdfsio", "README.md"], 7),
    ],
)
def test_an_error_has_the_exit_code_of_its_kind(
    words: list[str], code: int, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(assay, [*words, "--repository", str(root)], standalone_mode=False)
    error = result.exception
    exit_code = error.exit_code if isinstance(error, AssayError | ClickException) else result.exit_code
    assert exit_code == code, (error, result.output)


@pytest.mark.slow
@pytest.mark.parametrize("words", [["runs"], ["--help"], ["decide", "--help"]])
def test_a_closed_pipe_ends_the_command_with_its_documented_code(words: list[str], root: Path) -> None:
    options = [] if "--help" in words else ["--repository", str(root)]
    command = [sys.executable, "-m", "assay", *words, *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141
