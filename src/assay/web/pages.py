"""The pages: the same answers as the API's, as HTML. State is in the address, so that a link shows the same to anybody.

Pages work without scripts; what scripts add is charts, zoom in traces, and forms that apply at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Annotated, Any, Literal
from urllib.parse import parse_qs, quote, urlencode

from fastapi import APIRouter, Depends, FastAPI, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined

from assay.charts.identity import SHAPE_PATHS, colours_of, shape_of
from assay.charts.one_run import phase_bars, trace_lines
from assay.charts.runs import request_sizes, task_timeline
from assay.charts.speedups import named_speedups, speedup_forest
from assay.charts.style import FULL_PX, PALETTE, Spec
from assay.compare.side_by_side import SIDES_MAX
from assay.errors import SpecificationError
from assay.explain.run_tables import run_sections
from assay.explain.series import SeriesName, series_of
from assay.explain.tasks import timeline
from assay.questions.observed import Observed
from assay.questions.overview import counts_of, usual_baseline
from assay.statistics.run_table import RunTable
from assay.units import format_bytes, format_duration
from assay.web import api_plan, api_quality, api_runs, api_views, pages_why, shown
from assay.web.context import Context, ContextOf, NotFoundError, get_context, get_roles, require, tried
from assay.web.security import COOKIE, HEADERS, LOGIN_BYTES_MAX, SESSION_S, Refusal, Role
from assay.web.vega import Script, versions
from assay.wording import amounts, language, numbers, ratios, titles
from assay.wording.metrics import metric_text

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
READERS = [Depends(require(Role.READ))]
PAGE_RUNS = 50
ODD_SHOWN = 100
_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
_KEPT = "public, max-age=31536000, immutable"
Texts = Annotated[list[str], Query(max_length=50)]
Text = Annotated[str | None, Query(max_length=300)]
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


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("assay.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        seconds=numbers.seconds,
        tenths=numbers.tenths,
        ratio=ratios.ratio,
        money=amounts.money,
        moment=language.moment,
        title=titles.workload_title,
        count=numbers.count,
        bytes=format_bytes,
        duration=format_duration,
        short=shown.short,
        first_capital=language.capitalised,
        query=urlencode,
        segment=lambda text: quote(str(text), safe=""),
        scale=lambda text: titles.scale_text(float(text)),
    )
    environment.globals.update(
        interval=ratios.interval,
        interval_s=shown.interval_s,
        money_interval=amounts.money_interval,
        metric_text=metric_text,
        facet_title=shown.facet_title,
        level_text=shown.level_text,
        origin=shown.origin,
        share=numbers.probability,
        shape=lambda level: SHAPE_PATHS[shape_of(level)],
        meanings=shown.meanings,
        claims_of=shown.claims_of,
    )
    return environment


_PAGES = _environment()


def page_of(request: Request, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page, or a part of one, from its template."""
    context, roles = get_context(request), get_roles(request)
    html = _PAGES.get_template(f"{name}.html.j2").render(
        path=request.url.path,
        version=context.version,
        vega=versions(),
        assets=_assets(),
        roles=roles,
        guarded=bool(context.guard.tokens),
        **values,
    )
    return HTMLResponse(html, status_code=status)


def error_page(request: Request, status: int, message: str, where: str | None, hint: str | None) -> Response:
    """Return an error in words as a page."""
    answer = page_of(request, "error", status=status, message=message, where=where, hint=hint)
    answer.headers.update(HEADERS)
    return answer


def to_login(request: Request) -> Response:
    """Send somebody without a token to the page that takes one, and back afterwards."""
    target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse(f"/login?{urlencode({'next': target})}", status_code=303)


def mount_static(app: FastAPI) -> None:
    """Begin to make the chart library, which the first page will ask for."""
    script = Script()
    app.state.script = script
    script.prepare()


def _static() -> dict[str, bytes]:
    folder = files("assay.web").joinpath("static")
    return {item.name: item.read_bytes() for item in folder.iterdir() if item.name.rpartition(".")[2] in _TYPES}


_STATIC = _static()


def _assets() -> str:
    """Return what stands for the content of the styles and scripts, for their addresses."""
    return shown.digest(b"".join(_STATIC[name] for name in sorted(_STATIC)))


@router.get("/static/{stamp}/{name}")
def static(request: Request, stamp: str, name: str) -> Response:
    """Send a style or a script; no name reaches the file system."""
    if name == "vega.js" and stamp == versions():
        script: Script = request.app.state.script
        return Response(script.text(), media_type=_TYPES["js"], headers={"Cache-Control": _KEPT})
    content = _STATIC.get(name)
    if content is None or stamp != _assets():
        raise NotFoundError("there is no such file")
    return Response(content, media_type=_TYPES[name.rpartition(".")[2]], headers={"Cache-Control": _KEPT})


def palette(table: RunTable, factor: str) -> dict[str, str]:
    """Return a colour for each level of a factor: the same on every page, and in every order of the index."""
    column = table.columns.get(factor)
    return colours_of(column.levels) if column is not None else {}


@router.get("/", dependencies=READERS)
def overview(request: Request, context: ContextOf) -> Response:
    """Show what there is, who leads, and what the runs say to common claims."""
    table = context.store.table()
    summary = api_runs.summary_of(context)
    found = api_views.claims(context, ()) if len(table) else {}
    campaigns = api_views.campaigns(context)
    known = {campaign.pid for campaign in campaigns if campaign.running}
    started = api_plan.started_of(context)
    starting = [one for one in started if one.running and one.pid not in known]
    broken = [one for one in started[-1:] if one.exit_status]
    speedups = [leader.speedup for leader in summary.leaders if leader.speedup is not None]
    chart = speedup_forest(named_speedups(speedups), palette(table, "layout")) if speedups else None
    cheapest, unpriced = shown.cheapest(context)
    return page_of(
        request,
        "overview",
        summary=summary,
        findings=found,
        campaigns=campaigns,
        chart=chart,
        whys=[pages_why.of_leader(leader) for leader in summary.leaders],
        colours=palette(table, "layout"),
        cheapest=cheapest,
        unpriced=unpriced,
        book=context.book,
        starting=starting,
        broken=broken,
    )


@router.get("/runs", dependencies=READERS)
def runs(
    request: Request,
    context: ContextOf,
    where: Texts = [],  # noqa: B006
    sort: Annotated[str, Query(max_length=300)] = "-started_unix_s",
    offset: Annotated[int, Query(ge=0, le=api_runs.OFFSET_MAX)] = 0,
    columns: Texts = [],  # noqa: B006
    pick: Texts = [],  # noqa: B006
) -> Response:
    """Show the runs that match, with the counts beside each further choice."""
    usual = [name for name in api_runs.COLUMNS_SHOWN if name in context.store.table().columns]
    chosen = columns or usual
    page = api_runs.run_page(context, where, sort, offset, PAGE_RUNS, chosen, with_facets=True)
    state = shown.RunsState(
        tuple(filter(None, where)),
        sort,
        offset,
        tuple(columns),
        PAGE_RUNS,
        tuple(dict.fromkeys(filter(None, pick)))[:SIDES_MAX],
    )
    return page_of(
        request,
        "runs",
        page=page,
        state=state,
        chosen=chosen,
        usual=usual,
        most=SIDES_MAX,
        colours=palette(context.store.table(), "layout"),
    )


@router.get("/runs/{run_id}", dependencies=READERS)
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


@router.get("/runs/{run_id}/trace-chart", dependencies=READERS, response_class=JSONResponse)
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


@router.get("/runs/{run_id}/logs/{name:path}", dependencies=READERS)
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


@router.get("/speedup", dependencies=READERS)
def speedup(
    request: Request,
    context: ContextOf,
    by: Text = None,
    baseline: Text = None,
    group: Text = None,
    method: Literal["matched", "aloja", "lisa14"] = "matched",
    where: Texts = [],  # noqa: B006
) -> Response:
    """Show how much faster a factor's levels are."""
    table = context.store.table()
    factors = shown.comparable(table)
    factor = by or ("layout" if "layout" in factors else next(iter(factors), None))
    if len(table) == 0 or factor is None:
        return page_of(request, "speedup", empty=True)
    chosen = api_views.selected(table, where)
    names = [part.strip() for part in factor.split(",")]
    if len(names) == 1 and names[0] not in table.factors:
        raise SpecificationError(f"no run has a factor {names[0]!r}", where="by", hint=f"factors: {', '.join(factors)}")
    levels = shown.levels(chosen, names[0]) if len(names) == 1 else []
    first = baseline or (usual_baseline(chosen, names[0]) if len(names) == 1 else None)
    if baseline and levels and baseline not in levels:
        first = usual_baseline(chosen, names[0])
    groups = None if group == "none" else group or "workload"
    view, figures, chart = None, [], None
    if method == "matched":
        view = api_views.speedups(context, names, first, groups, (), where)
        if any(item.ratio is not None for item in view.speedups):
            chart = speedup_forest(named_speedups(view.speedups), palette(table, names[0]))
    else:
        figures = api_views.figures(context, method, names[0], first if method == "lisa14" else baseline, where)
    return page_of(
        request,
        "speedup",
        empty=False,
        view=view,
        figures=figures,
        chart=chart,
        factor=factor,
        whys=pages_why.of_speedups(view.speedups, where if len(names) == 1 else None) if view else [],
        factors=factors,
        levels=levels,
        baseline=first,
        group=group or "workload",
        method=method,
        where=where,
        workloads=shown.levels(table, "workload"),
        colours=palette(table, names[0]),
    )


@router.get("/quality", dependencies=READERS)
def quality(
    request: Request,
    context: ContextOf,
    where: Texts = [],  # noqa: B006
    precision: Annotated[float, Query(gt=0, le=100, allow_inf_nan=False)] = 100 * api_quality.PRECISION,
) -> Response:
    """Show which runs did not end well and why, what is missing, what is odd, and what should be repeated.

    ``precision``: the half-width that is asked for, in per cent.
    """
    table = context.store.table()
    if len(table) == 0:
        return page_of(request, "quality", empty=True)
    odd = api_views.odd_runs(context, where, ODD_SHOWN)
    counts = context.store.answer(
        ("counts", tuple(where)),
        lambda all_runs: counts_of(api_views.selected(all_runs, where), ("status", "cold", "origin")),
    )
    return page_of(
        request,
        "quality",
        empty=False,
        precision=precision,
        causes=api_quality.causes(context, where),
        no_plan=api_quality.NO_PLAN,
        coverage=api_quality.coverage(context, where),
        needs=api_quality.needs(context, where, precision / 100),
        odd=odd,
        counts=counts,
        where=where,
        workloads=shown.levels(table, "workload"),
        colours=palette(table, "layout"),
    )


@router.get("/login")
def login(request: Request, next: Annotated[str, Query(max_length=2000)] = "/") -> Response:  # noqa: A002
    """Show the page that takes a token."""
    return page_of(request, "login", next=next, wrong=False)


@router.post("/login")
async def login_with(request: Request) -> Response:
    """Open a session for a token that is known."""
    form = parse_qs((await request.body())[:LOGIN_BYTES_MAX].decode("utf-8", "replace"))
    target = form.get("next", ["/"])[0]
    guard = get_context(request).guard
    roles = await tried(request, form.get("token", [""])[0])
    if isinstance(roles, Refusal):
        return error_page(request, roles.status, roles.message, None, roles.hint)
    if not roles:
        return page_of(request, "login", status=403, next=target, wrong=True)
    answer = RedirectResponse(shown.own_path(target), status_code=303)
    answer.set_cookie(
        COOKIE,
        guard.open_session(roles),
        max_age=int(SESSION_S),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
        path="/",
    )
    return answer


@router.post("/logout")
def logout(request: Request) -> Response:
    """Close the session."""
    get_context(request).guard.close_session(request.cookies.get(COOKIE, ""))
    answer = RedirectResponse("/login", status_code=303)
    answer.delete_cookie(COOKIE, path="/")
    return answer
