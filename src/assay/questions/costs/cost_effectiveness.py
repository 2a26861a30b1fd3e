"""Answer "which configuration costs least per run?", and show time against cost for each configuration.

In: a :class:`RunTable`, recorded facts of clusters, a price book. Out: one :class:`JobCostEffectiveness` for each job
(a workload with its size, origin and scale: only runs of one job have comparable times). A row is one combination of
levels of the factors in ``by``, for example a layout with a network.

A decision over the runs of the job (``decisions/decide.py``) ranks the rows, because it compares only runs that are
equal in every other factor. The means in a row are over all its runs, which may differ in other factors. The cheapest
option and its ties come first, then options that cost more, then options without a verdict.

``take`` selects the runs of a row (``cost_runs.py``). Outliers count unless they are excluded. Runs with an implausible
data size count neither here nor in any other decision (``runs/cluster_facts.py``). Configurations without a price are
excluded, with the reason.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum

import numpy as np

from assay.analysis.comparison.factors.derived_factors import with_factors
from assay.analysis.comparison.matched import session_spread
from assay.analysis.cost.pareto import CostAndTime, Quadrants, estimate_time_and_cost, priced, quadrants
from assay.analysis.cost.rate import Price, Rate, exchanged, hourly_rate
from assay.analysis.cost.run_cost import Times, cost_per_run, mean_errors, ranks, times_of
from assay.analysis.cost.switching_prices import compute_switching_prices
from assay.analysis.outliers.data_sizes import ImplausibleSizes
from assay.analysis.statistics import (
    ABSENT,
    FACTOR_SYNONYMS,
    SIZE_OPTIONS,
    Ints,
    RunTable,
    groups_by,
    offsets_in,
    same_work,
    usable,
)
from assay.analysis.statistics.sessions import SessionSpread
from assay.foundation.errors import RepositoryError, SpecificationError, did_you_mean
from assay.model import LAYOUT_FACTOR, NETWORK_FACTOR, WORKERS_FACTOR, PriceBook
from assay.questions.clusters.cluster_facts import FactsByHardware, facts_by_hardware, implausible_runs, priced_parts
from assay.questions.costs.cost_runs import ChosenRuns, Take, choose, spread_of_rows, valid_runs
from assay.questions.costs.job_cost import LAB_NOTE
from assay.questions.decisions.buyer import varied
from assay.questions.decisions.costs.run_costs import RunCosts, run_costs
from assay.questions.decisions.decide import decide
from assay.questions.decisions.decision import Decision, DecisionRequest
from assay.questions.decisions.sentences.decision_sentences import cheapest_sentence
from assay.store import Repository
from assay.text import levels_text, money


@dataclass(frozen=True, slots=True)
class CostEffectivenessRequest:
    """Which runs make up the rows, and which prices apply."""

    by: tuple[str, ...] = ()
    """Factors whose levels make a row. Empty: storage layout, network and cluster, as far as the runs vary them."""
    take: Take = "all"
    on: str | None = None
    """The day whose prices apply; None: the book's date."""
    currency: str | None = None
    seed: int = 0
    exclude_flagged: bool = False
    """Exclude runs whose times are flagged as outliers."""


class RowVerdict(StrEnum):
    """The decision's verdict on the cost of a row."""

    CHEAPEST = "cheapest"
    TIE = "tie with the cheapest"
    """Its cost is not distinguishable from the cheapest row's."""
    DEARER = "costs more than the cheapest"
    NOT_ENOUGH_RUNS = "not enough runs"
    NOT_COMPARED = "not compared"
    """No run of the row is equal in everything else to a run of the compared rows."""


ROWS_NAMED = 3
"""Maximum number of rows named in a headline."""
_ORDER = (RowVerdict.CHEAPEST, RowVerdict.TIE, RowVerdict.DEARER, RowVerdict.NOT_ENOUGH_RUNS, RowVerdict.NOT_COMPARED)


@dataclass(frozen=True, slots=True)
class CostEffectivenessRow:
    """One configuration: time and cost of a run, and its rank in the decision."""

    rank: int | None
    """1 for the cheapest of its group and its ties; None without a verdict."""
    group: int | None
    """Number of the connected group: matched runs compare its rows with each other. None without a verdict."""
    verdict: RowVerdict
    levels: dict[str, str]
    configuration: dict[str, str]
    """Further levels that all runs of this row share, and that differ between rows."""
    n: int
    n_all: int
    """Valid runs of this row; ``n`` of them were selected."""
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
    """Whether the intervals come from the pooled spread of similar runs, because this row has few runs."""
    on_pareto_front: bool
    pareto_front_probability: float | None
    """Share of draws in which the row is on the Pareto front; None where the spread of times is unknown."""
    rate: Rate

    @property
    def label(self) -> str:
        """The levels, separated by spaces."""
        return " ".join(self.levels.values())

    @property
    def runs(self) -> int:
        """Number of selected runs."""
        return self.n


@dataclass(frozen=True, slots=True)
class SwitchingPriceRow:
    """Prices of an item, below and above the present price, at which another configuration has the lowest mean cost.

    None: at no price.
    """

    price: Price
    below: float | None
    below_winner: str | None
    above: float | None
    above_winner: str | None
    within_range: bool


@dataclass(frozen=True, slots=True)
class JobCostEffectiveness:
    """The answer for one job with its rows; no rows where the price book prices none of its hardware."""

    job: dict[str, str]
    book: str
    currency: str
    date: str
    source: str
    by: tuple[str, ...]
    take: Take
    rows: tuple[CostEffectivenessRow, ...]
    break_even_prices: tuple[SwitchingPriceRow, ...]
    unpriced: dict[str, str]
    """Configurations without a price in the book, and why."""
    set_apart: dict[str, str]
    """Configurations whose recorded data size is implausible, and why. Their runs do not count."""
    left_out: int
    """Runs that do not count: invalid, failed, without a time, or warm where others are cold."""
    flagged: int
    """Runs whose times are flagged as outliers."""
    flagged_count: bool
    """Whether the flagged runs count. They do unless they are excluded."""
    draws: int
    decision: Decision | None
    """Which row costs least; None where no two rows can be compared."""
    further_decisions: tuple[Decision, ...]
    """Decisions between rows that no matched runs compare with those of ``decision``."""

    @property
    def note(self) -> str | None:
        """The limit of a lab's absolute times and costs; None for runs of full size."""
        return LAB_NOTE if self.job.get("lab_scale") else None

    @property
    def size_recorded(self) -> bool:
        """Whether the runs record their data size. Otherwise they may have different sizes."""
        sizes = "".join(level for name, level in self.job.items() if name.endswith(SIZE_OPTIONS))
        return "data_bytes" in self.job or any(letter.isdigit() for letter in sizes)

    @property
    def headline(self) -> str:
        """The row that costs least per run, in one sentence; empty without a row."""
        if not self.rows:
            return ""
        if len(self.rows) == 1:
            return f"Nothing to compare with: {levels_text(self.rows[0].levels)} is the only row with a price."
        sentence = cheapest_sentence(self.decision, count_others=False) if self.decision else None
        if sentence is None:
            return "Not compared: no two runs of different rows are equal in everything else."
        apart = [row for row in self.rows if row.group is None]
        ranked = [row for row in self.rows if row.group is not None]
        several = bool(self.further_decisions)
        if several:
            sentence = f"Group 1: {sentence}"
        elif apart and any(row.verdict is RowVerdict.CHEAPEST for row in ranked):
            sentence = f"Of {len(ranked)} rows with matched runs: {sentence}"
        for number, further in enumerate(self.further_decisions, start=2):
            sentence += f" Group {number}: {cheapest_sentence(further, count_others=False)}"
        if several:
            sentence += " Rows of different groups can't be compared: none of their runs are equal in everything else."
        if apart:
            sentence += f" {len(apart)} of {len(self.rows)} rows are not compared with these, because too few "
            sentence += "or none of their runs are equal in everything else."
        first = min((row.cost for row in ranked if row.rank == 1), default=Decimal(0))
        if lower := [row for row in apart if row.cost < first]:
            sentence += f" Some of their means are lower: {self._named(lower)}."
        leaders = {row.group: row.cost for row in reversed(ranked) if row.rank == 1}
        if lower := [row for row in ranked if row.rank != 1 and row.cost < leaders[row.group]]:
            sentence += f" Over runs that are not matched, the mean is lower: {self._named(lower)}."
        return sentence

    def _named(self, rows: Sequence[CostEffectivenessRow]) -> str:
        """Return the first rows with their mean costs: ``1 SSD (SSD), InfiniBand, m1000-01 ($0.61)``."""
        texts = [f"{levels_text(row.levels)} ({money(float(row.cost), self.currency)})" for row in rows[:ROWS_NAMED]]
        return "; ".join([*texts, *([f"{len(rows) - ROWS_NAMED} more"] if len(rows) > ROWS_NAMED else [])])

    @property
    def quadrants(self) -> Quadrants | None:
        """The limits between fast and slow rows, and between economical and expensive rows."""
        return quadrants([row.time_s for row in self.rows], [float(row.cost) for row in self.rows])


@dataclass(frozen=True, slots=True)
class _JobRows:
    """Rows of the table that belong to one job."""

    counted: Ints
    flagged: Ints
    left_out: int
    """Number of runs that do not count. Excluded outliers and implausible runs are counted separately."""


def default_factors(table: RunTable) -> tuple[str, ...]:
    """Return the factors of the rows where none are named: layout, network, and cluster and workers if they vary."""
    names = [name for name in (LAYOUT_FACTOR, NETWORK_FACTOR) if name in table.columns]
    several = [name for name in ("cluster", WORKERS_FACTOR) if name in table.columns and varied(table, name)]
    return (*names, *several)


def _shared_levels(table: RunTable, chosen: ChosenRuns, names: Sequence[str]) -> list[dict[str, str]]:
    """Return, for each row, the levels that all its runs share."""
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
    levels: Sequence[dict[str, str]], facts: FactsByHardware, book: PriceBook, request: CostEffectivenessRequest
) -> tuple[list[Rate | None], dict[str, str]]:
    """Return the hourly rate of each row (None without a price), and why the book does not price the others."""
    rates: list[Rate | None] = []
    unpriced: dict[str, str] = {}
    for of_row in levels:
        layout = of_row.get(LAYOUT_FACTOR, "")
        try:
            rate = hourly_rate(book, priced_parts(facts, of_row), layout, on=request.on)
            if not rate.per_h:
                raise SpecificationError(f"price book {book.name!r} prices layout {layout} at 0")
            rates.append(exchanged(rate, book, request.currency or book.currency))
        except SpecificationError as error:
            rates.append(None)
            unpriced[" ".join(of_row[name] for name in request.by if name in of_row)] = error.message
    return rates, unpriced


def _end(end: float, value: float) -> float | None:
    """Return an interval's end; None where it is unknown, or all times are equal."""
    return None if not math.isfinite(end) or math.isclose(end, value, rel_tol=1e-9) else float(end)


def _rows(
    means: CostAndTime,
    times: Times,
    rates: Sequence[Rate],
    levels: Sequence[dict[str, str]],
    chosen: ChosenRuns,
    kept: Sequence[int],
    by: Sequence[str],
) -> list[CostEffectivenessRow]:
    costs = [cost_per_run(rate.per_h, float(s)) for rate, s in zip(rates, times.mean_s, strict=True)]
    common = set.intersection(*(set(levels[row].items()) for row in kept))
    rows, shares = [], means.front_shares
    for number, row in enumerate(kept):
        cost, time_s = float(costs[number]), float(times.mean_s[number])
        rows.append(
            CostEffectivenessRow(
                rank=None,
                group=None,
                verdict=RowVerdict.NOT_COMPARED,
                levels={name: levels[row][name] for name in by if name in levels[row]},
                configuration={k: v for k, v in levels[row].items() if k not in by and (k, v) not in common},
                n=int(times.n[number]),
                n_all=int(chosen.n_all[row]),
                flagged=int(chosen.flagged[row]),
                time_s=time_s,
                time_low_s=_end(means.time_low_s[number], time_s),
                time_high_s=_end(means.time_high_s[number], time_s),
                rate_per_h=rates[number].per_h,
                cost=costs[number],
                cost_low=_end(means.cost_low[number], cost),
                cost_high=_end(means.cost_high[number], cost),
                borrowed=bool(means.borrowed[number]),
                on_pareto_front=bool(means.front[number]),
                pareto_front_probability=None if shares is None else float(shares[number]),
                rate=rates[number],
            )
        )
    return rows


def _of_job(
    table: RunTable, job: _JobRows, facts: FactsByHardware, book: PriceBook, request: CostEffectivenessRequest
) -> JobCostEffectiveness:
    """Return times, costs, Pareto front and switching prices of one job, not yet ranked."""
    chosen = choose(table, job.counted, job.flagged, request.by, request.take)
    levels = _shared_levels(table, chosen, table.factors)
    rates, unpriced = _rates(levels, facts, book, request)
    kept = [row for row, rate in enumerate(rates) if rate is not None]
    empty = _without_rows(table, chosen, book, request, unpriced)
    empty = replace(empty, left_out=job.left_out, flagged=len(job.flagged))
    if not kept:
        return empty
    new = np.full(len(rates), -1, dtype=np.int64)
    new[kept] = np.arange(len(kept))
    code = new[chosen.code]
    runs, code = chosen.rows[code >= 0], code[code >= 0]
    times = times_of(table.values["duration_s"][runs], code, len(kept), offsets_in(table, runs, sides=1))
    known = [rate for rate in rates if rate is not None]
    prices = priced(known)
    if request.take == "fastest":  # the fastest run of a row is an extreme value, so its error is unknown
        errors = mean_errors(times, math.nan, 0.0)
    else:
        examples = chosen.example[kept]
        errors = mean_errors(times, *spread_of_rows(table, job.counted, request.by, request.take, examples))
    means = estimate_time_and_cost(times, prices, errors, seed=request.seed)
    rows = _rows(means, times, known, levels, chosen, kept, request.by)
    labels = [row.label for row in rows]
    break_even_prices = tuple(
        SwitchingPriceRow(
            change.price,
            change.below,
            None if change.below_winner is None else labels[change.below_winner],
            change.above,
            None if change.above_winner is None else labels[change.above_winner],
            change.within_range,
        )
        for change in compute_switching_prices(times.mean_s, prices)
    )
    return replace(empty, rows=tuple(rows), break_even_prices=break_even_prices, draws=means.draws)


def _without_rows(
    table: RunTable, chosen: ChosenRuns, book: PriceBook, request: CostEffectivenessRequest, unpriced: dict[str, str]
) -> JobCostEffectiveness:
    """Return the answer for a job without its rows: the job, the price book and the request."""
    example = int(chosen.example[0])
    texts = {name: table.columns[name].text(example) for name in same_work(table)}
    return JobCostEffectiveness(
        job={name: text for name, text in texts.items() if text is not None},
        book=book.name,
        currency=request.currency or book.currency,
        date=request.on or book.date,
        source=book.source,
        by=request.by,
        take=request.take,
        rows=(),
        break_even_prices=(),
        unpriced=unpriced,
        set_apart={},
        left_out=0,
        flagged=0,
        flagged_count=not request.exclude_flagged,
        draws=0,
        decision=None,
        further_decisions=(),
    )


def _ranked(
    view: JobCostEffectiveness, table: RunTable, costs: RunCosts, spread: SessionSpread
) -> JobCostEffectiveness:
    """Return the answer with the decision over the runs of its job (``table``), and with its rows ranked by it."""
    varied = [name for name in view.by if len({row.levels.get(name) for row in view.rows}) > 1]
    decisions = decide(table, DecisionRequest(",".join(varied)), costs, spread) if varied else ()
    options = [" + ".join(row.levels.get(name, "") for name in varied) for row in view.rows]
    groups = []
    for decision in (made for made in decisions if made.cheapest):
        verdicts = [_row_verdict(decision, option) for option in options]
        compared = [row.cost for row, verdict in zip(view.rows, verdicts, strict=True) if verdict in _ORDER[:3]]
        groups.append((min(compared), decision, verdicts))
    groups.sort(key=lambda group: group[0])
    rows: list[CostEffectivenessRow] = []
    for number, (_, _, verdicts) in enumerate(groups, start=1):
        rows += _of_group(number, [replace(row, verdict=v) for row, v in zip(view.rows, verdicts, strict=True)])
    ranked = {row.label for row in rows}
    apart = [
        replace(row, verdict=min((verdicts[n] for _, _, verdicts in groups), key=_ORDER.index, default=row.verdict))
        for n, row in enumerate(view.rows)
        if row.label not in ranked
    ]
    rows += sorted(apart, key=lambda row: (_ORDER.index(row.verdict), row.cost, row.time_s))
    made = tuple(decision for _, decision, _ in groups)
    return replace(view, rows=tuple(rows), decision=made[0] if made else None, further_decisions=made[1:])


def _of_group(number: int, rows: Sequence[CostEffectivenessRow]) -> list[CostEffectivenessRow]:
    """Return the rows that have a verdict in a connected group, with their ranks in it, the cheapest first."""
    rows = sorted(
        (row for row in rows if row.verdict in _ORDER[:3]),
        key=lambda row: (_ORDER.index(row.verdict), row.cost, row.time_s),
    )
    dearer = [row.cost for row in rows if row.verdict is RowVerdict.DEARER]
    first = len(rows) - len(dearer)
    row_ranks = [1] * first + [first + rank for rank in ranks(dearer)]
    return [replace(row, rank=rank, group=number) for row, rank in zip(rows, row_ranks, strict=True)]


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


def _implausible_reasons(
    table: RunTable, rows: Ints, implausible: ImplausibleSizes, by: Sequence[str]
) -> dict[str, str]:
    """Return why the implausible rows of one job do not count, by their levels of the factors in ``by``."""
    labels: dict[str, list[int]] = {}
    for row in rows.tolist():
        levels = [table.columns[name].text(row) for name in by]
        labels.setdefault(" ".join(level for level in levels if level), []).append(row)
    return {label: implausible.reason(np.array(positions)) for label, positions in labels.items()}


def cost_effectiveness_of_table(
    table: RunTable,
    facts: FactsByHardware,
    book: PriceBook,
    request: CostEffectivenessRequest,
    all_runs: RunTable | None = None,
) -> list[JobCostEffectiveness]:
    """Return the answer for each job with a run that counts, in the order in which the jobs first ran.

    ``all_runs``: runs from which the variance between sessions is estimated; None: these runs. Raises RepositoryError
    when no run counts, SpecificationError when the book has no price for any run.
    """
    for name in request.by:
        if name not in table.factors:
            raise SpecificationError(
                f"no run has a factor {name!r}",
                hint=f"{did_you_mean(name, table.factors, FACTOR_SYNONYMS)}there is {', '.join(table.factors)}",
            )
    jobs = groups_by(table, same_work(table))
    valid = valid_runs(table, jobs, exclude_flagged=request.exclude_flagged)
    implausible = implausible_runs(table, facts)
    rows = np.flatnonzero(valid.counts & ~implausible.rows)
    if not len(rows):
        raise RepositoryError(
            "there is no valid run to price" + (" that is not flagged" if request.exclude_flagged else ""),
            hint="`assay runs` lists the runs and why they do not count",
        )
    job_of_row = jobs.of_row[rows]
    order = np.argsort(job_of_row, kind="stable")
    ends = np.cumsum(np.bincount(job_of_row, minlength=jobs.count))
    parts = [part for part in np.split(rows[order], ends[:-1]) if len(part)]
    parts.sort(key=lambda part: int(part[0]))
    views, outliers = [], np.flatnonzero(valid.flagged)
    costs = run_costs(facts, table, book, on=request.on)
    spread = session_spread(table if all_runs is None else all_runs)
    decided = usable(table) & ~implausible.rows
    if request.exclude_flagged:
        decided &= ~valid.flagged
    for part in parts:
        of_job = jobs.of_row == jobs.of_row[part[0]]
        flagged, apart = outliers[of_job[outliers]], np.flatnonzero(implausible.rows & of_job)
        shown = len(apart) + (len(flagged) if request.exclude_flagged else 0)
        job = _JobRows(part, flagged, int(of_job.sum()) - len(part) - shown)
        view = _of_job(table, job, facts, book, request)
        if len(view.rows) > 1:
            runs = np.flatnonzero(decided & of_job)
            view = _ranked(view, table.subset(runs), replace(costs, per_h=costs.per_h[runs]), spread)
        views.append(replace(view, set_apart=_implausible_reasons(table, apart, implausible, request.by)))
    if not any(view.rows for view in views):
        raise SpecificationError(next(iter(views[0].unpriced.values())))
    return views


def cost_effectiveness(
    repository: Repository,
    table: RunTable,
    book: PriceBook,
    request: CostEffectivenessRequest | None = None,
    all_runs: RunTable | None = None,
) -> list[JobCostEffectiveness]:
    """Return the answer for each job. Prices apply to the hardware that a run on each cluster and layout recorded."""
    request = request or CostEffectivenessRequest()
    table = with_factors(table, request.by)
    facts = facts_by_hardware(repository, table)
    request = request if request.by else replace(request, by=default_factors(table))
    return cost_effectiveness_of_table(table, facts, book, request, all_runs)
