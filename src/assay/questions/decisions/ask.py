"""Make the decisions for a request: select and price the runs, decide, and check whether outliers change a verdict.

In: a repository, its table of runs with outlier flags, and a request. Out: decisions, as ``decide.py`` makes them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.analysis.comparison.factors.device_classes import DEVICE_CLASS, with_device_class
from assay.analysis.comparison.matched import session_spread
from assay.analysis.outliers.anomaly_column import time_outliers
from assay.analysis.statistics import ABSENT, RunTable, counts_by, has_level, usable
from assay.analysis.statistics.sessions import SessionVariance
from assay.model import LAYOUT_FACTOR, NETWORK_FACTOR, WORKERS_FACTOR, PriceBook
from assay.questions.clusters.cluster_facts import facts_by_hardware, implausible_runs
from assay.questions.clusters.common_levels import common_levels, link_rates
from assay.questions.decisions.buyer import CHEAPEST, STORAGE, factors_to_decide, question_named, varied
from assay.questions.decisions.caveats import in_order, options_of_answer
from assay.questions.decisions.corrections import OF_LAYOUTS, WITH_FILTER, with_corrections
from assay.questions.decisions.costs.run_costs import RunCosts, run_costs
from assay.questions.decisions.decide import decide
from assay.questions.decisions.decision import Caveat, CaveatKind, Decision, DecisionRequest, OptionResult
from assay.questions.decisions.effects.storage_effects import storage_effects_of
from assay.questions.decisions.sentences.decision_sentences import headline, row_verdict
from assay.questions.decisions.sentences.option_words import compared_option, option_verb
from assay.questions.runs.run_quality import causes_sentence, why_not_valid
from assay.questions.runs.runs import selected
from assay.store import Repository
from assay.text import joined, meanings, plural


def decisions_of(repository: Repository, table: RunTable, request: DecisionRequest) -> tuple[Decision, ...]:
    """Return the decisions over the runs of ``table`` that match the request; the first is the answer.

    The question about storage is answered by device class first, where a class has several layouts. Every valid run
    counts, except runs whose recorded data size is implausible; a caveat states their number. Where a verdict changes
    without the runs flagged as outliers, a caveat states both verdicts. The cheapest hardware is decided only where the
    price book prices it.
    """
    if request.factor == CHEAPEST and request.prices is None:
        return ()
    spread = session_spread(table)  # from all runs, so that conditions do not change the variance between sessions
    counted = counted_runs(repository, selected(table, request.where), request.prices, request.years)
    matching_table, costs, apart = counted.table, counted.costs, counted.implausible
    outliers = time_outliers(matching_table)
    table_without_outliers = matching_table.subset(~outliers)
    decisions: list[Decision] = []
    for factor in factors_of_request(matching_table, request):
        of_factor = replace(request, factor=factor)
        factor_decisions = decide(matching_table, of_factor, costs, spread)
        if outliers.any():
            without = (
                decide(table_without_outliers, replace(of_factor, prices=None), None, spread)
                if usable(table_without_outliers).any()
                else ()
            )
            factor_decisions = tuple(
                _with_outliers(decision, without, int(outliers.sum())) for decision in factor_decisions
            )
        if not request.ignore:
            factor_decisions = tuple(
                replace(decision, storage_effects=storage_effects_of(matching_table, decision, spread, costs))
                for decision in factor_decisions
            )
        if len(apart):
            factor_decisions = tuple(_with_implausible(decision, counted) for decision in factor_decisions)
        if request.where:
            decisions_of_all_runs = _decisions_without_conditions(repository, table, of_factor, spread)
            factor_decisions = tuple(
                with_corrections(item, decisions_of_all_runs, WITH_FILTER) for item in factor_decisions
            )
        if factor == NETWORK_FACTOR:
            factor_decisions = tuple(
                _with_link_rates(repository, matching_table, decision) for decision in factor_decisions
            )
        factor_decisions = tuple(_with_causes(repository, matching_table, decision) for decision in factor_decisions)
        if factor == LAYOUT_FACTOR:
            factor_decisions = tuple(with_corrections(item, decisions, OF_LAYOUTS) for item in factor_decisions)
        decisions += factor_decisions
    if request.factor == CHEAPEST:
        decisions = [decision for decision in decisions if any(option.cost for option in decision.options)]
    return tuple(decisions)


def _with_causes(repository: Repository, table: RunTable, decision: Decision) -> Decision:
    """Return the decision with the recorded causes of excluded runs, where a caveat states that they are many."""
    if not any(caveat.kind is CaveatKind.EXCLUDED_UNEVENLY for caveat in decision.caveats):
        return decision
    causes = causes_sentence(why_not_valid(repository, table))
    caveats = [
        replace(caveat, text=f"{caveat.text} {causes}") if caveat.kind is CaveatKind.EXCLUDED_UNEVENLY else caveat
        for caveat in decision.caveats
    ]
    return replace(decision, caveats=tuple(caveats))


def _with_link_rates(repository: Repository, table: RunTable, decision: Decision) -> Decision:
    """Return the decision with the rates of its networks, and with a caveat where a named network has no stated rate.

    A network whose level is a rate, such as ``25Gbit/s``, needs none.
    """
    networks = [decision.baseline, *(option.option for option in decision.options if option.time)]
    networks_with_rates = [network for network in networks if network in meanings([network])]
    valid_table = table.subset(usable(table) & has_level(table, "origin", decision.origin))
    rates = link_rates(repository, valid_table, networks_with_rates)
    unknown_networks = [compared_option(decision, network) for network in networks_with_rates if network not in rates]
    decision = replace(decision, link_rates=rates)
    if not unknown_networks:
        return decision
    text = (
        f"The runs do not record the {'rates' if len(unknown_networks) > 1 else 'rate'} of {joined(unknown_networks)}."
    )
    return replace(decision, caveats=in_order([*decision.caveats, Caveat(CaveatKind.LINK_RATE, text)]))


def _decisions_without_conditions(
    repository: Repository, table: RunTable, request: DecisionRequest, spread: SessionVariance
) -> tuple[Decision, ...]:
    """Return the decisions on times without the conditions of the request."""
    counted_table = counted_runs(repository, table, None).table
    return decide(counted_table, replace(request, where=(), prices=None), None, spread)


@dataclass(frozen=True, slots=True)
class CountedRuns:
    """The runs that decisions and claims count, with their costs."""

    table: RunTable
    costs: RunCosts | None
    """None without a price book."""
    implausible: RunTable
    """The runs that do not count because their recorded data size is implausible."""
    reason: str
    """Why they do not; empty without any."""


def counted_runs(
    repository: Repository, table: RunTable, prices: PriceBook | None, years: float | None = None
) -> CountedRuns:
    """Return the runs of ``table`` that count, with their costs."""
    facts = facts_by_hardware(repository, table)
    implausible_sizes = implausible_runs(table, facts)
    implausible_table = table.subset(implausible_sizes.rows)
    reason = implausible_sizes.reason(np.flatnonzero(implausible_sizes.rows)) if len(implausible_table) else ""
    counted_table = table.subset(~implausible_sizes.rows) if len(implausible_table) else table
    costs = (
        _with_stated_workers(repository, counted_table, run_costs(facts, counted_table, prices, years))
        if prices
        else None
    )
    return CountedRuns(counted_table, costs, implausible_table, reason)


def _with_stated_workers(repository: Repository, table: RunTable, costs: RunCosts) -> RunCosts:
    """Return the costs with the number of workers of runs that record none, if cluster files state one for all runs."""
    clusters = costs.clusters
    if clusters is None or not clusters.items or not np.isnan(clusters.workers).all():
        return costs
    valid_table = table.subset(usable(table))
    levels, runs = common_levels(repository, valid_table, WORKERS_FACTOR)
    if len(levels) != 1 or runs < len(valid_table):
        return costs
    workers = np.full(len(table), float(levels[0]))
    return replace(costs, clusters=replace(clusters, workers=workers))


def factors_of_request(table: RunTable, request: DecisionRequest) -> tuple[str, ...]:
    """Return the factors to decide on: those of a buyer's question that the runs vary, or else the factor itself.

    Device classes come before layouts, unless the request names a baseline.
    """
    question = question_named(request.factor or STORAGE)
    if question is None:
        return (request.factor,)
    factors = factors_to_decide(question, table.subset(usable(table)))
    classes_first = LAYOUT_FACTOR in factors and not request.baseline and _classes(table)
    return (DEVICE_CLASS, *factors) if classes_first else factors


def _with_outliers(decision: Decision, decisions_without: Sequence[Decision], outliers: int) -> Decision:
    """Return the decision with a caveat where its leader, or a verdict on its answer, differs without outliers.

    ``decisions_without``: the decisions without outliers.
    """
    key = (decision.origin, decision.lab_scale, decision.baseline)
    other_decision = next(
        (
            candidate
            for candidate in decisions_without
            if (candidate.origin, candidate.lab_scale, candidate.baseline) == key
        ),
        None,
    )
    options = options_of_answer(decision)
    if other_decision is None:
        text = f"Without {plural(outliers, 'outlier')}, nothing can be compared."
    elif _verdicts(decision, options) == _verdicts(other_decision, options):
        return decision
    else:
        changed = [
            _changed_verdict(decision, option, other_option)
            for option in decision.options
            for other_option in other_decision.options
            if option.option == other_option.option
            and option.option in options
            and option.verdict != other_option.verdict
        ]
        more_text = (
            f"; {plural(len(changed) - 1, 'more verdict changes', 'more verdicts change')}" if len(changed) > 1 else ""
        )
        change_text = f"{changed[0]}{more_text}" if changed else f"the answer changes: {headline(other_decision)[:-1]}"
        which_text = "which counts: without it" if outliers == 1 else "which count: without them"
        text = f"The verdict depends on {plural(outliers, 'outlier')}, {which_text}, {change_text}."
    return replace(decision, caveats=in_order([*decision.caveats, Caveat(CaveatKind.OUTLIERS, text)]))


def _changed_verdict(decision: Decision, option: OptionResult, other_option: OptionResult) -> str:
    """Return how the verdict on an option differs in ``other_option``: ``InfiniBand is confirmed to be faster``."""
    name, verdict_text, other_text = (
        compared_option(decision, option.option),
        row_verdict(option, reason=False),
        row_verdict(other_option, reason=False),
    )
    verb = option_verb(decision.factor, option.option)
    if verdict_text == f"{other_text}, not confirmed":
        return f"{name} {verb} confirmed to be {other_text}"
    if other_text == f"{verdict_text}, not confirmed":
        return f"{name} {verb} not confirmed to be {verdict_text}"
    return f'the verdict on {name} is "{other_text}" instead of "{verdict_text}"'


def _with_implausible(decision: Decision, counted: CountedRuns) -> Decision:
    """Return the decision with a caveat where runs of its origin have an implausible data size."""
    implausible_table = counted.implausible
    is_of_origin = has_level(implausible_table, "origin", decision.origin)
    if decision.lab_scale is not None:
        is_of_origin &= has_level(implausible_table, "lab_scale", decision.lab_scale)
    number = int(is_of_origin.sum())
    if not number:
        return decision
    clusters = joined(
        [name for name, runs in counts_by(implausible_table.subset(is_of_origin), "cluster").items() if runs]
    )
    text = f"{plural(number, 'run')} on {clusters} {'does' if number == 1 else 'do'} not count: {counted.reason}."
    return replace(decision, caveats=in_order([*decision.caveats, Caveat(CaveatKind.EXCLUDED, text)]))


def _verdicts(decision: Decision, options: Sequence[str]) -> tuple[object, ...]:
    return decision.leader, {option.option: option.verdict for option in decision.options if option.option in options}


def _classes(table: RunTable) -> bool:
    """Return whether the valid runs have several device classes, at least one of them with several layouts."""
    valid_table = table.subset(usable(table))
    if not varied(valid_table, DEVICE_CLASS):
        return False
    classes = with_device_class(valid_table).columns[DEVICE_CLASS].codes
    layouts = valid_table.columns[LAYOUT_FACTOR].codes
    is_known = classes != ABSENT
    return len(np.unique(layouts[is_known])) > len(np.unique(classes[is_known]))
