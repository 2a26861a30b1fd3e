"""Decide which option is faster and what it costs, for every interface.

In: a table of runs and a :class:`DecisionRequest`. Out: one :class:`Decision` for each origin, lab scale and connected
group of options, the one with most runs first.

- *Runs*: every valid run counts. Callers exclude runs with an implausible data size (``ask.py``). Outlier flags
  exclude nothing; a verdict that changes when flagged runs are excluded gets a caveat.
- *Estimate*: one per workload and option (``analysis/comparison/option_estimates.py``).
- *Headline*: see ``headline.py``.
- *Errors*: Holm's correction over every time estimate against the baseline in one decision, and separately over every
  cost estimate, so that a price book never changes a verdict about time (S. Holm, Scand. J. Stat. 6, 1979).
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from assay.analysis.comparison.baselines import baseline_of
from assay.analysis.comparison.factors.derived_factors import with_factors
from assay.analysis.comparison.matched import COUNTED, STRATA, combined_or_named, match, session_spread
from assay.analysis.comparison.option_estimates import OptionEstimates
from assay.analysis.comparison.sessions import session_warnings
from assay.analysis.statistics import RunTable, require_factor
from assay.analysis.statistics.sessions import SessionVariance
from assay.questions.decisions.buyer import BUYER_QUESTIONS, question_synonyms
from assay.questions.decisions.caveats import caveats_of, in_order
from assay.questions.decisions.compared_disks import compared_disks
from assay.questions.decisions.costs.baseline_cost import baseline_costs_of, energy_use_of
from assay.questions.decisions.costs.cheapest import cheapest_of
from assay.questions.decisions.costs.run_costs import RunCosts
from assay.questions.decisions.decision import Caveat, CaveatKind, Decision, DecisionRequest
from assay.questions.decisions.further_runs import further_runs
from assay.questions.decisions.headline import OptionRow, headline_of
from assay.text import capitalised


def decide(
    table: RunTable, request: DecisionRequest, costs: RunCosts | None = None, spread: SessionVariance | None = None
) -> tuple[Decision, ...]:
    """Return the decisions that the runs of ``table`` allow; empty where no two options can be compared.

    ``costs``: money per hour of each run; None: no costs. ``spread``: variance between sessions; None: estimated from
    these runs. Raises SpecificationError for a factor or a baseline that no run has.
    """
    names = [name.strip() for name in request.factor.split(",")]
    joined_table, factor = combined_or_named(with_factors(table, names), names[0] if len(names) == 1 else names)
    questions = [question.name for question in BUYER_QUESTIONS]
    column = require_factor(joined_table, factor, questions, question_synonyms())
    if not column.levels:  # no run records all factors that are joined
        return ()
    if request.baseline is not None:
        # Raises if no run has the baseline. It may be in another group of options.
        request = replace(request, baseline=baseline_of(joined_table, factor, requested=request.baseline))
    ignore = frozenset(request.ignore)
    spread = session_spread(table) if spread is None else spread
    times = OptionEstimates.of(match(joined_table, factor, ignore, spread=spread))
    money = None
    if costs is not None:
        money = OptionEstimates.of(match(costs.priced(joined_table), factor, ignore, spread=spread), times)
    decisions = [
        decision
        for strata in strata_by_origin(times)
        for options in connected_options(times, strata)
        if (decision := _decision(times, money, strata, options, request, costs)) is not None
    ]
    return tuple(sorted(decisions, key=lambda decision: (decision.family == 0, -decision.runs)))


def strata_by_origin(estimates: OptionEstimates) -> list[list[int]]:
    """Return the strata (one per workload) of each origin and lab scale."""
    groups: dict[tuple[str | None, ...], list[int]] = defaultdict(list)
    for stratum in range(len(estimates.strata.counts)):
        levels = estimates.strata.levels(estimates.matched.table, stratum)
        groups[tuple(levels.get(name) for name in STRATA)].append(stratum)
    return list(groups.values())


def connected_options(estimates: OptionEstimates, strata: Sequence[int]) -> list[list[int]]:
    """Return the groups of two or more options (codes of the factor) that matched groups of any workload connect."""
    parts: list[set[int]] = []
    for stratum in strata:
        fit = estimates.joint[stratum]
        for number in np.unique(fit.blocks.part):
            connected_codes = set(fit.codes[fit.blocks.part == number].tolist())
            if len(connected_codes) < 2:
                continue
            connected_codes = connected_codes.union(*(part for part in parts if part & connected_codes))
            parts = [part for part in parts if not part & connected_codes] + [connected_codes]
    return [sorted(part) for part in parts]


def _decision(
    times: OptionEstimates,
    money: OptionEstimates | None,
    strata: Sequence[int],
    options: Sequence[int],
    request: DecisionRequest,
    costs: RunCosts | None,
) -> Decision | None:
    """Return the decision over one connected group of options; None where no workload has an estimate."""
    table, factor = times.matched.table, times.matched.factor
    levels = table.columns[factor].levels
    names = [levels[code] for code in options]
    baseline = request.baseline if request.baseline in names else baseline_of(table, factor, names)
    code = table.columns[factor].code(baseline)
    rows = [
        OptionRow(
            stratum=stratum,
            workload=times.strata.levels(table, stratum)["workload"] or "",
            option=option,
            time=times.between(stratum, code, option),
            cost=money.between(stratum, code, option) if money else None,
        )
        for stratum in strata
        for option in options
        if option != code and times.strata.counts[stratum, [code, option], COUNTED].all()
    ]
    if not any(row.time for row in rows):
        return None
    headline = headline_of(times, rows, code, levels, request.margin)
    example = times.strata.levels(table, strata[0])
    mean_workloads = {workload for option in headline.options for workload in option.workloads}
    strata_in_mean = [s for s in strata if times.strata.levels(table, s)["workload"] in mean_workloads]
    codes = dict(zip(names, options, strict=True))
    strata_of = {times.strata.levels(table, stratum)["workload"] or "": stratum for stratum in strata}
    matched = times.matched
    is_in_strata = np.isin(times.strata.of_group[matched.groups.of_row], strata)
    is_in_decision = is_in_strata & np.isin(matched.table.columns[factor].codes[matched.positions], options)
    decision = Decision(
        factor=factor,
        baseline=baseline,
        options=headline.options,
        results=headline.results,
        headline_workloads=(),
        leader=headline.leader,
        ties=headline.ties,
        origin=example.get("origin") or "",
        lab_scale=example.get("lab_scale"),
        runs=int(times.strata.counts[np.ix_(strata, options, [COUNTED])].sum()),
        family=headline.family,
        margin=request.margin,
        currency=costs.currency if costs else None,
        disks=compared_disks(times.matched, is_in_strata, is_in_decision),
        storage_effects=None,
        baseline_costs=baseline_costs_of(money, table, costs, rows, strata_in_mean, code) if money and costs else None,
        energy=energy_use_of(money, table, costs, rows, strata_in_mean, code) if money and costs else None,
        cheapest=cheapest_of(money, strata_of, headline, baseline, codes) if money else None,
        link_rates={},
        caveats=(),
        next_runs=(),
    )
    if named_option := decision.named_option:
        decision = replace(decision, headline_workloads=named_option.workloads)
    caveats = caveats_of(decision, matched, matched.positions[is_in_decision], request, costs)
    sessions = session_warnings(row.time.mean for row in rows if row.time)
    session_caveats = [Caveat(CaveatKind.SESSIONS, f"{capitalised(warning.words)}.") for warning in sessions]
    proposals = further_runs(times, decision, rows, code)
    return replace(decision, caveats=in_order([*caveats, *session_caveats]), next_runs=proposals)
