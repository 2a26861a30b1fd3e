"""``assay decide``: print which option is faster and what it costs, in brief or with details."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import click

from assay.analysis.statistics import RunTable
from assay.foundation.errors import SpecificationError
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import (
    all_option,
    given_options,
    json_option,
    print_json,
    repository_option,
    request_of,
    row_limit,
    say,
    where_option,
)
from assay.interfaces.cli.decide.decision_text import print_brief, print_decisions, print_over_years
from assay.interfaces.cli.repository_runs import read_flagged
from assay.model import PriceBook
from assay.questions.commands import CommandOptions, command, from_here
from assay.questions.decisions.buyer import factor_of_details, question_named
from assay.questions.decisions.decision import Decision, DecisionRequest
from assay.questions.decisions.sentences.decision_sentences import answer_of
from assay.questions.decisions.sentences.question_sentences import (
    QuestionView,
    definition_sentence,
    lab_sentence,
    not_varied_text,
    view_of,
)
from assay.questions.json_values import json_value
from assay.questions.runs.runs import selected
from assay.questions.runs.workload_limits import LIMITS, WorkloadLimits, workload_limits
from assay.questions.trust.flags import FlaggedTable
from assay.store import Repository
from assay.text import plural

METHODS = ("matched", "aloja", "lisa14")


class Details(Enum):
    """Details to print after the decision."""

    NONE = "none"
    FULL = "full"
    """The table, the amounts and every caveat of each decision."""
    OPTIONS = "options"
    """Each option with its own matched groups."""
    GROUPS = "groups"
    """Each matched group."""


@click.command("decide", cls=AssayCommand)
@click.argument("question", metavar="[QUESTION]", required=False)
@click.option(
    "--baseline",
    help="Option to compare with. Default: hard disks, Ethernet or the smallest number; else the option with the most "
    "runs.",
)
@click.option("--prices", type=click.Path(path_type=Path, dir_okay=False), help="Price book (YAML): adds costs.")
@click.option(
    "--years",
    type=click.FloatRange(min=0, min_open=True, max=100),
    help="With --prices: years of use that costs cover. `cheapest` then answers with the costs over these years.",
)
@click.option(
    "--ignore", multiple=True, metavar="FACTOR", help="Also compare runs that differ in this factor; repeatable."
)
@click.option(
    "--details",
    type=click.Choice([level.value for level in Details]),
    is_flag=False,
    flag_value=Details.FULL.value,
    help="full, also without a value: the table, costs and every caveat. options: also each option with its own "
    "matched groups. groups: also each matched group.",
)
@click.option(
    "--group",
    default="workload",
    show_default=True,
    help="With --details options: a row for each level of this factor; 'none' for one row over all runs.",
)
@click.option("--deployments", is_flag=True, help="With --details options: compare only runs of the same campaign.")
@click.option(
    "--method",
    type=click.Choice(METHODS),
    default="matched",
    show_default=True,
    help="matched: runs that are equal in everything else. aloja, lisa14: as these publications define a speedup.",
)
@click.option(
    "--dataset",
    metavar="DIR|hdfs://…",
    help="Read a dataset of `assay export --dataset` instead of the repository, with --on.",
)
@click.option("--on", metavar="SPARK", help="Spark master that reads the dataset: local, yarn, spark://HOST:PORT.")
@click.option(
    "--plan",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="If QUESTION has no answer: write the plan that measures it, and its cluster file, for `assay run`.",
)
@click.option("--by", "factor", hidden=True)
@click.option("--workload", hidden=True)
@all_option
@where_option
@json_option
@repository_option
@click.pass_context
def decide(
    context: click.Context,
    /,
    question: str | None,
    where: tuple[str, ...],
    prices: Path | None,
    repository: Path,
    all_rows: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Decide which option is faster, how much, and what it costs.

    Without QUESTION, answer the six questions of a buyer (storage, network, disks, nodes, containers, cheapest) and
    show what limits the runs (limits). QUESTION is one of these seven names, or any factor of the runs. Several
    factors, joined by commas, are compared as combinations.

    A speedup is baseline time / option time: above 1, the option is faster.
    """
    detail_options = given_options(context, ("group", "deployments", "method", "dataset", "on"))
    default = Details.OPTIONS if detail_options else Details.FULL if all_rows else Details.NONE
    details = Details(options["details"]) if options["details"] else default
    if details is not Details.OPTIONS and detail_options:
        raise click.UsageError(f"{detail_options[0]} applies to --details options.")
    if details is Details.GROUPS and options["ignore"]:
        raise click.UsageError("--ignore and --details groups exclude each other.")
    workload = options["workload"]
    if options["factor"]:  # old syntax: --by FACTOR, with a workload as the argument
        question, workload = options["factor"], workload or question
    if workload:
        where = (*where, f"workload={workload}")
    if question is None and (options["details"] or detail_options or options["baseline"] or options["ignore"]):
        question = "storage"
    if options["years"] is not None and prices is None:
        raise click.UsageError("--years needs --prices.")
    request = request_of(DecisionRequest, options, factor=question or "", where=where, prices=_book(prices))
    commands = CommandOptions(from_here(repository), str(prices or ""), where=where, years=options["years"])
    output = _Output(row_limit(all_rows), as_json, details is not Details.NONE, commands)
    if options["dataset"] is not None or options["on"] is not None:
        table = _dataset_table(options["dataset"], options["on"], where)
        _show_options(None, None, table, request, options, output)
        return
    opened_repository, flagged, table = read_flagged(repository, where)
    if options["plan"] is not None:
        _write_plan(opened_repository, flagged, request, options["plan"], commands)
    elif question is None:
        _show_questions(opened_repository, flagged, request, output)
    elif details is Details.OPTIONS:
        _show_options(opened_repository, flagged, table, request, options, output)
    elif details is Details.GROUPS:
        _show_groups(opened_repository, flagged, table, request, output)
    else:
        _show_decision(opened_repository, flagged, request, output)


@dataclass(frozen=True, slots=True)
class _Output:
    """Output options of the command."""

    rows: int | None
    """Maximum number of rows of a table; None for all rows."""
    as_json: bool
    has_details: bool
    """Whether to print decisions with their details."""
    commands: CommandOptions
    """Options of this call that further commands need, too."""


def _decisions_and_view(
    opened_repository: Repository, flagged: FlaggedTable, request: DecisionRequest, commands: CommandOptions
) -> tuple[Sequence[Decision], QuestionView | None]:
    """Return the decisions and, if the request names a buyer's question, the sentences of its answer."""
    from assay.questions.decisions.answers import answer_question
    from assay.questions.decisions.ask import decisions_of

    question = question_named(request.factor)
    if question is None:
        return decisions_of(opened_repository, flagged.table, request), None
    answer = answer_question(opened_repository, flagged.table, question, request)
    return answer.decisions, view_of(answer, commands)


def _write_plan(
    opened_repository: Repository, flagged: FlaggedTable, request: DecisionRequest, file: Path, commands: CommandOptions
) -> None:
    """Write the plan that measures the question, and a cluster file next to it."""
    from assay.foundation.output import write_output
    from assay.questions.decisions.answers import answer_question
    from assay.questions.decisions.planned_runs import measuring_plan

    question = question_named(request.factor)
    unanswered_question = (
        answer_question(opened_repository, flagged.table, question, request).unanswered if question else None
    )
    if question is None or unanswered_question is None or unanswered_question.planned is None:
        raise SpecificationError(
            "--plan needs a question without an answer",
            where=f"assay decide {request.factor}",
            hint=f"runs that settle what is open: assay decide {request.factor or 'QUESTION'} --details",
        )
    cluster = file.with_name(f"{file.stem}-cluster.yaml")
    plan = measuring_plan(opened_repository, question, unanswered_question.planned, cluster.name)
    write_output(cluster, plan.cluster.encode())
    write_output(file, plan.plan.encode())
    next_run = command("run", str(file), "--dry-run", options=commands)
    click.echo(f"wrote {file}: {plural(plan.runs, 'run')}; next: {next_run}")


def _show_decision(
    opened_repository: Repository, flagged: FlaggedTable, request: DecisionRequest, output: _Output
) -> None:
    if request.factor == LIMITS:
        _show_limits(_limits(opened_repository, flagged, request), output)
        return
    decisions, view = _decisions_and_view(opened_repository, flagged, request, output.commands)
    if output.as_json:
        print_json(json_value([answer_of(decision) for decision in decisions]))
    elif decisions and output.has_details:
        if view and view.over_years and request.years is not None:
            print_over_years(view.over_years, all_options=True)
            click.echo()
        print_decisions(decisions, rows=output.rows, view=view)
    elif view and view.over_years and request.years is not None:
        print_over_years(view.over_years, all_options=False)
        click.echo(f"\nIn full: {command('decide', request.factor, '--details', options=output.commands)}")
    elif decisions:
        print_brief(decisions[0], view, over_years=request.years is not None)
        further_text = f", with {plural(len(decisions) - 1, 'further decision')}" if len(decisions) > 1 else ""
        words = [request.factor, *(["--baseline", request.baseline] if request.baseline else []), "--details"]
        click.echo(f"\nIn full{further_text}: {command('decide', *words, options=output.commands)}")
    elif view is not None:
        click.echo(view.answer)
        _print_next(view, "")
    else:
        click.echo(not_varied_text(request.factor))


def _limits(opened_repository: Repository, flagged: FlaggedTable, request: DecisionRequest) -> WorkloadLimits:
    return workload_limits(opened_repository, selected(flagged.table, request.where))


def _show_limits(limits: WorkloadLimits, output: _Output) -> None:
    """Print what limits each workload on each kind of storage."""
    if output.as_json:
        print_json(json_value(limits))
        return
    click.secho(limits.answer, bold=True)
    for row in limits.workloads:
        click.echo(row.line)
    if limits.basis:
        click.echo(limits.basis)
    click.echo(f"next: {limits.next_step(output.commands)}")


def _show_questions(
    opened_repository: Repository, flagged: FlaggedTable, request: DecisionRequest, output: _Output
) -> None:
    from assay.questions.decisions.answers import answer_questions

    views = [view_of(answer, output.commands) for answer in answer_questions(opened_repository, flagged.table, request)]
    if output.as_json:
        print_json(json_value(views))
    else:
        width = max(len(view.name) for view in views)
        for view in views:
            costs = view.over_years
            answer = costs.answer if costs and request.years is not None else view.summary
            click.echo(f"{view.name:<{width}}  {answer}")
            if costs:
                over_years = command("decide", view.name, options=replace(output.commands, years=costs.years))
                click.echo(f"{'':<{width}}  Over {costs.period}: {over_years}")
            _print_next(view, f"{'':<{width}}  ")
        click.echo(f"{LIMITS:<{width}}  {_limits(opened_repository, flagged, request).answer}")
        notes = [note for note in (definition_sentence(views), lab_sentence(views)) if note]
        click.echo("".join(f"\n{note}\n" for note in notes))
        click.echo(f"More: {command('decide', 'QUESTION', options=output.commands)}")


def _show_groups(
    opened_repository: Repository, flagged: FlaggedTable, table: RunTable, request: DecisionRequest, output: _Output
) -> None:
    from assay.interfaces.cli.decide.group_details import print_groups
    from assay.questions.comparisons.comparison import comparison_view, nothing_to_compare_text

    decisions, question_view = _decisions_and_view(opened_repository, flagged, request, output.commands)
    view = comparison_view(opened_repository, table, decisions, factor_of_details(table, request.factor), flagged.table)
    if output.as_json:
        print_json(json_value(view))
    elif view.decisions:
        print_decisions(decisions, rows=output.rows, view=question_view)
        print_groups(view, table, all_rows=output.rows is None)
    else:
        click.echo(nothing_to_compare_text(view))


def _show_options(
    opened_repository: Repository | None,
    flagged: FlaggedTable | None,
    table: RunTable,
    request: DecisionRequest,
    options: dict[str, Any],
    output: _Output,
) -> None:
    """Print the details of options. ``opened_repository`` and ``flagged``: None if ``table`` comes from a dataset."""
    from assay.interfaces.cli.decide.option_details import print_confounding, print_options, print_published
    from assay.questions.comparisons.speedup import SpeedupRequest, speedup_view, speedups_over

    names = tuple(name.strip() for name in factor_of_details(table, request.factor).split(","))
    group = None if options["group"] == "none" else options["group"]
    speedup_request = request_of(SpeedupRequest, options, factors=names, group=group)
    if options["method"] != "matched":
        print_published(table, names, request.baseline, options["method"], output.as_json)
        return
    view = (
        speedup_view(opened_repository, table, speedup_request)
        if opened_repository
        else speedups_over(table, speedup_request)
    )
    decisions, question_view = (
        _decisions_and_view(opened_repository, flagged, request, output.commands)
        if opened_repository and flagged
        else ((), None)
    )
    if output.as_json:
        print_json(json_value(replace(view, decisions=tuple(answer_of(decision) for decision in decisions))))
        return
    print_confounding(view)
    if decisions:
        print_decisions(decisions, rows=output.rows, view=question_view)
        click.echo("\nDetails: each option with its own matched groups")
    print_options(view, output.rows)


def _dataset_table(dataset: str | None, on: str | None, where: Sequence[str]) -> RunTable:
    from assay.questions.runs.dataset import dataset_table

    if dataset is None or on is None:
        raise SpecificationError(
            "--dataset and --on need each other: Spark selects the runs of a dataset", where="assay decide"
        )
    return dataset_table(dataset, on, where, say)


def _print_next(view: QuestionView, indent: str) -> None:
    """Print the next step, and below it the command that answers the question without new runs."""
    if view.next_step:
        click.echo(f"{indent}next: {view.next_step}")
    if view.next_command:
        click.echo(f"{indent}      {view.next_command}")
    if view.plan_command:
        click.echo(f"{indent}plan: {view.plan_command}")


def _book(prices: Path | None) -> PriceBook | None:
    if prices is None:
        return None
    from assay.specs import load_prices

    return load_prices(prices)
