"""A report that shows each configuration by itself: which answer, tiles, sections, and how it was measured.

In: runs, the factor and its baseline, a way to get a run's trace, and a price book if there is one. Out: a
:class:`SingleReport`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from assay import __version__
from assay.compare.comparison import Comparison, compare, most_telling
from assay.compare.summary import LevelSummary
from assay.compare.threats import threats
from assay.compare.verdict import Conclusion
from assay.errors import SpecificationError
from assay.explain.devices import Purpose
from assay.explain.limits import Limits
from assay.explain.phases import Occupancy, occupancy, rank
from assay.explain.profile import Profile, profile
from assay.explain.run_detail import RunDetail
from assay.explain.tasks import Timeline, timeline
from assay.explain.traffic import TrafficSeries, disk_traffic, grid_step_s
from assay.model.plan import LAYOUT_FACTOR
from assay.model.price import PriceBook
from assay.model.run import Run, RunStatus
from assay.model.trace import Trace
from assay.questions.job_cost import CostView, cost_view
from assay.questions.limits import limits_of_seen
from assay.questions.report_parts import TILES_MAX, Fact, Report, Tile, faster, sure_of, tile_of
from assay.questions.whole_run import WholeRun
from assay.statistics.factors import levels_of
from assay.statistics.run_table import table_of
from assay.wording.language import moment, plural
from assay.wording.ratios import format_ratio, interval, ratio
from assay.wording.titles import origins_text, scale_text, workload_title

COMPARISONS_MAX = 40


@dataclass(frozen=True, slots=True)
class RunTraffic:
    """Disk traffic of one run."""

    level: str
    run_id: str
    series: tuple[TrafficSeries, ...]


@dataclass(frozen=True, slots=True)
class RunView:
    """One run of a configuration, looked at closely."""

    level: str
    run_id: str
    duration_s: float
    detail: RunDetail
    occupancy: tuple[Occupancy, ...]
    timeline: Timeline
    limits: Limits | None = None
    """What limited it; None where no trace tells."""

    @property
    def shares_disks(self) -> bool:
        """Return whether some device holds HDFS blocks and intermediate data."""
        return any(use.purpose is Purpose.SHARED for use in self.detail.by_purpose)


@dataclass(frozen=True, slots=True)
class WorkloadSection:
    """One workload: its comparisons, every configuration's summary, and a close look at one run of each.

    The baseline comes first. ``traffic`` is empty without traces, ``views`` without task attempts and traces.
    """

    title: str
    comparisons: tuple[Comparison, ...]
    summaries: tuple[LevelSummary, ...]
    traffic: tuple[RunTraffic, ...]
    views: tuple[RunView, ...] = ()

    def phase_names(self) -> list[str]:
        """Return the phases that any of the views has, in their order."""
        names = {phase.name for view in self.views for phase in view.detail.breakdown.phases}
        return sorted(names, key=rank)

    def has_throughput(self, name: str) -> bool:
        """Return whether any configuration has this throughput."""
        return any(summary.throughputs_mb_per_s.get(name) is not None for summary in self.summaries)


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleReport(Report):
    """All that a report on single configurations shows."""

    layouts: tuple[str, ...]
    """What each layout's name stands for, a sentence each."""
    sections: tuple[WorkloadSection, ...]
    cost: CostView | None
    runs: tuple[Run, ...]
    profile: Profile | None = None
    """What each workload does with data and CPU; None where the runs do not tell."""


def _answer(best: Comparison | None, baseline: str) -> tuple[str, str]:
    if best is None:
        return f"There is nothing to compare with {baseline} yet.", "All runs so far are of one configuration."
    title = workload_title(best.workload, best.context)
    if best.ratio is None:
        return f"{title}: not enough runs to compare {best.candidate} with {best.baseline}.", best.verdict
    if best.low is None or best.high is None:
        return f"Not enough runs to say how {best.candidate} compares with {best.baseline}.", best.verdict
    how, sure = format_ratio(best.ratio), sure_of(best)
    if best.conclusion is Conclusion.FASTER:
        return faster(best, f" on {title}"), sure
    if best.conclusion is Conclusion.SLOWER:
        return f"{best.candidate} is slower than {best.baseline} on {title}: {how} times as fast.", sure
    if best.conclusion is Conclusion.NO_DIFFERENCE_SHOWN:
        clearest = f"The clearest case is {title}, with a ratio of {how}. {sure}"
        return f"No difference shown between {best.candidate} and {best.baseline}.", clearest
    return f"Not enough runs to be sure how {best.candidate} compares with {best.baseline}.", best.verdict


def _tiles(comparisons: Sequence[Comparison], best: Comparison | None, cost: CostView | None) -> tuple[Tile, ...]:
    shown = sorted((c for c in comparisons if c.ratio is not None), key=lambda c: c is not best)
    tiles = [tile_of(c, f"{workload_title(c.workload, c.context)}, {c.candidate} against {c.baseline}") for c in shown]
    if cost is None or best is None or not cost.ratios:
        return tuple(tiles[:TILES_MAX])
    title = workload_title(best.workload, best.context)
    same = (r for r in cost.ratios if (cost.titles[r.workload], r.candidate) == (title, best.candidate))
    job = next(same, cost.ratios[0])
    change = Tile(
        label=f"Cost of a {cost.titles[job.workload]} job, {job.candidate} against {job.baseline}",
        figure=ratio(job.ratio),
        detail=f"95 % interval {interval(job.ratio_low, job.ratio_high)}, at {ratio(job.price_ratio)} the price",
    )
    return (*tiles[: TILES_MAX - 1], change)


def _step_s(summaries: Sequence[LevelSummary], runs: dict[str, Run]) -> float:
    """Return the step of time that fits the longest of the runs that are shown side by side."""
    shown = [runs[summary.typical_run_id] for summary in summaries if summary.typical_run_id is not None]
    return grid_step_s(max((run.duration_s for run in shown), default=0.0))


def _traffic(
    summaries: Sequence[LevelSummary], runs: dict[str, Run], trace_of: Callable[[str], Trace]
) -> tuple[RunTraffic, ...]:
    found = []
    step_s = _step_s(summaries, runs)
    for summary in summaries:
        if summary.typical_run_id is not None:
            run = runs[summary.typical_run_id]
            series = disk_traffic(trace_of(run.run_id), run.duration_s, step_s=step_s)
            if series:
                found.append(RunTraffic(summary.level, run.run_id, tuple(series)))
    return tuple(found)


def _views(
    summaries: Sequence[LevelSummary], runs: dict[str, Run], observed_of: Callable[[Run], WholeRun] | None
) -> tuple[RunView, ...]:
    if observed_of is None:
        return ()
    found = []
    step_s = _step_s(summaries, runs)
    for summary in summaries:
        if summary.typical_run_id is None:
            continue
        seen = observed_of(runs[summary.typical_run_id])
        if seen.tasks or seen.detail.devices:
            found.append(
                RunView(
                    summary.level,
                    seen.run.run_id,
                    seen.run.duration_s,
                    seen.detail,
                    occupancy(seen.run, seen.tasks, step_s),
                    timeline(seen.tasks),
                    limits_of_seen(seen),
                )
            )
    return tuple(found)


def _profile(runs: Sequence[Run]) -> Profile | None:
    found = profile(runs)
    return found if any(row.input_bytes is not None for row in found.rows) else None


def _sections(
    comparisons: Sequence[Comparison],
    runs: dict[str, Run],
    trace_of: Callable[[str], Trace],
    observed_of: Callable[[Run], WholeRun] | None,
) -> tuple[WorkloadSection, ...]:
    sections = []
    for key in dict.fromkeys((c.workload, c.context) for c in comparisons):
        members = tuple(c for c in comparisons if (c.workload, c.context) == key)
        summaries = (members[0].baseline_summary, *(c.candidate_summary for c in members))
        traffic, views = _traffic(summaries, runs, trace_of), _views(summaries, runs, observed_of)
        sections.append(WorkloadSection(workload_title(*key), members, summaries, traffic, views))
    return tuple(sections)


def _cold_text(valid: Sequence[Run]) -> str:
    cold = sum(run.cold is True for run in valid)
    left = [cache.cached_after_bytes for run in valid for cache in run.caches if cache.dropped]
    residue = f" A node kept {median(left) / 1e6:,.0f} MB cached after a drop (median)." if left else ""
    return f"Proven cold on every node before {cold} of {plural(len(valid), 'valid run')}.{residue}"


def _order_text(runs: Sequence[Run]) -> str:
    blocks: dict[tuple[str, int], set[str]] = {}
    for run in runs:
        blocks.setdefault((run.campaign_id, run.block), set()).add(f"{run.workload} {run.layout} {run.levels}")
    if all(len(configurations) == 1 for configurations in blocks.values()):
        return ""  # nothing says that they were, as of imported runs
    campaigns = len({run.campaign_id for run in runs})
    return (
        f"Interleaved in {plural(len(blocks), 'block')}, so that slow changes of the machine hit both sides alike; "
        f"{plural(campaigns, 'campaign')}."
    )


def _cluster_text(runs: Sequence[Run]) -> str:
    texts = []
    for name in dict.fromkeys(run.cluster for run in runs):
        example = next(run for run in runs if run.cluster == name)
        facts = example.recorded.cluster
        text = f"{name}, {plural(facts.workers, 'worker')}" if facts and facts.workers is not None else name
        scale = example.lab_scale
        texts.append(f"{text}, emulated on one machine at scale {scale_text(scale)}" if scale is not None else text)
    return "; ".join(texts)


def _places(directories: Mapping[str, int]) -> str:
    names = [name if count == 1 else f"{name} ({count} directories)" for name, count in directories.items()]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _layout_texts(runs: Sequence[Run]) -> tuple[str, ...]:
    """Return where each layout keeps what, from the first run that recorded it."""
    texts: dict[str, str] = {}
    for run in runs:
        facts = None if run.layout in texts else run.recorded.cluster
        if facts is None or facts.layout is None:
            continue
        hdfs, intermediate = _places(facts.layout.hdfs), _places(facts.layout.intermediate)
        kept = f"HDFS blocks and intermediate data on {hdfs}"
        apart = f"HDFS blocks on {hdfs}, intermediate data on {intermediate}"
        texts[run.layout] = f"{run.layout}: {kept if hdfs == intermediate else apart} of every worker."
    return tuple(texts.values())


def _method(runs: Sequence[Run], comparisons: Sequence[Comparison]) -> tuple[Fact, ...]:
    valid = [run for run in runs if run.status is RunStatus.VALID]
    statuses = Counter(run.status.value for run in runs)
    starts = sorted(run.started_at for run in runs if run.started_at)
    engines = dict.fromkeys(f"{run.engine.capitalize()} {run.engine_version}" for run in runs)
    baselines = dict.fromkeys(run.baseline_id for run in runs if run.baseline_id)
    methods = dict.fromkeys(c.method for c in comparisons if c.ratio_low is not None)
    facts = [
        Fact("Plan", ", ".join(dict.fromkeys(run.plan for run in runs))),
        Fact("Cluster", _cluster_text(runs)),
        Fact("Layouts", " ".join(_layout_texts(runs))),
        Fact("Engine", ", ".join(engines)),
        Fact("Runs", f"{len(runs)}: " + ", ".join(f"{number} {status}" for status, number in statuses.items())),
        Fact("When", f"{moment(starts[0])} to {moment(starts[-1])} (UTC)" if starts else ""),
        Fact("Order", _order_text(runs)),
        Fact("Caches", _cold_text(valid) if valid else ""),
        Fact(
            "Ratio", "Baseline time over candidate time, of geometric means. A run's time is what its user waits for."
        ),
        Fact("Interval", f"95 %, by {' and '.join(methods)}." if methods else ""),
        Fact(
            "Devices and links", f"Measured bare before the runs: baseline {', '.join(baselines)}." if baselines else ""
        ),
    ]
    return tuple(fact for fact in facts if fact.text)


def single_report(
    runs: Sequence[Run],
    *,
    factor: str,
    baseline: str,
    trace_of: Callable[[str], Trace],
    observed_of: Callable[[Run], WholeRun] | None = None,
    book: PriceBook | None = None,
    years: float = 3,
) -> SingleReport:
    """Return the report. ``trace_of`` gives a run's trace by its id, empty when there is none; ``observed_of`` all that
    lies beside a run, for a close look at one run of each configuration.

    Raises SpecificationError when the price book lacks a layout, or there are more comparisons than a page can show.
    """
    comparisons = compare(runs, factor=factor, baseline=baseline)
    if len(comparisons) > COMPARISONS_MAX:
        raise SpecificationError(
            f"a page with {len(comparisons)} comparisons is not read by anybody; at most {COMPARISONS_MAX} fit one",
            hint=f"put matched runs together: assay report --matched --by {factor}; or choose with --workload",
        )
    best = most_telling(comparisons)
    of_layouts = comparisons if factor == LAYOUT_FACTOR else ()
    cost = cost_view(runs, book, years=years, baseline=baseline, comparisons=of_layouts) if book else None
    answer, detail = _answer(best, baseline)
    levels = [baseline, *(level for level in levels_of(runs, factor) if level != baseline)]
    by_id = {run.run_id: run for run in runs}
    return SingleReport(
        title=f"{' and '.join(levels[1:]) or 'Nothing'} against {baseline}",
        answer=answer,
        detail=detail,
        layouts=_layout_texts(runs),
        origin=origins_text((run.origin, run.lab_scale) for run in runs),
        factor=factor,
        baseline=baseline,
        levels=tuple(levels),
        tiles=_tiles(comparisons, best, cost),
        sections=_sections(comparisons, by_id, trace_of, observed_of),
        cost=cost,
        method=_method(runs, comparisons),
        threats=tuple(threats(table_of(runs), comparisons, [w for c in comparisons for w in c.warnings], runs)),
        runs=tuple(runs),
        assay_version=__version__,
        profile=_profile(runs),
    )
