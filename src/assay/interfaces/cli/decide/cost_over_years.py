"""Print jobs per day, jobs over years, and cost per job, for ``assay cost --years``.

The tables have the form of tables 4 to 7 of the SanDisk study.
"""

from pathlib import Path

import click

from assay.interfaces.cli.common import print_json, print_rows
from assay.interfaces.cli.decide.decision_text import print_decisions, print_over_years
from assay.interfaces.cli.repository_runs import read_flagged
from assay.questions.costs.cost_json import cost_over_years_json
from assay.questions.costs.job_cost import CostView
from assay.questions.costs.years_of_use import JobCostRequest, job_costs
from assay.text import (
    NO_VALUE,
    jobs_text,
    layout_text,
    money,
    money_interval,
    outlier_runs_text,
    price_text,
    rate,
    ratio,
    seconds,
)


def _print_job_costs(view: CostView, limit: int | None) -> None:
    if view.note:
        click.echo(f"{view.note}\n")
    titles = view.titles_of(view.rows)
    if titles.shared:
        click.echo(f"All jobs have {', '.join(titles.shared)}.\n")
    results = [
        (
            titles.by_workload[r.workload],
            layout_text(r.layout),
            seconds(r.runtime_s),
            rate(view.aggregate_mb_per_s(r)),
            str(r.n),
        )
        for r in view.rows
    ]
    headers = ("Workload", "Storage layout", "Run time (s)", "Gated aggregate (MB/s)", "Runs")
    print_rows(headers, results, limit=limit, title="Results")
    click.echo()
    jobs = [
        (
            titles.by_workload[r.workload],
            layout_text(r.layout),
            seconds(r.runtime_s),
            jobs_text(r.jobs_per_day),
            jobs_text(r.jobs),
        )
        for r in view.rows
    ]
    jobs_title = f"Jobs in {view.years:g} years"
    print_rows(
        ("Workload", "Storage layout", "Run time (s)", "Jobs per day", jobs_title), jobs, limit=limit, title=jobs_title
    )
    click.echo()
    lines = [
        (
            layout_text(layout),
            line.name,
            str(line.count),
            price_text(line.amount, view.currency),
            money(float(line.total), view.currency),
        )
        for layout, bill in view.bills.items()
        for line in bill.items
    ]
    title = f"Prices: {view.book} of {view.date} ({view.source})"
    print_rows(("Storage layout", "Item", "Number", "Unit price", "Total"), lines, limit=limit, title=title)
    click.echo()
    costs = [
        (
            titles.by_workload[r.workload],
            layout_text(r.layout),
            money(float(r.price), r.currency),
            jobs_text(r.jobs),
            money(r.cost_per_job, r.currency),
            money_interval(r.cost_per_job_low, r.cost_per_job_high, r.currency),
        )
        for r in view.rows
    ]
    columns = ("Workload", "Storage layout", "Price", jobs_title, "Cost per job", "95 % interval")
    print_rows(columns, costs, limit=limit, title="Cost per job")


def _print_performance(view: CostView, limit: int | None) -> None:
    """Print cost per performance and cost per capacity of each compared layout, relative to the baseline."""
    if not view.performance:
        return
    click.echo()
    rows = [
        (
            layout_text(p.layout),
            ratio(p.price_ratio),
            ratio(p.mean_gain),
            str(p.workloads),
            ratio(p.cost_per_performance),
            NO_VALUE if p.capacity_tb is None else f"{p.capacity_tb:g}",
            ratio(p.cost_per_capacity),
        )
        for p in view.performance
    ]
    headers = (
        "Storage layout",
        "Price ratio",
        "Mean gain",
        "Workloads",
        "Cost per performance",
        "Capacity (TB)",
        "Cost per capacity",
    )
    title = f"Cost per performance and per capacity, relative to {layout_text(view.baseline)}"
    print_rows(headers, rows, limit=limit, title=title)


def print_costs_over_years(
    repository: Path, request: JobCostRequest, limit: int | None, *, details: bool, as_json: bool
) -> None:
    """Print the cheapest options over the years of the request.

    ``details``: also print the decision on layouts and the cost of jobs. They are always printed where no options can
    be compared.
    """
    opened_repository, flagged, _ = read_flagged(repository, request.where)
    costs = job_costs(opened_repository, flagged.table, request)
    view = costs.view
    if as_json:
        print_json(cost_over_years_json(costs))
        return
    if costs.over_years is not None:
        print_over_years(costs.over_years, all_options=details)
        if not details:
            click.echo("\nJobs and costs of each storage layout: --details. All rows: --all.")
            return
        click.echo()
    print_decisions(costs.decisions, rows=limit)
    click.echo()
    if costs.tables_scope:
        click.echo(costs.tables_scope)
    _print_job_costs(view, limit)
    _print_performance(view, limit)
    for layout, reason in view.unpriced.items():
        click.echo(f"left out: {layout_text(layout)}: {reason}")
    if costs.excluded:
        click.echo(f"{outlier_runs_text(costs.excluded)}, and left out.")
