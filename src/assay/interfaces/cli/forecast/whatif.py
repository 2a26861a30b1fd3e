"""``assay whatif``: simulate measured runs after changes to cluster, data or settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import (
    all_option,
    extra_costs_option,
    json_option,
    option_words,
    print_json,
    print_rows,
    profile_option,
    repository_option,
    request_of,
    row_limit,
    where_option,
)
from assay.questions.commands import NO_OPTIONS, CommandOptions, from_here, recommend_example

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.model import PriceBook
    from assay.questions.forecasts.whatif.whatif_answer import WhatIfAnswer


@click.command(cls=AssayCommand)
@click.argument("target", required=False, default="")
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="NAME=VALUE",
    help="Change to simulate: layout=SS2, workers.count=12, nic=25Gbit/s, worker.devices.ssd.count=2, containers=16, "
    "worker.type=i4i.2xlarge, data=10TB, any engine parameter; repeatable. Sizes and rates are at full scale: a lab "
    "multiplies them by its scale. Default: no change.",
)
@where_option
@all_option
@click.option("--prices", type=click.Path(path_type=Path), help="Price book (YAML): adds the cost of a run.")
@click.option(
    "--price",
    "stated",
    multiple=True,
    metavar="NAME=AMOUNT",
    help="With --prices: change the price of an item, or add a price that the answer names as missing: worker=6000, "
    "'network per node=400'; repeatable.",
)
@extra_costs_option
@profile_option("learned from all measured runs of the repository")
@click.option(
    "--learn-from",
    type=click.Path(path_type=Path, file_okay=False),
    help="Learn the profile from the measured runs of this repository that match --where.",
)
@click.option(
    "--cluster",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Cluster file of the measured runs, if neither the repository nor the bundles have it.",
)
@json_option
@repository_option
@click.pass_context
def whatif(
    context: click.Context,
    /,
    all_rows: bool,
    prices: Path | None,
    cluster: Path | None,
    as_json: bool,
    repository: Path,
    **options: Any,
) -> None:
    """Simulate measured runs on a changed cluster.

    TARGET is the beginning of a run id or campaign id, or the name of a plan. It selects the configurations with these
    runs. Default: all measured configurations. With several changes, the answer also has the effect of each alone.
    assay first simulates each configuration as measured, and corrects the prediction by the error of that simulation.
    Each time has a 90 % interval. The assumptions are below the table.
    """
    from assay.execution.planning.plan_files.changed_plan import parse_question
    from assay.questions.forecasts.learning import ProfileRequest, profile_from
    from assay.questions.forecasts.whatif.whatif import WhatIfQuestion, what_if
    from assay.questions.forecasts.whatif.whatif_costs import parse_prices, stated_prices
    from assay.questions.json_values import json_value
    from assay.specs.document import read_document
    from assay.specs.prices import load_prices
    from assay.store import Repository

    cluster_source = read_document(cluster).text if cluster else ""
    question = request_of(
        WhatIfQuestion,
        options,
        changes=parse_question(options["changes"]),
        cluster=cluster_source,
        commands=CommandOptions(from_here(repository), str(prices or ""), str(cluster or ""), tuple(options["where"])),
    )
    for option, value in (("--price", options["stated"]), ("--extra-costs", options["extra_costs"])):
        if value and not prices:
            raise click.UsageError(f"{option} needs --prices.")
    stated_amounts = parse_prices(options["stated"])
    book = stated_prices(load_prices(prices), stated_amounts, options["extra_costs"]) if prices else None
    source = request_of(ProfileRequest, options)
    profile = None if source.is_shipped else profile_from(source)
    answer = what_if(Repository.open(repository), question, book, profile)
    if as_json:
        print_json(json_value(answer))
        return
    words = option_words(context, ("stated", "extra_costs", "profile", "learn_from"))
    _show(
        answer,
        book.book if book else None,
        row_limit(all_rows),
        question.commands,
        [*([question.target] if question.target else []), *words],
    )


def _show_effects(answer: WhatIfAnswer) -> None:
    """Print the speedup of each change alone and of all changes together; nothing for one change."""
    from assay.questions.forecasts.whatif.whatif_sentences import effect_notes, effects_table

    if effects := effects_table(answer.effects):
        print_rows(effects.headers, effects.rows, limit=None, title=effects.title)
    for note in effect_notes(answer.effects):
        click.echo(f"- {note}")


def _show_notes(answer: WhatIfAnswer, book: PriceBook | None, options: CommandOptions, words: Sequence[str]) -> None:
    """Print what explains the first sentence, each with the command of its next step."""
    from assay.questions.forecasts.whatif.example_prices import example_prices_sentence
    from assay.questions.forecasts.whatif.whatif_commands import next_change_command, prices_command

    money_notes = [answer.money] if answer.money else []
    if book is not None:
        missing_parts = {part.name: part for row in answer.configurations for part in row.missing_prices}
        parts_without_price = [part for part in missing_parts.values() if part.price is None]
        money_notes += filter(None, [example_prices_sentence(parts_without_price, book)])
    steps = (
        ([answer.tasks] if answer.tasks else [], next_change_command(answer, options, words)),
        (money_notes, prices_command(answer, options, words) if answer.money else ""),
    )
    for notes, command in steps:
        for note in notes:
            click.echo(f"- {note}")
        if command:
            click.echo(f"  next: {command}")


def _show(
    answer: WhatIfAnswer, book: PriceBook | None, limit: int | None, options: CommandOptions, words: Sequence[str]
) -> None:
    from assay.analysis.run_profile.tables.limits_tables import limit_title
    from assay.questions.forecasts.whatif.whatif_sentences import cost_lines_table
    from assay.questions.runs.workload_limits import limit_text
    from assay.text import NO_VALUE, data_text, interval_s, money, plural, seconds, workload_title

    click.secho(answer.sentence, bold=True)
    for note in answer.notes:
        click.echo(f"- {note}")
    _show_notes(answer, book, options, words)
    if answer.caveat:
        click.echo(f"- {answer.caveat} Or estimate times without runs.")
        if example := recommend_example(NO_OPTIONS):
            click.echo(f"  next: {example}")
    _show_effects(answer)
    answers = answer.configurations
    has_costs = any(cost is not None for row in answers for cost in (row.cost_before, row.cost_after))
    headers = ["Workload", "Data", "Measured on", "Runs", "Measured (s)", "Simulated (s)", "90 % of runs (s)"]
    headers += ["Speedup", "Limit (measured)", "Limit (simulated)"]
    headers += ["Cost before", "Cost after", "Cost ratio"] if has_costs else []
    rows = []
    for row in answers:
        cells = [
            workload_title(row.workload),
            data_text(row.data_bytes * (row.lab_scale or 1.0), row.lab_scale),
            row.configuration,
            str(row.n_measured),
            seconds(row.measured_s),
            seconds(row.simulated_s),
            interval_s(row.low_s, row.high_s),
            f"{row.ratio:.2f} ({row.ratio_low:.2f} to {row.ratio_high:.2f})",
            limit_text(row.measured_limit),
            limit_title(row.limit_after),
        ]
        if has_costs:
            cost = row.cost
            cells += [money(row.cost_before, row.currency), money(row.cost_after, row.currency)]
            cells += [NO_VALUE if cost is None else f"{cost.ratio:.2f} ({cost.low:.2f} to {cost.high:.2f})"]
        rows.append(cells)
    print_rows(headers, rows, limit=limit, title="Simulated, and corrected by the error on the measured runs")
    if lines := cost_lines_table(answers):
        print_rows(lines.headers, lines.rows, limit=limit, title=lines.title)
    for refusal in answer.refused:
        remedy = f" ({refusal.remedy})" if refusal.remedy else ""
        subject_text = f"{workload_title(refusal.workload)} on {refusal.configuration}"
        click.echo(f"- not possible for {subject_text}: {refusal.reason}{remedy}")
    if answer.runs_without_plan:
        click.echo(f"- {plural(answer.runs_without_plan, 'measured run')} omitted: no plan or cluster file is stored")
    # The answer names missing prices.
    rows_without_cost = [row for row in answers if row.cost_unknown and not row.missing_prices]
    for reason, has_no_cost in dict.fromkeys((row.cost_unknown, row.cost_after is None) for row in rows_without_cost):
        click.echo(f"- {'no cost' if has_no_cost else 'no cost as measured'}: {reason}")
    for assumption in dict.fromkeys(text for row in answers for text in row.assumptions):
        names = [
            f"{workload_title(row.workload)} on {row.configuration}" for row in answers if assumption in row.assumptions
        ]
        names_text = "" if len(names) == len(answers) else f"{', '.join(dict.fromkeys(names))}: "
        click.echo(f"- {names_text}{assumption}")
