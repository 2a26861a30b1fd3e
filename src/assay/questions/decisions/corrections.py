"""State that verdicts and intervals depend on the other comparisons of an answer.

Holm's correction covers all comparisons of a decision, and whether speedups depend on a setting is tested over all of
them. A filter, or storage classes instead of layouts, leave other comparisons, so the same runs can have another
verdict and another interval. In: a decision, and others that share runs with it. Out: the decision with a caveat if
these differ.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.questions.decisions.caveats import in_order, options_of_answer
from assay.questions.decisions.decision import Caveat, CaveatKind, Decision, WorkloadResult
from assay.questions.decisions.sentences.decision_sentences import row_verdict
from assay.questions.decisions.sentences.estimate_text import interval_text
from assay.questions.decisions.sentences.option_words import compared_option
from assay.text import plural, workload_title


@dataclass(frozen=True, slots=True)
class ComparedNumbers:
    """How the two numbers of comparisons are named: ``with this filter``, ``without it``."""

    here: str
    elsewhere: str


_ResultPair = tuple[WorkloadResult, WorkloadResult]
"""Results of the same runs in a decision and in another one."""
WITH_FILTER = ComparedNumbers("with this filter", "without it")
OF_LAYOUTS = ComparedNumbers("among layouts", "among storage classes")


def with_corrections(decision: Decision, other_decisions: Sequence[Decision], numbers: ComparedNumbers) -> Decision:
    """Return the decision with caveats if the same runs have another verdict or interval in ``other_decisions``."""
    for other in other_decisions:
        if (other.origin, other.lab_scale) != (decision.origin, decision.lab_scale):
            continue
        pairs = _result_pairs(decision, other)
        texts = {
            CaveatKind.COMPARISONS: _verdicts_text(decision, other, pairs, numbers),
            CaveatKind.INTERVALS: _intervals_text(decision, pairs, numbers),
        }
        caveats = [Caveat(kind, text) for kind, text in texts.items() if text]
        if caveats:
            return replace(decision, caveats=in_order([*decision.caveats, *caveats]))
    return decision


def _verdicts_text(decision: Decision, other: Decision, pairs: Sequence[_ResultPair], numbers: ComparedNumbers) -> str:
    """Return which verdicts on options of the answer differ by the number of comparisons; empty if none does."""
    options = options_of_answer(decision)
    changed = [pair for pair in pairs if pair[0].option in options and pair[0].verdict != pair[1].verdict]
    if other.family == decision.family or not changed:
        return ""
    result = changed[0][0]
    name = compared_option(decision, result.option)
    more_count = len(changed) - 1
    verdict, other_verdict = (row_verdict(row, reason=False) for row in changed[0])
    text = (
        f"{plural(decision.family, 'comparison')} {numbers.here}, {other.family} {numbers.elsewhere}: the "
        f'verdict on {name} on {workload_title(result.workload)} is "{verdict}" instead of "{other_verdict}"'
    )
    return text + (f"; {plural(more_count, 'more verdict differs', 'more verdicts differ')}." if more_count else ".")


def _intervals_text(decision: Decision, pairs: Sequence[_ResultPair], numbers: ComparedNumbers) -> str:
    """Return the interval of an option that differs for the same runs, and how many more do; empty if none does."""
    texts = [
        (result, interval_text(result.time), interval_text(other_result.time))
        for result, other_result in pairs
        if result.time and other_result.time
    ]
    changed = [(result, text, other_text) for result, text, other_text in texts if text != other_text]
    if not changed:
        return ""
    result, text, other_text = changed[0]
    more_text = f" ({plural(len(changed) - 1, 'more differs', 'more differ')})" if len(changed) > 1 else ""
    return (
        f"The interval of {compared_option(decision, result.option)} on {workload_title(result.workload)} is {text} "
        f"{numbers.here} and {other_text} {numbers.elsewhere}{more_text}: whether speedups depend on a setting is "
        "tested over all comparisons of an answer."
    )


def _result_pairs(decision: Decision, other: Decision) -> list[_ResultPair]:
    """Return the results of the same runs, which have the same option and baseline if the factor is the same."""
    has_same_factor = decision.factor == other.factor
    if has_same_factor and decision.baseline != other.baseline:
        return []
    return [
        (result, other_result)
        for result in decision.results
        for other_result in other.results
        if _same_runs(result, other_result) and (not has_same_factor or result.option == other_result.option)
    ]


def _same_runs(first: WorkloadResult, second: WorkloadResult) -> bool:
    """Return whether two results are of one workload, the same number of matched groups, and the same runs."""
    if first.time is None or second.time is None or first.workload != second.workload:
        return False
    return all(
        getattr(first.time, name) == getattr(second.time, name) for name in ("groups", "runs_baseline", "runs_option")
    )
