"""``assay campaign``: how campaigns stand, from any terminal, while they go on or afterwards."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.foundation.units import format_duration
from assay.interfaces.cli.command_classes import AssayGroup
from assay.interfaces.cli.common import json_option, print_json, print_table, repository_option
from assay.interfaces.cli.terminal import send_control
from assay.store import Repository

if TYPE_CHECKING:
    from assay.execution.campaign.status import CampaignStatus

_WATCH_INTERVAL_S = 2.0
_CLEAR = "\x1b[H\x1b[2J"


@click.group(invoke_without_command=True, cls=AssayGroup)
@json_option
@repository_option
@click.pass_context
def campaign(context: click.Context, as_json: bool, repository: Path) -> None:
    """Show campaigns: what is done, what goes on, when it should be over. Without a command: their status."""
    if context.invoked_subcommand is None:
        context.invoke(status, repository=repository, as_json=as_json)
    elif as_json:
        raise click.UsageError(f"--json goes behind the command: assay campaign {context.invoked_subcommand} --json")


@campaign.command()
@click.argument("campaign_id", required=False, metavar="[CAMPAIGN]")
@click.option("--watch", is_flag=True, help="Show it again every two seconds, as long as a campaign goes on.")
@json_option
@repository_option
def status(campaign_id: str | None, watch: bool, as_json: bool, repository: Path) -> None:
    """Show how campaigns stand: those that go on, or the newest, or those whose id begins with CAMPAIGN."""
    from assay.questions.runs.campaigns import campaigns_named

    opened = Repository.open(repository)

    while True:
        now = time.time()
        found = campaigns_named(opened, campaign_id, now)
        _show(found, now, as_json=as_json, watch=watch)
        if not watch or not any(one.running for one in found):
            return
        time.sleep(_WATCH_INTERVAL_S)


@campaign.command(name="list")
@json_option
@repository_option
def list_(as_json: bool, repository: Path) -> None:
    """List the repository's campaigns, newest last."""
    from assay.questions.runs.campaigns import campaigns

    found = campaigns(Repository.open(repository), time.time())[::-1]
    if as_json:
        print_json([asdict(one) for one in found])
    elif not found:
        click.echo(f"No campaigns in {repository} yet.\n  → `assay run PLAN` begins one.")
    else:
        rows = [
            (
                one.campaign_id,
                _moment(one.started_unix_s),
                one.plan,
                one.cluster or "",
                _state(one),
                f"{one.done} of {one.planned}",
                str(one.failed),
            )
            for one in found
        ]
        print_table(("campaign", "begun", "plan", "cluster", "state", "done", "failed"), rows)


def _show(found: list[CampaignStatus], now: float, *, as_json: bool, watch: bool) -> None:
    if as_json and watch:  # one line each time, for programs
        click.echo(json.dumps([asdict(one) for one in found], ensure_ascii=False))
    elif as_json:
        print_json([asdict(one) for one in found])
    else:
        if watch and sys.stdout.isatty():
            send_control(_CLEAR, sys.stdout)
        click.echo("\n\n".join("\n".join(status_lines(one, now)) for one in found) or "There is no campaign yet.")


def status_lines(one: CampaignStatus, now: float) -> list[str]:
    """Return one campaign's status for a terminal."""
    lines = [
        f"campaign {one.campaign_id}: plan {one.plan}" + (f" on {one.cluster}" if one.cluster else ""),
        f"  {_state(one)}; {one.done} of {one.planned} runs are done, {one.failed} failed or are invalid",
    ]
    if one.title is not None and one.since_unix_s is not None:
        lines.append(f"  run {one.run} of {one.planned}: {one.title}, for {format_duration(now - one.since_unix_s)}")
    if one.phase:
        lines.append(f"  now: {one.phase}")
    if one.left_s is not None and one.over_unix_s is not None:
        lines.append(f"  about {format_duration(one.left_s)} left, over at {_moment(one.over_unix_s)}")
    for failure in one.failures:
        kind = f" ({failure.failure_class})" if failure.failure_class else ""
        lines.append(f"  {failure.status}{kind} at {_moment(failure.ended_unix_s)}: {failure.title}: {failure.cause}")
    return lines


def _state(one: CampaignStatus) -> str:
    if one.running:
        return f"goes on (process {one.pid})"
    if one.stopped:
        return f"does not run: {one.stopped}"
    if one.planned and one.done >= one.planned:
        return "complete"
    return "does not run: it was cut off" if one.changed_unix_s else "does not run: nothing was begun"


def _moment(unix_s: Any) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(unix_s)) if isinstance(unix_s, int | float) else "not known"
