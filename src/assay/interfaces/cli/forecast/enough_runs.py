"""Print the number of runs that a cluster needs for accurate predictions, for ``assay next CLUSTER --precision``."""

from pathlib import Path

import click

from assay.interfaces.cli.common import print_json, print_rows
from assay.questions.json_values import json_value
from assay.text import column_title, level_text


def print_enough_runs(
    repository: Path, cluster: str, precision: float, where: tuple[str, ...], limit: int | None, *, as_json: bool
) -> None:
    """Print the number of runs on ``cluster`` that reach ``precision`` (0.1 for 10 % median error), and these runs."""
    from assay.questions.forecasts.next_runs import characterise as characterised
    from assay.questions.forecasts.next_runs import enough_runs_sentence
    from assay.store import Repository

    answer = characterised(Repository.open(repository), cluster, precision, where)
    if as_json:
        print_json(json_value(answer))
        return
    click.echo(f"{enough_runs_sentence(answer)}\n")
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
