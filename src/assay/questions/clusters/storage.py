"""Compare devices of a price book by cost per capacity and cost per performance, as table 5 of the LISA'14 paper does.

In: a price book whose device items have a capacity and a bandwidth. Out: a row for each device; for each device
but the baseline, also the number of baseline devices that have the same bandwidth, and the same price.
``analysis/cost/storage.py`` has the formulas.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis.cost.storage import Setup, cost_per_performance, equal_bandwidth_count, equal_cost_count, setup_of
from assay.foundation.errors import SpecificationError
from assay.model import LineItem, PriceBook


@dataclass(frozen=True, slots=True)
class DeviceComparison:
    """One device, and the numbers of baseline devices that match its bandwidth and its price."""

    candidate: Setup
    equal_bandwidth: Setup
    equal_cost: Setup
    price_ratio: float
    """Candidate's price / price of the baseline's devices of equal bandwidth."""
    per_tb_ratio: float
    cost_per_performance: float | None
    """Price ratio / mean gain; None when no gain is known."""


@dataclass(frozen=True, slots=True)
class StorageView:
    """All devices, and each other device compared with the baseline."""

    book: str
    currency: str
    baseline: str
    gain: float | None
    devices: tuple[Setup, ...]
    against: tuple[DeviceComparison, ...]


def _setup(item: LineItem, count: int) -> Setup:
    return setup_of(f"{count} × {item.name}", [(item, count)])


def storage_view(book: PriceBook, *, baseline: str | None = None, gain: float | None = None) -> StorageView:
    """Return the view. ``baseline``: an item's name or a device kind; None: the book's first device.

    Raises SpecificationError if no purchased device has a capacity and a bandwidth, or none is the baseline.
    """
    items = [
        item
        for item in book.items
        if item.per == "device" and item.amount and item.capacity_bytes and item.bandwidth_bytes_per_s
    ]
    if not items:
        raise SpecificationError(
            f"no device in price book {book.name!r} has a price, a capacity and a bandwidth",
            hint="add capacity: 2TB, bandwidth: 120MB/s to the items with per: device",
        )
    first = _baseline(items, baseline)
    single_setup = _setup(first, 1)
    rows = []
    for item in items:
        if item is first:
            continue
        candidate = _setup(item, 1)
        equal_setup = _setup(first, equal_bandwidth_count(single_setup, candidate))
        same_price = _setup(first, max(1, equal_cost_count(single_setup, candidate)))
        rows.append(
            DeviceComparison(
                candidate,
                equal_setup,
                same_price,
                float(candidate.price / equal_setup.price),
                float(candidate.per_tb / single_setup.per_tb),
                None if gain is None else cost_per_performance(equal_setup.price, candidate.price, gain),
            )
        )
    return StorageView(
        book.name,
        book.currency,
        first.name,
        gain,
        tuple(setup_of(item.name, [(item, 1)]) for item in items),
        tuple(rows),
    )


def _baseline(items: Sequence[LineItem], baseline: str | None) -> LineItem:
    if baseline is None:
        return items[0]
    for item in items:
        if baseline in (item.name, item.device):
            return item
    raise SpecificationError(
        f"the price book has no device {baseline!r}", hint=f"its devices: {', '.join(item.name for item in items)}"
    )
