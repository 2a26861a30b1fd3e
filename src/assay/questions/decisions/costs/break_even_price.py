"""Compute the ratio of an option's cost per job to the baseline's, and the price at which both cost the same.

In: the joint estimates of time and of cost, as log ratios baseline / option. Out: a
:class:`~assay.questions.decisions.decision.CostRatio`; its ``break_even_price_ratio`` is the break-even price. A job on
an option costs its time times the price per hour of the option's cluster. The break-even price, as a multiple of the
baseline's price, is therefore the speedup.
"""

import math

from assay.analysis.comparison.option_estimates import PairEstimate
from assay.analysis.statistics import ALPHA
from assay.questions.decisions.decision import CostRatio, CostVerdict


def cost_ratio(
    time: PairEstimate | None, cost: PairEstimate | None, holm_p: float | None, *, enough_runs: bool
) -> CostRatio | None:
    """Return option cost / baseline cost; None where a run behind the time has no price."""
    if time is None or cost is None or cost.runs != time.runs:
        return None
    inverse = cost.mean.ratio
    if holm_p is None or not enough_runs:
        verdict = CostVerdict.NOT_ENOUGH_RUNS
    elif holm_p >= ALPHA:
        verdict = CostVerdict.NOT_DISTINGUISHABLE
    else:
        verdict = CostVerdict.CHEAPER if inverse.value > 1 else CostVerdict.DEARER
    return CostRatio(
        ratio=1 / inverse.value,
        low=None if inverse.high is None else 1 / inverse.high,
        high=None if inverse.low is None else 1 / inverse.low,
        price_ratio=math.exp(time.mean.mean - cost.mean.mean),
        break_even_price_ratio=math.exp(time.mean.mean),
        holm_p=holm_p,
        verdict=verdict,
    )
