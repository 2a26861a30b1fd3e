"""Read price books: dated prices with their sources, independent of clusters and runs.

In: a file or its text. Out: :class:`~assay.model.PriceBook`. Items may be in any currency for which the book has an
exchange rate; they are converted to the book's currency here. Percentages of the file become shares of 1.
"""

import itertools
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from assay.foundation.errors import SpecificationError
from assay.foundation.units import Money
from assay.model import Amortisation, DeviceKind, Energy, Exchange, LineItem, PriceBook
from assay.model.clusters.price_book import EXTRAS, PARTS, PERIODS_H, UNITS, ExtraPrice
from assay.specs.document import Document, Problems, document_of, read_document
from assay.specs.fields import (
    ByteRate,
    CurrencyCode,
    Date,
    HostName,
    Label,
    Name,
    Number,
    Percentage,
    Power,
    Price,
    Pue,
    Size,
    Text,
    Years,
    choice,
    parse_date,
)
from assay.specs.section import Section, parse

PRICE_UNITS = (*UNITS, *(f"{unit}-{period}" for unit in UNITS for period in PERIODS_H))
DEVICE_KINDS = (*DeviceKind, "remote")
"""Kinds of devices that have prices. ``remote`` is a network volume of a cloud provider."""
_HINT = (
    "a price book is a YAML file with the keys prices, currency, date, source and items, such as "
    "examples/lab/prices.yaml; `assay prices instances` converts a price list of instance types (CSV) to one, and "
    "`assay prices aloja` ALOJA's list of clusters"
)
_BY_DEVICE = ("device", "device-set")


class ValiditySection(Section):
    """The days on which a book's prices hold."""

    since: Date | None = None
    """First day."""
    until: Date | None = None
    """Last day."""


class AmortisationSection(Section):
    """Amortisation of purchases."""

    years: Years
    """Number of years of linear amortisation."""
    residual: Percentage = Decimal(0)
    """Residual value after these years, as a share of the price."""


class EnergySection(Section):
    """The price of electricity."""

    price: Price
    """Price of one kWh."""
    low: Price | None = None
    """Lowest plausible price of one kWh."""
    high: Price | None = None
    """Highest plausible price of one kWh."""
    pue: Pue = Decimal(1)
    """Power usage effectiveness: watts of the site per watt of hardware."""


class ExchangeSection(Section):
    """Exchange rate of another currency."""

    rate: Number
    """Value of one unit of this currency in the book's currency."""
    date: Date
    """Day of the rate."""
    source: Text
    """Source of the rate."""


class LineItemSection(Section):
    """One price."""

    name: Text
    """Name of the item."""
    price: Price
    """Price per unit, in the book's currency or in a currency with an exchange rate."""
    low: Price | None = None
    """Lowest plausible price."""
    high: Price | None = None
    """Highest plausible price."""
    per: Annotated[str, choice("unit", PRICE_UNITS)]
    """Counted unit, with -hour or -month for a rent."""
    device: Annotated[str, choice("device kind", DEVICE_KINDS)] | None = None
    """With device, device-set or GB: the kind of device. Only devices of the layout count."""
    device_name: HostName | None = None
    """Only devices of this name; when absent, all devices of the kind that no other item names."""
    node_type: HostName | None = None
    """With node: only nodes of this type; when absent, all types that no other item names."""
    layouts: list[Label] = Field(default_factory=list)
    """Layouts with this price; all when absent."""
    workers: Annotated[int, Field(ge=1, le=10**6)] | None = None
    """With cluster or device-set: the number of workers of the cluster to which this price applies."""
    when: dict[Text, list[Text]] = Field(default_factory=dict)
    """Factors, for example network or cluster, with the levels that have this price."""
    covers: list[Annotated[str, choice("part", PARTS)]] | None = None
    """Parts of the cluster that this item pays for, if the unit does not determine them."""
    power: Power = Decimal(0)
    """Mean power of one unit."""
    amortisation: AmortisationSection | None = None
    """Amortisation of this purchase; the book's when absent."""
    maintenance: Percentage | None = None
    """Maintenance per year, as a share of the price; the book's when absent."""
    valid: ValiditySection | None = None
    """Days on which this price holds."""
    capacity: Size | None = None
    """Capacity of one device."""
    bandwidth: ByteRate | None = None
    """Sequential bandwidth of one device."""
    iops: Annotated[int, Field(ge=1, le=10**9)] | None = None
    """Provisioned IOPS of the network volume to which this price applies."""
    source: Text | None = None
    """Source of this price; the book's when absent."""

    @model_validator(mode="after")
    def _check_unit_keys(self) -> Self:
        unit = self.per.removesuffix("-hour").removesuffix("-month")
        if (unit in _BY_DEVICE) != (self.device is not None) and not (unit == "GB" and self.device):
            raise ValueError(f"'per: device' and the key device go together; valid devices: {', '.join(DEVICE_KINDS)}")
        if self.device_name is not None and unit not in _BY_DEVICE:
            raise ValueError("the key device_name goes together with 'per: device' or 'per: device-set'")
        if self.node_type is not None and unit != "node":
            raise ValueError("the key node_type goes together with 'per: node' or 'per: node-hour'")
        if self.workers is not None and unit not in ("cluster", "device-set"):
            raise ValueError("the key workers goes together with 'per: cluster' or 'per: device-set'")
        if unit != self.per and (self.amortisation or self.maintenance is not None):
            raise ValueError(f"'per: {self.per}' is a rent, and only purchases have amortisation and maintenance")
        return self


class ExtraPriceSection(Section):
    """The price of storage that outlives the job, or of data that leaves the provider."""

    price: Price
    """Price per GB and month of storage, or per GB of egress."""
    source: Text | None = None
    """Source of this price; the book's when absent."""


class PriceFile(Section):
    """A price book."""

    prices: Name
    """The price book's name."""
    currency: CurrencyCode
    """Currency of the book and of all results."""
    date: Date
    """Day on which the prices held."""
    source: Text
    """Source of the prices."""
    valid: ValiditySection | None = None
    """Days on which the prices hold."""
    exchange: dict[CurrencyCode, ExchangeSection] = Field(default_factory=dict)
    """Exchange rates of other currencies."""
    amortisation: AmortisationSection | None = None
    """Amortisation of purchases."""
    maintenance: Percentage = Decimal(0)
    """Maintenance per year, as a share of the purchase price."""
    energy: EnergySection | None = None
    """The price of electricity, for items with a power."""
    extras: dict[Annotated[str, choice("extra cost", EXTRAS)], ExtraPriceSection] = Field(default_factory=dict)
    """Prices of storage and egress, which are paid only where a question switches them on."""
    items: list[LineItemSection] = Field(min_length=1)
    """Priced items."""


def _amortisation(section: AmortisationSection | None) -> Amortisation | None:
    return None if section is None else Amortisation(section.years, section.residual)


@dataclass(frozen=True, slots=True)
class _Reader:
    """A converter of one file's sections to the model. Contradictions are added to ``problems``."""

    file: PriceFile
    problems: Problems

    def amount(self, at: tuple[str | int, ...], money: Money) -> Decimal:
        """Return ``money`` in the book's currency."""
        if money.currency == self.file.currency:
            return money.amount
        if money.currency not in self.file.exchange:
            self.problems.add(
                at,
                f"{money} is in {money.currency}, but the book's currency is {self.file.currency}"
                f" and it has no exchange rate for {money.currency}",
            )
            return money.amount
        return money.amount * self.file.exchange[money.currency].rate

    def amounts(
        self, at: tuple[str | int, ...], section: LineItemSection | EnergySection
    ) -> tuple[Decimal, Decimal | None, Decimal | None]:
        """Return the price with its range; a range that does not enclose the price is a problem."""
        price = self.amount((*at, "price"), section.price)
        low, high = (
            None if end is None else self.amount((*at, key), end)
            for key, end in (("low", section.low), ("high", section.high))
        )
        if (price if low is None else low) > price or price > (price if high is None else high):
            self.problems.add((*at, "price"), f"{section.price} is not between its low and its high price")
        return price, low, high

    def validity(self, at: tuple[str | int, ...], section: ValiditySection | None) -> tuple[str | None, str | None]:
        """Return the first and last day. A first day after the last is a problem."""
        since, until = (section.since, section.until) if section else (None, None)
        if since and until and since > until:
            self.problems.add((*at, "valid"), f"its first day {since} is after its last day {until}")
        return since, until

    def item(self, index: int, section: LineItemSection) -> LineItem:
        """Return one line item."""
        at = ("items", index)
        price, low, high = self.amounts(at, section)
        since, until = self.validity(at, section.valid)
        if section.power and self.file.energy is None:
            self.problems.add((*at, "power"), f"{section.name!r} draws power, but the book has no price of energy")
        return LineItem(
            name=section.name,
            amount=price,
            per=section.per,
            device=section.device,
            layouts=tuple(section.layouts),
            workers=section.workers,
            source=section.source,
            low=low,
            high=high,
            device_name=section.device_name,
            node_type=section.node_type,
            when={name: tuple(levels) for name, levels in section.when.items()},
            covers=None if section.covers is None else tuple(section.covers),
            power_w=section.power,
            amortisation=_amortisation(section.amortisation),
            maintenance=section.maintenance,
            valid_from=since,
            valid_to=until,
            capacity_bytes=section.capacity,
            bandwidth_bytes_per_s=section.bandwidth,
            iops=section.iops,
            original=section.price if section.price.currency != self.file.currency else None,
        )

    def reject_duplicates(self, items: list[LineItem]) -> None:
        """Report equal items whose days overlap, because a configuration would pay both."""
        for (_, first_item), (index, other) in itertools.combinations(enumerate(items), 2):
            is_same_item = all(
                getattr(first_item, name) == getattr(other, name)
                for name in ("name", "per", "device", "device_name", "node_type", "layouts", "when")
            )
            have_separate_days = _ends_before(first_item, other) or _ends_before(other, first_item)
            if is_same_item and not have_separate_days:
                self.problems.add(("items", index), f"{other.name!r} already exists for the same days")


def _ends_before(first: LineItem, other: LineItem) -> bool:
    return first.valid_to is not None and other.valid_from is not None and first.valid_to < other.valid_from


def load_prices(path: str | Path) -> PriceBook:
    """Return the price book at ``path``. Raises :class:`SpecificationError` with file and line."""
    return _book_of(read_document(path, "price book", _HINT))


def prices_of(text: str, name: str) -> PriceBook:
    """Return the price book in ``text``, called ``name`` in messages; raises as :func:`load_prices`."""
    return _book_of(document_of(text.encode("utf-8", "surrogatepass"), name))


def _book_of(document: Document) -> PriceBook:
    file = parse(PriceFile, document)
    problems = Problems(document)
    reader = _Reader(file, problems)
    items = [reader.item(index, section) for index, section in enumerate(file.items)]
    reader.reject_duplicates(items)
    since, until = reader.validity((), file.valid)
    energy = None
    if file.energy is not None:
        price_per_kwh, low, high = reader.amounts(("energy",), file.energy)
        energy = Energy(price_per_kwh, file.energy.pue, low, high)
    if file.currency in file.exchange:
        problems.add(("exchange", file.currency), f"{file.currency} is the book's own currency")
    extras = {
        name: ExtraPrice(reader.amount(("extras", name, "price"), extra.price), extra.source)
        for name, extra in file.extras.items()
    }
    problems.raise_if_any()
    return PriceBook(
        name=file.prices,
        currency=file.currency,
        date=file.date,
        source=file.source,
        items=tuple(items),
        exchange={
            code: Exchange(exchange.rate, exchange.date, exchange.source) for code, exchange in file.exchange.items()
        },
        valid_from=since,
        valid_to=until,
        amortisation=_amortisation(file.amortisation),
        maintenance=file.maintenance,
        energy=energy,
        extras=extras,
    )


def date_of_option(text: str, option: str) -> str:
    """Return the date in ``text``, the value of ``option``. Raises :class:`SpecificationError` if it is not a date."""
    try:
        return parse_date(text)
    except ValueError as error:
        raise SpecificationError(str(error), where=option) from None
