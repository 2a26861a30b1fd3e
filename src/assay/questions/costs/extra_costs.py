"""Price what a rented cluster costs in addition to the hours of its jobs: kept storage, egress, idle time, and surplus
CPU credits.

In: a text such as ``storage=2TB,egress=50GB,idle=3h``, and a price book with ``extras``. Out: :class:`ExtraCosts`.
Amounts are per day: the data kept between jobs, the data that leaves the provider, and the time for which the cluster
is rented without a job. Each of them is off unless the text names it. A day has 1/30.4 of a month (a month: 730 hours).
Idle time costs the cluster's own price per hour, and ends with the day. ``surplus-credits=$0.05`` states the price of a
vCPU-hour of surplus CPU credits, and runs machines with CPU credits in unlimited mode. Money is in the currency of the
book.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics import Floats
from assay.foundation.errors import SpecificationError
from assay.foundation.units import format_bytes, format_duration, parse_bytes, parse_duration, parse_money
from assay.model import PriceBook
from assay.model.clusters.price_book import EGRESS, KEPT_STORAGE, PERIODS_H
from assay.questions.costs.mix import DAY_S
from assay.specs.fields import unknown
from assay.text import money

IDLE = "idle"
SURPLUS = "surplus-credits"
ONCE_A_DAY = "the job runs once a day, which pays the extra costs of the day"
"""Assumption of a question about one run."""
SUM = "Sum"
"""Name of the row with the sum of the lines."""
_TITLES = {KEPT_STORAGE: "storage that outlives the job", EGRESS: "egress", IDLE: "idle time between jobs"}
_SURPLUS_TITLE = "surplus CPU credits"
_NAMES = (*_TITLES, SURPLUS)
_GB = 10**9
_MONTHS_PER_DAY = 24 / PERIODS_H["month"]
_LENGTH_MAX = 120
"""Maximum length of the text, in characters."""
_SYNTAX = (
    "such as storage=2TB,egress=50GB,idle=3h: data kept, data sent and idle time per day; surplus-credits=$0.05: the "
    "price of a vCPU-hour of burstable machines in unlimited mode"
)


@dataclass(frozen=True, slots=True)
class CostLine:
    """One line of the cost of a day's work."""

    name: str
    per_day: float


@dataclass(frozen=True, slots=True)
class ExtraCosts:
    """The extra costs of a day. 0: switched off."""

    stored_bytes: float = 0.0
    sent_bytes: float = 0.0
    idle_s: float = 0.0
    storage_per_day: float = 0.0
    egress_per_day: float = 0.0
    surplus_price: float = 0.0
    """Price of a vCPU-hour of surplus CPU credits."""
    currency: str = ""
    rented: bool = True
    """Whether all hardware is rented, so that these costs may be missing."""

    @classmethod
    def of(cls, text: str, book: PriceBook) -> "ExtraCosts":
        """Return the extra costs of a text at the prices of ``book``.

        Raises SpecificationError for an invalid text, and for a cost without a price.
        """
        amounts = _amounts(text, book)
        prices = {}
        for name in (KEPT_STORAGE, EGRESS):
            extra_price = book.extras.get(name)
            if amounts.get(name) and extra_price is None:
                raise SpecificationError(
                    f"price book {book.name!r} has no price of {_TITLES[name]}",
                    where="extra costs",
                    hint=f"add extras: {{{name}: {{price: …}}}} to the book, "
                    + ("per GB and month" if name == KEPT_STORAGE else "per GB"),
                )
            prices[name] = 0.0 if extra_price is None else float(extra_price.amount)
        stored_bytes, sent_bytes = amounts.get(KEPT_STORAGE, 0.0), amounts.get(EGRESS, 0.0)
        return cls(
            stored_bytes=stored_bytes,
            sent_bytes=sent_bytes,
            idle_s=amounts.get(IDLE, 0.0),
            storage_per_day=stored_bytes / _GB * prices[KEPT_STORAGE] * _MONTHS_PER_DAY,
            egress_per_day=sent_bytes / _GB * prices[EGRESS],
            surplus_price=amounts.get(SURPLUS, 0.0),
            currency=book.currency,
            rented=not book.has_purchases,
        )

    @property
    def is_on(self) -> bool:
        """Whether any of the costs is switched on."""
        return bool(self.stored_bytes or self.sent_bytes or self.idle_s or self.surplus_price)

    def paid_s(self, day_s: Floats) -> Floats:
        """Return the time for which the cluster is paid, for each time of a day's work."""
        paid_s: Floats = day_s + np.minimum(self.idle_s, np.maximum(0.0, DAY_S - day_s))
        return paid_s

    def day_costs(self, rates_per_h: Floats, day_s: Floats, surplus_vcpu_h: Floats | float = 0.0) -> Floats:
        """Return the cost of a day's work with the extra costs, by price per hour, time of the work, and surplus."""
        fixed_costs = self.storage_per_day + self.egress_per_day + self.surplus_price * surplus_vcpu_h
        costs: Floats = rates_per_h * self.paid_s(day_s) / 3600 + fixed_costs
        return costs

    def lines(self, rate_per_h: float, day_s: float, surplus_vcpu_h: float = 0.0) -> tuple[CostLine, ...]:
        """Return the lines of the cost of a day's work; none if all extra costs are off."""
        if not self.is_on:
            return ()
        idle_s = float(self.paid_s(np.array([day_s]))[0]) - day_s
        lines = [CostLine("the cluster during the work", rate_per_h * day_s / 3600)]
        if self.idle_s:
            lines.append(CostLine(f"{_TITLES[IDLE]} ({format_duration(idle_s)})", rate_per_h * idle_s / 3600))
        if self.stored_bytes:
            lines.append(CostLine(f"{_TITLES[KEPT_STORAGE]} ({format_bytes(self.stored_bytes)})", self.storage_per_day))
        if self.sent_bytes:
            lines.append(CostLine(f"{_TITLES[EGRESS]} ({format_bytes(self.sent_bytes)})", self.egress_per_day))
        if self.surplus_price:
            title = f"{_SURPLUS_TITLE} ({surplus_vcpu_h:,.3g} vCPU-hours)"
            lines.append(CostLine(title, self.surplus_price * surplus_vcpu_h))
        return tuple(lines)

    def assumptions(self) -> tuple[str, ...]:
        """Return which extra costs are on and off, in words; nothing for purchased hardware if all are off."""
        if not self.is_on and not self.rented:
            return ()
        amounts = {KEPT_STORAGE: self.stored_bytes, EGRESS: self.sent_bytes, IDLE: self.idle_s}
        texts = []
        for name, amount in amounts.items():
            amount_text = format_duration(amount) if name == IDLE else format_bytes(amount)
            amount_text += "" if name == KEPT_STORAGE else " a day"
            texts.append(f"{_TITLES[name]} {amount_text if amount else 'off'}")
        if self.surplus_price:
            texts.append(f"{_SURPLUS_TITLE} {money(self.surplus_price, self.currency)} per vCPU-hour")
        extra_text = f"extra costs: {', '.join(texts)}"
        if not self.is_on:
            return (extra_text,)
        return (
            extra_text,
            "extra costs are in the cost of a day's work, not in the price over the years and the budget",
        )


def line_rows(lines: Sequence[CostLine], currency: str) -> list[tuple[str, str]]:
    """Return the lines with their sum as rows of a table."""
    rows = [(line.name, money(line.per_day, currency)) for line in lines]
    return [*rows, (SUM, money(sum(line.per_day for line in lines), currency))] if rows else []


def _amounts(text: str, book: PriceBook) -> dict[str, float]:
    """Return bytes, seconds and the price of surplus credits by name."""
    if len(text) > _LENGTH_MAX:
        raise SpecificationError(f"{text[:20]!r}… is too long", where="extra costs", hint=_SYNTAX)
    amounts: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, amount = (word.strip() for word in part.partition("="))
        if name not in _NAMES:
            raise SpecificationError(unknown("extra cost", name, _NAMES), where="extra costs", hint=_SYNTAX)
        if name in amounts:
            raise SpecificationError(f"{name} is given twice", where="extra costs", hint=_SYNTAX)
        try:
            if name == SURPLUS:
                amounts[name] = _surplus_price(amount, book)
            else:
                amounts[name] = parse_duration(amount) if name == IDLE else float(parse_bytes(amount))
        except ValueError as error:
            raise SpecificationError(str(error), where="extra costs", hint=_SYNTAX) from error
        if name == IDLE and amounts[name] > DAY_S:
            raise SpecificationError("idle time per day is at most 24 h", where="extra costs", hint=_SYNTAX)
    return amounts


def _surplus_price(text: str, book: PriceBook) -> float:
    """Return the price of a vCPU-hour of surplus credits. Raises ValueError."""
    price = parse_money(text, book.currency)
    if price.currency != book.currency or not price.amount > 0:
        raise ValueError(f"{text!r} is not a price in {book.currency}")
    return float(price.amount)
