"""Which charts a report shows, with their captions.

In: the report's report. Out: figures that are not drawn yet. One configuration has one colour in all of them.
"""

from dataclasses import dataclass

from assay.charts.disks import disk_traffic_areas
from assay.charts.identity import colours_of
from assay.charts.money import cost_bars
from assay.charts.runs import request_sizes, task_occupancy, task_timeline, time_shares
from assay.charts.speedups import row_names, speedup_forest
from assay.charts.style import FULL_PX
from assay.charts.times import phase_timeline, runtime_bars, throughput_bars
from assay.model import LAYOUT_FACTOR
from assay.questions.report_single import RunView, SingleReport, WorkloadSection
from assay.questions.result_sentences import name_of
from assay.report.document import ReportFigure
from assay.statistics import levels_of
from assay.wording import origins_text, slug

_WHOSE = "of the run nearest to the median of each configuration"


@dataclass(frozen=True, slots=True)
class SectionFigures:
    """The figures of one workload; None where there is nothing to draw."""

    runtime: ReportFigure | None
    throughput: ReportFigure | None
    phases: ReportFigure | None
    traffic: ReportFigure | None
    shares: ReportFigure | None
    occupancy: ReportFigure | None
    timelines: tuple[ReportFigure, ...]
    """One for each of the section's views that has task attempts."""
    requests: ReportFigure | None


@dataclass(frozen=True, slots=True)
class Figures:
    """All figures of a report."""

    speedups: ReportFigure | None
    sections: tuple[SectionFigures, ...]
    cost: ReportFigure | None


def palette_of(report: SingleReport) -> dict[str, str]:
    """Return the colour of every configuration that the report shows."""
    layouts = [name for name in levels_of(report.runs, LAYOUT_FACTOR) if name not in report.levels]
    return colours_of([*report.levels, *layouts])


def _section(section: WorkloadSection, name: str, palette: dict[str, str]) -> SectionFigures:
    counted = [summary for summary in section.summaries if summary.n]
    origin = f"{origins_text((s.origin, s.lab_scale) for s in counted).capitalize()}."
    runs = ", ".join(f"{s.level}: {s.n}" for s in counted)
    has_rates = any(rate is not None for s in counted for rate in s.throughputs_mb_per_s.values())
    has_phases = any(s.phases for s in counted)
    series = {traffic.level: traffic.series for traffic in section.traffic}
    devices = "; ".join(f"{t.level}: {', '.join(dict.fromkeys(s.device for s in t.series))}" for t in section.traffic)
    shares = {view.level: view.detail.breakdown for view in section.views}
    attempted = [view for view in section.views if view.timeline.placed]
    tasks = {view.level: view.occupancy for view in attempted}
    uses = {view.level: view.detail.by_purpose for view in section.views if _has_requests(view)}
    end_s = max((view.duration_s for view in attempted), default=0.0)
    runtime = ReportFigure(
        f"{name}-run-time",
        lambda width: runtime_bars(counted, palette, width),
        f"Run time: geometric mean, 95 % interval, and a ring for each run ({runs}). {origin}",
    )
    throughput = ReportFigure(
        f"{name}-throughput",
        lambda width: throughput_bars(counted, palette, width),
        f"Throughput by name, median of the runs ({runs}). {origin}",
    )
    phases = ReportFigure(
        f"{name}-phases",
        lambda width: phase_timeline(counted, palette, width),
        f"Phases: median begin and end ({runs}). Phases overlap. {origin}",
    )
    traffic = ReportFigure(
        f"{name}-disk-traffic",
        lambda width: disk_traffic_areas(series, palette, width),
        "Disk traffic of the run nearest to the median of each configuration, summed over the nodes; all panels "
        f"have the same axes. Shades are devices, from below: {devices}. {origin}",
        panels=True,
    )
    time_went = ReportFigure(
        f"{name}-where-time-went",
        lambda width: time_shares(shares, width),
        f"Time {_WHOSE}, divided among phases: moments that several shared go to each by its tasks. {origin}",
    )
    occupancy = ReportFigure(
        f"{name}-tasks-in-each-phase",
        lambda width: task_occupancy(tasks, width),
        f"Tasks in each phase over time, {_WHOSE}. {origin}",
        FULL_PX,
    )
    requests = ReportFigure(
        f"{name}-request-sizes",
        lambda width: request_sizes(uses, palette, width),
        f"Mean size of the requests that reached the disks, {_WHOSE}. {origin}",
    )
    return SectionFigures(
        runtime=runtime if counted else None,
        throughput=throughput if has_rates else None,
        phases=phases if has_phases else None,
        traffic=traffic if series else None,
        shares=time_went if shares else None,
        occupancy=occupancy if tasks else None,
        timelines=tuple(_timeline(view, end_s, name) for view in attempted),
        requests=requests if uses else None,
    )


def _has_requests(view: RunView) -> bool:
    return any(u.transfers.read_request_bytes or u.transfers.write_request_bytes for u in view.detail.by_purpose)


def _timeline(view: RunView, end_s: float, name: str) -> ReportFigure:
    shown = view.timeline
    part = f" The first {shown.nodes_shown} of {shown.nodes} nodes." if shown.nodes_shown < shown.nodes else ""
    return ReportFigure(
        f"{name}-containers-{slug(view.level)}",
        lambda width: task_timeline(shown.placed, end_s, width),
        f"{view.level}: task attempts by node and container.{part} Run {view.run_id}.",
    )


def figures_of(report: SingleReport) -> Figures:
    """Return all figures of ``report``."""
    palette = palette_of(report)
    comparisons = [c for section in report.sections for c in section.comparisons if c.ratio is not None]
    speedups = cost = None
    if comparisons:
        titles = [name_of(c) for c in comparisons]
        named = list(zip(row_names(comparisons, titles), comparisons, strict=True))
        speedups = ReportFigure(
            "speedups",
            lambda width: speedup_forest(named, palette, width),
            f"Speedup over {report.baseline}: dot and 95 % interval, on a logarithmic axis. "
            "The dashed line is no difference.",
            FULL_PX,
        )
    if report.cost is not None:
        view = report.cost
        cost = ReportFigure(
            "cost-per-job",
            lambda width: cost_bars(view.rows, palette, view.titles, width),
            f"Cost of one job over {view.years:g} years of back-to-back use, with the interval that "
            "comes from the run time.",
            FULL_PX,
        )
    names = [f"{slug(section.title)}" for section in report.sections]
    unique = [name if names.count(name) == 1 else f"{name}-{place}" for place, name in enumerate(names, 1)]
    return Figures(speedups, tuple(_section(s, n, palette) for s, n in zip(report.sections, unique, strict=True)), cost)
