"""What every command shares: the ``--json`` and ``--repository`` options, and printing of tables and JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

DEFAULT_REPOSITORY = "repository"
PIPE_WIDTH = 240
"""Columns of a table that no terminal shows, so that its rows stay whole for other programs."""
F = TypeVar("F", bound=Callable[..., Any])


def repository_option(command: F) -> F:
    """Add ``--repository DIR`` (environment: ASSAY_REPOSITORY), passed on as ``repository: Path``."""
    return click.option(
        "--repository", type=click.Path(path_type=Path, file_okay=False), default=DEFAULT_REPOSITORY, show_default=True,
        envvar="ASSAY_REPOSITORY", help="Folder in which runs are kept.",
    )(command)  # fmt: skip


def json_option(command: F) -> F:
    """Add ``--json``, passed on as ``as_json: bool``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")(command)


def print_json(value: Any) -> None:
    """Print ``value`` (plain lists, dictionaries, numbers, strings) as indented JSON."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, title: str | None = None) -> None:
    """Print an aligned table; columns whose cells all start with a digit or sign are right-aligned."""
    from rich.console import Console  # imported here to keep start-up short
    from rich.table import Table

    table = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for index, header in enumerate(headers):
        cells = [row[index] for row in rows]
        numeric = bool(cells) and all(not cell or cell[0] in "0123456789+-–−$€" for cell in cells)
        table.add_column(header, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    Console(width=width, soft_wrap=False, markup=False, highlight=False).print(table)
