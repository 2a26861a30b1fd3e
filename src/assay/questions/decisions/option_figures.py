"""List the options of decisions with their speedup and cost, for systems that read numbers and no sentences.

In: the answers to a buyer's questions. Out: a row for each compared option, over the workloads that all options of its
decision have in common.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from assay.questions.decisions.answers import QuestionAnswer
from assay.questions.decisions.decision import CostRatio, TimeRatio

OPTIONS_MAX = 200
"""Maximum number of options in an answer."""


@dataclass(frozen=True, slots=True)
class OptionFigures:
    """One option of a decision."""

    question: str
    factor: str
    baseline: str
    option: str
    origin: str
    lab_scale: str
    """Empty outside a lab."""
    time: TimeRatio
    cost: CostRatio | None


def option_figures(answers: Iterable[QuestionAnswer]) -> tuple[OptionFigures, ...]:
    """Return the compared options in the order of the questions and decisions, at most :data:`OPTIONS_MAX`."""
    figures = [
        OptionFigures(
            answer.question.name,
            decision.factor,
            decision.baseline,
            option.option,
            decision.origin,
            decision.lab_scale or "",
            option.time,
            option.cost,
        )
        for answer in answers
        for decision in answer.decisions
        for option in decision.options
        if option.time is not None
    ]
    return tuple(figures[:OPTIONS_MAX])
