"""Decide which option has the lowest cost per job, and which options tie with it.

In: estimates of cost per job and the headline of a decision. Out: :class:`Cheapest`, over the workloads that the
headline covers. The test is that for the leader in ``headline.py``: an option ties with the cheapest unless the
cheapest costs less in a one-sided test at 5 % after Bonferroni's correction over its rivals. An option also ties where
its verdict against the baseline does not separate the two, so that the two statements can't contradict each other.
"""

from collections.abc import Mapping, Sequence

from assay.analysis.comparison.option_estimates import OptionEstimates
from assay.questions.decisions.decision import Cheapest, CostVerdict, OptionResult
from assay.questions.decisions.headline import tie_with


def cheapest_of(
    costs: OptionEstimates,
    strata: Sequence[int],
    options: Sequence[OptionResult],
    baseline: str,
    codes: Mapping[str, int],
) -> Cheapest | None:
    """Return the cheapest of the baseline and the ``options`` with a cost; None where no option has one.

    ``strata``: those of the shared workloads. ``codes``: option to its code in the run table.
    """
    ratios = {option.option: option.cost for option in options if option.cost}
    if not ratios:
        return None
    by_cost = sorted([baseline, *ratios], key=lambda name: ratios[name].ratio if name in ratios else 1.0)
    cheapest, *rivals = by_cost

    def separated(rival: str) -> bool:
        if baseline in (cheapest, rival):
            other = ratios[cheapest if rival == baseline else rival]
            if other.verdict not in (CostVerdict.CHEAPER, CostVerdict.DEARER):
                return False
        elif CostVerdict.NOT_ENOUGH_RUNS in (ratios[cheapest].verdict, ratios[rival].verdict):
            return False
        return tie_with(costs, strata, codes[rival], codes[cheapest], len(rivals)) is None

    return Cheapest(cheapest, tuple(rival for rival in rivals if not separated(rival)))
