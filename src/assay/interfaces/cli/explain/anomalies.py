"""``assay anomalies``: print outliers: runs whose time or disk traffic differs from comparable runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

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
from assay.interfaces.cli.repository_runs import read_flagged
from assay.questions.json_values import json_value
from assay.text import NO_VALUE, layout_text, plural, run_id_text, seconds, workload_title

if TYPE_CHECKING:
    from assay.analysis.statistics import RunTable
    from assay.questions.trust.flags import FlaggedTable
    from assay.store import Repository


@click.command(cls=AssayCommand)
@click.option("--second-opinion", is_flag=True, help="Also compare each run with a prediction from other settings.")
@click.option("--limit", type=click.IntRange(min=1), hidden=True)
@all_option
@where_option
@json_option
@repository_option
def anomalies(
    second_opinion: bool, limit: int | None, all_rows: bool, where: tuple[str, ...], as_json: bool, repository: Path
) -> None:
    """List outliers: runs that are too fast or too slow, read or wrote too little, or did not finish their work."""
    from assay.questions.runs.run_quality import anomalies_sentence, anomalous_runs

    opened_repository, flagged, table = read_flagged(repository, where)
    rows = row_limit(all_rows, limit)
    if second_opinion:
        _print_two_opinions(opened_repository, flagged, table, rows, as_json=as_json)
        return
    outliers = anomalous_runs(opened_repository, flagged, table, None)
    if as_json:
        print_json(json_value(outliers))
        return
    cells = [
        (run_id_text(run.run_id), _workload(run.workload), _layout(run.layout), run.kind, run.reason)
        for run in outliers.anomalies
    ]
    click.echo(anomalies_sentence(outliers))
    if not cells:
        return
    click.echo("Every command counts them; --exclude-flagged leaves their times out of costs and claims.\n")
    print_rows(("Run", "Workload", "Storage layout", "Kind", "Reason"), cells, limit=rows)


def _workload(name: str | None) -> str:
    return workload_title(name) if name else NO_VALUE


def _layout(name: str | None) -> str:
    return layout_text(name) if name else NO_VALUE


def _print_two_opinions(
    repository: Repository, flagged: FlaggedTable, table: RunTable, rows: int | None, *, as_json: bool
) -> None:
    from assay.questions.trust.second_opinion import outlier_comparison

    opinions = outlier_comparison(repository, flagged, table)
    if as_json:
        print_json(json_value(opinions))
        return
    cells = [
        (
            run_id_text(run.run_id),
            _workload(run.workload),
            _layout(run.layout),
            run.kind,
            run.flagged_by,
            seconds(run.predicted_s),
            run.reason,
        )
        for run in opinions.outliers
    ]
    counts = ", ".join(f"{number} flagged by {source}" for source, number in opinions.flagged_by.items())
    click.echo(f"{plural(len(opinions.outliers), 'outlier')} among {opinions.examined:,} valid runs: {counts}.")
    if cells:
        click.echo()
        print_rows(
            ("Run", "Workload", "Storage layout", "Kind", "Flagged by", "Predicted (s)", "Reason"), cells, limit=rows
        )
