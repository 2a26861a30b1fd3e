"""Show the page that composes a plan. After every change it shows the number of runs and their estimated time."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool

from assay.execution.planning.plan_files.plan_text import CLUSTER_FILE, PLAN_FILE, document_of_content
from assay.foundation.errors import AssayError, SpecificationError
from assay.interfaces.web.api import plan as api_plan
from assay.interfaces.web.server.security import AccessRole
from assay.interfaces.web.state.answering import page_of
from assay.interfaces.web.state.context import READERS, Context, ContextOf, get_context, get_roles, require_role
from assay.questions.decisions.planned_runs import expected_duration_s, records_data_size
from assay.questions.runs.plans import describes, example_of, newest_plan
from assay.workloads.catalogue import workloads

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, dependencies=READERS)
FIELDS = (
    "name",
    "engine",
    "cluster",
    "cluster_text",
    "workload",
    "data",
    "options",
    "layouts",
    "levels",
    "parameters",
    "repetitions",
    "seed",
)
NAME_LETTERS_MAX = 300
"""Maximum length of the name of a cluster in an address."""
ROWS_MIN = 3
"""Minimum number of workload rows in the form."""
_BYTES_MAX = 4_000_000
"""Maximum size of a form, in bytes."""
FileKind = Annotated[Literal["plan", "cluster"], "which file"]


def _fields(text: str) -> dict[str, list[str]]:
    values = parse_qs(text, keep_blank_values=True)
    return {name: values[name] for name in FIELDS if name in values}


@router.get("/plan")
def plan(request: Request, context: ContextOf) -> Response:
    """Show the parts of a plan from the address, and the runs that it would make."""
    form = _fields(request.url.query)
    clusters = api_plan.cluster_files(context)
    runs_on = request.query_params.get("runs_on", "")
    has_no_cluster = "no_cluster" in request.query_params
    fitting_clusters = [
        name for name, text in clusters.items() if not has_no_cluster and (not runs_on or describes(text, runs_on))
    ]
    stored_cluster = "" if fitting_clusters or has_no_cluster else _stored_cluster(context, runs_on)
    form = {
        "workload": ["terasort"],
        "data": ["10GB"],
        "options": [""],
        "layouts": [""],
        "cluster": [next(iter(fitting_clusters), "")],
        "cluster_text": [stored_cluster],
        **form,
    }
    row_count = max(ROWS_MIN, len(form["workload"]) + 1)
    columns = [[*form.get(name, []), *[""] * row_count][:row_count] for name in ("workload", "data", "options")]
    field_values = {name: form.get(name, [""])[0] for name in FIELDS}
    roles = get_roles(request)
    return page_of(
        request,
        "plan",
        clusters=clusters,
        runs_on=runs_on[:NAME_LETTERS_MAX],
        has_no_cluster=has_no_cluster,
        fields=field_values,
        rows=list(zip(*columns, strict=True)),
        workloads=tuple(workloads()),
        may_start=context.campaigns and AccessRole.RUN in roles,
        campaigns=context.campaigns,
        **_result_values(context, form),
    )


def _stored_cluster(context: Context, cluster: str) -> str:
    """Return the cluster file of the newest campaign on a cluster, or the example that describes it; else empty.

    ``cluster``: empty for the cluster of the newest campaign.
    A server with tokens shows only files of labs and examples: other files have the addresses of hosts.
    """
    try:
        plan = newest_plan(context.store.repository, cluster or None)
    except SpecificationError:
        plan = None
    if plan is None or (context.guard.tokens and plan.cluster.lab is None):
        return example_of(cluster)
    return plan.cluster_source


_EMPTY_VALUES: dict[str, Any] = {"preview": None, "problem": None, "draft": None}


@dataclass(frozen=True, slots=True)
class PlanEstimate:
    """A plan without a cluster file: its number of runs, and their time from medians of the repository's runs."""

    runs: int
    expected_s: float | None
    without_size: tuple[str, ...]
    """Workloads whose runs record no data size, so that the time is of an unknown size."""


def _plan_estimate(context: Context, question: api_plan.PlanQuestion) -> PlanEstimate:
    runs_per_workload = api_plan.runs_of(question) // len(question.workloads)
    runs = [(workload.name, runs_per_workload) for workload in question.workloads]
    table = context.store.table()
    names = dict.fromkeys(workload.name for workload in question.workloads)
    without_size = tuple(name for name in names if not records_data_size(table, name))
    return PlanEstimate(api_plan.runs_of(question), expected_duration_s(table, runs), without_size)


def _result_values(context: Context, form: dict[str, list[str]]) -> dict[str, Any]:
    if not form.get("layouts", [""])[0].strip():
        return _EMPTY_VALUES
    try:
        request = api_plan.question_of_form(form)
        if not request.cluster and not request.cluster_text:
            return {**_EMPTY_VALUES, "draft": _plan_estimate(context, request)}
        return {**_EMPTY_VALUES, "preview": api_plan.plan(context, request)}
    except ValidationError as error:
        first_error = error.errors()[0]
        field_path = " ".join(str(part) for part in first_error["loc"])
        return {**_EMPTY_VALUES, "problem": SpecificationError(str(first_error["msg"]), where=field_path)}
    except AssayError as error:
        return {**_EMPTY_VALUES, "problem": error}


async def _form(request: Request) -> dict[str, list[str]]:
    return _fields((await request.body())[:_BYTES_MAX].decode("utf-8", "replace"))


@router.post("/plan/preview")
async def preview(request: Request) -> Response:
    """Send the part of the page with the number of runs of a plan and their time."""
    form, context = await _form(request), get_context(request)
    return page_of(request, "plan_result", **await run_in_threadpool(_result_values, context, form))


def _file_response(context: Context, form: dict[str, list[str]], kind: str) -> Response:
    request = _question_of(form)
    if kind == "plan":
        name, text = PLAN_FILE, document_of_content(api_plan.content_of(request)).text
    else:
        name, text = CLUSTER_FILE, api_plan.cluster_text_of(context, request)
    return Response(
        text, media_type="application/yaml", headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )


def _question_of(form: dict[str, list[str]]) -> api_plan.PlanQuestion:
    try:
        return api_plan.question_of_form(form)
    except ValidationError as error:
        raise SpecificationError(str(error.errors()[0]["msg"]), where="the form") from error


@router.post("/plan/file/{kind}")
async def file(request: Request, kind: FileKind) -> Response:
    """Send the plan, or its cluster, as a file."""
    form, context = await _form(request), get_context(request)
    return await run_in_threadpool(_file_response, context, form, kind)


@router.post("/plan/start", dependencies=[Depends(require_role(AccessRole.RUN))])
async def start(request: Request) -> Response:
    """Start the plan, and show the overview, where its progress is."""
    form, context = await _form(request), get_context(request)
    await run_in_threadpool(lambda: api_plan.start(context, _question_of(form)))
    return RedirectResponse("/", status_code=303)
