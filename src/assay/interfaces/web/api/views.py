"""Serve views over many runs: comparison, scatter plot, speedup, findings, cost, TCO, campaigns and plans.

In: query parameters or a JSON body. Out: JSON. A view calls the same function as the command for the same question.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from assay.analysis.statistics import RunTable
from assay.foundation.errors import AssayError, SpecificationError
from assay.interfaces.web.api.decisions import decisions_on
from assay.interfaces.web.api.models import CostQuestion, FigureRow, JobCostQuestion
from assay.interfaces.web.state.context import PROBLEMS, READERS, Context, ContextOf, Where
from assay.model import LAYOUT_FACTOR, PriceBook
from assay.questions.claims.findings import FindingsView, findings_view
from assay.questions.comparisons.comparison import ComparisonView, comparison_view
from assay.questions.comparisons.speedup import SpeedupRequest, SpeedupView, published_speedups, speedup_view
from assay.questions.costs.changed_prices import changed_book
from assay.questions.costs.cost_effectiveness import cost_effectiveness
from assay.questions.costs.cost_json import cost_effectiveness_json, cost_over_years_json
from assay.questions.costs.cost_rows import CostEffectivenessRequest, JobCostEffectiveness
from assay.questions.costs.years_of_use import JobCostRequest, JobCosts, job_costs
from assay.questions.decisions.sentences.decision_sentences import answer_of
from assay.questions.runs.campaigns import LISTED_MAX, campaigns, plans
from assay.questions.runs.runs import selected
from assay.questions.runs.scatter import ScatterRequest, ScatterView, scatter
from assay.specs.prices import date_of_option, prices_of
from assay.store.campaigns.plan_texts import PlanText
from assay.store.campaigns.status import CampaignStatus

router = APIRouter(prefix="/api/v1", responses=PROBLEMS, dependencies=READERS, tags=["views"])

RUNS_MAX = 3000
"""Maximum number of runs in a view that reads complete runs."""
Name = Annotated[str | None, Query(max_length=300)]


@router.get("/compare")
def compare(
    context: ContextOf,
    by: Annotated[str, Query(max_length=300)] = LAYOUT_FACTOR,
    baseline: Name = None,
    where: Where = [],  # noqa: B006
) -> ComparisonView:
    """Decide on a factor, with each matched group as a detail."""
    decisions = decisions_on(context, by, baseline, where=where)

    def make(table: RunTable) -> ComparisonView:
        return comparison_view(context.store.repository, selected(table, where), decisions, by, table)

    return context.store.answer(("compare", by, baseline, tuple(where)), make)


@router.get("/scatter")
def get_scatter(
    context: ContextOf,
    x: Annotated[str, Query(max_length=300, description="Metric of the x axis.")] = "",
    y: Annotated[str, Query(max_length=300, description="Metric of the y axis.")] = "duration_s",
    by: Annotated[str, Query(max_length=300, description="Factor of the colour; empty: none.")] = "",
    shape: Annotated[str, Query(max_length=300, description="Factor of the shape; empty: none.")] = "",
    where: Where = [],  # noqa: B006
) -> ScatterView:
    """Return two metrics of the matching valid runs, at most 2,000 of them, with the numbers of runs left out."""
    request = ScatterRequest(x, y, by, shape, tuple(filter(None, where)))
    return context.store.answer(request, lambda _: scatter(context.store.repository, request))


@router.get("/speedup")
def speedup(
    context: ContextOf,
    by: Annotated[list[str], Query(min_length=1, max_length=5, description="Factors; several are combined.")] = [  # noqa: B006
        LAYOUT_FACTOR
    ],
    baseline: Name = None,
    group: Annotated[str, Query(max_length=300, description="Columns that form groups.")] = "workload",
    ignore: Annotated[list[str], Query(max_length=20, description="Factors that may differ in a matched group.")] = [],  # noqa: B006
    where: Where = [],  # noqa: B006
) -> SpeedupView:
    """Decide on a factor, with each level against the baseline over all matched groups as a detail."""
    request = SpeedupRequest(tuple(by), baseline, None if group == "none" else group, tuple(ignore))
    decisions = decisions_on(context, ",".join(by), baseline, ignore, where)

    def make(table: RunTable) -> SpeedupView:
        matching_runs = selected(table, where)
        view = speedup_view(context.store.repository, matching_runs, request)
        return replace(view, decisions=tuple(answer_of(decision) for decision in decisions))

    return context.store.answer(("speedup", request, tuple(where)), make)


@router.get("/speedup/published")
def speedup_published(
    context: ContextOf,
    method: Literal["aloja", "lisa14"],
    by: Annotated[str, Query(max_length=300)] = LAYOUT_FACTOR,
    baseline: Name = None,
    where: Where = [],  # noqa: B006
) -> list[FigureRow]:
    """Return a publication's figure: means over all runs of a level, without matching."""

    def make(table: RunTable) -> list[FigureRow]:
        figures = published_speedups(selected(table, where), by, baseline, method).figures
        return [
            FigureRow(
                workload=figure.workload,
                origin=figure.origin,
                level=figure.level,
                value=figure.value,
                runs=figure.runs,
                spread=figure.spread if math.isfinite(figure.spread) else None,
                configurations=figure.configurations,
            )
            for figure in figures
        ]

    return context.store.answer(("figures", method, by, baseline, tuple(where)), make)


@router.get("/findings")
def findings(
    context: ContextOf,
    where: Where = [],  # noqa: B006
    exclude_flagged: Annotated[bool, Query(description="Exclude runs whose times are outliers.")] = False,
) -> FindingsView:
    """Check the field's common claims against the runs, by origin."""

    def make(table: RunTable) -> FindingsView:
        matching_runs, repository = selected(table, where), context.store.repository
        return findings_view(repository, matching_runs, context.book, all_runs=table, exclude_flagged=exclude_flagged)

    return context.store.answer(("findings", exclude_flagged, tuple(where)), make)


def book_of(context: Context, text: str | None, changes: Mapping[str, float]) -> PriceBook:
    """Return the price book in ``text``, or the server's, with the prices in ``changes``."""
    if text is None and context.book is None:
        raise SpecificationError(
            "there is no price book", where="prices", hint="send one, or start the server with --prices FILE"
        )
    book = context.book if text is None else prices_of(text, "prices")
    assert book is not None
    return changed_book(book, changes)


@dataclass(frozen=True, slots=True)
class PricedJobs:
    """Cost of runs with the server's price book."""

    ranked: tuple[JobCostEffectiveness, ...] = ()
    """Cost of each job, ranked by configuration."""
    unpriced: tuple[JobCostEffectiveness, ...] = ()
    """Jobs without a price in the book."""
    problem: AssayError | None = None
    """The error, if the runs could not be priced."""


def priced_jobs(context: Context, where: Sequence[str] = ()) -> PricedJobs:
    """Return the cost of the matching runs with the server's price book; empty without a book."""
    if context.book is None:
        return PricedJobs()
    try:
        views = run_costs(context, CostQuestion(where=list(where)))
    except AssayError as error:
        return PricedJobs(problem=error)
    return PricedJobs(
        tuple(job_cost for job_cost in views if job_cost.rows),
        tuple(job_cost for job_cost in views if not job_cost.rows),
    )


def run_costs(context: Context, question: CostQuestion) -> list[JobCostEffectiveness]:
    """Return the cost of each job, ranked by configuration; cached until the runs change."""
    day = date_of_option(question.on, "on") if question.on else None

    def make(table: RunTable) -> list[JobCostEffectiveness]:
        request = CostEffectivenessRequest(
            tuple(question.by), question.take, day, question.currency, question.seed, question.exclude_flagged
        )
        matching_runs, book = selected(table, question.where), book_of(context, question.prices, question.changes)
        return cost_effectiveness(context.store.repository, matching_runs, book, request, table)

    return context.store.answer(("cost", question.model_dump_json()), make)


@router.post("/cost")
def cost(context: ContextOf, question: CostQuestion) -> list[dict[str, Any]]:
    """Price runs, as `assay cost --json`: ranking, Pareto front, switching prices. Nothing is stored."""
    return [cost_effectiveness_json(view) for view in run_costs(context, question)]


def job_costs_answer(context: Context, question: JobCostQuestion) -> JobCosts:
    """Return the number of jobs, and their cost, over the years of use."""

    def make(table: RunTable) -> JobCosts:
        request = JobCostRequest(
            prices=book_of(context, question.prices, question.changes),
            where=tuple(question.where),
            years=question.years,
            rounding=question.rounding,
            baseline=question.baseline,
            exclude_flagged=question.exclude_flagged,
            runs_max=RUNS_MAX,
        )
        return job_costs(context.store.repository, table, request)

    return context.store.answer(("tco", question.model_dump_json()), make)


@router.post("/tco")
def job_cost_over_years(context: ContextOf, question: JobCostQuestion) -> dict[str, Any]:
    """Price a job over years of use, as `assay cost --years N --json`. Nothing is stored."""
    return cost_over_years_json(job_costs_answer(context, question))


@router.get("/campaigns")
def list_campaigns(context: ContextOf) -> list[CampaignStatus]:
    """List the campaigns with their progress, newest first."""
    return campaigns(context.store.repository, time.time(), LISTED_MAX)


@router.get("/plans")
def list_plans(context: ContextOf) -> list[PlanText]:
    """List the plans of past campaigns, newest first."""
    return plans(context.store.repository)
