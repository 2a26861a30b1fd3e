"""Read the prices of a price book by name, and change some of them for a what-if question.

In: a price book, and changed prices by name, in its currency. Out: its prices, or another book.
"""

from collections.abc import Mapping
from decimal import Decimal

from assay.analysis.cost.repricing import amounts_of, price_names, repriced
from assay.model import LineItem, PriceBook


def prices_in(book: PriceBook) -> dict[str, float]:
    """Return all prices of a book by name, electricity included."""
    return {name: float(amount) for name, amount in amounts_of(book).items()}


def items_by_name(book: PriceBook) -> dict[str, LineItem]:
    """Return the items of a book by the names of their prices. Electricity is a price without an item."""
    return dict(zip(price_names(book), book.items, strict=True))


def changed_book(book: PriceBook, changes: Mapping[str, float]) -> PriceBook:
    """Return the book with these prices. Raises SpecificationError for unknown names and negative prices."""
    return repriced(book, {name: Decimal(str(amount)) for name, amount in changes.items()})
