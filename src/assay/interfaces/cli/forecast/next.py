"""``assay next`` and ``assay characterise``: which runs to make, so that least is left in doubt."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.foundation.errors import SpecificationError
from assay.foundation.units import format_duration
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import json_option, print_json, print_table, repository_option
from assay.questions.json_values import json_value
from assay.text import column_title, interval_s, level_text, seconds

if TYPE_CHECKING:
    from assay.store import Repository


@click.command("next", cls=AssayCommand)
@click.option("--budget", required=True, metavar="N runs|DURATION", help="So many runs (20runs), or so much time (2h).")
@click.option("--where", multiple=True, metavar="COLUMN=LEVEL", help="Only configurations with this level; repeatable.")
@click.option(
    "--about",
    default="surface",
    show_default=True,
    metavar="surface|FACTOR",
    help="What is in doubt: every configuration's time, or how a factor's levels compare.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write them as a plan that assay run takes."
)
@click.option(
    "--like",
    type=click.Path(path_type=Path),
    metavar="PLAN",
    help="With -o: a plan whose cluster, data, options and parameters hold; else that of the newest campaign.",
)
@json_option
@repository_option
def next_command(
    budget: str,
    where: tuple[str, ...],
    about: str,
    output: Path | None,
    like: Path | None,
    as_json: bool,
    repository: Path,
) -> None:
    """Which configurations to run next: those after which least doubt is left, the most telling first."""
    from assay.questions.forecasts.next_runs import budget_of, next_runs
    from assay.store import Repository

    if like is not None and output is None:
        raise SpecificationError("--like says what a plan file goes by", hint="name the file to write: -o plan.yaml")
    opened = Repository.open(repository)
    found = next_runs(opened, where, about, budget_of(budget))
    if output is not None:
        _write(opened, [{**found.same, **run.configuration} for run in found.runs], output, like)
    if as_json:
        print_json(json_value(found))
        return
    for notice in found.notices:
        click.echo(f"note: {notice}")
    names = list(found.runs[0].configuration) if found.runs else []
    cells = [
        (
            str(number),
            *(level_text(name, run.configuration[name]) for name in names),
            seconds(run.expected_s),
            interval_s(run.low_s, run.high_s),
            f"{run.doubt_left:.1%}",
        )
        for number, run in enumerate(found.runs, start=1)
    ]
    headers = ("", *map(column_title, names), "Predicted (s)", "90 % interval", "Doubt left")
    print_table(headers, cells)
    total_s = sum(run.expected_s for run in found.runs)
    click.echo(
        f"{len(found.runs)} of {found.candidates:,} configurations that nobody ran, beside {found.measured:,} run: "
        f"about {format_duration(total_s)}. Doubt: standard deviation of what is asked ({found.about}), "
        f"{found.doubt:.1%} now; all of it predicted."
    )
    if found.same:
        alike = ", ".join(f"{column_title(name)} {level_text(name, level)}" for name, level in found.same.items())
        click.echo(f"Alike in all: {alike}.")


def _write(repository: Repository, configurations: list[dict[str, str]], output: Path, like: Path | None) -> None:
    """Write the plan, and its cluster file beside it where no file of it is known; say what it has, and what not."""
    from assay.execution.planning.plan_files.plan_reader import load_plan
    from assay.foundation.output import write_whole
    from assay.questions.forecasts.next_plan import newest_plan, next_plan

    clusters = {one.get("cluster") for one in configurations}
    base = load_plan(like) if like else newest_plan(repository, clusters.pop() if len(clusters) == 1 else None)
    if like:
        cluster = Path(os.path.relpath(like.parent / base.cluster_file, output.parent))
    else:
        cluster = Path(f"{output.stem}-cluster.yaml")
    made = next_plan(configurations, replace(base, cluster_file=str(cluster)))
    if not like:
        write_whole(output.parent / cluster, base.cluster_source.encode())
    write_whole(output, made.plan.source.encode())
    for words in made.notices:
        click.echo(f"note: {words}", err=True)
    for reason, count in made.left_out.items():
        click.echo(f"left out, {count}: {reason}", err=True)
    click.echo(
        f"{output}: {made.runs} runs, by the plan {base.name}; `assay run {output} --dry-run` shows them", err=True
    )
