"""Print runs or their configurations side by side, for ``assay compare RUN RUN``."""

from collections.abc import Sequence
from pathlib import Path

import click

from assay.interfaces.cli.common import print_json, print_rows, print_table, row_limit
from assay.interfaces.cli.repository_runs import read_table
from assay.questions.comparisons.result_sentences import counters_text, different_jobs_text, side_sentence
from assay.questions.comparisons.side_by_side import Of, sides_of
from assay.questions.json_values import json_value
from assay.text import column_title, interval, interval_s, level_text, origin_badge, ratio, run_id_text, seconds

_LEVELS_SHOWN = 3
"""Maximum number of levels printed in a cell."""


def print_sides(root: Path, run_ids: Sequence[str], of: Of, *, all_rows: bool, as_json: bool) -> None:
    """Print runs, or their configurations, side by side; the first is the baseline.

    ``run_ids``: beginnings of run ids. ``all_rows``: print all rows.
    """
    repository, table = read_table(root)
    sides = sides_of(repository, table, [repository.run(run_id) for run_id in run_ids], of)
    if as_json:
        print_json(json_value(sides))
        return
    for sentence in filter(None, [different_jobs_text(sides), *(side_sentence(sides, side) for side in sides.sides)]):
        click.echo(sentence)
    rows = [
        (
            side.label,
            run_id_text(side.run_id),
            str(side.summary.n),
            seconds(side.summary.geometric_mean_s),
            interval_s(side.summary.low_s, side.summary.high_s),
            ratio(side.ratio) if number else ratio(1.0),
            interval(side.ratio_low, side.ratio_high),
            origin_badge(side.origin, side.lab_scale),
        )
        for number, side in enumerate(sides.sides)
    ]
    headers = ("Side", "Run", "Runs", "Mean (s)", "95 % interval", "Speedup vs A", "95 % interval", "Origin")
    print_table(headers, rows)
    difference_rows = [
        (column_title(item.name), item.kind.value, *(_levels(item.name, levels) for levels in item.levels))
        for item in sides.differences
    ]
    if difference_rows:
        click.echo()
        letters = [side.label[0] for side in sides.sides]
        print_rows(("What differs", "Kind", *letters), difference_rows, limit=row_limit(all_rows))
    for warning in sides.warnings:
        click.echo(f"warning: {warning}")
    click.echo()
    counters = counters_text(sides)
    if not counters.rows:
        click.echo("None of these valid runs has job counters.")
        return
    print_rows(counters.headers, counters.rows, limit=row_limit(all_rows), title="Counters, largest differences first")
    for note in counters.notes:
        click.echo(note)


def _levels(name: str, levels: Sequence[str]) -> str:
    omitted_text = f" and {len(levels) - _LEVELS_SHOWN} more" if len(levels) > _LEVELS_SHOWN else ""
    return ", ".join(level_text(name, level) or "–" for level in levels[:_LEVELS_SHOWN]) + omitted_text or "–"
