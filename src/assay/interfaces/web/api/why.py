"""Serve explanations: two runs that illustrate a speedup, and the phases, disks and CPUs of compared runs.

In: a speedup (factor, baseline, candidate, conditions) or ids of runs. Out: ids of runs, or a table.
"""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from assay.analysis.comparison.details.side_by_side import Sides
from assay.analysis.run_profile.reasons import Reasons
from assay.analysis.statistics import RunTable
from assay.interfaces.web.api.compare import RunIds, sides
from assay.interfaces.web.api.runs import complete_run_of
from assay.interfaces.web.rendering.rendering import NotFoundError
from assay.interfaces.web.state.context import PROBLEMS, READERS, Context, ContextOf, Where
from assay.questions.comparisons.side_by_side import Of
from assay.questions.comparisons.why import (
    ExamplePair,
    WhyQuestion,
    is_explained,
    observed_runs_of,
    pair_of,
    reasons_between,
)

router = APIRouter(prefix="/api/v1", responses=PROBLEMS, dependencies=READERS, tags=["views"])
Level = Annotated[str, Query(min_length=1, max_length=300)]
Stratum = Annotated[str, Query(max_length=50, description="Empty: any. An origin without a scale: runs at full size.")]


def _why_question(
    by: Level,
    baseline: Level,
    candidate: Level,
    where: Where = [],  # noqa: B006
    origin: Stratum = "",
    lab_scale: Stratum = "",
) -> WhyQuestion:
    return WhyQuestion(by, baseline, candidate, tuple(where), origin, lab_scale)


WhyQuestionOf = Annotated[WhyQuestion, Depends(_why_question)]
"""The question in the query of an address."""


def cached_pair(context: Context, question: WhyQuestion) -> ExamplePair | None:
    """Return the two runs that illustrate a speedup; None without a matching pair. Cached until the runs change."""
    repository = context.store.repository
    return context.store.answer(
        ("why", question), lambda table: pair_of(repository, table, question, _observed_runs(context))
    )


def has_explanation(context: Context, question: WhyQuestion) -> bool:
    """Return whether two matching runs have a trace or task attempts. Cached until the runs change."""
    observed_runs = _observed_runs(context)
    if not len(observed_runs):
        return False
    repository = context.store.repository
    return context.store.answer(
        ("explained", question), lambda _: is_explained(repository, _observed_runs(context), question)
    )


def _observed_runs(context: Context) -> RunTable:
    repository = context.store.repository
    return context.store.answer(("observed runs",), lambda table: observed_runs_of(repository, table))


def required_pair(context: Context, question: WhyQuestion) -> ExamplePair:
    """Return the two runs that illustrate a speedup. Raises NotFoundError without a matching pair."""
    pair = cached_pair(context, question)
    if pair is None:
        raise NotFoundError(
            f"no run with {question.candidate} is equal to one with {question.baseline} in everything else",
            hint="choose two in the list of runs: Compare then says in what they differ",
        )
    return pair


@router.get("/why")
def why(context: ContextOf, question: WhyQuestionOf) -> ExamplePair:
    """Choose two runs that illustrate a speedup: equal in everything else, with traces if possible, and typical."""
    return required_pair(context, question)


def reasons_of(context: Context, sides: Sides) -> Reasons:
    """Return phases, disks and CPUs of one run of each side: the run nearest to the median."""
    return reasons_between({side.label: complete_run_of(context, side.typical_run_id) for side in sides.sides})


@router.get("/reasons")
def reasons_for(context: ContextOf, run: RunIds, of: Of = "configurations") -> Reasons:
    """Compare the phases, disks and CPUs of runs or configurations."""
    return reasons_of(context, sides(context, run, of))
