"""Render the chapters on cost: which option is the cheapest, then cost per job by layout, or per run by configuration.

In: decisions, cost tables and cost-effectiveness planes. Out: chapters of a document. Nothing is computed here.
"""

from collections.abc import Mapping, Sequence

from assay.charts.plane import cost_plane
from assay.charts.style import FULL_PX, HALF_PX
from assay.questions.decisions.sentences import cost_headline
from assay.questions.job_cost import CostView
from assay.questions.planes import PlaneView
from assay.questions.report_single import SingleReport
from assay.report.chapters import line, table
from assay.report.document import Block, Chapter, Code, Fold, Heading, Level, Line, Pair, Paragraph, ReportFigure
from assay.wording import amounts, language, numbers, ratios

ROWS_SHOWN = 5

Rows = list[tuple[Line | str, ...]]


def cost_chapter(report: SingleReport, figure: ReportFigure | None) -> Chapter | None:
    """Return what a job costs; None without a price book."""
    cost = report.cost
    if cost is None or figure is None:
        return None
    answer = cost_headline(report.decisions[0]) if report.decisions else None
    blocks: list[Block] = [
        *([Paragraph(line(answer))] if answer else []),
        Paragraph(
            line(
                f"Details: the purchase price over the jobs that a cluster completes in {cost.years:g} years of "
                f"back-to-back use. Prices: {cost.book} of {cost.date}, {cost.source}."
            )
        ),
        *([Paragraph(line(cost.note), "warn")] if cost.note else []),
        figure,
        *_ratios(cost),
        *_jobs(cost),
        *_bills(cost),
    ]
    return Chapter("cost", "Cost", tuple(blocks))


def _ratios(cost: CostView) -> list[Block]:
    rows: Rows = [
        (
            cost.titles[r.workload],
            (Level(r.candidate),),
            ratios.ratio(r.price_ratio),
            ratios.ratio(r.ratio),
            ratios.interval(r.ratio_low, r.ratio_high),
        )
        for r in cost.ratios
    ]
    columns = ("Workload", "Layout", "#Price ratio", "#Cost ratio", "#95 % interval")
    return [table(columns, rows, f"Cost per job against {cost.baseline}")] if rows else []


def _jobs(cost: CostView) -> list[Block]:
    times: Rows = [
        (
            cost.titles[row.workload],
            (Level(row.layout),),
            numbers.seconds(row.runtime_s),
            str(row.n),
            numbers.rate(cost.aggregate_mb_per_s(row)),
            numbers.count(row.jobs_per_day),
            numbers.count(row.jobs),
        )
        for row in cost.rows
    ]
    costs: Rows = [
        (
            cost.titles[row.workload],
            (Level(row.layout),),
            amounts.money(float(row.price), row.currency),
            amounts.money(row.cost_per_job, row.currency),
            amounts.money_interval(row.cost_per_job_low, row.cost_per_job_high, row.currency),
        )
        for row in cost.rows
    ]
    first = (
        "Workload",
        "Layout",
        "#Run time (s)",
        "#Runs",
        "#Gated aggregate (MB/s)",
        "#Jobs a day",
        f"#Jobs in {cost.years:g} years",
    )
    second = ("Workload", "Layout", "#Price", "#Cost per job", "#95 % interval")
    return [table(second, costs, "Cost per job"), table(first, times, "Run times and jobs")]


def _bills(cost: CostView) -> list[Block]:
    rows: Rows = [
        (
            (Level(layout),),
            item.name,
            str(item.count),
            amounts.money(float(item.amount), cost.currency),
            amounts.money(float(item.total), cost.currency),
        )
        for layout, bill in cost.bills.items()
        for item in bill.items
    ]
    return [table(("Layout", "Item", "#Number", "#Price of one", "#Together"), rows, "What the price is made of")]


def planes_chapter(
    titled: Sequence[tuple[str, PlaneView]], palette: Mapping[str, str], unpriced: Sequence[str]
) -> Chapter | None:
    """Return what a run costs in each row of each job's plane; None when nothing is priced."""
    if not titled:
        return None
    first = titled[0][1]
    blocks: list[Block] = [
        Paragraph(
            line(
                "The answer compares runs that are equal in everything except what makes a row. Tables and charts are "
                "details: means over all valid runs of each row, ranked by the answer. ",
                Code("assay cost"),
                f" also shows break-even prices. Prices: {first.book}, {first.date} ({first.source}).",
            )
        )
    ]
    wide = FULL_PX if len(titled) == 1 else HALF_PX
    cells: list[tuple[Block, ...]] = [
        (Heading(title), _plane(title, view, f"cost-plane-{place}-{language.slug(title)}", palette, wide))
        for place, (title, view) in enumerate(titled, start=1)
    ]
    planes: tuple[Block, ...] = cells[0][1:] if len(titled) == 1 else (Pair(tuple(cells)),)
    blocks += [
        *(Paragraph(line(f"{title}: {view.headline}" if len(titled) > 1 else view.headline)) for title, view in titled),
        *(_rows(title, view) for title, view in titled),
        Fold("Time against money, every row", planes),
        *(Paragraph(line(f"Left out: {text}."), "soft") for text in unpriced),
    ]
    return Chapter("cost", "Cost", tuple(blocks))


def _plane(title: str, view: PlaneView, name: str, palette: Mapping[str, str], width_px: int) -> ReportFigure:
    caption = (
        f"{title}: time and cost of a run, with 95 % intervals; {language.plural(len(view.rows), 'row')}, each of "
        "all its valid runs. The larger a point, the more runs; the dashed line is the Pareto front."
    )
    return ReportFigure(name, lambda width: cost_plane(view.rows, palette, view.currency, width), caption, width_px)


def _rows(title: str, view: PlaneView) -> Block:
    rows: Rows = [
        (
            *(r.levels.get(name, numbers.NOTHING) for name in view.by),
            f"{r.n} of {r.n_all}" if r.n != r.n_all else str(r.n),
            numbers.seconds(r.time_s),
            amounts.money(float(r.rate_per_h), view.currency),
            amounts.money(r.cost, view.currency),
            amounts.money_interval(r.cost_low, r.cost_high, view.currency),
            "yes" if r.on_front else "no",
            r.verdict.value,
        )
        for r in view.rows[:ROWS_SHOWN]
    ]
    columns = (
        *(language.capitalised(name) for name in view.by),
        "#Runs",
        "#Time (s)",
        "#An hour",
        "#A run",
        "#95 % interval",
        "Pareto front",
        "Verdict",
    )
    part = f" (the first {ROWS_SHOWN} of {len(view.rows)})" if len(view.rows) > ROWS_SHOWN else ""
    return table(columns, rows, f"{title}: time and cost of a run{part}")
