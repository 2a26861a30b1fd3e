"""Compute switching prices: the prices of an item at which another configuration becomes the cheapest.

In: times and hourly rates as factors of prices. Out: for each price, the nearest price below and above today's at which
another configuration becomes the cheapest per run, with all other prices and the times unchanged. The cost of a run is
linear in each price, so every crossing is exact.
"""

from dataclasses import dataclass

import numpy as np

from assay.analysis.cost.pareto import PricedRates
from assay.analysis.cost.rate import Price
from assay.analysis.cost.run_cost import HOUR_S
from assay.analysis.statistics import Floats, Mask


@dataclass(frozen=True, slots=True)
class SwitchingPrice:
    """Prices of an item at which the cheapest configuration changes; None if no price changes it."""

    price: Price
    below: float | None
    """The highest price below today's at which ``below_winner`` has the same cost."""
    below_winner: int | None
    above: float | None
    above_winner: int | None

    @property
    def within_range(self) -> bool:
        """Whether a switching price is within the range of the price."""
        low, high = float(self.price.low), float(self.price.high)
        return (self.below is not None and self.below >= low and low < high) or (
            self.above is not None and self.above <= high and low < high
        )


def _nearest(crossings: Floats, allowed: Mask, *, above: bool) -> tuple[float | None, int | None]:
    candidates = np.flatnonzero(allowed)
    if not candidates.size:
        return None, None
    nearest = int(candidates[np.argmin(crossings[candidates]) if above else np.argmax(crossings[candidates])])
    return float(crossings[nearest]), nearest


def compute_switching_prices(times_s: Floats, priced_rates: PricedRates) -> list[SwitchingPrice]:
    """Return a :class:`SwitchingPrice` for each price that a configuration pays. Prices can't fall below 0."""
    costs = times_s * priced_rates.rates_per_h / HOUR_S
    winner = int(np.argmin(costs))
    switching_prices = []
    for column, price in enumerate(priced_rates.prices):
        amount = priced_rates.amounts[column]
        slopes = times_s * priced_rates.factors[:, column] / HOUR_S
        # The others' advantage over the winner grows by `gain` for each unit that the price rises.
        gain = slopes[winner] - slopes
        cost_differences = costs - costs[winner]
        with np.errstate(divide="ignore", invalid="ignore"):
            crossings = amount + cost_differences / gain
        above, above_winner = _nearest(crossings, gain > 0, above=True)
        below, below_winner = _nearest(crossings, (gain < 0) & (crossings >= 0), above=False)
        if bool(np.any(slopes > 0)):
            switching_prices.append(SwitchingPrice(price, below, below_winner, above, above_winner))
    return switching_prices
