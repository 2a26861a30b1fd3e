"""Print where one side uses more time per byte of data than another, for ``assay profile diff A B``."""

from collections.abc import Sequence
from pathlib import Path

import click

from assay.interfaces.cli.common import print_json, print_rows, row_limit, say
from assay.interfaces.cli.repository_runs import read_table
from assay.questions.comparisons.code_difference import (
    basis_sentence,
    difference_notes,
    difference_of_sides,
    difference_sentence,
    difference_tables,
    profiled_sides,
)
from assay.questions.comparisons.side_by_side import Of
from assay.questions.json_values import json_value
from assay.text import plural


def print_difference(
    root: Path, prefixes: Sequence[str], of: Of, phase: str | None, *, page: Path | None, all_rows: bool, as_json: bool
) -> None:
    """Print the difference of the profiles of two runs or configurations; the first line is the answer."""
    repository, table = read_table(root)
    profiles = profiled_sides(repository, table, prefixes, of, phase)
    answer = difference_of_sides(profiles)
    if page is not None:
        from assay.interfaces.web.rendering.flame_page import write_flame_page
        from assay.questions.comparisons.flame_graphs import DIFFERENCE_TEXT, flame_graphs_of_sides

        lines = (*profiles.labels, basis_sentence(answer), DIFFERENCE_TEXT)
        write_flame_page(page, difference_sentence(answer), lines, flame_graphs_of_sides(profiles))
        say(f"wrote {page}")
    if as_json:
        print_json(json_value(answer))
        return
    click.echo(difference_sentence(answer))
    for side in (answer.baseline, answer.candidate):
        click.echo(
            f"{side.label}: {plural(len(side.run_ids), 'run')}, {side.run_ids[0]}{' …' * (len(side.run_ids) > 1)}"
        )
    for note in difference_notes(answer):
        click.echo(note)
    for rows in difference_tables(answer):
        click.echo()
        print_rows(rows.headers, rows.rows, limit=row_limit(all_rows), title=rows.title)
