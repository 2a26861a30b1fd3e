"""Find what would change a recommendation: a price, more data, another codec.

In: a search with its finalists and the chosen finalist. Out: :class:`AnswerChange` values. Price changes are exact,
because every bill is linear in each price. For more data and other codecs the search is repeated with fewer simulations
and without draws: a cluster keeps a constraint if its time with the finalists' margin does.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from assay.analysis.cost.pareto import PricedRates
from assay.analysis.cost.rate import Price
from assay.analysis.cost.run_cost import HOUR_S
from assay.analysis.cost.switching_prices import compute_switching_prices
from assay.analysis.statistics import Floats
from assay.estimation.recommendation.candidates import candidates
from assay.foundation.progress import Progress
from assay.model import COMPRESSION, CONTAINERS, LAYOUT_FACTOR, YEAR_H, HardwareCatalogue, Origin, PriceBook
from assay.questions.recommendation.finalists import Finalists
from assay.questions.recommendation.request import Objective
from assay.questions.recommendation.search import ClusterSearch, best_first, start_search
from assay.text import codec_text, money

DATA_FACTORS = (1.5, 2.0, 3.0, 5.0, 10.0)
"""Multiples of the data for which the search is repeated."""
SIMULATIONS_AGAIN = 40
"""Maximum number of clusters to simulate in one repeated search."""
_CODEC = "snappy"
"""Codec that is tried where map output is not compressed."""
_PRICE_SHARE_MIN = 0.1
"""Minimum switching price, as a share of the present price. A lower price is not plausible."""
_PRICE_MULTIPLE_MAX = 4.0
"""Maximum switching price, as a multiple of the present price. Above it, clusters that are not finalists may be better,
for example the chosen one with the other network."""
_NO_CLUSTER = "no cluster of the catalogue keeps every constraint"
Hardware = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class AnswerChange:
    """One change of the inputs, and whether it changes the recommendation."""

    kind: str
    """``price``, ``growth`` or ``codec``."""
    what: str
    now: str
    at: str
    """Value from which the recommendation changes; empty if it does not."""
    then: str
    """The best cluster after the change."""
    factor: float | None = None
    """Switching price / present price; None for other changes."""
    day_s: float | None = None
    """Time of a day's work on the best cluster after the change; None for other changes."""
    time_factor: float | None = None
    """``day_s`` / the time on the cluster that is the best now."""


@dataclass(frozen=True, slots=True)
class _Best:
    """The best cluster of a repeated search."""

    label: str
    hardware: Hardware


def hardware_of(levels: Mapping[str, str]) -> Hardware:
    """Return the levels that identify hardware. Settings are left out: they can change after the purchase."""
    return tuple((name, text) for name, text in levels.items() if name not in (COMPRESSION, CONTAINERS, LAYOUT_FACTOR))


def changes_of(
    search: ClusterSearch,
    finalists: Finalists,
    chosen_finalist: int,
    catalogue: HardwareCatalogue,
    book: PriceBook,
    progress: Progress | None,
    origin: Origin,
) -> tuple[AnswerChange, ...]:
    """Return what would change the choice of the finalist ``chosen_finalist``.

    ``origin``: of the finalists' times. The changes that a repeated search finds are left out unless it is simulated.
    """
    changes = [] if search.objective is Objective.TIME else _price_changes(search, finalists, chosen_finalist, book)
    if origin is not Origin.SIMULATED:
        return tuple(changes)
    best_now = _best_again(search, catalogue, book, finalists.margin(), 1.0)
    if best_now is None:
        return tuple(changes)
    chosen_hardware = hardware_of(search.candidates.levels(int(finalists.rows[chosen_finalist])))
    changes.append(_growth(search, finalists, catalogue, book, best_now.hardware, progress))
    changes.append(_codec(search, finalists, chosen_finalist, catalogue, book, (chosen_hardware, best_now.hardware)))
    return tuple(changes)


def _price_changes(
    search: ClusterSearch, finalists: Finalists, chosen_finalist: int, book: PriceBook
) -> list[AnswerChange]:
    """Return, for each price, the switching prices at which other hardware becomes the best."""
    is_eligible = search.in_time(finalists.times_s * finalists.margin(), 1.0)
    if search.constraints.budget is not None:
        is_eligible &= finalists.prices.rates_per_h * search.constraints.years * YEAR_H <= search.constraints.budget
    is_eligible[chosen_finalist] = True
    positions = np.flatnonzero(is_eligible)
    day_s = finalists.times_s[positions] @ search.per_day
    surplus_vcpu_h = search.surplus_vcpu_h(finalists.rows[positions], day_s)
    day_s = search.extras.paid_s(day_s)
    prices = replace(finalists.prices, factors=finalists.prices.factors[positions])
    if search.objective is Objective.PRICE:
        day_s = np.ones_like(day_s)  # every cluster is paid for the same hours
    elif search.extras.surplus_price:
        prices = _with_surplus(prices, search.extras.surplus_price, surplus_vcpu_h * HOUR_S / day_s)
    chosen_hardware = hardware_of(search.candidates.levels(int(finalists.rows[chosen_finalist])))
    by_time = positions[np.argsort(-(finalists.times_s[positions] @ search.per_day), kind="stable")]
    day_of = dict(zip(finalists.rows.tolist(), (finalists.times_s @ search.per_day).tolist(), strict=True))
    now_s = day_of[int(finalists.rows[chosen_finalist])]
    fastest_of = {hardware_of(search.candidates.levels(row)): row for row in finalists.rows[by_time].tolist()}
    changes = []
    for change in compute_switching_prices(day_s, prices):
        price = float(change.price.amount)
        for at, winner_position in ((change.below, change.below_winner), (change.above, change.above_winner)):
            if at is None or winner_position is None:
                continue
            if not 0 < _PRICE_SHARE_MIN * price <= at <= _PRICE_MULTIPLE_MAX * price:
                continue
            hardware = hardware_of(search.candidates.levels(int(finalists.rows[positions[winner_position]])))
            if hardware == chosen_hardware:
                continue
            row = fastest_of[hardware]
            changes.append(
                AnswerChange(
                    "price",
                    f"price of {change.price.name}",
                    f"{money(price, book.currency)} per {change.price.per}",
                    f"{'below' if at < price else 'above'} {money(at, book.currency)}",
                    search.candidates.label(row),
                    at / price,
                    day_of[row],
                    day_of[row] / now_s,
                )
            )
    return changes


def _with_surplus(prices: PricedRates, price: float, vcpus: Floats) -> PricedRates:
    """Return the prices with that of surplus CPU credits. ``vcpus``: surplus per hour that a cluster is paid for."""
    amount = Decimal(str(price))
    credit = Price("surplus CPU credits", amount, amount, amount, "vCPU-hour", "stated")
    factors = np.column_stack((prices.factors, vcpus))
    return PricedRates((*prices.prices, credit), np.append(prices.amounts, price), factors)


def _best_again(
    search: ClusterSearch, catalogue: HardwareCatalogue, book: PriceBook, margin: float, data_factor: float
) -> _Best | None:
    """Return the best cluster of a repeated search; None where no cluster keeps every constraint."""
    repeated_search = start_search(
        search.request, candidates(catalogue), book, search.profile, search.pool, data_factor
    )
    repeated_search.run(SIMULATIONS_AGAIN)
    rows = repeated_search.store.rows()
    if not rows.size:
        return None
    times_s = repeated_search.store.times_s(rows)
    is_kept = repeated_search.in_time(times_s * margin, 1.0)
    if search.constraints.budget is not None:
        is_kept &= repeated_search.bill(rows) <= search.constraints.budget
    if not is_kept.any():
        return None
    rows, day_s = rows[is_kept], times_s[is_kept] @ repeated_search.per_day
    best = int(rows[best_first(repeated_search.objective, repeated_search.objective_of(rows, day_s), day_s)[0]])
    return _Best(repeated_search.candidates.label(best), hardware_of(repeated_search.candidates.levels(best)))


def _growth(
    search: ClusterSearch,
    finalists: Finalists,
    catalogue: HardwareCatalogue,
    book: PriceBook,
    hardware: Hardware,
    progress: Progress | None,
) -> AnswerChange:
    """Return the multiple of the data from which another cluster is the best."""
    last = 1.0
    for number, factor in enumerate(DATA_FACTORS):
        if progress is not None:
            progress("searched with more data", number, len(DATA_FACTORS))
        best = _best_again(search, catalogue, book, finalists.margin(), factor)
        if best is None or best.hardware != hardware:
            other_label = best.label if best else _NO_CLUSTER
            at = f"{factor:g} times the data" + (f", not yet at {last:g} times" if last > 1 else "")
            return AnswerChange("growth", "data", "as requested", at, other_label)
        last = factor
    return AnswerChange("growth", "data", "as requested", "", f"the same up to {last:g} times the data")


def _codec(
    search: ClusterSearch,
    finalists: Finalists,
    chosen_finalist: int,
    catalogue: HardwareCatalogue,
    book: PriceBook,
    hardware_pair: tuple[Hardware, Hardware],
) -> AnswerChange:
    """Return the best cluster with another codec of map output."""
    levels = search.candidates.levels(int(finalists.rows[chosen_finalist]))
    codec_now = levels.get(COMPRESSION) or catalogue.parameters.get(COMPRESSION, "none")
    codecs = [codec for codec in catalogue.compressions if codec != codec_now] or [
        "none" if codec_now != "none" else _CODEC
    ]
    parameters = {name: text for name, text in catalogue.parameters.items() if name != COMPRESSION}
    changed = replace(catalogue, compressions=tuple(codecs), parameters=parameters)
    best = _best_again(search, changed, book, finalists.margin(), 1.0)
    choice_name, other_codecs, codec_now = (
        "compression of map output",
        ", ".join(map(codec_text, codecs)),
        codec_text(codec_now),
    )
    if best is None:
        return AnswerChange("codec", choice_name, codec_now, other_codecs, _NO_CLUSTER)
    if best.hardware in hardware_pair:
        return AnswerChange("codec", choice_name, codec_now, "", f"the same hardware, with {other_codecs}")
    return AnswerChange("codec", choice_name, codec_now, other_codecs, best.label)
