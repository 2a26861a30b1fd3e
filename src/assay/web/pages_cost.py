"""The page of costs: a price book edited in the page, priced at once, and never written anywhere.

It has two views: what a run costs where time is paid for by the hour, and what a job costs where the hardware is bought
and used for years (``view=years``).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool

from assay.charts.identity import colours_of
from assay.charts.money import cost_bars
from assay.charts.plane import cost_plane
from assay.charts.storage import storage_costs
from assay.errors import AssayError, SpecificationError
from assay.model.plan import LAYOUT_FACTOR
from assay.quality.flagging import TIME_ODD
from assay.questions.job_cost import CostView
from assay.questions.overview import usual_baseline
from assay.questions.runs import comparable, levels_in, selected
from assay.web import api_views
from assay.web.answering import Text, page_of, palette
from assay.web.context import Context, ContextOf, get_context, require
from assay.web.models import CostQuestion, TcoQuestion
from assay.web.security import Role

router = APIRouter(
    include_in_schema=False, default_response_class=HTMLResponse, dependencies=[Depends(require(Role.READ))]
)
PLANES_MAX = 12
"""Workloads that are drawn on one page."""
YEARS = "3"
View = Literal["run", "years"]
Take = Literal["best", "all", "fastest"]


@router.get("/cost")
def cost(
    request: Request,
    context: ContextOf,
    workload: Text = None,
    cluster: Text = None,
    by: Text = None,
    take: Annotated[Take, Query()] = "best",
    view: View = "run",
    years: Annotated[float, Query(gt=0, le=100, allow_inf_nan=False)] = float(YEARS),
    rounding: Literal["none", "paper"] = "none",
) -> Response:
    """Show what runs cost, and the prices to change."""
    table, own = context.store.table(), context.book is not None
    workloads, clusters = levels_in(table, "workload"), levels_in(table, "cluster")
    state = {
        "workload": workload if workload in workloads else "",
        "cluster": cluster if cluster in clusters else "",
        "by": by or "",
        "take": take,
        "view": view,
        "years": f"{years:g}",
        "rounding": rounding,
    }
    results = _results(context, state) if own and len(table) else {}
    return page_of(
        request,
        "cost",
        empty=len(table) == 0,
        workloads=workloads,
        clusters=clusters,
        state=state,
        factors=comparable(table),
        text=context.book_text,
        has_book=own,
        book_name=context.book.name if context.book else "",
        **{**_NOTHING, **results},
    )


@router.post("/cost/results")
async def results(request: Request) -> Response:
    """Price the runs with the prices that the page sends, and send the part of the page that shows them."""
    form = parse_qs((await request.body()).decode("utf-8", "replace"), keep_blank_values=True)
    asked = {name: values[0] for name, values in form.items()}
    context = get_context(request)
    return page_of(request, "cost_results", **await run_in_threadpool(_results, context, asked))


_NOTHING: dict[str, Any] = {
    "odd_kinds": tuple(TIME_ODD),
    "planes": [],
    "more": 0,
    "tco": None,
    "drawn": {},
    "problem": None,
    "colours": {},
}


def _results(context: Context, asked: dict[str, str]) -> dict[str, Any]:
    """Return what the results show: planes or years with their charts, or why there are none."""
    text = asked.get("prices")
    if not (text or "").strip():
        if context.book is None:
            return _NOTHING
        text = None
    prices = None if text is None else text.replace("\r\n", "\n")
    where = [f"{name}={asked[name]}" for name in ("workload", "cluster") if asked.get(name)]
    try:
        if asked.get("view") == "years":
            return _NOTHING | _years(context, asked, prices, where)
        return _NOTHING | _planes(context, asked, prices, where)
    except ValidationError as error:
        return {**_NOTHING, "problem": SpecificationError(str(error.errors()[0]["msg"]), where="the form")}
    except AssayError as error:
        return {**_NOTHING, "problem": error}


def _planes(context: Context, asked: dict[str, str], prices: str | None, where: list[str]) -> dict[str, Any]:
    question = CostQuestion(
        prices=prices, by=[asked["by"]] if asked.get("by") else [], where=where, take=asked.get("take", "best")
    )
    every = sorted(api_views.planes(context, question), key=lambda plane: not plane.rows)
    planes = every[:PLANES_MAX]
    colours = palette(context.store.table(), "layout")
    drawn = [(plane, cost_plane(plane.rows, colours, plane.currency, divide=plane.quadrants)) for plane in planes]
    return {"planes": drawn, "more": len(every) - len(planes), "colours": colours}


def _years(context: Context, asked: dict[str, str], prices: str | None, where: list[str]) -> dict[str, Any]:
    chosen = selected(context.store.table(), where)
    if len(chosen) > api_views.RUNS_MAX:
        raise SpecificationError(
            f"{len(chosen):,} runs match; years are computed from each one whole, {api_views.RUNS_MAX:,} at most",
            hint="choose a workload, and a cluster where there are several",
        )
    baseline = usual_baseline(chosen, LAYOUT_FACTOR)
    question = TcoQuestion(
        prices=prices,
        where=where,
        years=asked.get("years") or YEARS,
        baseline=baseline,
        rounding=asked.get("rounding") or "none",
    )
    view = api_views.tco_view(context, question)
    colours = colours_of([*palette(context.store.table(), "layout"), *view.bills])
    return {"tco": view, "colours": colours, "drawn": _drawn(view, colours)}


def _drawn(view: CostView, colours: dict[str, str]) -> dict[str, Any]:
    found = {"jobs": cost_bars(view.rows, colours, view.titles)} if view.rows else {}
    if any(row.cost_per_capacity is not None for row in view.performance):
        found["storage"] = storage_costs(view.performance, view.baseline, colours)
    return found
