"""``assay observe CLUSTER -- COMMAND``: sample a cluster during a command or a fixed time, and store a run."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.foundation.errors import SpecificationError
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import repository_option, say
from assay.text import plural

if TYPE_CHECKING:
    from assay.execution.campaign.attempts.run_context import CompletedRun
    from assay.model import Cluster


@click.command(context_settings={"ignore_unknown_options": True}, cls=AssayCommand)
@click.argument("cluster", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--for", "duration", metavar="DURATION", help="Observe for this time, such as 10min, instead of a command."
)
@repository_option
def observe(cluster: Path, command: tuple[str, ...], duration: str | None, repository: Path) -> None:
    """Sample every host of the file CLUSTER while COMMAND runs on this machine, and store the result as a run.

    The hosts are not changed. Only the name of the program is stored, not its arguments. The exit code is that of
    COMMAND.
    """
    from assay.execution.campaign.cluster_hosts import hosts_for
    from assay.foundation.process import terminable
    from assay.foundation.units import parse_duration
    from assay.questions.commands import command as command_of
    from assay.questions.commands import repository_options
    from assay.specs import load_cluster
    from assay.store import Repository

    if bool(command) == bool(duration):
        raise SpecificationError("give either a command, after --, or a time, with --for DURATION")
    try:
        watch_s = parse_duration(duration) if duration else None
    except ValueError as error:
        raise SpecificationError(f"--for: {error}") from error
    loaded_cluster = load_cluster(cluster)
    opened_repository = Repository.create(repository)
    with terminable(), hosts_for(loaded_cluster, say) as (reachable_cluster, _):
        completed_run = asyncio.run(_watch(reachable_cluster, command, watch_s))
    opened_repository.publish(
        completed_run.run, tasks=completed_run.tasks, trace=completed_run.trace, logs=completed_run.logs
    )
    run = completed_run.run
    counts = f"{plural(len(run.jobs), 'job')}, {plural(len(completed_run.tasks), 'task attempt')}"
    say(f"stored as run {run.run_id}: {run.duration_s:.1f} s, {counts}")
    say(f"next: {command_of('show', run.run_id[:13], options=repository_options(repository))}")
    if run.cause:
        sys.exit(1)


async def _watch(cluster: Cluster, command: Sequence[str], watch_s: float | None) -> CompletedRun:
    from assay.execution.campaign.attempts.runner import connect
    from assay.execution.campaign.external_runs import ObservationRequest, unchanged_result
    from assay.execution.campaign.external_runs import observe as observe_cluster
    from assay.execution.engines.hadoop.jobs.observed_jobs import history_reader

    async def run() -> int | None:
        if watch_s is not None:
            await asyncio.sleep(watch_s)
            return None
        try:
            process = await asyncio.create_subprocess_exec(*command)
        except OSError as error:
            raise SpecificationError(f"cannot run the command: {error}", where=command[0]) from error
        try:
            return await process.wait()
        except asyncio.CancelledError:
            process.terminate()
            await process.wait()
            raise

    title = Path(command[0]).name if command else f"{watch_s:g} s"
    async with AsyncExitStack() as stack:
        transports = await connect(cluster, stack)
        say(f"observing {plural(len(transports), 'host')}: {title}")
        reader = await history_reader(cluster, transports, say) if cluster.attached else unchanged_result
        engine = "hadoop" if cluster.attached else "unknown"
        return await observe_cluster(cluster, transports, ObservationRequest(title, run), engine=engine, reader=reader)
