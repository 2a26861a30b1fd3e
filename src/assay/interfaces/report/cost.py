"""Compose the chapters on cost: a job on each layout, and a run on each layout, network and cluster.

In: a report. Out: chapters of a document. Nothing is computed here. Cost ratios and break-even prices are in the
chapters on decisions.
"""

from collections.abc import Mapping

from assay.interfaces.charts.cost_effectiveness import cost_effectiveness_chart
from assay.interfaces.charts.drawing.style import FULL_PX, HALF_PX
from assay.interfaces.report.output.document import (
    Block,
    Chapter,
    Code,
    Fold,
    Heading,
    Level,
    Line,
    Pair,
    Paragraph,
    ReportFigure,
)
from assay.interfaces.report.tables import table, table_blocks
from assay.questions.costs.cost_rows import JobCostEffectiveness, RowGroup
from assay.questions.costs.job_cost import CostView
from assay.questions.report.values import Report
from assay.text import amounts, language, numbers, plural, titles

ROWS_MAX = 5
"""Maximum number of rows of a workload's table."""
JOBS_MAX = 1
"""Maximum number of workloads with a chart and a table."""
UNPRICED_MAX = 5
"""Maximum number of combinations without a price that are named."""

Rows = list[tuple[Line | str, ...]]


def job_cost_chapter(report: Report, figure: ReportFigure | None) -> Chapter | None:
    """Return the chapter on the cost of a job on each layout; None without a price book."""
    cost = report.job_costs
    if cost is None or figure is None:
        return None
    text = (
        f"The purchase price, divided by the number of jobs in {cost.years:g} years of back-to-back use. "
        f"Prices: {cost.book} of {cost.date}, {cost.source}."
    )
    blocks: list[Block] = [
        Paragraph((text,)),
        *([Paragraph((cost.note,), "warn")] if cost.note else []),
        figure,
        *_jobs(cost),
        *_bills(cost),
    ]
    return Chapter("cost", "Cost per job", tuple(blocks), inner=True)


def _jobs(cost: CostView) -> list[Block]:
    titles = cost.titles_of(cost.rows).by_workload
    costs: Rows = [
        (
            titles[row.workload],
            (Level(row.layout),),
            amounts.money(float(row.price), row.currency),
            amounts.money(row.cost_per_job, row.currency),
            amounts.money_interval(row.cost_per_job_low, row.cost_per_job_high, row.currency),
        )
        for row in cost.rows
    ]
    times: Rows = [
        (
            titles[row.workload],
            (Level(row.layout),),
            numbers.seconds(row.runtime_s),
            str(row.n),
            numbers.rate(cost.aggregate_mb_per_s(row)),
            numbers.jobs_text(row.jobs_per_day),
            numbers.jobs_text(row.jobs),
        )
        for row in cost.rows
    ]
    cost_columns = ("Workload", "Layout", "#Price", "#Cost per job", "#95 % interval")
    time_columns = (
        "Workload",
        "Layout",
        "#Run time (s)",
        "#Runs",
        "#Gated aggregate (MB/s)",
        "#Jobs per day",
        f"#Jobs in {cost.years:g} years",
    )
    return [
        *table_blocks(table(cost_columns, costs, "Cost per job"), "cost-per-job"),
        *table_blocks(table(time_columns, times, "Run times and jobs"), "run-times-and-jobs"),
    ]


def _bills(cost: CostView) -> tuple[Block, ...]:
    rows: Rows = [
        (
            (Level(layout),),
            item.name,
            str(item.count),
            amounts.price_text(item.amount, cost.currency),
            amounts.money(float(item.total), cost.currency),
        )
        for layout, bill in cost.bills.items()
        for item in bill.items
    ]
    full_table = table(("Layout", "Item", "#Number", "#Unit price", "#Total"), rows, "Components of the price")
    return table_blocks(full_table, "components-of-the-price")


def run_cost_chapter(report: Report, palette: Mapping[str, str]) -> Chapter | None:
    """Return the chapter on time and cost of a run on each layout, network and cluster; None without prices."""
    costs = report.run_costs
    views = [view for view in costs.jobs if view.rows] if costs else []
    if costs is None or not views:
        return None
    titled_views = [(titles.workload_title(view.job.get("workload", "")), view) for view in views]
    first_view = views[0]
    blocks: list[Block] = [
        Paragraph(
            (
                "The answers compare runs that are equal in everything except what makes a row. Tables and charts are "
                "details: means over all valid runs of each row, ranked by the answer. ",
                Code("assay cost"),
                f" also shows switching prices. Prices: {first_view.book}, {first_view.date} ({first_view.source}).",
            )
        )
    ]
    width = FULL_PX if len(titled_views) == 1 else HALF_PX
    cells: list[tuple[Block, ...]] = [
        (Heading(title), *_charts(title, view, f"run-cost-chart-{number}-{language.slug(title)}", palette, width))
        for number, (title, view) in enumerate(titled_views[:JOBS_MAX], start=1)
    ]
    charts: tuple[Block, ...] = cells[0][1:] if len(titled_views) == 1 else (Pair(tuple(cells)),)
    for title, view in titled_views[:JOBS_MAX]:
        blocks.append(Paragraph((f"{title}: {view.headline}" if len(titled_views) > 1 else view.headline,)))
        blocks += _rows(title, view)
    blocks.append(Fold("Time against cost, every row", charts))
    if len(titled_views) > JOBS_MAX:
        blocks.append(Paragraph((f"Not shown: {plural(len(titled_views) - JOBS_MAX, 'further workload')}.",), "soft"))
    blocks += [Paragraph((f"Without a price: {text}.",), "soft") for text in costs.unpriced[:UNPRICED_MAX]]
    if len(costs.unpriced) > UNPRICED_MAX:
        unpriced_text = f"Without a price: {len(costs.unpriced) - UNPRICED_MAX} more. "
        blocks.append(Paragraph((unpriced_text, Code("assay cost"), " lists them."), "soft"))
    return Chapter("run-cost", "Cost per run", tuple(blocks), inner=True)


def _charts(
    title: str, view: JobCostEffectiveness, name: str, palette: Mapping[str, str], width_px: int
) -> list[ReportFigure]:
    """Return a chart of all rows; with several groups, which can't be compared, a chart of each group."""
    return [
        _chart(group.title(title), group, view.currency, f"{name}-{number}" if number > 1 else name, palette, width_px)
        for number, group in enumerate(view.groups, start=1)
    ]


def _chart(
    title: str, group: RowGroup, currency: str, name: str, palette: Mapping[str, str], width_px: int
) -> ReportFigure:
    caption = (
        f"{title}: time and cost of a run, with 95 % intervals; {plural(len(group.rows), 'row')}. "
        "The size of a point grows with the number of runs. The dashed line is the Pareto front."
    )
    return ReportFigure(
        name, lambda width: cost_effectiveness_chart(group.rows, palette, currency, width), caption, width_px
    )


def _rows(title: str, view: JobCostEffectiveness) -> tuple[Block, ...]:
    rows: Rows = [
        (
            *((numbers.NO_VALUE if row.group is None else str(row.group),) if view.further_decisions else ()),
            *(
                titles.level_text(name, row.levels[name]) if name in row.levels else numbers.NO_VALUE
                for name in view.by
            ),
            f"{row.n} of {row.n_all}" if row.n != row.n_all else str(row.n),
            numbers.seconds(row.time_s),
            amounts.money(float(row.rate_per_h), view.currency),
            amounts.money(row.cost, view.currency),
            amounts.money_interval(row.cost_low, row.cost_high, view.currency),
            "yes" if row.on_pareto_front else "no",
            row.verdict.value,
        )
        for row in view.rows
    ]
    columns = (
        *(("#Group",) if view.further_decisions else ()),
        *map(titles.column_title, view.by),
        "#Runs",
        "#Time (s)",
        "#Price per hour",
        "#Cost per run",
        "#95 % interval",
        "Pareto front",
        "Verdict",
    )
    full_table = table(columns, rows, f"{title}: time and cost of a run")
    return table_blocks(full_table, f"cost-per-run-{language.slug(title)}", ROWS_MAX)
