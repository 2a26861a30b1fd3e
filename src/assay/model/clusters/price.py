"""Price books: dated, sourced line items, apart from runs.

Amounts are in the book's currency once they are here; what a book gives in another currency was exchanged at the book's
own rate when it was read. ``per`` says what an item is counted by: a unit of :data:`UNITS`, bought once, or the same
unit with ``-hour`` or ``-month`` behind it, rented.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from assay.foundation.units import Money

UNITS = ("cluster", "node", "master", "worker", "device", "device-set", "port", "GB")
"""``device``: each device of the layout in the cluster. ``device-set``: one such device in every worker, together.
``port``: each network port. ``GB``: each 10^9 bytes of the capacity of the layout's devices in the cluster."""
PERIODS_H = {"hour": 1, "month": 730}
"""Hours in a rented period; a month is a twelfth of 365 days."""
YEAR_H = 8760
UNKNOWN = "unknown"
PARTS = ("nodes", "devices", "network")
"""What a cluster consists of, as far as prices go."""


@dataclass(frozen=True, slots=True)
class Amortisation:
    """How a purchase is written off: evenly over ``years``, down to ``residual`` (a share of its price)."""

    years: Decimal
    residual: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class Energy:
    """The price of a kWh, and the power usage effectiveness (PUE): what the site draws per watt of hardware."""

    kwh: Decimal
    pue: Decimal = Decimal(1)
    low: Decimal | None = None
    high: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """How much of the book's currency one unit of another was worth, when, and who says so."""

    rate: Decimal
    date: str
    source: str


@dataclass(frozen=True, slots=True)
class LineItem:
    """One price, in the book's currency."""

    name: str
    amount: Decimal
    per: str
    """A unit of :data:`UNITS`, with ``-hour`` or ``-month`` behind it when it is rented."""
    device: str | None = None
    """Device kind (hdd, ssd, nvme, remote) when counted by device, device-set or GB."""
    layouts: tuple[str, ...] = ()
    """Only for these layouts; empty: for all."""
    source: str | None = None
    low: Decimal | None = None
    """The lowest and highest price thought possible; None: the price is taken as exact."""
    high: Decimal | None = None
    device_name: str | None = None
    """Only devices of this name in the node type (``nvme`` also stands for nvme1, nvme2); the kind's price holds for
    the others."""
    node_type: str | None = None
    """With ``per: node``: only nodes of this type; an item without a type holds for the others."""
    when: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Factor (network, cluster, …) to the levels for which this is paid; empty: always. :data:`UNKNOWN` is the level of
    runs that do not say theirs."""
    covers: tuple[str, ...] | None = None
    """Which of :data:`PARTS` it pays for; None: what its unit says."""
    power_w: Decimal = Decimal(0)
    amortisation: Amortisation | None = None
    maintenance: Decimal | None = None
    """Share of the purchase price a year; None: the book's."""
    valid_from: str | None = None
    valid_to: str | None = None
    """First and last day on which it holds (ISO 8601)."""
    capacity_bytes: int | None = None
    bandwidth_bytes_per_s: float | None = None
    """What one device holds and moves: for costs per capacity and per performance."""
    original: Money | None = None
    """The price as the book gives it, when that is in another currency."""

    @property
    def unit(self) -> str:
        """What is counted, without the rented period."""
        return self.per.removesuffix("-hour").removesuffix("-month")

    @property
    def period_h(self) -> int | None:
        """Hours of the rented period; None for a purchase."""
        return None if self.unit == self.per else PERIODS_H[self.per.rpartition("-")[2]]


@dataclass(frozen=True, slots=True)
class PriceBook:
    """Prices in one currency, with the day on which they held."""

    name: str
    currency: str
    date: str
    """ISO 8601 date on which the prices held."""
    source: str
    items: tuple[LineItem, ...]
    exchange: Mapping[str, Exchange] = field(default_factory=dict)
    """Other currency to what one unit of it is worth in the book's."""
    valid_from: str | None = None
    valid_to: str | None = None
    amortisation: Amortisation | None = None
    maintenance: Decimal = Decimal(0)
    energy: Energy | None = None
