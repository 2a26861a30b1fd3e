"""The page of one run, with its charts, its trace and its logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from assay.charts.one_run import phase_bars, trace_lines
from assay.charts.runs import request_sizes, task_timeline
from assay.charts.style import FULL_PX, PALETTE, Spec
from assay.explain.run_tables import run_sections
from assay.explain.series import SeriesName, series_of
from assay.explain.tasks import timeline
from assay.questions.observed import Observed
from assay.web import api_runs
from assay.web.answering import READERS, Text, page_of, palette
from assay.web.context import Context, ContextOf
from assay.web.rendering import NotFoundError

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, dependencies=READERS)
TRACES: Mapping[str, tuple[str, str, str]] = {
    "disk-read": ("Disk read", "disk:", "read_bytes"),
    "disk-write": ("Disk write", "disk:", "write_bytes"),
    "disk-busy": ("Disk busy", "disk:", "busy_s"),
    "net-receive": ("Network received", "nic:", "receive_bytes"),
    "net-transmit": ("Network sent", "nic:", "transmit_bytes"),
    "cpu-user": ("CPU in user mode", "cpu", "user_s"),
    "cpu-iowait": ("CPU waiting for I/O", "cpu", "iowait_s"),
    "memory-cached": ("Page cache", "memory", "cached_bytes"),
    "memory-dirty": ("Dirty pages", "memory", "dirty_bytes"),
}
"""What of a trace can be looked at: a name for the address, a title, the subjects' beginning, the metric."""


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
    detail = context.store.answer(("run", run_id), lambda _: api_runs.run_detail(context, run_id))
    if detail.run.run_id != run_id:
        return RedirectResponse(f"/runs/{detail.run.run_id}", status_code=307)
    views = {name: view[0] for name, view in TRACES.items() if _of_view(detail.series, name)}
    chosen = trace if trace in views else next(iter(views), None)
    spec = _trace_spec(context, detail.run.run_id, chosen, node, start_s, end_s) if chosen else None
    phases = phase_bars(detail.run.phases, detail.run.duration_s) if detail.run.phases else None
    close = api_runs.close_view(context, run_id)
    return page_of(
        request,
        "run",
        detail=detail,
        run=detail.run,
        phases=phases,
        views=views,
        chosen=chosen,
        trace=spec,
        nodes=sorted({name.node for name in detail.series}),
        node=node,
        start_s=start_s,
        end_s=end_s,
        sections=run_sections(close.run, close.detail, detail.files),
        drawn=_close_charts(close, palette(context.store.table(), "layout")),
    )


def _close_charts(close: Observed, colours_of: Mapping[str, str]) -> dict[str, Spec]:
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


def _of_view(names: Sequence[SeriesName], view: str) -> list[SeriesName]:
    _, subject, metric = TRACES[view]
    return [name for name in names if name.subject.startswith(subject) and name.metric == metric]


def _trace_spec(
    context: Context, run_id: str, view: str, node: str | None, start_s: float | None, end_s: float | None
) -> Spec:
    title, subject, metric = TRACES[view]
    found, trace = api_runs.find_run(context, run_id), context.store.repository.trace(run_id)
    subjects = sorted({name for name in trace.subject if name.startswith(subject)})
    nodes = (node,) if node is not None else ()
    series = series_of(trace, nodes=nodes, subjects=subjects, metrics=(metric,), start_s=start_s, end_s=end_s)
    active = [one for one in series if any(one.values)] or series
    last = max((one.t_s[-1] for one in series if one.t_s), default=found.duration_s)
    return trace_lines(active, title, end_s if end_s is not None else max(found.duration_s, last), start_s or 0.0)


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
    if trace not in TRACES:
        raise NotFoundError("there is no such view of a trace", hint=f"there is {', '.join(TRACES)}")
    return _trace_spec(context, api_runs.find_run(context, run_id).run_id, trace, node, start_s, end_s)


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
