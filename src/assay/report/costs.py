"""The cost of a job from runs and a price book: SanDisk's tables 4 to 7, put together.

In: runs and prices. Out: one :class:`CostView` that the command line and the report show. Layouts are what is priced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.analysis.compare import Comparison, compare
from assay.analysis.groups import levels_of
from assay.analysis.summary import LevelSummary, summarise_levels
from assay.cost.parts import Counts, counts_from_facts
from assay.cost.prices import LayoutPrice, run_price
from assay.cost.tco import CostRatio, Rounding, Runtime, TcoRow, cost_ratio, tco
from assay.errors import RepositoryError
from assay.model.plan import LAYOUT_FACTOR
from assay.model.price import PriceBook
from assay.model.run import Run
from assay.report.words import workload_title

LAB_NOTE = (
    "Absolute times, jobs and costs are those of the scale model: the prices are of full-size hardware, the jobs "
    "are not. Read the ratios between layouts."
)


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

    def aggregate_mb_per_s(self, row: TcoRow) -> float | None:
        """Return the gated aggregate throughput beside a row: what SanDisk's table 4 has."""
        found = (s for s in self.summaries if (_name(s), s.level) == (row.workload, row.layout))
        return next(found).throughputs_mb_per_s["gated_aggregate_mb_per_s"]


def _name(of: LevelSummary | Comparison) -> str:
    return f"{of.workload} ({of.context})" if of.context else of.workload


def counts_of(runs: Sequence[Run], layout: str) -> Counts:
    """Return what the runs of ``layout`` say that their cluster has; unknown where they say nothing, or differ."""
    chosen = [run for run in runs if run.layout == layout]
    told = (run.environment.get("cluster") for run in chosen)
    facts = next((found for found in told if isinstance(found, Mapping)), {})
    found = [{"cluster": run.cluster, **run.parameters, **run.levels} for run in chosen]
    levels = dict(set.intersection(*(set(each.items()) for each in found))) if found else {}
    return counts_from_facts(facts, layout, levels)


def _ratio(comparison: Comparison, bills: Mapping[str, LayoutPrice]) -> CostRatio | None:
    if comparison.ratio is None:
        return None
    before, after = bills[comparison.baseline].total, bills[comparison.candidate].total
    low, high = (
        None if speedup is None else cost_ratio(before, after, speedup)
        for speedup in (comparison.ratio_high, comparison.ratio_low)
    )
    return CostRatio(
        workload=_name(comparison),
        baseline=comparison.baseline,
        candidate=comparison.candidate,
        price_ratio=float(after / before),
        ratio=cost_ratio(before, after, comparison.ratio),
        ratio_low=low,
        ratio_high=high,
    )


def cost_view(
    runs: Sequence[Run], book: PriceBook, *, years: float = 3, rounding: Rounding = "none", baseline: str | None = None
) -> CostView:
    """Return the cost tables of ``runs``; the first layout is the baseline unless one is named.

    Raises RepositoryError when no run counts, SpecificationError when the book does not price a layout.
    """
    summaries = tuple(summary for summary in summarise_levels(runs, LAYOUT_FACTOR) if summary.n)
    if not summaries:
        raise RepositoryError("there is no valid run to price", hint="`assay runs` lists what there is, and why")
    layouts = list(dict.fromkeys(summary.level for summary in summaries))
    bills = {layout: run_price(book, counts_of(runs, layout), layout, years=years) for layout in layouts}
    runtimes = {(_name(s), s.level): Runtime(s.geometric_mean_s or 0.0, s.low_s, s.high_s, s.n) for s in summaries}
    prices = {layout: bill.total for layout, bill in bills.items()}
    first = (
        baseline if baseline in layouts else next(level for level in levels_of(runs, LAYOUT_FACTOR) if level in layouts)
    )
    priced = [run for run in runs if run.layout in layouts]
    ratios = [_ratio(c, bills) for c in compare(priced, factor=LAYOUT_FACTOR, baseline=first)] if prices[first] else []
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
        titles={_name(summary): workload_title(summary.workload, summary.context) for summary in summaries},
        rows=tuple(tco(runtimes, prices, currency=book.currency, years=years, rounding=rounding)),
        ratios=tuple(found for found in ratios if found is not None),
    )
