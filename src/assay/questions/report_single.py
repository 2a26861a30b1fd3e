"""A report that shows each configuration by itself: which answer, tiles, sections, and how it was measured.

In: runs, the factor and its baseline, a way to get a run's trace, and a price book if there is one. Out: a
:class:`SingleReport`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from assay import __version__
from assay.compare.comparison import compare
from assay.compare.result import SpeedupResult, clearest
from assay.compare.summary import LevelSummary
from assay.compare.threats import threats
from assay.errors import SpecificationError
from assay.explain.devices import Purpose
from assay.explain.limits import Limits
from assay.explain.phases import Occupancy, occupancy, rank
from assay.explain.profile import Profile, profile
from assay.explain.reasons import SideSeen, reasons
from assay.explain.run_detail import RunDetail
from assay.explain.stage_tables import stage_sums_table, stages_table
from assay.explain.tasks import Timeline, timeline
from assay.explain.traffic import TrafficSeries, disk_traffic, grid_step_s
from assay.model import LAYOUT_FACTOR, Origin, PriceBook, Run, RunStatus, Trace
from assay.questions.decisions.values import Decision
from assay.questions.job_cost import CostView, cost_view
from assay.questions.limits import limits_of_seen
from assay.questions.report_parts import Fact
from assay.questions.report_summary import Report, decision_facts
from assay.questions.result_sentences import name_of
from assay.questions.whole_run import WholeRun
from assay.statistics import levels_of, table_of
from assay.wording import TextTable, moment, origins_text, plural, scale_text, workload_title

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
    stages: tuple[TextTable, ...] = ()
    """Of a Spark program: the graph of its stages, and what they moved."""

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
    comparisons: tuple[SpeedupResult, ...]
    summaries: tuple[LevelSummary, ...]
    traffic: tuple[RunTraffic, ...]
    views: tuple[RunView, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the others are faster or slower than the first: sentences on one typical run of each."""
        return reasons([SideSeen(view.level, view.duration_s, view.detail) for view in self.views]).sentences

    def phase_names(self) -> list[str]:
        """Return the phases that any of the views has, in their order."""
        return sorted({phase.name for view in self.views for phase in view.detail.breakdown.phases}, key=rank)

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


def _why(sections: Sequence[WorkloadSection], best: SpeedupResult | None) -> tuple[Fact, ...]:
    """Return why the clearest case is as it is, of one typical run each."""
    title = name_of(best) if best else ""
    section = next((section for section in sections if section.title == title), None)
    told = section.reasons if section else ()
    return (Fact(f"Why, on {title}", " ".join(told)),) if told else ()


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
                    (stages_table(seen.run), stage_sums_table(seen.run)) if seen.run.stages else (),
                )
            )
    return tuple(found)


def _profile(runs: Sequence[Run]) -> Profile | None:
    found = profile(runs)
    return found if any(row.input_bytes is not None for row in found.rows) else None


def _sections(
    comparisons: Sequence[SpeedupResult],
    runs: dict[str, Run],
    trace_of: Callable[[str], Trace],
    observed_of: Callable[[Run], WholeRun] | None,
) -> tuple[WorkloadSection, ...]:
    sections = []
    for key in dict.fromkeys((c.group, c.context) for c in comparisons):
        members = tuple(c for c in comparisons if (c.group, c.context) == key)
        first = members[0].runs
        if first is None:
            continue
        summaries = (first.baseline, *(c.runs.candidate for c in members if c.runs))
        traffic, views = _traffic(summaries, runs, trace_of), _views(summaries, runs, observed_of)
        sections.append(WorkloadSection(workload_title(*key), members, summaries, traffic, views))
    return tuple(sections)


def _cold_text(valid: Sequence[Run]) -> str:
    if all(run.origin is Origin.SIMULATED for run in valid):
        return "Simulated; each run starts with empty caches."
    cold = sum(run.cache_state == "cold" for run in valid)
    left = [cache.cached_after_bytes for run in valid for cache in run.caches if cache.dropped]
    residue = f" A node kept {median(left) / 1e6:,.0f} MB cached after a drop (median)." if left else ""
    return f"Proven cold on every node before {cold} of {plural(len(valid), 'valid run')}.{residue}"


def _order_text(runs: Sequence[Run]) -> str:
    blocks: dict[tuple[str, int], set[str]] = {}
    for run in runs:
        blocks.setdefault((run.campaign_id, run.block), set()).add(f"{run.workload} {run.layout} {run.levels}")
    if all(len(configurations) == 1 for configurations in blocks.values()):
        return ""  # nothing says that they were, as of imported runs
    if all(run.origin is Origin.SIMULATED for run in runs):
        return ""  # in virtual time no run disturbs another
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
        made = "simulated" if example.origin is Origin.SIMULATED else "emulated on one machine"
        texts.append(f"{text}, {made} at scale {scale_text(scale)}" if scale is not None else text)
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


def _interval_text(methods: Iterable[str], comparisons: Sequence[SpeedupResult]) -> str:
    text = f"95 %, by {' and '.join(methods)}." if methods else ""
    simulated = any(c.is_simulated for c in comparisons if c.low is not None)
    return f"{text[:-1]}; of simulated runs never narrower than the simulator's own error." if simulated else text


def _method(runs: Sequence[Run], comparisons: Sequence[SpeedupResult]) -> tuple[Fact, ...]:
    valid = [run for run in runs if run.status is RunStatus.VALID]
    statuses = Counter(run.status.value for run in runs)
    starts = sorted(run.started_at for run in runs if run.started_at)
    engines = dict.fromkeys(f"{run.engine.capitalize()} {run.engine_version}" for run in runs)
    baselines = dict.fromkeys(run.baseline_id for run in runs if run.baseline_id)
    methods = dict.fromkeys(c.method for c in comparisons if c.low is not None)
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
        Fact("Interval", _interval_text(methods, comparisons)),
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
    decisions: Sequence[Decision],
    trace_of: Callable[[str], Trace],
    observed_of: Callable[[Run], WholeRun] | None = None,
    book: PriceBook | None = None,
    years: float = 3,
) -> SingleReport:
    """Return the report. ``decisions``: what the runs decide on ``factor``.

    ``trace_of`` gives a run's trace by its id, empty when there is none; ``observed_of`` gives everything recorded
    with a run, for a close look at one run of each configuration.

    Raises SpecificationError when the price book lacks a layout, or there are more comparisons than a page can show.
    """
    comparisons = compare(runs, factor=factor, baseline=baseline)
    if len(comparisons) > COMPARISONS_MAX:
        raise SpecificationError(
            f"a page with {len(comparisons)} comparisons is not read by anybody; at most {COMPARISONS_MAX} fit one",
            hint=f"put matched runs together: assay report --matched --by {factor}; or choose with --workload",
        )
    best = clearest(comparisons)
    of_layouts = comparisons if factor == LAYOUT_FACTOR else ()
    cost = cost_view(runs, book, years=years, baseline=baseline, comparisons=of_layouts) if book else None
    levels = [baseline, *(level for level in levels_of(runs, factor) if level != baseline)]
    sections = _sections(comparisons, {run.run_id: run for run in runs}, trace_of, observed_of)
    return SingleReport(
        title=f"{' and '.join(levels[1:]) or 'Nothing'} against {baseline}",
        decisions=tuple(decisions),
        layouts=_layout_texts(runs),
        origin=origins_text((run.origin, run.lab_scale) for run in runs),
        factor=factor,
        baseline=baseline,
        levels=tuple(levels),
        points=(*decision_facts(decisions), *_why(sections, best)),
        sections=sections,
        cost=cost,
        method=_method(runs, comparisons),
        threats=tuple(threats(table_of(runs), comparisons, [w for c in comparisons for w in c.warnings], runs)),
        runs=tuple(runs),
        assay_version=__version__,
        profile=_profile(runs),
    )
