"""``assay characterise``: how many runs a new cluster needs for accurate predictions."""

from pathlib import Path

import click

from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import json_option, print_json, print_table, repository_option
from assay.questions.json_values import json_value
from assay.text import column_title, level_text


@click.command(cls=AssayCommand)
@click.argument("cluster")
@click.option(
    "--precision", type=click.FloatRange(1, 90), default=10.0, show_default=True, help="Median error to reach, in %."
)
@json_option
@repository_option
def characterise(cluster: str, precision: float, as_json: bool, repository: Path) -> None:
    """The fewest runs on CLUSTER that tell the rest of its plan, chosen by other clusters' runs, then looked up."""
    from assay.questions.forecasts.next_runs import characterise as characterised
    from assay.store import Repository

    found = characterised(Repository.open(repository), cluster, precision / 100)
    if as_json:
        print_json(json_value(found))
        return
    for notice in found.notices:
        click.echo(f"note: {notice}")
    print_table(
        ("Runs on it", "Median error", "Mean error"),
        [(str(step.runs), f"{step.error:.1%}", f"{step.error_mean:.1%}") for step in found.steps],
    )
    reached = f"{found.enough} runs are enough" if found.enough else f"not reached with {len(found.order)} runs"
    click.echo(
        f"To tell the other configurations of {found.plan:,} on {found.cluster} to a median error of "
        f"{found.precision:.0%}: {reached}. They were chosen before their times were looked at:"
    )
    names = [name for name in (found.order[0] if found.order else {}) if name != "cluster"]
    names = [name for name in names if len({one[name] for one in found.order}) > 1]
    cells = [
        (str(number), *(level_text(name, one[name]) for name in names))
        for number, one in enumerate(found.order, start=1)
    ]
    print_table(("", *map(column_title, names)), cells)
