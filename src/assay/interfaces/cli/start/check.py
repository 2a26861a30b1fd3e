"""``assay check CLUSTER``: is each host fit to be measured? Only reads; ends with 1 where errors remain."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import json_option, print_json, print_table, say

if TYPE_CHECKING:
    from assay.model import Criterion, Fitness, Grade


@click.command(cls=AssayCommand)
@click.argument("cluster", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@json_option
@click.option("--all", "everything", is_flag=True, help="Show what is fit as well, and what could not be known.")
@click.option("--deep", is_flag=True, help="Read a second of every disk too, to find one slower than its siblings.")
@click.option(
    "--bandwidth", is_flag=True, help="Send for a second between each two hosts, each way, to find a slow link."
)
@click.option("--explain", metavar="CHECK", help="Say why a check is made, who recommends what, how to change it.")
@click.option(
    "--keep",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="REPOSITORY",
    help="Keep the answer in a repository, for `assay serve` and reports.",
)
def check(
    cluster: Path, as_json: bool, everything: bool, deep: bool, bandwidth: bool, explain: str | None, keep: Path | None
) -> None:
    """Look at every host of the file CLUSTER and say what stands in the way of measuring it. Changes nothing.

    Ends with 1 when there are errors, with 0 when there are warnings and notes only.
    """
    from assay.execution.campaign.cluster_hosts import hosts_for
    from assay.execution.observation.checking import check_hosts
    from assay.foundation.process import terminable
    from assay.model import Grade
    from assay.specs import load_cluster

    if explain:
        _explain(explain)
        return
    said = load_cluster(cluster)
    with terminable(), hosts_for(said, say) as (reachable, _):
        found = asyncio.run(check_hosts(reachable, deep=deep, bandwidth=bandwidth))
    if keep:
        from assay.store import Repository
        from assay.store.kept_checks import keep_check

        path = keep_check(Repository.create(keep), found)
        say(f"kept as {path}")
    if as_json:
        print_json(fitness_json(found))
    else:
        _print(found, everything=everything)
    if found.count(Grade.ERROR):
        sys.exit(1)


def fitness_json(found: Fitness) -> dict[str, Any]:
    """Return everything that was found, as plain values."""
    import msgspec

    tree: dict[str, Any] = msgspec.to_builtins(found)
    return tree


def _print(found: Fitness, *, everything: bool) -> None:
    from assay.model import Grade

    shown = found.readings if everything else found.troubles()
    titles = {each.name: each for each in found.criteria}
    rows = [
        (
            str(each.grade),
            each.host,
            each.criterion,
            each.subject,
            each.found,
            "; ".join(f"{advice.value} ({_short(advice.source)})" for advice in titles[each.criterion].advice),
        )
        for each in shown
    ]
    if rows:
        print_table(("grade", "host", "check", "of", "found", "recommended (by)"), rows)
    for host, words in found.unreached.items():
        click.echo(f"error  {host}  can't be asked: {words}")
    counts = ", ".join(f"{found.count(grade)} {_plural(grade)}" for grade in reversed(Grade))
    click.echo(
        f"{found.cluster}: {len(found.criteria)} checks on {len(found.hosts)} of "
        f"{len(found.hosts) + len(found.unreached)} hosts: {counts}"
    )
    if found.troubles():
        click.echo("why, and how to change it: assay check CLUSTER --explain CHECK")


def _plural(grade: Grade) -> str:
    words = {"error": "errors", "warning": "warnings", "note": "notes"}
    return words.get(str(grade), str(grade))


def _short(source: str) -> str:
    return source.split(",")[0].split(":")[0]


def _explain(name: str) -> None:
    from assay.analysis.host_checks.catalogue import CRITERIA
    from assay.foundation.errors import SpecificationError
    from assay.specs.fields import unknown

    known: dict[str, Criterion] = {each.name: each for each in CRITERIA}
    if name not in known:
        raise SpecificationError(unknown("check", name, known))
    each = known[name]
    click.echo(f"{each.name}: {each.title}\n\nWhy: {each.why}\n\nRecommended:")
    for advice in each.advice:
        click.echo(f"  {advice.value}  ({advice.source})")
    click.echo(f"\nTo change it: {each.change}")
