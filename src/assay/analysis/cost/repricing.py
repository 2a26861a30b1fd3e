"""Change prices of a price book for what-if questions, without changing files.

In: a book, and new amounts by the name of the price (:func:`price_names`). Out: another book. A changed price is exact:
it has no range.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from assay.foundation.errors import SpecificationError
from assay.model import LineItem, PriceBook
from assay.text import column_title, level_text

ENERGY = "energy (kWh)"
"""Name of the electricity price among the items."""
_LEVELS_MAX = 3
"""Maximum number of levels in the name of a price."""


def _distinguished_name(item: LineItem, items: Sequence[LineItem]) -> str:
    """Return an item's name with the properties that distinguish it from the other ``items`` of that name."""
    properties = []
    if len({other.per for other in items}) > 1:
        properties.append(f"per {item.per}")
    if len({other.layouts for other in items}) > 1:
        properties.append(_levels_text("storage layout", item.layouts))
    for factor, levels in item.when.items():
        if len({other.when.get(factor) for other in items}) > 1:
            properties.append(_levels_text(column_title(factor), [level_text(factor, level) for level in levels]))
    properties_text = "; ".join(filter(None, properties))
    return f"{item.name} ({properties_text})" if properties_text else item.name


def _levels_text(factor: str, levels: Sequence[str]) -> str:
    text = ", ".join(levels[:_LEVELS_MAX]) + (", …" if len(levels) > _LEVELS_MAX else "")
    return f"{factor[0].lower()}{factor[1:]} {text}" if text else ""


def price_names(book: PriceBook) -> tuple[str, ...]:
    """Return unique names of the items' prices: the item's name, with distinguishing properties if several share it."""
    same_name: dict[str, list[LineItem]] = {}
    for item in book.items:
        same_name.setdefault(item.name, []).append(item)
    distinguished_names = [_distinguished_name(item, same_name[item.name]) for item in book.items]
    name_counts: Counter[str] = Counter()
    names = []
    for name in distinguished_names:
        name_counts[name] += 1
        names.append(name if name_counts[name] == 1 else f"{name} #{name_counts[name]}")
    return tuple(names)


def amounts_of(book: PriceBook) -> dict[str, Decimal]:
    """Return all prices of a book by name."""
    amounts = {name: item.amount for name, item in zip(price_names(book), book.items, strict=True)}
    return amounts | ({ENERGY: book.energy.price_per_kwh} if book.energy else {})


def repriced(book: PriceBook, changes: Mapping[str, Decimal]) -> PriceBook:
    """Return the book with these prices. Raises SpecificationError for unknown names and negative prices."""
    amounts = amounts_of(book)
    for name, amount in changes.items():
        if name not in amounts:
            names_text = ", ".join(list(amounts)[:8]) + (", …" if len(amounts) > 8 else "")
            raise SpecificationError(f"price book {book.name!r} has no price {name!r}", hint=f"it has {names_text}")
        if not amount.is_finite() or amount < 0:
            raise SpecificationError(f"a price can't be {amount}", where=name, hint="give 0 or more")
    if not changes:
        return book
    items = tuple(
        replace(item, amount=changes[name], low=None, high=None) if name in changes else item
        for name, item in zip(price_names(book), book.items, strict=True)
    )
    energy = book.energy
    if energy is not None and ENERGY in changes:
        energy = replace(energy, price_per_kwh=changes[ENERGY], low=None, high=None)
    return replace(book, items=items, energy=energy)
