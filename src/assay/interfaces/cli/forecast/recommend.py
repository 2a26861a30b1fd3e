"""``assay recommend``: which cluster to have for a mix of work, how sure that is, and what would change it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import RenamedOption, json_option, print_json, print_table
from assay.interfaces.cli.terminal import send_control

if TYPE_CHECKING:
    from assay.questions.recommendation.recommend import Choice, Recommendation
    from assay.questions.recommendation.search import Progress


@click.command(cls=AssayCommand)
@click.option(
    "--workload",
    "workloads",
    multiple=True,
    required=True,
    metavar="NAME:SIZE[:HOW OFTEN[:OPTIONS]]",
    help="What the cluster is for: terasort:1TB:daily, wordcount:200GB:4/day, dfsio-read:1TB:weekly:files=512; "
    "repeatable.",
)
@click.option("--catalogue", required=True, type=click.Path(path_type=Path), help="The hardware to choose from.")
@click.option("--prices", required=True, type=click.Path(path_type=Path), help="The price book.")
@click.option(
    "--budget",
    default="",
    metavar="MONEY",
    help="Maximum spending over the years: 100k (in the price book's currency), '$100,000', 100000USD.",
)
@click.option("--deadline", default="", metavar="TIME", help="Every run ends within this: 2h, 90min.")
@click.option("--capacity", default="", metavar="SIZE", help="Data that HDFS keeps, one copy: 200TB.")
@click.option("--years", type=click.FloatRange(0.1, 100), default=3.0, show_default=True, help="How long it is used.")
@click.option(
    "--minimize",
    "--least",
    "minimize",
    cls=RenamedOption,
    type=click.Choice(["price", "job", "time"]),
    help="Objective: the price over the years (default with a deadline), the cost of a day's work by the hour (default "
    "without), or its time.",
)
@click.option(
    "--confidence",
    "--surely",
    "confidence",
    cls=RenamedOption,
    type=click.FloatRange(0.5, 0.999),
    default=0.9,
    show_default=True,
    help="Minimum share of draws in which every constraint is kept.",
)
@click.option(
    "--simulations", type=click.IntRange(1, 100_000), default=300, show_default=True, help="Clusters simulated at most."
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of the draws.")
@click.option("--jobs", type=click.IntRange(1, 1024), help="Simulators at once; as many as there are cores.")
@click.option("--profile", type=click.Path(path_type=Path), help="A profile instead of the one that comes with assay.")
@click.option(
    "--learn-from",
    type=click.Path(path_type=Path, file_okay=False),
    help="A repository whose measured runs teach the profile, narrowed by --where.",
)
@click.option("--where", multiple=True, metavar="COLUMN=LEVEL", help="Which of that repository's runs; repeatable.")
@json_option
def recommend(
    catalogue: Path,
    prices: Path,
    jobs: int | None,
    profile: Path | None,
    learn_from: Path | None,
    where: tuple[str, ...],
    as_json: bool,
    **fields: Any,
) -> None:
    """Search a catalogue of hardware for the cluster that suits a mix of workloads, by simulation.

    Lower bounds rule out most clusters; those that may be on the Pareto front of money and time are simulated. Every
    time is simulated, with a 90 % interval.
    """
    from assay.estimation.simulator.pool import SimulatorPool
    from assay.execution.planning.plan_files.hardware_file import load_catalogue
    from assay.interfaces.cli.forecast.learn import profile_from
    from assay.questions.json_values import json_value
    from assay.questions.recommendation.recommend import recommend as answer_to
    from assay.questions.recommendation.request import Objective, RecommendRequest
    from assay.specs.prices import load_prices

    minimize = fields.pop("minimize")
    request = RecommendRequest(minimize=Objective(minimize) if minimize else None, **fields)
    hardware, book = load_catalogue(catalogue), load_prices(prices)
    costs = profile_from([profile] if profile else [], learn_from, where)
    with SimulatorPool(jobs) as pool, _progress() as progress:
        answer = answer_to(request, hardware, book, costs, pool, progress)
    if as_json:
        print_json(json_value(answer))
        return
    _show(answer)


@contextmanager
def _progress() -> Iterator[Progress | None]:
    """Show on a terminal what goes on, and about how long it will."""
    if not sys.stderr.isatty():
        yield None
        return
    from assay.foundation.units import format_duration

    begun: dict[str, tuple[float, int]] = {}

    def show(words: str, done: int, most: int) -> None:
        now = time.monotonic()
        since, first = begun.setdefault(words, (now, done))
        left = (now - since) / (done - first) * (most - done) if done > first else None
        told = f", at most {format_duration(left)} left" if left is not None else ""
        send_control("\r\x1b[2K", sys.stderr)
        click.echo(f"{words}: {done} of {most}{told}", nl=False, err=True)

    try:
        yield show
    finally:
        send_control("\r\x1b[2K", sys.stderr)


def _show(found: Recommendation) -> None:
    from assay.questions.recommendation.sentences import front_title, headline, sentences

    for line in headline(found):
        click.echo(line)
    click.echo()
    if found.front:
        print_table(_HEADERS, [_row(one, found) for one in found.front], title=front_title(found))
        click.echo()
    if found.changes:
        rows = [(one.what, one.now, one.at or "no", one.then) for one in found.changes]
        print_table(("What", "now", "changes the answer", "then"), rows, title="What would change the answer?")
        click.echo()
    worthy = [one for one in found.uncertainties if one.share >= 0.005]
    if worthy:
        known = [(one.what, f"{one.share:.0%}", one.measurement) for one in worthy[:5]]
        print_table(("Knowing", "of the uncertainty", "by"), known, title="What would reduce the uncertainty?")
        click.echo()
    print_table(("stage", "left", ""), [(s.name, f"{s.left:,}", s.text) for s in found.stages], title="Search")
    for line in sentences(found):
        click.echo(f"- {line}")


_HEADERS = (
    "Cluster",
    "Price",
    "A day's work (s)",
    "90 %",
    "costs",
    "limit",
    "Front in",
    "Best hardware in",
    "Keeps constraints in",
)


def _row(one: Choice, found: Recommendation) -> tuple[str, ...]:
    from assay.questions.recommendation.sentences import shares_of
    from assay.text import interval_s, money, seconds

    mark = " ◀" if found.chosen is not None and one.label == found.chosen.label else ""
    return (
        one.label + mark,
        money(one.bill, found.currency),
        seconds(one.day_s),
        interval_s(one.day_low_s, one.day_high_s),
        money(one.day_cost, found.currency),
        ", ".join(dict.fromkeys(work.limit for work in one.times)),
        *shares_of(one, found),
    )
