"""The API of what the runs are worth: causes of runs that are not valid, missing traces, repetitions still needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from assay.questions.run_quality import (
    PRECISION,
    Coverage,
    NotValid,
    OddRuns,
    StillNeeded,
    coverage,
    odd_runs,
    still_needed,
    traced_rows,
    why_not_valid,
)
from assay.repository import Repository
from assay.statistics import RunTable
from assay.web.context import PROBLEMS, Context, ContextOf, Where, require
from assay.web.security import Role

router = APIRouter(prefix="/api/v1", responses=PROBLEMS, dependencies=[Depends(require(Role.READ))], tags=["quality"])

ANOMALIES_MAX = 1000
Wanted = Annotated[float, Query(gt=0, le=10, allow_inf_nan=False, description="Half-width: 0.05 is 5 %.")]


def kept_coverage(context: Context, where: Sequence[str]) -> tuple[Coverage, ...]:
    """Return for each plan how many of its runs have a trace, and cold caches; traces are looked for once."""
    store = context.store

    def make(repository: Repository, table: RunTable) -> tuple[Coverage, ...]:
        return coverage(table, store.answer(("traced",), lambda every: traced_rows(repository, every)))

    return context.ask(make, where, "coverage")


@router.get("/causes")
def get_causes(context: ContextOf, where: Where = []) -> NotValid:  # noqa: B006
    """Tell why runs are invalid or failed: alike causes together, with whose fault they were."""
    return context.ask(why_not_valid, where, "causes")


@router.get("/coverage")
def get_coverage(context: ContextOf, where: Where = []) -> tuple[Coverage, ...]:  # noqa: B006
    """Tell for each plan how many runs have a trace, and how many were proven cold."""
    return kept_coverage(context, where)


@router.get("/precision")
def get_precision(context: ContextOf, wanted: Wanted = PRECISION, where: Where = []) -> StillNeeded:  # noqa: B006
    """Tell how many repetitions each configuration still needs for a stated precision."""
    return kept_needs(context, where, wanted)


def kept_needs(context: Context, where: Sequence[str], wanted: float) -> StillNeeded:
    """Return how many repetitions each configuration still needs."""
    return context.ask(lambda repository, table: still_needed(repository, table, wanted), where, ("needs", wanted))


def kept_odd_runs(context: Context, where: Sequence[str], limit: int) -> OddRuns:
    """Return the most serious anomalies."""
    return context.ask(
        lambda repository, table: odd_runs(repository, context.store.flagged(), table, limit),
        where,
        ("anomalies", limit),
    )


@router.get("/anomalies")
def anomalies(
    context: ContextOf,
    where: Where = [],  # noqa: B006
    limit: Annotated[int, Query(ge=1, le=ANOMALIES_MAX)] = 50,
) -> OddRuns:
    """List the runs that are odd for their configuration, the most serious first."""
    return kept_odd_runs(context, where, limit)
