"""Which charts a report shows, with their captions.

In: the report's content. Out: figures as HTML. One configuration has one colour in all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from assay.analysis.groups import levels_of
from assay.charts.disks import disk_traffic_areas
from assay.charts.money import cost_bars
from assay.charts.runs import request_sizes, task_occupancy, task_timeline, time_shares
from assay.charts.style import FULL_PX, colours
from assay.charts.times import phase_timeline, runtime_bars, speedup_forest, throughput_bars
from assay.model.plan import LAYOUT_FACTOR
from assay.report.content import ReportContent, RunView, Section
from assay.report.drawing import Drawer
from assay.report.words import WORKLOAD_TITLES, origins_text


@dataclass(frozen=True, slots=True)
class SectionFigures:
    """The figures of one workload; None where there is nothing to draw."""

    runtime: Markup | None
    throughput: Markup | None
    phases: Markup | None
    traffic: Markup | None
    shares: Markup | None
    occupancy: Markup | None
    timelines: tuple[Markup, ...]
    """One for each of the section's views that has task attempts."""
    requests: Markup | None


@dataclass(frozen=True, slots=True)
class Figures:
    """All figures of a report."""

    speedups: Markup | None
    sections: tuple[SectionFigures, ...]
    cost: Markup | None


def _section(section: Section, palette: dict[str, str], drawer: Drawer) -> SectionFigures:
    counted = [summary for summary in section.summaries if summary.n]
    origin = origins_text((s.origin, s.lab_scale) for s in counted)
    runs = ", ".join(f"{s.level}: {s.n}" for s in counted)
    has_rates = any(rate is not None for s in counted for rate in s.throughputs_mb_per_s.values())
    has_phases = any(s.phases for s in counted)
    series = {traffic.level: traffic.series for traffic in section.traffic}
    devices = "; ".join(f"{t.level}: {', '.join(dict.fromkeys(s.device for s in t.series))}" for t in section.traffic)
    return SectionFigures(
        runtime=drawer.draw(
            lambda width: runtime_bars(counted, palette, width),
            f"Run time: geometric mean, 95 % interval, and a ring for each run ({runs}). {origin.capitalize()}.",
        )
        if counted
        else None,
        throughput=drawer.draw(
            lambda width: throughput_bars(counted, palette, width),
            f"Throughput by name, median of the runs ({runs}). {origin.capitalize()}.",
        )
        if has_rates
        else None,
        phases=drawer.draw(
            lambda width: phase_timeline(counted, palette, width),
            f"Phases: median begin and end ({runs}). Phases overlap. {origin.capitalize()}.",
        )
        if has_phases
        else None,
        traffic=drawer.draw(
            lambda width: disk_traffic_areas(series, palette, width),
            "Disk traffic of the run nearest to the median of each configuration, summed over the nodes; all panels "
            f"have the same axes. Shades are devices, from below: {devices}. {origin.capitalize()}.",
        )
        if series
        else None,
        **_views(section, palette, drawer, origin),
    )


def _views(section: Section, palette: dict[str, str], drawer: Drawer, origin: str) -> dict[str, Any]:
    """Return the figures of one run of each configuration."""
    views = section.views
    attempted = [view for view in views if view.timeline.placed]
    whose = "of the run nearest to the median of each configuration"
    shares = {view.level: view.detail.breakdown for view in views}
    tasks = {view.level: view.occupancy for view in attempted}
    uses = {view.level: view.detail.by_purpose for view in views if _has_requests(view)}
    end_s = max((view.duration_s for view in attempted), default=0.0)
    return {
        "shares": drawer.draw(
            lambda width: time_shares(shares, width),
            f"Time {whose}, divided among phases: moments that several shared go to each by its tasks. "
            f"{origin.capitalize()}.",
        )
        if shares
        else None,
        "occupancy": drawer.draw(
            lambda width: task_occupancy(tasks, width),
            f"Tasks in each phase over time, {whose}. {origin.capitalize()}.",
            wide_px=FULL_PX,
        )
        if tasks
        else None,
        "timelines": tuple(_timeline(view, end_s, drawer) for view in attempted),
        "requests": drawer.draw(
            lambda width: request_sizes(uses, palette, width),
            f"Mean size of the requests that reached the disks, {whose}. {origin.capitalize()}.",
        )
        if uses
        else None,
    }


def _has_requests(view: RunView) -> bool:
    return any(u.transfers.read_request_bytes or u.transfers.write_request_bytes for u in view.detail.by_purpose)


def _timeline(view: RunView, end_s: float, drawer: Drawer) -> Markup:
    shown = view.timeline
    part = f" The first {shown.nodes_shown} of {shown.nodes} nodes." if shown.nodes_shown < shown.nodes else ""
    return drawer.draw(
        lambda width: task_timeline(shown.placed, end_s, width),
        f"{view.level}: task attempts by node and container.{part} Run {view.run_id}.",
    )


def draw_figures(content: ReportContent) -> Figures:
    """Return all figures of ``content``."""
    drawer = Drawer()
    names = [*content.levels, *(name for name in levels_of(content.runs, LAYOUT_FACTOR) if name not in content.levels)]
    palette = colours(names)
    comparisons = [c for section in content.sections for c in section.comparisons if c.ratio is not None]
    speedups = cost = None
    if comparisons:
        speedups = drawer.draw(
            lambda width: speedup_forest(comparisons, palette, WORKLOAD_TITLES, width),
            f"Speedup over {content.baseline}: dot and 95 % interval, on a logarithmic axis. "
            "The dashed line is no difference.",
            wide_px=FULL_PX,
        )
    if content.cost is not None:
        view = content.cost
        cost = drawer.draw(
            lambda width: cost_bars(view.rows, palette, view.titles, width),
            f"Cost of one job over {view.years:g} years of back-to-back use, with the interval that "
            "comes from the run time.",
            wide_px=FULL_PX,
        )
    return Figures(speedups, tuple(_section(section, palette, drawer) for section in content.sections), cost)
