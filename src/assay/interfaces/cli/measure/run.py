"""``assay run PLAN``: execute a plan, or resume an interrupted campaign."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.foundation.errors import SpecificationError
from assay.foundation.units import format_duration
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import (
    json_option,
    print_json,
    print_table,
    repository_option,
    request_of,
    until_option,
)
from assay.text import plural

if TYPE_CHECKING:
    from assay.execution.campaign.attempts.runner import CampaignSummary
    from assay.execution.campaign.execute import CampaignRequest
    from assay.execution.campaign.prepare import PreparedCampaign
    from assay.execution.planning.forecast.forecast import Schedule, ScheduleRow
    from assay.model import CostProfile, Plan
    from assay.questions.decisions.provisional import FirstRuns


@click.command(cls=AssayCommand)
@click.argument("plan", type=click.Path(path_type=Path))
@repository_option
@json_option
@click.option("--dry-run", is_flag=True, help="Print the schedule and the expected times. Nothing is run or written.")
@click.option("--again", is_flag=True, help="If the plan is complete, run all of it again.")
@click.option(
    "--only",
    multiple=True,
    metavar="WORKLOAD|FACTOR=LEVEL",
    help="Execute only these runs; repeatable. Workloads are alternatives, and so are levels of the same factor.",
)
@until_option("Start no more runs after 18:30, 2h or '12 runs'. The same command resumes later.")
@click.option(
    "--baseline/--no-baseline", default=True, help="Measure devices and links first, the default; never on localhost."
)
@click.option("--simulate", is_flag=True, help="Simulate the runs. Needs no hosts, root or Java.")
@click.option(
    "--profile",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="cpu|wall|alloc|lock|FILE",
    help="Record which code the tasks execute (cpu), wait in (wall, lock) or allocate in (alloc). With --simulate, "
    "FILE is a simulation profile instead of the one shipped with assay; repeatable, one for each engine.",
)
@click.option(
    "--learn-from",
    type=click.Path(path_type=Path, file_okay=False),
    help="With --simulate: learn the profile from the measured runs of this repository.",
)
@click.option("--where", multiple=True, metavar="COLUMN=LEVEL", help="With --learn-from: only runs with this level.")
@click.option(
    "--trace-by",
    type=click.Choice(["group", "node"]),
    default="group",
    help="With --simulate: if there are more than 200 nodes, sample each rack or node type (group), or each node.",
)
@click.option(
    "--otlp",
    metavar="URL",
    help="At the end, send the runs of this command, with jobs and tasks, as OpenTelemetry spans to this address.",
)
def run(
    plan: Path, repository: Path, as_json: bool, dry_run: bool, simulate: bool, otlp: str | None, **options: Any
) -> None:
    """Execute PLAN, or resume an interrupted campaign. Finished runs are not repeated."""
    from assay.estimation.simulator.campaign import campaign_request
    from assay.execution.planning.plan_files.plan_reader import load_plan
    from assay.interfaces.telemetry.sending import spans_sent
    from assay.questions.forecasts.learning import ProfileRequest, profile_from

    loaded_plan = load_plan(plan)
    source = request_of(ProfileRequest, options)
    trace_by = options["trace_by"]
    if source.profile and not (simulate or loaded_plan.cluster.simulated):
        loaded_plan, source = _plan_with_profiling(loaded_plan, source.profile), replace(source, profile=())
    choices = {name: options[name] for name in ("again", "only", "stop", "baseline")}
    if dry_run:
        if simulate:
            loaded_plan = replace(loaded_plan, cluster=replace(loaded_plan.cluster, simulated=True))
        _preview(replace(campaign_request(loaded_plan), **choices), repository, as_json=as_json)
        return
    costs: CostProfile | None = None
    if simulate or loaded_plan.cluster.simulated:
        costs = profile_from(source)
    elif source.learn_from or source.where or trace_by != "group":
        raise SpecificationError("--learn-from, --where and --trace-by apply to simulations", hint="add --simulate")
    request = replace(campaign_request(loaded_plan, costs, trace_by), **choices)
    with spans_sent(otlp, repository, partial(click.echo, err=True)) as finished_run_ids:
        result = run_campaign_request(request, repository, costs, finished_run_ids=finished_run_ids)
    if as_json:
        print_json(result)
    statuses = result.get("statuses", {})
    if statuses.get("failed") or statuses.get("invalid"):
        sys.exit(1)


def _plan_with_profiling(plan: Plan, kinds: Sequence[Path]) -> Plan:
    """Return the plan with profiling of its runs. ``kinds``: values of ``--profile``.

    Raises SpecificationError for several kinds, or for a file: only simulations read profiles from files.
    """
    from assay.execution.planning.plan_files.plan_reader import checked_plan
    from assay.model import PROFILE, PROFILES

    if len(kinds) > 1 or str(kinds[0]) not in PROFILES:
        raise SpecificationError(
            f"--profile {kinds[-1]}: a measured run records a profile of one kind: {', '.join(PROFILES)}",
            hint="to simulate with the profile in a file, add --simulate",
        )
    return checked_plan(replace(plan, parameters={**plan.parameters, PROFILE: str(kinds[0])}))


def run_campaign_request(
    request: CampaignRequest,
    root: Path,
    costs: CostProfile | None = None,
    first_runs: FirstRuns | None = None,
    finished_run_ids: list[str] | None = None,
) -> dict[str, Any]:
    """Execute a campaign and print its progress to stderr; return the summary as JSON values.

    ``costs``: profile for simulated runs; None for measured runs. ``first_runs``: collects the first runs, whose
    provisional ratios are printed as soon as they are known. ``finished_run_ids``: receives the ids of finished runs.
    """
    from assay.execution.campaign.execute import execute_campaign, prepare_campaign
    from assay.interfaces.cli.measure.progress import CampaignDisplay
    from assay.store import Repository

    repository = Repository.create(root)
    schedule = prepare_campaign(request, repository)
    with CampaignDisplay(first_runs, finished_run_ids) as display:
        for line in _start_lines(request.plan, schedule, repository.root, costs):
            display.say(line)
        if not schedule.remaining:
            display.say("no runs left for --only" if request.only else "no runs left; --again runs the plan again")
            return {"campaign_id": schedule.journal.campaign_id, "planned": len(schedule.runs), "left": 0}
        summary = execute_campaign(request, schedule, repository, display)
        for line in summary_lines(summary, repository.root):
            display.say(line)
    return {
        "campaign_id": summary.campaign_id,
        "planned": summary.planned,
        "made": summary.made,
        "already_there": summary.already_there,
        "statuses": dict(summary.statuses),
        "failures": dict(summary.failures),
        "stopped": summary.stopped,
    }


def _start_lines(plan: Plan, schedule: PreparedCampaign, root: Path, costs: CostProfile | None) -> list[str]:
    from assay.execution.campaign.prepare import plan_lines

    if costs is None:
        first_line, *lines = plan_lines(plan, schedule, root)
        return [f"plan {plan.name}: {first_line}", *lines]
    profiles = (costs, *costs.other_engines)
    return [f"plan {plan.name}: {plural(len(schedule.remaining), 'run')} to simulate; runs go to {root}"] + [
        f"profile {profile.name} of {profile.engine}: {profile.learned.source}" for profile in profiles
    ]


def summary_lines(summary: CampaignSummary, root: Path) -> list[str]:
    """Return the summary of a campaign as lines of text. ``root``: folder of the repository."""
    from assay.model import RunStatus
    from assay.questions.commands import command, repository_options

    options = repository_options(root)
    counts = ", ".join(f"{count} {status}" for status, count in summary.statuses.items()) or "none"
    lines = [f"attempts: {summary.made} ({counts}); runs finished earlier: {summary.already_there}"]
    if summary.failures:
        classes = ", ".join(f"{count} {name}" for name, count in summary.failures.items())
        lines.append(f"failures: {classes}; `{command('runs', '--status', 'failed', options=options)}` lists them")
    if summary.stopped:
        lines.append(f"stopped: {summary.stopped}; the same command resumes the campaign")
    if summary.statuses.get(RunStatus.VALID):
        lines.append(f"next: {command('decide', options=options)}")
    return lines


def _preview(request: CampaignRequest, root: Path, *, as_json: bool) -> None:
    """Print the runs that the command would execute, with expected times. Needs no hosts, and writes nothing."""
    from assay.execution.campaign.prepare import plan_lines, prepare
    from assay.execution.planning.forecast.forecast import rows
    from assay.store import Repository

    now, plan, stop = time.time(), request.plan, request.stop
    repository = Repository.open(root) if Repository.is_at(root) else None
    schedule = prepare(plan, repository, again=request.again, only=request.only, stop=stop, write=False)
    history = repository.runs(environment=False) if repository else []
    schedule_rows = rows(plan, schedule, history, now)
    if as_json:
        print_json(_preview_json(plan, schedule, schedule_rows))
        return
    is_simulated = plan.cluster.simulated
    total_s = _total_s(schedule_rows)
    if is_simulated:
        click.echo(f"{plural(len(schedule_rows), 'run')} to simulate: seconds each, or minutes for a million tasks")
    else:
        end = time.strftime("%a %H:%M", time.localtime(now + total_s))
        click.echo(f"{plural(len(schedule_rows), 'run')}, about {format_duration(total_s)}: until {end} if started now")
    for line in plan_lines(plan, schedule, root)[:-1]:
        click.echo(line)
    if schedule_rows:
        skipped_columns = _TIMES if is_simulated else ()
        table_rows = [
            [cell for name, cell in zip(_HEADERS, _cells(row), strict=True) if name not in skipped_columns]
            for row in schedule_rows
        ]
        print_table([name for name in _HEADERS if name not in skipped_columns], table_rows)
    omitted_count = len(schedule.remaining) - len(schedule_rows)
    if omitted_count and stop:
        click.echo(f"{plural(omitted_count, 'run')} left for another call: {stop.text}")


_HEADERS = (
    "run",
    "starts after",
    "takes",
    "estimated from",
    "time limit",
    "restart",
    "workload",
    "configuration",
    "repetition",
)


_TIMES = ("starts after", "takes", "estimated from", "time limit", "restart")
"""Columns that do not apply to simulated runs."""


def _cells(row: ScheduleRow) -> tuple[str, ...]:
    planned_run = row.planned_run
    attempt = f", attempt {row.attempt}" if row.attempt > 1 else ""
    return (
        str(planned_run.index + 1),
        format_duration(row.starts_after_s),
        format_duration(row.expected_s),
        row.basis + (f"; about {format_duration(row.input_s)} of it to make its input" if row.input_s else ""),
        format_duration(row.limit.seconds),
        row.restart or "",
        planned_run.workload.key,
        planned_run.configuration.key,
        f"{planned_run.repetition}{attempt}{', if needed' if row.is_conditional else ''}",
    )


def _total_s(schedule_rows: Sequence[ScheduleRow]) -> float:
    return schedule_rows[-1].starts_after_s + schedule_rows[-1].expected_s if schedule_rows else 0.0


def _preview_json(plan: Plan, schedule: Schedule, schedule_rows: Sequence[ScheduleRow]) -> dict[str, object]:
    is_measured = not plan.cluster.simulated
    return {
        "plan": plan.name,
        "campaign_id": schedule.campaign_id,
        "planned": len(schedule.runs),
        "done": schedule.done,
        "left": len(schedule.remaining),
        "restarts": sum(row.restart is not None for row in schedule_rows),
        "expected_s": round(_total_s(schedule_rows), 1) if is_measured else None,
        "warnings": list(schedule.warnings),
        "retries": {str(name): count for name, count in plan.retries.items()},
        "runs": [
            {
                "run": row.planned_run.index + 1,
                "workload": row.planned_run.workload.key,
                "levels": dict(row.planned_run.configuration.levels),
                "repetition": row.planned_run.repetition,
                "attempt": row.attempt,
                "restart": row.restart,
                "starts_after_s": round(row.starts_after_s, 1) if is_measured else None,
                "expected_s": round(row.expected_s, 1) if is_measured else None,
                "input_s": round(row.input_s, 1),
                "basis": row.basis,
                "time_limit_s": row.limit.seconds,
                "time_limit": row.limit.why,
                "if_needed": row.is_conditional,
            }
            for row in schedule_rows
        ],
    }
