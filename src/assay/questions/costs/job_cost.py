"""The cost of a job from runs and a price book: SanDisk's tables 4 to 7, put together.

In: runs and prices. Out: one :class:`CostView` that the command line and the report show. Layouts are what is priced;
what the book does not price is left out with its reason. Intervals are those of ``assay cost``.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from assay.analysis.comparison.comparison import compare_groups
from assay.analysis.comparison.details.run_groups import run_groups
from assay.analysis.comparison.details.summary import LevelSummary, summarise_group
from assay.analysis.comparison.result import SpeedupResult
from assay.analysis.cost.parts import Counts, counts_from_facts
from assay.analysis.cost.prices import LayoutPrice, run_price
from assay.analysis.cost.run_cost import Times, mean_errors, mean_intervals, spread_by, times_of
from assay.analysis.cost.storage import cost_per_performance
from assay.analysis.cost.tco import CostRatio, Rounding, Runtime, TcoRow, cost_ratio, tco
from assay.analysis.outliers.flagging import odd_times
from assay.analysis.statistics import RunTable, holm_where_known, levels_of, too_few_runs, two_sided_p
from assay.foundation.errors import RepositoryError, SpecificationError
from assay.model import LAYOUT_FACTOR, PriceBook, Run
from assay.store import Repository
from assay.text import workload_title

_Timed = tuple[LevelSummary, Run]
LAB_NOTE = (
    "Absolute times, jobs and costs are those of the scale model: the prices are of full-size hardware, the jobs "
    "are not. Read the ratios between layouts."
)


@dataclass(frozen=True, slots=True)
class CostPerformance:
    """A layout's cost per performance beside its cost per capacity, as in LISA'14's table 5; the baseline's is 1."""

    layout: str
    price_ratio: float
    mean_gain: float
    """Geometric mean of the speedups of all workloads."""
    workloads: int
    cost_per_performance: float
    """Price ratio / mean gain: the geometric mean of the cost ratios."""
    capacity_tb: float | None
    """What the layout's devices in the cluster hold, 10^12 bytes; None when neither runs nor price book say so."""
    cost_per_capacity: float | None


@dataclass(frozen=True, slots=True)
class CostView:
    """Everything that the cost tables show. ``titles`` has what people read for a row's workload."""

    book: str
    currency: str
    date: str
    source: str
    years: float
    rounding: Rounding
    baseline: str
    note: str | None
    """What to keep in mind when reading, in words; None on real hosts."""
    bills: dict[str, LayoutPrice]
    summaries: tuple[LevelSummary, ...]
    titles: dict[str, str]
    rows: tuple[TcoRow, ...]
    ratios: tuple[CostRatio, ...]
    performance: tuple[CostPerformance, ...]
    unpriced: dict[str, str]
    """Layouts that the book does not price, and why."""

    def aggregate_mb_per_s(self, row: TcoRow) -> float | None:
        """Return the gated aggregate throughput beside a row: what SanDisk's table 4 has."""
        found = (s for s in self.summaries if (name_of(s), s.level) == (row.workload, row.layout))
        return next(found).throughputs_mb_per_s["gated_aggregate_mb_per_s"]


def name_of(of: LevelSummary | SpeedupResult) -> str:
    """Return under which name a row of costs stands: its workload, and what sets it apart from others of it."""
    workload = of.workload if isinstance(of, LevelSummary) else of.group
    return f"{workload} ({of.context})" if of.context else workload


def counts_of(runs: Sequence[Run], layout: str) -> Counts:
    """Return what the runs of ``layout`` say that their cluster has; unknown where they say nothing, or differ."""
    chosen = [run for run in runs if run.layout == layout]
    facts = next((told for run in chosen if (told := run.recorded.cluster) is not None), None)
    found = [{"cluster": run.cluster, **run.parameters, **run.levels} for run in chosen]
    levels = dict(set.intersection(*(set(each.items()) for each in found))) if found else {}
    return counts_from_facts(facts, layout, levels)


def unflagged(repository: Repository, table: RunTable) -> tuple[list[Run], int]:
    """Return the runs of a flagged table whose times are not flagged as odd, whole, and how many are left out."""
    odd = odd_times(table)
    return repository.runs_at(table, np.flatnonzero(~odd).tolist()), int(odd.sum())


def _timed(runs: Sequence[Run]) -> list[_Timed]:
    """Return a summary of each level of each set of runs, with a run of it."""
    return [
        (level, one.example) for one in run_groups(runs, LAYOUT_FACTOR) for level in summarise_group(one) if level.n
    ]


def _work(one: LevelSummary, run: Run) -> tuple[object, ...]:
    return one.workload, run.data_bytes, one.origin, one.lab_scale, run.cluster


def _times(summaries: Sequence[LevelSummary]) -> Times:
    durations = np.array([duration for one in summaries for duration in one.durations_s])
    off = np.array([off for one in summaries for off in one.log_offsets])
    return times_of(durations, np.repeat(np.arange(len(summaries)), [one.n for one in summaries]), len(summaries), off)


def _runtimes(timed: Sequence[_Timed], beside: Sequence[_Timed]) -> dict[tuple[str, str], Runtime]:
    """Return how long each job takes.

    Few runs have the pooled spread of their layout in their work ``beside`` them, as in ``assay cost``.
    """
    found = {}
    for work in dict.fromkeys(_work(*one) for one in timed):
        of_work = [one for one, run in timed if _work(one, run) == work]
        like = [one for one, run in beside if _work(one, run) == work]
        layouts = {level: number for number, level in enumerate(dict.fromkeys(one.level for one in [*like, *of_work]))}
        kinds, wanted = (np.array([layouts[one.level] for one in rows], dtype=np.int64) for rows in (like, of_work))
        times = _times(of_work)
        low, high = mean_intervals(times, mean_errors(times, *spread_by(_times(like), kinds, wanted)))
        for place, one in enumerate(of_work):
            known, mean_s = bool(np.isfinite(low[place])), float(times.mean_s[place])
            found[name_of(one), one.level] = Runtime(
                mean_s, float(low[place]) if known else None, float(high[place]) if known else None, one.n
            )
    return found


def _bills(
    book: PriceBook, counts: Mapping[str, Counts], years: float
) -> tuple[dict[str, LayoutPrice], dict[str, str]]:
    """Return the bill of each layout that the book prices, and why it does not price the others.

    SpecificationError when it prices none.
    """
    bills, unpriced, refused = {}, {}, None
    for layout, own in counts.items():
        try:
            bills[layout] = run_price(book, own, layout, years=years)
        except SpecificationError as error:
            if error.hint and "--by" in error.hint:  # tco and report have one price for a layout
                error.hint = f"here a layout has one price: `assay cost --prices BOOK` prices each; {error.hint}"
            refused = refused or error
            unpriced[layout] = error.message
    if refused is not None and not bills:
        raise refused
    return bills, unpriced


def _ratio(comparison: SpeedupResult, totals: Mapping[str, Decimal]) -> CostRatio | None:
    if comparison.ratio is None:
        return None
    before, after = totals[comparison.baseline], totals[comparison.candidate]
    low, high = (
        None if speedup is None else cost_ratio(before, after, speedup) for speedup in (comparison.high, comparison.low)
    )
    return CostRatio(
        workload=name_of(comparison),
        baseline=comparison.baseline,
        candidate=comparison.candidate,
        price_ratio=float(after / before),
        ratio=cost_ratio(before, after, comparison.ratio),
        ratio_low=low,
        ratio_high=high,
    )


def cost_ratios(comparisons: Sequence[SpeedupResult], totals: Mapping[str, Decimal]) -> tuple[CostRatio, ...]:
    """Return how costs of a job compare, by the ``totals`` of the layouts' prices.

    What is shown to cost less or more allows for how many they are, and for too few runs, as verdicts on times do.
    """
    found = [(c, ratio) for c in comparisons if (ratio := _ratio(c, totals)) is not None]
    corrected = holm_where_known([_p_of(c, ratio) for c, ratio in found])
    return tuple(replace(ratio, holm_p=p) for (_, ratio), p in zip(found, corrected, strict=True))


def _p_of(comparison: SpeedupResult, cost: CostRatio) -> float | None:
    """Return the p value of equal costs; None where a side has too few runs for a conclusion."""
    few = too_few_runs(comparison.groups, (comparison.runs_baseline, comparison.runs_candidate))
    if few or comparison.log_error is None or comparison.degrees is None:
        return None
    return two_sided_p(math.log(cost.ratio), comparison.log_error, comparison.degrees, comparison.log_rounding)


def _capacity_tb(book: PriceBook, counts: Counts) -> float | None:
    """Return the layout's capacity in the cluster: what the runs say, or what the book's devices hold."""
    if counts.workers is None:
        return None
    if counts.capacity_bytes is not None:
        return counts.workers * counts.capacity_bytes / 1e12
    held = {item.device: item.capacity_bytes for item in book.items if item.capacity_bytes and not item.device_name}
    if not counts.layout_devices or not counts.layout_devices.keys() <= held.keys():
        return None
    return counts.workers * sum(n * (held[kind] or 0) for kind, n in counts.layout_devices.items()) / 1e12


def _performance(
    ratios: Sequence[CostRatio], first: str, bills: Mapping[str, LayoutPrice], capacity_tb: Mapping[str, float | None]
) -> list[CostPerformance]:
    rows = []
    for layout in dict.fromkeys(found.candidate for found in ratios):
        own = [found for found in ratios if found.candidate == layout]
        price_ratio = float(bills[layout].total / bills[first].total)
        gain = math.exp(sum(math.log(found.price_ratio / found.ratio) for found in own) / len(own))
        before, after = capacity_tb[first], capacity_tb[layout]
        rows.append(
            CostPerformance(
                layout,
                price_ratio,
                gain,
                len(own),
                cost_per_performance(bills[first].total, bills[layout].total, gain),
                after,
                price_ratio * before / after if before and after else None,
            )
        )
    return rows


def cost_view(
    runs: Sequence[Run],
    book: PriceBook,
    *,
    years: float = 3,
    rounding: Rounding = "none",
    baseline: str | None = None,
    comparisons: Sequence[SpeedupResult] = (),
    beside: Sequence[Run] = (),
) -> CostView:
    """Return the cost tables of ``runs``; the first layout is the baseline unless one is named.

    ``comparisons``: those of all layouts with one, where they are made already. ``beside``: the runs, with others of
    the same work, that tell how times scatter where few do; left out: the runs alone.

    Raises RepositoryError when no run counts, SpecificationError when the book does not price a layout.
    """
    every = _timed(runs)
    if not every:
        raise RepositoryError("there is no valid run to price", hint="`assay runs` lists what there is, and why")
    counts = {layout: counts_of(runs, layout) for layout in dict.fromkeys(level.level for level, _ in every)}
    bills, unpriced = _bills(book, counts, years)
    layouts = list(bills)
    summaries = tuple(level for level, _ in every if level.level in bills)
    runtimes = {
        key: found for key, found in _runtimes(every, _timed(beside) if beside else every).items() if key[1] in bills
    }
    prices = {layout: bill.total for layout, bill in bills.items()}
    first = (
        baseline if baseline in layouts else next(level for level in levels_of(runs, LAYOUT_FACTOR) if level in layouts)
    )
    made = [one for one in comparisons if one.baseline == first] or compare_groups(
        run_groups(runs, LAYOUT_FACTOR), LAYOUT_FACTOR, first
    )
    priced = [one for one in made if one.baseline in bills and one.candidate in bills]
    ratios = cost_ratios(priced, {layout: bill.total for layout, bill in bills.items()}) if prices[first] else ()
    payable = [found for found in ratios if found.price_ratio > 0]
    return CostView(
        book=book.name,
        currency=book.currency,
        date=book.date,
        source=book.source,
        years=years,
        rounding=rounding,
        baseline=first,
        note=LAB_NOTE if any(summary.lab_scale is not None for summary in summaries) else None,
        bills=bills,
        summaries=summaries,
        titles={name_of(summary): workload_title(summary.workload, summary.context) for summary in summaries},
        rows=tuple(tco(runtimes, prices, currency=book.currency, years=years, rounding=rounding)),
        ratios=ratios,
        performance=tuple(_performance(payable, first, bills, {n: _capacity_tb(book, counts[n]) for n in layouts})),
        unpriced=unpriced,
    )
