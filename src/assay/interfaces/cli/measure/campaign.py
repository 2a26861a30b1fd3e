"""``assay campaign``: show the status of campaigns, from any terminal."""

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
    from assay.store.campaigns.status import CampaignStatus

_WATCH_INTERVAL_S = 2.0
"""Time between two refreshes of ``--watch``, in seconds."""
_CLEAR = "\x1b[H\x1b[2J"


@click.group(invoke_without_command=True, cls=AssayGroup)
@json_option
@repository_option
@click.pass_context
def campaign(context: click.Context, as_json: bool, repository: Path) -> None:
    """Show the status of campaigns: finished runs, the current run, the expected end."""
    if context.invoked_subcommand is None:
        context.invoke(status, repository=repository, as_json=as_json)
    elif as_json:
        raise click.UsageError(f"Put --json after the command: assay campaign {context.invoked_subcommand} --json")


@campaign.command()
@click.argument("campaign_id", required=False, metavar="[CAMPAIGN]")
@click.option("--watch", is_flag=True, help="Refresh every two seconds while a campaign is running.")
@json_option
@repository_option
def status(campaign_id: str | None, watch: bool, as_json: bool, repository: Path) -> None:
    """Show the running campaigns, or the newest, or those whose id begins with CAMPAIGN."""
    from assay.questions.runs.campaigns import campaigns_named

    opened_repository = Repository.open(repository)

    while True:
        now = time.time()
        campaigns = campaigns_named(opened_repository, campaign_id, now)
        _show(campaigns, now, as_json=as_json, watch=watch)
        if not watch or not any(campaign_status.running for campaign_status in campaigns):
            return
        time.sleep(_WATCH_INTERVAL_S)


@campaign.command(name="list")
@json_option
@repository_option
def list_(as_json: bool, repository: Path) -> None:
    """List the campaigns of the repository, newest last."""
    from assay.questions.commands import command, repository_options
    from assay.questions.runs.campaigns import campaigns

    statuses = campaigns(Repository.open(repository), time.time())[::-1]
    if as_json:
        print_json([asdict(campaign_status) for campaign_status in statuses])
    elif not statuses:
        start = command("run", "PLAN", options=repository_options(repository))
        click.echo(f"No campaigns in {repository} yet.\n  → Start one with `{start}`.")
    else:
        rows = [
            (
                campaign_status.campaign_id,
                _time_text(campaign_status.started_unix_s),
                campaign_status.plan,
                campaign_status.cluster or "",
                _state(campaign_status),
                f"{campaign_status.done} of {campaign_status.planned}",
                str(campaign_status.failed),
            )
            for campaign_status in statuses
        ]
        print_table(("campaign", "started", "plan", "cluster", "state", "done", "failed"), rows)


def _show(campaigns: list[CampaignStatus], now: float, *, as_json: bool, watch: bool) -> None:
    if as_json and watch:  # one line per refresh, for programs
        click.echo(json.dumps([asdict(campaign_status) for campaign_status in campaigns], ensure_ascii=False))
    elif as_json:
        print_json([asdict(campaign_status) for campaign_status in campaigns])
    else:
        if watch and sys.stdout.isatty():
            send_control(_CLEAR, sys.stdout)
        click.echo(
            "\n\n".join("\n".join(status_lines(campaign_status, now)) for campaign_status in campaigns)
            or "No campaign yet."
        )


def status_lines(status: CampaignStatus, now: float) -> list[str]:
    """Return the status of a campaign as lines of text. ``now``: Unix time, in seconds."""
    lines = [
        f"campaign {status.campaign_id}: plan {status.plan}" + (f" on {status.cluster}" if status.cluster else ""),
        f"  {_state(status)}; {status.done} of {status.planned} runs done, {status.failed} failed or invalid",
    ]
    if status.title is not None and status.since_unix_s is not None:
        lines.append(
            f"  run {status.run} of {status.planned}: {status.title}, for {format_duration(now - status.since_unix_s)}"
        )
    if status.phase:
        lines.append(f"  now: {status.phase}")
    if status.left_s is not None and status.expected_end_unix_s is not None:
        lines.append(f"  about {format_duration(status.left_s)} left, ends at {_time_text(status.expected_end_unix_s)}")
    for failure in status.failures:
        class_text = f" ({failure.failure_class})" if failure.failure_class else ""
        lines.append(
            f"  {failure.status}{class_text} at {_time_text(failure.ended_unix_s)}: {failure.title}: {failure.cause}"
        )
    return lines


def _state(status: CampaignStatus) -> str:
    if status.running:
        return f"running (process {status.pid})"
    if status.stopped:
        return f"stopped: {status.stopped}"
    if status.planned and status.done >= status.planned:
        return "complete"
    return "interrupted" if status.changed_unix_s else "not started"


def _time_text(unix_s: Any) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(unix_s)) if isinstance(unix_s, int | float) else "unknown"
