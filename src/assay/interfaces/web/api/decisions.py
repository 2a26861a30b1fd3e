"""Serve decisions (which option is faster, and what it costs) and the answers to a buyer's questions.

In: a factor or a question, and conditions. Out: JSON. Costs use the server's price book.
"""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from assay.analysis.statistics import RunTable
from assay.interfaces.web.state.context import PROBLEMS, READERS, Context, ContextOf, Where
from assay.questions.decisions.answers import QuestionAnswer, answer_questions
from assay.questions.decisions.ask import decisions_of
from assay.questions.decisions.decision import Decision, DecisionRequest
from assay.questions.decisions.sentences.decision_sentences import DecisionAnswer, answer_of
from assay.questions.decisions.sentences.question_sentences import QuestionView, view_of

router = APIRouter(prefix="/api/v1", responses=PROBLEMS, dependencies=READERS, tags=["views"])


def decisions_on(
    context: Context, factor: str, baseline: str | None = None, ignore: Sequence[str] = (), where: Sequence[str] = ()
) -> tuple[Decision, ...]:
    """Return the decisions on a factor with the server's price book; cached until the runs change."""

    def make(table: RunTable) -> tuple[Decision, ...]:
        request = DecisionRequest(factor, baseline, tuple(where), tuple(ignore), context.book)
        return decisions_of(context.store.repository, table, request)

    return context.store.answer(("decisions", factor, baseline, tuple(ignore), tuple(where)), make)


@router.get("/decisions")
def decisions(
    context: ContextOf,
    factor: Annotated[
        str,
        Query(
            max_length=300,
            description="A question (storage, network, disks, nodes, containers, cheapest) or any factor.",
        ),
    ] = "",
    baseline: Annotated[str | None, Query(max_length=300)] = None,
    ignore: Annotated[list[str], Query(max_length=20, description="Factors that may differ in a matched group.")] = [],  # noqa: B006
    where: Where = [],  # noqa: B006
) -> list[DecisionAnswer]:
    """Decide which option of a factor is faster, and what it costs: one decision per origin and connected group."""
    return [answer_of(decision) for decision in decisions_on(context, factor, baseline, ignore, where)]


def question_answers_on(context: Context, where: Sequence[str] = ()) -> tuple[QuestionAnswer, ...]:
    """Return the answers to a buyer's questions with the server's price book; cached until the runs change."""

    def make(table: RunTable) -> tuple[QuestionAnswer, ...]:
        request = DecisionRequest(where=tuple(where), prices=context.book)
        return answer_questions(context.store.repository, table, request)

    return context.store.answer(("questions", tuple(where)), make)


@router.get("/questions")
def questions(context: ContextOf, where: Where = []) -> list[QuestionView]:  # noqa: B006
    """Answer the six questions of a buyer: storage, network, disks, nodes, containers, and the cheapest hardware."""
    options = context.command_options(where)
    return [view_of(answer, options) for answer in question_answers_on(context, where)]
