"""Ask for a decision: choose the runs, price them, decide, and check that no verdict depends on outliers.

In: a repository, its table of runs with outlier flags, and a request. Out: decisions, as ``decide.py`` makes them.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from assay.compare.derived_factors import with_factors
from assay.compare.device_classes import DEVICE_CLASS, with_device_class
from assay.model import LAYOUT_FACTOR
from assay.quality.flagging import odd_times
from assay.questions.decisions.caveats import in_order
from assay.questions.decisions.costs import run_costs
from assay.questions.decisions.decide import decide
from assay.questions.decisions.sentences import headline, option_text
from assay.questions.decisions.values import Caveat, CaveatKind, Decision, DecisionRequest
from assay.questions.runs import selected
from assay.repository import Repository
from assay.statistics import RunTable, usable
from assay.wording import plural


def decisions_of(repository: Repository, table: RunTable, request: DecisionRequest) -> tuple[Decision, ...]:
    """Return the decisions over the runs of ``table`` that match the request.

    Every valid run counts. Where a headline changes without the runs flagged as outliers, a caveat states both.
    """
    chosen = selected(table, request.where)
    costs = run_costs(repository, chosen, request.prices, request.years) if request.prices else None
    decisions = decide(chosen, request, costs)
    outliers = odd_times(chosen)
    if not outliers.any():
        return decisions
    without = decide(chosen.taken(~outliers), replace(request, prices=None))
    return tuple(_with_outliers(decision, without, int(outliers.sum())) for decision in decisions)


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
    """Return the factor to decide on when none is named: device classes, layouts, or the first factor that varies."""
    counted = usable(table)
    for factor, made in ((DEVICE_CLASS, with_device_class(table)), (LAYOUT_FACTOR, table)):
        if factor in made.columns and len(np.unique(made.columns[factor].codes[counted])) > 1:
            return factor
    return next((name for name in ("network", "containers", "compression") if _varies(table, name)), None)


def _varies(table: RunTable, name: str) -> bool:
    made = with_factors(table, [name])
    return name in made.factors and len(made.columns[name].levels) > 1
