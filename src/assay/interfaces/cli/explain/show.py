"""``assay show RUN``: print one run: phases, tasks, counters, limits and logs."""

from pathlib import Path
from typing import Any

import click
import msgspec

from assay.analysis.run_profile.limits.run_limits import Limits
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import json_option, print_json, repository_option
from assay.interfaces.cli.explain.run_text import part_lines, run_lines, table_lines
from assay.questions.json_values import json_value
from assay.questions.runs.complete_run import CompleteRun, read_complete_run
from assay.questions.runs.limits import configuration_limit, limits_of_complete_run, run_limit_answer
from assay.questions.trust.flags import flags_in, flags_of_run
from assay.store import Repository


@click.command(cls=AssayCommand)
@click.argument("run")
@click.option("--phases", is_flag=True, help="Show only the phases of every job, and which phases overlapped.")
@click.option("--tasks", "attempts", is_flag=True, help="Show only the list of task attempts.")
@click.option("--counters", is_flag=True, help="Show only the counters of the jobs, by group.")
@click.option(
    "--limits", is_flag=True, help="Show only which resource limited the run, and how fast it could be at most."
)
@click.option("--seconds", is_flag=True, help="With --limits: also every second of every worker.")
@click.option("--log", "log_name", metavar="NAME", help="Print one of the run's logs instead.")
@json_option
@repository_option
def show(
    run: str, limits: bool, seconds: bool, log_name: str | None, as_json: bool, repository: Path, **part_flags: bool
) -> None:
    """Show one run: phases, tasks, disks, nodes, checks, metrics. RUN is the beginning of a run id.

    --json prints everything, with task attempts and counters.

    --limits shows which resource limited the run in each second and phase: CPU, disks (by the data on them), network,
    containers or fixed costs. It also shows the shortest time that the run could take if disks, network or CPUs cost no
    time. It uses only the traces and task attempts of this run.
    """
    if seconds and not limits:
        raise click.UsageError("--seconds needs --limits.")
    opened_repository = Repository.open(repository)
    if limits:
        _show_limits(opened_repository, run, seconds=seconds, as_json=as_json)
        return
    stored_run = opened_repository.run(run)
    if log_name is not None:
        click.echo(opened_repository.log(stored_run.run_id, log_name), nl=False)
        return
    complete_run = read_complete_run(opened_repository, stored_run)
    flags = () if any(part_flags.values()) else flags_of_run(opened_repository, flags_in(opened_repository), stored_run)
    if as_json:
        print_json(_as_json(complete_run) | {"anomalies": json_value(flags)})
        return
    if any(part_flags.values()):
        lines = part_lines(complete_run.run, complete_run.detail, complete_run.tasks, **part_flags)
    else:
        run_limits = limits_of_complete_run(complete_run)
        lines = run_lines(
            complete_run.run,
            complete_run.detail,
            complete_run.files,
            flags,
            _limit_answer(opened_repository, run_limits) if run_limits else None,
        )
    for line in lines:
        click.echo(line)


def _show_limits(opened_repository: Repository, run: str, *, seconds: bool, as_json: bool) -> None:
    from assay.analysis.run_profile.tables.limits_tables import limit_sections, seconds_table
    from assay.questions.runs.limits import limits_of_run

    answer = limits_of_run(opened_repository, run)
    if as_json:
        print_json(json_value(answer))
        return
    click.echo(_limit_answer(opened_repository, answer))
    click.echo(f"run {answer.run_id}, {answer.origin}")
    for table in (*limit_sections(answer), *([seconds_table(answer)] if seconds else [])):
        for line in table_lines(table):
            click.echo(line)


def _limit_answer(opened_repository: Repository, limits: Limits) -> str:
    return run_limit_answer(limits, configuration_limit(opened_repository, opened_repository.table(), limits.run_id))


def _as_json(complete_run: CompleteRun) -> dict[str, Any]:
    files = [{"name": name, "size_bytes": size} for name, size in complete_run.files.items()]
    values: dict[str, Any] = msgspec.to_builtins(complete_run.run)
    return values | {
        "logs": list(complete_run.logs),
        "files": files,
        "detail": json_value(complete_run.detail),
        "tasks": msgspec.to_builtins(complete_run.tasks),
    }
