"""``assay findings`` and ``anomalies``: what the runs say to the studies' claims, and which of them are odd."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.interfaces.cli.common import json_option, print_json, print_table, repository_option, where_option
from assay.interfaces.cli.reading import read_flagged
from assay.questions.json_values import json_value
from assay.text import NOTHING, run_id_text, runs_flagged, seconds

if TYPE_CHECKING:
    from assay.analysis.statistics import RunTable
    from assay.questions.comparisons.findings import FindingsView
    from assay.questions.trust.flags import Flagged
    from assay.store import Repository


@click.command()
@click.option(
    "--prices", type=click.Path(path_type=Path, dir_okay=False), help="Price book (YAML): what pays is judged by it."
)
@click.option("--exclude-flagged", is_flag=True, help="Leave out runs whose times are flagged as outliers.")
@where_option
@json_option
@repository_option
def findings(
    prices: Path | None, exclude_flagged: bool, where: tuple[str, ...], as_json: bool, repository: Path
) -> None:
    """What the runs say to the field's common claims: supported, contradicted or undecided, with the numbers."""
    from assay.analysis.statistics import counts_by
    from assay.questions.comparisons.findings import findings_view

    book = None
    if prices is not None:
        from assay.specs import load_prices

        book = load_prices(prices)
    opened, _, table = read_flagged(repository, where)
    view = findings_view(opened, table, book, exclude_flagged=exclude_flagged)
    if as_json:
        print_json(json_value(view.by_origin))
        _tell_flagged(view, to_stderr=True)
        return
    for origin, items in view.by_origin.items():
        alone = len(view.by_origin) == 1
        click.echo(f"{origin} ({counts_by(table, 'status').get('valid', 0)} valid runs)" if alone else origin)
        for item in items:
            click.echo(f"\n  {item.claim} {str(item.answer).upper()} [{item.source}]")
            for evidence in item.evidence:
                click.echo(f"    {evidence}")
            if item.judged:
                click.echo(f"    {item.judged}")
        click.echo()
    _tell_flagged(view)


def _tell_flagged(view: FindingsView, *, to_stderr: bool = False) -> None:
    if view.flagged:
        how = "they count; --exclude-flagged leaves them out" if view.flagged_count else "left out"
        click.echo(f"{runs_flagged(view.flagged)}: {how}.", err=to_stderr)


@click.command()
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many to list.")
@click.option("--second-opinion", is_flag=True, help="Ask what other configurations let expect, too.")
@where_option
@json_option
@repository_option
def anomalies(limit: int, second_opinion: bool, where: tuple[str, ...], as_json: bool, repository: Path) -> None:
    """Runs that are odd for their configuration: too fast, too slow, too few bytes, or work not done."""
    from assay.questions.runs.run_quality import odd_runs

    opened, flagged, table = read_flagged(repository, where)
    if second_opinion:
        _two_opinions(opened, flagged, table, limit, as_json=as_json)
        return
    found = odd_runs(opened, flagged, table, None if as_json else limit)
    if as_json:
        print_json(json_value(found.anomalies))
        return
    cells = [
        (run_id_text(odd.run_id), odd.workload or NOTHING, odd.layout or NOTHING, odd.kind, odd.reason)
        for odd in found.anomalies
    ]
    print_table(("Run", "Workload", "Layout", "What", "Why"), cells)
    shown = f"; the first {limit} are shown" if found.total > limit else ""
    click.echo(
        f"{found.total} anomalies among {found.looked_at} valid runs{shown}. They count in every command; "
        "--exclude-flagged leaves their times out of costs and claims."
    )


def _two_opinions(repository: Repository, flagged: Flagged, table: RunTable, limit: int, *, as_json: bool) -> None:
    from assay.questions.trust.second_opinion import two_opinions

    found = two_opinions(repository, flagged, table)
    if as_json:
        print_json(json_value(found))
        return
    cells = [
        (
            run_id_text(odd.run_id),
            odd.workload or NOTHING,
            odd.layout or NOTHING,
            odd.kind,
            odd.said_by,
            seconds(odd.predicted_s),
            odd.reason,
        )
        for odd in found.odd[:limit]
    ]
    print_table(("Run", "Workload", "Layout", "What", "Said by", "Predicted (s)", "Why"), cells)
    shown = f"; the first {limit} are shown" if len(found.odd) > limit else ""
    said = ", ".join(f"{number} by {who}" for who, number in found.said_by.items())
    click.echo(f"{len(found.odd)} odd runs among {found.looked_at} valid ones, said {said}{shown}.")
