"""Page one of a report: what a report answers, and what it rests on.

In: decisions. Out: the answer, which is the first decision's, and facts for page one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.compare.threats import Threat
from assay.questions.decisions.sentences import cost_headline, cost_sentence, evidence, headline, question
from assay.questions.decisions.values import Decision
from assay.questions.report_parts import Fact
from assay.wording import origin_badge


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a report answers, and what it rests on."""

    title: str
    decisions: tuple[Decision, ...]
    """The first is the answer; empty where nothing could be compared."""
    origin: str
    factor: str
    baseline: str
    levels: tuple[str, ...]
    points: tuple[Fact, ...]
    """Further facts for page one."""
    method: tuple[Fact, ...]
    threats: tuple[Threat, ...]
    assay_version: str

    @property
    def answer(self) -> str:
        """The answer in a sentence."""
        if self.decisions:
            return headline(self.decisions[0])
        return f"Not compared: no two runs differ in {self.factor} and are equal in everything else."

    @property
    def detail(self) -> str:
        """What the answer rests on, and what the leading option costs."""
        if not self.decisions:
            return ""
        return f"{evidence(self.decisions[0])} {cost_headline(self.decisions[0]) or ''}".strip()


def decision_facts(decisions: Sequence[Decision]) -> tuple[Fact, ...]:
    """Return the answers of the other decisions, and what each further option of the first one costs."""
    facts = [
        Fact(
            f"{question(decision)} {origin_badge(decision.origin, decision.lab_scale)}",
            f"{headline(decision)} {evidence(decision)}",
        )
        for decision in decisions[1:]
    ]
    priced = [option for option in decisions[0].options if option.cost] if decisions else []
    if len(priced) > 1:
        costs = [cost_sentence(decisions[0], option.option, option.cost) for option in priced if option.cost]
        facts.append(Fact("By cost", " ".join(costs)))
    return tuple(facts)
