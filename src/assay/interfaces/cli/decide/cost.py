"""``assay cost``: print the cheapest configuration: per run with switching prices, or over years of use."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import (
    all_option,
    given_options,
    json_option,
    print_json,
    print_rows,
    repository_option,
    request_of,
    row_limit,
    where_option,
)
from assay.interfaces.cli.decide.cost_over_years import print_costs_over_years
from assay.interfaces.cli.repository_runs import read_flagged
from assay.model import PriceBook
from assay.questions.costs.conclusion import conclusion
from assay.questions.costs.cost_effectiveness import cost_effectiveness
from assay.questions.costs.cost_json import cost_effectiveness_json
from assay.questions.costs.cost_rows import (
    CostEffectivenessRequest,
    CostEffectivenessRow,
    JobCostEffectiveness,
    SwitchingPriceRow,
)
from assay.questions.costs.years_of_use import JobCostRequest
from assay.questions.decisions.ask import decisions_of
from assay.questions.decisions.buyer import CHEAPEST
from assay.questions.decisions.decision import DecisionRequest
from assay.questions.decisions.sentences.cost_sentences import cheapest_sentence, not_compared
from assay.questions.decisions.sentences.option_words import context_text
from assay.text import (
    NO_VALUE,
    column_title,
    level_text,
    levels_text,
    money,
    money_interval,
    outlier_runs_text,
    plural,
    probability,
    seconds,
    settings_text,
    workload_title,
)


def _cells(row: CostEffectivenessRow, view: JobCostEffectiveness) -> tuple[str, ...]:
    return (
        *((NO_VALUE if row.group is None else str(row.group),) if view.further_decisions else ()),
        NO_VALUE if row.rank is None else str(row.rank),
        *(level_text(name, row.levels[name]) if name in row.levels else NO_VALUE for name in view.by),
        str(row.n) if row.n == row.n_all else f"{row.n} of {row.n_all}",
        *((str(row.flagged),) if view.flagged else ()),
        seconds(row.time_s),
        money(float(row.rate_per_h), view.currency),
        money(row.cost, view.currency),
        money_interval(row.cost_low, row.cost_high, view.currency) + (" *" if row.borrowed else ""),
        "yes" if row.on_pareto_front else "no",
        probability(row.pareto_front_probability),
        row.verdict.value,
    )


def _switching_price_text(price: float | None, winner: str | None, view: JobCostEffectiveness) -> str:
    if price is None:
        return NO_VALUE
    title = next(levels_text(row.levels) for row in view.rows if row.label == winner)
    return f"{money(price, view.currency)}: {title}"


def _switching_price_cells(row: SwitchingPriceRow, view: JobCostEffectiveness) -> tuple[str, ...]:
    low, high, currency = float(row.price.low), float(row.price.high), view.currency
    return (
        row.price.name,
        row.price.per,
        money(float(row.price.amount), currency),
        money_interval(low, high, currency) if low < high else NO_VALUE,
        _switching_price_text(row.below, row.below_winner, view),
        _switching_price_text(row.above, row.above_winner, view),
    )


_RUNS_USED = {
    "best": "the best configuration of each row",
    "all": "all runs of each row; other settings may differ",
    "fastest": "the fastest run of each row, so no spread is known",
}


def _remarks(view: JobCostEffectiveness) -> Iterator[str]:
    """Yield the limitations of the ranking: few runs, outliers, unknown data sizes."""
    from assay.analysis.cost.run_cost import SPREAD_RUNS_MIN

    rows_with_pooled_spread = sum(row.borrowed for row in view.rows)
    if rows_with_pooled_spread:
        single_rows = sum(row.n == 1 for row in view.rows)
        rows = plural(rows_with_pooled_spread, "row has", "rows have")
        yield (
            f"* {rows} fewer than {SPREAD_RUNS_MIN} runs ({single_rows} a single run): their intervals use the pooled "
            "spread of all repeated runs of this job."
        )
    if view.flagged:
        remark = "; they count, --exclude-flagged leaves them out" if view.includes_flagged else ", and left out"
        yield f"{outlier_runs_text(view.flagged)}{remark}."
    if not view.size_recorded:
        yield "The source does not record the data size of these runs: they may have different sizes."


def _title(view: JobCostEffectiveness) -> str:
    """Return the job of the rows: ``TeraSort, 4 GB, measured``."""
    job = {name: text for name, text in view.job.items() if name != "workload"}
    return ", ".join(filter(None, (workload_title(view.job.get("workload", "")), context_text(job))))


def _print_jobs(views: Sequence[JobCostEffectiveness], limit: int | None) -> None:
    """Print the cheapest row of each job."""
    rows = [
        (
            _title(view),
            levels_text(row.levels),
            money(row.cost, view.currency),
            money_interval(row.cost_low, row.cost_high, view.currency),
            conclusion(view),
        )
        for view in views
        for row in view.rows[:1]
    ]
    headers = ("Job", "Lowest mean cost on", "Cost per run", "95 % interval", "Verdict")
    print_rows(headers, rows, limit=limit, title="Cost per run of each job, where its mean over all runs is the lowest")
    first_view = views[0]
    for note in dict.fromkeys(view.note for view in views if view.note):
        click.echo(note)
    click.echo(f"Prices: {first_view.book}, {first_view.date} ({first_view.source}).")
    click.echo("Rows of one job: --workload. Rows of every job, with the prices that change their order: --all.")


def _print(view: JobCostEffectiveness, limit: int | None, *, details: bool) -> None:
    title = f"Cost per run: {_title(view)}"
    if not view.rows:
        click.echo(f"{title}: the price book has no price for its hardware")
        return
    click.secho(view.headline, bold=True)
    click.echo(title)
    if view.note:
        click.echo(view.note)
    click.echo()
    headers = (
        *(("Group",) if view.further_decisions else ()),
        "Rank",
        *map(column_title, view.by),
        "Runs",
        *(("Flagged",) if view.flagged else ()),
        "Time (s)",
        "Price per hour",
        "Cost per run",
        "95 % interval",
        "Pareto front",
        "Front in",
        "Verdict",
    )
    rows = [_cells(row, view) for row in view.rows]
    print_rows(headers, rows, limit=limit, title="Details: means over the runs of each row")
    for line in _remarks(view):
        click.echo(line)
    rows_with_configuration = [row for row in view.rows if row.configuration]
    if view.take != "all" and rows_with_configuration:
        click.echo()
        texts = [(levels_text(row.levels), settings_text(row.configuration)) for row in rows_with_configuration]
        print_rows(("Row", "Configuration"), texts, limit=limit, title="Other settings that differ between the rows")
    if details:
        _print_switching_prices(view, limit)
    click.echo()
    click.echo(f"Times: {_RUNS_USED[view.take]}. Prices: {view.book}, {view.date} ({view.source}).")
    if view.draws:
        group_text = " of its group" if view.further_decisions else ""
        click.echo(
            f"Front in: share of {view.draws} simulations of run times and possible prices in which no other row"
            f"{group_text} is both faster and cheaper."
        )
    if not details and view.switching_prices:
        click.echo("Prices at which another row has the lowest mean: --details. All rows: --all.")
    if view.left_out:
        runs_text = plural(view.left_out, "run does", "runs do")
        click.echo(f"{runs_text} not count: invalid, failed, without a time, or warm where others are cold.")
    for label, reason in view.set_apart.items():
        click.echo(f"left out: {label}: {reason}")


def _print_switching_prices(view: JobCostEffectiveness, limit: int | None) -> None:
    click.echo()
    print_rows(
        ("Price", "Per", "Now", "Possible", "Lowest mean changes below", "and above"),
        [_switching_price_cells(row, view) for row in view.switching_prices],
        limit=limit,
        title="Details: the price at which another row has the lowest mean cost"
        f"{' of its group' if view.further_decisions else ''}, all other prices equal",
    )


@click.command("cost", cls=AssayCommand)
@click.option("--prices", type=click.Path(path_type=Path, dir_okay=False), required=True, help="Price book (YAML).")
@click.option(
    "--years",
    type=click.FloatRange(min=0, min_open=True, max=100),
    help="Print the costs over this many years of 365 days: jobs per day, number of jobs, cost per job of each layout.",
)
@click.option(
    "--by", help="Factors whose levels make up a row, joined by commas. Default: layout, network and cluster."
)
@click.option("--workload", help="Only this workload.")
@click.option(
    "--take",
    type=click.Choice(["best", "all", "fastest"]),
    default="all",
    show_default=True,
    help="Runs of a row that count: those of its best configuration, all, or only the fastest.",
)
@click.option(
    "--on", metavar="DATE", help="Use the prices of this day (2026-11-25). Default: the date of the price book."
)
@click.option("--currency", help="Show money in this currency. The price book needs an exchange rate for it.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed for intervals and shares."
)
@click.option(
    "--rounding",
    type=click.Choice(["none", "paper"]),
    default="none",
    show_default=True,
    help="With --years: paper truncates to whole jobs and whole cents, as SanDisk's paper does.",
)
@click.option("--baseline", help="With --years: option to compare with. Default: as in `assay decide`.")
@click.option("--details", is_flag=True, help="Print the tables of every job, and the prices that change their order.")
@click.option("--exclude-flagged", is_flag=True, help="Leave out runs whose times are flagged as outliers.")
@where_option
@all_option
@repository_option
@json_option
@click.pass_context
def cost(
    context: click.Context,
    /,
    prices: Path,
    where: tuple[str, ...],
    details: bool,
    all_rows: bool,
    repository: Path,
    as_json: bool,
    **options: Any,
) -> None:
    """Decide which configuration costs least: per run, with the Pareto front and switching prices, or over years.

    The cost per run uses hourly prices. With --years, it uses purchase prices, or the rent for 24 h a day.
    """
    from assay.specs import load_prices

    where = (*([f"workload={options['workload']}"] if options["workload"] else []), *where)
    years = options["years"]
    per_run, over_years = ("by", "take", "on", "currency", "seed"), ("rounding", "baseline")
    for option in given_options(context, over_years if years is None else per_run):
        raise click.UsageError(f"{option} {'needs' if years is None else 'cannot be combined with'} --years.")
    book = load_prices(prices)
    if years is not None:
        request = request_of(JobCostRequest, options, prices=book, where=where)
        has_details = details or all_rows
        print_costs_over_years(repository, request, row_limit(all_rows), details=has_details, as_json=as_json)
        return
    output = _CostOutput(row_limit(all_rows), details or all_rows, as_json)
    _print_costs_per_run(repository, where, book, _request(book, prices, options), output)


def _request(book: PriceBook, file: Path, options: dict[str, Any]) -> CostEffectivenessRequest:
    """Return the request for the options. Prints a warning if ``--on`` is before the date of the price book."""
    from assay.specs.prices import date_of_option

    factors = tuple(name.strip() for name in options["by"].split(",")) if options["by"] else ()
    day = date_of_option(options["on"], "--on") if options["on"] else None
    if day and day < book.date:
        click.echo(
            f"warning: --on {day} is before {book.date}, the date of {file.name}: prices without a "
            "date may not have applied yet",
            err=True,
        )
    return request_of(CostEffectivenessRequest, options, by=factors, on=day)


@dataclass(frozen=True, slots=True)
class _CostOutput:
    """Output options of the command."""

    rows: int | None
    """Maximum number of rows of a table; None for all rows."""
    details: bool
    as_json: bool


def _print_costs_per_run(
    repository: Path, where: Sequence[str], book: PriceBook, request: CostEffectivenessRequest, output: _CostOutput
) -> None:
    opened_repository, flagged, table = read_flagged(repository, where)
    views = cost_effectiveness(opened_repository, table, book, request, flagged.table)
    if output.as_json:
        print_json([cost_effectiveness_json(view) for view in views])
        return
    if len(views) > 1 and not output.details:
        if request == CostEffectivenessRequest():
            decisions = decisions_of(
                opened_repository, flagged.table, DecisionRequest(CHEAPEST, where=tuple(where), prices=book)
            )
            answer = cheapest_sentence(decisions[0]) if decisions else None
            click.secho(
                answer or "Not compared: no two runs of different hardware are equal in everything else.", bold=True
            )
            if decisions and (omitted_options := not_compared(decisions[0])):
                click.echo(omitted_options)
        _print_jobs([view for view in views if view.rows], output.rows)
    else:
        for index, view in enumerate(views):
            if index:
                click.echo()
            _print(view, output.rows, details=output.details)
    for line in dict.fromkeys(
        f"left out: {label}: {reason}" for view in views for label, reason in view.unpriced.items()
    ):
        click.echo(line)
