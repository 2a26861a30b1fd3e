"""Test that the commands of README, docs and walkthroughs exist, and print what the page shows."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from assay.interfaces.cli.main import assay
from doc_commands import ALOJA, PAGES, SETUPS, Block, Command, blocks, parse, run, same, words_of
from paths import ROOT

ALL = [block for page in PAGES for block in blocks(page)]
EXECUTED = sorted({(block.page, block.value) for block in ALL if block.mark == "run"})


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)])
def test_every_command_of_a_page_parses(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def unchecked(_type: click.Path, value: str, _param: object, _context: object) -> str:
        return value

    monkeypatch.setattr(click.Path, "convert", unchecked)
    mistakes = []
    for block in blocks(page):
        for command in block.commands:
            try:
                if words := words_of(command.line):
                    parse(words)
            except click.ClickException as error:
                mistakes.append(f"{page}:{block.line}: {command.line}: {error.format_message()}")
            except click.exceptions.Exit:
                pass
    assert not mistakes, "\n".join(mistakes)


def test_output_on_a_page_is_of_a_tested_command_or_of_a_named_run() -> None:
    assert [
        f"{block.page}:{block.line}" for block in ALL if not block.mark and any(c.output for c in block.commands)
    ] == []
    assert [f"{block.page}:{block.line}" for block in ALL if block.mark == "run" and block.value not in SETUPS] == []


@pytest.mark.slow
@pytest.mark.parametrize(("page", "setup"), EXECUTED)
def test_commands_print_what_the_page_shows(
    page: str, setup: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_REPOSITORY", raising=False)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    if setup.startswith("aloja"):
        _link_aloja(tmp_path)
    if files := (ALOJA if setup == "aloja-imported" else SETUPS[setup]):
        options = [] if setup == "aloja-imported" else ["--repository", setup]
        done = CliRunner().invoke(assay, ["import", *files, *options])
        assert done.exit_code == 0, done.output
    wrong = [
        f"{page}:{block.line}: $ {command.line}\n--- shown\n{command.output}--- printed\n{printed}"
        for block in blocks(page)
        if (block.mark, block.value) == ("run", setup)
        for command, printed in _printed(block)
        if command.output and not same(command.output, printed)
    ]
    assert not wrong, "\n".join(wrong)


def _printed(block: Block) -> list[tuple[Command, str]]:
    return [(command, run(command)) for command in block.commands]


def _link_aloja(folder: Path) -> None:
    """Link ALOJA's published files, which ``ASSAY_ALOJA_DATA`` names the folder of, or skip."""
    data = os.environ.get("ASSAY_ALOJA_DATA", "")
    if not data or any(not Path(data, name).exists() for name in ALOJA):
        pytest.skip(f"ASSAY_ALOJA_DATA names no folder with {' and '.join(ALOJA)}")
    for name in ALOJA:
        (folder / name).symlink_to(Path(data, name))


def test_an_output_with_an_omission_matches_any_text() -> None:
    assert same("a\n…\nd  \n", "a\nb\nc\nd\n")
    assert not same("a\nb\n", "a\nc\n")
