"""Decisions as sentences, which the terminal, pages, the API and reports share."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.analysis.comparison.factors.device_classes import DEVICE_CLASS
from assay.analysis.comparison.verdict_text import ComparedNames, evidence_text, groups_and_runs, verdict_text
from assay.analysis.statistics import Verdict
from assay.model import LAYOUT_FACTOR, WORKERS_FACTOR, DeviceKind, Origin
from assay.model.clusters import layout_code
from assay.questions.decisions.curve import Curve, curve_of
from assay.questions.decisions.decision import (
    CostRatio,
    CostVerdict,
    Decision,
    OptionResult,
    StorageEffects,
    TimeRatio,
    WorkloadResult,
)
from assay.questions.decisions.sentences.amount_sentences import CostAmounts, amount_sentences, priced_option
from assay.questions.decisions.sentences.next_sentences import next_sentences
from assay.questions.decisions.sentences.option_words import COUNTED, compared_option, option_text, option_verb
from assay.text import (
    capitalised,
    column_title,
    disk_kind_text,
    format_interval,
    format_ratio,
    joined,
    plural,
    workload_title,
)

OPTIONS_NAMED = 3
"""Maximum number of options named in one sentence."""
WIDE_RANGE = 1.5
"""Minimum ratio of the highest to the lowest speedup over workloads for a headline that states both."""
_NAMED_BY_OPTION = (*DeviceKind, layout_code.REMOTE)
"""Kinds of disks that the name of an option states completely: layouts of one device kind."""
_QUESTIONS = {
    DEVICE_CLASS: "SSDs or hard disks?",
    LAYOUT_FACTOR: "Which storage layout?",
    "network": "Faster network?",
    "compression": "Which compression?",
    **{factor: f"How many {noun}s?" for factor, noun in COUNTED.items()},
    WORKERS_FACTOR: "How many nodes?",
}

_QUESTION_TITLES = {DEVICE_CLASS: "storage class", LAYOUT_FACTOR: "storage layout", "network": "network"}
"""Titles of factors in a question about several factors."""


def question(decision: Decision) -> str:
    """Return the question that the decision answers."""
    titles = [_QUESTION_TITLES.get(name, column_title(name)) for name in decision.factor.split(" + ")]
    return _QUESTIONS.get(decision.factor, f"Which {joined(titles)}?")


def basis_text(time: TimeRatio) -> str:
    """Return the basis of an estimate: ``3 runs each`` or ``214 matched groups, 495 runs``."""
    return groups_and_runs(time.groups, time.runs_baseline, time.runs_option)


def interval_text(time: TimeRatio | CostRatio) -> str:
    """Return the 95 % interval: ``1.57 to 1.79``; ``no interval`` without one."""
    return "no interval" if time.low is None or time.high is None else format_interval(time.low, time.high)


def time_text(time: TimeRatio) -> str:
    """Return interval, basis and scope: ``95 % interval 1.57 to 1.79, 3 runs each, tested settings only``."""
    return evidence_text(time.low, time.high, basis_text(time), time.scope)


def _where(decision: Decision) -> str:
    """Return the workloads of the headline: `` on TeraSort``, `` over 3 workloads``, `` over 7 of 10 workloads``."""
    shared = decision.shared_workloads
    if len(shared) == 1:
        return f" on {workload_title(shared[0])}"
    every = len(_compared_workloads(decision))
    return f" over {plural(len(shared), 'workload') if len(shared) == every else f'{len(shared)} of {every} workloads'}"


def _compared_workloads(decision: Decision) -> tuple[str, ...]:
    return tuple(dict.fromkeys(result.workload for result in decision.results if result.time))


def row_verdict(decision: Decision, result: WorkloadResult | OptionResult) -> str:
    """Return the verdict of a row: ``faster``, or ``slower alone, not confirmed (38 comparisons)``."""
    if result.time is None or not _only_alone(result.verdict, result.time):
        return result.verdict
    alone = Verdict.FASTER if result.time.ratio > 1 else Verdict.SLOWER
    return f"{alone} alone, not confirmed ({plural(decision.family, 'comparison')})"


def _only_alone(verdict: Verdict, time: TimeRatio | None) -> bool:
    """Return whether the 95 % interval excludes 1, and the correction for several comparisons removes the verdict."""
    return verdict is Verdict.NOT_DISTINGUISHABLE and time is not None and _excludes_one(time)


def _claim(decision: Decision, level: str, verdict: Verdict, time: TimeRatio | None, where: str) -> str:
    """Return the verdict on ``level`` as text, without its evidence and full stop."""
    return verdict_text(
        verdict,
        ComparedNames(
            compared_option(decision, level),
            compared_option(decision, decision.baseline),
            option_verb(decision.factor, level),
            where,
        ),
        time.ratio if time else None,
        margin=decision.margin,
        corrected_for=decision.family if _only_alone(verdict, time) else None,
        confounded=time.confounded if time else (),
    )


def result_sentence(decision: Decision, result: WorkloadResult) -> str:
    """Return one option on one workload as a sentence."""
    where = f" on {workload_title(result.workload)}"
    claim = _claim(decision, result.option, result.verdict, result.time, where)
    return f"{claim} ({time_text(result.time)})." if result.time else f"{claim}."


def _compared(decision: Decision) -> tuple[list[OptionResult], OptionResult, bool]:
    """Return the compared options, the best of them, and whether the headline names the best one."""
    compared = [option for option in decision.options if option.time]
    best = next((option for option in compared if option.option == decision.leader), compared[0])
    return compared, best, len(compared) == 1 or best.verdict is Verdict.FASTER


def headline(decision: Decision) -> str:
    """Return the answer in one sentence."""
    compared, best, named = _compared(decision)
    where = _where(decision)
    if decision.storage_effects:
        text = _storage_claim(decision, decision.storage_effects)
    elif named:
        text = f"{_claim(decision, best.option, best.verdict, best.time, where)}{_range_clause(decision, best)}"
        text += _cost_clause(best)
    elif faster := [option for option in compared if option.verdict is Verdict.FASTER]:
        # The option with the highest estimate has no verdict, and others are faster.
        first = faster[0].option
        baseline = compared_option(decision, decision.baseline)
        text = f"{compared_option(decision, first)} {option_verb(decision.factor, first)} faster than {baseline}{where}"
        text += "; which option is the fastest is not decided"
    else:
        text = f"No option is shown to be faster than {compared_option(decision, decision.baseline)}{where}"
    return f"Simulated: {text}." if decision.origin == Origin.SIMULATED else f"{text}."


def _range_clause(decision: Decision, option: OptionResult) -> str:
    """Return the range over workloads: ``: from no difference shown on K-means (1.00×) to 5.13× on Sort``.

    Empty unless the ratios differ widely (:func:`_extremes`), and the mean over the workloads has a verdict.
    """
    extremes = _extremes(decision, option.option)
    if option.verdict not in (Verdict.FASTER, Verdict.SLOWER) or not extremes:
        return ""
    texts = [_ratio_on_workload(result, result.time.ratio) for result in extremes if result.time]
    return f"{': ' if option.verdict is Verdict.FASTER else ', '}from {' to '.join(texts)}"


def _ratio_on_workload(result: WorkloadResult, ratio: float) -> str:
    workload, how = workload_title(result.workload), f"{format_ratio(ratio)}×"
    known = result.verdict in (Verdict.FASTER, Verdict.SLOWER)
    return f"{how} on {workload}" if known else f"no difference shown on {workload} ({how})"


def _extremes(decision: Decision, option: str) -> tuple[WorkloadResult, WorkloadResult] | None:
    """Return the headline's workloads with the lowest and the highest ratio if these differ widely; else None.

    The 95 % intervals of the two do not overlap, and the higher ratio is at least :data:`WIDE_RANGE` times the lower.
    Every workload has enough runs for a verdict.
    """
    timed = [
        (result.time.ratio, result.time.low, result.time.high, result)
        for result in decision.results
        if result.option == option and result.workload in decision.shared_workloads and result.time
    ]
    if len(timed) < 2 or any(item[3].verdict is Verdict.NOT_ENOUGH_RUNS for item in timed):
        return None
    lowest, highest = min(timed, key=lambda item: item[0]), max(timed, key=lambda item: item[0])
    if lowest[2] is None or highest[1] is None or highest[1] <= lowest[2] or highest[0] < WIDE_RANGE * lowest[0]:
        return None
    return lowest[3], highest[3]


def _storage_claim(decision: Decision, by_storage: StorageEffects) -> str:
    """Return the effect with each storage class, on the workload where the classes differ most clearly."""
    workload = by_storage.differs_on[0]
    where = f"on {workload_title(workload)}" if workload else f"over {plural(by_storage.workloads, 'workload')}"
    clauses = []
    for effect in by_storage.effects:
        storage, ratio = option_text(DEVICE_CLASS, effect.storage), f"{format_ratio(effect.time.ratio)}×"
        known = effect.verdict in (Verdict.FASTER, Verdict.SLOWER)
        if effect.workload == workload:
            clauses.append(
                f"{ratio} as fast with {storage}" if known else f"no difference shown with {storage} ({ratio})"
            )
    option, baseline = (compared_option(decision, level) for level in (by_storage.option, decision.baseline))
    return capitalised(f"{option} against {baseline} depends on the storage: {where}, {joined(clauses)}")


def _storage_evidence(decision: Decision) -> str:
    """Return the effect with each storage class over the workloads, and over all classes; empty if none differs."""
    if decision.storage_effects is None:
        return ""
    by_storage = decision.storage_effects
    over_all = [effect for effect in by_storage.effects if not effect.workload] or list(by_storage.effects)
    texts = [
        f"{format_ratio(effect.time.ratio)}× with {option_text(DEVICE_CLASS, effect.storage)} "
        f"({interval_text(effect.time)})"
        for effect in over_all
    ]
    where = f"Over {plural(by_storage.workloads, 'workload')}" if by_storage.workloads > 1 else "By storage"
    result = decision.option(by_storage.option)
    pooled = f"{format_ratio(result.time.ratio)}×" if result.time else ""
    verdict = row_verdict(decision, result)
    return f"{where}: {joined(texts)}. With all storage classes together: {pooled}, {verdict}. "


def _cost_clause(option: OptionResult) -> str:
    """Return the cost per job where the times do not decide and the costs do; else an empty text."""
    cost, undecided = option.cost, (Verdict.NOT_DISTINGUISHABLE, Verdict.EQUIVALENT)
    if option.verdict not in undecided or cost is None:
        return ""
    if cost.verdict not in (CostVerdict.CHEAPER, CostVerdict.DEARER):
        return ""
    return f", and a job {cost.verdict} on it: {format_ratio(cost.ratio)}× ({interval_text(cost)})"


def evidence(decision: Decision) -> str:
    """Return the evidence for the headline: interval, runs and scope, single workloads, and ties with the leader."""
    compared, best, named = _compared(decision)
    if not named:
        briefs = [_short_result(decision, option) for option in compared[:OPTIONS_NAMED]]
        more = f"; {len(compared) - len(briefs)} more" if len(compared) > len(briefs) else ""
        together = "with all storage classes together: " if decision.storage_effects else ""
        return capitalised(f"{together}{'; '.join(briefs)}{more}.") + _disks(decision)
    assert best.time is not None
    text = f"{_storage_evidence(decision)}{capitalised(time_text(best.time))}."
    text += f"{_spread(decision, best.option)}{_left_out(decision)}{_disks(decision)}"
    ties = [option for option in compared if option.option in decision.ties and option.tied_with_leader]
    if ties and best.option == decision.leader:
        names = joined([_tie_text(decision, option) for option in ties])
        text += f" Not distinguishable from {compared_option(decision, decision.leader)}: {names}."
    return text


def _short_result(decision: Decision, option: OptionResult) -> str:
    assert option.time is not None
    name = compared_option(decision, option.option)
    sure = f", {interval_text(option.time)}" if option.time.low is not None else ""
    return f"{name}: {row_verdict(decision, option)} ({format_ratio(option.time.ratio)}×{sure})"


def _excludes_one(ratio: TimeRatio | CostRatio) -> bool:
    return ratio.low is not None and ratio.high is not None and not ratio.low <= 1 <= ratio.high


def _spread(decision: Decision, option: str) -> str:
    """Return on how many of the headline's workloads the option is faster and slower; empty for one workload."""
    results = [
        result
        for result in decision.results
        if result.option == option and result.workload in decision.shared_workloads
    ]
    if len(results) < 2 or not any(result.time and result.time.low is not None for result in results):
        return ""
    faster, slower = (
        sum(result.verdict is verdict for result in results) for verdict in (Verdict.FASTER, Verdict.SLOWER)
    )
    known = sorted((result.time.ratio, workload_title(result.workload)) for result in results if result.time)
    least, most = (f"{format_ratio(value)}× ({workload})" for value, workload in (known[0], known[-1]))
    speeds = f"the ratio is {least} to {most}"
    if not faster and not slower:
        return f" Not shown to differ on any single one of the {len(results)}: {speeds}."
    on = f" Faster on {faster} of {len(results)}" if faster else f" Slower on {slower} of {len(results)}"
    more = "" if _extremes(decision, option) else f": {speeds}"
    return f"{on}{f', slower on {slower}' if faster and slower else ''}{more}."


def _left_out(decision: Decision) -> str:
    """Return the compared workloads that are not part of the headline, and why."""
    shared = decision.shared_workloads
    names = [workload_title(name) for name in _compared_workloads(decision) if name not in shared]
    if not names or len(shared) < 2:
        return ""
    return f" The mean excludes {joined(names)}: an option has no interval there, or the job only generates input."


def _disks(decision: Decision) -> str:
    """Return the kinds of disks that are compared, unless the options name them, and those that are left out."""
    if decision.disks is None:
        return ""
    compared, left_out = (
        [f"{disk_kind_text(disks.kind)} ({plural(disks.runs, 'run')})" for disks in part]
        for part in (decision.disks.compared, decision.disks.left_out)
    )
    kinds = [disks.kind for disks in decision.disks.compared]
    text = "" if len(kinds) == 1 and kinds[0] in _NAMED_BY_OPTION else f" The disks are {joined(compared)}."
    return f"{text} No matched group compares these options on {joined(left_out)}." if left_out else text


def _tie_text(decision: Decision, option: OptionResult) -> str:
    tie = option.tied_with_leader
    assert tie is not None
    sure = f", {interval_text(tie)}" if tie.low is not None else ""
    return f"{compared_option(decision, option.option)} ({format_ratio(tie.ratio)}×{sure})"


def cost_sentence(decision: Decision, level: str, cost: CostRatio) -> str:
    """Return the cost of a job on an option, and its break-even price, as a sentence."""
    option, baseline = compared_option(decision, level), compared_option(decision, decision.baseline)
    amount = f"{format_ratio(cost.ratio)}× ({interval_text(cost)}) at {format_ratio(cost.price_ratio)}× the price"
    break_even = f"{format_ratio(cost.break_even_price_ratio)}× the price"
    if cost.verdict is CostVerdict.NOT_ENOUGH_RUNS:
        return capitalised(
            f"not enough runs for a verdict on the cost per job of {option}: the estimate is "
            f"{format_ratio(cost.ratio)}× ({interval_text(cost)}) that of {baseline}, at "
            f"{format_ratio(cost.price_ratio)}× the price."
        )
    if cost.verdict is CostVerdict.NOT_DISTINGUISHABLE:
        if _excludes_one(cost):
            alone = CostVerdict.CHEAPER if cost.ratio < 1 else CostVerdict.DEARER
            return (
                f"Judged alone, a job on {option} {alone} than on {baseline}: {amount}. As one of several comparisons, "
                "a difference like this can be chance."
            )
        return capitalised(
            f"the cost per job of {option} and {baseline} is not distinguishable: {amount}; it would be equal "
            f"at {break_even}."
        )
    if cost.verdict is CostVerdict.CHEAPER:
        return capitalised(
            f"a job on {option} costs less than on {baseline}: {amount}; it costs less below {break_even}."
        )
    return capitalised(
        f"a job on {option} costs more than on {baseline}: {amount}; it would cost less below {break_even}."
    )


def cheapest_sentence(decision: Decision, *, count_others: bool = True) -> str | None:
    """Return which option has the lowest cost per job, or which options tie; None without prices.

    ``count_others``: also state the number of options without a cost ratio.
    """
    if decision.cheapest is None:
        return None
    factor, baseline = decision.factor, decision.baseline
    cheapest, ties = decision.cheapest.option, decision.cheapest.ties
    costs = {option.option: option.cost for option in decision.options if option.cost}
    where = _where(decision)
    apart = sum(option.cost is None for option in decision.options)
    unknown = (
        f" {plural(apart, 'option')} {'is' if apart == 1 else 'are'} not compared in cost."
        if apart and count_others
        else ""
    )
    if ties and (shared := shared_by_leaders(decision)):
        text = f"{_shared_text(shared)}{where}"
        ratios = [costs[name].ratio for name in (cheapest, *ties)]
        text = (
            f"{text}: {format_ratio(min(ratios))}× to {format_ratio(max(ratios))}× the cost of "
            f"{compared_option(decision, baseline)}; {_undecided_text(decision, shared)}"
        )
    elif ties:
        named = [
            f"{compared_option(decision, name)} ({f'{format_ratio(costs[name].ratio)}×' if name in costs else '1×'})"
            for name in (cheapest, *ties[: OPTIONS_NAMED - 1])
        ]
        more = len(ties) + 1 - len(named)
        names = joined([*named, f"{more} more"] if more else named)
        text = f"no option is shown to be the cheapest per job{where}: not distinguishable are {names}"
        if baseline not in (cheapest, *ties):
            text += f", relative to {compared_option(decision, baseline)}"
    else:
        text = f"{compared_option(decision, cheapest)} {option_verb(factor, cheapest)} the cheapest per job{where}"
        if cheapest == baseline:
            text += f": {'the only other option' if len(costs) == 1 else f'the {len(costs)} other options'} compared "
            text += "costs more" if len(costs) == 1 else "cost more"
        else:
            cost = costs[cheapest]
            text += f": {format_ratio(cost.ratio)}× the cost of {compared_option(decision, baseline)} "
            text += f"({interval_text(cost)})"
    start = f"Simulated: {text}." if decision.origin == Origin.SIMULATED else f"{capitalised(text)}."
    return f"{start}{unknown}"


def shared_by_leaders(decision: Decision) -> dict[str, str]:
    """Return the levels that the cheapest option and all its ties share and the baseline lacks, by factor.

    Empty without ties, and unless all of them cost less than the baseline. Only options of several factors share
    levels.
    """
    cheapest, factors = decision.cheapest, decision.factor.split(" + ")
    if cheapest is None or not cheapest.ties or len(factors) < 2:
        return {}
    names = (cheapest.option, *cheapest.ties)
    cheaper = [o.option for o in decision.options if o.cost and o.cost.verdict is CostVerdict.CHEAPER]
    if not set(names) <= set(cheaper):
        return {}
    leaders = [dict(zip(factors, name.split(" + "), strict=True)) for name in names]
    baseline = dict(zip(factors, decision.baseline.split(" + "), strict=True))
    alike = {name: level for name, level in leaders[0].items() if all(option[name] == level for option in leaders)}
    return alike if any(baseline[name] != level for name, level in alike.items()) else {}


def _shared_text(shared: Mapping[str, str]) -> str:
    """Return the shared levels as the subject of a sentence: ``1 SSD per worker (SSD) is the cheapest per job``."""
    factor, level = " + ".join(shared), " + ".join(shared.values())
    verb = option_verb(*next(iter(shared.items())))
    return f"{option_text(factor, level)} {verb} the cheapest per job"


def _undecided_text(decision: Decision, shared: Mapping[str, str]) -> str:
    """Return what stays open between the leaders: ``InfiniBand and Ethernet are not distinguishable there``."""
    assert decision.cheapest is not None
    factors = decision.factor.split(" + ")
    names = []
    for option in (decision.cheapest.option, *decision.cheapest.ties):
        levels = dict(zip(factors, option.split(" + "), strict=True))
        names.append(joined([option_text(name, levels[name]) for name in factors if name not in shared]))
    more = len(names) - OPTIONS_NAMED
    return f"{joined([*names[:OPTIONS_NAMED], *([f'{more} more'] if more > 0 else [])])} are not distinguishable there"


def cost_headline(decision: Decision) -> str | None:
    """Return which option is the cheapest and what the leading option costs; None without prices.

    With two options, one comparison of their costs states both.
    """
    compared = [option for option in decision.options if option.cost]
    chosen = priced_option(decision)
    if chosen is None or chosen.cost is None:
        return None
    sentence = cost_sentence(decision, chosen.option, chosen.cost)
    return sentence if len(compared) == 1 else f"{cheapest_sentence(decision)} {sentence}"


@dataclass(frozen=True, slots=True)
class DecisionAnswer:
    """A decision with its sentences: what ``--json`` and the REST API return."""

    question: str
    headline: str
    evidence: str
    """The evidence for the headline."""
    cost: str | None
    """Which option is the cheapest, and what the leading option costs; None without prices."""
    amounts: CostAmounts | None
    """The same in absolute amounts; None without prices."""
    sentences: tuple[str, ...]
    """One sentence for each result."""
    next: tuple[str, ...]
    """Further runs that would settle what is open, one sentence each."""
    curve: Curve | None
    """Speed, efficiency and cost by level, where the options are three or more numbers."""
    decision: Decision


def answer_of(decision: Decision) -> DecisionAnswer:
    """Return the decision with its sentences."""
    return DecisionAnswer(
        question=question(decision),
        headline=headline(decision),
        evidence=evidence(decision),
        cost=cost_headline(decision),
        amounts=amount_sentences(decision),
        sentences=tuple(result_sentence(decision, result) for result in decision.results),
        next=next_sentences(decision),
        curve=curve_of(decision),
        decision=decision,
    )
