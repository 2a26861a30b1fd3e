"""``assay characterise``: how many runs a new cluster needs for accurate predictions."""

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
from assay.questions.json_values import json_value
from assay.text import column_title, level_text, plural


@click.command(cls=AssayCommand)
@click.argument("cluster")
@click.option(
    "--precision",
    type=click.FloatRange(1, 90),
    default=10.0,
    show_default=True,
    help="Median error to reach, in percent.",
)
@where_option
@all_option
@json_option
@repository_option
def characterise(
    cluster: str, precision: float, where: tuple[str, ...], every: bool, as_json: bool, repository: Path
) -> None:
    """Count the runs on CLUSTER that are enough to predict its other runs.

    The runs are chosen with a model of the other clusters; then the measured times of CLUSTER show the error.
    """
    from assay.questions.forecasts.next_runs import characterise as characterised
    from assay.store import Repository

    answer = characterised(Repository.open(repository), cluster, precision / 100, where)
    if as_json:
        print_json(json_value(answer))
        return
    reached = (
        f"{plural(answer.enough, 'run is', 'runs are')} enough"
        if answer.enough
        else f"{plural(len(answer.order), 'run is', 'runs are')} not enough"
    )
    click.echo(
        f"{reached} to predict the other configurations on {answer.cluster} ({answer.plan:,} in all) with a median "
        f"error of {answer.precision:.0%}.\n"
    )
    limit = row_limit(every)
    print_rows(
        ("Runs on the cluster", "Median error", "Mean error"),
        [(str(step.runs), f"{step.error:.1%}", f"{step.error_mean:.1%}") for step in answer.steps],
        limit=limit,
    )
    click.echo("\nThe runs, chosen without knowing their times:")
    names = [name for name in (answer.order[0] if answer.order else {}) if name != "cluster"]
    names = [name for name in names if len({configuration[name] for configuration in answer.order}) > 1]
    cells = [
        (str(number), *(level_text(name, configuration[name]) for name in names))
        for number, configuration in enumerate(answer.order, start=1)
    ]
    print_rows(("", *map(column_title, names)), cells, limit=limit)
    for notice in answer.notices:
        click.echo(f"note: {notice}")
