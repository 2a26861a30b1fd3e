"""Test options shared by commands: the repository before a subcommand, output width, warnings printed once."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from assay.interfaces.cli.commands import COMMANDS
from assay.interfaces.cli.common import print_rows, row_limit
from assay.interfaces.cli.main import assay
from assay.store import Repository
from builders import coded_warnings, make_run
from paths import ROOT


def output(*words: str | Path, **environment: str) -> str:
    done = CliRunner().invoke(assay, [str(word) for word in words], env=environment)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    repository = Repository.create(tmp_path / "r")
    for number in range(3):
        repository.publish(make_run(number))
    return tmp_path / "r"


@pytest.mark.parametrize("words", [["campaign"], ["campaign", "status"], ["campaign", "list"]])
def test_the_repository_may_be_named_before_and_after_the_subcommand(words: list[str], stored: Path) -> None:
    before = output(words[0], "--repository", stored, *words[1:], ASSAY_REPOSITORY="/nowhere")
    assert before == output(*words, "--repository", stored)
    assert "no campaign" in before.lower()


def test_the_folder_of_the_subcommand_counts(stored: Path) -> None:
    assert output("campaign", "--repository", "/nowhere", "list", "--repository", stored)


def test_a_group_without_a_subcommand_can_print_json(stored: Path) -> None:
    assert json.loads(output("campaign", "--repository", stored, "--json")) == []


def test_piped_output_is_as_wide_as_columns_says(stored: Path) -> None:
    whole = output("runs", "--repository", stored)
    narrow = output("runs", "--repository", stored, COLUMNS="60")
    assert max(map(len, whole.splitlines())) > 80
    assert max(map(len, narrow.splitlines())) <= 60
    assert output("runs", "--repository", stored, COLUMNS="500") == whole
    assert output("runs", "--repository", stored, COLUMNS="wide") == whole


def test_a_warning_shared_by_many_comparisons_is_printed_once(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "r")
    number = 0
    for workload in ("terasort", "wordcount", "teragen"):
        for layout in ("HD2", "SS2"):
            for _ in range(2):
                number += 1
                repository.publish(
                    make_run(
                        number,
                        workload=workload,
                        layout=layout,
                        levels={"layout": layout},
                        duration_s=60.0 + number,
                        environment={**make_run().environment, "kernel": f"6.1.0-{18 + (layout == 'SS2')}"},
                        warnings=coded_warnings("the same"),
                    )
                )
    printed = output("decide", "layout", "--details", "groups", "--repository", tmp_path / "r")
    kernels = [line for line in printed.splitlines() if "kernel" in line]
    assert len(kernels) == 1
    assert kernels[0].startswith("warning, 3 of 3 comparisons: ")


def test_the_examples_measured_runs_repeat_no_line_of_the_verdicts(tmp_path: Path) -> None:
    output("import", *sorted((ROOT / "examples").glob("*/measured/**/*.csv")), "--repository", tmp_path / "r")
    lines = output("decide", "layout", "--details", "groups", "--repository", tmp_path / "r").splitlines()
    notes = [line for line in lines if line.startswith(("warning", "caveat"))]
    assert notes
    assert len(notes) == len(set(notes))


READS_NO_SELECTION = {"campaign", "demo", "mcp", "pull", "push", "sign", "verify", "observe", "serve", "tune"}
"""Commands with a repository that execute, copy or serve runs instead of answering from some of them."""


def test_every_command_that_answers_from_runs_takes_where() -> None:
    context = click.Context(assay, info_name="assay")
    without = set()
    for name in COMMANDS:
        command = assay.get_command(context, name)
        assert command is not None
        options = {option for parameter in command.params for option in parameter.opts}
        names_a_run = "run" in {parameter.name for parameter in command.params}
        if "--repository" in options and "--where" not in options and not names_a_run:
            without.add(name)
    assert without == READS_NO_SELECTION


def test_a_long_list_has_ten_rows_and_the_number_of_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [(str(number),) for number in range(25)]
    print_rows(("Number",), rows, limit=row_limit(all_rows=False))
    lines = capsys.readouterr().out.splitlines()
    assert (len(lines), lines[-1]) == (12, "… 15 more (--all)")
    print_rows(("Number",), rows, limit=row_limit(all_rows=True))
    assert len(capsys.readouterr().out.splitlines()) == 26
