"""The page of one run, with its charts, its trace and its logs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from assay.charts.one_run import phase_bars, trace_lines
from assay.charts.runs import request_sizes, task_timeline
from assay.charts.style import FULL_PX, PALETTE, Spec
from assay.explain.limits_tables import limit_sections
from assay.explain.run_tables import run_sections
from assay.explain.tasks import timeline
from assay.explain.trace_views import TRACE_VIEWS, TraceView, lines_of, views_of
from assay.questions.flags import flags_of_run
from assay.questions.limits import limits_of_seen
from assay.questions.whole_run import WholeRun
from assay.web import api_runs
from assay.web.answering import READERS, Text, page_of, palette
from assay.web.context import ContextOf
from assay.web.rendering import NotFoundError
from assay.wording.table import TextTable

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, dependencies=READERS)


@router.get("/runs/{run_id}")
def run(
    request: Request,
    context: ContextOf,
    run_id: api_runs.RunId,
    trace: Text = None,
    node: Text = None,
    start_s: Annotated[float | None, Query(allow_inf_nan=False)] = None,
    end_s: Annotated[float | None, Query(allow_inf_nan=False)] = None,
) -> Response:
    """Show one run."""
    close = api_runs.close_view(context, run_id)
    if close.run.run_id != run_id:
        return RedirectResponse(f"/runs/{close.run.run_id}", status_code=307)
    views = views_of([close.trace])
    chosen = trace if trace in views else next(iter(views), None)
    spec = _trace_spec(close, TRACE_VIEWS[chosen], node, start_s, end_s) if chosen else None
    phases = phase_bars(close.run.phases, close.run.duration_s) if close.run.phases else None
    return page_of(
        request,
        "run",
        logs=close.logs,
        run=close.run,
        phases=phases,
        views=views,
        chosen=chosen,
        trace=spec,
        nodes=sorted(set(close.trace.node)),
        node=node,
        start_s=start_s,
        end_s=end_s,
        sections=run_sections(close.run, close.detail, close.files),
        limits=_limit_sections(close),
        flags=flags_of_run(context.store.repository, context.store.flagged(), close.run),
        drawn=_close_charts(close, palette(context.store.table(), "layout")),
    )


def _limit_sections(close: WholeRun) -> tuple[TextTable, ...]:
    found = limits_of_seen(close)
    return limit_sections(found) if found else ()


def _close_charts(close: WholeRun, colours_of: Mapping[str, str]) -> dict[str, Spec]:
    """Return the charts of a run's close view that there is something to draw for."""
    placed, run = timeline(close.tasks).placed, close.run
    end_s = max([run.duration_s, *(each.task.end_s for each in placed)])
    found = {}
    if placed:
        found["tasks"] = task_timeline(placed, end_s, FULL_PX)
    sizes = [(use.transfers.read_request_bytes, use.transfers.write_request_bytes) for use in close.detail.by_purpose]
    if any(size is not None for pair in sizes for size in pair):
        level = run.layout or "this run"
        found["requests"] = request_sizes({level: close.detail.by_purpose}, {level: colours_of.get(level, PALETTE[0])})
    return found


def _trace_spec(close: WholeRun, view: TraceView, node: str | None, start_s: float | None, end_s: float | None) -> Spec:
    series = lines_of(close.trace, view, node=node, start_s=start_s, end_s=end_s)
    last = max((one.t_s[-1] for one in series if one.t_s), default=close.run.duration_s)
    return trace_lines(series, view.title, max(close.run.duration_s, last) if end_s is None else end_s, start_s or 0.0)


@router.get("/runs/{run_id}/trace-chart", response_class=JSONResponse)
def trace_chart(
    context: ContextOf,
    run_id: api_runs.RunId,
    trace: Annotated[str, Query(max_length=100)],
    node: Text = None,
    start_s: Annotated[float | None, Query(allow_inf_nan=False)] = None,
    end_s: Annotated[float | None, Query(allow_inf_nan=False)] = None,
) -> dict[str, Any]:
    """Send the chart of a span of the trace: what zooming asks for."""
    if trace not in TRACE_VIEWS:
        raise NotFoundError("there is no such view of a trace", hint=f"there is {', '.join(TRACE_VIEWS)}")
    return _trace_spec(api_runs.close_view(context, run_id), TRACE_VIEWS[trace], node, start_s, end_s)


@router.get("/runs/{run_id}/logs/{name:path}")
def log(
    request: Request,
    context: ContextOf,
    run_id: api_runs.RunId,
    name: str,
    offset_bytes: Annotated[int, Query(ge=0, le=10**12)] = 0,
) -> Response:
    """Show a part of a log."""
    part = api_runs.log_part(context, run_id, name, offset_bytes)
    return page_of(request, "log", run_id=run_id, part=part)
