"""``assay limits RUN``: the limiting resource at each time, and bounds on the speedup."""

from pathlib import Path

import click

from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import json_option, print_json, repository_option
from assay.interfaces.cli.explain.run_text import table_lines
from assay.store import Repository


@click.command(cls=AssayCommand)
@click.argument("run")
@click.option("--seconds", is_flag=True, help="Also print every second of every worker.")
@json_option
@repository_option
def limits(run: str, seconds: bool, as_json: bool, repository: Path) -> None:
    """Show what limited a run: CPU, disks by their data, network, containers or fixed costs, second by second.

    RUN is the beginning of a run id. The bounds say how fast the run could be at most if disks, network or CPUs cost no
    time. They use only the traces and task attempts of this run. --json prints everything, with every second of every
    worker.
    """
    from assay.analysis.run_profile.tables.limits_tables import limit_sections, limit_sentence, seconds_table
    from assay.questions.json_values import json_value
    from assay.questions.runs.limits import limits_of_run

    answer = limits_of_run(Repository.open(repository), run)
    if as_json:
        print_json(json_value(answer))
        return
    click.echo(limit_sentence(answer))
    click.echo(f"run {answer.run_id}, {answer.origin}")
    for table in (*limit_sections(answer), *([seconds_table(answer)] if seconds else [])):
        for line in table_lines(table):
            click.echo(line)
