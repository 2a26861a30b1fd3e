"""Serve runs: a filtered list with facets, one run, its tasks, its trace, and its logs."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from assay.analysis.run_profile.limits.run_limits import Limits
from assay.analysis.run_profile.run_detail import RunDetail
from assay.analysis.run_profile.series import WINDOWS_MAX, names_of, series_of
from assay.analysis.run_profile.task_durations import TaskDurations
from assay.analysis.statistics import RunTable
from assay.foundation.errors import RepositoryError
from assay.interfaces.web.api.models import LogPart, RunParts, ServerInfo, Summary, TaskAttemptModel, TraceAnswer
from assay.interfaces.web.rendering.rendering import NotFoundError
from assay.interfaces.web.state.context import API_VERSION, PROBLEMS, READERS, Context, ContextOf, RolesOf, Where
from assay.model import Run, TaskAttempt
from assay.questions.runs.complete_run import CompleteRun, read_complete_run
from assay.questions.runs.limits import limits_of_complete_run
from assay.questions.runs.overview import counts_of
from assay.questions.runs.runs import COLUMNS_SHOWN, NEWEST_FIRST, RunPage, RunPageRequest, run_page
from assay.questions.runs.task_durations import durations_of_complete_run
from assay.questions.runs.workload_limits import WorkloadLimits, workload_limits
from assay.store.exchange.transfer import bundle_ids

router = APIRouter(prefix="/api/v1", responses=PROBLEMS, dependencies=READERS, tags=["runs"])

LIMIT_MAX = 1000
"""Maximum number of runs in an answer."""
OFFSET_MAX = 10**9
"""Maximum offset in the list of runs."""
LOG_BYTES_MAX = 256_000
"""Maximum size of a part of a log in an answer, in bytes."""
RunId = Annotated[str, Path(max_length=100, description="A run's id, or a unique prefix of it.")]


@router.get("/about", tags=["server"])
def about(context: ContextOf, roles: RolesOf) -> ServerInfo:
    """Return the server's version, and what the caller may do."""
    book = context.book.name if context.book else None
    return ServerInfo(assay=context.version, api=API_VERSION, roles=sorted(roles), prices=book)


@router.get("/summary")
def summary(context: ContextOf) -> Summary:
    """Return the contents of the repository in numbers."""

    def make(table: RunTable) -> Summary:
        bundles = len(bundle_ids(context.store.repository))
        return Summary(counts=counts_of(table), bundles=bundles)

    return context.store.answer(("summary",), make)


@router.get("/runs")
def runs(
    context: ContextOf,
    where: Where = [],  # noqa: B006 - FastAPI copies it
    sort: Annotated[
        str, Query(max_length=200, description="A column or value; a leading - sorts in descending order.")
    ] = NEWEST_FIRST,
    offset: Annotated[int, Query(ge=0, le=OFFSET_MAX)] = 0,
    limit: Annotated[int, Query(ge=1, le=LIMIT_MAX)] = 50,
    columns: Annotated[list[str] | None, Query(max_length=50, description="Columns to show; repeatable.")] = None,
    facets: Annotated[bool, Query(description="Count the runs for each further condition.")] = True,
) -> RunPage:
    """List the matching runs by page, with the number of runs for each further filter."""
    shown_columns = COLUMNS_SHOWN if columns is None else tuple(columns)
    return page_of_runs(context, RunPageRequest(tuple(where), sort, offset, limit, shown_columns, facets))


def page_of_runs(context: Context, request: RunPageRequest) -> RunPage:
    """Return the page, from the cache if no run was added since it was computed."""
    repository = context.store.repository
    return context.store.answer(("runs", request), lambda table: run_page(repository, table, request))


def find_run(context: Context, run_id: str) -> Run:
    """Return the run whose id begins with ``run_id``. Raises NotFoundError if no run or several runs match."""
    store = context.store
    try:
        return store.answer(("run", run_id), lambda _: store.repository.run(run_id))
    except RepositoryError as error:
        raise NotFoundError(error.message, hint="the list of runs has all ids") from error


@router.get("/runs/{run_id}")
def run(context: ContextOf, run_id: RunId) -> RunParts:
    """Return one run: configuration, phases, checks, metrics, environment, and the names of its files."""
    complete_run = complete_run_of(context, run_id)
    series = names_of(complete_run.trace)
    return RunParts(
        run=complete_run.run,
        logs=list(complete_run.logs),
        files=complete_run.files,
        series=series,
        tasks=len(complete_run.tasks),
    )


def complete_run_of(context: Context, run_id: str) -> CompleteRun:
    """Return a run with its tasks, trace, logs and files, and the results derived from them."""
    repository = context.store.repository
    return context.store.answer(
        ("observed", run_id), lambda _: read_complete_run(repository, find_run(context, run_id))
    )


@router.get("/runs/{run_id}/detail")
def detail(context: ContextOf, run_id: RunId) -> RunDetail:
    """Return the run's time by phase, its tasks and devices, and the balance of its nodes."""
    return complete_run_of(context, run_id).detail


@router.get("/limits")
def get_workload_limits(context: ContextOf, where: Where = []) -> WorkloadLimits:  # noqa: B006
    """Return what limits each workload on each kind of storage, from the traces of the newest matching runs."""
    return context.ask(workload_limits, where, "workload limits")


@router.get("/runs/{run_id}/limits")
def limits(context: ContextOf, run_id: RunId) -> Limits:
    """Return the limiting resource over time, and the maximum speedup from a faster one."""
    run_limits = limits_of_complete_run(complete_run_of(context, run_id))
    if run_limits is None:
        raise NotFoundError("there are no traces of the run's workers", hint="the limits follow from the traces")
    return run_limits


@router.get("/runs/{run_id}/tasks", response_model=list[TaskAttemptModel])
def tasks(context: ContextOf, run_id: RunId) -> list[TaskAttempt]:
    """List the run's task attempts."""
    return context.store.repository.tasks(find_run(context, run_id).run_id)


@router.get("/runs/{run_id}/task-durations")
def get_task_durations(
    context: ContextOf,
    run_id: RunId,
    node: Annotated[str | None, Query(max_length=300, description="Node of the histograms; all when left out.")] = None,
    job: Annotated[str | None, Query(max_length=300, description="Id of a job; all jobs when left out.")] = None,
) -> TaskDurations:
    """Return task durations by phase and node as histograms, and outlier tasks with the reason."""
    complete_run = complete_run_of(context, run_id)
    if not complete_run.tasks:
        raise NotFoundError("this run has no task attempts", hint="importing its job history adds them")
    return context.store.answer(
        ("task durations", complete_run.run.run_id, node, job),
        lambda _: durations_of_complete_run(complete_run, node, job),
    )


@router.get("/runs/{run_id}/trace")
def trace(
    context: ContextOf,
    run_id: RunId,
    node: Annotated[list[str], Query(max_length=100, description="Nodes; all when left out.")] = [],  # noqa: B006
    subject: Annotated[list[str], Query(max_length=100, description="Such as cpu or disk:hdd1.")] = [],  # noqa: B006
    metric: Annotated[list[str], Query(max_length=100, description="Such as read_bytes.")] = [],  # noqa: B006
    start_s: Annotated[float | None, Query(allow_inf_nan=False, description="Start, s from the run's start.")] = None,
    end_s: Annotated[float | None, Query(allow_inf_nan=False, description="End, s from the run's start.")] = None,
    windows: Annotated[int, Query(ge=1, le=WINDOWS_MAX, description="Time spans; four points of each are kept.")] = 300,
) -> TraceAnswer:
    """Return series of the run's trace: counters as rates, thinned so that every peak stays (M4)."""
    run_trace = context.store.repository.trace(find_run(context, run_id).run_id)
    series = series_of(
        run_trace, nodes=node, subjects=subject, metrics=metric, start_s=start_s, end_s=end_s, windows=windows
    )
    return TraceAnswer(series=series, windows=windows)


@router.get("/runs/{run_id}/logs")
def logs(context: ContextOf, run_id: RunId) -> list[str]:
    """List the names of the run's logs."""
    return context.store.repository.logs(find_run(context, run_id).run_id)


def run_id_of_log(context: Context, run_id: str, name: str) -> str:
    """Return the full id of the run. Raises NotFoundError if the run has no log of this name."""
    full_id = find_run(context, run_id).run_id
    if name not in context.store.repository.logs(full_id):
        raise NotFoundError(f"there is no log {name[:200]!r}", hint="the run's logs list them")
    return full_id


@router.get("/runs/{run_id}/logs/{name:path}")
def log(
    context: ContextOf,
    run_id: RunId,
    name: Annotated[str, Path(max_length=500)],
    offset_bytes: Annotated[int, Query(ge=0, le=10**12)] = 0,
) -> LogPart:
    """Return a part of a log."""
    chunks = context.store.repository.log_chunks(run_id_of_log(context, run_id, name), name, offset_bytes)
    part = b""
    while len(part) <= LOG_BYTES_MAX and (chunk := next(chunks, b"")):
        part += chunk
    part, has_more = part[:LOG_BYTES_MAX], len(part) > LOG_BYTES_MAX
    return LogPart(
        name=name,
        offset_bytes=offset_bytes,
        text=part.decode("utf-8", "replace"),
        next_offset_bytes=offset_bytes + len(part) if has_more else None,
    )
