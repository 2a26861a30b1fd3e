"""Ask for a decision: choose the runs, price them, decide, and check that no verdict depends on outliers.

In: a repository, its table of runs with outlier flags, and a request. Out: decisions, as ``decide.py`` makes them.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from assay.compare.derived_factors import with_factors
from assay.compare.device_classes import DEVICE_CLASS, with_device_class
from assay.compare.matched import session_spread
from assay.model import LAYOUT_FACTOR
from assay.quality.flagging import odd_times
from assay.questions.decisions.caveats import in_order
from assay.questions.decisions.costs import run_costs
from assay.questions.decisions.decide import decide
from assay.questions.decisions.sentences import headline, option_text
from assay.questions.decisions.values import Caveat, CaveatKind, Decision, DecisionRequest
from assay.questions.planes import facts_of_places
from assay.questions.runs import selected
from assay.repository import Repository
from assay.statistics import ABSENT, RunTable, usable
from assay.wording import plural

BUYER_FACTORS = (
    LAYOUT_FACTOR,
    "network",
    "workers",
    "containers",
    "mapreduce.tasktracker.map.tasks.maximum",
    "compression",
)
"""Factors that buyers ask about: storage, network, nodes, containers (map slots in Hadoop 1), codec."""


def decisions_of(repository: Repository, table: RunTable, request: DecisionRequest) -> tuple[Decision, ...]:
    """Return the decisions over the runs of ``table`` that match the request; the first is the answer.

    A question about layouts is answered by device class first, where a class has several layouts. Every valid run
    counts. Where a verdict changes without the runs flagged as outliers, a caveat states both.
    """
    chosen = selected(table, request.where)
    spread = session_spread(table)  # of all runs: a condition on runs must not change how much sessions differ
    costs = None
    if request.prices:
        costs = run_costs(facts_of_places(repository, chosen), chosen, request.prices, request.years)
    outliers = odd_times(chosen)
    few = chosen.taken(~outliers)
    decisions: list[Decision] = []
    for factor in factors_of_request(chosen, request):
        asked = replace(request, factor=factor)
        made = decide(chosen, asked, costs, spread)
        if outliers.any():
            without = decide(few, replace(asked, prices=None), None, spread) if usable(few).any() else ()
            made = tuple(_with_outliers(decision, without, int(outliers.sum())) for decision in made)
        decisions += made
    return tuple(decisions)


def factors_of_request(table: RunTable, request: DecisionRequest) -> tuple[str, ...]:
    """Return the factors to decide on: device classes before layouts, unless the request names a baseline."""
    factor = request.factor or default_factor(table)
    if factor is None:
        return ()
    return (DEVICE_CLASS, factor) if factor == LAYOUT_FACTOR and not request.baseline and _classes(table) else (factor,)


def _with_outliers(decision: Decision, without: Sequence[Decision], outliers: int) -> Decision:
    """Return the decision with a caveat where its leader or a verdict differs ``without`` outliers."""
    key = (decision.origin, decision.lab_scale, decision.baseline)
    other = next((one for one in without if (one.origin, one.lab_scale, one.baseline) == key), None)
    if other is None:
        text = f"Without {plural(outliers, 'outlier')}, nothing can be compared."
    elif _verdicts(decision) == _verdicts(other):
        return decision
    else:
        changed = [
            f"{option_text(decision.factor, option.option)}: {option.verdict} with, {same.verdict} without"
            for option in decision.options
            for same in other.options
            if option.option == same.option and option.verdict != same.verdict
        ]
        text = f"The answer changes without {plural(outliers, 'outlier')}: {'; '.join(changed) or headline(other)}."
    return replace(decision, caveats=in_order([*decision.caveats, Caveat(CaveatKind.OUTLIERS, text)]))


def _verdicts(decision: Decision) -> tuple[object, ...]:
    return decision.leader, {option.option: option.verdict for option in decision.options}


def default_factor(table: RunTable) -> str | None:
    """Return the first factor that a buyer asks about and that the runs vary; None where they vary none."""
    return next(iter(factors_asked(table)), None)


def factors_asked(table: RunTable) -> tuple[str, ...]:
    """Return the factors that buyers ask about, as far as valid runs vary them."""
    valid = table.taken(usable(table))
    return tuple(name for name in BUYER_FACTORS if _varies(valid, name))


def _varies(table: RunTable, name: str) -> bool:
    column = with_factors(table, [name]).columns.get(name)
    return column is not None and len(np.unique(column.codes[column.codes != ABSENT])) > 1


def _classes(table: RunTable) -> bool:
    """Return whether valid runs are of several device classes, one of them with several layouts."""
    valid = table.taken(usable(table))
    if not _varies(valid, DEVICE_CLASS):
        return False
    classes = with_device_class(valid).columns[DEVICE_CLASS].codes
    layouts = valid.columns[LAYOUT_FACTOR].codes
    known = classes != ABSENT
    return len(np.unique(layouts[known])) > len(np.unique(classes[known]))
