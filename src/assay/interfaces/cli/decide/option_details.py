"""Print each option of a decision with its own matched groups, for ``assay decide --details options``."""

import math
from collections.abc import Sequence

import click

from assay.analysis.comparison.result import SpeedupResult
from assay.analysis.comparison.verdict_text import scope_text
from assay.analysis.statistics import RunTable
from assay.foundation.errors import SpecificationError
from assay.interfaces.cli.common import print_json, print_rows, print_table
from assay.questions.comparisons.result_sentences import name_of
from assay.questions.comparisons.speedup import SpeedupView
from assay.questions.comparisons.speedup_tables import compared_text, tables_of
from assay.questions.json_values import json_value
from assay.text import NO_VALUE, interval, origin_badge, plural, ratio

_NAMED_MAX = 6
"""Maximum number of comparisons named in a sentence."""


def print_options(view: SpeedupView, limit: int | None) -> None:
    """Print the speedup of each option, further tables, and warnings.

    ``limit``: maximum number of rows of a table; None for all rows.
    """
    rows = [_cells(item) for item in view.results if item.ratio is not None]
    title = view.group.capitalize() if view.group else "Over"
    print_rows(
        (title, "Compared", "Speedup", "95 % interval", "Verdict", "Scope", "Groups", "Runs", "Origin"),
        rows,
        limit=limit,
    )
    _print_counts(view)
    for detail in tables_of(view):
        click.echo(f"\n{detail.title}\n{detail.note}")
        print_rows([header.lstrip("#") for header in detail.headers], detail.rows, limit=limit)
    for warning in view.warnings:
        click.echo(f"warning: {warning}")


def print_confounding(view: SpeedupView) -> None:
    """Print the factors that confound a comparison: they differ between its two sides."""
    for name in dict.fromkeys(name for item in view.results for name in item.confounded):
        click.echo(f"Confounded by {name}: it differs between the two sides, so nothing is concluded.")


def _cells(item: SpeedupResult) -> tuple[str, ...]:
    return (
        name_of(item) if item.combined else item.group,
        compared_text(item.factor, item.baseline, item.candidate),
        ratio(item.ratio),
        interval(item.low, item.high),
        item.verdict.value,
        scope_text(item.scope) if item.low is not None else NO_VALUE,
        str(item.groups),
        f"{item.runs_baseline}, {item.runs_candidate}",
        origin_badge(item.origin, item.lab_scale),
    )


def _print_counts(view: SpeedupView) -> None:
    uncompared_options = [f"{name_of(item)} {item.candidate}".strip() for item in view.results if item.ratio is None]
    if uncompared_options:
        names = ", ".join(uncompared_options[:_NAMED_MAX]) + (" …" if len(uncompared_options) > _NAMED_MAX else "")
        click.echo(f"{plural(len(uncompared_options), 'comparison')} without two otherwise equal runs: {names}")
    statuses = view.runs_by_status
    status_text = "".join(f", {statuses[status]} {status}" for status in ("invalid", "failed") if status in statuses)
    click.echo(
        f"{plural(sum(statuses.values()), 'run')} read{status_text}. A valid run counts if an otherwise equal run of "
        "another level exists. --json has the number of runs that do not count, by comparison."
    )


def print_published(table: RunTable, names: Sequence[str], baseline: str | None, method: str, as_json: bool) -> None:
    """Print the speedups of a factor by a publication's definition. ``method``: ``aloja`` or ``lisa14``."""
    from assay.questions.comparisons.speedup import published_speedups

    if len(names) > 1:
        raise SpecificationError(f"--method {method} compares one factor", where="assay decide", hint="name one factor")
    speedups = published_speedups(table, names[0], baseline, method)
    if as_json:
        print_json(json_value(speedups.figures))
        return
    print_table(
        ("Workload", names[0].capitalize(), "Value", "Spread", "Runs", "Configurations"),
        [
            (
                f.workload,
                f.level,
                f"{f.value:.3f}",
                NO_VALUE if math.isnan(f.spread) else f"{f.spread:.3f}",
                str(f.runs),
                str(f.configurations),
            )
            for f in speedups.figures
        ],
    )
    click.echo()
    for level, gain in speedups.mean_gains.items():
        click.echo(f"mean gain of {level}: {gain:.2f}")
    measures = "Speedups (higher is better)" if method == "aloja" else "Normalised durations (lower is better)"
    click.echo(
        f"{measures} as {method} defines them, relative to {baseline or 'the average'}. Levels whose runs were "
        "made with different configurations are compared as mixtures: see --method matched."
    )
