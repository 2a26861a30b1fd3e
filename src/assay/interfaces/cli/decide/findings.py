"""``assay findings``: test claims of the published studies on the runs."""

from __future__ import annotations

from pathlib import Path

import click

from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import json_option, print_json, repository_option, where_option
from assay.interfaces.cli.repository_runs import read_flagged
from assay.questions.json_values import json_value
from assay.text import outlier_runs_text


@click.command(cls=AssayCommand)
@click.option(
    "--prices", type=click.Path(path_type=Path, dir_okay=False), help="Price book (YAML): adds claims about cost."
)
@click.option("--exclude-flagged", is_flag=True, help="Leave out runs whose times are flagged as outliers.")
@where_option
@json_option
@repository_option
def findings(
    prices: Path | None, exclude_flagged: bool, where: tuple[str, ...], as_json: bool, repository: Path
) -> None:
    """Compare the runs with common claims from the literature: supported, contradicted or undecided, with numbers."""
    from assay.questions.claims.findings import findings_sentence, findings_view

    book = None
    if prices is not None:
        from assay.specs import load_prices

        book = load_prices(prices)
    opened_repository, flagged, table = read_flagged(repository, where)
    view = findings_view(opened_repository, table, book, all_runs=flagged.table, exclude_flagged=exclude_flagged)
    if as_json:
        print_json(json_value(view))
        return
    click.echo(f"{findings_sentence(view)}\n")
    for origin, items in view.by_origin.items():
        is_only_origin = len(view.by_origin) == 1
        click.echo(f"{origin} ({view.valid_runs} valid runs)" if is_only_origin else origin)
        for item in items:
            click.echo(f"\n  {item.claim} {str(item.answer).upper()} [{item.source}]")
            for evidence in item.evidence:
                click.echo(f"    {evidence}")
            if item.judged:
                click.echo(f"    {item.judged}")
        click.echo()
    if view.flagged:
        remark = "they count; --exclude-flagged leaves them out" if view.includes_flagged else "left out"
        click.echo(f"{outlier_runs_text(view.flagged)}: {remark}.")
