"""``assay profile``: print the code that a run executed, or where one side uses more time than another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from assay.analysis.code_profile.files import DAEMONS, JOB
from assay.analysis.run_profile.workload_ratios import REFERENCE
from assay.foundation.errors import SpecificationError
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import (
    all_option,
    given_options,
    json_option,
    print_json,
    print_rows,
    repository_option,
    row_limit,
    say,
)
from assay.interfaces.cli.explain.profile_difference import print_difference
from assay.interfaces.cli.forecast.data_flow import data_flow_command
from assay.questions.comparisons.side_by_side import Of
from assay.store import Repository
from assay.text import plural

if TYPE_CHECKING:
    from assay.questions.runs.code_profiles.code_profile import CodeProfile, CodeProfileRequest

DIFF = "diff"


@click.command("profile", cls=AssayCommand)
@click.argument("runs", nargs=-1, metavar="[RUN | diff A B]")
@click.option("--phase", help="Only this phase: map, shuffle, merge or reduce; for Spark, a stage such as stage-0.")
@click.option("--stage", type=int, help="Only this stage of Spark, by number.")
@click.option("--node", help="Only JVMs on this node.")
@click.option("--attempt", help="Only this task attempt, executor (executor-1) or driver.")
@click.option("--process", type=click.Choice((JOB, *DAEMONS)), help="Only the job's JVMs, or only these daemons.")
@click.option("--at", "at_s", type=float, help="Only the second at this time, in seconds from the run's start.")
@click.option(
    "--of",
    type=click.Choice(get_args(Of)),
    default="configurations",
    show_default=True,
    help="With diff: compare all runs of the configurations of A and B, or these runs alone.",
)
@click.option(
    "--html", "page", type=click.Path(path_type=Path, dir_okay=False), help="Also write flame graphs to this HTML file."
)
@click.option("--reference", default=REFERENCE, hidden=True)
@click.option("--layout", hidden=True)
@click.option("--where", multiple=True, hidden=True)
@all_option
@json_option
@repository_option
@click.pass_context
def profile_command(
    context: click.Context,
    /,
    runs: tuple[str, ...],
    of: Of,
    page: Path | None,
    all_rows: bool,
    as_json: bool,
    repository: Path,
    **fields: Any,
) -> None:
    """Show which code a run executed: categories first, then methods by self time.

    RUN is the beginning of the id of a run that was recorded with `assay run PLAN --profile cpu`. `diff A B` shows
    where B spends more time per byte of data than A. Without RUN, the command does the same as `assay data-flow`, as
    in earlier releases.
    """
    data_flow_options = {name: fields.pop(name) for name in ("reference", "layout", "where")}
    if not runs:
        context.invoke(
            data_flow_command, all_rows=all_rows, as_json=as_json, repository=repository, **data_flow_options
        )
        return
    ignored_options = given_options(
        context, ("stage", "node", "attempt", "process", *(["at_s"] if runs[0] == DIFF else []))
    )
    if ignored_options and (runs[0] == DIFF or page is not None):
        subject = "diff does" if runs[0] == DIFF else "flame graphs do"
        raise SpecificationError(f"{subject} not take it", where=ignored_options[0], hint="choose a part with --phase")
    if runs[0] == DIFF:
        print_difference(repository, runs[1:], of, fields["phase"], page=page, all_rows=all_rows, as_json=as_json)
        return
    if len(runs) > 1:
        raise SpecificationError("a profile is of one run", where="run", hint="to compare two: assay profile diff A B")
    from assay.questions.json_values import json_value
    from assay.questions.runs.code_profiles.code_profile import CodeProfileRequest, code_profile

    opened_repository, request = Repository.open(repository), CodeProfileRequest(**fields)
    answer = code_profile(opened_repository, runs[0], request)
    if page is not None:
        _write_flame_graphs(page, opened_repository, answer, request)
    if as_json:
        print_json(json_value(answer))
        return
    _show(answer, row_limit(all_rows))


def _write_flame_graphs(page: Path, repository: Repository, answer: CodeProfile, request: CodeProfileRequest) -> None:
    from assay.interfaces.web.rendering.flame_page import write_flame_page
    from assay.questions.comparisons.flame_graphs import WIDTH_TEXT, flame_graphs_of_run
    from assay.questions.runs.code_profiles.code_profile import interval_text

    basis = f"{answer.kind} profile, {answer.method}, {plural(len(answer.attempts), 'recording')}"
    graphs = flame_graphs_of_run(repository, answer.run_id, request.phase, request.at_s)
    interval = () if answer.start_s is None else (interval_text(answer),)
    write_flame_page(page, f"Flame graph of run {answer.run_id}", (basis, *interval, WIDTH_TEXT), graphs)
    say(f"wrote {page}")


def _show(answer: CodeProfile, limit: int | None) -> None:
    from assay.questions.runs.code_profiles.code_profile import profile_basis, profile_sentence, profile_tables

    click.echo(profile_sentence(answer))
    if not answer.categories:
        return
    for line in profile_basis(answer):
        click.echo(line)
    categories, methods = profile_tables(answer)
    print_rows(categories.headers, categories.rows, limit=None, title=categories.title)
    click.echo()
    print_rows(methods.headers, methods.rows, limit=limit, title=methods.title)
