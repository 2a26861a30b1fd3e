"""Print where one side uses more time per byte of data than another, for ``assay profile diff A B``."""

from collections.abc import Sequence
from pathlib import Path

import click

from assay.analysis.code_profile.difference import CodeRow
from assay.interfaces.cli.common import print_json, print_rows, row_limit, say
from assay.interfaces.cli.reading import read_table
from assay.questions.comparisons.code_difference import (
    basis_sentence,
    difference_of_sides,
    difference_sentence,
    profiled_sides,
)
from assay.questions.comparisons.side_by_side import Of
from assay.questions.json_values import json_value
from assay.text import plural


def print_difference(
    root: Path, prefixes: Sequence[str], of: Of, phase: str | None, *, page: Path | None, every: bool, as_json: bool
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
    difference = answer.difference
    click.echo(difference_sentence(answer))
    for side in (answer.baseline, answer.candidate):
        click.echo(
            f"{side.label}: {plural(len(side.run_ids), 'run')}, {side.run_ids[0]}{' …' * (len(side.run_ids) > 1)}"
        )
    click.echo(f"{answer.kind} profile, {answer.method}. {basis_sentence(answer)}")
    if answer.unprofiled:
        click.echo(f"{plural(answer.unprofiled, 'run')} without a profile left out")
    _print_rows("phases", difference.phases, row_limit(every))
    _print_rows("categories", difference.categories, row_limit(every))
    _print_rows("methods with most samples, by self time", difference.frames, row_limit(every))
    if difference.untested:
        click.echo(
            f"{plural(difference.untested, 'category or method', 'categories and methods')} not tested: too few samples"
        )


def _print_rows(title: str, rows: Sequence[CodeRow], limit: int | None) -> None:
    if not rows:
        return
    click.echo()
    cells = [
        (
            row.code.phase,
            *([row.code.frame] if row.code.frame else []),
            row.code.category or "all",
            f"{row.baseline_s_per_gb:.3g}",
            f"{row.candidate_s_per_gb:.3g}",
            f"{row.difference_s_per_gb:+.3g}",
            "–" if row.low_s_per_gb is None else f"{row.low_s_per_gb:+.3g} to {row.high_s_per_gb:+.3g}",
            row.verdict.value,
        )
        for row in rows
    ]
    named = ("phase", "method", "category") if rows[0].code.frame else ("phase", "category")
    headers = (*named, "A (s/GB)", "B (s/GB)", "B − A", "95 % interval", "verdict")
    print_rows(headers, cells, limit=limit, title=title)
