"""``assay explain``: what matters for a workload's time, factor by factor and in pairs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.interfaces.cli.common import json_option, print_json, print_table, repository_option
from assay.questions.json_values import json_value
from assay.text import column_title, format_ratio, level_text, seconds

if TYPE_CHECKING:
    from assay.analysis.statistics import Estimate
    from assay.questions.forecasts.importance import WhatMatters

_SHOWN = 6


@click.command()
@click.option("--where", multiple=True, metavar="COLUMN=LEVEL", help="Only runs with this level; repeatable.")
@click.option("--by", metavar="FACTORS", help="Also the expected time of each combination of these, joined by commas.")
@json_option
@repository_option
def explain(where: tuple[str, ...], by: str | None, as_json: bool, repository: Path) -> None:
    """What matters: how much of the times' variation each factor makes, alone and with another."""
    from assay.questions.forecasts.importance import what_matters
    from assay.store import Repository

    found = what_matters(Repository.open(repository), where, tuple(filter(None, (by or "").split(","))))
    if as_json:
        print_json(json_value(found))
        return
    for notice in found.notices:
        click.echo(f"note: {notice}")
    _say(found)


def _say(found: WhatMatters) -> None:
    told = found.explained
    cells = [
        (
            column_title(effect.factor),
            *_share(effect.share),
            ", ".join(
                f"{level_text(effect.factor, level.level)} {format_ratio(level.ratio)}×"
                for level in effect.levels[:_SHOWN]
            )
            + (" …" if len(effect.levels) > _SHOWN or effect.more_levels else ""),
        )
        for effect in told.factors
    ]
    print_table(("Factor", "Share", "95 % interval", "Time against the usual one"), cells)
    click.echo()
    cells = [
        (
            " × ".join(column_title(name) for name in pair.factors),
            *_share(pair.share),
            f"{pair.measured_cells} of {pair.cells}",
        )
        for pair in told.pairs
    ]
    if cells:
        print_table(("Together", "Share", "95 % interval", "Pairs measured"), cells)
    click.echo(
        f"Shares of the variance of log times that the model tells for {told.configurations:,} configurations "
        f"({told.runs:,} valid runs), predicted; {told.rest:.0%} is of three and more together, or scatter. "
        f"The usual time is {seconds(told.usual_s)} s."
    )
    named = {condition.partition("=")[0] for condition in found.where}
    if alike := [column_title(name) for name in told.alike if name not in named]:
        click.echo(f"Of these nothing can be said, as they never varied here: {', '.join(alike)}.")
    if found.cells:
        click.echo()
        rows = [
            (
                *(level_text(name, level) for name, level in zip(found.by, cell.levels, strict=True)),
                seconds(cell.expected_s),
                str(cell.configurations) if cell.configurations else "none: a guess",
            )
            for cell in found.cells
        ]
        print_table((*map(column_title, found.by), "Expected (s)", "Configurations measured"), rows)


def _share(share: Estimate) -> tuple[str, str]:
    return f"{share.value:.1%}", f"{share.low or 0.0:.1%} to {share.high or 0.0:.1%}"
