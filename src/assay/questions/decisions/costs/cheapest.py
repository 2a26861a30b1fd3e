"""Decide which option has the lowest cost per job, and which options tie with it.

In: estimates of cost per job and the headline of a decision. Out: :class:`Cheapest`, over the workloads that the
headline covers. The test is that for the leader in ``headline.py``: an option ties with the cheapest unless the
cheapest costs less in a one-sided test at 5 % after Bonferroni's correction over its rivals. An option also ties where
its verdict against the baseline does not separate the two, so that the two statements can't contradict each other.
"""

import math
from collections.abc import Mapping

from assay.analysis.comparison.option_estimates import OptionEstimates
from assay.questions.decisions.decision import Cheapest, CostVerdict
from assay.questions.decisions.headline import Headline, ranked, strata_of_both, tie_with


def cheapest_of(
    costs: OptionEstimates, strata_of: Mapping[str, int], headline: Headline, baseline: str, codes: Mapping[str, int]
) -> Cheapest | None:
    """Return the cheapest of the baseline and the options with a cost; None where no option has one.

    ``strata_of``: workload to its stratum. ``codes``: option to its code in the run table.
    """
    ratios = {option.option: option.cost for option in headline.options if option.cost}
    if not ratios:
        return None
    workloads = {option.option: option.workloads for option in headline.options}
    logs: dict[int, dict[int, float]] = {codes[option]: {} for option in ratios}
    for result in headline.results:
        if result.cost and result.option in ratios and result.workload in workloads[result.option]:
            logs[codes[result.option]][strata_of[result.workload]] = -math.log(result.cost.ratio)
    names = {code: name for name, code in codes.items()}
    of_baseline = {stratum: 0.0 for of in logs.values() for stratum in of}
    cheapest, *rivals = (names[code] for code in ranked({codes[baseline]: of_baseline, **logs}))

    def separated(rival: str) -> bool:
        if baseline in (cheapest, rival):
            other = ratios[cheapest if rival == baseline else rival]
            if other.verdict not in (CostVerdict.CHEAPER, CostVerdict.DEARER):
                return False
        elif CostVerdict.NOT_ENOUGH_RUNS in (ratios[cheapest].verdict, ratios[rival].verdict):
            return False
        strata = strata_of_both(logs, codes[rival], codes[cheapest])
        return tie_with(costs, strata, codes[rival], codes[cheapest], len(rivals)) is None

    return Cheapest(cheapest, tuple(rival for rival in rivals if not separated(rival)))
