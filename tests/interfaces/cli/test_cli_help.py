"""Test that help groups every command, and that every command's help ends with examples that parse."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from assay.interfaces.cli.commands import COMMANDS, GROUPS
from assay.interfaces.cli.main import assay
from paths import ROOT

EXAMPLES = [(name, line) for name, entry in COMMANDS.items() for line in entry.examples]


def help_of(*words: str) -> str:
    done = CliRunner().invoke(assay, [*words, "--help"])
    assert done.exit_code == 0, done.output
    return done.output


def test_the_program_s_help_has_every_command_in_its_group() -> None:
    lines = help_of().splitlines()
    for title, entries in GROUPS.items():
        start = lines.index(f"{title}:")
        end = lines.index("", start)
        listed = [line.split()[0] for line in lines[start + 1 : end] if line[:3] != "   "]
        assert listed == list(entries)
    assert len(COMMANDS) == sum(map(len, GROUPS.values()))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_s_help_ends_with_its_examples(name: str) -> None:
    examples = help_of(name).partition("Examples:\n")[2].splitlines()
    assert [line.strip() for line in examples] == list(COMMANDS[name].examples)
    assert len(examples) >= 2


def test_a_subcommand_s_help_has_the_examples_that_call_it() -> None:
    assert help_of("campaign", "list").endswith("Examples:\n  assay campaign list\n")


@pytest.mark.parametrize(("name", "line"), EXAMPLES, ids=[line for _, line in EXAMPLES])
def test_an_example_parses(name: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, *words = shlex.split(line.partition(" > ")[0])
    assert (program, words[0]) == ("assay", name)
    monkeypatch.chdir(tmp_path)
    for word in words:
        if word.endswith("/") and not word.startswith("/"):
            Path(word).mkdir()
        elif word.startswith("id_") or Path(word).suffix in {".yaml", ".json", ".csv"}:
            Path(word).touch()
    context = click.Context(assay, info_name="assay")
    command: click.Command = assay
    while isinstance(command, click.Group):
        subcommand = command.get_command(context, words[0])
        assert subcommand is not None, f"{command.name} has no command {words[0]}"
        name, *words = words
        command = subcommand
        if isinstance(command, click.Group):
            context = click.Context(command, info_name=name, parent=context)
    context = command.make_context(name, list(words), parent=context)
    hidden = [param.name for param in command.params if isinstance(param, click.Option) and param.hidden]
    given = click.core.ParameterSource.COMMANDLINE
    assert [name for name in hidden if context.get_parameter_source(str(name)) is given] == []


def test_the_summaries_fit_on_a_line_of_a_terminal() -> None:
    assert {name: len(entry.summary) for name, entry in COMMANDS.items() if len(entry.summary) > 90} == {}


def test_old_names_of_options_are_accepted_and_not_shown() -> None:
    shown = help_of("recommend")
    assert "--minimize" in shown
    assert "--confidence" in shown
    assert "--least" not in shown
    assert "--surely" not in shown
    folder = ROOT / "examples" / "sandisk-2014"
    files = ("--catalogue", str(folder / "catalogue.yaml"), "--prices", str(folder / "prices.yaml"))
    words = ("--workload", "sql-join:1TB", *files, "--least", "time", "--surely", "0.8")
    refused = CliRunner().invoke(assay, ["recommend", *words])
    assert "has no workload" in str(refused.exception), "the old names are read, and the workload is refused"
