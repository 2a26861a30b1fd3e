"""Read the state of the page Cost from its address or form, and write that state as a short address.

The address contains only fields with non-default values, and changed prices by name (``price.InfiniBand=1.2``). Links
stay short, and Back restores the previous prices.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlencode

from assay.analysis.comparison.factors.device_classes import DEVICE_CLASS
from assay.interfaces.web.rendering.filters import COLUMNS
from assay.model import PriceBook
from assay.questions.costs.changed_prices import price_amount, prices_in

PRICE_PREFIX = "price."
YEARS_DEFAULT = "3"
_FIELD_NAMES = (
    "view",
    "question",
    "workload",
    "job",
    "cluster",
    DEVICE_CLASS,
    "by",
    "take",
    "years",
    "rounding",
    "unflagged",
)
_DEFAULTS = dict.fromkeys(_FIELD_NAMES, "") | {"view": "run", "take": "all", "years": YEARS_DEFAULT, "rounding": "none"}
_FIELD_CHARACTERS_MAX = 300
"""Maximum length of a field or a price name, in characters."""
_PRICES_MAX = 200
"""Maximum number of changed prices in an address or a form."""


@dataclass(frozen=True, slots=True)
class CostPageState:
    """State of the page Cost."""

    state: dict[str, str] = field(default_factory=lambda: dict(_DEFAULTS))
    """Form fields by name, as text; missing fields have their default values."""
    changes: dict[str, float] = field(default_factory=dict)
    """Changed prices by name, in the price book's currency."""
    book_text: str | None = None
    """Text of a pasted price book; None for the server's price book."""

    def changed_in(self, book: PriceBook) -> dict[str, float]:
        """Return the changed prices that differ from the prices in ``book``."""
        book_prices = prices_in(book)
        return {name: amount for name, amount in self.changes.items() if book_prices.get(name) != amount}

    def address(self, **changed_fields: str) -> str:
        """Return the page's address, with the fields in ``changed_fields`` changed."""
        pairs = [
            (name, text)
            for name, text in {**self.state, **changed_fields}.items()
            if text and _DEFAULTS.get(name) != text
        ]
        pairs += [(f"{PRICE_PREFIX}{name}", _number_text(amount)) for name, amount in self.changes.items()]
        return f"/cost?{urlencode(pairs)}" if pairs else "/cost"

    def without_changes(self) -> str:
        """Return the page's address with the prices of the book."""
        return CostPageState(self.state).address()

    def with_price(self, name: str, amount: float) -> str:
        """Return the page's address with the price ``name`` changed to ``amount``."""
        return CostPageState(self.state, {**self.changes, name: amount}).address()


def _number_text(amount: float) -> str:
    return f"{amount:.6g}" if amount < 1e6 else f"{amount:.2f}"


def page_state_of(pairs: Iterable[tuple[str, str]]) -> CostPageState:
    """Return the state in an address or a form. Raises SpecificationError for a price that is not a number."""
    state, book_text = dict(_DEFAULTS), None
    changes: dict[str, float] = {}
    for name, value in pairs:
        if name in _FIELD_NAMES:
            state[name] = value[:_FIELD_CHARACTERS_MAX]
        elif name == "where" and value.partition("=")[0] in COLUMNS:  # filter bar
            column, _, level = value.partition("=")
            state[column] = level[:_FIELD_CHARACTERS_MAX]
        elif name == "prices":
            book_text = value.replace("\r\n", "\n") if value.strip() else None
        elif name.startswith(PRICE_PREFIX) and value and len(changes) < _PRICES_MAX:
            stated_name = name[len(PRICE_PREFIX) :][:_FIELD_CHARACTERS_MAX]
            changes[stated_name] = price_amount(stated_name, value)
    return CostPageState(state, changes, book_text)
