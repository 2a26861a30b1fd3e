"""Answer "which configuration costs least per run?", and show time against money for each configuration.

In: a :class:`RunTable`, recorded facts of clusters, a price book. Out: one :class:`PlaneView` for each job (a workload
with its size, origin and scale: only those have comparable times). A row of it is one combination of levels of the
factors in ``by``, such as a layout with a network.

The answer is a decision over the runs of the job (``decisions/decide.py``): it compares runs that are equal in
everything else. Rows show means over their runs, which need not be equal in everything else. Therefore the decision
ranks them: first the cheapest option and its ties, then options that cost more, then options without a verdict.

``take`` chooses the runs that make up a row (``plane_runs.py``). Outliers count unless they are excluded. Runs whose
data size is implausible are set apart before ranking (``analysis/outliers/data_sizes.py``). Configurations without a
price are left out with the reason.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum

import numpy as np

from assay.analysis.comparison.factors.derived_factors import with_factors
from assay.analysis.comparison.matched import session_spread
from assay.analysis.cost.break_even import Flip, flips
from assay.analysis.cost.pareto import Plane, Quadrants, plane, priced, quadrants
from assay.analysis.cost.parts import counts_from_facts
from assay.analysis.cost.rate import Price, Rate, exchanged, hourly_rate
from assay.analysis.cost.run_cost import MeanErrors, Times, cost_per_run, mean_errors, ranks, times_of
from assay.analysis.outliers.data_sizes import ImplausibleSizes, implausible_sizes
from assay.analysis.statistics import (
    ABSENT,
    FACTOR_SYNONYMS,
    SIZE_OPTIONS,
    Floats,
    Ints,
    RunTable,
    groups_by,
    offsets_in,
    same_work,
)
from assay.analysis.statistics.sessions import SessionSpread
from assay.foundation.errors import RepositoryError, SpecificationError, did_you_mean
from assay.model import LAYOUT_FACTOR, PriceBook
from assay.questions.costs.cost_runs import ChosenRuns, Take, choose, counted_runs, scatter_of
from assay.questions.costs.job_cost import LAB_NOTE
from assay.questions.decisions.costs import RunCosts, run_costs
from assay.questions.decisions.decide import decide
from assay.questions.decisions.sentences import cheapest_sentence
from assay.questions.decisions.values import Decision, DecisionRequest
from assay.questions.runs.cluster_facts import PlaceFacts, facts_of_places
from assay.store import Repository


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


class RowVerdict(StrEnum):
    """How the decision on costs sees a row."""

    CHEAPEST = "cheapest"
    TIE = "tie with the cheapest"
    """Its cost is not distinguishable from that of the cheapest."""
    DEARER = "costs more than the cheapest"
    NOT_ENOUGH_RUNS = "not enough runs"
    NOT_COMPARED = "not compared"
    """No run of it is equal in everything else to a run of the compared rows."""


_ORDER = (RowVerdict.CHEAPEST, RowVerdict.TIE, RowVerdict.DEARER, RowVerdict.NOT_ENOUGH_RUNS, RowVerdict.NOT_COMPARED)


@dataclass(frozen=True, slots=True)
class PlaneRow:
    """One configuration: time and cost of a run, and how the decision ranks it."""

    rank: int | None
    """1 for the cheapest and its ties; None without a verdict."""
    verdict: RowVerdict
    levels: dict[str, str]
    configuration: dict[str, str]
    """Further levels that all runs of this row share, and not all rows."""
    n: int
    n_all: int
    """Valid runs of this row, of which ``n`` were taken."""
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
    """Whether the intervals come from the pooled spread of similar runs, as this row has few."""
    on_front: bool
    front_probability: float | None
    """Share of the draws; None where the spread of times is unknown."""
    rate: Rate

    @property
    def label(self) -> str:
        """The levels in words."""
        return " ".join(self.levels.values())

    @property
    def runs(self) -> int:
        """Number of runs taken."""
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
    """The answer for one job with its rows; no rows when the price book has no price for any of them."""

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
    decision: Decision | None
    """Which row costs least; None where no two rows can be compared."""

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
    def headline(self) -> str:
        """Which row costs least per run, in one sentence; empty without a row."""
        if not self.rows:
            return ""
        if len(self.rows) == 1:
            return f"Nothing to compare with: {self.rows[0].label} is the only row with a price."
        sentence = cheapest_sentence(self.decision) if self.decision else None
        if sentence is None:
            return "Not compared: no two runs of different rows are equal in everything else."
        apart = sum(row.verdict in (RowVerdict.NOT_COMPARED, RowVerdict.NOT_ENOUGH_RUNS) for row in self.rows)
        if apart:
            sentence += f" {apart} of {len(self.rows)} rows are not compared with these."
        return sentence

    @property
    def quadrants(self) -> Quadrants | None:
        """Where fast ends and slow begins among its rows, and cheap and dear."""
        return quadrants([row.time_s for row in self.rows], [float(row.cost) for row in self.rows])


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
    rows, shares = [], found.front_shares
    for place, row in enumerate(kept):
        cost, time_s = float(costs[place]), float(times.mean_s[place])
        rows.append(
            PlaneRow(
                rank=None,
                verdict=RowVerdict.NOT_COMPARED,
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
                front_probability=None if shares is None else float(shares[place]),
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
        rows=tuple(rows),
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
        decision=None,
    )


def _decided(view: PlaneView, table: RunTable, costs: RunCosts, spread: SessionSpread) -> PlaneView:
    """Return the view with the decision over the runs of its job (``table``), and with its rows ranked by it."""
    varied = [name for name in view.by if len({row.levels.get(name) for row in view.rows}) > 1]
    decisions = decide(table, DecisionRequest(",".join(varied)), costs, spread) if varied else ()
    decision = next((made for made in decisions if made.cheapest), None)
    rows = [
        replace(row, verdict=_row_verdict(decision, " + ".join(row.levels.get(name, "") for name in varied)))
        for row in view.rows
    ]
    rows.sort(key=lambda row: (_ORDER.index(row.verdict), row.cost, row.time_s))
    ranked = [row for row in rows if row.verdict is RowVerdict.DEARER]
    first = sum(row.verdict in (RowVerdict.CHEAPEST, RowVerdict.TIE) for row in rows)
    rank_of = dict(zip(map(id, ranked), ranks([row.cost for row in ranked]), strict=True))
    rows = [
        replace(row, rank=1 if row.verdict in (RowVerdict.CHEAPEST, RowVerdict.TIE) else first + rank_of[id(row)])
        if row.verdict in _ORDER[:3]
        else row
        for row in rows
    ]
    return replace(view, rows=tuple(rows), decision=decision)


def _row_verdict(decision: Decision | None, option: str) -> RowVerdict:
    if decision is None or decision.cheapest is None:
        return RowVerdict.NOT_COMPARED
    if option == decision.cheapest.option:
        return RowVerdict.CHEAPEST if not decision.cheapest.ties else RowVerdict.TIE
    if option in decision.cheapest.ties:
        return RowVerdict.TIE
    result = next((result for result in decision.options if result.option == option), None)
    if option == decision.baseline or (result and result.cost):
        return RowVerdict.DEARER
    rows = [row for row in decision.results if row.option == option]
    return RowVerdict.NOT_ENOUGH_RUNS if any(row.time for row in rows) else RowVerdict.NOT_COMPARED


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
    costs, spread = run_costs(facts, table, book, on=options.on), session_spread(table)
    for part in parts:
        job = jobs.of_row[part[0]]
        flagged = odd[jobs.of_row[odd] == job]
        apart = np.flatnonzero(implausible.rows & (jobs.of_row == job))
        shown = len(apart) + (len(flagged) if options.exclude_flagged else 0)
        view = _plane_view(table, part, (int(all_runs[job]) - len(part) - shown, flagged), facts, book, options)
        if len(view.rows) > 1:
            view = _decided(view, table.taken(part), replace(costs, per_h=costs.per_h[part]), spread)
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
