"""Answers to a buyer's questions as sentences, which the terminal, pages, the API and reports share."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from shlex import quote

from assay.analysis.comparison.verdict_text import scope_text
from assay.analysis.statistics import RUNS_MIN, Verdict
from assay.model import NODE_MEMORY, WORKERS_FACTOR
from assay.questions.commands import DEFAULT_REPOSITORY, NO_OPTIONS, CommandOptions, command
from assay.questions.decisions.answers import MissingAnswer, Obstacle, QuestionAnswer
from assay.questions.decisions.buyer import CHEAPEST, BuyerQuestion, FactorSelection, parallelism_factors
from assay.questions.decisions.decision import CaveatKind, CostVerdict, Decision, OptionResult
from assay.questions.decisions.sentences.amount_sentences import CostAmounts, amount_sentences, cheapest_option
from assay.questions.decisions.sentences.cost_sentences import (
    cheapest_sentence,
    cost_headline,
    cost_text,
    costs_by_storage,
    not_compared,
    price_sentence,
    runs_below_minimum,
    shared_by_leaders,
    storage_advice,
)
from assay.questions.decisions.sentences.decision_sentences import (
    DecisionAnswer,
    answer_of,
    evidence,
    headline,
    remarks,
    summary,
)
from assay.questions.decisions.sentences.decision_sentences import question as question_of_decision
from assay.questions.decisions.sentences.estimate_text import basis_text
from assay.questions.decisions.sentences.next_sentences import next_sentences
from assay.questions.decisions.sentences.option_words import COUNTED, compared_option, option_text, options_text
from assay.questions.decisions.sentences.years_sentences import CostsOverYears, costs_over_years
from assay.text import (
    capitalised,
    column_title,
    estimated_duration,
    format_ratio,
    joined,
    level_text,
    plural,
    scale_text,
    workload_title,
)

_DECIDED_TEXT = "decided at 95 %"
STORAGE_DEPENDENT = f"depends on storage, {_DECIDED_TEXT}"
"""Confidence in a headline with an effect for each storage class. The evidence has the intervals and their scope."""
MEAN_UNDECIDED = "depends on storage, mean not confirmed"
"""Confidence where the effects by storage class differ, and the headline has no verdict on the mean over them."""
WRITE_PLAN = (
    "The cluster file of these runs is missing: first write that of your cluster with assay discover HOST…, then the "
    "plan on the page Plan runs (assay serve)."
)
"""The next step where no stored plan can be changed."""
OTHER_CLUSTER = (
    "First describe another one with assay discover HOST…, then write the plan on the page Plan runs (assay serve)."
)
"""The next step where the cluster of the runs lacks what the question compares."""
_JOINED = (
    "Each option is one combination of hardware. Answers on one property, such as storage, join the runs of several "
    "combinations, so they can have a verdict already."
)
"""Why combinations have too few runs for a verdict where one of their properties has enough."""
LEVELS_NAMED = 5
"""Maximum number of levels named in a sentence."""


def question_title(answer: QuestionAnswer) -> str:
    """Return the question, with the engine's word for a container where the decisions have one factor.

    For Hadoop 1: ``How many map slots per worker?``.
    """
    factors = {decision.factor for decision in answer.decisions}
    if answer.question.selection is FactorSelection.PER_ENGINE and len(factors) == 1 and factors < set(COUNTED):
        return question_of_decision(answer.decisions[0])
    return answer.question.title


def answer_sentence(answer: QuestionAnswer) -> str:
    """Return the answer in one sentence, or why there is none."""
    if answer.unanswered is not None:
        return _unanswered_sentence(answer, answer.unanswered)
    decision = answer.decisions[0]
    if answer.question.name == CHEAPEST:
        return cheapest_sentence(decision) or headline(decision)
    return headline(decision)


def _unanswered_sentence(answer: QuestionAnswer, why: MissingAnswer) -> str:
    subject = "memory for containers" if why.factor == NODE_MEMORY and why.levels else answer.question.subject
    levels = joined([_level(why.factor, level) for level in why.levels[:LEVELS_NAMED]])
    if len(why.levels) > LEVELS_NAMED:
        levels += f" and {len(why.levels) - LEVELS_NAMED} more"
    match why.obstacle:
        case Obstacle.FILTERED:
            return f"Hidden by the filter: the chosen runs have one {subject}, and other runs differ in it."
        case Obstacle.NO_PRICES:
            return "Not priced: no price book is loaded."
        case Obstacle.UNPRICED:
            return f"Not priced: the price book has no price for the hardware of these {plural(why.runs, 'run')}."
        case Obstacle.NOT_RECORDED if not why.unrecorded:
            return "Not measured: there is no valid run."
        case Obstacle.NOT_RECORDED:
            return f"Not measured: no run records a {subject}."
        case Obstacle.NOT_MATCHED:
            return f"{not_varied_text(subject)} Measured by themselves: {levels}."
        case Obstacle.ONE_LEVEL if why.unrecorded:
            others_text = ""
            have = "has" if why.runs == 1 else "have the same"
            records = "records" if why.unrecorded == 1 else "record"
            parts = [
                f"{plural(why.runs, 'run')} {have} {subject} ({levels})",
                f"{plural(why.unrecorded, 'run')} {records} no {subject}",
            ]
            if why.not_counted:
                verb = "does" if why.not_counted == 1 else "do"
                others_text = f" {plural(why.not_counted, 'invalid or failed run')} {verb} not count."
            return f"Not measured: {joined(parts)}.{others_text}"
        case Obstacle.ONE_LEVEL:
            return f"Not measured: all runs have the same {subject} ({levels})."


def not_varied_text(factor: str) -> str:
    """Return that the runs allow no decision on a factor."""
    return f"Not compared: no two runs differ in {factor} and are equal in everything else."


def _level(factor: str, level: str) -> str:
    """Return a level without its factor (``3``, not ``3 workers``); a parameter of an engine keeps its name."""
    if factor == NODE_MEMORY and level.isdecimal():
        return f"{int(level):,} MiB per worker"
    if factor in parallelism_factors() and factor not in COUNTED:
        return f"{factor} = {level}"
    return level if level.isdecimal() else option_text(factor, level)


def _has_verdict(decision: Decision) -> bool:
    """Return whether the headline has a verdict: the leading option is faster, or every option is judged."""
    verdicts = {option.option: option.verdict for option in decision.options if option.time}
    judged_verdicts = (Verdict.FASTER, Verdict.SLOWER, Verdict.EQUIVALENT)
    return verdicts.get(decision.leader) is Verdict.FASTER or all(
        verdict in judged_verdicts for verdict in verdicts.values()
    )


def next_run(decision: Decision) -> str | None:
    """Return the first proposal of further runs where the headline has no verdict; else None."""
    return None if _has_verdict(decision) else next(iter(next_sentences(decision)), None)


def _runs_for_costs(decision: Decision) -> str | None:
    """Return the runs that allow a verdict on costs; None where there are enough."""
    runs = runs_below_minimum(decision)
    if runs is None:
        return None
    missing_runs, options = RUNS_MIN - runs, 1 + sum(option.cost is not None for option in decision.options)
    times = "once more" if missing_runs == 1 else f"{missing_runs} more times"
    titles = joined([workload_title(workload) for workload in decision.headline_workloads])
    return (
        f"Run {titles} {times} with each of the {options} options: set repetitions to {RUNS_MIN} in the plan, and "
        "repeat assay run. A verdict on costs is possible then."
    )


def _plan_step(question: BuyerQuestion, why: MissingAnswer) -> str:
    """Return the runs that measure a question, and how long they take."""
    levels = options_text(question.plan_factor, why.planned.levels if why.planned else question.plan_levels)
    if why.planned is None:
        return f"Plan runs with {levels}."
    unrecorded_size = "" if why.planned.data_bytes else " by the stored runs, which record no data size"
    second = "Measure a second one: plan" if why.obstacle is Obstacle.ONE_LEVEL and not why.unrecorded else "Plan"
    return (
        f"{second} {plural(why.planned.runs, 'run')} of {workload_title(why.planned.workload)} with {levels}, "
        f"about {estimated_duration(why.planned.duration_s)}{unrecorded_size}."
    )


def next_step(answer: QuestionAnswer) -> str | None:
    """Return how to answer the question, or the first proposal of further runs where the headline has no verdict."""
    why, question = answer.unanswered, answer.question
    if why is None:
        decision = answer.decisions[0]
        return (_runs_for_costs(decision) if question.name == CHEAPEST else None) or next_run(decision)
    if why.filters:
        return f"Clear the filter {joined([_condition(condition) for condition in why.filters])}."
    if why.price_list:
        return "Make a price book of ALOJA's price list, which was imported with these runs, and ask again with it."
    if why.obstacle in (Obstacle.NO_PRICES, Obstacle.UNPRICED):
        return "Give a price book of this hardware."
    if not question.plan_factor:
        return "Plan runs that differ in storage, network or number of workers."
    if why.simulable and why.plan is None:
        levels = options_text(question.plan_factor, why.planned.levels if why.planned else question.plan_levels)
        return f"The cluster of the stored plan can't run all of {levels}: simulate them."
    return f"{_plan_step(question, why)}{_missing_plan(why)}{' Or simulate it.' if why.simulable else ''}"


def _missing_plan(why: MissingAnswer) -> str:
    """Return why no stored plan measures the question, and how to get one; empty where one does."""
    if why.plan is not None:
        return ""
    if why.described_workers is None:
        return f" {WRITE_PLAN}"
    levels = why.planned.levels if why.planned and why.factor == WORKERS_FACTOR else ()
    has_few_workers = any(int(level) > why.described_workers for level in levels)
    reason = f"has only {plural(why.described_workers, 'worker')}" if has_few_workers else "can't run them"
    return f" The described cluster {reason}. {OTHER_CLUSTER}"


def _condition(text: str) -> str:
    """Return a condition in words: ``storage class SSD``."""
    name, _, level = text.partition("=")
    return f"{column_title(name).lower()} {level_text(name, level)}"


def next_command(answer: QuestionAnswer, options: CommandOptions) -> str | None:
    """Return the command that answers the question without new runs; None where there is none."""
    why, question = answer.unanswered, answer.question
    if why is None or why.filters:
        return None
    if why.price_list:
        prices_command = command("decide", question.name, options=replace(options, prices="prices.yaml"))
        return f"assay prices aloja {quote(options.repository or DEFAULT_REPOSITORY)} > prices.yaml && {prices_command}"
    if why.obstacle in (Obstacle.NO_PRICES, Obstacle.UNPRICED):
        return command("decide", question.name, options=replace(options, prices="FILE"))
    return command("whatif", "--set", question.change, options=options) if why.simulable else None


def plan_command(answer: QuestionAnswer, options: CommandOptions) -> str | None:
    """Return the command that writes the plan of the runs which measure the question; None where it can write none."""
    why, name = answer.unanswered, answer.question.name
    if why is None or why.plan is None:
        return None
    return command("decide", name, "--plan", f"{name}.yaml", options=options)


def answer_summary(answer: QuestionAnswer) -> str:
    """Return the answer with interval, runs and cost in one sentence, or why there is none."""
    if not answer.decisions:
        return answer_sentence(answer)
    if answer.question.name == CHEAPEST:
        return " ".join(filter(None, (answer_sentence(answer), not_compared(answer.decisions[0]))))
    return summary(answer.decisions[0])


def answer_evidence(answer: QuestionAnswer) -> str:
    """Return the evidence for the answer; empty without an answer."""
    if not answer.decisions:
        return ""
    decision = answer.decisions[0]
    if answer.question.name != CHEAPEST:
        return evidence(decision)
    option = cheapest_option(decision)
    others_text = not_compared(decision)
    if option is None or option.cost is None or option.time is None:
        return others_text
    verdict, runs = option.cost.verdict.value, basis_text(option.time)
    too_few_runs = option.cost.verdict is CostVerdict.NOT_ENOUGH_RUNS
    ratio = f"{format_ratio(option.cost.ratio)}×" if too_few_runs else cost_text(option.cost)
    name = capitalised(compared_option(decision, option.option))
    text = f"{name}: {verdict}, {ratio}, {runs}, {scope_text(option.time.scope)}."
    return " ".join(filter(None, (text, _JOINED if too_few_runs and " + " in decision.factor else "")))


def answer_remarks(answer: QuestionAnswer) -> tuple[str, ...]:
    """Return details of the answer; the price of the cheapest option where cost is the question."""
    if not answer.decisions:
        return ()
    decision = answer.decisions[0]
    option = cheapest_option(decision) if answer.question.name == CHEAPEST else None
    if option is None or option.cost is None:
        return remarks(decision)
    price = price_sentence(decision, option.option, option.cost)
    return tuple(filter(None, (price, not_compared(decision, every=True) or not_compared(decision))))


def answer_cost(answer: QuestionAnswer) -> str | None:
    """Return the cost of the leading option; None without prices, and where cost is the question."""
    return cost_headline(answer.decisions[0]) if answer.decisions and answer.question.name != CHEAPEST else None


def answer_amounts(answer: QuestionAnswer) -> CostAmounts | None:
    """Return costs in absolute amounts, of the cheapest option where cost is the question; None without prices."""
    if not answer.decisions:
        return None
    decision = answer.decisions[0]
    return amount_sentences(decision, cheapest_option(decision) if answer.question.name == CHEAPEST else None)


def answer_over_years(answer: QuestionAnswer) -> CostsOverYears | None:
    """Return the costs over years of use; None without prices, and where cost is not the question."""
    return costs_over_years(answer.decisions[0]) if answer.decisions and answer.question.name == CHEAPEST else None


def is_decided(answer: QuestionAnswer) -> bool:
    """Return whether the runs decide the question at 95 %: a verdict, or one cheapest option."""
    if not answer.decisions:
        return False
    decision = answer.decisions[0]
    if answer.question.name == CHEAPEST:
        return decision.cheapest is not None and (not decision.cheapest.ties or bool(shared_by_leaders(decision)))
    return _has_verdict(decision)


def leading_option(answer: QuestionAnswer) -> OptionResult | None:
    """Return the option that the answer names, with its speedup and cost; None without a compared option."""
    if not answer.decisions:
        return None
    decision = answer.decisions[0]
    named_option = decision.named_option
    return (cheapest_option(decision) or named_option) if answer.question.name == CHEAPEST else named_option


def answer_confidence(answer: QuestionAnswer) -> str:
    """Return whether the runs decide the question at 95 %, and for which settings; empty where there is no answer."""
    if not answer.decisions:
        return ""
    decision, is_answer_decided = answer.decisions[0], is_decided(answer)
    best = leading_option(answer)
    scope = f", {scope_text(best.time.scope)}" if best and best.time and best.time.low is not None else ""
    if answer.question.name != CHEAPEST and storage_advice(decision) is not None:
        return f"{_cost_confidence(decision)}{scope}"
    if answer.question.name != CHEAPEST and decision.storage_difference is not None:
        return STORAGE_DEPENDENT if is_answer_decided else MEAN_UNDECIDED
    leader = decision.option(best.option) if best and is_answer_decided and answer.question.name != CHEAPEST else None
    if leader and leader.cost and leader.cost.verdict not in (CostVerdict.CHEAPER, CostVerdict.DEARER):
        return f"speed {_DECIDED_TEXT}, cost open{_assumption_text(decision)}{scope}"
    return f"{_DECIDED_TEXT}{_assumption_text(decision)}{scope}" if is_answer_decided else f"undecided{scope}"


def _cost_confidence(decision: Decision) -> str:
    """Return with which storage classes the verdict on cost holds: ``decided at 95 % by cost with hard disks``."""
    by_storage = costs_by_storage(decision)
    names = [name for name, cost in by_storage if cost.verdict in (CostVerdict.CHEAPER, CostVerdict.DEARER)]
    if not names:
        return "cost open"
    with_storage = "" if len(names) == len(by_storage) else f" with {joined(names)}"
    return f"{_DECIDED_TEXT} by cost{with_storage}"


def _assumption_text(decision: Decision) -> str:
    """Return the assumption of a verdict on too few runs for a test without assumptions; empty with enough runs."""
    has_few_runs = any(caveat.kind is CaveatKind.FEW_RUNS for caveat in decision.caveats)
    return ", assuming lognormal times" if has_few_runs else ""


@dataclass(frozen=True, slots=True)
class QuestionView:
    """A buyer's question with its sentences: what ``--json`` and the REST API return."""

    name: str
    question: str
    answered: bool
    answer: str
    """The answer in one sentence, or why there is none."""
    summary: str
    """The answer with its interval, its number of runs and the cost per job, in one sentence."""
    advice: str | None
    """Whether the option is worth its cost, by storage class; None where the effect does not depend on the storage."""
    evidence: str
    """The evidence for the answer; empty without an answer."""
    cost: str | None
    """Cost of the leading option; None without prices, and where cost is the question."""
    remarks: tuple[str, ...]
    """Details of the answer: ratios by workload and storage, workloads left out, and prices."""
    amounts: CostAmounts | None
    """Costs in absolute amounts, of the leading or, where cost is the question, the cheapest option."""
    over_years: CostsOverYears | None
    """Costs of the cheapest options over years of use, where cost is the question; else None."""
    confidence: str
    """Whether the runs decide it at 95 %, and for which settings; empty where there is no answer."""
    next_step: str | None
    """How to answer the question, or the runs to make next where the headline has no verdict; else None."""
    next_command: str | None
    """The command that answers the question without new runs; None where there is none."""
    plan_command: str | None
    """The command that writes the plan of the runs which measure the question; None where it can write none."""
    leading: OptionResult | None
    """The option that the answer names, with its speedup and cost; None without a compared option."""
    decisions: tuple[DecisionAnswer, ...]
    """The first is the answer."""


def view_of(answer: QuestionAnswer, options: CommandOptions = NO_OPTIONS) -> QuestionView:
    """Return the question with its sentences. ``options``: those of the answer, which further commands need."""
    return QuestionView(
        name=answer.question.name,
        question=question_title(answer),
        answered=answer.unanswered is None,
        answer=answer_sentence(answer),
        summary=answer_summary(answer),
        advice=storage_advice(answer.decisions[0]) if answer.decisions else None,
        evidence=answer_evidence(answer),
        cost=answer_cost(answer),
        remarks=answer_remarks(answer),
        amounts=answer_amounts(answer),
        over_years=answer_over_years(answer),
        confidence=answer_confidence(answer),
        next_step=next_step(answer),
        next_command=next_command(answer, options),
        plan_command=plan_command(answer, options),
        leading=leading_option(answer),
        decisions=tuple(answer_of(decision) for decision in answer.decisions),
    )


def definition_sentence(views: Sequence[QuestionView]) -> str:
    """Return what *not confirmed* means if the summary of an answer has these words; else empty."""
    if not any("not confirmed" in view.summary for view in views):
        return ""
    return (
        "Not confirmed: the 95 % interval excludes 1, but among several comparisons, one can differ this much by "
        "chance."
    )


def lab_sentence(views: Sequence[QuestionView]) -> str:
    """Return ``All answers: measured in a lab at scale 1/20: ...`` if all are of one lab scale; else empty."""
    decisions = [view.decisions[0].decision for view in views if view.decisions]
    origins = {(decision.origin, decision.lab_scale) for decision in decisions}
    if len(origins) != 1:
        return ""
    origin, scale = origins.pop()
    if not scale:
        return ""
    return (
        f"All answers: {origin} in a lab at scale {scale_text(float(scale))}. Use the ratios, not the times and costs."
    )
