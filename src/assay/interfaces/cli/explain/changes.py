"""``assay changes``: print the times at which configurations became faster or slower."""

from datetime import UTC, datetime
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
from assay.text import interval, plural

_SHOWN_MIN = 0.005
"""Minimum correlation to print; a smaller value would round to 0.00."""


@click.command(cls=AssayCommand)
@click.option("--limit", type=click.IntRange(min=1), hidden=True)
@all_option
@where_option
@json_option
@repository_option
def changes(limit: int | None, all_rows: bool, where: tuple[str, ...], as_json: bool, repository: Path) -> None:
    """Find when configurations became faster or slower: change points in the history of their repetitions."""
    from assay.questions.trust.changes import changes_of, changes_sentence

    _, table = read_table(repository, where)
    answer = changes_of(table)
    if as_json:
        print_json(json_value(answer))
        return
    cells = [
        (
            ", ".join(item.configuration.values()),
            str(item.runs),
            datetime.fromtimestamp(change.first_after_unix_s, UTC).strftime("%Y-%m-%d %H:%M"),
            f"{change.ratio.value:.2f}×",
            interval(change.ratio.low, change.ratio.high),
            f"{change.p:.3f}",
        )
        for item in answer.histories
        for change in item.changes
    ]
    click.echo(changes_sentence(answer))
    if cells:
        click.echo()
        headers = ("Configuration", "Runs", "From (UTC)", "Time", "95 % interval", "p")
        print_rows(headers, cells, limit=row_limit(all_rows, limit))
        click.echo("Time: after / before; above 1 is slower.")
    if answer.correlation >= _SHOWN_MIN:
        click.echo(f"The tests allow for a correlation of up to {answer.correlation:.2f} between neighbouring runs.")
    if answer.wander >= _SHOWN_MIN:
        click.echo(
            f"The tests allow for drift of up to {answer.wander:.2f} standard deviations from run to run, as between "
            "sessions or on a machine that drifts."
        )
    if answer.runs_without_start:
        click.echo(f"{plural(answer.runs_without_start, 'valid run')} left out: no start time is recorded.")
