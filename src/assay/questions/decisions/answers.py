"""Answer the six questions of a buyer, or state why a question has no answer yet.

In: a repository, its table of runs with outlier flags, and a request. Out: one :class:`QuestionAnswer` for each
question. A question without an answer stays in the list. Every interface shows this list.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from assay.analysis.comparison.factors.device_classes import DEVICE_CLASS
from assay.analysis.comparison.factors.disk_counts import DISKS
from assay.analysis.statistics import RunTable, usable
from assay.execution.planning.plan_files.changed_plan import changed_plan, parse_question
from assay.foundation.errors import SpecificationError
from assay.model import LAYOUT_FACTOR
from assay.questions.clusters.common_levels import common_levels
from assay.questions.decisions.ask import decisions_of
from assay.questions.decisions.buyer import (
    BUYER_QUESTIONS,
    CHEAPEST,
    STORAGE,
    BuyerQuestion,
    factors_to_decide,
    levels_of_factor,
    recording_factors,
)
from assay.questions.decisions.decision import Decision, DecisionRequest
from assay.questions.decisions.planned_runs import (
    PlannedRuns,
    QuestionPlan,
    described_workers,
    planned_runs,
    runnable_runs,
)
from assay.questions.runs.conditions import with_conditions
from assay.questions.runs.plans import newest_plan
from assay.questions.runs.runs import selected
from assay.store import Repository
from assay.store.exchange.imports import imported_file
from assay.store.formats.aloja.clusters import FILE_NAME


class Obstacle(StrEnum):
    """Why a question has no answer."""

    ONE_LEVEL = "one level"
    NOT_RECORDED = "not recorded"
    NOT_MATCHED = "not matched"
    """Runs differ in the factor, but no two of them are equal in everything else."""
    NO_PRICES = "no prices"
    UNPRICED = "unpriced"
    """The price book has no price for the hardware of the runs."""
    FILTERED = "filtered"
    """Runs differ in the factor, but the conditions of the request leave one level."""


@dataclass(frozen=True, slots=True)
class MissingAnswer:
    """Why a question has no answer, with the number of valid runs."""

    obstacle: Obstacle
    factor: str
    """The column of ``levels``."""
    levels: tuple[str, ...]
    runs: int
    """Valid runs with a recorded level."""
    unrecorded: int
    """Valid runs without a recorded level."""
    not_counted: int
    """Runs that are not valid."""
    simulable: bool
    """Whether the repository has a plan that ``assay whatif`` can change as the question asks: its cluster has the
    hardware."""
    price_list: bool
    """Whether the repository has ALOJA's price list of the runs, and no price book is given."""
    plan: QuestionPlan | None
    """The plan of ``planned``, which ``assay decide QUESTION --plan FILE`` writes; None where no described cluster can
    run it."""
    described_workers: int | None
    """Number of workers of the cluster of ``planned`` in a stored plan or an example; None where neither describes
    it."""
    planned: PlannedRuns | None
    """Runs that would measure it; None where a price book or runs outside the filter answer the question."""
    filters: tuple[str, ...]
    """The request's conditions that hide the runs which answer the question."""


@dataclass(frozen=True, slots=True)
class QuestionAnswer:
    """One question with its decisions, or with the reason why there are none."""

    question: BuyerQuestion
    decisions: tuple[Decision, ...]
    """The first is the answer; empty where ``unanswered`` says why."""
    unanswered: MissingAnswer | None


def answer_question(
    repository: Repository, table: RunTable, question: BuyerQuestion, request: DecisionRequest
) -> QuestionAnswer:
    """Return the answer to one question from the runs of ``table`` that match the request."""
    decisions = decisions_of(repository, table, replace(request, factor=question.name))
    unanswered = None if decisions else _missing_answer(repository, table, question, request)
    return QuestionAnswer(question, decisions, unanswered)


def _missing_answer(
    repository: Repository, table: RunTable, question: BuyerQuestion, request: DecisionRequest
) -> MissingAnswer:
    matching_table = selected(table, request.where)
    valid_table = matching_table.subset(usable(matching_table))
    names = [*factors_to_decide(question, valid_table)[:1], *recording_factors(question, valid_table)]
    factor = next(
        (name for name in names if levels_of_factor(valid_table, name)[0]), names[-1] if names else question.name
    )
    levels, runs = levels_of_factor(valid_table, factor)
    if not levels and question.plan_factor and len(valid_table):
        stated_levels, runs = common_levels(repository, valid_table, question.plan_factor)
        factor, levels = (question.plan_factor, stated_levels) if stated_levels else (factor, ())
    filters = _hiding_conditions(table, question, request.where)
    if filters:
        obstacle = Obstacle.FILTERED
    elif question.name == CHEAPEST and request.prices is None:
        obstacle = Obstacle.NO_PRICES
    elif question.name == CHEAPEST and len(levels) > 1:
        obstacle = Obstacle.UNPRICED
    elif not levels:
        obstacle = Obstacle.NOT_RECORDED
    else:
        obstacle = Obstacle.NOT_MATCHED if len(levels) > 1 else Obstacle.ONE_LEVEL
    is_hidden = obstacle is Obstacle.FILTERED
    known_levels = () if is_hidden else (*levels, *_best_layouts(repository, table, question, request))
    runnable = None if is_hidden else runnable_runs(repository, valid_table, question, known_levels)
    first_levels = question.levels_to_plan(known_levels)[0]
    planned = None if is_hidden else runnable[0] if runnable else planned_runs(valid_table, question, first_levels)
    return MissingAnswer(
        obstacle=obstacle,
        factor=factor,
        levels=levels,
        runs=runs,
        unrecorded=len(valid_table) - runs,
        not_counted=len(matching_table) - len(valid_table),
        simulable=_is_simulable(repository, question),
        price_list=obstacle is Obstacle.NO_PRICES
        and imported_file(repository.folders.bundles, "aloja", FILE_NAME) is not None,
        plan=runnable[1] if runnable else None,
        described_workers=described_workers(repository, planned.cluster) if planned else None,
        planned=planned,
        filters=filters,
    )


def _best_layouts(
    repository: Repository, table: RunTable, question: BuyerQuestion, request: DecisionRequest
) -> tuple[str, ...]:
    """Return the layouts that answer the question on storage, where a plan for another question varies the layout."""
    if question.plan_factor != LAYOUT_FACTOR or question.name == STORAGE:
        return ()
    decisions = decisions_of(repository, table, replace(request, factor=STORAGE))
    return tuple(decision.leader for decision in decisions)


def _hiding_conditions(table: RunTable, question: BuyerQuestion, where: Sequence[str]) -> tuple[str, ...]:
    """Return the conditions on the question's own factors without which the valid runs vary it; else none."""
    storage_factors = {LAYOUT_FACTOR, DISKS} & set(question.factors)
    columns = {*question.factors, *((DEVICE_CLASS, LAYOUT_FACTOR) if storage_factors else ())}
    hiding_conditions = tuple(text for text in where if columns.intersection(with_conditions(table, [text])[1]))
    if not hiding_conditions or question.name == CHEAPEST:
        return ()
    shown_table = selected(table, [condition for condition in where if condition not in hiding_conditions])
    return hiding_conditions if factors_to_decide(question, shown_table.subset(usable(shown_table))) else ()


def _is_simulable(repository: Repository, question: BuyerQuestion) -> bool:
    """Return whether the question's change is valid for the newest plan and its cluster."""
    if not question.change:
        return False
    try:
        plan = newest_plan(repository, None)
        changed_plan(plan, {}, plan.workloads[0].key, parse_question([question.change]))
    except SpecificationError:
        return False
    return True


def answer_questions(repository: Repository, table: RunTable, request: DecisionRequest) -> tuple[QuestionAnswer, ...]:
    """Return the answer to every question, in the order in which buyers ask."""
    return tuple(answer_question(repository, table, question, request) for question in BUYER_QUESTIONS)
