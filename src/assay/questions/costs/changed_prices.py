"""Read the prices of a price book by name, and change some of them for a what-if question.

In: a price book, and changed prices by name, in its currency, as numbers or text. Out: its prices, or another book.
"""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation

from assay.analysis.cost.repricing import amounts_of, price_names, repriced
from assay.foundation.errors import SpecificationError
from assay.foundation.units import parse_money
from assay.model import LineItem, PriceBook

_TEXT_CHARACTERS_MAX = 40
"""Maximum length of the text of an amount."""
_AMOUNT_LIMIT = Decimal("1e15")
"""Amounts of prices are less than this."""


def price_amount(name: str, text: str, currency: str = "", example: str = "") -> float:
    """Return the amount of a stated price: ``1.2``, ``100k``, or with the ``currency`` of the book, ``$350``.

    ``currency``: empty if the price book is not known; an amount must then have no currency.
    ``example``: an amount and its unit, for the hint. Raises SpecificationError, which names the price, for other text,
    negative amounts and amounts from 1e15.
    """
    stated = text.strip()[:_TEXT_CHARACTERS_MAX]
    unsigned = stated.lstrip("-−")  # also the minus sign U+2212
    amount = _amount(unsigned, currency)
    if amount.is_finite() and unsigned == stated and amount < _AMOUNT_LIMIT:
        return float(amount)
    if not stated:
        problem = "the amount is missing"
    elif amount.is_finite() and unsigned != stated:
        problem = f"{stated!r} must not be negative"
    else:
        problem = f"{stated!r} is not a price{f' in {currency}' if currency else ''}"
    unit = currency or "the price book's currency"
    hint = f"write a number from 0 up in {unit}, such as {example or '1.2 or 100k'}"
    raise SpecificationError(problem, where=f"price of {name[:100]}", hint=hint)


def _amount(text: str, currency: str) -> Decimal:
    """Return the amount; NaN for other text, and for another currency, which would need the book's exchange rates."""
    try:
        return Decimal(text)
    except InvalidOperation:
        pass
    try:
        money = parse_money(text, currency)
    except ValueError:
        return Decimal("nan")
    return money.amount if money.currency == currency else Decimal("nan")


def prices_in(book: PriceBook) -> dict[str, float]:
    """Return all prices of a book by name, electricity included."""
    return {name: float(amount) for name, amount in amounts_of(book).items()}


def items_by_name(book: PriceBook) -> dict[str, LineItem]:
    """Return the items of a book by the names of their prices. Electricity is a price without an item."""
    return dict(zip(price_names(book), book.items, strict=True))


def changed_book(book: PriceBook, changes: Mapping[str, float]) -> PriceBook:
    """Return the book with these prices. Raises SpecificationError for unknown names and negative prices."""
    return repriced(book, {name: Decimal(str(amount)) for name, amount in changes.items()})
