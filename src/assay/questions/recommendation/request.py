"""Describe a request for a recommendation: one type for the command line, the page and the API.

In: texts as users write them. Out: :class:`RecommendRequest`, and the :class:`Constraints` that it states.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from assay.foundation.errors import SpecificationError
from assay.foundation.units import parse_bytes, parse_duration, parse_money
from assay.model import YEAR_H, PriceBook

CONFIDENCE = 0.9
CONFIDENCE_MIN, CONFIDENCE_MAX = 0.5, 0.999
SIMULATIONS = 300
"""Maximum, and default, number of clusters to simulate."""
SEED = 1
"""Default random seed of the draws."""
WORKLOADS = ("terasort:1TB:daily",)
"""Default mix of workloads."""
YEARS = 3.0
"""Default number of years of use."""
_YEARS_MAX = 100.0
"""Maximum number of years of use."""
PER_HOUR = re.compile(r"(.{1,30}?)\s*/\s*h(?:our)?", re.IGNORECASE)
"""A budget per hour, such as ``$20/h``."""
_BUDGET_HINT = "name an amount such as 100k, $100,000, 100000USD, or $20/h for each hour of the years"
_AMOUNT_LENGTH_MAX = 40
"""Maximum length of an amount, in characters."""


class Objective(StrEnum):
    """Quantity to minimize."""

    PRICE = "price"
    """Price of the cluster over the years."""
    DAY_COST = "job"
    """Cost of a day's work: the hours that it takes, at the price per hour."""
    TIME = "time"
    """Run time of a day's work."""


@dataclass(frozen=True, slots=True)
class Constraints:
    """Constraints on the cluster. None: no constraint."""

    budget: float | None = None
    """Maximum price over ``years``, in the currency of the price book."""
    budget_per_h: float | None = None
    """The same per hour, if the request states it per hour; else None."""
    deadline_s: float | None = None
    """Maximum duration of every run."""
    capacity_bytes: float = 0.0
    """Data that HDFS stores, before replication."""
    years: float = YEARS


@dataclass(frozen=True, slots=True)
class RecommendRequest:
    """Workloads, constraints, and how to search. An empty text sets no constraint."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    workloads: tuple[str, ...] = WORKLOADS
    """One text per workload: ``NAME:SIZE[:HOW OFTEN[:OPTIONS]]``."""
    catalogue: str = ""
    """Name of a stored catalogue, for requests that carry no ``catalogue_text``."""
    budget: str = ""
    """Money over ``years``; without a currency, in that of the price book."""
    deadline: str = ""
    capacity: str = ""
    years: float = YEARS
    minimize: Objective | None = None
    """None: see :meth:`objective`."""
    confidence: float = CONFIDENCE
    """Minimum share of draws in which the recommended cluster keeps every constraint."""
    simulations: int = SIMULATIONS
    """Maximum number of clusters to simulate."""
    seed: int = SEED
    learn: bool = False
    """Whether the profile is learned from the measured runs of the repository, instead of the shipped profile."""
    where: tuple[str, ...] = ()
    """With ``learn``: only runs with each ``COLUMN=LEVEL``."""
    extra_costs: str = ""
    """Costs in addition to the hours of the work, per day: ``storage=2TB,egress=50GB,idle=3h``; and the
    price of surplus CPU credits: ``surplus-credits=$0.05``. Empty: all are off."""
    catalogue_text: str = ""
    """A catalogue as YAML; ``prices_text`` has its prices."""
    prices_text: str = ""
    """A price book (YAML), or with ``prices_region`` a price list of instance types (CSV). Empty: the stored
    prices."""
    prices_region: str = ""
    prices_date: str = ""
    """Date of the price list; empty: the date that it states."""
    prices_spot: bool = False
    """Whether the list's spot prices are used."""

    @property
    def has_texts(self) -> bool:
        """Whether it has a catalogue or prices as text, which are too long for an address."""
        return bool(self.catalogue_text.strip() or self.prices_text.strip())

    def constraints(self, book: PriceBook) -> Constraints:
        """Return the constraints; amounts of money in the currency of ``book``. Raises SpecificationError."""
        if not 0 < self.years <= _YEARS_MAX:
            raise SpecificationError(f"a cluster can't be used for {self.years:g} years", where="years", hint="try 3")
        if not CONFIDENCE_MIN <= self.confidence <= CONFIDENCE_MAX:
            raise SpecificationError(
                f"confidence must be from {CONFIDENCE_MIN:g} to {CONFIDENCE_MAX:g}", where="confidence"
            )
        if self.seed < 0:
            raise SpecificationError("a seed must be 0 or more", where="seed")
        for text in (self.budget, self.deadline, self.capacity):
            if len(text) > _AMOUNT_LENGTH_MAX:
                raise SpecificationError(f"{text[:12]!r}… is too long for an amount", where="constraints")
        try:
            deadline_s = parse_duration(self.deadline) if self.deadline else None
        except ValueError as error:
            raise SpecificationError(str(error), where="deadline", hint="such as 2h") from error
        try:
            capacity_bytes = float(parse_bytes(self.capacity)) if self.capacity else 0.0
        except ValueError as error:
            raise SpecificationError(str(error), where="capacity", hint="such as 200TB") from error
        if deadline_s is not None and not deadline_s > 0:
            raise SpecificationError("a deadline must be more than 0", where="deadline")
        budget, per_h = _budget(self.budget, book), PER_HOUR.fullmatch(self.budget.strip()) is not None
        return Constraints(
            budget=budget * YEAR_H * self.years if budget is not None and per_h else budget,
            budget_per_h=budget if per_h else None,
            deadline_s=deadline_s,
            capacity_bytes=capacity_bytes,
            years=self.years,
        )

    def objective(self, constraints: Constraints, book: PriceBook) -> Objective:
        """Return the objective. Default: the price with a deadline, and where ``book`` prices a purchase, because
        purchased hardware costs the same while it is idle; else the cost of a day's work.
        """
        by_price = constraints.deadline_s is not None or book.has_purchases
        return self.minimize or (Objective.PRICE if by_price else Objective.DAY_COST)


def _budget(text: str, book: PriceBook) -> float | None:
    """Return the amount of a budget, over the years or per hour, in the currency of ``book``; None for no budget."""
    if not text:
        return None
    match = PER_HOUR.fullmatch(text.strip())
    try:
        money = parse_money(match[1] if match else text, book.currency)
    except ValueError as error:
        raise SpecificationError(str(error), where="budget", hint=_BUDGET_HINT) from error
    if money.amount <= 0:
        raise SpecificationError("a budget must be more than 0", where="budget", hint=_BUDGET_HINT)
    if money.currency == book.currency:
        return float(money.amount)
    if money.currency not in book.exchange:
        raise SpecificationError(
            f"the budget is in {money.currency}, the price book {book.name} is in {book.currency} and has no exchange "
            "rate",
            where="budget",
            hint=f"give it in {book.currency}, or add the rate to the book",
        )
    return float(money.amount) * float(book.exchange[money.currency].rate)
