"""Compute the Pareto front of time and money, and the probability that a configuration is on it.

In: run times by configuration, and hourly rates as factors of prices. Out: the front (no other configuration is as fast
and as cheap, and better in one of the two) and, for each configuration, the share of draws in which it is on the front.
``questions/decisions`` decides which configuration is the cheapest.

The log of a configuration's mean time is drawn from Student's t with the spread of its runs, like its 95 % interval. A
bootstrap over three runs would be too narrow (docs/adr/0003). A configuration with few runs gets the pooled spread of
similar runs (``run_cost.py``). If no run was repeated, no shares are computed. Prices are drawn from the triangle
between low, price and high; a draw of a price holds for all configurations. Intervals of times, and of costs if all
prices are exact, are computed without draws and do not depend on the seed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.cost.rate import Price, Rate
from assay.analysis.cost.run_cost import HOUR_S, MeanErrors, Times, mean_errors, mean_intervals, pooled_spread
from assay.analysis.statistics import Floats, Mask

DRAWS = 2000
"""Default number of draws of times and prices."""
_LOG_MAX = 100.0
"""Maximum absolute log ratio of a drawn time to the mean. With two runs, draws from Student's t could overflow."""
_CELLS_MAX = 1_000_000
"""Maximum number of random numbers in memory."""


@dataclass(frozen=True, slots=True)
class PricedRates:
    """Hourly costs of configurations as a sum of prices: ``rate = factors @ amounts``."""

    prices: tuple[Price, ...]
    amounts: Floats
    factors: Floats
    """Configurations × prices."""

    @property
    def rates_per_h(self) -> Floats:
        """Cost per hour, by configuration."""
        rates: Floats = self.factors @ self.amounts
        return rates

    @property
    def has_price_range(self) -> Mask:
        """Configurations that pay a price with a range."""
        varies = [column for column, price in enumerate(self.prices) if price.low < price.high]
        has_range: Mask = np.any(self.factors[:, varies] > 0, axis=1)
        return has_range


def priced_rates(rates: Sequence[Rate]) -> PricedRates:
    """Return the rates as factors of their distinct prices."""
    prices: dict[Price, int] = {}
    for rate in rates:
        for item in rate.items:
            prices.setdefault(item.price, len(prices))
    factors = np.zeros((len(rates), len(prices)))
    for row, rate in enumerate(rates):
        for item in rate.items:
            factors[row, prices[item.price]] += float(item.factor)
    return PricedRates(tuple(prices), np.array([float(price.amount) for price in prices]), factors)


def on_front(times_s: Floats, costs: Floats) -> Mask:
    """Return the points that no other point beats, by row. A point beats another if it is no slower, no dearer, and
    better in one.

    Both arrays are draws × configurations (or one row); equal points are on the front together.
    """
    times_s, costs = np.atleast_2d(times_s), np.atleast_2d(costs)
    by_cost = np.argsort(costs, axis=1, kind="stable")
    order = np.take_along_axis(
        by_cost, np.argsort(np.take_along_axis(times_s, by_cost, 1), axis=1, kind="stable"), axis=1
    )
    time, cost = np.take_along_axis(times_s, order, 1), np.take_along_axis(costs, order, 1)
    cheapest_before = np.full_like(cost, np.inf)
    cheapest_before[:, 1:] = np.minimum.accumulate(cost, axis=1)[:, :-1]
    is_better = cost < cheapest_before
    last_better = np.maximum.accumulate(np.where(is_better, np.arange(cost.shape[1]), 0), axis=1)
    equal = (time == np.take_along_axis(time, last_better, 1)) & (cost == np.take_along_axis(cost, last_better, 1))
    front = np.empty(cost.shape, dtype=np.bool_)
    np.put_along_axis(front, order, equal, axis=1)
    return front


def drawn_times_s(times: Times, errors: MeanErrors, draws: int, generator: np.random.Generator) -> Floats:
    """Return draws × configurations of the geometric mean time."""
    shape = draws, len(times.n)
    log_deviation = generator.standard_t(np.maximum(errors.degrees, 1), shape) * errors.error
    log_deviation += generator.uniform(-1.0, 1.0, shape) * times.rounding
    return np.asarray(times.mean_s * np.exp(np.clip(log_deviation, -_LOG_MAX, _LOG_MAX)), dtype=np.float64)


def drawn_rates_per_h(priced_rates: PricedRates, draws: int, generator: np.random.Generator) -> Floats:
    """Return draws × configurations of the rate."""
    amounts = np.tile(priced_rates.amounts, (draws, 1))
    for column, price in enumerate(priced_rates.prices):
        if price.low < price.high:
            low, middle, high = float(price.low), float(price.amount), float(price.high)
            amounts[:, column] = generator.triangular(low, middle, high, draws)
    rates: Floats = amounts @ priced_rates.factors.T
    return rates


@dataclass(frozen=True, slots=True)
class CostAndTime:
    """Times and costs of configurations. All arrays are by configuration."""

    times_s: Floats
    costs: Floats
    time_low_s: Floats
    time_high_s: Floats
    cost_low: Floats
    cost_high: Floats
    """Upper ends of 95 % intervals; NaN if unknown."""
    borrowed: Mask
    """Whether a configuration's interval uses the pooled spread of similar runs."""
    draws: int
    drawn_times_s: Floats
    """Draws × configurations."""
    drawn_costs: Floats
    """Draws × configurations."""

    def front_of(self, group: Sequence[int]) -> tuple[Mask, Floats | None]:
        """Return the Pareto front of a group of configurations, and the share of draws with each of them on it.

        The shares are None if the spread of some times is unknown.
        """
        columns = list(group)
        front = on_front(self.times_s[columns], self.costs[columns])[0]
        if not self.draws:
            return front, None
        return front, on_front(self.drawn_times_s[:, columns], self.drawn_costs[:, columns]).mean(axis=0)


def estimate_time_and_cost(
    times: Times, priced_rates: PricedRates, errors: MeanErrors | None = None, *, draws: int = DRAWS, seed: int = 0
) -> CostAndTime:
    """Return times and costs of configurations, which must all have runs. The same seed gives the same draws.

    ``errors``: standard errors of the means; by default from their runs, and for few runs from the pooled spread of
    similar runs.
    """
    count = len(times.n)
    if count == 0 or not bool(np.all(times.n > 0)):
        raise ValueError("every configuration needs a run")
    errors_of_means = mean_errors(times, *pooled_spread(times)) if errors is None else errors
    draws = min(draws, max(200, _CELLS_MAX // count))
    generator = np.random.default_rng(seed)
    time = drawn_times_s(times, errors_of_means, draws, generator)
    cost = time * drawn_rates_per_h(priced_rates, draws, generator) / HOUR_S
    costs = times.mean_s * priced_rates.rates_per_h / HOUR_S
    time_low, time_high = mean_intervals(times, errors_of_means)
    with np.errstate(invalid="ignore"):
        drawn_low, drawn_high = np.quantile(cost, (0.025, 0.975), axis=0)
    has_range = priced_rates.has_price_range
    has_errors = bool(np.all(np.isfinite(errors_of_means.error)))
    return CostAndTime(
        times_s=times.mean_s,
        costs=costs,
        time_low_s=time_low,
        time_high_s=time_high,
        cost_low=np.where(has_range, drawn_low, time_low * priced_rates.rates_per_h / HOUR_S),
        cost_high=np.where(has_range, drawn_high, time_high * priced_rates.rates_per_h / HOUR_S),
        borrowed=errors_of_means.borrowed,
        draws=draws if has_errors else 0,
        drawn_times_s=time,
        drawn_costs=cost,
    )


@dataclass(frozen=True, slots=True)
class Quadrants:
    """Limits of fast and slow, economical and expensive, as in BSC 2015, figure 7, in real units.

    BSC scales times and costs to 0 … 1 between the best and the worst, and sets the limit at 0.5.
    """

    time_s: float
    cost: float

    def name(self, time_s: float, cost: float) -> str:
        """Return BSC's name of a configuration's quadrant."""
        speed = "fast" if time_s <= self.time_s else "slow"
        return f"{speed}, {'economical' if cost <= self.cost else 'expensive'}"


def quadrants(times_s: Sequence[float], costs: Sequence[float]) -> Quadrants | None:
    """Return the limits halfway between best and worst; None without two different configurations.

    The geometric mean is used, so that one configuration that is ten times as slow does not make all others fast.
    """
    if len(times_s) < 2 or min(times_s) == max(times_s) or min(costs) == max(costs):
        return None
    return Quadrants(_middle(times_s), _middle(costs))


def _middle(values: Sequence[float]) -> float:
    low, high = min(values), max(values)
    return math.sqrt(low * high) if low > 0 else (low + high) / 2
