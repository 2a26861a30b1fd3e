"""Offer prices of the example price book for parts that a price book lacks.

In: the missing parts, and a currency. Out: prices of similar parts, in words.
"""

from collections.abc import Iterable
from decimal import Decimal

from assay.analysis.cost.missing_prices import NETWORK_PART, WORKER_PART, MissingPrice
from assay.analysis.cost.rate import added_per_h
from assay.foundation.installation import installation
from assay.model import PriceBook
from assay.questions.commands import from_here
from assay.specs.prices import load_prices
from assay.text import joined, money

_PORT = "port"
_UNITS = {WORKER_PART: ("node", "device"), NETWORK_PART: (_PORT,)}
"""The units of items of the example price book, by the name of the part that they stand for."""


def example_prices_sentence(parts: Iterable[MissingPrice], book: PriceBook) -> str:
    """Return the example prices of ``parts`` and their file, for the same period as stated prices of ``book``.

    Empty without an example in the book's currency. The price of a network is its difference to the cheapest one.
    """
    folder = installation().examples
    units = {unit for part in parts for unit in _UNITS.get(part.name, ())}
    if folder is None or not units:
        return ""
    path = folder / "hardware" / "prices.yaml"
    examples = load_prices(path)
    items = [item for item in examples.items if item.unit in units]
    if examples.currency != book.currency or not items:
        return ""
    is_rent = book.amortisation is None

    def text_of(amount: Decimal) -> str:
        return money(float(added_per_h(examples, amount, 1)) if is_rent else amount, book.currency)

    networks = sorted((item for item in items if item.unit == _PORT), key=lambda item: item.amount)
    texts = [f"{item.name} {text_of(item.amount)}" for item in items if item.unit != _PORT]
    texts += [
        f"{network.name} {text_of(network.amount - networks[0].amount)} more than {networks[0].name}"
        for network in networks[1:]
    ]
    years = "" if examples.amortisation is None else f", written off over {examples.amortisation.years:g} years"
    period = f" per hour{years}" if is_rent else " of a purchase"
    return f"Example prices{period}, made up: {joined(texts)} ({from_here(path)})."
