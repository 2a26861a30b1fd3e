"""``assay limits RUN``: which resource was the limit when, and how much faster the run could be at most."""

from pathlib import Path

import click

from assay.interfaces.cli.common import json_option, print_json, repository_option
from assay.interfaces.cli.measure.run_text import table_lines
from assay.store import Repository


@click.command()
@click.argument("run")
@click.option("--seconds", is_flag=True, help="Also every second of every worker.")
@json_option
@repository_option
def limits(run: str, seconds: bool, as_json: bool, repository: Path) -> None:
    """Say what limited a run: CPU, disks by what they hold, network, containers, fixed costs, second by second.

    RUN is the beginning of a run's id. The bounds say how fast it could be at most with infinitely fast disks, network
    or CPUs, from this run's traces and attempts alone. With --json, everything, each second of each worker included.
    """
    from assay.analysis.run_profile.tables.limits_tables import limit_sections, limit_sentence, seconds_table
    from assay.questions.json_values import json_value
    from assay.questions.runs.limits import limits_of_run

    found = limits_of_run(Repository.open(repository), run)
    if as_json:
        print_json(json_value(found))
        return
    click.echo(f"run {found.run_id}, {found.origin}")
    for sentence in limit_sentence(found):
        click.echo(sentence)
    for table in (*limit_sections(found), *([seconds_table(found)] if seconds else [])):
        for line in table_lines(table):
            click.echo(line)
