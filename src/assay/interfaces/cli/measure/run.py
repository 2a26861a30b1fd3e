"""``assay run PLAN``: carry out a plan, or go on with an interrupted one."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.foundation.errors import SpecificationError
from assay.foundation.units import format_duration
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import json_option, print_json, print_table, repository_option

if TYPE_CHECKING:
    from assay.execution.campaign.attempts.runner import CampaignSummary
    from assay.execution.engines.contract import MakeProvider
    from assay.execution.planning.forecast.call_limits import Stop
    from assay.execution.planning.forecast.forecast import Row, Schedule
    from assay.model import CostProfile, Plan


@click.command(cls=AssayCommand)
@click.argument("plan", type=click.Path(path_type=Path))
@repository_option
@json_option
@click.option("--dry-run", is_flag=True, help="Print the schedule and the expected times; run and write nothing.")
@click.option("--again", is_flag=True, help="When the plan is complete, run all of it once more.")
@click.option(
    "--only",
    multiple=True,
    metavar="WORKLOAD|FACTOR=LEVEL",
    help="Make only these runs now; repeatable: workloads add up, and so do levels of one factor.",
)
@click.option(
    "--until",
    metavar="TIME|DURATION|N runs",
    help="Start no more runs after 18:30, 2h or '12 runs'; the same command goes on later.",
)
@click.option("--baseline/--no-baseline", default=True, help="Measure devices and links first (not on localhost).")
@click.option("--simulate", is_flag=True, help="Simulate the runs instead: without hosts, root or Java.")
@click.option(
    "--profile",
    multiple=True,
    type=click.Path(path_type=Path),
    help="With --simulate: what workloads cost, assay's own if left out; repeatable, a file for each engine.",
)
@click.option(
    "--learn-from",
    type=click.Path(path_type=Path, file_okay=False),
    help="With --simulate: a repository whose measured runs say it.",
)
@click.option("--where", multiple=True, metavar="COLUMN=LEVEL", help="With --learn-from: only its runs that match.")
@click.option(
    "--trace-by",
    type=click.Choice(["group", "node"]),
    default="group",
    help="With --simulate: more than 200 nodes are observed by rack or node type; node: each alone, which takes room.",
)
def run(
    plan: Path,
    repository: Path,
    as_json: bool,
    dry_run: bool,
    again: bool,
    only: tuple[str, ...],
    until: str | None,
    baseline: bool,
    simulate: bool,
    profile: tuple[Path, ...],
    learn_from: Path | None,
    where: tuple[str, ...],
    trace_by: str,
) -> None:
    """Carry out PLAN, or go on where an earlier call was interrupted; finished runs are never repeated."""
    from assay.execution.planning.forecast.call_limits import parse_stop
    from assay.execution.planning.plan_files.plan_reader import load_plan
    from assay.interfaces.cli.forecast.learn import profile_from

    read = load_plan(plan)
    stop = parse_stop(until, datetime.now().astimezone()) if until else None
    if dry_run:
        if simulate:
            read = replace(read, cluster=replace(read.cluster, simulated=True))
        _preview(read, repository, again=again, only=only, stop=stop, as_json=as_json)
        return
    costs: CostProfile | None = None
    if simulate or read.cluster.simulated:
        costs = profile_from(profile, learn_from, where)
    elif profile or learn_from or where or trace_by != "group":
        raise SpecificationError(
            "--profile, --learn-from, --where and --trace-by say what a simulation needs", hint="add --simulate"
        )
    done = run_plan(
        read, repository, again=again, only=only, stop=stop, baseline=baseline, costs=costs, trace_by=trace_by
    )
    if as_json:
        print_json(done)
    statuses = done.get("statuses", {})
    if statuses.get("failed") or statuses.get("invalid"):
        sys.exit(1)


def run_plan(
    plan: Plan,
    root: Path,
    *,
    again: bool,
    baseline: bool,
    only: Sequence[str] = (),
    stop: Stop | None = None,
    costs: CostProfile | None = None,
    trace_by: str = "group",
) -> dict[str, Any]:
    """Carry out a plan, or simulate it by ``costs``; show progress on stderr, return what was done as plain values."""
    from assay.estimation.simulator.campaign import refuse_what_can_not_be
    from assay.execution.campaign.execute import execute_campaign
    from assay.execution.campaign.prepare import plan_lines, prepare
    from assay.interfaces.cli.measure.progress import CampaignDisplay
    from assay.store import Repository

    plan, provide = carried_out_by(plan, costs, trace_by)
    repository = Repository.create(root)
    todo = prepare(plan, repository, again=again, only=only, stop=stop)
    with CampaignDisplay() as display:
        if costs is None:
            first, *lines = plan_lines(plan, todo, repository.root)
            lines = [f"plan {plan.name}: {first}", *lines]
        else:
            lines = [
                f"plan {plan.name}, simulated with profile {one.name} of {one.engine}: {one.learned.source}"
                for one in (costs, *costs.other_engines)
            ]
        for line in lines:
            display.say(line)
        if not todo.left:
            asked = " of what --only names" if only else "; --again runs the plan once more"
            display.say(f"nothing is left to run{asked}")
            return {"campaign_id": todo.journal.campaign_id, "planned": len(todo.runs), "left": 0}
        if costs is not None:
            refuse_what_can_not_be(plan, costs, todo)
        summary = execute_campaign(plan, repository, todo, display, provide, baseline=baseline)
        for line in summary_lines(summary):
            display.say(line)
    return _summary_json(summary)


def carried_out_by(plan: Plan, costs: CostProfile | None, trace_by: str = "group") -> tuple[Plan, MakeProvider]:
    """Return the plan as it is carried out, and its engine: the simulator with ``costs``, the real one without."""
    from assay.estimation.simulator.campaign import simulated_plan
    from assay.estimation.simulator.engine import shipped_simulator, simulator_of
    from assay.execution.engines.catalogue import engine_kind

    if costs is None:
        return plan, engine_kind(plan.engine, shipped_simulator).provider_of(plan.cluster)
    plan = simulated_plan(plan, costs)
    return plan, simulator_of(plan.rules, costs, trace_by)


def _summary_json(summary: CampaignSummary) -> dict[str, object]:
    return {
        "campaign_id": summary.campaign_id,
        "planned": summary.planned,
        "made": summary.made,
        "already_there": summary.already_there,
        "statuses": dict(summary.statuses),
        "failures": dict(summary.failures),
        "stopped": summary.stopped,
    }


def summary_lines(summary: CampaignSummary) -> list[str]:
    """Return what a call did, in words."""
    counts = ", ".join(f"{count} {status}" for status, count in summary.statuses.items()) or "none"
    lines = [f"attempts made: {summary.made} ({counts}); runs that were there already: {summary.already_there}"]
    if summary.failures:
        classes = ", ".join(f"{count} {name}" for name, count in summary.failures.items())
        lines.append(f"what failed: {classes}; `assay runs --status failed` and `assay show RUN` tell why")
    if summary.stopped:
        lines.append(f"no more runs were started: {summary.stopped}; the same command goes on with the rest")
    return lines


def _preview(plan: Plan, root: Path, *, again: bool, only: Sequence[str], stop: Stop | None, as_json: bool) -> None:
    """Print what a call would do. Needs no hosts, and writes nothing."""
    from assay.execution.campaign.prepare import plan_lines, prepare
    from assay.execution.planning.forecast.forecast import rows
    from assay.store import Repository

    now = time.time()
    repository = Repository.open(root) if Repository.is_at(root) else None
    todo = prepare(plan, repository, again=again, only=only, stop=stop, write=False)
    history = repository.runs(environment=False) if repository else []
    listed = rows(plan, todo, history, now)
    if as_json:
        print_json(_preview_json(plan, todo, listed))
        return
    for line in plan_lines(plan, todo, root)[:-1]:
        click.echo(line)
    simulated = plan.cluster.simulated
    if listed:
        skipped = _TIMES if simulated else ()
        rows_shown = [
            [cell for name, cell in zip(_HEADERS, _cells(row), strict=True) if name not in skipped] for row in listed
        ]
        print_table([name for name in _HEADERS if name not in skipped], rows_shown)
    left_out = len(todo.left) - len(listed)
    if left_out and stop:
        click.echo(f"left for another call: {left_out}, because of {stop.words}")
    if simulated:
        click.echo(f"runs: {len(listed)}, simulated: computing one takes seconds, or minutes for a million tasks")
        return
    total_s = _total_s(listed)
    over = time.strftime("%a %H:%M", time.localtime(now + total_s))
    click.echo(f"runs: {len(listed)}, expected to take {format_duration(total_s)}: over at {over} if it begins now")


_HEADERS = (
    "run",
    "after",
    "takes",
    "time known from",
    "time limit",
    "restart",
    "workload",
    "configuration",
    "repetition",
)


_TIMES = ("after", "takes", "time known from", "time limit", "restart")
"""Columns that say nothing of simulated runs."""


def _cells(row: Row) -> tuple[str, ...]:
    planned = row.planned
    attempt = f", attempt {row.attempt}" if row.attempt > 1 else ""
    return (
        str(planned.index + 1),
        format_duration(row.starts_after_s),
        format_duration(row.expected_s),
        row.basis + (f"; {format_duration(row.input_s)} of it for its input: a guess" if row.input_s else ""),
        format_duration(row.limit.seconds),
        row.restart or "",
        planned.workload.key,
        planned.configuration.key,
        f"{planned.repetition}{attempt}{', if needed' if row.if_needed else ''}",
    )


def _total_s(listed: Sequence[Row]) -> float:
    return listed[-1].starts_after_s + listed[-1].expected_s if listed else 0.0


def _preview_json(plan: Plan, todo: Schedule, listed: Sequence[Row]) -> dict[str, object]:
    real = not plan.cluster.simulated
    return {
        "plan": plan.name,
        "campaign_id": todo.campaign_id,
        "planned": len(todo.runs),
        "done": todo.done,
        "left": len(todo.left),
        "restarts": sum(row.restart is not None for row in listed),
        "expected_s": round(_total_s(listed), 1) if real else None,
        "warnings": list(todo.warnings),
        "retries": {str(name): count for name, count in plan.retries.items()},
        "runs": [
            {
                "run": row.planned.index + 1,
                "workload": row.planned.workload.key,
                "levels": dict(row.planned.configuration.levels),
                "repetition": row.planned.repetition,
                "attempt": row.attempt,
                "restart": row.restart,
                "starts_after_s": round(row.starts_after_s, 1) if real else None,
                "expected_s": round(row.expected_s, 1) if real else None,
                "input_s": round(row.input_s, 1),
                "basis": row.basis,
                "time_limit_s": row.limit.seconds,
                "time_limit": row.limit.why,
                "if_needed": row.if_needed,
            }
            for row in listed
        ],
    }
