"""Which configuration is the cheapest, and how sure that is, as a sentence.

In: the cheapest one's name and numbers, in how many of the draws it stays so, and who else may be. Out: text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from assay.wording.amounts import money, money_interval
from assay.wording.language import joined, plural
from assay.wording.numbers import probability, seconds

RIVALS_NAMED = 3


@dataclass(frozen=True, slots=True)
class CheapestWords:
    """What is said of the cheapest row."""

    name: str
    cost: Decimal
    low: float | None
    high: float | None
    currency: str
    time_s: float
    runs: int
    share: float | None
    """Of the draws in which it is the cheapest."""
    draws: int
    rivals: Sequence[str]

    @property
    def _price(self) -> str:
        interval = money_interval(self.low, self.high, self.currency)
        known = f" (95 % interval {interval})" if self.low is not None else ""
        return f"{money(self.cost, self.currency)} a run{known} in {seconds(self.time_s)} s"

    @property
    def _share(self) -> str:
        return f"{probability(self.share or 0)} of {self.draws:,} draws of run times and prices"

    @property
    def _others(self) -> str:
        named = list(self.rivals[:RIVALS_NAMED])
        more = len(self.rivals) - len(named)
        names = joined([*named, f"{more} more"] if more else named)
        return f"; {names} may be as cheap" if named else ""

    def sure(self) -> str:
        """Return the sentence where hardly anything else can be the cheapest."""
        runs = plural(self.runs, "run")
        return f"{self.name} is the cheapest: {self._price}, from {runs}. It stays so in {self._share}."

    def unsure(self) -> str:
        """Return the sentence where another may be."""
        runs = plural(self.runs, "run")
        return (
            f"{self.name} costs least, {self._price}, from {runs}, but is not sure to be the cheapest: it is in "
            f"{self._share}{self._others}."
        )

    def single(self) -> str:
        """Return the sentence where it rests on one run."""
        return (
            f"{self.name} costs least, {self._price}, but that rests on a single run: repeat it before trusting it. "
            f"With the scatter of its kind it would be the cheapest in {self._share}{self._others}."
        )

    def not_repeated(self) -> str:
        """Return the sentence where no time has a scatter."""
        return f"{self.name} costs least, {self._price}. Nothing tells how sure that is: no such run was repeated."

    def chance(self) -> str:
        """Return the sentence where each row is its one fastest run."""
        return (
            f"{self.name}'s fastest run costs least, {self._price}. Nothing tells how sure that is: chance chose each "
            "row's run."
        )

    def alone(self) -> str:
        """Return the sentence where nothing else is priced."""
        return f"{self.name} is the only one that is priced: {self._price}, from {plural(self.runs, 'run')}."
