"""Offer prices of the example price book for parts that a price book lacks.

In: the missing parts, and a currency. Out: prices of similar parts, in words.
"""

from collections.abc import Iterable

from assay.analysis.cost.changed import NETWORK_PART, MissingPrice
from assay.foundation.installation import installation
from assay.questions.forecasts.measured import from_here
from assay.specs.prices import load_prices
from assay.text import joined, money

_UNITS = {"worker": ("node", "device"), NETWORK_PART: ("port",)}
"""The units of items of the example price book, by the name of the part that they stand for."""


def example_prices_sentence(parts: Iterable[MissingPrice], currency: str) -> str:
    """Return the example prices of ``parts`` and their file; empty without one in this currency."""
    folder = installation().examples
    units = {unit for part in parts for unit in _UNITS.get(part.name, ())}
    if folder is None or not units:
        return ""
    path = folder / "hardware" / "prices.yaml"
    book = load_prices(path)
    items = [item for item in book.items if item.unit in units]
    if book.currency != currency or not items:
        return ""
    prices = joined([f"{item.name} {money(item.amount, currency)}" for item in items])
    return f"Example prices, made up: {prices} ({from_here(path)})."
