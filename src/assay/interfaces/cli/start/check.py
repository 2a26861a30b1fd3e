"""``assay check CLUSTER``: check whether each host is ready for measurements. Exit code 1: errors."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import json_option, print_json, print_table, say

if TYPE_CHECKING:
    from assay.model import Criterion, Grade, HostCheckReport


@click.command(cls=AssayCommand)
@click.argument("cluster", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@json_option
@click.option("--all", "everything", is_flag=True, help="Also show checks that passed or had no result.")
@click.option("--deep", is_flag=True, help="Also read each disk for a second, to find slow disks.")
@click.option(
    "--bandwidth",
    is_flag=True,
    help="Also send data between each pair of hosts, one second each way, to find slow links.",
)
@click.option(
    "--explain",
    metavar="CHECK",
    help="Explain a check: why it matters, who recommends what, how to change the setting.",
)
@click.option(
    "--keep",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="REPOSITORY",
    help="Store the result in a repository, for `assay serve` and reports.",
)
def check(
    cluster: Path, as_json: bool, everything: bool, deep: bool, bandwidth: bool, explain: str | None, keep: Path | None
) -> None:
    """Check whether the hosts of the file CLUSTER are ready for measurements. Changes nothing.

    Exit code 1: at least one error. Exit code 0: no errors.
    """
    from assay.execution.campaign.cluster_hosts import hosts_for
    from assay.execution.observation.checking import check_hosts
    from assay.foundation.process import terminable
    from assay.model import Grade
    from assay.specs import load_cluster

    if explain:
        _explain(explain)
        return
    loaded_cluster = load_cluster(cluster)
    with terminable(), hosts_for(loaded_cluster, say) as (reachable_cluster, _):
        report = asyncio.run(check_hosts(reachable_cluster, deep=deep, bandwidth=bandwidth))
    if keep:
        from assay.store import Repository
        from assay.store.check_reports import store_check

        path = store_check(Repository.create(keep), report)
        say(f"stored as {path}")
    if as_json:
        import msgspec

        print_json(msgspec.to_builtins(report))
    else:
        _print(report, everything=everything)
    if report.count(Grade.ERROR):
        sys.exit(1)


def _print(report: HostCheckReport, *, everything: bool) -> None:
    from assay.model import Grade

    readings = report.readings if everything else report.problems()
    criteria = {criterion.name: criterion for criterion in report.criteria}
    rows = [
        (
            str(reading.grade),
            reading.host,
            reading.criterion,
            reading.subject,
            reading.message,
            "; ".join(
                f"{advice.value} ({_source_name(advice.source)})" for advice in criteria[reading.criterion].advice
            ),
        )
        for reading in readings
    ]
    if rows:
        print_table(("grade", "host", "check", "subject", "found", "recommended (by)"), rows)
    for host, reason in report.unreachable.items():
        click.echo(f"error  {host}  not reachable: {reason}")
    counts = ", ".join(f"{report.count(grade)} {_plural(grade)}" for grade in reversed(Grade))
    click.echo(
        f"{report.cluster}: {len(report.criteria)} checks on {len(report.hosts)} of "
        f"{len(report.hosts) + len(report.unreachable)} hosts: {counts}"
    )
    if report.problems():
        click.echo("next: assay check CLUSTER --explain CHECK")


def _plural(grade: Grade) -> str:
    plurals = {"error": "errors", "warning": "warnings", "note": "notes"}
    return plurals.get(str(grade), str(grade))


def _source_name(source: str) -> str:
    return source.split(",")[0].split(":")[0]


def _explain(name: str) -> None:
    from assay.analysis.host_checks.catalogue import CRITERIA
    from assay.foundation.errors import SpecificationError
    from assay.specs.fields import unknown

    criterion_by_name: dict[str, Criterion] = {criterion.name: criterion for criterion in CRITERIA}
    if name not in criterion_by_name:
        raise SpecificationError(unknown("check", name, criterion_by_name))
    criterion = criterion_by_name[name]
    click.echo(f"{criterion.name}: {criterion.title}\n\nWhy: {criterion.why}\n\nRecommended:")
    for advice in criterion.advice:
        click.echo(f"  {advice.value}  ({advice.source})")
    click.echo(f"\nTo change it: {criterion.change}")
