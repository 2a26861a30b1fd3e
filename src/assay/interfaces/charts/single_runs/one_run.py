"""Draw a single run over time: phases, tasks and series of its trace, in panels with one time axis.

In: phases, attempts in their lanes and thinned series (seconds from the run's start). Out: Vega-Lite specifications.
Nothing is computed here. A line's colour shows its node, and its dashes show its device. They are assigned from all
nodes and devices of the run, so they do not change when you select a span or a node.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis.run_profile.limits.run_limits import LimitSpan
from assay.analysis.run_profile.phases import task_phases
from assay.analysis.run_profile.series import Series
from assay.analysis.run_profile.tables.limits_tables import LIMIT_TITLES
from assay.analysis.run_profile.tasks import PlacedTask
from assay.interfaces.charts.drawing.style import (
    FULL_PX,
    LIMIT_COLOURS,
    PALETTE,
    PHASE_COLOURS,
    Spec,
    chart,
    colour_scale,
)
from assay.model import Phase
from assay.questions.runs.code_profiles.code_over_time import CodeOverTime

TIME_TITLE = "Time since the run's start (s)"
FIRST_LANE_LABEL = "split(datum.label, ' · ')[1] == '1' ? split(datum.label, ' · ')[0] : ''"
"""Expression that names the node at its first lane only."""
LABELS_PX = 112
"""Width of the names next to a panel, in pixels: equal for all panels, so their time axes align."""
DASHES = ([1, 0], [7, 3], [2, 3], [9, 3, 2, 3], [4, 2], [1, 2], [12, 3], [6, 2, 2, 2, 2, 2])
_DASHES_SIZE = 1200
"""Size of a legend symbol, in square pixels. Its length is the square root, enough for the longest dashes."""
_STRIP_PX = 28
"""Height of the strip of limiting resources, in pixels."""
_LIMIT_COLUMNS = 5
"""Number of columns of the legend of limiting resources."""
_PHASE_PX = 20
"""Height of a row in the panel of phases, in pixels."""
_LANE_PX = 14
"""Maximum height of a lane in the panel of tasks, in pixels."""
_LANES_PX = 360
"""Maximum height of the task panel, in pixels; with more lanes, each lane is thinner."""
_CODE_PX = 16
"""Height of a row in the panel of code, in pixels."""
_CATEGORIES_MAX = 10
"""Maximum number of categories of code, largest first."""
_LINES_PX = 110
"""Height of a panel of lines, in pixels."""


@dataclass(frozen=True, slots=True)
class Lines:
    """A panel of lines. ``nodes`` and ``devices``: all nodes and devices of the run, in order, shown or not."""

    title: str
    series: Sequence[Series]
    nodes: Sequence[str]
    devices: Sequence[str]


@dataclass(frozen=True, slots=True)
class OverTime:
    """Data of a run to draw, from ``start_s`` to ``end_s`` (seconds from the run's start)."""

    start_s: float
    end_s: float
    phases: Sequence[Phase] = ()
    placed_tasks: Sequence[PlacedTask] = ()
    tasks_title: str = "Tasks, a lane for each container"
    lines: Sequence[Lines] = ()
    limits: Sequence[LimitSpan] = ()
    code: CodeOverTime | None = None


def device_of(series: Series) -> str:
    """Return the device of a series; empty if its subject names no device."""
    return series.subject.partition(":")[2]


def over_time(window: OverTime, width_px: int = FULL_PX) -> Spec:
    """Return a chart with a panel for each kind of data in ``window`` and one time axis."""
    panels = []
    if window.limits:
        panels.append(_limit_panel(window, width_px))
    if window.phases:
        rows = _spans([(phase.name, phase.name, phase) for phase in window.phases], window)
        order = list(dict.fromkeys(phase.name for phase in window.phases))
        panels.append(_bars("Phases", rows, {"sort": order, "scale": {"domain": order}}, _PHASE_PX, window, width_px))
    if window.placed_tasks:
        panels.append(_task_panel(window, width_px))
    if window.code:
        panels.append(_code_panel(window.code, window, width_px))
    legend_names: set[tuple[str, ...]] = set()
    for lines in window.lines:
        # One legend serves all panels with the same nodes and devices.
        nodes, devices = ("node", *lines.nodes), ("device", *lines.devices)
        panels.append(
            _line_panel(
                lines,
                window,
                width_px,
                has_node_legend=nodes not in legend_names,
                has_device_legend=devices not in legend_names,
            )
        )
        legend_names |= {nodes, devices}
    for panel in panels[1:-1]:
        panel["encoding"]["x"]["axis"] = {"labels": False, "title": None}
    if len(panels) > 1:
        panels[0]["encoding"]["x"]["axis"] = {"orient": "top", "title": None}
    body = {
        "autosize": "pad",
        "spacing": 14,
        "resolve": {"scale": {"color": "independent", "strokeDash": "independent"}},
        "vconcat": panels,
    }
    spec = chart("The run over time: " + ", ".join(str(panel["title"]["text"]) for panel in panels), body)
    axis_y = {"minExtent": LABELS_PX, "maxExtent": LABELS_PX, "labelLimit": LABELS_PX - 10}
    spec["config"] = {
        **spec["config"],
        "axisY": axis_y,
        "title": {"color": "currentColor", "fontSize": 12, "fontWeight": 600, "anchor": "start", "offset": 4},
    }
    return spec


def _x(field: str, window: OverTime) -> Spec:
    return {
        "field": field,
        "type": "quantitative",
        "title": TIME_TITLE,
        "scale": {"domain": [window.start_s, window.end_s], "nice": False, "zero": False},
    }


def _spans(rows: Sequence[tuple[str, str, Phase]], window: OverTime) -> list[Spec]:
    return [
        {"row": row, "phase": name, "start": max(phase.start_s, window.start_s), "end": min(phase.end_s, window.end_s)}
        for row, name, phase in rows
        if phase.end_s >= window.start_s and phase.start_s <= window.end_s
    ]


def _bars(title: str, rows: Sequence[Spec], y: Spec, step_px: float, window: OverTime, width_px: int) -> Spec:
    names = list(dict.fromkeys(row["phase"] for row in rows))
    colours = {name: PHASE_COLOURS.get(name, PALETTE[-1]) for name in names}
    return {
        "title": {"text": title},
        "width": width_px - LABELS_PX,
        "height": {"step": step_px},
        "data": {"values": rows},
        "mark": {"type": "bar", "height": max(1.5, step_px - 3), "cornerRadiusEnd": 0, "clip": True},
        "encoding": {
            "y": {"field": "row", "type": "nominal", "title": None, **y},
            "x": _x("start", window),
            "x2": {"field": "end"},
            "color": {
                "field": "phase",
                "type": "nominal",
                "scale": {"domain": list(colours), "range": list(colours.values())},
                "legend": None,
            },
        },
    }


def _limit_panel(window: OverTime, width_px: int) -> Spec:
    """Return a strip with the limiting resource over time; a limit without a colour is neutral."""
    rows = [
        {"row": title, "phase": title, "start": max(span.start_s, window.start_s), "end": min(span.end_s, window.end_s)}
        for span in window.limits
        for title in (LIMIT_TITLES[span.limit],)
        if span.end_s > window.start_s and span.start_s < window.end_s
    ]
    panel = _bars("What limited most workers", rows, {}, _STRIP_PX, window, width_px)
    colours = {LIMIT_TITLES[span.limit]: LIMIT_COLOURS.get(span.limit, PALETTE[-1]) for span in window.limits}
    panel["encoding"]["y"] = {"datum": "limit", "type": "nominal", "title": None}
    panel["encoding"]["color"] |= {
        "scale": colour_scale(colours),
        "sort": list(colours),
        "legend": {"columns": _LIMIT_COLUMNS},
    }
    return panel


def _task_panel(window: OverTime, width_px: int) -> Spec:
    spans = [
        (f"{attempt.node} · {attempt.lane + 1}", phase.name, phase)
        for attempt in window.placed_tasks
        for phase in task_phases(attempt.task)
        if phase.end_s > phase.start_s
    ]
    slots = [
        f"{node} · {lane + 1}"
        for node, lane in sorted({(attempt.node, attempt.lane) for attempt in window.placed_tasks})
    ]
    step_px = min(_LANE_PX, max(2.0, _LANES_PX / max(1, len(slots))))
    y = {"sort": slots, "scale": {"domain": slots}, "axis": {"labelExpr": FIRST_LANE_LABEL}}
    panel = _bars(window.tasks_title, _spans(spans, window), y, step_px, window, width_px)
    if not {name for _, name, _ in spans} <= {phase.name for phase in window.phases}:
        panel["encoding"]["color"].pop("legend")  # the legend of the phase panel lacks some of these colours
    return panel


def _code_panel(code: CodeOverTime, window: OverTime, width_px: int) -> Spec:
    """Return a heatmap with a row for each category of code; the darker a cell, the more threads executed its code."""
    categories = code.categories[:_CATEGORIES_MAX]
    rows = [
        {
            "row": category.category,
            "start": max(start_s, window.start_s),
            "end": min(start_s + code.interval_s, window.end_s),
            "value": threads,
        }
        for category in categories
        for start_s, threads in zip(code.start_s, category.threads, strict=True)
        if threads and start_s + code.interval_s > window.start_s and start_s < window.end_s
    ]
    order = [category.category for category in categories]
    return {
        "title": {"text": f"Code ({code.kind} profile), mean number of threads; a click shows the stacks"},
        "width": width_px - LABELS_PX,
        "height": {"step": _CODE_PX},
        "data": {"values": rows},
        "mark": {"type": "rect", "clip": True},
        "encoding": {
            "y": {"field": "row", "type": "nominal", "title": None, "sort": order, "scale": {"domain": order}},
            "x": _x("start", window),
            "x2": {"field": "end"},
            "color": {
                "field": "value",
                "type": "quantitative",
                "title": "threads",
                "scale": {"scheme": "oranges", "domainMin": 0},
            },
        },
    }


def _line_panel(
    lines: Lines, window: OverTime, width_px: int, *, has_node_legend: bool, has_device_legend: bool
) -> Spec:
    panel = trace_lines(lines, window.end_s, window.start_s, width_px)
    panel_parts = {name: panel[name] for name in ("data", "mark", "encoding")}
    for channel, has_legend in (("color", has_node_legend), ("strokeDash", has_device_legend)):
        if channel in panel_parts["encoding"] and not has_legend:
            panel_parts["encoding"][channel]["legend"] = None
    panel_parts["encoding"]["y"] |= {"title": None, "axis": {"tickCount": 4}}
    return {"title": {"text": lines_title(lines)}, "width": width_px - LABELS_PX, "height": _LINES_PX, **panel_parts}


def lines_title(lines: Lines) -> str:
    """Return a panel's title with its unit."""
    unit = lines.series[0].unit if lines.series else ""
    return f"{lines.title} ({unit})" if unit else lines.title


def trace_lines(
    lines: Lines, end_s: float, start_s: float = 0.0, width_px: int = FULL_PX, *, value_max: float | None = None
) -> Spec:
    """Return a chart with a line for each series, coloured by node and dashed by device.

    ``value_max``: upper end of the value axis, for charts that share this axis.
    """
    rows = [
        {"t": t, "value": value, "node": line.node, "device": device_of(line)}
        for line in lines.series
        for t, value in zip(line.t_s, line.values, strict=True)
    ]
    window = OverTime(start_s, end_s)
    axis_end = value_max if any(row["value"] for row in rows) else value_max or 1.0
    encoding: Spec = {
        "x": _x("t", window),
        "y": {
            "field": "value",
            "type": "quantitative",
            "title": lines_title(lines),
            **({} if not axis_end else {"scale": {"domain": [0, axis_end]}}),
        },
        "color": _name_encoding("node", lines.nodes, PALETTE),
    }
    if len(lines.devices) > 1:
        encoding["strokeDash"] = _name_encoding("device", lines.devices, DASHES)
    elif lines.devices:
        encoding["detail"] = {"field": "device", "type": "nominal"}
    return chart(
        f"{lines_title(lines)} over time, a line for each node{' and device' if lines.devices else ''}",
        {
            "width": width_px,
            "height": 200,
            "data": {"values": rows},
            "mark": {"type": "line", "interpolate": "linear", "strokeWidth": 1.3, "clip": True},
            "encoding": encoding,
        },
    )


def _name_encoding(field: str, names: Sequence[str], styles: Sequence[object]) -> Spec:
    return {
        "field": field,
        "type": "nominal",
        "sort": list(names),
        "scale": {"domain": list(names), "range": [styles[index % len(styles)] for index in range(len(names))]},
        "legend": {"symbolType": "stroke", **({"symbolSize": _DASHES_SIZE} if styles is DASHES else {})},
    }
