"""Decisions as sentences, which the terminal, pages, the API and reports share."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis.comparison.factors.device_classes import DEVICE_CLASS
from assay.analysis.comparison.verdict_text import ComparedNames, verdict_text
from assay.analysis.statistics import ALPHA, InferenceScope, Verdict
from assay.model import LAYOUT_FACTOR, WORKERS_FACTOR, DeviceKind, Origin, counted_resources
from assay.model.clusters import layout_code
from assay.questions.decisions.curve import Curve, curve_of
from assay.questions.decisions.decision import (
    CostRatio,
    CostVerdict,
    Decision,
    DiskRuns,
    OptionResult,
    StorageEffects,
    TimeRatio,
    WorkloadResult,
)
from assay.questions.decisions.sentences.amount_sentences import CostAmounts, amount_sentences, priced_option
from assay.questions.decisions.sentences.cost_sentences import (
    OPTIONS_NAMED,
    cost_headline,
    costs_by_storage,
    not_compared,
    price_sentence,
)
from assay.questions.decisions.sentences.estimate_text import (
    compared_workloads,
    excludes_one,
    interval_text,
    open_text,
    time_text,
    unconfirmed_reason,
    where_text,
)
from assay.questions.decisions.sentences.next_sentences import next_sentences
from assay.questions.decisions.sentences.option_words import (
    COUNTED,
    compared_option,
    option_text,
    option_verb,
    option_with_rate,
)
from assay.text import capitalised, column_title, disk_kind_text, format_ratio, joined, plural, workload_title
from assay.workloads.catalogue import generates_input

WIDE_RANGE = 1.5
"""Minimum ratio of the highest to the lowest speedup over workloads for a headline that states both."""
RANGE_IN_SUMMARY = 2.0
"""The same for a line that summarises an answer."""
_NAMED_BY_OPTION = (*DeviceKind, layout_code.REMOTE)
"""Kinds of disks that the name of an option states completely: layouts of one device kind."""
_QUESTIONS = {
    DEVICE_CLASS: "SSDs or hard disks?",
    LAYOUT_FACTOR: "Which storage layout?",
    "network": "Faster network?",
    "compression": "Which compression?",
    **{factor: f"How many {noun}s?" for factor, noun in COUNTED.items()},
    **{factor: f"How many {column_title(factor).lower()}?" for factor in counted_resources()},
    WORKERS_FACTOR: "How many nodes?",
}

_QUESTION_TITLES = {DEVICE_CLASS: "storage class", LAYOUT_FACTOR: "storage layout", "network": "network"}
"""Titles of factors in a question about several factors."""


def question(decision: Decision) -> str:
    """Return the question that the decision answers."""
    titles = [_QUESTION_TITLES.get(name, column_title(name)) for name in decision.factor.split(" + ")]
    return _QUESTIONS.get(decision.factor, f"Which {joined(titles)}?")


def row_verdict(result: WorkloadResult | OptionResult, *, reason: bool = True) -> str:
    """Return the verdict of a row: ``faster``, or ``slower, not confirmed (p = 0.0064, corrected 0.28)``.

    Without ``reason``, the p values are left out: ``slower, not confirmed``. :func:`verdict_note` defines them.
    """
    if result.time is None or not _only_alone(result.verdict, result.time):
        return result.verdict
    verdict_alone = Verdict.FASTER if result.time.ratio > 1 else Verdict.SLOWER
    text = f"{verdict_alone}, not confirmed"
    return f"{text} ({unconfirmed_reason(result.time)})" if reason else text


def verdict_note(decision: Decision) -> str:
    """Return the correction behind the verdicts, what *equivalent* means, and why rows are not confirmed."""
    text = f"equivalent means within {100 * decision.margin:g} %."
    if decision.family > 1:
        text = f"Verdicts are corrected for {plural(decision.family, 'comparison')} (Holm); {text}"
    text = capitalised(text)
    times = [result.time for result in decision.results if result.time and _only_alone(result.verdict, result.time)]
    if not times:
        return text
    text += (
        f" Not confirmed: the p value is {ALPHA:g} or more after this correction. More values, or fewer comparisons by "
        "a filter, can confirm the difference."
    )
    if any(time.levels for time in times):
        text += " Where the speedup depends on a setting, the levels of that setting are the values (n), not the runs."
    return text


def _only_alone(verdict: Verdict, time: TimeRatio | None) -> bool:
    """Return whether the 95 % interval excludes 1, and the correction for several comparisons removes the verdict."""
    return verdict is Verdict.NOT_DISTINGUISHABLE and time is not None and excludes_one(time)


def _claim(decision: Decision, level: str, verdict: Verdict, time: TimeRatio | None, where: str) -> str:
    """Return the verdict on ``level`` as text, without its evidence and full stop."""
    return verdict_text(
        verdict,
        ComparedNames(
            option_with_rate(decision, level),
            option_with_rate(decision, decision.baseline),
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


def _compared_and_best(decision: Decision) -> tuple[list[OptionResult], OptionResult, bool]:
    """Return the compared options, the best of them, and whether the headline names the best one."""
    compared_options = [option for option in decision.options if option.time]
    best = decision.named_option or compared_options[0]
    return compared_options, best, len(compared_options) == 1 or best.verdict is Verdict.FASTER


def headline(decision: Decision) -> str:
    """Return the answer in one sentence."""
    compared_options, best, is_named = _compared_and_best(decision)
    where = where_text(decision)
    if is_named:
        where += _settings_text(best)
        text = f"{_claim(decision, best.option, best.verdict, best.time, where)}{_range_clause(decision, best)}"
    else:
        text = _unnamed_text(decision, compared_options, where)
    return _complete_text(decision, text)


def _complete_text(decision: Decision, text: str) -> str:
    """Return the answer as a sentence, after its origin and the disks that it does not cover."""
    start = f"{_disks_left_out(decision)} " if _answers_for_volumes(decision) else ""
    return f"{start}{'Simulated: ' if decision.origin == Origin.SIMULATED else ''}{text}."


def _unnamed_text(decision: Decision, compared_options: Sequence[OptionResult], where: str) -> str:
    """Return the answer if the option with the highest estimate has no verdict."""
    baseline = compared_option(decision, decision.baseline)
    faster_option = next((option.option for option in compared_options if option.verdict is Verdict.FASTER), None)
    if faster_option is None:
        return f"No option is shown to be faster than {baseline}{where}"
    verb = option_verb(decision.factor, faster_option)
    faster_text = f"{compared_option(decision, faster_option)} {verb} faster than {baseline}{where}"
    return f"{faster_text}; which option is the fastest is open"


def _settings_text(option: OptionResult) -> str:
    """Return `` in the 2 tested settings`` for a difference that is shown for these settings only; else empty."""
    verdicts = (Verdict.FASTER, Verdict.SLOWER, Verdict.EQUIVALENT)
    if option.time is None or option.verdict not in verdicts or option.time.scope is not InferenceScope.TESTED:
        return ""
    if len(option.workloads) > 1 or not option.time.groups:
        return " in the tested settings"
    return " in the tested setting" if option.time.groups == 1 else f" in the {option.time.groups} tested settings"


def summary(decision: Decision) -> str:
    """Return the answer with its interval, its number of runs and the cost per job, in one sentence."""
    _, best, is_named = _compared_and_best(decision)
    if not is_named or best.time is None:
        costs, option = _costs_summary(decision, best), compared_option(decision, best.option)
        baseline = compared_option(decision, decision.baseline)
        return f"{headline(decision)[:-1]}; {option} against {baseline}: {costs}." if costs else headline(decision)
    where = f"{where_text(decision)}{_settings_text(best)}"
    is_unconfirmed = _only_alone(best.verdict, best.time)
    verdict = (Verdict.FASTER if best.time.ratio > 1 else Verdict.SLOWER) if is_unconfirmed else best.verdict
    text = _claim(decision, best.option, verdict, best.time, where)
    runs = plural(best.time.runs_baseline + best.time.runs_option, "run")
    text += f" ({interval_text(best.time)}, {runs}{', not confirmed' if is_unconfirmed else ''}"
    text += f"{_range_text(decision, best)})"
    costs = _costs_summary(decision, best)
    text += f", {costs}" if costs else ""
    return _complete_text(decision, text)


def _range_text(decision: Decision, option: OptionResult) -> str:
    """Return ``; 1.00× on K-means, no difference shown, to 5.13× on Sort`` if the highest ratio is twice the lowest or
    more; else empty."""
    ends = [result for result in _extreme_results(decision, option.option) or () if result.time]
    ratios = [result.time.ratio for result in ends if result.time]
    if not ratios or ratios[1] < RANGE_IN_SUMMARY * ratios[0]:
        return ""
    texts = [_open_on_workload(result) for result in ends]
    low, high = (
        f"{format_ratio(ratio)}× on {workload_title(result.workload)}{f', {text}' if text else ''}"
        for ratio, result, text in zip(ratios, ends, texts, strict=True)
    )
    return f"; {low}{',' if texts[0] else ''} to {high}"


def _costs_summary(decision: Decision, option: OptionResult) -> str:
    """Return the option's cost ratio, for each storage class where it depends on the storage; empty without prices."""
    if by_storage := costs_by_storage(decision):
        return joined([f"{_cost_summary(cost)} with {name}" for name, cost in by_storage])
    return _cost_summary(option.cost) if option.cost else ""


def _cost_summary(cost: CostRatio) -> str:
    """Return ``0.75× the cost per job (0.64 to 0.89)``, with the verdict if no difference is confirmed."""
    text = f"{format_ratio(cost.ratio)}× the cost per job ({interval_text(cost)}"
    if cost.verdict in (CostVerdict.CHEAPER, CostVerdict.DEARER):
        return f"{text})"
    if cost.verdict is CostVerdict.NOT_ENOUGH_RUNS:
        return f"{text}, not enough runs)"
    return f"{text}, {open_text(cost)})"


def _range_clause(decision: Decision, option: OptionResult) -> str:
    """Return the range over workloads: ``: 1.00× on K-means (no difference shown) to 5.13× on Sort``.

    Empty unless the ratios differ widely (:func:`_extreme_results`), and the mean over the workloads has a verdict.
    """
    extremes = _extreme_results(decision, option.option)
    if option.verdict not in (Verdict.FASTER, Verdict.SLOWER) or not extremes:
        return ""
    texts = [_ratio_on_workload(result, result.time.ratio) for result in extremes if result.time]
    return f"{': ' if option.verdict is Verdict.FASTER else ', '}{' to '.join(texts)}"


def _ratio_on_workload(result: WorkloadResult, ratio: float) -> str:
    text = _open_on_workload(result)
    return f"{format_ratio(ratio)}× on {workload_title(result.workload)}{f' ({text})' if text else ''}"


def _open_on_workload(result: WorkloadResult) -> str:
    """Return ``no difference shown`` or ``not confirmed`` for a ratio without a verdict; else empty."""
    if result.time is None or result.verdict in (Verdict.FASTER, Verdict.SLOWER):
        return ""
    return open_text(result.time)


def _extreme_results(decision: Decision, option: str) -> tuple[WorkloadResult, WorkloadResult] | None:
    """Return the headline's workloads with the lowest and the highest ratio if these differ widely; else None.

    The 95 % intervals of the two do not overlap, and the higher ratio is at least :data:`WIDE_RANGE` times the lower.
    Every workload has enough runs for a verdict.
    """
    timed_results = [
        (result.time.ratio, result.time.low, result.time.high, result)
        for result in decision.results
        if result.option == option and result.workload in decision.option(option).workloads and result.time
    ]
    if len(timed_results) < 2 or any(item[3].verdict is Verdict.NOT_ENOUGH_RUNS for item in timed_results):
        return None
    lowest, highest = min(timed_results, key=lambda item: item[0]), max(timed_results, key=lambda item: item[0])
    if lowest[2] is None or highest[1] is None or highest[1] <= lowest[2] or highest[0] < WIDE_RANGE * lowest[0]:
        return None
    return lowest[3], highest[3]


def _storage_claim(by_storage: StorageEffects) -> str:
    """Return the effect with each storage class, on the workload where the classes differ most clearly."""
    workload = by_storage.differs_on[0]
    where = f"on {workload_title(workload)}" if workload else f"over {plural(by_storage.workloads, 'workload')}"
    clauses = []
    for effect in by_storage.effects:
        has_verdict = effect.verdict in (Verdict.FASTER, Verdict.SLOWER)
        if effect.workload == workload:
            text = f"{format_ratio(effect.time.ratio)}× with {option_text(DEVICE_CLASS, effect.storage)}"
            clauses.append(text if has_verdict else f"{text} ({open_text(effect.time)})")
    return f"The effect depends on the storage: {where}, {joined(clauses)}."


def _storage_means(by_storage: StorageEffects, *, on_cost: bool) -> str:
    """Return the mean effect on time and cost over the workloads with each storage class.

    ``on_cost``: whether the result on cost depends on the storage.
    """
    over_all = by_storage.over_all
    names = [option_text(DEVICE_CLASS, effect.storage) for effect in over_all]
    times = [
        f"{format_ratio(effect.time.ratio)}× with {name} ({interval_text(effect.time)})"
        for name, effect in zip(names, over_all, strict=True)
    ]
    costs = [
        f"{format_ratio(effect.cost.ratio)}× with {name} ({interval_text(effect.cost)})"
        for name, effect in zip(names, over_all, strict=True)
        if effect.cost
    ]
    cost = f"; the cost per job: {joined(costs)}" if costs else ""
    difference_text = "" if by_storage.differs_on else " No difference in speedup between them is shown."
    if difference_text and on_cost:
        difference_text += " The result on cost depends on the storage."
    workload = over_all[0].workload
    where = f"on {workload_title(workload)}" if workload else f"over {plural(by_storage.workloads, 'workload')}"
    return f"By storage, {where}: {joined(times)}{cost}.{difference_text}"


def evidence(decision: Decision) -> str:
    """Return the evidence for the headline: interval, runs and scope, effects by storage, and ties with the leader."""
    compared_options, best, is_named = _compared_and_best(decision)
    if not is_named:
        briefs = [_short_result(decision, option) for option in compared_options[:OPTIONS_NAMED]]
        more_text = f"; {len(compared_options) - len(briefs)} more" if len(compared_options) > len(briefs) else ""
        texts = [capitalised(f"{'; '.join(briefs)}{more_text}.")]
    else:
        assert best.time is not None
        texts = [f"{capitalised(time_text(best.time))}."]
    if decision.storage_difference is not None:
        texts.append(_storage_claim(decision.storage_difference))
    ties = [option for option in compared_options if option.option in decision.ties and option.tied_with_leader]
    if is_named and ties and best.option == decision.leader:
        names = [_tie_text(decision, option) for option in ties[:OPTIONS_NAMED]]
        names += [f"{len(ties) - OPTIONS_NAMED} more"] if len(ties) > OPTIONS_NAMED else []
        leader, verb = compared_option(decision, decision.leader), option_verb(decision.factor, decision.leader)
        texts.append(f"No difference shown: {leader} {verb} {joined(names)}.")
    elif is_named and best.tied_with_leader:
        leader, verb = compared_option(decision, decision.leader), option_verb(decision.factor, decision.leader)
        texts.append(f"No difference shown: {leader} {verb} {_tie_text(decision, best)}.")
    if not _answers_for_volumes(decision):
        texts.append(_disks_left_out(decision))
    return " ".join(filter(None, texts))


def _answers_for_volumes(decision: Decision) -> bool:
    """Return whether numbers of remote volumes were compared, and the runs with local disks were not."""
    if decision.disks is None:
        return False
    compared_kinds = {disks.kind for disks in decision.disks.compared}
    return not compared_kinds & set(DeviceKind) and any(
        disks.kind in set(DeviceKind) for disks in decision.disks.left_out
    )


def _disks_left_out(decision: Decision) -> str:
    """Return the kinds of disks without a comparison, and why; empty if there are none.

    ``Not measured for hard disks and SSDs: all had 1 per worker.``
    """
    texts: dict[str, list[str]] = {}
    for disks in decision.disks.left_out if decision.disks else ():
        is_single = len(disks.numbers) == 1
        reason = f"all had {disks.numbers[0]} per worker" if is_single else "no two runs are equal in everything else"
        texts.setdefault(reason, []).append(disk_kind_text(disks.kind))
    clauses = [f"{joined(kinds)}: {reason}" for reason, kinds in texts.items()]
    return f"Not measured for {'; for '.join(clauses)}." if clauses else ""


def remarks(decision: Decision) -> tuple[str, ...]:
    """Return the details of the answer: ratios by workload and storage, workloads left out, disks, and prices."""
    _, best, is_named = _compared_and_best(decision)
    priced_result = priced_option(decision)
    texts = (
        _spread(decision, best.option) if is_named else "",
        _storage_means(decision.storage_effects, on_cost=decision.storage_costs is not None)
        if decision.storage_effects
        else "",
        _left_out(decision, best.option if is_named else None),
        _disks(decision),
        price_sentence(decision, priced_result.option, priced_result.cost)
        if priced_result and priced_result.cost
        else "",
        not_compared(decision, every=True),
    )
    return tuple(filter(None, texts))


def _short_result(decision: Decision, option: OptionResult) -> str:
    assert option.time is not None
    name = compared_option(decision, option.option)
    interval = f", {interval_text(option.time)}" if option.time.low is not None else ""
    return f"{name}: {row_verdict(option)} ({format_ratio(option.time.ratio)}×{interval})"


def _spread(decision: Decision, option: str) -> str:
    """Return on how many of the headline's workloads the option is faster and slower; empty for one workload."""
    results = [
        result
        for result in decision.results
        if result.option == option and result.workload in decision.option(option).workloads
    ]
    if len(results) < 2 or not any(result.time and result.time.low is not None for result in results):
        return ""
    faster_count, slower_count = (
        sum(result.verdict is verdict for result in results) for verdict in (Verdict.FASTER, Verdict.SLOWER)
    )
    ratios = sorted((result.time.ratio, workload_title(result.workload)) for result in results if result.time)
    least_text, most_text = (f"{format_ratio(value)}× ({workload})" for value, workload in (ratios[0], ratios[-1]))
    speeds = f"the ratio is {least_text} to {most_text}"
    if not faster_count and not slower_count:
        return f"Not shown to differ on any single one of the {len(results)} workloads: {speeds}."
    counts_text = (
        f"Faster on {faster_count} of {len(results)} workloads"
        if faster_count
        else f"Slower on {slower_count} of {len(results)} workloads"
    )
    correction_text = (
        f", after the correction for {plural(decision.family, 'comparison')}" if decision.family > 1 else ""
    )
    speeds_text = "" if _extreme_results(decision, option) else f": {speeds}"
    counts_text += f", slower on {slower_count}" if faster_count and slower_count else ""
    return f"{counts_text}{correction_text}{speeds_text}."


def _left_out(decision: Decision, option: str | None) -> str:
    """Return the compared workloads that are not part of the headline, with the option's ratio, and why."""
    if len(decision.headline_workloads) < 2:
        return ""
    by_reason: dict[str, list[str]] = {}
    for name in compared_workloads(decision):
        if name not in decision.headline_workloads:
            times = [r.time for r in decision.results if (r.workload, r.option) == (name, option)]
            ratios_text = "".join(f" ({format_ratio(time.ratio)}×)" for time in times if time)
            reason = (
                "it only generates input"
                if generates_input(name)
                else "too few runs"
                if ratios_text
                else "not measured"
            )
            by_reason.setdefault(reason, []).append(f"{workload_title(name)}{ratios_text}")
    texts = [f"{joined(names)}: {reason}" for reason, names in by_reason.items()]
    return f"Not in the mean: {'; '.join(texts)}." if texts else ""


def _disks(decision: Decision) -> str:
    """Return the kinds of disks that are compared, unless the options name them."""
    if decision.disks is None:
        return ""
    kinds = [disks.kind for disks in decision.disks.compared]
    is_named_by_option = len(kinds) == 1 and kinds[0] in _NAMED_BY_OPTION
    return "" if is_named_by_option else f"The disks are {_disk_runs(decision.disks.compared)}."


def _disk_runs(disks: Sequence[DiskRuns]) -> str:
    return joined([f"{disk_kind_text(disk_runs.kind)} ({plural(disk_runs.runs, 'run')})" for disk_runs in disks])


def _tie_text(decision: Decision, option: OptionResult) -> str:
    tie = option.tied_with_leader
    assert tie is not None
    interval = f" ({interval_text(tie)})" if tie.low is not None else ""
    return f"{format_ratio(tie.ratio)}× as fast as {compared_option(decision, option.option)}{interval}"


@dataclass(frozen=True, slots=True)
class DecisionAnswer:
    """A decision with its sentences: what ``--json`` and the REST API return."""

    question: str
    headline: str
    summary: str
    """The answer with its interval, its number of runs and the cost per job, in one sentence."""
    evidence: str
    """The evidence for the headline."""
    cost: str | None
    """What the leading option costs, and which option is the cheapest; None without prices."""
    remarks: tuple[str, ...]
    """Details of the answer: ratios by workload and storage, workloads left out, and prices."""
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
        summary=summary(decision),
        evidence=evidence(decision),
        cost=cost_headline(decision),
        remarks=remarks(decision),
        amounts=amount_sentences(decision),
        sentences=tuple(result_sentence(decision, result) for result in decision.results),
        next=next_sentences(decision),
        curve=curve_of(decision),
        decision=decision,
    )
