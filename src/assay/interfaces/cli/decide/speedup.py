"""``assay speedup``: the decision on a factor, then each level over all matched groups."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from assay.analysis.comparison.result import SpeedupResult
from assay.analysis.comparison.verdict_text import scope_text
from assay.analysis.statistics import RunTable, counts_by
from assay.foundation.errors import SpecificationError
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import (
    all_option,
    json_option,
    print_json,
    print_rows,
    print_table,
    repository_option,
    row_limit,
    where_option,
)
from assay.interfaces.cli.decide.decide import print_decisions
from assay.interfaces.cli.reading import read_flagged
from assay.questions.comparisons.result_sentences import name_of
from assay.questions.decisions.sentences import answer_of
from assay.questions.decisions.values import Decision, DecisionRequest
from assay.questions.json_values import json_value
from assay.questions.trust.flags import Flagged
from assay.store import Repository
from assay.text import NO_VALUE, interval, origin_badge, plural, ratio

_NAMED_MAX = 6
METHODS = ("matched", "aloja", "lisa14")


@click.command(cls=AssayCommand)
@click.option(
    "--by", "factors", required=True, help="Factor to compare; several, joined by commas, are compared as one."
)
@click.option("--baseline", help="Option to compare with. Default: hard disks, or the level of the first run.")
@click.option(
    "--group",
    default="workload",
    show_default=True,
    help="Estimate for each level of this factor; 'none' for one estimate.",
)
@click.option(
    "--ignore", multiple=True, metavar="FACTOR", help="Let this factor differ within matched groups; repeatable."
)
@click.option("--deployments", is_flag=True, help="Match within campaigns only; a campaign is the unit of resampling.")
@click.option(
    "--method",
    type=click.Choice(METHODS),
    default="matched",
    show_default=True,
    help="matched: runs that are equal in everything else. aloja, lisa14: as these publications define it.",
)
@click.option(
    "--dataset",
    metavar="DIR|hdfs://…",
    help="Read a dataset of `assay export --dataset` instead of the repository, with --on.",
)
@click.option(
    "--on",
    metavar="SPARK",
    help="With --dataset: the Spark master that selects its runs: local, yarn, spark://HOST:PORT.",
)
@all_option
@where_option
@json_option
@repository_option
def speedup(
    factors: str,
    group: str,
    method: str,
    dataset: str | None,
    on: str | None,
    every: bool,
    where: tuple[str, ...],
    as_json: bool,
    repository: Path,
    **fields: Any,
) -> None:
    """Compare a factor's levels: the decision first, then each level over all matched groups."""
    opened: Repository | None = None
    flagged: Flagged | None = None
    if dataset is None and on is None:
        opened, flagged, table = read_flagged(repository, where)
    else:
        table = _dataset_table(dataset, on, where)
    from assay.analysis.comparison.factors.derived_factors import with_factors
    from assay.questions.comparisons.speedup import SpeedupRequest, speedup_view, speedups_over
    from assay.questions.comparisons.speedup_tables import tables_of
    from assay.questions.decisions.ask import decisions_of

    names = tuple(name.strip() for name in factors.split(","))
    request = SpeedupRequest(names, group=None if group == "none" else group, **fields)
    table = with_factors(table, names)
    if method != "matched":
        _published(table, names, request.baseline, method, as_json)
        return

    view = speedup_view(opened, table, request) if opened else speedups_over(table, request)
    decisions: tuple[Decision, ...] = ()
    if opened and flagged:
        asked = DecisionRequest(",".join(names), request.baseline, where, request.ignore)
        decisions = decisions_of(opened, flagged.table, asked)
    if as_json:
        print_json(json_value(replace(view, decisions=tuple(answer_of(decision) for decision in decisions))))
        return
    for name in dict.fromkeys(name for item in view.results for name in item.confounded):
        click.echo(f"Confounded by {name}: it differs between the two sides, so nothing is concluded.")
    limit = row_limit(every)
    if decisions:
        print_decisions(decisions, rows=limit)
        click.echo("\nDetails: each option with its own matched groups")
    rows = [_cells(item) for item in view.results if item.ratio is not None]
    title = group.capitalize() if request.group else "Over"
    print_rows(
        (title, "Compared", "Speedup", "95 % interval", "Verdict", "Scope", "Groups", "Runs", "Origin"),
        rows,
        limit=limit,
    )
    _print_counts(view.results, table)
    for detail in tables_of(view):
        click.echo(f"\n{detail.title}\n{detail.note}")
        print_rows([header.lstrip("#") for header in detail.headers], detail.rows, limit=limit)
    for warning in view.warnings:
        click.echo(f"warning: {warning}")


def _dataset_table(dataset: str | None, on: str | None, where: Sequence[str]) -> RunTable:
    from assay.questions.runs.dataset import dataset_table

    if dataset is None or on is None:
        raise SpecificationError(
            "--dataset and --on need each other: Spark selects the runs of a dataset", where="assay speedup"
        )
    return dataset_table(dataset, on, where, lambda line: click.echo(line, err=True))


def _cells(item: SpeedupResult) -> tuple[str, ...]:
    return (
        name_of(item) if item.combined else item.group,
        f"{item.baseline} → {item.candidate}",
        ratio(item.ratio),
        interval(item.low, item.high),
        item.verdict.value,
        scope_text(item.scope) if item.low is not None else NO_VALUE,
        str(item.groups),
        f"{item.runs_baseline}, {item.runs_candidate}",
        origin_badge(item.origin, item.lab_scale),
    )


def _print_counts(results: Sequence[SpeedupResult], table: RunTable) -> None:
    alone = [f"{name_of(item)} {item.candidate}".strip() for item in results if item.ratio is None]
    if alone:
        names = ", ".join(alone[:_NAMED_MAX]) + (" …" if len(alone) > _NAMED_MAX else "")
        click.echo(f"{plural(len(alone), 'comparison')} without two otherwise equal runs: {names}")
    statuses = counts_by(table, "status")
    not_valid = "".join(f", {statuses[status]} {status}" for status in ("invalid", "failed") if status in statuses)
    click.echo(
        f"{plural(len(table), 'run')} read{not_valid}. A valid run counts where an otherwise equal run of another "
        "level exists; --json counts for each comparison those that do not."
    )


def _published(table: RunTable, names: Sequence[str], baseline: str | None, method: str, as_json: bool) -> None:
    from assay.analysis.comparison.claims.published import mean_improvement
    from assay.questions.comparisons.speedup import published_figures

    if len(names) > 1:
        raise SpecificationError(f"--method {method} compares one factor", where="--by")
    figures = published_figures(table, names[0], baseline, method)
    if as_json:
        print_json(json_value(figures))
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
            for f in figures
        ],
    )
    click.echo()
    if method == "lisa14":
        for level, gain in mean_improvement(figures).items():
            click.echo(f"mean gain of {level}: {gain:.2f}")
    unit = "speedups: higher is better" if method == "aloja" else "normalised durations: lower is better"
    click.echo(
        f"As {method} defines it, {unit}, normalised to {baseline or 'the average'}. Levels whose runs were "
        "made with different configurations are compared as mixtures: see --method matched."
    )
