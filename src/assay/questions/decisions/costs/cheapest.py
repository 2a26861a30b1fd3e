"""Decide which option has the lowest cost per job, and which options tie with it.

In: estimates of cost per job and the headline of a decision. Out: :class:`Cheapest`, over the workloads that the
headline covers, with its cost relative to every other option. The test is that for the leader in ``headline.py``: an
option ties with the cheapest unless the cheapest costs less in a one-sided test at 5 % after Bonferroni's correction
over its rivals. An option also ties where its verdict against the baseline does not separate the two, so that the two
statements can't contradict each other.
"""

import math
from collections.abc import Mapping

from assay.analysis.comparison.option_estimates import OptionEstimates
from assay.questions.decisions.decision import Cheapest, ComparedCost, CostVerdict
from assay.questions.decisions.headline import Headline, is_lower, pair_over_workloads, ranked, strata_of_both


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
    baseline_logs = {stratum: 0.0 for option_logs in logs.values() for stratum in option_logs}
    cheapest, *rivals = (names[code] for code in ranked({codes[baseline]: baseline_logs, **logs}))

    def compared_cost(rival: str) -> ComparedCost:
        strata = strata_of_both(logs, codes[rival], codes[cheapest])
        estimate = pair_over_workloads(costs, strata, codes[rival], codes[cheapest], codes[baseline])
        ratios_of_both = [ratios[option] for option in (cheapest, rival) if option != baseline]
        verdicts = {cost.verdict for cost in ratios_of_both}
        if CostVerdict.NOT_ENOUGH_RUNS in verdicts:
            verdict = CostVerdict.NOT_ENOUGH_RUNS
        elif (len(ratios_of_both) == 1 and CostVerdict.NOT_DISTINGUISHABLE in verdicts) or not (
            estimate is None or is_lower(estimate, len(rivals))
        ):
            verdict = CostVerdict.NOT_DISTINGUISHABLE
        else:
            verdict = CostVerdict.CHEAPER
        if len(ratios_of_both) == 1:  # the ratio and the interval of the decision, which is against the baseline
            ends = (ratios_of_both[0].ratio, ratios_of_both[0].low, ratios_of_both[0].high)
            ratio, low, high = ends if rival == baseline else _inverse(*ends)
        elif estimate is not None:
            inverse = estimate.mean.ratio
            ratio, low, high = _inverse(inverse.value, inverse.low, inverse.high)
        else:
            ratio, low, high = ratios_of_both[0].ratio / ratios_of_both[1].ratio, None, None
        if verdict is CostVerdict.NOT_ENOUGH_RUNS:
            low = high = None
        return ComparedCost(rival, ratio, low, high, verdict)

    costs_of_rivals = tuple(compared_cost(rival) for rival in rivals)
    ties = tuple(rival.option for rival in costs_of_rivals if rival.verdict is not CostVerdict.CHEAPER)
    return Cheapest(cheapest, ties, costs_of_rivals)


def _inverse(ratio: float, low: float | None, high: float | None) -> tuple[float, float | None, float | None]:
    """Return 1 / a ratio, with the ends of its interval."""
    return 1 / ratio, None if high is None else 1 / high, None if low is None else 1 / low
