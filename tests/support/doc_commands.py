"""Read the ``assay`` commands of a documentation page, check them, and run them as the page shows.

A block of a page is a fenced or indented code block with lines that begin with ``assay``, ``$ assay`` or
``.venv/bin/assay``. The comment above a block says how its output is checked:

- ``<!-- run: SETUP -->``: the commands run in a scratch directory, in the page's order, and print what the page shows.
  ``…`` stands for any text. SETUP is a key of ``SETUPS``.
- ``<!-- shown: ORIGIN -->``: the output is of a run that a test can't repeat. ORIGIN names it.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import click
from click.testing import CliRunner

from assay.interfaces.cli.main import assay
from paths import ROOT

PAGES: Final = (
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")),
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "examples").glob("*/walkthrough.md")),
)
SETUPS: Final[dict[str, tuple[str, ...]]] = {
    "files": (),
    "sandisk": ("examples/sandisk-2014/measured/runs.csv",),
    "bsc": ("examples/bsc-2015/measured/runs.csv",),
    "bsc-containers": ("examples/bsc-2015/measured/containers.csv",),
    "lisa14": ("examples/lisa14/measured/storage/runs.csv",),
    "compression": ("examples/lisa14/measured/compression/runs.csv",),
    "jobs": ("examples/lisa14/measured/jobs/runs.csv",),
    "nightly": (str(ROOT / "tests" / "data" / "nightly.csv"),),
    "aloja": (),
    "aloja-imported": (),
}
"""Runs that the repository of a setup holds; it has the setup's name. ``files`` and ``aloja`` begin without one, and
``aloja-imported`` has ALOJA's runs in the default repository.
"""
ALOJA: Final = ("aloja-execs-2014-09-dump.csv", "aloja-clusters.csv")
"""ALOJA's published files, by the names that pages use."""
_COMMAND: Final = re.compile(r"(?:\$ )?(?:\.venv/bin/)?(assay(?: .*)?)$")
_BLOCK: Final = re.compile(r"^```\w*\n(?P<fenced>.*?)^```$|(?P<indented>(?:^ {4}[^\n]*\n)+)", re.MULTILINE | re.DOTALL)
_MARK: Final = re.compile(r"<!-- (run|shown): (.*?) -->\s*\Z")


@dataclass(frozen=True, slots=True)
class Command:
    """One command and the output that the page shows, empty where it shows none."""

    line: str
    output: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """The commands of one block, and the comment above it."""

    page: str
    line: int
    mark: str
    """``run``, ``shown``, or empty."""
    value: str
    commands: tuple[Command, ...]


@cache
def blocks(page: str) -> tuple[Block, ...]:
    """Return the blocks of a page that hold a command."""
    text = (ROOT / page).read_text()
    result = []
    for match in _BLOCK.finditer(text):
        body = match["fenced"] or re.sub("^ {4}", "", match["indented"] or "", flags=re.MULTILINE)
        if commands := tuple(_commands(body)):
            mark = _MARK.search(text[: match.start()])
            line = text[: match.start()].count("\n") + 1
            result.append(Block(page, line, mark[1] if mark else "", mark[2] if mark else "", commands))
    return tuple(result)


def _commands(body: str) -> list[Command]:
    lines = re.sub(r"\\\n\s*", "", body).splitlines()
    console = any(line.startswith("$ ") for line in lines)
    commands: list[Command] = []
    for line in lines:
        if console and not line.startswith("$ "):
            if commands:
                commands[-1] = Command(commands[-1].line, f"{commands[-1].output}{line}\n")
        elif console or _COMMAND.match(line):
            commands.append(Command(line.removeprefix("$ ")))
    return commands if any(_COMMAND.match(command.line) for command in commands) else []


def words_of(line: str) -> list[str] | None:
    """Return the words after ``assay``, without comment and redirection; None for a synopsis or another program."""
    match = _COMMAND.match(line)
    if not match or re.search(r"…| \[|\| ", match[1].partition("#")[0]):
        return None
    return shlex.split(match[1].partition(" > ")[0], comments=True)[1:]


def parse(words: list[str]) -> click.Context:
    """Parse a command line; raise click's error if the command or an option does not exist."""
    context = click.Context(assay, info_name="assay")
    command: click.Command = assay
    name = "assay"
    if words[0].startswith("-"):
        return assay.make_context(name, list(words))
    while isinstance(command, click.Group) and words:
        subcommand = command.get_command(context, words[0])
        if subcommand is None:
            raise click.UsageError(f"{name} has no command {words[0]}")
        name, *words = words
        command = subcommand
        if isinstance(command, click.Group):
            context = click.Context(command, info_name=name, parent=context)
    return command.make_context(name, list(words), parent=context)


def run(command: Command) -> str:
    """Run a command in the current directory; return what it prints, or an empty text if that went to a file."""
    if command.line.startswith("cat "):
        path = Path(command.line.removeprefix("cat "))
        if not path.exists():
            path.write_text(command.output)
        return path.read_text()
    words = words_of(command.line)
    assert words is not None, f"not a command of assay: {command.line}"
    done = CliRunner().invoke(assay, words)
    answered = done.exception is None or (isinstance(done.exception, SystemExit) and done.exit_code == 1)
    assert answered or command.output, f"{command.line}\n{done.output}{done.exception}"
    target = shlex.split(command.line, comments=True)
    if ">" in target:
        Path(target[target.index(">") + 1]).write_text(done.stdout)
        return done.stderr
    return done.output


def same(shown: str, printed: str) -> bool:
    """Return whether a page's output is what the command printed; ``…`` stands for any text."""
    pattern = "".join(".*" if part == "…" else re.escape(part) for part in re.split("(…)", _trimmed(shown)))
    return re.fullmatch(pattern, _trimmed(printed), re.DOTALL) is not None


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
