"""``assay whatif``: simulate measured runs after changes to cluster, data or settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import (
    all_option,
    json_option,
    print_json,
    print_rows,
    repository_option,
    row_limit,
    where_option,
)

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
    help="Change to simulate: layout=SS2, workers.count=12, nic=25Gbit/s, worker.devices.ssd.count=2, containers=16, "
    "data=10TB, any engine parameter; repeatable.",
)
@where_option
@all_option
@click.option("--prices", type=click.Path(path_type=Path), help="Price book (YAML): adds the cost of a run.")
@click.option(
    "--profile", type=click.Path(path_type=Path), help="Simulation profile. Default: learned from these runs."
)
@click.option(
    "--learn-from",
    type=click.Path(path_type=Path, file_okay=False),
    help="Learn the profile from the measured runs of this repository that match --where.",
)
@click.option(
    "--cluster",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Cluster file of the measured runs, if neither the repository nor the bundles have it.",
)
@json_option
@repository_option
def whatif(
    target: str,
    changes: tuple[str, ...],
    where: tuple[str, ...],
    every: bool,
    prices: Path | None,
    profile: Path | None,
    learn_from: Path | None,
    cluster: Path | None,
    as_json: bool,
    repository: Path,
) -> None:
    """Simulate measured runs on a changed cluster.

    TARGET is the beginning of a run id or campaign id, or the name of a plan. Default: all measured runs. The
    simulation is corrected by its error on the measured configurations. Each time has a 90 % interval. The
    assumptions follow.
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
    _show(answers, row_limit(every))


def _headline(answers: tuple[WhatIf, ...]) -> str:
    """Return a sentence with the simulated speedup of a configuration, or the range over several configurations."""
    from assay.text import plural, workload_title

    changed = ", ".join(f"{name}={value}" for name, value in answers[0].changes.items())
    first = answers[0]
    if len(answers) == 1:
        what, speedup = f"{workload_title(first.workload)} on {first.configuration}", f"{first.ratio:.2f}×"
        within = f"90 % interval {first.ratio_low:.2f} to {first.ratio_high:.2f}"
    else:
        low, high = min(answer.ratio for answer in answers), max(answer.ratio for answer in answers)
        what = f"{plural(len({answer.workload for answer in answers}), 'workload')}"
        speedup = f"{low:.2f}×" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f}× to {high:.2f}×"
        within = f"over {plural(len(answers), 'configuration')}"
    verb = "is" if len({answer.workload for answer in answers}) == 1 else "are"
    return f"With {changed}, {what} {verb} {speedup} as fast ({within}), simulated."


def _show(answers: tuple[WhatIf, ...], limit: int | None) -> None:
    from assay.questions.forecasts.whatif import verdict_of
    from assay.text import interval_s, seconds

    click.secho(f"{_headline(answers)} {verdict_of(answers)}", bold=True)

    priced = any(answer.cost_before is not None for answer in answers)
    headers = ["Workload", "Measured on", "Runs", "Measured (s)", "Simulated (s)", "90 % of runs (s)", "Speedup"]
    headers += ["Limit before", "Limit after", *(["Cost before", "Cost after"] if priced else [])]
    rows = []
    for answer in answers:
        row = [
            answer.workload,
            answer.configuration,
            str(answer.n_measured),
            seconds(answer.measured_s),
            seconds(answer.simulated_s),
            interval_s(answer.low_s, answer.high_s),
            f"{answer.ratio:.2f} ({answer.ratio_low:.2f} to {answer.ratio_high:.2f})",
            answer.limit_before,
            answer.limit_after,
        ]
        if priced:
            row += [_money(answer.cost_before, answer.currency), _money(answer.cost_after, answer.currency)]
        rows.append(row)
    print_rows(headers, rows, limit=limit, title="Simulated, and corrected by the error on the measured runs")
    for reason in dict.fromkeys(answer.cost_unknown for answer in answers if answer.cost_unknown):
        click.echo(f"- no cost: {reason}")
    for assumption in dict.fromkeys(text for answer in answers for text in answer.assumptions):
        names = [f"{answer.workload} {answer.configuration}" for answer in answers if assumption in answer.assumptions]
        named = "" if len(names) == len(answers) else f"{', '.join(dict.fromkeys(names))}: "
        click.echo(f"- {named}{assumption}")


def _money(amount: float | None, currency: str) -> str:
    return "–" if amount is None else f"{amount:.4g} {currency}"
