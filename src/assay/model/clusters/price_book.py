"""Price books: dated line items with sources, independent of runs.

Amounts are in the book's currency; amounts in other currencies are converted at the book's exchange rate on reading.
``per`` is a unit of :data:`UNITS` for a purchase, or a unit with ``-hour`` or ``-month`` for a rent.
"""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from assay.foundation.units import Money

UNITS = ("cluster", "node", "master", "worker", "device", "device-set", "port", "GB")
"""``device``: each device of the layout in the cluster. ``device-set``: one device in every worker, together. ``port``:
each network port. ``GB``: each 10^9 bytes of the capacity of the layout's devices in the cluster."""
PERIODS_H = {"hour": 1, "month": 730}
"""Hours in a rented period; a month is a twelfth of 365 days."""
YEAR_H = 8760
PRICE_AGE_MAX = datetime.timedelta(days=365)
"""Maximum age of prices without a warning, in answers that choose hardware by price."""
UNKNOWN = "unknown"
KEPT_STORAGE, EGRESS = "storage", "egress"
EXTRAS = (KEPT_STORAGE, EGRESS)
"""Priced extras of a rented cluster: storage that outlives the job, per GB and month, and data sent out, per GB. A GB
has 10^9 bytes."""
PARTS = ("nodes", "devices", "network")
"""Priced parts of a cluster."""


@dataclass(frozen=True, slots=True)
class Amortisation:
    """Linear amortisation over ``years``, down to ``residual`` (a share of the price)."""

    years: Decimal
    residual: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class Energy:
    """The price of a kWh, and the power usage effectiveness (PUE): watts of the site per watt of hardware."""

    price_per_kwh: Decimal
    pue: Decimal = Decimal(1)
    low: Decimal | None = None
    high: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """An exchange rate: units of the book's currency per unit of another, with date and source."""

    rate: Decimal
    date: str
    source: str


@dataclass(frozen=True, slots=True)
class ExtraPrice:
    """The price of one of :data:`EXTRAS`, in the book's currency."""

    amount: Decimal
    source: str | None = None


@dataclass(frozen=True, slots=True)
class LineItem:
    """One price, in the book's currency."""

    name: str
    amount: Decimal
    per: str
    """A unit of :data:`UNITS`, with ``-hour`` or ``-month`` for a rent."""
    device: str | None = None
    """Device kind (hdd, ssd, nvme, remote) if the unit is device, device-set or GB."""
    layouts: tuple[str, ...] = ()
    """Layouts with this price; empty: all."""
    workers: int | None = None
    """Number of workers of the cluster to which a price per cluster or device set applies; None: not stated."""
    source: str | None = None
    low: Decimal | None = None
    """Lowest and highest plausible price; None: the price is exact."""
    high: Decimal | None = None
    device_name: str | None = None
    """Name of the device in the node type (``nvme`` also matches nvme1, nvme2); other devices have the price of their
    kind."""
    node_type: str | None = None
    """With ``per: node``: the node type; an item without a type applies to all other nodes."""
    when: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Factor (network, cluster, …) to the levels with this price; empty: all. :data:`UNKNOWN`: runs without a
    recorded level."""
    covers: tuple[str, ...] | None = None
    """The :data:`PARTS` that the item pays for; None: those of its unit."""
    power_w: Decimal = Decimal(0)
    amortisation: Amortisation | None = None
    maintenance: Decimal | None = None
    """Maintenance per year as a share of the purchase price; None: the book's."""
    valid_from: str | None = None
    valid_to: str | None = None
    """First and last valid day (ISO 8601)."""
    capacity_bytes: int | None = None
    bandwidth_bytes_per_s: float | None = None
    """Bandwidth and capacity of one device, for costs per capacity and per performance."""
    iops: int | None = None
    """Provisioned IOPS of the network volume to which the price applies."""
    original: Money | None = None
    """The price in the currency of the book's text, if different."""

    @property
    def unit(self) -> str:
        """The counted unit, without the rented period."""
        return self.per.removesuffix("-hour").removesuffix("-month")

    @property
    def period_h(self) -> int | None:
        """Hours of the rented period; None for a purchase."""
        return None if self.unit == self.per else PERIODS_H[self.per.rpartition("-")[2]]


@dataclass(frozen=True, slots=True)
class PriceBook:
    """Prices in one currency, with the date on which they were valid."""

    name: str
    currency: str
    date: str
    """ISO 8601 date on which the prices were valid."""
    source: str
    items: tuple[LineItem, ...]
    exchange: Mapping[str, Exchange] = field(default_factory=dict)
    """Currency to the value of one unit in the book's currency."""
    valid_from: str | None = None
    valid_to: str | None = None
    amortisation: Amortisation | None = None
    maintenance: Decimal = Decimal(0)
    energy: Energy | None = None
    extras: Mapping[str, ExtraPrice] = field(default_factory=dict)
    """Prices of :data:`EXTRAS`, which are paid only where a question switches them on."""

    def age_warning(self, today: datetime.date) -> str | None:
        """Return a warning with the date if the prices are more than a year old on ``today``; else None."""
        if today - datetime.date.fromisoformat(self.date) <= PRICE_AGE_MAX:
            return None
        return f"warning: the prices of {self.name} are of {self.date}, more than a year ago: use current prices"

    @property
    def has_purchases(self) -> bool:
        """Whether the book prices a purchase, which costs the same while the hardware is idle."""
        return any(item.period_h is None and (item.amount or item.high) for item in self.items)
