"""``assay size``: size a cluster from the logs of one job."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.foundation.errors import SpecificationError
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import json_option, print_json, print_rows, say
from assay.interfaces.cli.forecast.recommend import print_changes, print_cost_lines, search_options
from assay.interfaces.cli.terminal import stage_progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.questions.recommendation.size import Shape, SizeAnswer


@click.command(cls=AssayCommand)
@click.argument("logs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--deadline", default="", metavar="TIME", help="Maximum time of the job: 40min.")
@click.option("--budget", default="", metavar="MONEY/h", help='Maximum price of the cluster per hour: "$20/h".')
@click.option(
    "--grow",
    default="1x",
    show_default=True,
    metavar="FACTOR",
    help="Growth of the data: 3x sizes for three times the data of the log.",
)
@click.option(
    "--interruptions",
    default="",
    metavar="SHARE/h",
    help="Share of spot workers that the provider takes away per hour: 5%/h. Adds the mean time with restarts.",
)
@click.option("--catalogue", type=click.Path(path_type=Path), help="Hardware catalogue (YAML) to choose from.")
@click.option("--prices", type=click.Path(path_type=Path), help="Price book (YAML).")
@search_options
@json_option
def size(
    logs: tuple[Path, ...], catalogue: Path | None, prices: Path | None, jobs: int | None, as_json: bool, **fields: Any
) -> None:
    """Size a cluster from LOGS of one job: MapReduce histories (.jhist) or Spark event logs.

    Shows what limits the job and the memory that it needs. With --catalogue and --prices, also shows the clusters that
    run it for the least money. Times are simulated, with 90 % intervals. If a worker gets more than 8 times as much
    data as in the log, times have ranges without a stated probability.
    """
    from assay.estimation.simulator.pool import SimulatorPool
    from assay.execution.planning.plan_files.hardware_file import load_catalogue
    from assay.questions.json_values import json_value
    from assay.questions.recommendation.job_logs import read_job_logs
    from assay.questions.recommendation.size import SizeRequest, describe_job
    from assay.questions.recommendation.size import size as answer_to
    from assay.specs.prices import load_prices

    request = SizeRequest(**fields)
    if (catalogue is None) != (prices is None):
        raise SpecificationError("--catalogue and --prices belong together", hint="give both, or none")
    if catalogue is None and (request.deadline or request.budget):
        raise SpecificationError(
            "--deadline and --budget choose hardware", hint="name it with --catalogue FILE --prices FILE"
        )
    with stage_progress() as progress:
        job_description = read_job_logs(logs, progress)
        if catalogue is None or prices is None:
            answer = describe_job(job_description, request)
        else:
            hardware, book = load_catalogue(catalogue), load_prices(prices)
            if warning := book.age_warning(datetime.now(UTC).date()):
                say(warning)
            with SimulatorPool(jobs) as pool:
                answer = answer_to(job_description, request, hardware, book, pool, progress)
    if as_json:
        print_json(json_value(answer))
        return
    _show(answer, logs)


def _show(answer: SizeAnswer, logs: Sequence[Path]) -> None:
    import assay.questions.recommendation.size_sentences as text

    commands = text.SizeCommands.of(logs)
    for line in (*text.first_sentences(answer, commands), *text.job_sentences(answer), *text.memory_sentences(answer)):
        click.echo(line)
    click.echo()
    if assumptions := list(text.assumption_sentences(answer)):
        click.echo("Assumptions")
        for line in assumptions:
            click.echo(f"- {line}")
        click.echo()
    for line in text.shapes_sentences(answer):
        click.echo(line)
    if answer.shapes:
        rows = [_row(shape, answer) for shape in answer.shapes]
        print_rows(_headers(answer), rows, limit=None, title=text.shapes_title(answer))
        click.echo()
        print_cost_lines(answer.shapes[0], answer.currency)
    print_changes(answer.changes, None)
    for line in text.missing_sentences(answer, commands):
        click.echo(line)


def _headers(answer: SizeAnswer) -> tuple[str, ...]:
    from assay.questions.recommendation.sentences import interval_header

    interval = interval_header(extrapolated=answer.extrapolated)
    constraint_header = ("Keeps constraints in",) if answer.states_kept_share else ()
    return ("Shape", "Time (s)", interval, "Per hour", "Per job", interval, "Limited by", *constraint_header, "Origin")


def _row(shape: Shape, answer: SizeAnswer) -> tuple[str, ...]:
    from assay.analysis.run_profile.tables.limits_tables import limit_title
    from assay.text import money, money_texts, probability, seconds_texts

    amounts = shape.job_cost, shape.job_cost_low, shape.job_cost_high
    return (
        shape.label,
        *seconds_texts(shape.time_s, shape.time_low_s, shape.time_high_s, rough=answer.extrapolated),
        money(shape.rate_per_h, answer.currency),
        *money_texts(*amounts, answer.currency, rough=answer.extrapolated),
        limit_title(shape.limit),
        *((probability(shape.keeps_probability or 0.0),) if answer.states_kept_share else ()),
        shape.origin,
    )
