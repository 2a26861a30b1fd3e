"""Serve profiles: which code a run executed, which code makes one side slower, and flame graphs of both."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from assay.analysis.statistics import RunTable
from assay.interfaces.web.api.compare import RunIds
from assay.interfaces.web.api.runs import RunId, find_run
from assay.interfaces.web.state.context import PROBLEMS, READERS, Context, ContextOf
from assay.questions.comparisons.code_difference import ComparedProfiles, difference_of_sides, profiled_sides
from assay.questions.comparisons.flame_graphs import FlameGraphs, flame_graphs_of_run, flame_graphs_of_sides
from assay.questions.comparisons.side_by_side import Of
from assay.questions.runs.code_profiles.code_over_time import CodeOverTime, code_over_time
from assay.questions.runs.code_profiles.code_profile import CodeProfile, CodeProfileRequest, code_profile

router = APIRouter(prefix="/api/v1", responses=PROBLEMS, dependencies=READERS, tags=["profiles"])
Choice = Annotated[str | None, Query(max_length=300)]
Phase = Annotated[str | None, Query(max_length=300, description="Phase of MapReduce or part of Spark; all if omitted.")]
Stage = Annotated[int | None, Query(ge=0, le=10**9, description="Stage of Spark; all if omitted.")]
Process = Annotated[
    Literal["job", "datanode", "nodemanager"] | None,
    Query(description="Only the job's JVMs, or only these daemons; all if omitted."),
]
AtS = Annotated[
    float | None,
    Query(
        ge=-(10**9),
        le=10**9,
        allow_inf_nan=False,
        description="Only the interval at this time, in seconds from the run's start; the whole run if omitted.",
    ),
]


@router.get("/runs/{run_id}/code-profile")
def get_code_profile(
    context: ContextOf,
    run_id: RunId,
    phase: Phase = None,
    stage: Stage = None,
    node: Choice = None,
    attempt: Choice = None,
    at_s: AtS = None,
    process: Process = None,
) -> CodeProfile:
    """Return which code the JVMs of a run executed: categories, and methods by self time."""
    store, full_id = context.store, find_run(context, run_id).run_id
    request = CodeProfileRequest(phase, stage, node, attempt, at_s, process)
    return store.answer(("code profile", full_id, request), lambda _: code_profile(store.repository, full_id, request))


@router.get("/runs/{run_id}/code-over-time")
def get_code_over_time(context: ContextOf, run_id: RunId) -> CodeOverTime:
    """Return when a profiled run executed which category of code."""
    store, full_id = context.store, find_run(context, run_id).run_id
    return store.answer(("code over time", full_id), lambda _: code_over_time(store.repository, full_id))


@router.get("/runs/{run_id}/flame-graphs")
def get_flame_graphs(context: ContextOf, run_id: RunId, phase: Phase = None, at_s: AtS = None) -> FlameGraphs:
    """Return the call stacks of a profiled run by phase, as columns of frames in preorder."""
    store, full_id = context.store, find_run(context, run_id).run_id
    return store.answer(
        ("flame graphs", full_id, phase, at_s), lambda _: flame_graphs_of_run(store.repository, full_id, phase, at_s)
    )


@router.get("/code-difference")
def get_code_difference(
    context: ContextOf, run: RunIds, of: Of = "configurations", phase: Phase = None
) -> ComparedProfiles:
    """Return where the second side uses more time per GB of data than the first, by phase, category and method."""
    return _difference_and_flame_graphs(context, tuple(run), of, phase)[0]


@router.get("/flame-graphs")
def get_flame_graph_difference(
    context: ContextOf, run: RunIds, of: Of = "configurations", phase: Phase = None
) -> FlameGraphs:
    """Return the call stacks of two sides by phase, in seconds per GB of data."""
    return _difference_and_flame_graphs(context, tuple(run), of, phase)[1]


def _difference_and_flame_graphs(
    context: Context, run_ids: tuple[str, ...], of: Of, phase: str | None
) -> tuple[ComparedProfiles, FlameGraphs]:
    """Return the difference and the flame graphs: both need the stacks of all runs, which are slow to read."""

    def make(table: RunTable) -> tuple[ComparedProfiles, FlameGraphs]:
        full_ids = [find_run(context, run_id).run_id for run_id in run_ids]
        profiles = profiled_sides(context.store.repository, table, full_ids, of, phase)
        return difference_of_sides(profiles), flame_graphs_of_sides(profiles)

    return context.store.answer(("code difference", run_ids, of, phase), make)
