"""Compute what a job and the hardware cost on a decision's baseline, in absolute amounts.

In: estimates of cost per job, the hourly cost of each run, and the rows of a decision. Out: :class:`BaselineCosts`. The
cost of an option is the baseline's times the option's cost ratio, so that amounts and ratios can't contradict each
other. The mean is geometric, as in ``analysis/cost/run_cost.py``, over the same runs as the ratios: those of the
baseline in matched groups with an option.
"""

import math
from collections.abc import Sequence

import numpy as np

from assay.analysis.comparison.option_estimates import OptionEstimates
from assay.analysis.cost.run_cost import mean_errors, mean_intervals, times_of
from assay.analysis.statistics import Ints, rounding_of
from assay.model import YEAR_H
from assay.questions.decisions.costs import RunCosts
from assay.questions.decisions.headline import OptionRow
from assay.questions.decisions.values import BaselineCost, BaselineCosts


def baseline_costs_of(
    estimates: OptionEstimates, costs: RunCosts, rows: Sequence[OptionRow], shared: Sequence[int], baseline: int
) -> BaselineCosts | None:
    """Return the baseline's costs on each of the ``shared`` strata; None where no option has a cost on them.

    ``estimates``: of costs. ``rows``: every workload and option. ``baseline``: its code in the run table.
    """
    jobs: list[BaselineCost] = []
    at_all: list[Ints] = []
    for stratum in shared:
        priced = [
            row for row in rows if row.stratum == stratum and row.time and row.cost and row.cost.runs == row.time.runs
        ]
        if not priced:
            continue
        at = _rows_of(estimates, stratum, baseline, priced)
        cost = estimates.matched.table.values["duration_s"][at]
        rounding = rounding_of(cost / costs.per_h[at] * 3600)
        mean = times_of(cost, np.zeros(len(at), dtype=np.int64), 1, rounding)
        low, high = (float(end[0]) for end in mean_intervals(mean, mean_errors(mean, math.nan, 0.0)))
        known = math.isfinite(low)
        jobs.append(
            BaselineCost(
                priced[0].workload, float(mean.mean_s[0]), low if known else None, high if known else None, len(at)
            )
        )
        at_all.append(at)
    if not jobs:
        return None
    per_h = costs.per_h[np.concatenate(at_all)]
    mean_per_h = float(per_h[0]) if np.ptp(per_h) == 0 else math.exp(float(np.log(per_h).mean()))
    return BaselineCosts(
        book=costs.book,
        date=costs.date,
        years=costs.years,
        hardware=mean_per_h * costs.years * YEAR_H,
        hardware_prices=len(np.unique(per_h)),
        jobs=tuple(jobs),
    )


def _rows_of(estimates: OptionEstimates, stratum: int, baseline: int, priced: Sequence[OptionRow]) -> Ints:
    """Return the rows of the run table behind the baseline's side of the cost ratios of one workload."""
    matched = estimates.matched
    of_baseline = slice(int(matched.starts[baseline]), int(matched.starts[baseline + 1]))
    groups = matched.groups.of_row[of_baseline]
    taken = estimates.strata.of_group[groups] == stratum
    with_options = np.concatenate([row.cost.matched_groups for row in priced if row.cost])
    if len(with_options):  # else only other options connect the baseline with these
        taken &= np.isin(groups, with_options)
    rows: Ints = matched.positions[of_baseline][taken]
    return rows
