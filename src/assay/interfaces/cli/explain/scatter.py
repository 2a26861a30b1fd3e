"""``assay scatter``: print two metrics of each matching run."""

from pathlib import Path
from typing import Any

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
from assay.store import Repository
from assay.text import capitalised, column_title, level_text, metric_text, run_id_text


@click.command("scatter", cls=AssayCommand)
@click.option("--x", default="", help="Metric of the x axis. Default: the start time.")
@click.option("--y", default="duration_s", show_default=True, help="Metric of the y axis.")
@click.option("--by", default="", help="Factor shown by colour.")
@click.option("--shape", default="", help="Factor shown by shape.")
@all_option
@where_option
@repository_option
@json_option
def scatter(all_rows: bool, repository: Path, as_json: bool, **fields: Any) -> None:
    """List two metrics of the matching valid runs, sorted by x. --json also lists all metrics and factors."""
    from assay.questions.json_values import json_value
    from assay.questions.runs.scatter import ScatterRequest, counts_text
    from assay.questions.runs.scatter import scatter as answer

    view = answer(Repository.open(repository), ScatterRequest(**fields))
    if as_json:
        print_json(json_value(view))
        return
    click.echo(counts_text(view))
    factors = [name for name in (view.by, view.shape) if name]
    headers = (
        "Run",
        *(capitalised(metric_text(name, 0.0)[0]) for name in (view.x, view.y)),
        *map(column_title, factors),
    )
    rows = [
        (
            run_id_text(point.run_id),
            metric_text(view.x, point.x)[1],
            metric_text(view.y, point.y)[1],
            *(
                level_text(name, level)
                for name, level in ((view.by, point.colour), (view.shape, point.shape))
                if level is not None
            ),
        )
        for point in view.points
    ]
    if rows:
        print_rows(headers, rows, limit=row_limit(all_rows))
