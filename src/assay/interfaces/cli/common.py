"""Define the options that commands share, and print tables (rows of text) and JSON to stdout."""

import copy
import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from assay.interfaces.cli.terminal import unescaped
from assay.questions.commands import DEFAULT_REPOSITORY
from assay.text.control_characters import printable

ROWS_SHOWN = 10
"""Maximum number of rows of a long table without ``--all``."""
_FIGURE_MAX = 30
"""Maximum length of a cell that counts as a number, in characters."""
_CODE = re.compile(r"\([A-Za-z]")
_GAP = 2
"""Number of spaces between two columns."""
_INDENT = "    "
F = TypeVar("F", bound=Callable[..., Any])
Request = TypeVar("Request")


class RenamedOption(click.Option):
    """An option whose last name is deprecated: it is accepted, but hidden in the help text."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the help text without the deprecated name."""
        visible_option = copy.copy(self)
        visible_option.opts = self.opts[:-1]
        return click.Option.get_help_record(visible_option, ctx)


def _value_or_group_value(context: click.Context, parameter: click.Parameter, value: Path) -> Path:
    """Return ``value``, or the group's value if the command line sets the option only for the group."""
    command_line = click.core.ParameterSource.COMMANDLINE
    parent, name = context.parent, str(parameter.name)
    if (
        parent is None
        or context.get_parameter_source(name) is command_line
        or parent.get_parameter_source(name) is not command_line
    ):
        return value
    return Path(parent.params[name])


def repository_option(command: F) -> F:
    """Add ``--repository DIR`` (environment: ASSAY_REPOSITORY), passed on as ``repository: Path``.

    Given to a group, it applies to the subcommand: ``assay campaign --repository DIR list``.
    """
    return click.option(
        "--repository",
        type=click.Path(path_type=Path, file_okay=False),
        default=DEFAULT_REPOSITORY,
        show_default=True,
        envvar="ASSAY_REPOSITORY",
        callback=_value_or_group_value,
        help="Folder of the runs.",
    )(command)


def json_option(command: F) -> F:
    """Add ``--json``, passed on as ``as_json: bool``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")(command)


def where_option(command: F) -> F:
    """Add ``--where COLUMN=LEVEL``, repeatable, passed on as ``where: tuple[str, ...]``."""
    return click.option(
        "--where",
        multiple=True,
        metavar="COLUMN=LEVEL",
        help="Only runs with this level, such as storage=SSD; repeatable. Levels of one column are alternatives.",
    )(command)


def all_option(command: F) -> F:
    """Add ``--all``, passed on as ``all_rows: bool``."""
    return click.option("--all", "all_rows", is_flag=True, help="Print every row.")(command)


def extra_costs_option(command: F) -> F:
    """Add ``--extra-costs``, passed on as ``extra_costs: str``."""
    return click.option(
        "--extra-costs",
        default="",
        metavar="WHAT=AMOUNT,…",
        help="Also count, per day, stored data, data sent out and idle time: storage=2TB,egress=50GB,idle=3h. "
        "surplus-credits=$0.05 runs burstable machines in unlimited mode at this price per vCPU-hour (not in whatif). "
        "Default: none.",
    )(command)


def given_options(context: click.Context, names: Sequence[str]) -> list[str]:
    """Return the options on the command line that set the parameters ``names``, in this order."""
    options = {parameter.name: parameter.opts[0] for parameter in context.command.params}
    source = click.core.ParameterSource.COMMANDLINE
    return [options[name] for name in names if context.get_parameter_source(name) is source]


def option_words(context: click.Context, names: Sequence[str]) -> list[str]:
    """Return the options ``names`` with their values, as words of a command; those that are not given are left out."""
    options = {parameter.name: parameter.opts[0] for parameter in context.command.params}
    words: list[str] = []
    for name in names:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            value = context.params[name]
            items = value if isinstance(value, tuple) else (value,)
            words += [
                word
                for item in items
                for word in (options[name], f"{item:g}" if isinstance(item, float) else str(item))
            ]
    return words


def request_of(kind: type[Request], options: Mapping[str, Any], **values: Any) -> Request:
    """Return a request of the dataclass ``kind``: options give the fields of their names, ``values`` the others."""
    names = {field.name for field in fields(cast(Any, kind))}
    return kind(**{name: value for name, value in options.items() if name in names} | values)


def profile_option(default: str = "the one shipped with assay") -> Callable[[F], F]:
    """Return a decorator that adds ``--profile FILE``, passed on as ``profile: tuple[Path, ...]``."""
    return click.option(
        "--profile",
        type=click.Path(path_type=Path),
        callback=lambda _context, _parameter, file: () if file is None else (file,),
        help=f"Simulation profile. Default: {default}.",
    )


def until_option(help_text: str) -> Callable[[F], F]:
    """Return a decorator that adds ``--until``, passed on as ``stop: Stop | None``."""

    def parse(_context: click.Context, _parameter: click.Parameter, text: str | None) -> object:
        from assay.execution.planning.forecast.call_limits import parse_stop

        return parse_stop(text, datetime.now().astimezone()) if text else None

    return click.option("--until", "stop", metavar="TIME|DURATION|N runs", callback=parse, help=help_text)


def row_limit(all_rows: bool, limit: int | None = None) -> int | None:
    """Return the maximum number of rows of a table: None with ``--all``, else ``limit`` or the default."""
    return None if all_rows else limit or ROWS_SHOWN


def say(message: str) -> None:
    """Print a progress message to stderr. Answers go to stdout."""
    click.echo(message, err=True)


def print_json(value: Any) -> None:
    """Print ``value`` (plain lists, dictionaries, numbers, strings) as indented JSON."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def output_columns() -> int | None:
    """Return the width of the terminal in columns; for a pipe or file, COLUMNS. None means unlimited."""
    if sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    text = os.environ.get("COLUMNS", "")
    return int(text) if text.isdecimal() and int(text) > 0 else None


def print_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, title: str | None = None) -> None:
    """Print an aligned table, with columns of numbers aligned to the right.

    If the output is too narrow, values shared by all rows are printed once below the table, and the last columns of a
    row go to lines below it.
    """
    numeric = [bool(rows) and all(_is_figure(row[index]) for row in rows) for index in range(len(headers))]
    columns = output_columns()
    if rows and columns is not None and _width(headers, rows, range(len(headers))) > columns:
        in_one_line = [[" ".join(cell.split("\n")) for cell in row] for row in rows]
        _print_narrow(headers, in_one_line, numeric, title, columns)
        return
    if not sys.stdout.isatty():
        _print_plain(headers, rows, numeric, title)
        return
    from rich.console import Console  # imported here to keep start-up short
    from rich.table import Table

    table = Table(
        title=printable(title) if title else None, title_justify="left", header_style="bold", box=None, pad_edge=False
    )
    for header, is_numeric in zip(headers, numeric, strict=True):
        table.add_column(printable(header), justify="right" if is_numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(printable, row))
    Console(file=unescaped(sys.stdout), soft_wrap=False, markup=False, highlight=False).print(table)


def print_rows(
    headers: Sequence[str], rows: Sequence[Sequence[str]], *, limit: int | None, title: str | None = None
) -> None:
    """Print the first ``limit`` rows as a table (None for all rows), then the number of rows left out.

    Every command with ``--all`` prints its rows with this function. The caller passes the most significant rows first.
    """
    print_table(headers, rows[:limit], title=title)
    if limit is not None and len(rows) > limit:
        click.echo(f"… {len(rows) - limit:,} more (--all)")


def _is_figure(cell: str) -> bool:
    """Return whether a cell is a number. A layout in words, ``2 SSDs (SS2)``, is text: it has a code in brackets."""
    return not cell or (cell[0] in "0123456789+-–−$€" and len(cell) <= _FIGURE_MAX and not _CODE.search(cell))


def _width(headers: Sequence[str], rows: Sequence[Sequence[str]], column_indexes: Iterable[int]) -> int:
    """Return the width of a table with the columns ``column_indexes``, including the gaps between columns."""
    from rich.cells import cell_len

    lines = [headers, *rows]
    return (
        sum(
            _GAP + max(cell_len(part) for line in lines for part in line[column].split("\n"))
            for column in column_indexes
        )
        - _GAP
    )


def _print_narrow(
    headers: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool], title: str | None, width: int
) -> None:
    """Print a table that is wider than the output, without splitting words or numbers."""
    column_indexes, shared_indexes = list(range(len(headers))), list[int]()
    for n in reversed(range(1, len(headers))):
        if _width(headers, rows, column_indexes) > width and len(rows) > 1 and len({row[n] for row in rows}) == 1:
            column_indexes.remove(n)
            shared_indexes.insert(0, n)
    columns_in_line = max(
        1,
        next(
            (n for n in range(len(column_indexes)) if _width(headers, rows, column_indexes[: n + 1]) > width),
            len(column_indexes),
        ),
    )
    first_indexes, later_indexes = column_indexes[:columns_in_line], column_indexes[columns_in_line:]
    if title:
        click.echo(title)
    lines = aligned_lines(
        [[line[n] for n in first_indexes] for line in (headers, *rows)], [numeric[n] for n in first_indexes]
    )
    click.secho(next(lines), bold=None if os.environ.get("TERM") == "dumb" else True)
    for line, row in zip(lines, rows, strict=True):
        click.echo(line)
        later_text = "; ".join(f"{_lower_case_title(headers[n])} {row[n]}".strip() for n in later_indexes if row[n])
        for wrapped_line in textwrap.wrap(later_text, max(20, width - len(_INDENT)), break_long_words=False):
            click.echo(f"{_INDENT}{wrapped_line}")
    if shared_indexes:
        shared_text = "; ".join(f"{_lower_case_title(headers[n])} {rows[0][n]}".strip() for n in shared_indexes)
        click.echo(textwrap.fill(f"All of them: {shared_text}.", width, break_long_words=False))


def _lower_case_title(header: str) -> str:
    return header if header[:2].isupper() else header[:1].lower() + header[1:]


def _print_plain(
    headers: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool], title: str | None
) -> None:
    """Print a table to a pipe or file: each row on one line, without trailing spaces."""
    lines = [headers, *([" ".join(cell.split("\n")) for cell in row] for row in rows)]
    if title:
        click.echo(title)
    for line in aligned_lines(lines, numeric):
        click.echo(line)


def aligned_lines(lines: Sequence[Sequence[str]], right_aligned: Sequence[bool]) -> Iterator[str]:
    """Yield the lines with aligned cells. ``right_aligned``: whether each column is aligned to the right."""
    from rich.cells import cell_len, set_cell_size

    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (
            " " * (width - cell_len(cell)) + cell if is_right_aligned else set_cell_size(cell, width)
            for cell, width, is_right_aligned in zip(line, widths, right_aligned, strict=True)
        )
        yield "  ".join(cells).rstrip()
