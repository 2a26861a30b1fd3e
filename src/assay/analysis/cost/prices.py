"""Select the items of a price book that apply to a cluster in one configuration, and count them.

In: a price book, the parts (:class:`Counts`), a layout, a date. Out: the applicable items with their counts, and the
bill over some years. Devices are counted for the layout: disks that the layout does not use are not paid for. A part
without a price is an error that names it; parts without cost need an item with price 0.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from assay.analysis.cost.parts import Counts
from assay.analysis.cost.repricing import ENERGY, price_names
from assay.foundation.errors import SpecificationError
from assay.model import YEAR_H, LineItem, PriceBook
from assay.model.clusters import price_book
from assay.text import column_title, level_text

DEVICE_UNITS = ("device", "device-set", "GB")
"""Units of items that price devices."""
_GB = 10**9


@dataclass(frozen=True, slots=True)
class CountedItem:
    """An applicable item with its count; a capacity in GB may be fractional."""

    item: LineItem
    count: Decimal


@dataclass(frozen=True, slots=True)
class PricedItem:
    """One line of a bill: ``count`` times ``amount``."""

    name: str
    """Displayed name: the item's name, with the paid part if an item has several lines."""
    price: str
    """Name in the book of the price behind the amount (``repricing.price_names``)."""
    count: int | Decimal
    amount: Decimal
    source: str | None

    @property
    def total(self) -> Decimal:
        """Count times amount, in the book's currency."""
        return self.count * self.amount


@dataclass(frozen=True, slots=True)
class LayoutPrice:
    """The bill of a cluster in one layout."""

    layout: str
    currency: str
    items: tuple[PricedItem, ...]

    @property
    def total(self) -> Decimal:
        """Sum of all lines."""
        return sum((item.total for item in self.items), Decimal(0))


def _is_valid(since: str | None, until: str | None, day: str) -> bool:
    return (since is None or since <= day) and (until is None or day <= until)


def _is_named(item: LineItem, device: str) -> bool:
    return item.device_name is not None and re.fullmatch(re.escape(item.device_name) + r"\d*", device) is not None


@dataclass(frozen=True, slots=True)
class _Count:
    """The counts of a book's applicable items in one configuration."""

    applicable_items: Sequence[LineItem]
    counts: Counts
    layout: str

    def of(self, item: LineItem) -> Decimal:
        """Return the count of ``item``. Raises SpecificationError if the runs do not record it."""
        number = self._number(item)
        if number is None:
            raise SpecificationError(
                f"{item.name!r} is priced per {item.per}, but the runs of layout {self.layout} do not record"
                " their number",
                hint="price the whole cluster for that layout instead: per: cluster, layouts: [...]",
            )
        return Decimal(number)

    def _number(self, item: LineItem) -> int | Decimal | None:
        counts = self.counts
        match item.unit:
            case "cluster":
                return 1
            case "node":
                return self._nodes(item)
            case "master":
                return counts.masters
            case "worker":
                return counts.workers
            case "port":
                return counts.nodes if counts.ports is None else counts.ports
            case "GB":
                return self._gigabytes(item)
        per_worker = self._devices(item)
        if per_worker is None or item.unit == "device-set":
            return per_worker
        return None if counts.workers is None else counts.workers * per_worker

    def _nodes(self, item: LineItem) -> int | None:
        named_types = {other.node_type for other in self.applicable_items if other.unit == "node" and other.node_type}
        if item.node_type is not None:
            return self.counts.node_types.get(item.node_type, 0) if self.counts.node_types else None
        if not named_types or self.counts.nodes is None:
            return self.counts.nodes
        return self.counts.nodes - sum(self.counts.node_types.get(name, 0) for name in named_types)

    def _devices(self, item: LineItem) -> int | None:
        """Return the number of the item's devices that the layout uses on each worker."""
        counts = self.counts
        if not counts.layout_devices:
            return None
        if item.device_name is not None:
            return sum(_is_named(item, name) for name in counts.device_names) if counts.device_names else None
        named_items = [
            other for other in self.applicable_items if other.unit == item.unit and other.device_name is not None
        ]
        separately_priced = sum(
            kind == item.device and any(_is_named(other, name) for other in named_items)
            for name, kind in counts.device_names.items()
        )
        return counts.layout_devices.get(item.device or "", 0) - separately_priced

    def _gigabytes(self, item: LineItem) -> Decimal | None:
        counts = self.counts
        has_one_kind = item.device is None or set(counts.layout_devices) == {item.device}
        if item.device is not None and counts.layout_devices and item.device not in counts.layout_devices:
            return Decimal(0)
        if counts.capacity_bytes is None or counts.workers is None or not has_one_kind:
            return None
        return Decimal(counts.workers * counts.capacity_bytes) / _GB


def covered_parts(item: LineItem, applicable_items: Sequence[LineItem]) -> set[str]:
    """Return the parts that ``item`` pays for: masters, workers, network, devices, or one kind of device.

    ``applicable_items``: all items of the same bill. A price of the whole cluster covers all parts without a more
    specific item, and all parts if it belongs to a layout.
    """
    if item.covers is not None:
        parts = set(item.covers)
        return parts | ({"masters", "workers"} if "nodes" in parts else set())
    match item.unit:
        case "cluster":
            finer_units = set() if item.layouts else {other.unit for other in applicable_items}
            parts = {"masters", "workers", "network"}
            return parts if finer_units & set(DEVICE_UNITS) else {*parts, "devices"}
        case "node":
            return {"masters", "workers", "network"}
        case "master" | "worker":
            return {f"{item.unit}s", "network"}
        case "port":
            return {"network"}
    return {item.device or "devices"}


def _refuse_gaps(book: PriceBook, applicable_items: Sequence[LineItem], counts: Counts, layout: str) -> None:
    """Reject a bill without a price for machines, network, or a kind of device that the layout uses."""
    priced_parts = set().union(*(covered_parts(item, applicable_items) for item in applicable_items))
    if "devices" not in priced_parts:
        missing_kinds = sorted(
            kind for kind, number in counts.layout_devices.items() if number and kind not in priced_parts
        )
        if missing_kinds:
            raise SpecificationError(
                f"price book {book.name!r} has no price for the {' and '.join(missing_kinds)} devices of layout "
                f"{layout}",
                hint="add a line item with per: device for each kind; price 0 if they cost nothing more",
            )
        if not counts.layout_devices:
            raise SpecificationError(
                f"price book {book.name!r} prices devices, but the devices of layout {layout} are not known",
                hint="price the whole cluster for that layout instead: per: cluster, layouts: [...]",
            )
    # A separate master must be priced; a master on a worker is paid for with the worker. Unknown counts as separate.
    knows_nodes = counts.nodes is not None and counts.workers is not None
    has_separate_masters = counts.masters != 0 and not (knows_nodes and (counts.nodes or 0) <= (counts.workers or 0))
    needed_parts = {"network", "workers"} | ({"masters"} if has_separate_masters else set())
    missing_parts = sorted(needed_parts - priced_parts)
    if missing_parts:
        key = "network" if missing_parts == ["network"] else "nodes"
        raise SpecificationError(
            f"price book {book.name!r} has no price for the {' and '.join(missing_parts)} of layout {layout}",
            hint=f"add a line item for them (price 0 if they cost nothing more), or add 'covers: [{key}]' to the item"
            " that includes them",
        )


def _refuse_unnamed_levels(
    book: PriceBook, applicable_items: Sequence[LineItem], counts: Counts, layout: str, day: str
) -> None:
    """Reject a level without a price, of a factor that the book's prices depend on."""
    valid_items = [item for item in book.items if _is_valid(item.valid_from, item.valid_to, day)]
    factors = dict.fromkeys(factor for item in valid_items for factor in item.when)
    for factor in factors:
        if any(factor in item.when for item in applicable_items):
            continue
        level = counts.levels.get(factor)
        if level is None:
            raise SpecificationError(
                f"prices of {book.name!r} depend on {factor}, and the runs of layout {layout} record none, or several",
                hint=f"add the factor to the configurations (--by layout,{factor}), or an item with"
                f" when: {{{factor}: [{price_book.UNKNOWN}]}} to the book",
            )
        raise SpecificationError(
            f"price book {book.name!r} has no price for {column_title(factor).lower()} {level_text(factor, level)}",
            hint=f"add a line item with when: {{{factor}: [{level}]}}; price 0 if it costs nothing more",
        )


def bill_of_materials(book: PriceBook, counts: Counts, layout: str, on: str | None = None) -> tuple[CountedItem, ...]:
    """Return the items that a cluster in ``layout`` pays on the day ``on`` (default: the book's date), with counts.

    Raises SpecificationError if the book is not valid on that day, a part has no price, or a count is unknown.
    """
    day = on or book.date
    if not _is_valid(book.valid_from, book.valid_to, day):
        until = f"until {book.valid_to}" if book.valid_to else ""
        since = f"since {book.valid_from} " if book.valid_from else ""
        raise SpecificationError(f"price book {book.name!r} is valid {since}{until}".rstrip() + f", not on {day}")
    applicable_items = [
        item
        for item in book.items
        if (not item.layouts or layout in item.layouts)
        and _is_valid(item.valid_from, item.valid_to, day)
        and all(counts.levels.get(factor, price_book.UNKNOWN) in levels for factor, levels in item.when.items())
    ]
    _refuse_unnamed_levels(book, applicable_items, counts, layout, day)
    item_counts = _Count(applicable_items, counts, layout)
    lines = [CountedItem(item, item_counts.of(item)) for item in applicable_items]
    lines = [line for line in lines if line.count]
    if not lines:
        raise SpecificationError(
            f"price book {book.name!r} does not price layout {layout}",
            hint="add a line item for it, or one that applies to all layouts",
        )
    _refuse_gaps(
        book, [line.item for line in lines] + [i for i in applicable_items if i.unit in DEVICE_UNITS], counts, layout
    )
    return tuple(lines)


def _bill(book: PriceBook, counted_item: CountedItem, price_name: str, years: Decimal) -> list[PricedItem]:
    """Return the lines of one item: price or rent, residual value, maintenance and power."""
    item, count = counted_item.item, counted_item.count
    displayed_count = int(count) if count == count.to_integral_value() else count
    hours = years * YEAR_H
    if item.period_h is not None:
        title, rent = f"{item.name} ({years.normalize():f} years)", item.amount / item.period_h * hours
        lines = [PricedItem(title, price_name, displayed_count, rent, item.source)]
    else:
        lines = [PricedItem(item.name, price_name, displayed_count, item.amount, item.source)]
        amortisation = item.amortisation or book.amortisation
        if amortisation and amortisation.residual:
            residual = -item.amount * amortisation.residual
            lines.append(PricedItem(f"{item.name}: residual value", price_name, displayed_count, residual, None))
        share = book.maintenance if item.maintenance is None else item.maintenance
        if share:
            maintenance = item.amount * share * years
            lines.append(PricedItem(f"{item.name}: maintenance", price_name, displayed_count, maintenance, None))
    if item.power_w and book.energy:
        amount = item.power_w / 1000 * hours * book.energy.price_per_kwh * book.energy.pue
        lines.append(PricedItem(f"{item.name}: power", ENERGY, displayed_count, amount, None))
    return lines


def run_price(book: PriceBook, counts: Counts, layout: str, *, years: float = 3, on: str | None = None) -> LayoutPrice:
    """Return the bill of a cluster in ``layout`` over ``years``: purchases less residual values, rents, maintenance and
    power.

    Raises SpecificationError if no item applies to the layout, a part has no price, or a count is unknown.
    """
    period_years = Decimal(str(years))
    names = {id(item): name for item, name in zip(book.items, price_names(book), strict=True)}
    materials = bill_of_materials(book, counts, layout, on)
    lines = [
        line
        for counted_item in materials
        for line in _bill(book, counted_item, names[id(counted_item.item)], period_years)
    ]
    return LayoutPrice(layout, book.currency, tuple(lines))
