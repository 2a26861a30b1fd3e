"""Compute what a job and the hardware cost on a decision's baseline, and the energy of a job, in absolute amounts.

In: estimates of cost per job, the hourly cost of each run, and the rows of a decision. Out: :class:`BaselineCosts` and
:class:`EnergyUse`. The cost of an option is the baseline's times the option's cost ratio, so that amounts and ratios
can't contradict each other. The mean is geometric, as in ``analysis/cost/run_cost.py``, over the same runs as the
ratios: the baseline's runs in matched groups with an option.
"""

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from assay.analysis.comparison.option_estimates import OptionEstimates
from assay.analysis.cost.run_cost import mean_errors, mean_intervals, times_of
from assay.analysis.statistics import ABSENT, Ints, RunTable, log_errors_max_in
from assay.questions.decisions.costs.cluster_prices import cluster_prices_of
from assay.questions.decisions.costs.run_costs import RunCosts
from assay.questions.decisions.decision import BaselineCost, BaselineCosts, EnergyUse, OptionEnergy
from assay.questions.decisions.headline import OptionRow

_JOULES_PER_KWH = 3.6e6


def baseline_costs_of(
    estimates: OptionEstimates,
    table: RunTable,
    costs: RunCosts,
    rows: Sequence[OptionRow],
    counted_strata: Sequence[int],
    baseline: int,
) -> BaselineCosts | None:
    """Return the baseline's costs on each of the ``counted_strata``; None where no option has a cost on them.

    ``estimates``: of costs. ``table``: the same runs with their times. ``rows``: every workload and option.
    ``baseline``: its code in the run table.
    """
    jobs: list[BaselineCost] = []
    rows_of_options: dict[int, list[Ints]] = defaultdict(list)
    for stratum in counted_strata:
        priced_rows = [
            row for row in rows if row.stratum == stratum and row.time and row.cost and row.cost.runs == row.time.runs
        ]
        if not priced_rows:
            continue
        run_rows = _rows_of(estimates, stratum, baseline, priced_rows)
        cost = estimates.matched.table.values["duration_s"][run_rows]
        mean = times_of(cost, np.zeros(len(run_rows), dtype=np.int64), 1, log_errors_max_in(table, run_rows, sides=1))
        low, high = (float(end[0]) for end in mean_intervals(mean, mean_errors(mean, math.nan, 0.0)))
        ends = (low, high) if math.isfinite(low) else (None, None)
        clusters = _clusters(table, run_rows)
        jobs.append(
            BaselineCost(priced_rows[0].workload, float(mean.mean_s[0]), ends[0], ends[1], len(run_rows), clusters)
        )
        rows_of_options[baseline].append(run_rows)
        for row in priced_rows:
            rows_of_options[row.option].append(_rows_of(estimates, stratum, row.option, [row]))
    if not jobs:
        return None
    options = {option: np.concatenate(parts) for option, parts in rows_of_options.items()}
    return BaselineCosts(
        book=costs.book,
        date=costs.date,
        years=costs.years,
        rented=costs.rented,
        other_sizes=costs.clusters.other_sizes(np.concatenate(list(options.values()))) if costs.clusters else (),
        purchase=costs.purchase,
        rent=costs.rent,
        power=costs.kwh_price is not None,
        maintenance=costs.maintenance,
        cluster_prices=cluster_prices_of(estimates, costs, options),
        jobs=tuple(jobs),
    )


def energy_use_of(
    estimates: OptionEstimates,
    table: RunTable,
    costs: RunCosts,
    rows: Sequence[OptionRow],
    counted_strata: Sequence[int],
    baseline: int,
) -> EnergyUse | None:
    """Return the energy of a job on the baseline and each priced option; None where the price book states no power.

    The arguments are those of :func:`baseline_costs_of`. An option's energy is the baseline's times the ratio of their
    powers, divided by the speedup.
    """
    priced = {
        stratum: [
            row for row in rows if row.stratum == stratum and row.time and row.cost and row.cost.runs == row.time.runs
        ]
        for stratum in counted_strata
    }
    sides = {stratum: _rows_of(estimates, stratum, baseline, of) for stratum, of in priced.items() if of}
    if not sides or costs.kwh_price is None:
        return None
    stratum = max(sides, key=lambda stratum: len(sides[stratum]))
    run_rows = sides[stratum]
    time_s = table.values["duration_s"][run_rows]
    mean = times_of(time_s, np.zeros(len(run_rows), dtype=np.int64), 1, log_errors_max_in(table, run_rows, sides=1))
    ends = [float(end[0]) for end in mean_intervals(mean, mean_errors(mean, math.nan, 0.0))]
    levels = table.columns[estimates.matched.factor].levels
    power_w = _mean_power_w(costs, run_rows)
    kwh = power_w * float(mean.mean_s[0]) / _JOULES_PER_KWH
    low, high = (power_w * end / _JOULES_PER_KWH if math.isfinite(end) else None for end in ends)
    options = [OptionEnergy(levels[baseline], power_w, kwh, low, high)]
    for row in priced[stratum]:
        assert row.time is not None
        of_option = _mean_power_w(costs, _rows_of(estimates, stratum, row.option, [row]))
        if power_w and of_option:
            speedup = row.time.mean.ratio
            kwh_at_equal_speed = kwh * of_option / power_w
            low = None if speedup.high is None else kwh_at_equal_speed / speedup.high
            high = None if speedup.low is None else kwh_at_equal_speed / speedup.low
            options.append(OptionEnergy(levels[row.option], of_option, kwh_at_equal_speed / speedup.value, low, high))
    if len(options) < 2:
        return None
    return EnergyUse(priced[stratum][0].workload, costs.years, costs.kwh_price, tuple(options))


def _clusters(table: RunTable, run_rows: Ints) -> tuple[str, ...]:
    """Return the clusters of some rows, by name; empty if the rows record none."""
    column = table.columns.get("cluster")
    if column is None:
        return ()
    return tuple(sorted({column.levels[code] for code in column.codes[run_rows].tolist() if code != ABSENT}))


def _mean_power_w(costs: RunCosts, run_rows: Ints) -> float:
    """Return the geometric mean power of the hardware of some runs; 0 where the book states none for a run."""
    power_w = costs.site_power_w[run_rows]
    if not len(power_w) or not (power_w > 0).all():
        return 0.0
    return float(power_w[0]) if np.ptp(power_w) == 0 else math.exp(float(np.log(power_w).mean()))


def _rows_of(estimates: OptionEstimates, stratum: int, level: int, priced_rows: Sequence[OptionRow]) -> Ints:
    """Return the rows of the run table behind the cost ratios of one workload that have ``level``."""
    matched = estimates.matched
    of_level = slice(int(matched.starts[level]), int(matched.starts[level + 1]))
    groups = matched.groups.of_row[of_level]
    is_in_stratum = estimates.strata.of_group[groups] == stratum
    with_options = np.concatenate([row.cost.matched_groups for row in priced_rows if row.cost])
    if len(with_options):  # otherwise the baseline is connected with these options only through other options
        is_in_stratum &= np.isin(groups, with_options)
    rows: Ints = matched.positions[of_level][is_in_stratum]
    return rows
