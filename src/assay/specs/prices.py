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
from assay.model.clusters.price import PARTS, PERIODS_H, UNITS
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

COUNTED_BY = (*UNITS, *(f"{unit}-{period}" for unit in UNITS for period in PERIODS_H))
DEVICE_KINDS = (*DeviceKind, "remote")
"""Kinds of devices that have prices. ``remote`` is a network volume of a cloud provider."""
_BY_DEVICE = ("device", "device-set")


class ValiditySection(Section):
    """The days on which a book's prices hold."""

    since: Date | None = None
    """First day."""
    until: Date | None = None
    """Last day."""


class AmortisationSection(Section):
    """How purchases are written off."""

    years: Years
    """Over how many years, evenly."""
    residual: Percentage = Decimal(0)
    """What a purchase is still worth at the end, as a share of its price."""


class EnergySection(Section):
    """The price of electricity."""

    price: Price
    """Price of one kWh."""
    low: Price | None = None
    """Lowest price of one kWh that is thought possible."""
    high: Price | None = None
    """Highest price of one kWh that is thought possible."""
    pue: Pue = Decimal(1)
    """Power usage effectiveness: what the site draws for each watt that the hardware draws."""


class ExchangeSection(Section):
    """What another currency is worth."""

    rate: Number
    """How much of the book's currency one unit of this currency is worth."""
    date: Date
    """Day of the rate."""
    source: Text
    """Where the rate is from."""


class LineItemSection(Section):
    """One price."""

    name: Text
    """What is paid for."""
    price: Price
    """Price of one, in the book's currency or in one that it has an exchange rate for."""
    low: Price | None = None
    """Lowest price that is thought possible."""
    high: Price | None = None
    """Highest price that is thought possible."""
    per: Annotated[str, choice("way to count", COUNTED_BY)]
    """What it is counted by; rented when -hour or -month stands behind the unit."""
    device: Annotated[str, choice("device kind", DEVICE_KINDS)] | None = None
    """Counted by device, device-set or GB: the kind of device, as far as the layout uses it."""
    device_name: HostName | None = None
    """Only the devices of this name; without it, the price holds for those of the kind that no other item names."""
    node_type: HostName | None = None
    """Counted by node: only nodes of this type; without it, the price holds for types that no other item names."""
    layouts: list[Label] = Field(default_factory=list)
    """Only these layouts cost this; all do when absent."""
    when: dict[Text, list[Text]] = Field(default_factory=dict)
    """Factors, such as network or cluster, with the levels for which this is paid."""
    covers: list[Annotated[str, choice("part", PARTS)]] | None = None
    """Which parts of the cluster this pays for, where its unit does not say so."""
    power: Power = Decimal(0)
    """What one draws, all day long."""
    amortisation: AmortisationSection | None = None
    """How this purchase is written off, when not as the book says."""
    maintenance: Percentage | None = None
    """What this purchase costs a year, as a share of its price, when not what the book says."""
    valid: ValiditySection | None = None
    """Days on which this price holds."""
    capacity: Size | None = None
    """What one device holds."""
    bandwidth: ByteRate | None = None
    """What one device moves, read or written in sequence."""
    source: Text | None = None
    """Where this price is from, when it is not the book's source."""

    @model_validator(mode="after")
    def _check_unit_keys(self) -> Self:
        unit = self.per.removesuffix("-hour").removesuffix("-month")
        if (unit in _BY_DEVICE) != (self.device is not None) and not (unit == "GB" and self.device):
            raise ValueError(f"'per: device' and the key device go together; valid devices: {', '.join(DEVICE_KINDS)}")
        if self.device_name is not None and unit not in _BY_DEVICE:
            raise ValueError("the key device_name goes together with 'per: device' or 'per: device-set'")
        if self.node_type is not None and unit != "node":
            raise ValueError("the key node_type goes together with 'per: node' or 'per: node-hour'")
        if unit != self.per and (self.amortisation or self.maintenance is not None):
            raise ValueError(f"what is paid {self.per} is rented: only purchases have amortisation and maintenance")
        return self


class PriceFile(Section):
    """A price book."""

    prices: Name
    """The price book's name."""
    currency: CurrencyCode
    """Currency in which it is used."""
    date: Date
    """Day on which the prices held."""
    source: Text
    """Where the prices are from."""
    valid: ValiditySection | None = None
    """Days on which the prices hold."""
    exchange: dict[CurrencyCode, ExchangeSection] = Field(default_factory=dict)
    """Other currencies, with what they are worth."""
    amortisation: AmortisationSection | None = None
    """How purchases are written off."""
    maintenance: Percentage = Decimal(0)
    """What purchases cost a year, as a share of their price."""
    energy: EnergySection | None = None
    """The price of electricity, for items with a power."""
    items: list[LineItemSection] = Field(min_length=1)
    """What is paid for."""


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
            self.problems.add((*at, "valid"), f"it holds since {since}, but until {until}")
        return since, until

    def item(self, index: int, section: LineItemSection) -> LineItem:
        """Return one line item."""
        at = ("items", index)
        price, low, high = self.amounts(at, section)
        since, until = self.validity(at, section.valid)
        if section.power and self.file.energy is None:
            self.problems.add((*at, "power"), f"{section.name!r} draws power, but the book has no price of energy")
        return LineItem(
            section.name,
            price,
            section.per,
            section.device,
            tuple(section.layouts),
            section.source,
            low,
            high,
            section.device_name,
            section.node_type,
            {name: tuple(amounts) for name, amounts in section.when.items()},
            None if section.covers is None else tuple(section.covers),
            section.power,
            _amortisation(section.amortisation),
            section.maintenance,
            since,
            until,
            section.capacity,
            section.bandwidth,
            section.price if section.price.currency != self.file.currency else None,
        )

    def reject_duplicates(self, items: list[LineItem]) -> None:
        """Report equal items whose days overlap, because a configuration would pay both."""
        for (_, first_item), (second, other) in itertools.combinations(enumerate(items), 2):
            same = all(
                getattr(first_item, name) == getattr(other, name)
                for name in ("name", "per", "device", "device_name", "node_type", "layouts", "when")
            )
            apart = _ends_before(first_item, other) or _ends_before(other, first_item)
            if same and not apart:
                self.problems.add(("items", second), f"{other.name!r} already exists for the same days")


def _ends_before(first: LineItem, other: LineItem) -> bool:
    return first.valid_to is not None and other.valid_from is not None and first.valid_to < other.valid_from


def load_prices(path: str | Path) -> PriceBook:
    """Return the price book at ``path``. Raises :class:`SpecificationError` with file and line."""
    return _book_of(read_document(path))


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
        kwh, low, high = reader.amounts(("energy",), file.energy)
        energy = Energy(kwh, file.energy.pue, low, high)
    if file.currency in file.exchange:
        problems.add(("exchange", file.currency), f"{file.currency} is the book's own currency")
    problems.raise_if_any()
    return PriceBook(
        file.prices,
        file.currency,
        file.date,
        file.source,
        tuple(items),
        {code: Exchange(exchange.rate, exchange.date, exchange.source) for code, exchange in file.exchange.items()},
        since,
        until,
        _amortisation(file.amortisation),
        file.maintenance,
        energy,
    )


def checked_date(text: str, option: str) -> str:
    """Return the date in ``text``, the value of ``option``. Raises :class:`SpecificationError` if it is not a date."""
    try:
        return parse_date(text)
    except ValueError as error:
        raise SpecificationError(str(error), where=option) from None
