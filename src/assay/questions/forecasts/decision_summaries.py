"""Summarise the decision on a factor, for display next to a model's figures about the factor.

A model's figures describe its predictions. Only a decision states which level is faster, and by how much. An answer
with model figures quotes the decision, so that the question has a single answer.

In: a repository, its table of runs with outlier flags, factors, and conditions on runs. Out: for each factor with a
decision, the sentences of the first one, as ``assay decide FACTOR`` prints them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.analysis.comparison.matched import STRATA
from assay.analysis.statistics import RunTable
from assay.questions.decisions.ask import decisions_of
from assay.questions.decisions.decision import DecisionRequest
from assay.questions.decisions.sentences.decision_sentences import evidence, headline
from assay.questions.decisions.sentences.next_sentences import next_sentences
from assay.store import Repository


@dataclass(frozen=True, slots=True)
class DecisionSummary:
    """The decision on a factor as sentences."""

    factor: str
    headline: str
    evidence: str
    next: tuple[str, ...]
    """Further runs that would settle open results."""


def decision_summaries(
    repository: Repository, table: RunTable, factors: Iterable[str], where: Sequence[str]
) -> tuple[DecisionSummary, ...]:
    """Return the first decision on each factor that has one; workload, origin and lab scale have none."""
    summaries = []
    for factor in factors:
        if factor in (*STRATA, "workload"):
            continue
        if decisions := decisions_of(repository, table, DecisionRequest(factor, where=tuple(where))):
            first = decisions[0]
            summaries.append(DecisionSummary(factor, headline(first), evidence(first), next_sentences(first)))
    return tuple(summaries)
