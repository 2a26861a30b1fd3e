"""Compose the figures of single configurations and of their costs, with captions.

In: a report and the colours of its options. Out: figures; the writers of documents render them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.interfaces.charts.costs import cost_bars
from assay.interfaces.charts.drawing.style import FULL_PX
from assay.interfaces.charts.single_runs.disks import disk_traffic_areas
from assay.interfaces.charts.single_runs.runs import request_sizes, task_occupancy, task_timeline, time_shares
from assay.interfaces.charts.times import phase_timeline, runtime_bars, throughput_bars
from assay.interfaces.report.output.document import ReportFigure
from assay.questions.report.values import Report, ReportSection, RunView
from assay.text import origins_text, slug

_OF_RUN = "of the run nearest to the median of each configuration"


@dataclass(frozen=True, slots=True)
class SectionFigures:
    """Figures of one workload; a figure without data is None."""

    runtime: ReportFigure | None
    throughput: ReportFigure | None
    phases: ReportFigure | None
    traffic: ReportFigure | None
    shares: ReportFigure | None
    occupancy: ReportFigure | None
    timelines: tuple[ReportFigure, ...]
    """A timeline for each run with task attempts."""
    requests: ReportFigure | None


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of a report: for each workload, and the cost per job (None without prices)."""

    sections: tuple[SectionFigures, ...]
    cost: ReportFigure | None


def _section(section: ReportSection, name: str, palette: Mapping[str, str]) -> SectionFigures:
    summaries_with_runs = [summary for summary in section.summaries if summary.n]
    origin = f"{origins_text((s.origin, s.lab_scale) for s in summaries_with_runs).capitalize()}."
    runs = ", ".join(f"{s.level}: {s.n}" for s in summaries_with_runs)
    has_rates = any(rate is not None for s in summaries_with_runs for rate in s.throughputs_mb_per_s.values())
    has_phases = any(s.phases for s in summaries_with_runs)
    series = {traffic.level: traffic.series for traffic in section.traffic}
    devices = "; ".join(f"{t.level}: {', '.join(dict.fromkeys(s.device for s in t.series))}" for t in section.traffic)
    shares = {view.level: view.detail.breakdown for view in section.views}
    views_with_tasks = [view for view in section.views if view.timeline.placed]
    tasks = {view.level: view.occupancy for view in views_with_tasks}
    uses = {
        view.level: view.detail.by_purpose
        for view in section.views
        if any(u.transfers.read_request_bytes or u.transfers.write_request_bytes for u in view.detail.by_purpose)
    }
    end_s = max((view.duration_s for view in views_with_tasks), default=0.0)
    runtime = ReportFigure(
        f"{name}-run-time",
        lambda width: runtime_bars(summaries_with_runs, palette, width),
        f"Run time: geometric mean, 95 % interval, and a ring for each run ({runs}). {origin}",
    )
    throughput = ReportFigure(
        f"{name}-throughput",
        lambda width: throughput_bars(summaries_with_runs, palette, width),
        f"Throughput by name, median of the runs ({runs}). {origin}",
    )
    phases = ReportFigure(
        f"{name}-phases",
        lambda width: phase_timeline(summaries_with_runs, palette, width),
        f"Phases: median begin and end ({runs}). Phases overlap. {origin}",
    )
    traffic = ReportFigure(
        f"{name}-disk-traffic",
        lambda width: disk_traffic_areas(series, palette, width),
        "Disk traffic of the run nearest to the median of each configuration, summed over the nodes; all panels "
        f"have the same axes. Shades are devices, from below: {devices}. {origin}",
        panels=True,
    )
    shares_figure = ReportFigure(
        f"{name}-where-time-went",
        lambda width: time_shares(shares, width),
        f"Time {_OF_RUN}, by phase. Overlapping phases share time by their number of tasks. {origin}",
    )
    occupancy = ReportFigure(
        f"{name}-tasks-in-each-phase",
        lambda width: task_occupancy(tasks, width),
        f"Tasks in each phase over time, {_OF_RUN}. {origin}",
        FULL_PX,
    )
    requests = ReportFigure(
        f"{name}-request-sizes",
        lambda width: request_sizes(uses, palette, width),
        f"Mean size of the requests that reached the disks, {_OF_RUN}. {origin}",
    )
    return SectionFigures(
        runtime=runtime if summaries_with_runs else None,
        throughput=throughput if has_rates else None,
        phases=phases if has_phases else None,
        traffic=traffic if series else None,
        shares=shares_figure if shares else None,
        occupancy=occupancy if tasks else None,
        timelines=tuple(_timeline(view, end_s, name) for view in views_with_tasks),
        requests=requests if uses else None,
    )


def _timeline(view: RunView, end_s: float, name: str) -> ReportFigure:
    timeline = view.timeline
    nodes_text = (
        f" The first {timeline.nodes_shown} of {timeline.nodes} nodes." if timeline.nodes_shown < timeline.nodes else ""
    )
    return ReportFigure(
        f"{name}-containers-{slug(view.level)}",
        lambda width: task_timeline(timeline.placed, end_s, width),
        f"{view.level}: task attempts by node and container.{nodes_text} Run {view.run_id}.",
    )


def figures_of(report: Report, palette: Mapping[str, str]) -> Figures:
    """Return the figures of single configurations and of the cost per job."""
    cost = None
    if report.job_costs is not None:
        view = report.job_costs
        cost = ReportFigure(
            "cost-per-job",
            lambda width: cost_bars(view.rows, palette, view.titles_of(view.rows).by_workload, width),
            f"Cost of a job over {view.years:g} years of back-to-back use, with the 95 % interval of the run time.",
            FULL_PX,
        )
    sections = report.configurations.sections if report.configurations else ()
    names = [slug(section.title) for section in sections]
    unique_names = [name if names.count(name) == 1 else f"{name}-{number}" for number, name in enumerate(names, 1)]
    return Figures(tuple(_section(*pair, palette) for pair in zip(sections, unique_names, strict=True)), cost)
