"""State that a verdict depends on the number of comparisons that it is corrected for.

Holm's correction covers all comparisons of a decision. A filter, or storage classes instead of layouts, leave another
number of comparisons, so the same runs can have another verdict. In: a decision, and others that share runs with it.
Out: the decision with a caveat if such a verdict differs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.questions.decisions.caveats import in_order, options_of_answer
from assay.questions.decisions.decision import Caveat, CaveatKind, Decision, WorkloadResult
from assay.questions.decisions.sentences.decision_sentences import row_verdict
from assay.questions.decisions.sentences.option_words import compared_option
from assay.text import plural, workload_title


@dataclass(frozen=True, slots=True)
class ComparedNumbers:
    """How the two numbers of comparisons are named: ``with this filter``, ``without it``."""

    here: str
    elsewhere: str


WITH_FILTER = ComparedNumbers("with this filter", "without it")
OF_LAYOUTS = ComparedNumbers("of layouts", "of storage classes")


def with_corrections(decision: Decision, other_decisions: Sequence[Decision], numbers: ComparedNumbers) -> Decision:
    """Return the decision with a caveat if the same runs have another verdict in one of ``other_decisions``."""
    options = options_of_answer(decision)
    for other in other_decisions:
        if (other.origin, other.lab_scale) != (decision.origin, decision.lab_scale) or other.family == decision.family:
            continue
        changed = [
            (result, other_result)
            for result in decision.results
            for other_result in other.results
            if result.option in options and _same_runs(result, other_result) and result.verdict != other_result.verdict
        ]
        if changed:
            result, other_result = changed[0]
            name = compared_option(decision, result.option)
            more_count = len(changed) - 1
            verdict, other_verdict = (row_verdict(row, reason=False) for row in (result, other_result))
            text = (
                f"{plural(decision.family, 'comparison')} {numbers.here}, {other.family} {numbers.elsewhere}: the "
                f'verdict on {name} on {workload_title(result.workload)} is "{verdict}" instead of "{other_verdict}"'
            )
            text += f"; {plural(more_count, 'more verdict differs', 'more verdicts differ')}." if more_count else "."
            caveat = Caveat(CaveatKind.COMPARISONS, text)
            return replace(decision, caveats=in_order([*decision.caveats, caveat]))
    return decision


def _same_runs(first: WorkloadResult, second: WorkloadResult) -> bool:
    """Return whether two results are of one workload, the same number of matched groups, and the same runs."""
    if first.time is None or second.time is None or first.workload != second.workload:
        return False
    return all(
        getattr(first.time, name) == getattr(second.time, name) for name in ("groups", "runs_baseline", "runs_option")
    )
