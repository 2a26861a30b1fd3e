"""``assay changes``: print the times at which configurations became faster or slower."""

from pathlib import Path

import click

from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import (
    all_option,
    json_option,
    print_json,
    print_rows,
    repository_option,
    row_limit,
    where_option,
)
from assay.interfaces.cli.repository_runs import read_table
from assay.questions.json_values import json_value


@click.command(cls=AssayCommand)
@click.option("--limit", type=click.IntRange(min=1), hidden=True)
@all_option
@where_option
@json_option
@repository_option
def changes(limit: int | None, all_rows: bool, where: tuple[str, ...], as_json: bool, repository: Path) -> None:
    """Find when configurations became faster or slower: change points in the history of their repetitions."""
    from assay.questions.trust.changes import changes_notes, changes_of, changes_sentence, changes_table

    _, table = read_table(repository, where)
    answer = changes_of(table)
    if as_json:
        print_json(json_value(answer))
        return
    text_table = changes_table(answer)
    click.echo(changes_sentence(answer))
    if text_table.rows:
        click.echo()
        print_rows(text_table.headers, text_table.rows, limit=row_limit(all_rows, limit))
        for note in text_table.notes:
            click.echo(note)
    for note in changes_notes(answer):
        click.echo(note)
