"""Compute cost per performance and cost per capacity, as in LISA'14, table 5 and section 5.

In: storage setups with price, capacity and sequential bandwidth, and the speedup of jobs between two setups. Out: cost
per TB (10^12 bytes) and per MB/s (10^6 bytes), as a table; the number of baseline devices that match a candidate's
bandwidth, or its price; and the cost per performance, price ratio / mean gain.

Source: K. Kambatla and Y. Chen, "The Truth About MapReduce Performance on SSDs", LISA'14. The paper's cost per
performance compares the setups SSD and HDD-11, which have the same bandwidth, not single devices.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from assay.model import LineItem

_TB = Decimal(10) ** 12
_MB = Decimal(10) ** 6


@dataclass(frozen=True, slots=True)
class Setup:
    """A storage setup of a node. ``bandwidth_mb_per_s`` is sequential, all devices together."""

    name: str
    price: Decimal
    capacity_tb: Decimal
    bandwidth_mb_per_s: Decimal

    @property
    def per_tb(self) -> Decimal:
        """Cost per TB."""
        return self.price / self.capacity_tb

    @property
    def per_mb_per_s(self) -> Decimal:
        """Cost per MB/s of sequential bandwidth."""
        return self.price / self.bandwidth_mb_per_s


def setup_of(name: str, devices: Sequence[tuple[LineItem, int]]) -> Setup:
    """Return the setup of some numbers of priced devices. Raises ValueError if a capacity or bandwidth is missing."""
    price = capacity = bandwidth = Decimal(0)
    for item, count in devices:
        if item.capacity_bytes is None or item.bandwidth_bytes_per_s is None:
            raise ValueError(f"{item.name!r} needs a capacity and a bandwidth")
        price += count * item.amount
        capacity += count * Decimal(item.capacity_bytes) / _TB
        bandwidth += count * Decimal(str(item.bandwidth_bytes_per_s)) / _MB
    return Setup(name, price, capacity, bandwidth)


def equal_bandwidth_count(baseline: Setup, candidate: Setup) -> int:
    """Return the number of baseline devices nearest to the candidate's bandwidth (at least 1): 11 HDDs for LISA'14."""
    return max(1, math.floor(candidate.bandwidth_mb_per_s / baseline.bandwidth_mb_per_s + Decimal("0.5")))


def equal_cost_count(baseline: Setup, candidate: Setup) -> int:
    """Return the number of baseline devices for the candidate's price: 35 HDDs for LISA'14."""
    return math.floor(candidate.price / baseline.price)


def cost_per_performance(price_baseline: Decimal, price_candidate: Decimal, gain: float) -> float:
    """Return the candidate's cost per performance, as a multiple of the baseline's: price ratio / ``gain``.

    ``gain``: mean speedup of the candidate's jobs. Raises ValueError unless all values are positive.
    """
    if price_baseline <= 0 or price_candidate <= 0 or not gain > 0:
        raise ValueError("prices and the gain must be positive")
    return float(price_candidate / price_baseline) / gain
