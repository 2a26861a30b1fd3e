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
        priced_rows = _priced_rows(rows, stratum)
        if not priced_rows:
            continue
        run_rows = _rows_of(estimates, stratum, baseline, priced_rows)
        cost, low, high = _mean_with_interval(estimates.matched.table, table, run_rows)
        jobs.append(BaselineCost(priced_rows[0].workload, cost, low, high, len(run_rows), _clusters(table, run_rows)))
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
    rows_by_stratum = {stratum: _priced_rows(rows, stratum) for stratum in counted_strata}
    baseline_rows = {
        stratum: _rows_of(estimates, stratum, baseline, priced_rows)
        for stratum, priced_rows in rows_by_stratum.items()
        if priced_rows
    }
    if not baseline_rows or costs.kwh_price is None:
        return None
    stratum = max(baseline_rows, key=lambda stratum: len(baseline_rows[stratum]))
    run_rows, priced_rows = baseline_rows[stratum], rows_by_stratum[stratum]
    mean_s, low_s, high_s = _mean_with_interval(table, table, run_rows)
    levels = table.columns[estimates.matched.factor].levels
    power_w = _mean_power_w(costs, run_rows)
    kwh = power_w * mean_s / _JOULES_PER_KWH
    low, high = (None if end_s is None else power_w * end_s / _JOULES_PER_KWH for end_s in (low_s, high_s))
    options = [OptionEnergy(levels[baseline], power_w, kwh, low, high)]
    for row in priced_rows:
        assert row.time is not None
        option_power_w = _mean_power_w(costs, _rows_of(estimates, stratum, row.option, [row]))
        if power_w and option_power_w:
            speedup = row.time.mean.ratio
            kwh_at_equal_speed = kwh * option_power_w / power_w
            low = None if speedup.high is None else kwh_at_equal_speed / speedup.high
            high = None if speedup.low is None else kwh_at_equal_speed / speedup.low
            kwh_of_option = kwh_at_equal_speed / speedup.value
            options.append(OptionEnergy(levels[row.option], option_power_w, kwh_of_option, low, high))
    if len(options) < 2:
        return None
    return EnergyUse(priced_rows[0].workload, costs.years, costs.kwh_price, tuple(options))


def _priced_rows(rows: Sequence[OptionRow], stratum: int) -> list[OptionRow]:
    """Return the rows of one workload whose cost ratio is over the same runs as their speedup."""
    return [row for row in rows if row.stratum == stratum and row.time and row.cost and row.cost.runs == row.time.runs]


def _mean_with_interval(
    values_table: RunTable, table: RunTable, run_rows: Ints
) -> tuple[float, float | None, float | None]:
    """Return the geometric mean over some runs, and the ends of its 95 % interval; None where it is unknown.

    ``values_table``: has times or costs as its durations. ``table``: the same runs with their times.
    """
    values = values_table.values["duration_s"][run_rows]
    mean = times_of(values, np.zeros(len(run_rows), dtype=np.int64), 1, log_errors_max_in(table, run_rows, sides=1))
    low, high = (float(end[0]) for end in mean_intervals(mean, mean_errors(mean, math.nan, 0.0)))
    is_known = math.isfinite(low) and math.isfinite(high)
    return float(mean.mean_s[0]), low if is_known else None, high if is_known else None


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
    level_rows = slice(int(matched.starts[level]), int(matched.starts[level + 1]))
    groups = matched.groups.of_row[level_rows]
    is_in_stratum = estimates.strata.of_group[groups] == stratum
    with_options = np.concatenate([row.cost.matched_groups for row in priced_rows if row.cost])
    if len(with_options):  # otherwise the baseline is connected with these options only through other options
        is_in_stratum &= np.isin(groups, with_options)
    rows: Ints = matched.positions[level_rows][is_in_stratum]
    return rows
