"""Cost per run, ranking, Pareto front and flip prices of a table of runs: what ``assay cost`` shows.

In: a :class:`RunTable`, what runs said of their clusters, a price book. Out: one :class:`PlaneView` for each job (a
workload with its size, origin and scale: only those have comparable times). A row of it is one combination of levels of
the factors asked for, such as a layout with a network.

Which runs stand for a row is said by ``take``. ``best``: of its configurations, equal in everything, the one with the
smallest geometric mean. ``all``: every run, whatever else differs. ``fastest``: the one fastest run, as in ALOJA
and in BSC's table 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.compare.compression import with_factors
from assay.cost.flip import Flip, flips
from assay.cost.pareto import Plane, Quadrants, plane, priced, quadrants
from assay.cost.parts import counts_from_facts
from assay.cost.rate import Price, Rate, exchanged, hourly_rate
from assay.cost.run_cost import Times, cost_per_run, ranks, times_of
from assay.errors import RepositoryError, SpecificationError
from assay.model.environment import ClusterFacts, Environment
from assay.model.plan import LAYOUT_FACTOR
from assay.model.price import PriceBook
from assay.repository import Repository
from assay.statistics.keys import Groups, first_rows, groups_by, usable, warm_beside_cold
from assay.statistics.run_table import ABSENT, RunTable

Take = Literal["best", "all", "fastest"]
PlaceFacts = Mapping[tuple[str, str], ClusterFacts]
"""Cluster and layout to what a run there said of the cluster."""
JOB_FACTORS = ("workload", "data_bytes", "origin", "lab_scale")
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PlaneOptions:
    """What is asked of the runs."""

    by: tuple[str, ...] = (LAYOUT_FACTOR,)
    take: Take = "best"
    on: str | None = None
    """The day whose prices count; None: the book's date."""
    currency: str | None = None
    skip_unpriced: bool = False
    """Leave out what the book does not price, and say so, instead of refusing."""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class PlaneRow:
    """One configuration: what a run on it takes and costs, and what the draws say of it."""

    rank: int
    levels: dict[str, str]
    configuration: dict[str, str]
    """What else is the same in all runs of this row, and not in all rows."""
    n: int
    n_all: int
    """Runs that count in this row, of which ``n`` stand for it."""
    time_s: float
    time_low_s: float | None
    time_high_s: float | None
    rate_per_h: Decimal
    cost: Decimal
    cost_low: float | None
    cost_high: float | None
    on_front: bool
    front_probability: float
    cheapest_probability: float
    fastest_probability: float
    rate: Rate

    @property
    def label(self) -> str:
        """The levels, as people say them."""
        return " ".join(self.levels.values())

    @property
    def runs(self) -> int:
        """The runs that stand for it."""
        return self.n


@dataclass(frozen=True, slots=True)
class FlipRow:
    """At which price of an item another configuration becomes the cheapest; None: at none."""

    price: Price
    below: float | None
    below_winner: str | None
    above: float | None
    above_winner: str | None
    within_range: bool


@dataclass(frozen=True, slots=True)
class PlaneView:
    """The cost-effectiveness plane of one job, cheapest first; no rows when the book prices nothing of it."""

    job: dict[str, str]
    book: str
    currency: str
    date: str
    source: str
    by: tuple[str, ...]
    take: Take
    rows: tuple[PlaneRow, ...]
    flips: tuple[FlipRow, ...]
    unpriced: dict[str, str]
    """What was left out because the book does not price it, and why."""
    left_out: int
    """Runs that do not count: invalid, failed, without a time, or warm beside cold ones."""
    draws: int

    @property
    def quadrants(self) -> Quadrants | None:
        """Where fast ends and slow begins among its rows, and cheap and dear."""
        return quadrants([row.time_s for row in self.rows], [float(row.cost) for row in self.rows])


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The runs that stand for the rows: ``rows`` of the table with the row of the view that each belongs to."""

    rows: Ints
    code: Ints
    n_all: Ints
    example: Ints
    """A table row of each."""


def facts_told(hosts: Iterable[tuple[str, str, Environment]]) -> dict[tuple[str, str], ClusterFacts]:
    """Return what runs said of their clusters, by cluster and layout: the first that said something."""
    found: dict[tuple[str, str], ClusterFacts] = {}
    for cluster, layout, environment in hosts:
        if (cluster, layout) not in found and (told := environment.cluster) is not None:
            found[cluster, layout] = told
    return found


def default_factors(table: RunTable) -> tuple[str, ...]:
    """Return what rows are made by when nobody says: layout, network, and the cluster if there are several."""
    names = [name for name in (LAYOUT_FACTOR, "network") if name in table.columns]
    several = "cluster" in table.columns and len(table.columns["cluster"].levels) > 1
    return tuple(names + (["cluster"] if several else []))


def _grouped(table: RunTable, rows: Ints, names: Sequence[str]) -> Groups:
    """Return the groups of some rows, copying only the columns that make them."""
    if len(rows) == len(table):
        return groups_by(table, names)
    columns = {name: table.columns[name] for name in names}
    return groups_by(RunTable(table.rows, columns, {}).taken(rows), names)


def _choose(table: RunTable, counted: Ints, groups: Groups, take: Take) -> _Chosen:
    """Return the runs that stand for each group of counted rows."""
    durations_s = table.values["duration_s"][counted]
    code, count = groups.of_row, groups.count
    n_all = np.bincount(code, minlength=count)
    if take == "all":
        keep = np.ones(len(counted), dtype=np.bool_)
    elif take == "fastest":
        order = np.lexsort((durations_s, code))
        keep = np.zeros(len(counted), dtype=np.bool_)
        keep[order[np.concatenate(([0], np.cumsum(n_all)[:-1]))]] = True
    else:
        varying = [name for name in table.factors if len(table.columns[name].levels) > 1]
        whole = _grouped(table, counted, varying)
        times = times_of(durations_s, whole.of_row, whole.count)
        of_whole = np.zeros(whole.count, dtype=np.int64)
        of_whole[whole.of_row] = code
        order = np.lexsort((times.mean_s, of_whole))
        _, first = np.unique(of_whole[order], return_index=True)
        best = np.zeros(whole.count, dtype=np.bool_)
        best[order[first]] = True
        keep = best[whole.of_row]
    example = np.zeros(count, dtype=np.int64)
    example[code[keep]] = counted[keep]
    return _Chosen(counted[keep], code[keep], n_all, example)


def _shared_levels(table: RunTable, chosen: _Chosen, names: Sequence[str]) -> list[dict[str, str]]:
    """Return, for each row of the view, the levels that all of its runs share."""
    shared: list[dict[str, str]] = [{} for _ in chosen.example]
    for name in names:
        column = table.columns[name]
        codes = column.codes[chosen.rows]
        same = np.ones(len(chosen.example), dtype=np.bool_)
        same[chosen.code[codes != column.codes[chosen.example][chosen.code]]] = False
        for row, level in enumerate(column.codes[chosen.example]):
            if same[row] and level != ABSENT:
                shared[row][name] = column.levels[level]
    return shared


def _rates(
    levels: Sequence[dict[str, str]], facts: PlaceFacts, book: PriceBook, options: PlaneOptions
) -> tuple[list[Rate | None], dict[str, str]]:
    """Return the rate of each row, None where the book has none and that is allowed, and why."""
    rates: list[Rate | None] = []
    unpriced: dict[str, str] = {}
    for found in levels:
        layout = found.get(LAYOUT_FACTOR, "")
        counts = counts_from_facts(facts.get((found.get("cluster", ""), layout)), layout, found)
        try:
            rate = hourly_rate(book, counts, layout, on=options.on)
            if not rate.per_h:
                raise SpecificationError(f"price book {book.name!r} prices layout {layout} at nothing at all")
            rates.append(exchanged(rate, book, options.currency or book.currency))
        except SpecificationError as error:
            if not options.skip_unpriced:
                raise
            rates.append(None)
            unpriced[" ".join(found[name] for name in options.by if name in found)] = error.message
    return rates, unpriced


def _flip_row(flip: Flip, labels: Sequence[str]) -> FlipRow:
    below, above = (None if w is None else labels[w] for w in (flip.below_winner, flip.above_winner))
    return FlipRow(flip.price, flip.below, below, flip.above, above, flip.within_range)


def _end(end: float, value: float) -> float | None:
    """Return an interval's end; None where nothing scatters."""
    return None if math.isclose(end, value, rel_tol=1e-9) else float(end)


def _rows(
    found: Plane,
    times: Times,
    rates: Sequence[Rate],
    levels: Sequence[dict[str, str]],
    chosen: _Chosen,
    kept: Sequence[int],
    by: Sequence[str],
) -> list[PlaneRow]:
    costs = [cost_per_run(rate.per_h, float(s)) for rate, s in zip(rates, times.mean_s, strict=True)]
    common = set.intersection(*(set(levels[row].items()) for row in kept))
    rows = []
    for place, (row, rank) in enumerate(zip(kept, ranks(costs), strict=True)):
        cost, time_s = float(costs[place]), float(times.mean_s[place])
        rows.append(
            PlaneRow(
                rank=rank,
                levels={name: levels[row][name] for name in by if name in levels[row]},
                configuration={k: v for k, v in levels[row].items() if k not in by and (k, v) not in common},
                n=int(times.n[place]),
                n_all=int(chosen.n_all[row]),
                time_s=time_s,
                time_low_s=_end(found.time_low_s[place], time_s),
                time_high_s=_end(found.time_high_s[place], time_s),
                rate_per_h=rates[place].per_h,
                cost=costs[place],
                cost_low=_end(found.cost_low[place], cost),
                cost_high=_end(found.cost_high[place], cost),
                on_front=bool(found.front[place]),
                front_probability=float(found.front_probability[place]),
                cheapest_probability=float(found.cheapest_probability[place]),
                fastest_probability=float(found.fastest_probability[place]),
                rate=rates[place],
            )
        )
    return rows


def _plane_view(
    table: RunTable, counted: Ints, left_out: int, facts: PlaceFacts, book: PriceBook, options: PlaneOptions
) -> PlaneView:
    """Return the plane of one job, whose runs that count are the rows ``counted``."""
    chosen = _choose(table, counted, _grouped(table, counted, options.by), options.take)
    levels = _shared_levels(table, chosen, table.factors)
    rates, unpriced = _rates(levels, facts, book, options)
    kept = [row for row, rate in enumerate(rates) if rate is not None]
    if not kept:
        return _unpriced_view(table, chosen, book, options, unpriced, left_out)
    new = np.full(len(rates), -1, dtype=np.int64)
    new[kept] = np.arange(len(kept))
    code = new[chosen.code]
    durations_s = table.values["duration_s"][chosen.rows[code >= 0]]
    code = code[code >= 0]
    times = times_of(durations_s, code, len(kept))
    some = [rate for rate in rates if rate is not None]
    as_prices = priced(some)
    found = plane(times, as_prices, seed=options.seed)
    rows = _rows(found, times, some, levels, chosen, kept, options.by)
    labels = [row.label for row in rows]
    job_levels = {name: text for name in JOB_FACTORS if (text := levels[kept[0]].get(name)) is not None}
    return PlaneView(
        job=job_levels,
        book=book.name,
        currency=options.currency or book.currency,
        date=options.on or book.date,
        source=book.source,
        by=options.by,
        take=options.take,
        rows=tuple(sorted(rows, key=lambda row: (row.rank, row.time_s))),
        flips=tuple(_flip_row(flip, labels) for flip in flips(times.mean_s, as_prices)),
        unpriced=unpriced,
        left_out=left_out,
        draws=found.draws,
    )


def _unpriced_view(
    table: RunTable, chosen: _Chosen, book: PriceBook, options: PlaneOptions, unpriced: dict[str, str], left_out: int
) -> PlaneView:
    """Return the view of a job of which the book prices nothing: no rows, and why."""
    example = int(chosen.example[0])
    texts = {name: table.columns[name].text(example) for name in JOB_FACTORS if name in table.columns}
    return PlaneView(
        job={name: text for name, text in texts.items() if text is not None},
        book=book.name,
        currency=options.currency or book.currency,
        date=options.on or book.date,
        source=book.source,
        by=options.by,
        take=options.take,
        rows=(),
        flips=(),
        unpriced=unpriced,
        left_out=left_out,
        draws=0,
    )


def plane_views(table: RunTable, facts: PlaceFacts, book: PriceBook, options: PlaneOptions) -> list[PlaneView]:
    """Return the plane of each job that has a run that counts, in the order in which the jobs first ran.

    RepositoryError when no run counts; SpecificationError when the book does not price what is there.
    """
    for name in options.by:
        if name not in table.factors:
            raise SpecificationError(f"no run has a factor {name!r}", hint=f"there is {', '.join(table.factors)}")
    jobs = groups_by(table, [name for name in JOB_FACTORS if name in table.columns])
    counted = usable(table)
    counted &= ~warm_beside_cold(table, jobs, counted)
    rows = np.flatnonzero(counted)
    if not len(rows):
        raise RepositoryError("there is no valid run to price", hint="`assay runs` lists what there is, and why")
    all_runs, job_of_row = np.bincount(jobs.of_row, minlength=jobs.count), jobs.of_row[rows]
    order = np.argsort(job_of_row, kind="stable")
    ends = np.cumsum(np.bincount(job_of_row, minlength=jobs.count))
    parts = [part for part in np.split(rows[order], ends[:-1]) if len(part)]
    parts.sort(key=lambda part: int(part[0]))
    views = [
        _plane_view(table, part, int(all_runs[jobs.of_row[part[0]]]) - len(part), facts, book, options)
        for part in parts
    ]
    if not any(view.rows for view in views):
        raise SpecificationError(next(iter(views[0].unpriced.values())))
    return views


def cost_planes(
    repository: Repository,
    table: RunTable,
    book: PriceBook,
    options: PlaneOptions | None = None,
    by: Sequence[str] = (),
) -> list[PlaneView]:
    """Return the cost-effectiveness plane of each job, from one run's word on each cluster and layout."""
    table = with_factors(table, by)
    places = [name for name in ("cluster", "layout") if name in table.columns]
    rows = first_rows(groups_by(table, places)).tolist()
    names = (
        [table.columns[name].text(row) or "" if name in places else "" for row in rows]
        for name in ("cluster", "layout")
    )
    facts = facts_told(zip(*names, repository.environments_at(table, rows), strict=True))
    factors = tuple(by) or default_factors(table)
    asked = options or PlaneOptions()
    asked = PlaneOptions(factors, asked.take, asked.on, asked.currency, asked.skip_unpriced, asked.seed)
    return plane_views(table, facts, book, asked)
