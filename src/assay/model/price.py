"""Price books: dated, sourced line items, apart from runs."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class LineItem:
    """One price. ``per`` says what is counted: the cluster, each node, each worker, each device of ``device`` kind."""

    name: str
    amount: Decimal
    per: str
    """``cluster``, ``node``, ``master``, ``worker`` or ``device``."""
    device: str | None = None
    """Device kind (hdd, ssd, nvme) when ``per`` is ``device``: counted once for each such device in the layout."""
    layouts: tuple[str, ...] = ()
    """Only for these layouts; empty: for all."""
    source: str | None = None


@dataclass(frozen=True, slots=True)
class PriceBook:
    """Purchase prices in one currency, valid on a date."""

    name: str
    currency: str
    date: str
    """ISO 8601 date on which the prices held."""
    source: str
    items: tuple[LineItem, ...]
