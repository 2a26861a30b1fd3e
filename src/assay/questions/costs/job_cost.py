"""Answer what a job costs on each layout over years of use: SanDisk's tables 4 to 7.

In: runs, a price book, and the decisions on layouts. Out: one :class:`CostView` for every interface. Times and costs
are means over the runs of one job and layout, with the intervals of ``assay cost``. The decisions state every ratio
between layouts. Layouts without a price are excluded, with the reason.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from assay.analysis.comparison.details.level_summary import LevelSummary, summarise_group
from assay.analysis.comparison.details.run_groups import run_groups
from assay.analysis.cost.job_cost import JobCostRow, Rounding, Runtime, job_cost_rows
from assay.analysis.cost.parts import Counts, counts_from_facts
from assay.analysis.cost.prices import LayoutPrice, run_price
from assay.analysis.cost.run_cost import Times, mean_errors, mean_intervals, spread_by, times_of
from assay.analysis.outliers.anomaly_column import time_outliers
from assay.analysis.statistics import RunTable, levels_of
from assay.foundation.errors import RepositoryError, SpecificationError
from assay.model import LAYOUT_FACTOR, NETWORK_FACTOR, ClusterFacts, PriceBook, Run
from assay.model.runs.throughput import GATED_AGGREGATE
from assay.questions.decisions.decision import CostVerdict, Decision
from assay.questions.decisions.sentences.option_words import context_of, parameter_text, workload_in_context
from assay.store import Repository
from assay.text import workload_title

_Timed = tuple[LevelSummary, Run]
LAB_NOTE = (
    "Absolute times, jobs and costs are those of the scale model: the prices are of full-size hardware, the jobs "
    "are not. Read the ratios."
)


@dataclass(frozen=True, slots=True)
class JobCostRatio:
    """A row of a decision on layouts: the cost of a job on the candidate, relative to the baseline."""

    workload: str
    baseline: str
    candidate: str
    price_ratio: float
    """Price per hour of the candidate / of the baseline."""
    ratio: float
    ratio_low: float | None
    ratio_high: float | None
    holm_p: float | None
    verdict: CostVerdict


@dataclass(frozen=True, slots=True)
class CostPerformance:
    """A layout's cost per performance and cost per capacity, as in LISA'14's table 5; the baseline's are 1."""

    layout: str
    price_ratio: float
    mean_gain: float
    """The speedup of the decision over the workloads of the layout."""
    workloads: int
    cost_per_performance: float
    """The decision's cost ratio: price ratio / mean gain."""
    capacity_tb: float | None
    """Capacity of the layout's devices in the cluster, in 10^12 bytes; None if runs and price book do not have it."""
    cost_per_capacity: float | None


@dataclass(frozen=True, slots=True)
class JobTitles:
    """Titles of jobs in a table or chart, with the settings in which these jobs differ."""

    by_workload: dict[str, str]
    """Title of each row's workload: ``TeraSort: sort factor 10, 12 map slots per worker``."""
    shared: tuple[str, ...]
    """Settings that all jobs share, with their levels; empty where jobs differ in no setting."""


@dataclass(frozen=True, slots=True)
class CostView:
    """The cost of a job on each layout."""

    book: str
    currency: str
    date: str
    source: str
    years: float
    rounding: Rounding
    baseline: str
    note: str | None
    """The limit of a lab's absolute times and costs; None for runs of full size."""
    bills: dict[str, LayoutPrice]
    summaries: tuple[LevelSummary, ...]
    rows: tuple[JobCostRow, ...]
    ratios: tuple[JobCostRatio, ...]
    performance: tuple[CostPerformance, ...]
    unpriced: dict[str, str]
    """Layouts without a price in the book, and why."""

    def titles_of(self, rows: Sequence[JobCostRow]) -> JobTitles:
        """Return the titles of the workloads of ``rows``."""
        names = {row.workload for row in rows}
        return _titles([summary for summary in self.summaries if name_of(summary) in names])

    def aggregate_mb_per_s(self, row: JobCostRow) -> float | None:
        """Return the gated aggregate throughput of a row's runs, as in SanDisk's table 4."""
        summaries = (s for s in self.summaries if (name_of(s), s.level) == (row.workload, row.layout))
        return next(summaries).throughputs_mb_per_s[GATED_AGGREGATE]


def name_of(summary: LevelSummary) -> str:
    """Return the name of a row: its workload, with the context that distinguishes rows of the same workload."""
    return f"{summary.workload} ({summary.context})" if summary.context else summary.workload


def counts_of(runs: Sequence[Run], layout: str) -> Counts:
    """Return the parts of the cluster that the runs of ``layout`` record; unknown where they differ or record none."""
    layout_runs = [run for run in runs if run.layout == layout]
    levels_of_runs = [set({"cluster": run.cluster, **run.parameters, **run.levels}.items()) for run in layout_runs]
    levels = dict(set.intersection(*levels_of_runs)) if levels_of_runs else {}
    recorded_facts = [facts for run in layout_runs if (facts := run.recorded.cluster) is not None]
    first, *other_counts = [counts_from_facts(facts, layout, levels) for facts in recorded_facts or [ClusterFacts()]]
    first_counts = {part.name: getattr(first, part.name) for part in fields(Counts)}
    differing_names = [
        name for name, count in first_counts.items() if any(getattr(counts, name) != count for counts in other_counts)
    ]
    unknown_counts = Counts()
    return replace(first, **{name: getattr(unknown_counts, name) for name in differing_names})


def without_outliers(repository: Repository, table: RunTable) -> tuple[list[Run], int]:
    """Return the runs of a flagged table whose times are not outliers, and the number of outliers."""
    outliers = time_outliers(table)
    return repository.runs_at(table, np.flatnonzero(~outliers).tolist()), int(outliers.sum())


def _level_summaries(runs: Sequence[Run]) -> list[_Timed]:
    """Return a summary of each level of each matched group, with one of its runs."""
    return [
        (level, group.example)
        for group in run_groups(runs, LAYOUT_FACTOR)
        for level in summarise_group(group)
        if level.n
    ]


def _job(summary: LevelSummary, run: Run) -> tuple[object, ...]:
    return summary.workload, run.data_bytes, summary.origin, summary.lab_scale, run.cluster


def _row(summary: LevelSummary, run: Run) -> tuple[str, str | None]:
    """Return the row of ``assay cost`` within its job and cluster: layout and network."""
    return summary.level, run.levels.get(NETWORK_FACTOR)


def _times(summaries: Sequence[LevelSummary]) -> Times:
    durations_s = np.array([duration_s for summary in summaries for duration_s in summary.durations_s])
    log_errors_max = np.array([offset for summary in summaries for offset in summary.log_offsets])
    codes = np.repeat(np.arange(len(summaries)), [summary.n for summary in summaries])
    return times_of(durations_s, codes, len(summaries), log_errors_max)


def _runtimes(timed_summaries: Sequence[_Timed], similar_summaries: Sequence[_Timed]) -> dict[tuple[str, str], Runtime]:
    """Return the mean run time of each job on each layout.

    A mean of few runs uses the spread of its layout and network in the same job, pooled over ``similar_summaries``,
    the rows of ``assay cost``.
    """
    runtimes = {}
    for job in dict.fromkeys(_job(summary, run) for summary, run in timed_summaries):
        job_summaries = [summary for summary, run in timed_summaries if _job(summary, run) == job]
        pool = [(summary, run) for summary, run in similar_summaries if _job(summary, run) == job]
        rows = [
            [_row(*item) for item in items]
            for items in (pool, [item for item in timed_summaries if _job(*item) == job])
        ]
        codes = {key: code for code, key in enumerate(dict.fromkeys([*rows[0], *rows[1]]))}
        pool_codes, row_codes = (np.array([codes[key] for key in keys], dtype=np.int64) for keys in rows)
        times, pooled_times = _times(job_summaries), _times([summary for summary, _ in pool])
        low, high = mean_intervals(times, mean_errors(times, *spread_by(pooled_times, pool_codes, row_codes)))
        for row, summary in enumerate(job_summaries):
            has_interval, mean_s = bool(np.isfinite(low[row])), float(times.mean_s[row])
            runtimes[name_of(summary), summary.level] = Runtime(
                mean_s, float(low[row]) if has_interval else None, float(high[row]) if has_interval else None, summary.n
            )
    return runtimes


def _bills(
    book: PriceBook, counts: Mapping[str, Counts], years: float
) -> tuple[dict[str, LayoutPrice], dict[str, str]]:
    """Return the bill of each layout that the book prices, and why it does not price the others.

    Raises SpecificationError when it prices none.
    """
    bills, unpriced, first_error = {}, {}, None
    for layout, layout_counts in counts.items():
        try:
            bills[layout] = run_price(book, layout_counts, layout, years=years)
        except SpecificationError as error:
            if error.hint and "--by" in error.hint:  # costs over years and the report have one price for a layout
                error.hint = f"here a layout has one price: `assay cost --prices BOOK` prices each; {error.hint}"
            first_error = first_error or error
            unpriced[layout] = error.message
    if first_error is not None and not bills:
        raise first_error
    return bills, unpriced


def _capacity_tb(book: PriceBook, counts: Counts) -> float | None:
    """Return the layout's capacity in the cluster, from the runs or else from the book's devices."""
    if counts.workers is None:
        return None
    if counts.capacity_bytes is not None:
        return counts.workers * counts.capacity_bytes / 1e12
    capacities = {
        item.device: item.capacity_bytes for item in book.items if item.capacity_bytes and not item.device_name
    }
    if not counts.layout_devices or not counts.layout_devices.keys() <= capacities.keys():
        return None
    return counts.workers * sum(n * (capacities[kind] or 0) for kind, n in counts.layout_devices.items()) / 1e12


def _ratios(decisions: Sequence[Decision], bills: Mapping[str, LayoutPrice]) -> Iterator[JobCostRatio]:
    """Yield the decisions' cost ratios of single workloads between priced layouts."""
    for decision in decisions:
        for result in decision.results:
            if result.cost is not None and {decision.baseline, result.option} <= bills.keys():
                yield JobCostRatio(
                    workload=result.workload,
                    baseline=decision.baseline,
                    candidate=result.option,
                    price_ratio=result.cost.price_ratio,
                    ratio=result.cost.ratio,
                    ratio_low=result.cost.low,
                    ratio_high=result.cost.high,
                    holm_p=result.cost.holm_p,
                    verdict=result.cost.verdict,
                )


def _performance(
    decision: Decision, bills: Mapping[str, LayoutPrice], capacity_tb: Mapping[str, float | None]
) -> Iterator[CostPerformance]:
    """Yield the decision's cost ratio of each layout over its workloads, with its cost per capacity."""
    baseline_tb = capacity_tb.get(decision.baseline)
    for option in decision.options:
        if option.cost is None or option.time is None or option.option not in bills:
            continue
        option_tb, price_ratio = capacity_tb[option.option], option.cost.price_ratio
        yield CostPerformance(
            layout=option.option,
            price_ratio=price_ratio,
            mean_gain=option.time.ratio,
            workloads=len(option.workloads),
            cost_per_performance=option.cost.ratio,
            capacity_tb=option_tb,
            cost_per_capacity=price_ratio * baseline_tb / option_tb if baseline_tb and option_tb else None,
        )


def _titles(summaries: Sequence[LevelSummary]) -> JobTitles:
    """Return the titles of jobs. A title has the settings that differ between the jobs, in words."""
    titles = {name_of(summary): workload_in_context(summary.workload, summary.context) for summary in summaries}
    differing_summaries = {name_of(summary): summary for summary in summaries if summary.context}
    rows = {name: context_of(summary.context) for name, summary in differing_summaries.items()}
    if not rows or not all(rows.values()):
        return JobTitles(titles, ())
    names = list(dict.fromkeys(name for levels in rows.values() for name in levels))
    varied_names = [name for name in names if len({levels.get(name) for levels in rows.values()}) > 1]
    first = next(iter(rows.values()))
    shared_texts = tuple(parameter_text(name, first[name]) for name in names if name not in varied_names)
    for name, levels in rows.items():
        texts = [parameter_text(key, levels[key]) for key in varied_names if levels.get(key, str(None)) != str(None)]
        title = workload_title(differing_summaries[name].workload)
        titles[name] = f"{title}: {', '.join(texts)}" if texts else title
    return JobTitles(titles, shared_texts)


def cost_view(
    runs: Sequence[Run],
    book: PriceBook,
    *,
    decisions: Sequence[Decision] = (),
    years: float = 3,
    rounding: Rounding = "none",
    baseline: str | None = None,
    similar: Sequence[Run] = (),
) -> CostView:
    """Return the cost tables of ``runs``.

    ``decisions``: decisions over these runs and prices. Only decisions on layouts are used; without them, there are no
    ratios. ``baseline``: used without a decision; None: the first layout. ``similar``: runs of the same jobs, including
    ``runs``, whose spread applies where a row has few runs; empty: ``runs`` alone.

    Raises RepositoryError when no run counts, SpecificationError when the book prices no layout.
    """
    timed_summaries = _level_summaries(runs)
    if not timed_summaries:
        raise RepositoryError(
            "there is no valid run to price", hint="`assay runs` lists the runs and why they do not count"
        )
    counts = {
        layout: counts_of(runs, layout) for layout in dict.fromkeys(summary.level for summary, _ in timed_summaries)
    }
    bills, unpriced = _bills(book, counts, years)
    summaries = tuple(summary for summary, _ in timed_summaries if summary.level in bills)
    runtimes = _runtimes(timed_summaries, _level_summaries(similar) if similar else timed_summaries)
    prices = {layout: bill.total for layout, bill in bills.items()}
    on_layouts = [decision for decision in decisions if decision.factor == LAYOUT_FACTOR]
    answer = on_layouts[0] if on_layouts else None
    first = answer.baseline if answer else baseline
    if first not in bills:
        first = next(layout for layout in levels_of(runs, LAYOUT_FACTOR) if layout in bills)
    capacity_tb = {layout: _capacity_tb(book, counts[layout]) for layout in bills}
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
        rows=tuple(
            job_cost_rows(
                {key: runtime for key, runtime in runtimes.items() if key[1] in bills},
                prices,
                currency=book.currency,
                years=years,
                rounding=rounding,
            )
        ),
        ratios=tuple(_ratios(on_layouts, bills)),
        performance=tuple(_performance(answer, bills, capacity_tb)) if answer else (),
        unpriced=unpriced,
    )
