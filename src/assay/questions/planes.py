"""Cost per run, ranking, Pareto front and flip prices of a table of runs: what ``assay cost`` shows.

In: a :class:`RunTable`, what runs said of their clusters, a price book. Out: one :class:`PlaneView` for each job (a
workload with its size, origin and scale: only those have comparable times). A row of it is one combination of levels of
the factors asked for, such as a layout with a network.

``take`` chooses the runs that stand for a row (``plane_runs.py``). Runs whose times are flagged as outliers count,
unless they are excluded. Runs whose data size is implausible are set apart before ranking (``quality/data_sizes.py``).
What the book does not price is left out with its reason.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum

import numpy as np

from assay.compare.derived_factors import with_factors
from assay.cost.flip import Flip, flips
from assay.cost.pareto import Plane, Quadrants, plane, priced, quadrants
from assay.cost.parts import counts_from_facts
from assay.cost.rate import Price, Rate, exchanged, hourly_rate
from assay.cost.run_cost import MeanErrors, Times, cost_per_run, mean_errors, ranks, times_of
from assay.errors import RepositoryError, SpecificationError, did_you_mean
from assay.model import LAYOUT_FACTOR, ClusterFacts, Environment, PriceBook
from assay.quality.data_sizes import ImplausibleSizes, implausible_sizes
from assay.questions.job_cost import LAB_NOTE
from assay.questions.plane_runs import ChosenRuns, Take, choose, counted_runs, scatter_of
from assay.repository import Repository
from assay.statistics import (
    ABSENT,
    FACTOR_SYNONYMS,
    SIZE_OPTIONS,
    Floats,
    Ints,
    RunTable,
    first_rows,
    groups_by,
    offsets_in,
    same_work,
)
from assay.wording import CheapestWords

PlaceFacts = Mapping[tuple[str, str], ClusterFacts]
"""Cluster and layout to what a run there said of the cluster."""
SURE = 0.95
"""A row is said to be the cheapest when it is so in at least this share of the draws."""


@dataclass(frozen=True, slots=True)
class PlaneOptions:
    """What is asked of the runs."""

    by: tuple[str, ...] = (LAYOUT_FACTOR,)
    take: Take = "all"
    on: str | None = None
    """The day whose prices count; None: the book's date."""
    currency: str | None = None
    seed: int = 0
    exclude_flagged: bool = False
    """Leave out runs whose times are flagged as outliers."""


class Certainty(StrEnum):
    """How sure it is which row is the cheapest."""

    SURE = "sure"
    UNSURE = "not sure"
    SINGLE_RUN = "rests on one run"
    NOT_REPEATED = "nothing was repeated"
    CHANCE = "one run of each row, chosen for being the fastest"
    ALONE = "nothing to compare with"


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
    flagged: int
    """Runs of this row whose times are flagged as outliers."""
    time_s: float
    time_low_s: float | None
    time_high_s: float | None
    rate_per_h: Decimal
    cost: Decimal
    cost_low: float | None
    cost_high: float | None
    borrowed: bool
    """Whether the intervals are from the pooled scatter of its kind, as there are few runs."""
    on_front: bool
    front_probability: float | None
    cheapest_probability: float | None
    fastest_probability: float | None
    """Shares of the draws; None where nothing tells how times scatter."""
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
    set_apart: dict[str, str]
    """What is not ranked because its recorded data size is implausible, and why."""
    left_out: int
    """Runs that do not count: invalid, failed, without a time, or warm beside cold ones."""
    flagged: int
    """Runs whose times are flagged as outliers."""
    flagged_count: bool
    """Whether these count, as they do unless they are excluded."""
    draws: int

    @property
    def note(self) -> str | None:
        """What to keep in mind of absolute times and money of a lab; None for runs of full size."""
        return LAB_NOTE if self.job.get("lab_scale") else None

    @property
    def size_told(self) -> bool:
        """Whether the runs tell how much data they were on; else those of other sizes may be among them."""
        sizes = "".join(level for name, level in self.job.items() if name.endswith(SIZE_OPTIONS))
        return "data_bytes" in self.job or any(letter.isdigit() for letter in sizes)

    @property
    def certainty(self) -> Certainty | None:
        """How sure it is that the first row is the cheapest; None without a row."""
        if len(self.rows) < 2:
            return Certainty.ALONE if self.rows else None
        first = self.rows[0]
        if first.cheapest_probability is None:
            return Certainty.CHANCE if self.take == "fastest" else Certainty.NOT_REPEATED
        if first.n == 1:
            return Certainty.SINGLE_RUN
        return Certainty.SURE if first.cheapest_probability >= SURE else Certainty.UNSURE

    @property
    def headline(self) -> str:
        """Which row is the cheapest and how sure that is, in words; empty without a row."""
        if not self.rows:
            return ""
        first = self.rows[0]
        words = CheapestWords(
            first.label,
            first.cost,
            first.cost_low,
            first.cost_high,
            self.currency,
            first.time_s,
            first.n,
            first.cheapest_probability,
            self.draws,
            [row.label for row in self.rivals],
        )
        match self.certainty:
            case Certainty.SURE:
                return words.sure()
            case Certainty.UNSURE:
                return words.unsure()
            case Certainty.SINGLE_RUN:
                return words.single()
            case Certainty.NOT_REPEATED:
                return words.not_repeated()
            case Certainty.CHANCE:
                return words.chance()
        return words.alone()

    @property
    def rivals(self) -> tuple[PlaneRow, ...]:
        """The other rows that may be the cheapest: in more than one of twenty draws."""
        return tuple(row for row in self.rows[1:] if (row.cheapest_probability or 0) > 1 - SURE)

    @property
    def quadrants(self) -> Quadrants | None:
        """Where fast ends and slow begins among its rows, and cheap and dear."""
        return quadrants([row.time_s for row in self.rows], [float(row.cost) for row in self.rows])


def facts_told(hosts: Iterable[tuple[str, str, Environment]]) -> dict[tuple[str, str], ClusterFacts]:
    """Return what runs said of their clusters, by cluster and layout: the first that said something."""
    found: dict[tuple[str, str], ClusterFacts] = {}
    for cluster, layout, environment in hosts:
        if (cluster, layout) not in found and (told := environment.cluster) is not None:
            found[cluster, layout] = told
    return found


def facts_of_places(repository: Repository, table: RunTable) -> dict[tuple[str, str], ClusterFacts]:
    """Return what one run on each cluster and layout says of its cluster."""
    places = [name for name in ("cluster", "layout") if name in table.columns]
    rows = first_rows(groups_by(table, places)).tolist()
    names = (
        [table.columns[name].text(row) or "" if name in places else "" for row in rows]
        for name in ("cluster", "layout")
    )
    return facts_told(zip(*names, repository.environments_at(table, rows), strict=True))


def default_factors(table: RunTable) -> tuple[str, ...]:
    """Return what rows are made by when nobody says: layout, network, and the cluster if there are several."""
    names = [name for name in (LAYOUT_FACTOR, "network") if name in table.columns]
    several = "cluster" in table.columns and len(table.columns["cluster"].levels) > 1
    return tuple(names + (["cluster"] if several else []))


def _shared_levels(table: RunTable, chosen: ChosenRuns, names: Sequence[str]) -> list[dict[str, str]]:
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
    """Return the rate of each row, None where the book has none, and why."""
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
            rates.append(None)
            unpriced[" ".join(found[name] for name in options.by if name in found)] = error.message
    return rates, unpriced


def _flip_row(flip: Flip, labels: Sequence[str]) -> FlipRow:
    below, above = (None if w is None else labels[w] for w in (flip.below_winner, flip.above_winner))
    return FlipRow(flip.price, flip.below, below, flip.above, above, flip.within_range)


def _end(end: float, value: float) -> float | None:
    """Return an interval's end; None where nothing tells it, or nothing scatters."""
    return None if not math.isfinite(end) or math.isclose(end, value, rel_tol=1e-9) else float(end)


def _rows(
    found: Plane,
    times: Times,
    rates: Sequence[Rate],
    levels: Sequence[dict[str, str]],
    chosen: ChosenRuns,
    kept: Sequence[int],
    by: Sequence[str],
) -> list[PlaneRow]:
    costs = [cost_per_run(rate.per_h, float(s)) for rate, s in zip(rates, times.mean_s, strict=True)]
    common = set.intersection(*(set(levels[row].items()) for row in kept))
    rows, shares = [], found.shares
    for place, (row, rank) in enumerate(zip(kept, ranks(costs), strict=True)):
        cost, time_s = float(costs[place]), float(times.mean_s[place])
        rows.append(
            PlaneRow(
                rank=rank,
                levels={name: levels[row][name] for name in by if name in levels[row]},
                configuration={k: v for k, v in levels[row].items() if k not in by and (k, v) not in common},
                n=int(times.n[place]),
                n_all=int(chosen.n_all[row]),
                flagged=int(chosen.flagged[row]),
                time_s=time_s,
                time_low_s=_end(found.time_low_s[place], time_s),
                time_high_s=_end(found.time_high_s[place], time_s),
                rate_per_h=rates[place].per_h,
                cost=costs[place],
                cost_low=_end(found.cost_low[place], cost),
                cost_high=_end(found.cost_high[place], cost),
                borrowed=bool(found.borrowed[place]),
                on_front=bool(found.front[place]),
                front_probability=None if shares is None else float(shares.front[place]),
                cheapest_probability=None if shares is None else float(shares.cheapest[place]),
                fastest_probability=None if shares is None else float(shares.fastest[place]),
                rate=rates[place],
            )
        )
    return rows


def _plane_view(
    table: RunTable, counted: Ints, beside: tuple[int, Ints], facts: PlaceFacts, book: PriceBook, options: PlaneOptions
) -> PlaneView:
    """Return the plane of one job, whose runs that count are the rows ``counted``.

    ``beside``: how many runs of the job do not count, and the rows of those that are flagged.
    """
    left_out, flagged = beside
    chosen = choose(table, counted, flagged, options.by, options.take)
    levels = _shared_levels(table, chosen, table.factors)
    rates, unpriced = _rates(levels, facts, book, options)
    kept = [row for row, rate in enumerate(rates) if rate is not None]
    empty = _empty_view(table, chosen, book, options, unpriced)
    empty = replace(empty, left_out=left_out, flagged=len(flagged))
    if not kept:
        return empty
    new = np.full(len(rates), -1, dtype=np.int64)
    new[kept] = np.arange(len(kept))
    code = new[chosen.code]
    runs, code = chosen.rows[code >= 0], code[code >= 0]
    times = times_of(table.values["duration_s"][runs], code, len(kept), offsets_in(table, runs, sides=1))
    some = [rate for rate in rates if rate is not None]
    as_prices = priced(some)
    found = plane(times, as_prices, _errors(table, counted, times, options, chosen.example[kept]), seed=options.seed)
    rows = _rows(found, times, some, levels, chosen, kept, options.by)
    labels = [row.label for row in rows]
    return replace(
        empty,
        rows=tuple(sorted(rows, key=lambda row: (row.rank, row.time_s))),
        flips=tuple(_flip_row(flip, labels) for flip in flips(times.mean_s, as_prices)),
        draws=found.draws,
    )


def _errors(table: RunTable, counted: Ints, times: Times, options: PlaneOptions, examples: Ints) -> MeanErrors:
    """Return how sure the rows' means are: not at all for the one fastest run of each, which chance chose."""
    if options.take == "fastest":
        return mean_errors(times, math.nan, 0.0)
    return mean_errors(times, *scatter_of(table, counted, options.by, options.take, examples))


def _empty_view(
    table: RunTable, chosen: ChosenRuns, book: PriceBook, options: PlaneOptions, unpriced: dict[str, str]
) -> PlaneView:
    """Return the view of a job without its rows: what it is of."""
    example = int(chosen.example[0])
    texts = {name: table.columns[name].text(example) for name in same_work(table)}
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
        set_apart={},
        left_out=0,
        flagged=0,
        flagged_count=not options.exclude_flagged,
        draws=0,
    )


def _workers(table: RunTable, facts: PlaceFacts) -> Floats:
    """Return the number of workers of each row's cluster, as far as any run there recorded it; NaN elsewhere."""
    column = table.columns.get("cluster")
    if column is None:
        return np.full(len(table), np.nan)
    known = {cluster: told.workers for (cluster, _), told in facts.items() if told.workers}
    by_level = np.array([*(float(known.get(level, np.nan)) for level in column.levels), np.nan])
    workers: Floats = by_level[column.codes]  # ABSENT is -1: the last
    return workers


def _set_apart(table: RunTable, rows: Ints, found: ImplausibleSizes, by: Sequence[str]) -> dict[str, str]:
    """Return why the rows of one job are set apart, by the levels that would have made their row of the view."""
    labels: dict[str, list[int]] = {}
    for row in rows.tolist():
        levels = [table.columns[name].text(row) for name in by]
        labels.setdefault(" ".join(level for level in levels if level), []).append(row)
    return {label: found.reason(np.array(at)) for label, at in labels.items()}


def plane_views(table: RunTable, facts: PlaceFacts, book: PriceBook, options: PlaneOptions) -> list[PlaneView]:
    """Return the plane of each job that has a run that counts, in the order in which the jobs first ran.

    RepositoryError when no run counts; SpecificationError when the book prices nothing of what is there.
    """
    for name in options.by:
        if name not in table.factors:
            raise SpecificationError(
                f"no run has a factor {name!r}",
                hint=f"{did_you_mean(name, table.factors, FACTOR_SYNONYMS)}there is {', '.join(table.factors)}",
            )
    jobs = groups_by(table, same_work(table))
    counted = counted_runs(table, jobs, exclude_flagged=options.exclude_flagged)
    implausible = implausible_sizes(table, counted.counts, _workers(table, facts))
    rows = np.flatnonzero(counted.counts & ~implausible.rows)
    if not len(rows):
        raise RepositoryError(
            "there is no valid run to price" + (" that is not flagged" if options.exclude_flagged else ""),
            hint="`assay runs` lists what there is, and why",
        )
    all_runs, job_of_row = np.bincount(jobs.of_row, minlength=jobs.count), jobs.of_row[rows]
    order = np.argsort(job_of_row, kind="stable")
    ends = np.cumsum(np.bincount(job_of_row, minlength=jobs.count))
    parts = [part for part in np.split(rows[order], ends[:-1]) if len(part)]
    parts.sort(key=lambda part: int(part[0]))
    views, odd = [], np.flatnonzero(counted.flagged)
    for part in parts:
        job = jobs.of_row[part[0]]
        flagged = odd[jobs.of_row[odd] == job]
        apart = np.flatnonzero(implausible.rows & (jobs.of_row == job))
        shown = len(apart) + (len(flagged) if options.exclude_flagged else 0)
        view = _plane_view(table, part, (int(all_runs[job]) - len(part) - shown, flagged), facts, book, options)
        views.append(replace(view, set_apart=_set_apart(table, apart, implausible, options.by)))
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
    facts = facts_of_places(repository, table)
    factors = tuple(by) or default_factors(table)
    return plane_views(table, facts, book, replace(options or PlaneOptions(), by=factors))
