"""``assay recommend``: search by simulation for the best cluster for a mix of workloads."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.foundation.units import format_percent
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import (
    F,
    RenamedOption,
    all_option,
    extra_costs_option,
    json_option,
    option_words,
    print_json,
    print_rows,
    profile_option,
    request_of,
    row_limit,
    say,
)
from assay.interfaces.cli.terminal import stage_progress
from assay.questions.commands import CommandOptions, command, from_here
from assay.questions.recommendation.request import (
    CONFIDENCE,
    CONFIDENCE_MAX,
    CONFIDENCE_MIN,
    SEED,
    SIMULATIONS,
    WORKLOADS,
    YEARS,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.questions.recommendation.clusters.choice import Choice
    from assay.questions.recommendation.recommend import Recommendation
    from assay.questions.recommendation.sensitivity import AnswerChange
    from assay.questions.recommendation.size import Shape


def search_options(command: F) -> F:
    """Add the limits of a search, ``--simulations``, ``--seed`` and ``--jobs``, and ``--extra-costs``."""
    for option in (
        click.option(
            "--jobs",
            type=click.IntRange(1, 1024),
            help="Simulators that run in parallel. Default: the number of cores.",
        ),
        click.option(
            "--seed", type=click.IntRange(0), default=SEED, show_default=True, help="Random seed of the draws."
        ),
        extra_costs_option,
        click.option(
            "--simulations",
            type=click.IntRange(1, 100_000),
            default=SIMULATIONS,
            show_default=True,
            help="Maximum number of clusters to simulate.",
        ),
    ):
        command = option(command)
    return command


@click.command(cls=AssayCommand)
@click.option(
    "--workload",
    "workloads",
    multiple=True,
    default=WORKLOADS,
    show_default=True,
    metavar="NAME:SIZE[:HOW OFTEN[:OPTIONS]]",
    help="Workload of the cluster: terasort:1TB:daily, wordcount:200GB:4/day, dfsio-read:1TB:weekly:files=512; "
    "repeatable.",
)
@click.option(
    "--catalogue", required=True, type=click.Path(path_type=Path), help="Hardware catalogue (YAML) to choose from."
)
@click.option("--prices", required=True, type=click.Path(path_type=Path), help="Price book (YAML).")
@click.option(
    "--budget",
    default="",
    metavar="MONEY",
    help="Maximum spending over the years: 100k (in the price book's currency), '$100,000', 100000USD; per hour: "
    "'$20/h'.",
)
@click.option("--deadline", default="", metavar="TIME", help="Maximum time of each run: 2h, 90min.")
@click.option("--capacity", default="", metavar="SIZE", help="Data in HDFS before replication: 200TB.")
@click.option("--years", type=click.FloatRange(0.1, 100), default=YEARS, show_default=True, help="Years of use.")
@click.option(
    "--minimize",
    "--least",
    "minimize",
    cls=RenamedOption,
    type=click.Choice(["price", "job", "time"]),
    help="Objective: the price over the years (price), the cost of the hours of a day's work (job), or its time "
    "(time). Default: job if all hardware is rented and there is no deadline, else price.",
)
@click.option(
    "--confidence",
    "--surely",
    "confidence",
    cls=RenamedOption,
    type=click.FloatRange(CONFIDENCE_MIN, CONFIDENCE_MAX),
    default=CONFIDENCE,
    show_default=True,
    help="Minimum share of draws in which every constraint is kept.",
)
@search_options
@profile_option()
@click.option(
    "--repository",
    "--learn-from",
    "learn_from",
    cls=RenamedOption,
    type=click.Path(path_type=Path, file_okay=False),
    help="Learn the profile from the measured runs of this repository that match --where, and predict times from its "
    "runs on instance types.",
)
@click.option(
    "--where", multiple=True, metavar="COLUMN=LEVEL", help="With --repository: only runs with this level; repeatable."
)
@click.option(
    "--plan",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="With --repository: write the plan of the run that makes a rough estimate a forecast, and its cluster file, "
    "for `assay run`.",
)
@all_option
@click.option("--details", is_flag=True, help="Print every assumption.")
@json_option
@click.pass_context
def recommend(
    context: click.Context,
    /,
    catalogue: Path,
    prices: Path,
    jobs: int | None,
    all_rows: bool,
    details: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Find the cluster that fits a mix of workloads: search a hardware catalogue by simulation.

    assay rules out most clusters by bounds on their time and price. It simulates the clusters that may be on the Pareto
    front of price and time. Times are simulated, with 90 % intervals. If a worker gets more than 8 times as much data
    as in the learned runs, times have ranges without a stated probability. With --repository, times are predicted from
    measured runs on instance types if the repository has such runs; the assumptions name the model.
    """
    from assay.estimation.simulator.pool import SimulatorPool
    from assay.execution.planning.plan_files.hardware_file import load_catalogue
    from assay.questions.forecasts.learning import ProfileRequest
    from assay.questions.json_values import json_value
    from assay.questions.recommendation.measured_types import sources_from
    from assay.questions.recommendation.next_run import next_commands
    from assay.questions.recommendation.recommend import recommend as answer_to
    from assay.questions.recommendation.request import Objective, RecommendRequest
    from assay.specs.prices import load_prices

    minimize = Objective(options["minimize"]) if options["minimize"] else None
    request = request_of(RecommendRequest, options, minimize=minimize, learn=options["learn_from"] is not None)
    hardware, book = load_catalogue(catalogue), load_prices(prices)
    if warning := book.age_warning(datetime.now(UTC).date()):
        say(warning)
    sources = sources_from(request_of(ProfileRequest, options))
    with SimulatorPool(jobs) as pool, stage_progress() as progress:
        answer = answer_to(request, hardware, book, sources, pool, progress)
    if options["plan"] is not None:
        _write_plan(answer, options["learn_from"], options["plan"])
        return
    if as_json:
        print_json(json_value(answer))
        return
    words = option_words(context, [name for name in context.params if name not in _NOT_REPEATED])
    repository = from_here(options["learn_from"]) if options["learn_from"] else ""
    _show(answer, row_limit(all_rows), next_commands(answer, words, CommandOptions(repository)), details=details)


_NOT_REPEATED = ("learn_from", "plan", "as_json", "details", "all_rows", "jobs")
"""Parameters that the command of a next step does not repeat, or that it gets from :class:`CommandOptions`."""


def _write_plan(answer: Recommendation, learn_from: Path | None, file: Path) -> None:
    """Write the plan of the run that makes the estimate a forecast, and a cluster file next to it."""
    from assay.foundation.output import write_output
    from assay.questions.recommendation.next_run import plan_of_next_run
    from assay.store import Repository

    if learn_from is None:
        raise click.UsageError("--plan needs --repository, whose newest plan describes the cluster.")
    cluster = file.with_name(f"{file.stem}-cluster.yaml")
    plan = plan_of_next_run(Repository.open(learn_from), answer, cluster.name)
    write_output(cluster, plan.cluster_source.encode())
    write_output(file, plan.source.encode())
    run = command("run", str(file), "--dry-run", options=CommandOptions(from_here(learn_from)))
    click.echo(f"wrote {file}: {plan.repetitions} runs; next: {run}")


def _show_assumptions(answer: Recommendation, *, details: bool) -> None:
    """Print the first assumptions, or all of them."""
    from assay.questions.forecasts.learning import ProfileOrigin
    from assay.questions.recommendation.sentences import sentences
    from assay.text import plural

    lines = list(sentences(answer))
    shown_lines = lines if details else lines[:_ASSUMPTIONS_SHOWN]
    click.echo("Assumptions")
    for line in shown_lines:
        click.echo(f"- {line}")
    if answer.profile_origin is ProfileOrigin.SHIPPED and not answer.time_model:
        click.echo("- --repository DIR learns the times from your runs")
    if len(lines) > len(shown_lines):
        click.echo(f"- … {plural(len(lines) - len(shown_lines), 'more assumption')} (--details)")


def _show(answer: Recommendation, limit: int | None, commands: Sequence[str], *, details: bool) -> None:
    from assay.questions.recommendation.sentences import (
        RISK_HEADER,
        RISK_TEXT,
        clusters_table,
        extrapolation_text,
        front_cells,
        front_title,
        headline,
        interval_title,
        lead,
        summary,
    )

    click.secho(summary(answer), bold=True)
    for line in lead(answer):
        click.echo(f"- {line}")
        if line == extrapolation_text(answer):
            for next_command in commands:
                click.echo(f"  next: {next_command}")
    if answer.chosen is not None:
        clusters = clusters_table(answer)
        print_rows(clusters.headers, clusters.rows, limit=None, title=clusters.title)
        for line in headline(answer):
            click.echo(f"- {line}")
    click.echo()
    _show_assumptions(answer, details=details)
    click.echo()
    if answer.front:
        rows = [_row(choice, answer) for choice in answer.front]
        columns = (*_HEADERS, interval_title(answer), *_MORE_HEADERS, *front_cells(answer.front[0], answer))
        print_rows(columns, rows, limit=limit, title=front_title(answer))
        click.echo()
    print_cost_lines(answer.chosen, answer.currency)
    print_changes(answer.changes, limit)
    main_sources = [source for source in answer.uncertainties if source.share >= 0.005]
    if main_sources:
        source_rows = [(source.what, format_percent(source.share), source.measurement) for source in main_sources]
        risk_headers = ("Quantity", RISK_HEADER, "Measure it by")
        print_rows(risk_headers, source_rows, limit=limit, title=f"What would reduce uncertainty ({RISK_TEXT})")
        click.echo()
    stages = [(s.name, f"{s.left:,}", s.text) for s in answer.stages]
    print_rows(("Stage", "Clusters left", ""), stages, limit=None, title="Search")


def print_changes(changes: Sequence[AnswerChange], limit: int | None) -> None:
    """Print which changes of a quantity change the answer. ``limit``: maximum number of rows; None for all."""
    if changes:
        rows = [(change.what, change.now, change.at or "no", change.then) for change in changes]
        headers = ("Quantity", "Now", "Changes the answer at", "Then")
        print_rows(headers, rows, limit=limit, title="What would change the answer")
        click.echo()


def print_cost_lines(cluster: Choice | Shape | None, currency: str) -> None:
    """Print the lines of the cost of a cluster with extra costs."""
    from assay.questions.costs.extra_costs import line_rows

    if cluster is not None and cluster.cost_lines:
        rows = line_rows(cluster.cost_lines, currency)
        print_rows(("Cost of a day", "Per day"), rows, limit=None, title=cluster.label)
        click.echo()


_ASSUMPTIONS_SHOWN = 3
"""Number of assumptions that are printed without ``--details``."""
_HEADERS = ("Cluster", "Price", "A day's work (s)")
_MORE_HEADERS = ("Cost in use", "Limited by")


def _row(choice: Choice, answer: Recommendation) -> tuple[str, ...]:
    from assay.analysis.run_profile.tables.limits_tables import limit_title
    from assay.questions.recommendation.sentences import day_cost_text, front_cells
    from assay.text import money, seconds_texts

    mark = " ◀" if answer.chosen is not None and choice.label == answer.chosen.label else ""
    return (
        choice.label + mark,
        money(choice.bill, answer.currency),
        *seconds_texts(choice.day_s, choice.day_low_s, choice.day_high_s, rough=answer.extrapolated),
        day_cost_text(choice, answer),
        ", ".join(dict.fromkeys(limit_title(work.limit) for work in choice.times)),
        *front_cells(choice, answer).values(),
    )
