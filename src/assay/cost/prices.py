"""What a cluster costs in a layout, from a price book's line items.

In: a price book and how many nodes, workers and devices there are. Out: the sum in the book's currency, with what it
is made of. Devices are counted for the layout: a disk that the layout does not use is not paid for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from assay.errors import SpecificationError
from assay.model.price import LineItem, PriceBook


@dataclass(frozen=True, slots=True)
class Counts:
    """What there is to pay for. ``None`` and an empty ``layout_devices`` mean: not known."""

    nodes: int | None = None
    masters: int | None = None
    workers: int | None = None
    layout_devices: dict[str, int] = field(default_factory=dict)
    """Device kind (hdd, ssd, nvme) to how many of it the layout uses on each worker."""


@dataclass(frozen=True, slots=True)
class PricedItem:
    """One line of the bill: ``count`` times ``amount``."""

    name: str
    count: int
    amount: Decimal
    source: str | None

    @property
    def total(self) -> Decimal:
        """Count times amount, in the book's currency."""
        return self.count * self.amount


@dataclass(frozen=True, slots=True)
class LayoutPrice:
    """The bill for a cluster in one layout."""

    layout: str
    currency: str
    items: tuple[PricedItem, ...]

    @property
    def total(self) -> Decimal:
        """The sum of all lines."""
        return sum((item.total for item in self.items), Decimal(0))


def _count(item: LineItem, counts: Counts, layout: str) -> int:
    if item.per == "cluster":
        return 1
    by_unit = {"node": counts.nodes, "master": counts.masters, "worker": counts.workers}
    if item.per == "device":
        if counts.workers is not None and counts.layout_devices:
            return counts.workers * counts.layout_devices.get(item.device or "", 0)
        number = None
    else:
        number = by_unit.get(item.per)
    if number is None:
        raise SpecificationError(
            f"{item.name!r} is priced per {item.per}, but the runs of layout {layout} do not say how many there are",
            hint="price the whole cluster for that layout instead: per: cluster, layouts: [...]",
        )
    return number


def _refuse_gaps(book: PriceBook, applying: list[LineItem], counts: Counts, layout: str) -> None:
    """Refuse a bill that lacks the layout's devices, when the book prices devices one by one."""
    if not any(item.per == "device" for item in book.items) or any(item.layouts for item in applying):
        return
    priced = {item.device for item in applying if item.per == "device"}
    missing = sorted(kind for kind, number in counts.layout_devices.items() if number and kind not in priced)
    if missing:
        raise SpecificationError(
            f"price book {book.name!r} has no price for the {' and '.join(missing)} devices of layout {layout}",
            hint="add a line item with per: device for each kind",
        )


def run_price(book: PriceBook, counts: Counts, layout: str) -> LayoutPrice:
    """Return the bill for a cluster in ``layout``.

    SpecificationError when no line item applies to the layout, a device kind lacks a price, or a count is not known.
    """
    applying = [item for item in book.items if not item.layouts or layout in item.layouts]
    lines = [PricedItem(item.name, _count(item, counts, layout), item.amount, item.source) for item in applying]
    lines = [line for line in lines if line.count]
    if not lines:
        raise SpecificationError(
            f"price book {book.name!r} does not price layout {layout}",
            hint="add a line item for it, or one that holds for all layouts",
        )
    _refuse_gaps(book, applying, counts, layout)
    return LayoutPrice(layout, book.currency, tuple(lines))
