"""``assay predict``: how long a configuration will take that nobody ran, and how sure that is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.cli.common import json_option, print_json, print_table, repository_option
from assay.questions.json_values import json_value
from assay.wording import column_title, interval_s, level_text, run_id_text, seconds, setting_text, settings_text

if TYPE_CHECKING:
    from assay.questions.prediction import NewCluster, Prediction


@click.command()
@click.option(
    "--where",
    multiple=True,
    required=True,
    metavar="COLUMN=LEVEL,…",
    help="The configuration: workload=terasort,layout=SSD,maps=16; the rest is as it is most often.",
)
@click.option("--cluster", metavar="NAME|FILE", help="The cluster by name, or a cluster file: one that no run knows.")
@json_option
@repository_option
def predict(where: tuple[str, ...], cluster: str | None, as_json: bool, repository: Path) -> None:
    """How long a configuration will take, with the interval of one run, or that nobody can know."""
    from assay.questions.prediction import predicted
    from assay.repository import Repository

    found = predicted(Repository.open(repository), where, _cluster(cluster))
    if as_json:
        print_json(json_value(found))
        return
    for notice in found.notices:
        click.echo(f"note: {notice}")
    _say(found)
    if found.nearest:
        click.echo("\nNearest measured:")
        cells = [
            (
                run_id_text(one.run_id),
                seconds(one.median_s),
                str(one.runs),
                ", ".join(map(setting_text, one.differs)) or "nothing",
            )
            for one in found.nearest
        ]
        print_table(("Run", "Median (s)", "Runs", "Differs in"), cells)


def _cluster(text: str | None) -> NewCluster | None:
    if text is None:
        return None
    from assay.model import Hardware
    from assay.questions.prediction import NewCluster

    if not Path(text).is_file():
        return NewCluster(text, None)
    from assay.spec import load_cluster

    described = load_cluster(text)
    types = [node.type for node in described.workers]
    cores = sum(kind.cores for kind in types) / len(types)
    memory = sum(kind.memory_bytes for kind in types) / len(types) * described.scale
    return NewCluster(described.name, Hardware(len(types), cores, memory))


def _say(found: Prediction) -> None:
    told = ", ".join(f"{column_title(name)} {level_text(name, level)}" for name, level in found.configuration.items())
    click.echo(f"{told}:")
    if found.expected_s is None:
        click.echo("  not known.")
    else:
        within = interval_s(found.low_s, found.high_s)
        click.echo(f"  {seconds(found.expected_s)} s ({found.level:.0%} interval of one run: {within} s), predicted.")
    for reason in found.reasons:
        click.echo(f"  {reason}.")
    click.echo(
        f"It rests on {found.basis}. Learned from {found.runs:,} valid runs of {found.configurations:,} configurations."
    )
    if found.assumed:
        click.echo(f"Not said, so as most often: {settings_text(found.assumed)}.")
