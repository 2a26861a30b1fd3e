"""The page of costs: a price book edited in the page, priced at once, and never written anywhere."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool

from assay.charts.plane import cost_plane
from assay.errors import AssayError, SpecificationError
from assay.web import api_views, shown
from assay.web.context import Context, ContextOf, get_context, require
from assay.web.models import CostQuestion
from assay.web.pages import Text, page_of, palette
from assay.web.security import Role

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse,
                   dependencies=[Depends(require(Role.READ))])  # fmt: skip
PLANES_MAX = 12
"""Workloads that are drawn on one page."""
Take = Literal["best", "all", "fastest"]


@router.get("/cost")
def cost(request: Request, context: ContextOf, workload: Text = None, by: Text = None,
         take: Annotated[Take, Query()] = "best") -> Response:  # fmt: skip
    """Show what runs cost, and the prices to change."""
    table, own = context.store.table(), context.book is not None
    workloads = shown.levels(table, "workload")
    chosen = workload if workload in workloads else ""
    results = _results(context, {"workload": chosen, "by": by or "", "take": take}) if own else {}
    return page_of(
        request, "cost", empty=len(table) == 0, workloads=workloads, workload=chosen, take=take, by=by or "",
        factors=shown.comparable(table), text=context.book_text, has_book=own,
        book_name=context.book.name if context.book else "", **{**_NOTHING, **results},
    )  # fmt: skip


@router.post("/cost/results")
async def results(request: Request) -> Response:
    """Price the runs with the prices that the page sends, and send the part of the page that shows them."""
    form = parse_qs((await request.body()).decode("utf-8", "replace"), keep_blank_values=True)
    asked = {name: values[0] for name, values in form.items()}
    context = get_context(request)
    return page_of(request, "cost_results", **await run_in_threadpool(_results, context, asked))


_NOTHING: dict[str, Any] = {"planes": [], "problem": None, "colours": {}}


def _results(context: Context, asked: dict[str, str]) -> dict[str, Any]:
    """Return what the results show: the planes with their charts, or why there are none."""
    text, workload = asked.get("prices"), asked.get("workload", "")
    if not (text or "").strip():
        if context.book is None:
            return _NOTHING
        text = None
    try:
        question = CostQuestion(
            prices=None if text is None else text.replace("\r\n", "\n"), by=[asked["by"]] if asked.get("by") else [],
            where=[f"workload={workload}"] if workload else [], take=asked.get("take", "best"),
        )  # fmt: skip
        planes = sorted(api_views.planes(context, question), key=lambda plane: not plane.rows)[:PLANES_MAX]
    except ValidationError as error:
        return {**_NOTHING, "problem": SpecificationError(str(error.errors()[0]["msg"]), where="the form")}
    except AssayError as error:
        return {**_NOTHING, "problem": error}
    colours = palette(context.store.table(), "layout")
    return {"planes": [(plane, cost_plane(plane.rows, colours, plane.currency)) for plane in planes],
            "problem": None, "colours": colours}  # fmt: skip
