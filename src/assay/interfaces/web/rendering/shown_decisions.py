"""Prepare decisions for pages: the answer, its chart, and links to pairs of runs that explain it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from assay.analysis.comparison.factors.device_classes import DEVICE_CLASS, DeviceClass, layout_classes
from assay.analysis.statistics import RunTable
from assay.interfaces.charts.drawing.identity import colours_of
from assay.interfaces.charts.drawing.style import Spec
from assay.interfaces.charts.speedups import speedup_forest
from assay.interfaces.web.api.decisions import decisions_on, question_answers_on
from assay.interfaces.web.api.plan import fields_of_plan
from assay.interfaces.web.api.why import has_explanation
from assay.interfaces.web.state.answering import palette
from assay.interfaces.web.state.context import Context
from assay.model import LAYOUT_FACTOR
from assay.questions.commands import CommandOptions
from assay.questions.comparisons.why import WhyQuestion, why_decision
from assay.questions.decisions.answers import Obstacle, QuestionAnswer
from assay.questions.decisions.buyer import CHEAPEST
from assay.questions.decisions.chart_rows import forest_rows
from assay.questions.decisions.decision import Decision
from assay.questions.decisions.sentences.decision_sentences import DecisionAnswer, answer_of
from assay.questions.decisions.sentences.question_sentences import QuestionView, view_of

WHY_LINKS_MAX = 4
"""Maximum number of links to pairs of runs below a decision."""


@dataclass(frozen=True, slots=True)
class ShownDecision:
    """A decision on a page. ``why_questions``: questions that link to pairs of runs with a trace or task attempts."""

    id: str
    answer: DecisionAnswer
    chart: Spec | None
    why_questions: tuple[WhyQuestion, ...]


def shown_decisions(
    context: Context,
    factor: str = "",
    baseline: str | None = None,
    ignore: Sequence[str] = (),
    where: Sequence[str] = (),
) -> list[ShownDecision]:
    """Return the decisions on ``factor`` for a page, the main decision first."""
    table, decisions = context.store.table(), decisions_on(context, factor, baseline, ignore, where)
    return _decisions_of_page(table, decisions, "decision", _why_questions_by_decision(context, where))


@dataclass(frozen=True, slots=True)
class ShownQuestion:
    """A buyer's question on a page, with its decisions."""

    view: QuestionView
    decisions: tuple[ShownDecision, ...]
    simulation_address: str
    """Address of the page that simulates an unanswered question; empty if no run can be simulated."""
    plan_address: str
    """Address of the page Plan, filled in with the runs that answer the question; empty if the stored plan's cluster
    can't run them."""
    filters: tuple[str, ...]
    """Conditions to clear, because they hide the runs that answer the question."""
    lacks_prices: bool
    """Whether only prices are missing for an answer."""


def shown_questions(context: Context, where: Sequence[str] = ()) -> list[ShownQuestion]:
    """Return the buyer's questions about the matching runs. The question about costs has no speedup chart."""
    return shown_questions_of(
        context.store.table(),
        question_answers_on(context, where),
        _why_questions_by_decision(context, where),
        context.command_options(where),
    )


WhyQuestionsOf = Callable[[Decision], tuple[WhyQuestion, ...]]


def _why_questions_by_decision(context: Context, where: Sequence[str]) -> WhyQuestionsOf:
    """Return a function from a decision to its pairs of options that a page explains."""

    def why_questions_of(decision: Decision) -> tuple[WhyQuestion, ...]:
        questions = why_decision(decision, where)[:WHY_LINKS_MAX] if " + " not in decision.factor else []
        return tuple(question for question in questions if has_explanation(context, question))

    return why_questions_of


def shown_questions_of(
    table: RunTable, answers: Sequence[QuestionAnswer], why_questions_of: WhyQuestionsOf, options: CommandOptions
) -> list[ShownQuestion]:
    """Return answers as a page shows them. ``why_questions_of``: returns the links to explanations of a decision."""
    return [
        ShownQuestion(
            view_of(answer, options),
            tuple(
                _decisions_of_page(
                    table,
                    answer.decisions,
                    answer.question.name,
                    why_questions_of,
                    charts=answer.question.name != CHEAPEST,
                )
            ),
            _simulation_address(answer),
            _plan_address(answer),
            answer.unanswered.filters if answer.unanswered is not None else (),
            answer.unanswered is not None and answer.unanswered.obstacle in (Obstacle.NO_PRICES, Obstacle.UNPRICED),
        )
        for answer in answers
    ]


def _simulation_address(answer: QuestionAnswer) -> str:
    if answer.unanswered is None or not answer.unanswered.simulable:
        return ""
    name, _, value = answer.question.change.partition("=")
    return f"/whatif?{urlencode([(name, value)])}"


def _plan_address(answer: QuestionAnswer) -> str:
    """Return the address of the page Plan with the workload and the levels that measure the question."""
    question, unanswered = answer.question, answer.unanswered
    if unanswered is not None and unanswered.simulable and unanswered.plan is None:
        return ""
    planned_runs = unanswered.planned if unanswered is not None else None
    if unanswered is not None and planned_runs is not None and unanswered.plan is not None:
        return f"/plan?{urlencode([*fields_of_plan(unanswered.plan.plan), ('runs_on', planned_runs.cluster)])}"
    levels = ", ".join(planned_runs.levels if planned_runs else question.plan_levels)
    if not question.plan_factor:
        return "/plan"
    field = (
        ("layouts", levels)
        if question.plan_factor == LAYOUT_FACTOR
        else ("levels", f"{question.plan_factor}: {levels}")
    )
    if planned_runs is None:
        return f"/plan?{urlencode([field])}"
    fields = [
        field,
        ("workload", planned_runs.workload),
        ("repetitions", str(planned_runs.repetitions)),
        ("layouts", planned_runs.layout),
        ("data", f"{planned_runs.data_bytes / 1e9:g}GB" if planned_runs.data_bytes else ""),
        ("no_cluster", "1" if unanswered is not None and unanswered.described_workers else ""),
        ("runs_on", planned_runs.cluster),
    ]
    return f"/plan?{urlencode([pair for pair in fields if pair[1]])}"


def _decisions_of_page(
    table: RunTable, decisions: Sequence[Decision], name: str, why_questions_of: WhyQuestionsOf, *, charts: bool = True
) -> list[ShownDecision]:
    page_decisions, classes = [], layout_classes(table)
    for number, decision in enumerate(decisions):
        rows = forest_rows(decision, classes)
        # A chart of one row shows only what the sentence above it says.
        chart = speedup_forest(rows, _colours(table, decision.factor)) if len(rows) > 1 and charts else None
        page_decisions.append(ShownDecision(f"{name}-{number}", answer_of(decision), chart, why_questions_of(decision)))
    return page_decisions


def _colours(table: RunTable, factor: str) -> Mapping[str, str]:
    if factor == DEVICE_CLASS:
        return colours_of([device_class.value for device_class in DeviceClass])
    # Colours stand for storage; levels of other factors are drawn in one colour.
    return palette(table, factor) if factor == LAYOUT_FACTOR else {}
