"""``assay next``: choose the runs that reduce uncertainty most, or count the runs that a cluster needs."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.foundation.errors import SpecificationError
from assay.foundation.units import format_duration, format_percent
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import (
    all_option,
    given_options,
    json_option,
    print_json,
    print_rows,
    repository_option,
    row_limit,
    where_option,
)
from assay.questions.commands import CommandOptions, command, from_here
from assay.questions.json_values import json_value
from assay.text import NO_VALUE, column_title, interval_s, level_text, plural, seconds

if TYPE_CHECKING:
    from assay.questions.forecasts.next_runs import NextRunsAnswer
    from assay.store import Repository


@click.command("next", cls=AssayCommand)
@click.argument("cluster", required=False)
@click.option("--budget", metavar="N runs|DURATION", help="Number of runs (20runs) or duration (2h).")
@click.option(
    "--precision",
    type=click.FloatRange(1, 90),
    metavar="PERCENT",
    help="Instead of --budget: count the runs on CLUSTER that are enough to predict its other runs with this median "
    "error.",
)
@where_option
@all_option
@click.option(
    "--about",
    default="surface",
    show_default=True,
    metavar="surface|FACTOR",
    help="Reduce the uncertainty of the time of every configuration (surface), or of the differences between the "
    "levels of FACTOR.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Plan file to write, for `assay run`."
)
@click.option(
    "--like",
    type=click.Path(path_type=Path),
    metavar="PLAN",
    help="With -o: plan with the cluster, data, options and parameters to use. Default: that of the newest campaign.",
)
@json_option
@repository_option
@click.pass_context
def next_command(
    context: click.Context,
    /,
    precision: float | None,
    all_rows: bool,
    output: Path | None,
    like: Path | None,
    as_json: bool,
    repository: Path,
    **fields: Any,
) -> None:
    """Choose the configurations to run next, those that reduce uncertainty most first.

    CLUSTER limits the choice to configurations of this cluster. With --precision, assay counts how many runs on CLUSTER
    are enough to predict its other runs. It chooses these runs with a model of the other clusters, and computes the
    error from the times measured on CLUSTER.
    """
    if (fields["budget"] is None) == (precision is None):
        raise click.UsageError("Give either --budget, such as 20runs or 2h, or --precision with CLUSTER.")
    if precision is not None:
        cluster = fields["cluster"]
        if cluster is None:
            raise click.UsageError("--precision needs the name of a cluster: assay next CLUSTER --precision 10")
        for option in given_options(context, ("about", "output", "like")):
            raise click.UsageError(f"{option} cannot be combined with --precision.")
        _print_enough_runs(repository, cluster, precision / 100, fields["where"], row_limit(all_rows), as_json=as_json)
        return
    from assay.questions.forecasts.next_runs import NextRunsRequest, budget_of, next_runs
    from assay.store import Repository

    if like is not None and output is None:
        raise SpecificationError("--like needs -o", hint="name the plan file to write: -o plan.yaml")
    opened_repository = Repository.open(repository)
    fields["budget"] = budget_of(fields["budget"])
    answer = next_runs(opened_repository, NextRunsRequest(**fields))
    if output is not None:
        _write(opened_repository, [{**answer.same, **run.configuration} for run in answer.runs], output, like)
    if as_json:
        print_json(json_value(answer))
    else:
        _show(answer, row_limit(all_rows))


def _show(answer: NextRunsAnswer, limit: int | None) -> None:
    from assay.questions.forecasts.next_runs import WIDTH_MAX, next_runs_sentence

    click.echo(f"{next_runs_sentence(answer)}\n")
    names = list(answer.runs[0].configuration) if answer.runs else []
    cells = [
        (
            str(number),
            *(level_text(name, run.configuration[name]) for name in names),
            NO_VALUE if run.expected_s is None else seconds(run.expected_s),
            interval_s(run.low_s, run.high_s),
            format_percent(run.uncertainty_after, 1),
        )
        for number, run in enumerate(answer.runs, start=1)
    ]
    headers = ("", *map(column_title, names), "Predicted (s)", "90 % interval", "Uncertainty left")
    print_rows(headers, cells, limit=limit)
    click.echo(
        f"Chosen from {answer.candidates:,} configurations without a run; {answer.measured:,} others have runs. "
        f"Uncertainty: standard deviation of the model's answer ({answer.about})."
    )
    if range_s := answer.duration_range_s:
        click.echo(
            f"Run time of {plural(len(answer.runs) - answer.unpredicted, 'run')}: about "
            f"{format_duration(answer.duration_s)} "
            f"(between {format_duration(range_s[0])} and {format_duration(range_s[1])})."
        )
    if answer.unpredicted:
        click.echo(
            f"Not predicted, because the 90 % interval is unknown or wider than a factor of {WIDTH_MAX:g}: "
            f"{plural(answer.unpredicted, 'run')}."
        )
    if answer.decision is not None:
        click.echo(f"Measured so far: {answer.decision.headline} {answer.decision.evidence}")
        for sentence in answer.decision.next:
            click.echo(f"To settle this decision: {sentence}")
    if answer.same:
        shared_settings = ", ".join(
            f"{column_title(name)} {level_text(name, level)}" for name, level in answer.same.items()
        )
        click.echo(f"The same in all: {shared_settings}.")
    for notice in answer.notices:
        click.echo(f"note: {notice}")


def _write(repository: Repository, configurations: list[dict[str, str]], output: Path, like: Path | None) -> None:
    """Write a plan for the configurations, and a cluster file unless ``like`` has one; print what was left out."""
    from assay.execution.planning.plan_files.plan_reader import load_plan
    from assay.foundation.output import write_output
    from assay.questions.forecasts.next_plan import next_plan
    from assay.questions.runs.plans import newest_plan

    clusters = {configuration.get("cluster") for configuration in configurations}
    base = load_plan(like) if like else newest_plan(repository, clusters.pop() if len(clusters) == 1 else None)
    if like:
        cluster = Path(os.path.relpath(like.parent / base.cluster_file, output.parent))
    else:
        cluster = Path(f"{output.stem}-cluster.yaml")
    plan = next_plan(configurations, replace(base, cluster_file=str(cluster)))
    if not like:
        write_output(output.parent / cluster, base.cluster_source.encode())
    write_output(output, plan.plan.source.encode())
    for message in plan.notices:
        click.echo(f"note: {message}", err=True)
    for reason, count in plan.left_out.items():
        click.echo(f"left out, {count}: {reason}", err=True)
    click.echo(
        f"wrote {output}: {plural(plan.runs, 'run')}, as in the plan {base.name}; next: "
        f"{command('run', str(output), '--dry-run', options=CommandOptions(from_here(repository.root)))}",
        err=True,
    )


def _print_enough_runs(
    repository: Path, cluster: str, precision: float, where: tuple[str, ...], limit: int | None, *, as_json: bool
) -> None:
    """Print the number of runs on ``cluster`` that reach ``precision`` (0.1 for 10 % median error), and these runs."""
    from assay.questions.forecasts.next_runs import characterise as characterised
    from assay.questions.forecasts.next_runs import enough_runs_sentence
    from assay.store import Repository

    answer = characterised(Repository.open(repository), cluster, precision, where)
    if as_json:
        print_json(json_value(answer))
        return
    click.echo(f"{enough_runs_sentence(answer)}\n")
    print_rows(
        ("Runs on the cluster", "Median error", "Mean error"),
        [(str(step.runs), format_percent(step.error, 1), format_percent(step.error_mean, 1)) for step in answer.steps],
        limit=limit,
    )
    click.echo("\nThe runs, chosen without knowing their times:")
    names = [name for name in (answer.order[0] if answer.order else {}) if name != "cluster"]
    names = [name for name in names if len({configuration[name] for configuration in answer.order}) > 1]
    cells = [
        (str(number), *(level_text(name, configuration[name]) for name in names))
        for number, configuration in enumerate(answer.order, start=1)
    ]
    print_rows(("", *map(column_title, names)), cells, limit=limit)
    for notice in answer.notices:
        click.echo(f"note: {notice}")
