"""``assay explain``: print the factors, alone and in pairs, that explain the run times of a workload."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.foundation.units import format_percent
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
from assay.text import column_title, format_ratio, level_text, seconds

if TYPE_CHECKING:
    from assay.questions.forecasts.importance import ImportanceView

_LEVELS_SHOWN = 6
"""Maximum number of levels printed in a factor's row."""


@click.command(cls=AssayCommand)
@where_option
@all_option
@click.option("--by", metavar="FACTORS", help="Also print the expected time of each combination of these factors.")
@json_option
@repository_option
def explain(where: tuple[str, ...], all_rows: bool, by: str | None, as_json: bool, repository: Path) -> None:
    """Show how much of the variance of run times each factor explains, alone and with another factor.

    Separate several factors after --by with commas.
    """
    from assay.questions.forecasts.importance import what_matters
    from assay.store import Repository

    answer = what_matters(Repository.open(repository), where, tuple(filter(None, (by or "").split(","))))
    if as_json:
        print_json(json_value(answer))
        return
    _print(answer, row_limit(all_rows))
    for notice in answer.notices:
        click.echo(f"note: {notice}")


def _print(answer: ImportanceView, limit: int | None) -> None:
    from assay.questions.forecasts.importance import importance_sentence, share_texts

    importance = answer.explained
    click.echo(f"{importance_sentence(answer)}\n")
    factor_rows = [
        (
            column_title(effect.factor),
            *share_texts(effect.share),
            ", ".join(
                f"{level_text(effect.factor, level.level)} {format_ratio(level.ratio)}×"
                for level in effect.levels[:_LEVELS_SHOWN]
            )
            + (" …" if len(effect.levels) > _LEVELS_SHOWN or effect.more_levels else ""),
        )
        for effect in importance.factors
    ]
    print_rows(("Factor", "Share", "95 % interval", "Predicted time / typical time"), factor_rows, limit=limit)
    click.echo()
    pair_rows = [
        (
            " × ".join(column_title(name) for name in pair.factors),
            *share_texts(pair.share),
            f"{pair.measured_cells} of {pair.cells}",
        )
        for pair in importance.pairs
    ]
    if pair_rows:
        print_rows(("Pair", "Share", "95 % interval", "Combinations measured"), pair_rows, limit=limit)
    click.echo(
        f"Share: predicted part of the variance of log times, by a model of {importance.configurations:,} "
        f"configurations ({importance.runs:,} valid runs). The remaining {format_percent(importance.rest)} is random "
        f"variation or involves three or more factors. The typical time is {seconds(importance.usual_s)} s."
    )
    if answer.decisions:
        click.echo("\nMeasured, as `assay decide FACTOR` answers:")
    for decision in answer.decisions:
        click.echo(f"{column_title(decision.factor)}: {decision.headline} {decision.evidence}")
    filtered_factors = {condition.partition("=")[0] for condition in answer.where}
    if constant_factors := [column_title(name) for name in importance.alike if name not in filtered_factors]:
        click.echo(f"Not assessed, because these runs have only one level of it: {', '.join(constant_factors)}.")
    if answer.cells:
        click.echo()
        rows = [
            (
                *(level_text(name, level) for name, level in zip(answer.by, cell.levels, strict=True)),
                seconds(cell.expected_s),
                str(cell.configurations) if cell.configurations else "none: extrapolated",
            )
            for cell in answer.cells
        ]
        print_rows((*map(column_title, answer.by), "Expected (s)", "Configurations measured"), rows, limit=limit)
