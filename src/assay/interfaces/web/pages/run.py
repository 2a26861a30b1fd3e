"""Show the page of a run, with its charts, its trace and its logs.

In: the id of a run, and the span to show. Out: HTML, or a Vega-Lite specification for a zoomed chart.
"""

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse

from assay.analysis.outliers.anomalies import Anomaly
from assay.analysis.run_profile.limits.run_limits import Limits
from assay.analysis.run_profile.tables.environment_tables import environment_tables
from assay.analysis.run_profile.tables.limits_tables import limit_sections
from assay.analysis.run_profile.tables.run_tables import run_sections
from assay.analysis.run_profile.tables.trace_views import GROUPS, groups_of, views_of
from assay.interfaces.charts.drawing.style import PALETTE, Spec
from assay.interfaces.charts.single_runs.durations import duration_histograms
from assay.interfaces.charts.single_runs.run_over_time import DEFAULT_PANELS, Span, run_over_time
from assay.interfaces.charts.single_runs.runs import request_sizes
from assay.interfaces.web.api import profiles as api_profiles
from assay.interfaces.web.api import runs as api_runs
from assay.interfaces.web.rendering.rendering import NotFoundError
from assay.interfaces.web.state.answering import Text, Texts, page_of, palette
from assay.interfaces.web.state.context import READERS, Context, ContextOf
from assay.questions.runs.code_profiles.code_profile import has_recordings, has_times
from assay.questions.runs.complete_run import CompleteRun
from assay.questions.runs.limits import configuration_limit, limits_of_complete_run, run_limit_answer
from assay.questions.runs.log_lines import PART_BYTES, log_hits, log_lines
from assay.questions.trust.flags import flags_of_run

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, dependencies=READERS)
LogName = Annotated[str, Path(max_length=500)]
METHODS_SHOWN = 10
"""Number of methods of a profile that are visible without a click."""


def _span(
    show: Texts = [],  # noqa: B006 - FastAPI copies it
    node: Text = None,
    start_s: Annotated[float | None, Query(allow_inf_nan=False)] = None,
    end_s: Annotated[float | None, Query(allow_inf_nan=False)] = None,
) -> Span:
    return Span(tuple(name for name in GROUPS if name in show) or DEFAULT_PANELS, node or None, start_s, end_s)


SpanOf = Annotated[Span, Depends(_span)]


@router.get("/runs/{run_id}")
def run(request: Request, context: ContextOf, run_id: api_runs.RunId, span: SpanOf) -> Response:
    """Show one run."""
    complete_run = api_runs.complete_run_of(context, run_id)
    if complete_run.run.run_id != run_id:
        return RedirectResponse(f"/runs/{complete_run.run.run_id}", status_code=307)
    views = views_of([complete_run.trace])
    limits = limits_of_complete_run(complete_run)
    return page_of(
        request,
        "run",
        logs=complete_run.logs,
        run=complete_run.run,
        groups=groups_of(views),
        span=span,
        over_time=_over_time(context, complete_run, span),
        # An attempt without a duration was killed before it had a node: Hadoop records the node UNKNOWN.
        nodes=sorted(
            set(complete_run.trace.node) | {task.node for task in complete_run.tasks if task.end_s > task.start_s}
        ),
        sections=run_sections(complete_run.run, complete_run.detail, complete_run.files),
        environment=environment_tables(complete_run.run.environment),
        limit_sentence=_limit_answer(context, limits) if limits else None,
        limits=limit_sections(limits) if limits else (),
        flags=_flags(context, complete_run),
        requests=_requests(complete_run, palette(context.store.table(), "layout")),
        profile=api_profiles.get_code_profile(context, run_id) if has_recordings(complete_run.logs) else None,
        methods_shown=METHODS_SHOWN,
        has_times=has_times(complete_run.logs),
    )


def _limit_answer(context: Context, limits: Limits) -> str:
    store = context.store
    configuration = store.answer(
        ("configuration limit", limits.run_id),
        lambda table: configuration_limit(store.repository, table, limits.run_id),
    )
    return run_limit_answer(limits, configuration)


def _flags(context: Context, complete_run: CompleteRun) -> tuple[Anomaly, ...]:
    store = context.store
    return store.answer(
        ("flags", complete_run.run.run_id), lambda _: flags_of_run(store.repository, store.flagged(), complete_run.run)
    )


def _requests(complete_run: CompleteRun, colours_of: Mapping[str, str]) -> Spec | None:
    """Return the chart of request sizes; None if they are unknown."""
    sizes = [
        (use.transfers.read_request_bytes, use.transfers.write_request_bytes) for use in complete_run.detail.by_purpose
    ]
    if all(size is None for pair in sizes for size in pair):
        return None
    level = complete_run.run.layout or "this run"
    return request_sizes({level: complete_run.detail.by_purpose}, {level: colours_of.get(level, PALETTE[0])})


def _over_time(context: Context, complete_run: CompleteRun, span: Span) -> Spec | None:
    """Return the chart of the run over time, with its code if it was profiled."""
    has_code_times = has_times(complete_run.logs) and not span.node
    code = api_profiles.get_code_over_time(context, complete_run.run.run_id) if has_code_times else None
    return run_over_time(complete_run, span, limits_of_complete_run(complete_run), code)


@router.get("/runs/{run_id}/tasks")
def tasks(
    request: Request, context: ContextOf, run_id: api_runs.RunId, node: Text = None, job: Text = None
) -> Response:
    """Show how long the run's tasks took, by phase and node, and which are outliers."""
    answer = api_runs.get_task_durations(context, run_id, node or None, job or None)
    histograms = duration_histograms(answer.phases) if answer.phases else None
    return page_of(request, "tasks", durations=answer, histograms=histograms, run=api_runs.find_run(context, run_id))


@router.get("/runs/{run_id}/over-time", response_class=JSONResponse)
def get_over_time(context: ContextOf, run_id: api_runs.RunId, span: SpanOf) -> dict[str, Any]:
    """Send the chart of a span of the run, for zooming."""
    complete_run = api_runs.complete_run_of(context, run_id)
    chart = _over_time(context, complete_run, span)
    if chart is None:
        raise NotFoundError("this run has no chart over time", hint="it has no phases, tasks or trace")
    return chart


@router.get("/runs/{run_id}/logs/{name:path}")
def log(
    request: Request,
    context: ContextOf,
    run_id: api_runs.RunId,
    name: LogName,
    offset_bytes: Annotated[int, Query(ge=0, le=10**12)] = 0,
    search: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Show a part of a log, and the lines that contain the searched text."""
    repository, full_id = context.store.repository, api_runs.run_id_of_log(context, run_id, name)
    hits = log_hits(repository, full_id, name, search) if search.strip() else None
    part = log_lines(repository, full_id, name, offset_bytes)
    return page_of(request, "log", run_id=full_id, part=part, hits=hits, part_bytes=PART_BYTES)


@router.get("/runs/{run_id}/log-files/{name:path}")
def log_file(context: ContextOf, run_id: api_runs.RunId, name: LogName) -> Response:
    """Send a log as a file."""
    full_id = api_runs.run_id_of_log(context, run_id, name)
    file_name = quote(name.replace("/", "-"), safe="")
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{file_name}"}
    chunks = context.store.repository.log_chunks(full_id, name)
    return StreamingResponse(chunks, media_type="text/plain; charset=utf-8", headers=headers)
