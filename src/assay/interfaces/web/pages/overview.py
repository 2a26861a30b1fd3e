"""Show the pages Answers, Runs, Speedup and Quality, and the sign-in page. They show the answers of the API as HTML.

The address contains the whole state of a page, so links can be shared. Pages work without scripts; scripts add charts,
zoom in traces, and forms that apply at once.
"""

import time
from collections.abc import Sequence
from typing import Annotated, Literal
from urllib.parse import parse_qs, urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from assay.analysis.comparison.details.side_by_side import SIDES_MAX
from assay.analysis.comparison.result import SpeedupResult
from assay.analysis.statistics import FACTOR_SYNONYMS, RunTable
from assay.foundation.errors import SpecificationError, did_you_mean
from assay.interfaces.charts.network import comparison_network, is_readable
from assay.interfaces.web.api import plan as api_plan
from assay.interfaces.web.api import quality as api_quality
from assay.interfaces.web.api import runs as api_runs
from assay.interfaces.web.api import views as api_views
from assay.interfaces.web.api import whatif as api_whatif
from assay.interfaces.web.api.decisions import question_answers_on
from assay.interfaces.web.pages import recommend as pages_recommend
from assay.interfaces.web.pages import why as pages_why
from assay.interfaces.web.rendering.runs_address import RunsAddress
from assay.interfaces.web.rendering.shown_decisions import ShownDecision, shown_decisions, shown_questions
from assay.interfaces.web.server.security import COOKIE, LOGIN_BYTES_MAX, SESSION_S, Refusal
from assay.interfaces.web.state.answering import Conditions, Text, Texts, error_page, page_of, palette
from assay.interfaces.web.state.context import READERS, Context, ContextOf, check_token, get_context
from assay.interfaces.web.state.page_cache import cached_page
from assay.questions.comparisons.speedup_tables import most_supported, tables_of
from assay.questions.costs.conclusion import conclusion
from assay.questions.costs.mix import parse_mix
from assay.questions.decisions.sentences.question_sentences import is_decided
from assay.questions.forecasts.tuning import is_tuning
from assay.questions.recommendation.catalogues import has_example_prices, stored_catalogues
from assay.questions.runs.campaigns import LISTED_MAX, campaigns
from assay.questions.runs.limits import listed_limits
from assay.questions.runs.overview import counts_of
from assay.questions.runs.run_quality import NO_PLAN, PRECISION
from assay.questions.runs.runs import (
    COLUMNS_SHOWN,
    NEWEST_FIRST,
    RunPage,
    RunPageRequest,
    baseline_choices,
    comparable,
    selected,
    usual_order,
)
from assay.store import Repository
from assay.text import workload_title

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
PAGE_RUNS = 50
"""Number of runs on a page of the list."""
OUTLIERS_SHOWN = 100
"""Maximum number of outliers listed."""
SPEEDUPS_SHOWN = 12
"""Maximum number of speedups listed before a click."""
NETWORK_PX = 520
"""Width of the comparison network, in pixels."""
_LIMIT = "limit"
"""Name of the column with the limits of runs, among the chosen columns."""
_CACHE_CONTROL = "public, max-age=31536000, immutable"


@router.get("/static/{stamp}/{name}")
def static(context: ContextOf, stamp: str, name: str) -> Response:
    """Send a style or a script."""
    content, media_type = context.rendering.asset(stamp, name)
    return Response(content, media_type=media_type, headers={"Cache-Control": _CACHE_CONTROL})


@router.get("/", dependencies=READERS)
def overview(request: Request, context: ContextOf, where: Conditions) -> Response:
    """Show the answers to a buyer's questions, the costs of runs, and the evidence on common claims."""
    table = context.store.table()
    counts = (
        context.ask(lambda _, matching_runs: counts_of(matching_runs), where, "counts of")
        if len(table)
        else counts_of(table)
    )
    claims = api_views.findings(context, where) if len(table) else None
    newest_campaigns = campaigns(context.store.repository, time.time(), LISTED_MAX)
    running_pids = {campaign.pid for campaign in newest_campaigns if campaign.running}
    started_campaigns = api_plan.list_started(context)
    starting_campaigns = [
        campaign for campaign in started_campaigns if campaign.running and campaign.pid not in running_pids
    ]
    failed_campaigns = [campaign for campaign in started_campaigns[-1:] if campaign.exit_status]
    simulable = bool(len(table) and api_whatif.get_configurations(context))
    return page_of(
        request,
        "overview",
        filter_table=table,
        counts=counts,
        findings=claims,
        campaigns=newest_campaigns,
        tunings={
            campaign.campaign_id
            for campaign in newest_campaigns
            if is_tuning(context.store.repository, campaign.campaign_id)
        },
        questions=shown_questions(context, where) if len(table) else [],
        colours=palette(table, "layout"),
        costs=api_views.priced_jobs(context, where),
        conclusion=conclusion,
        book=context.book,
        where=where,
        starting=starting_campaigns,
        failed_campaigns=failed_campaigns,
        simulable=simulable,
        obstacle=None if simulable else api_whatif.cached_obstacle(context),
        clusters=() if simulable else api_whatif.cached_clusters(context),
        budget=(budget := pages_recommend.default_request(context)),
        mix=parse_mix(budget.workloads),
        budget_at_example_prices=budget.catalogue != ""
        and has_example_prices(stored_catalogues(context.cluster_folders)[budget.catalogue]),
        limits=api_runs.get_workload_limits(context, where) if len(table) else None,
        command_options=context.command_options(where),
    )


@router.get("/runs", dependencies=READERS)
@cached_page
def runs(
    request: Request,
    context: ContextOf,
    where: Conditions,
    sort: Annotated[str | None, Query(max_length=300)] = None,
    offset: Annotated[int, Query(ge=0, le=api_runs.OFFSET_MAX)] = 0,
    columns: Texts = [],  # noqa: B006
    pick: Texts = [],  # noqa: B006
) -> Response:
    """Show the matching runs, with the number of runs for each further choice."""
    default_columns = [name for name in COLUMNS_SHOWN if name in context.store.table().columns]
    shown_columns = [name for name in columns if name != _LIMIT] or default_columns
    default_sort = usual_order(context.store.table())
    page = api_runs.page_of_runs(
        context, RunPageRequest(tuple(where), sort or default_sort, offset, PAGE_RUNS, tuple(shown_columns))
    )
    state = RunsAddress(
        tuple(where),
        sort or default_sort,
        offset,
        tuple(columns),
        PAGE_RUNS,
        default_sort,
        tuple(dict.fromkeys(filter(None, pick)))[:SIDES_MAX],
    )
    return page_of(
        request,
        "runs",
        filter_table=context.store.table(),
        page=page,
        limits=_listed_limits(context, page) if _LIMIT in columns else None,
        limit_column=_LIMIT,
        state=state,
        shown_columns=shown_columns,
        default_columns=default_columns,
        sides_max=SIDES_MAX,
        has_start_times=default_sort == NEWEST_FIRST,
        colours=palette(context.store.table(), "layout"),
    )


def _listed_limits(context: Context, page: RunPage) -> dict[str, str]:
    """Return the limits of the runs of a page, by run id."""
    run_ids = tuple(run.run_id for run in page.runs)
    return context.store.answer(
        ("limits", run_ids), lambda table: listed_limits(context.store.repository, table, run_ids)
    )


def _choices(context: Context, factor: str, where: Sequence[str]) -> tuple[list[str], str | None]:
    """Return the levels of a factor in the matching runs, and the default baseline (None without levels)."""

    def choices(_: Repository, table: RunTable) -> tuple[list[str], str | None]:
        return baseline_choices(table, factor)

    return context.ask(choices, where, ("choices", factor))


@router.get("/speedup", dependencies=READERS)
@cached_page
def speedup(
    request: Request,
    context: ContextOf,
    where: Conditions,
    by: Text = None,
    baseline: Text = None,
    group: Text = None,
    method: Literal["matched", "aloja", "lisa14"] = "matched",
    every: bool = False,
) -> Response:
    """Show the decision on a factor, then its details; of many results, the best supported, unless ``every``."""
    table = context.store.table()
    factors = comparable(table)
    factor = by or ("layout" if "layout" in factors else next(iter(factors), None))
    if len(table) == 0 or factor is None:
        return page_of(request, "speedup", empty=True)
    names = [part.strip() for part in factor.split(",")]
    if len(names) == 1 and names[0] not in table.factors:
        suggestion = did_you_mean(names[0], factors, FACTOR_SYNONYMS)
        raise SpecificationError(
            f"no run has a factor {names[0]!r}", where="by", hint=f"{suggestion}factors: {', '.join(factors)}"
        )
    levels, default_baseline = _choices(context, names[0], where) if len(names) == 1 else ([], None)
    baseline_level = default_baseline if not baseline or (levels and baseline not in levels) else baseline
    view, figures, network = None, [], None
    shown_results: list[SpeedupResult] = []
    decisions: list[ShownDecision] = []
    if method == "matched":
        view = api_views.speedup(context, names, baseline_level, group or "workload", where=where)
        network = view.network if view.network and is_readable(view.network) else None
        shown_results = most_supported(view.results, len(view.results) if every else SPEEDUPS_SHOWN)
        decisions = shown_decisions(context, factor, baseline, (), where)
    else:
        figures = api_views.speedup_published(
            context, method, names[0], baseline_level if method == "lisa14" else baseline, where
        )
    return page_of(
        request,
        "speedup",
        filter_table=table,
        empty=False,
        view=view,
        figures=figures,
        decisions=decisions,
        network=comparison_network(network, palette(table, names[0]), NETWORK_PX) if network else None,
        factor=factor,
        tables=tables_of(view, workload_title) if view else [],
        results_with_why=pages_why.questions_of_speedups(context, shown_results, where if len(names) == 1 else None),
        unlisted_count=len([s for s in view.results if s.ratio is not None]) - len(shown_results)
        if view and not every
        else 0,
        all_address=f"/speedup?{urlencode([*request.query_params.multi_items(), ('every', '1')])}",
        factors=factors,
        levels=levels,
        baseline=baseline_level,
        group=group or "workload",
        method=method,
        where=where,
        colours=palette(table, names[0]),
    )


@router.get("/quality", dependencies=READERS)
@cached_page
def quality(
    request: Request,
    context: ContextOf,
    where: Conditions,
    precision: Annotated[float, Query(gt=0, le=100, allow_inf_nan=False)] = 100 * PRECISION,
) -> Response:
    """Show invalid runs with their causes, missing data, outliers, and configurations that need more runs.

    ``precision``: wanted half-width of a mean time, in per cent.
    """
    table = context.store.table()
    if len(table) == 0:
        return page_of(request, "quality", empty=True)
    outliers = api_quality.anomalies(context, where, OUTLIERS_SHOWN)
    counts = context.store.answer(
        ("counts", tuple(where)), lambda all_runs: counts_of(selected(all_runs, where), ("status", "cold", "origin"))
    )
    return page_of(
        request,
        "quality",
        filter_table=table,
        empty=False,
        precision=precision,
        causes=api_quality.get_causes(context, where),
        no_plan=NO_PLAN,
        coverage=api_quality.get_coverage(context, where),
        needs=api_quality.get_precision(context, precision / 100, where),
        decided=[is_decided(answer) for answer in question_answers_on(context, where)],
        outliers=outliers,
        counts=counts,
        where=where,
        colours=palette(table, "layout"),
    )


@router.get("/login")
def login(request: Request, next: Annotated[str, Query(max_length=2000)] = "/") -> Response:  # noqa: A002
    """Show the page that takes a token."""
    return page_of(request, "login", next=next, is_rejected=False)


def _local_path(target: str) -> str:
    """Return ``target`` if it is a path on this server, otherwise the path of the front page."""
    is_local = target.startswith("/") and not target.startswith(("//", "/\\")) and target.isprintable()
    return target if is_local else "/"


@router.post("/login")
async def login_with(request: Request) -> Response:
    """Open a session for a known token."""
    form = parse_qs((await request.body())[:LOGIN_BYTES_MAX].decode("utf-8", "replace"))
    target = form.get("next", ["/"])[0]
    guard = get_context(request).guard
    roles = await check_token(request, form.get("token", [""])[0])
    if isinstance(roles, Refusal):
        return error_page(request, roles.status, roles.message, None, roles.hint)
    if not roles:
        return page_of(request, "login", status=403, next=target, is_rejected=True)
    answer = RedirectResponse(_local_path(target), status_code=303)
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
