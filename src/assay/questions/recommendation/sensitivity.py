"""What would change a recommendation: a price, more data, another codec.

In: a search with its finalists, and which one was chosen. Out: :class:`Change` values. Prices are exact, as every bill
is a straight line in each of them; more data and other codecs are searched again, with fewer simulations and at the
middle of what is uncertain, a limit being kept where the finalists' margin lies within it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from assay.analysis.cost.break_even import flips
from assay.estimation.recommendation.candidates import candidates
from assay.model import COMPRESSION, CONTAINERS, LAYOUT_FACTOR, YEAR_H, HardwareCatalogue, PriceBook
from assay.questions.recommendation.finalists import Finals
from assay.questions.recommendation.search import Least, Progress, Search, begun
from assay.text import money

GROWTHS = (1.5, 2.0, 3.0, 5.0, 10.0)
AGAIN_MAX = 40
"""Clusters that are simulated for one such question."""
_CODEC = "snappy"
_NOTHING = 1e-6
"""A price that so small a share of today's would change is one at which nothing is told apart."""
Hardware = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that would change the answer, or that would not."""

    kind: str
    """``price``, ``growth`` or ``codec``."""
    what: str
    now: str
    at: str
    """From where on it changes; empty where it does not."""
    then: str
    """What is best then."""


def changes_of(
    search: Search, known: Finals, chosen: int, catalogue: HardwareCatalogue, book: PriceBook, progress: Progress | None
) -> tuple[Change, ...]:
    """Return what would change the choice of ``chosen`` among the finalists."""
    found = [*_prices(search, known, chosen, book)] if search.least is not Least.TIME else []
    usual = hardware_of(search.found.levels(int(known.rows[chosen])))
    now = _picked(search, catalogue, book, known.margin(), 1.0)
    if now is None:
        return tuple(found)
    here = now[1]
    found.append(_growth(search, known, catalogue, book, here, progress))
    found.append(_codec(search, known, chosen, catalogue, book, (usual, here)))
    return tuple(found)


def hardware_of(levels: Mapping[str, str]) -> Hardware:
    """Return what tells hardware apart: what is set can still be changed when it stands there."""
    return tuple((name, text) for name, text in levels.items() if name not in (COMPRESSION, CONTAINERS, LAYOUT_FACTOR))


def _prices(search: Search, known: Finals, chosen: int, book: PriceBook) -> list[Change]:
    """Return for each price where another finalist that is in time becomes the better one."""
    in_time = search.within(known.times_s * known.margin(), 1.0)
    in_time[chosen] = True
    if search.limits.budget is not None:
        in_time &= known.book.rates_per_h * search.limits.years * YEAR_H <= search.limits.budget
        in_time[chosen] = True
    places = np.flatnonzero(in_time)
    day = known.times_s[places] @ search.per_day
    if search.least is Least.PRICE:
        day = np.ones_like(day)  # all pay by the same hours
    own = replace(known.book, factors=known.book.factors[places])
    own_key = hardware_of(search.found.levels(int(known.rows[chosen])))
    found = []
    for flip in flips(day, own):
        price = float(flip.price.amount)
        for at, winner in ((flip.below, flip.below_winner), (flip.above, flip.above_winner)):
            if at is None or winner is None or at <= _NOTHING * price:
                continue
            if hardware_of(search.found.levels(int(known.rows[places[winner]]))) == own_key:
                continue
            then = search.found.label(int(known.rows[places[winner]]))
            side = "below" if at < price else "above"
            found.append(
                Change(
                    "price",
                    flip.price.name,
                    f"{money(price, book.currency)} per {flip.price.per}",
                    f"{side} {money(at, book.currency)}",
                    then,
                )
            )
    return found


def _picked(
    search: Search, catalogue: HardwareCatalogue, book: PriceBook, margin: float, factor: float
) -> tuple[str, Hardware, float] | None:
    """Return the best of a search of its own: its label, what tells it apart, and its objective."""
    works, limits = search.works, search.limits
    again = begun(candidates(catalogue), works, limits, book, search.profile, search.pool, search.least, factor)
    again.run(AGAIN_MAX)
    rows = again.simulated_rows()
    if not rows.size:
        return None
    times = np.array([again.simulated[int(row)].times_s for row in rows])
    kept = again.within(times * margin, 1.0)
    if limits.budget is not None:
        kept &= again.bill(rows) <= limits.budget
    if not kept.any():
        return None
    rows, day = rows[kept], times[kept] @ again.per_day
    objective = again.objective(rows, day)
    best = int(rows[int(np.argmin(objective))])
    return again.found.label(best), hardware_of(again.found.levels(best)), float(objective.min())


def _growth(
    search: Search,
    known: Finals,
    catalogue: HardwareCatalogue,
    book: PriceBook,
    here: Hardware,
    progress: Progress | None,
) -> Change:
    """Return from how much more data on another cluster is best."""
    last = 1.0
    for place, factor in enumerate(GROWTHS):
        if progress is not None:
            progress("searched with more data", place, len(GROWTHS))
        then = _picked(search, catalogue, book, known.margin(), factor)
        if then is None or then[1] != here:
            words = then[0] if then else "nothing of the catalogue keeps every limit"
            return Change("growth", "data", "as asked", f"between {last:g} and {factor:g} times the data", words)
        last = factor
    return Change("growth", "data", "as asked", "", f"the same up to {last:g} times the data")


def _codec(
    search: Search,
    known: Finals,
    chosen: int,
    catalogue: HardwareCatalogue,
    book: PriceBook,
    same: tuple[Hardware, Hardware],
) -> Change:
    """Return what is best with another codec of map output."""
    own = search.found.levels(int(known.rows[chosen])).get(COMPRESSION) or catalogue.parameters.get(COMPRESSION, "none")
    others = [codec for codec in catalogue.compressions if codec != own] or ["none" if own != "none" else _CODEC]
    bare = {name: text for name, text in catalogue.parameters.items() if name != COMPRESSION}
    other = replace(catalogue, compressions=tuple(others), parameters=bare)
    then = _picked(search, other, book, known.margin(), 1.0)
    what = f"map output with {', '.join(others)}"
    if then is None:
        return Change("codec", what, own, ", ".join(others), "nothing of the catalogue keeps every limit")
    if then[1] in same:
        return Change("codec", what, own, "", "the same cluster")
    return Change("codec", what, own, ", ".join(others), then[0])
