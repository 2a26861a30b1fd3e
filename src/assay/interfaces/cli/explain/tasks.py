"""``assay tasks RUN``: print task durations by phase and node, and outlier tasks."""

from pathlib import Path

import click

from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import all_option, json_option, print_json, print_rows, repository_option, row_limit
from assay.store import Repository


@click.command(cls=AssayCommand)
@click.argument("run")
@click.option("--node", help="Only this node in the histograms of --json and in the durations.")
@click.option("--job", help="Only this job of the run, by its id.")
@all_option
@json_option
@repository_option
def tasks(run: str, node: str | None, job: str | None, all_rows: bool, as_json: bool, repository: Path) -> None:
    """Show how long tasks took by phase and node, and which tasks are outliers.

    RUN is the beginning of a run id. An outlier resembles few other tasks of its job and kind in duration, bytes
    and counters. --json adds the histograms.
    """
    from assay.questions.json_values import json_value
    from assay.questions.runs.task_durations import durations_of_run, outliers_text, phases_text, summary_text

    answer = durations_of_run(Repository.open(repository), run, node, job)
    if as_json:
        print_json(json_value(answer))
        return
    click.echo(summary_text(answer))
    for table in (phases_text(answer), outliers_text(answer)):
        if table.rows:
            click.echo()
            print_rows(table.headers, table.rows, limit=row_limit(all_rows), title=table.title.capitalize())
        for note in table.notes:
            click.echo(note)
