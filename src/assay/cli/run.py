"""``assay run PLAN``: carry out a plan, or go on with an interrupted one."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import click

from assay.cli.common import json_option, print_json, repository_option
from assay.lab.signals import ENDING, terminable

T = TypeVar("T")


@click.command()
@click.argument("plan", type=click.Path(path_type=Path))
@repository_option
@json_option
@click.option("--dry-run", is_flag=True, help="Print the schedule and the expected time; run nothing.")
@click.option("--again", is_flag=True, help="When the plan is complete, run all of it once more.")
@click.option("--baseline/--no-baseline", default=True, help="Measure devices and links first (not on localhost).")
def run(plan: Path, repository: Path, as_json: bool, dry_run: bool, again: bool, baseline: bool) -> None:
    """Carry out PLAN, or go on where an earlier call was interrupted; finished runs are never repeated."""
    summary = run_plan(plan, repository, dry_run=dry_run, again=again, baseline=baseline)
    if as_json:
        print_json(summary)
    statuses = summary.get("statuses") or {}
    if isinstance(statuses, dict) and (statuses.get("failed") or statuses.get("invalid")):
        sys.exit(1)


def run_plan(path: Path, root: Path, *, dry_run: bool, again: bool, baseline: bool) -> dict[str, object]:
    """Carry out a plan with progress on stderr and return what was done as plain values."""
    from assay.campaign.runner import carry_out, plan_lines, prepare
    from assay.campaign.site import hosts_for
    from assay.cli.progress import CampaignDisplay
    from assay.repository import Repository
    from assay.spec import load_plan

    plan = load_plan(path)
    repository = Repository.create(root)
    todo = prepare(plan, repository, again=again)
    with CampaignDisplay() as display:
        display.say(f"plan {plan.name}: {plan_lines(plan, todo, repository.root)[0]}")
        for line in plan_lines(plan, todo, repository.root)[1:]:
            display.say(line)
        if dry_run:
            for planned, number in todo.left:
                display.say(f"{planned.index + 1:4} {planned.title}{f', attempt {number}' if number > 1 else ''}")
        if dry_run or not todo.left:
            if not todo.left:
                display.say("nothing is left to run; --again runs the plan once more")
            return {"campaign_id": todo.journal.campaign_id, "planned": len(todo.runs), "left": len(todo.left)}
        with terminable(), hosts_for(plan.cluster, display.step) as (cluster, facts):
            work = carry_out(plan, cluster, facts, repository, todo, display, with_baseline=baseline)
            summary = run_interruptibly(work)
        counts = ", ".join(f"{count} {status}" for status, count in summary.statuses.items())
        display.say(f"{summary.made} runs made ({counts}), {summary.already_there} were there already")
    return {
        "campaign_id": summary.campaign_id,
        "planned": summary.planned,
        "made": summary.made,
        "already_there": summary.already_there,
        "statuses": dict(summary.statuses),
    }


def run_interruptibly(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` to its end; the first Ctrl-C, SIGTERM or SIGHUP cancels it, and it cleans up undisturbed."""

    async def main() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def cancel() -> None:
            if not task.cancelling():
                click.echo("stopping; finished runs are kept", err=True)
                task.cancel()

        for number in ENDING:
            loop.add_signal_handler(number, cancel)
        return await work

    try:
        return asyncio.run(main())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
