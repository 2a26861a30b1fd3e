"""Compute the hourly cost of a configuration from its bill of materials.

In: a price book and the priced parts. Out: a :class:`Rate`: the cost per hour of each item, in the book's currency. A
purchase costs price × ((1 - residual) / years + maintenance) / 8760 per hour. A rent costs its price over the period's
hours (a month has 730). Power costs W / 1000 × kWh price × PUE, day and night. Every line is linear in one price, so
ranges and switching prices need only its factor: ``per_h = price × factor``.
"""

from dataclasses import dataclass, replace
from decimal import Decimal

from assay.analysis.cost.parts import Counts
from assay.analysis.cost.prices import CountedItem, bill_of_materials
from assay.analysis.cost.repricing import ENERGY, price_names
from assay.foundation.errors import SpecificationError
from assay.model import YEAR_H, PriceBook
from assay.model.clusters.price_book import Amortisation


@dataclass(frozen=True, slots=True)
class Price:
    """A price with its name, description, and plausible range (equal ends: exact)."""

    name: str
    amount: Decimal
    low: Decimal
    high: Decimal
    per: str
    source: str


@dataclass(frozen=True, slots=True)
class RatedItem:
    """Hourly cost of one price: ``count`` items, ``per_h = price × factor``."""

    price: Price
    count: Decimal
    factor: Decimal
    how: str
    """Origin of the factor: ``rent``, ``purchase over 3 years``, ``power``."""

    @property
    def per_h(self) -> Decimal:
        """Cost per hour."""
        return self.price.amount * self.factor


@dataclass(frozen=True, slots=True)
class Rate:
    """Hourly cost of one configuration."""

    currency: str
    items: tuple[RatedItem, ...]

    @property
    def per_h(self) -> Decimal:
        """Cost per hour: the sum of the items."""
        return sum((item.per_h for item in self.items), Decimal(0))


def added_per_h(book: PriceBook, price: Decimal, count: int) -> Decimal:
    """Return the hourly cost of parts that the book lacks.

    ``price`` is a purchase if the book has an amortisation period, else a rent per hour.
    """
    if book.amortisation is None:
        return price * count
    return price * count * _amortised_share(book.amortisation, book.maintenance)


def _amortised_share(amortisation: Amortisation, maintenance: Decimal) -> Decimal:
    """Return the share of a purchase that one hour costs."""
    return ((1 - amortisation.residual) / amortisation.years + maintenance) / YEAR_H


def _purchase_factor(book: PriceBook, counted_item: CountedItem) -> tuple[Decimal, str]:
    item = counted_item.item
    share = book.maintenance if item.maintenance is None else item.maintenance
    if not item.amount and item.high is None:
        return Decimal(0), "free"
    amortisation = item.amortisation or book.amortisation
    if amortisation is None:
        raise SpecificationError(
            f"{item.name!r} in price book {book.name!r} is a purchase without an amortisation period",
            hint="add amortisation: {years: 3} to the book or the item, or price it per hour",
        )
    factor = _amortised_share(amortisation, share)
    maintenance = f" and {share * 100:f} % a year" if share else ""
    return factor, f"purchase over {amortisation.years:f} years{maintenance}"


def hourly_rate(book: PriceBook, counts: Counts, layout: str, *, on: str | None = None) -> Rate:
    """Return the hourly cost of a cluster in ``layout`` on the day ``on`` (default: the book's date).

    Raises SpecificationError if a part has no price, a count is unknown, or a purchase has no amortisation period.
    """
    lines = []
    power_kw = Decimal(0)
    names = {id(item): name for item, name in zip(book.items, price_names(book), strict=True)}
    for bill_line in bill_of_materials(book, counts, layout, on):
        item, count = bill_line.item, bill_line.count
        if item.period_h is None:
            factor, how = _purchase_factor(book, bill_line)
        else:
            factor, how = 1 / Decimal(item.period_h), "rent"
        low = item.amount if item.low is None else item.low
        high = item.amount if item.high is None else item.high
        price = Price(names[id(item)], item.amount, low, high, item.per, item.source or book.source)
        lines.append(RatedItem(price, count, count * factor, how))
        power_kw += count * item.power_w / 1000
    if power_kw and book.energy is not None:
        energy = book.energy
        low = energy.price_per_kwh if energy.low is None else energy.low
        high = energy.price_per_kwh if energy.high is None else energy.high
        price = Price(ENERGY, energy.price_per_kwh, low, high, "kWh", book.source)
        lines.append(RatedItem(price, power_kw, power_kw * energy.pue, f"power, PUE {energy.pue:f}"))
    return Rate(book.currency, tuple(lines))


def in_currency(amount: Decimal, book: PriceBook, currency: str) -> Decimal:
    """Convert an amount of the book's currency. Raises SpecificationError if the book has no exchange rate."""
    if currency == book.currency:
        return amount
    if currency not in book.exchange:
        currencies = ", ".join([book.currency, *book.exchange])
        raise SpecificationError(
            f"price book {book.name!r} has no exchange rate for {currency}; it has {currencies}",
            hint=f"add exchange: {{{currency}: {{rate: …, date: …, source: …}}}} to the book",
        )
    return amount / book.exchange[currency].rate


def rate_in_currency(rate: Rate, book: PriceBook, currency: str) -> Rate:
    """Convert ``rate`` to another currency of the book."""
    items = tuple(
        replace(
            item,
            price=replace(
                item.price,
                amount=in_currency(item.price.amount, book, currency),
                low=in_currency(item.price.low, book, currency),
                high=in_currency(item.price.high, book, currency),
            ),
        )
        for item in rate.items
    )
    return Rate(currency, items)
