"""``assay whatif``: what measured runs would take on another cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import json_option, print_json, print_table, repository_option

if TYPE_CHECKING:
    from assay.questions.forecasts.whatif import WhatIf


@click.command(cls=AssayCommand)
@click.argument("target", required=False, default="")
@click.option(
    "--set",
    "changes",
    multiple=True,
    required=True,
    metavar="NAME=VALUE",
    help="What is otherwise: layout=SS2, workers.count=12, nic=25Gbit/s, worker.devices.ssd.count=2, containers=16, "
    "data=10TB, any engine parameter; repeatable.",
)
@click.option("--where", multiple=True, metavar="COLUMN=LEVEL", help="Only of measured runs that match; repeatable.")
@click.option("--prices", type=click.Path(path_type=Path), help="A price book: also what a run costs.")
@click.option("--profile", type=click.Path(path_type=Path), help="A profile instead of what these runs teach.")
@click.option(
    "--learn-from",
    type=click.Path(path_type=Path, file_okay=False),
    help="A repository whose measured runs teach the profile instead, narrowed by --where.",
)
@click.option(
    "--cluster",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The cluster file of the measured runs, where neither the repository nor their bundles carry it.",
)
@json_option
@repository_option
def whatif(
    target: str,
    changes: tuple[str, ...],
    where: tuple[str, ...],
    prices: Path | None,
    profile: Path | None,
    learn_from: Path | None,
    cluster: Path | None,
    as_json: bool,
    repository: Path,
) -> None:
    """Predict what measured runs would take on another cluster, by simulation.

    TARGET is the beginning of a run's or a campaign's id, or a plan's name; all measured runs that match when it is
    left out. What was measured anchors the answer, and nothing but these runs is looked at. A simulated time has an
    interval that holds nine of ten runs, and its assumptions stand below it.
    """
    from assay.execution.planning.plan_files.changed_plan import parse_question
    from assay.interfaces.cli.forecast.learn import profile_from
    from assay.questions.forecasts.whatif import WhatIfQuestion, what_if
    from assay.questions.json_values import json_value
    from assay.specs.document import read_document
    from assay.specs.prices import load_prices
    from assay.store import Repository

    described = read_document(cluster).text if cluster else ""
    asked = WhatIfQuestion(parse_question(changes), where, target, described)
    book = load_prices(prices) if prices else None
    known = profile_from([profile] if profile else [], learn_from, where) if profile or learn_from else None
    answers = what_if(Repository.open(repository), asked, book, known)
    if as_json:
        print_json([json_value(answer) for answer in answers])
        return
    _show(answers)


def _show(answers: tuple[WhatIf, ...]) -> None:
    from assay.text import interval_s, seconds

    priced = any(answer.cost_before is not None for answer in answers)
    headers = ["workload", "measured on", "runs", "measured (s)", "simulated (s)", "90 % of runs (s)", "times as fast"]
    headers += ["limit before", "limit then", *(["cost before", "cost then"] if priced else [])]
    rows = []
    for each in answers:
        row = [
            each.workload,
            each.configuration,
            str(each.n_measured),
            seconds(each.measured_s),
            seconds(each.simulated_s),
            interval_s(each.low_s, each.high_s),
            f"{each.ratio:.2f} ({each.ratio_low:.2f} to {each.ratio_high:.2f})",
            each.limit_before,
            each.limit_after,
        ]
        if priced:
            row += [_money(each.cost_before, each.currency), _money(each.cost_after, each.currency)]
        rows.append(row)
    changed = ", ".join(f"{name}={value}" for name, value in answers[0].changes.items())
    print_table(headers, rows, title=f"with {changed}: simulated, anchored on what was measured")
    for reason in dict.fromkeys(answer.cost_unknown for answer in answers if answer.cost_unknown):
        click.echo(f"- no cost: {reason}")
    for words in dict.fromkeys(words for each in answers for words in each.assumptions):
        told = [each.workload for each in answers if words in each.assumptions]
        named = "" if len(told) == len(answers) else f"{', '.join(dict.fromkeys(told))}: "
        click.echo(f"- {named}{words}")


def _money(amount: float | None, currency: str) -> str:
    return "–" if amount is None else f"{amount:.4g} {currency}"
