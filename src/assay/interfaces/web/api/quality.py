"""Serve the quality of runs: causes of invalid runs, trace coverage, missing repetitions, outliers and slowdowns."""

from typing import Annotated

from fastapi import APIRouter, Query

from assay.analysis.outliers.missing_repetitions import MissingRepetitions
from assay.analysis.statistics import RunTable
from assay.interfaces.web.state.context import PROBLEMS, READERS, ContextOf, Where
from assay.questions.runs.run_quality import (
    PRECISION,
    AnomalousRuns,
    Coverage,
    NotValid,
    anomalous_runs,
    coverage,
    still_needed,
    traced_rows,
    why_not_valid,
)
from assay.questions.trust.changes import ChangesView, changes_of
from assay.questions.trust.gate import SLOWDOWN_MAX, GateRequest, GateView
from assay.questions.trust.gate import gate as gate_of
from assay.store import Repository

router = APIRouter(prefix="/api/v1", responses=PROBLEMS, dependencies=READERS, tags=["quality"])

ANOMALIES_MAX = 1000
"""Maximum number of outliers in an answer."""
Precision = Annotated[float, Query(gt=0, le=10, allow_inf_nan=False, description="Half-width: 0.05 is 5 %.")]


@router.get("/causes")
def get_causes(context: ContextOf, where: Where = []) -> NotValid:  # noqa: B006
    """Group invalid and failed runs by cause, with the component at fault."""
    return context.ask(why_not_valid, where, "causes")


@router.get("/coverage")
def get_coverage(context: ContextOf, where: Where = []) -> tuple[Coverage, ...]:  # noqa: B006
    """Count the runs of each plan that have a trace and that started with verified cold caches."""
    store = context.store

    def make(repository: Repository, table: RunTable) -> tuple[Coverage, ...]:
        # The search for traces is slow, so it runs once for all filters.
        return coverage(table, store.answer(("traced",), lambda all_runs: traced_rows(repository, all_runs)))

    return context.ask(make, where, "coverage")


@router.get("/precision")
def get_precision(context: ContextOf, wanted: Precision = PRECISION, where: Where = []) -> MissingRepetitions:  # noqa: B006
    """Return the repetitions that each configuration still needs for a given precision."""
    return context.ask(lambda repository, table: still_needed(repository, table, wanted), where, ("needs", wanted))


@router.get("/anomalies")
def anomalies(
    context: ContextOf,
    where: Where = [],  # noqa: B006
    limit: Annotated[int, Query(ge=1, le=ANOMALIES_MAX)] = 50,
) -> AnomalousRuns:
    """List the outliers among the runs, the most serious first."""
    return context.ask(
        lambda repository, table: anomalous_runs(repository, context.store.flagged(), table, limit),
        where,
        ("anomalies", limit),
    )


@router.get("/changes")
def changes(context: ContextOf, where: Where = []) -> ChangesView:  # noqa: B006
    """Find when configurations became faster or slower."""
    return context.ask(lambda _, table: changes_of(table), where, "changes")


@router.get("/gate")
def gate(
    context: ContextOf,
    baseline: Annotated[
        str,
        Query(
            min_length=1,
            max_length=300,
            description="A time, COLUMN=LEVEL, or the beginning of a run's or campaign's id.",
        ),
    ],
    max_slowdown: Annotated[float, Query(ge=0, le=10, description="Permitted slowdown: 0.05 is 5 %.")] = SLOWDOWN_MAX,
    ignore: Annotated[list[str], Query(max_length=20, description="Factors that may differ from run to run.")] = [],  # noqa: B006
    where: Where = [],  # noqa: B006
) -> GateView:
    """Check whether a configuration is slower than permitted since a baseline. ``passed`` is the answer."""
    request = GateRequest(baseline, max_slowdown, tuple(where), tuple(ignore))
    return context.store.answer(request, lambda _: gate_of(context.store.repository, request))
