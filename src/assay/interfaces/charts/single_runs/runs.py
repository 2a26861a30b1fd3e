"""Draw single runs: time by phase, tasks in each phase over time, tasks by container, and I/O sizes.

In: breakdowns, occupancies, lanes and disk traffic of ``analysis``. Out: Vega-Lite specifications. Nothing is computed
here.
"""

from collections.abc import Mapping, Sequence

from assay.analysis.run_profile.devices import Purpose, PurposeUse
from assay.analysis.run_profile.phases import Breakdown, Occupancy, rank, task_phases
from assay.analysis.run_profile.tasks import PlacedTask
from assay.interfaces.charts.drawing.style import FULL_PX, HALF_PX, Spec, chart, grouped_bars, phase_scale
from assay.interfaces.charts.single_runs.one_run import FIRST_LANE_LABEL, TIME_TITLE

PURPOSE_TITLES = {
    Purpose.HDFS: "HDFS",
    Purpose.INTERMEDIATE: "Intermediate",
    Purpose.SHARED: "HDFS + intermediate",
    Purpose.UNKNOWN: "All disks",
}
_AXIS_PX = 40
"""Width of the y axis with its labels, in pixels."""
_GAP_PX = 24
"""Distance between two panels, in pixels."""
_LEGEND_COLUMNS = 4
"""Number of columns of a legend that does not fit on one line."""
_LEGEND_HALF_MAX = 6
"""Maximum number of phases in a legend on one line at half the page width."""
_LANE_PX = 15
"""Maximum height of a lane, in pixels."""
_LANES_PX = 420
"""Maximum height of a timeline, in pixels; with more lanes, each lane is thinner."""


def _phase_colour(names: Sequence[str], width_px: int) -> Spec:
    phase_names = sorted(dict.fromkeys(names), key=rank)
    is_narrow = width_px < HALF_PX or (width_px < FULL_PX and len(phase_names) > _LEGEND_HALF_MAX)
    legend = {"columns": _LEGEND_COLUMNS if is_narrow else len(phase_names)}
    return {
        "field": "phase",
        "type": "nominal",
        "sort": phase_names,
        "scale": phase_scale(phase_names),
        "legend": legend,
    }


def time_shares(sides: Mapping[str, Breakdown], width_px: int = HALF_PX) -> Spec:
    """Return a chart with one bar for each run, divided into its phases, in seconds.

    ``sides``: configuration to the breakdown of one of its runs.
    """
    rows: list[Spec] = [
        {"level": level, "phase": phase.name, "seconds": phase.share_s, "rank": index}
        for level, breakdown in sides.items()
        for index, phase in enumerate(breakdown.phases)
    ]
    return chart(
        "Time of one run of each configuration by phase, in seconds; the parts add up to the run",
        {
            "width": width_px,
            "height": {"step": 46},
            "data": {"values": rows},
            "mark": {"type": "bar", "height": 26, "cornerRadiusEnd": 0},
            "encoding": {
                "y": {"field": "level", "type": "nominal", "sort": None, "title": None},
                "x": {"field": "seconds", "type": "quantitative", "stack": "zero", "title": "Time (s)"},
                "color": _phase_colour([row["phase"] for row in rows], width_px),
                "order": {"field": "rank", "type": "quantitative"},
            },
        },
    )


def task_occupancy(sides: Mapping[str, Sequence[Occupancy]], width_px: int = FULL_PX) -> Spec:
    """Return a chart of the number of tasks in each phase over time, with a panel for each configuration."""
    is_one_column = width_px < HALF_PX or len(sides) < 2
    rows: list[Spec] = [
        {"level": level, "phase": line.phase, "t": t_s, "tasks": tasks, "rank": index}
        for level, series in sides.items()
        for index, line in enumerate(series)
        for t_s, tasks in zip(line.t_s, line.tasks, strict=True)
    ]
    panel = {
        "width": width_px - _AXIS_PX if is_one_column else (width_px - _AXIS_PX - _GAP_PX) // 2,
        "height": 130,
        "mark": {"type": "area", "interpolate": "step-after", "line": False},
        "encoding": {
            "x": {"field": "t", "type": "quantitative", "title": TIME_TITLE, "axis": {"tickCount": 5}},
            "y": {
                "field": "tasks",
                "type": "quantitative",
                "stack": "zero",
                "title": "Tasks",
                "axis": {"tickCount": 4},
            },
            "color": _phase_colour([row["phase"] for row in rows], width_px),
            "order": {"field": "rank", "type": "quantitative"},
        },
    }
    header = {"title": None, "labelAngle": 0, "labelOrient": "top", "labelAnchor": "start", "labelPadding": 4}
    return chart(
        "Number of tasks in each phase over time, for one run of each configuration",
        {
            "autosize": "pad",
            "data": {"values": rows},
            "spacing": _GAP_PX,
            "columns": 1 if is_one_column else 2,
            "facet": {"field": "level", "type": "nominal", "sort": list(sides), "header": header},
            "spec": panel,
        },
    )


def task_timeline(placed: Sequence[PlacedTask], end_s: float, width_px: int = HALF_PX) -> Spec:
    """Return a chart of task attempts over time, up to ``end_s``: a lane for each container, grouped by node."""
    rows: list[Spec] = [
        {
            "slot": f"{attempt.node} · {attempt.lane + 1}",
            "phase": phase.name,
            "start": phase.start_s,
            "end": phase.end_s,
        }
        for attempt in placed
        for phase in task_phases(attempt.task)
        if phase.end_s > phase.start_s
    ]
    slots = sorted({(attempt.node, attempt.lane) for attempt in placed})
    step = min(_LANE_PX, max(2.0, _LANES_PX / max(1, len(slots))))
    return chart(
        "Task attempts over time by node and container, coloured by phase",
        {
            "width": width_px,
            "height": {"step": step},
            "data": {"values": rows},
            "mark": {"type": "bar", "height": max(1.5, step - 2), "cornerRadiusEnd": 0},
            "encoding": {
                "y": {
                    "field": "slot",
                    "type": "nominal",
                    "title": None,
                    "sort": [f"{n} · {k + 1}" for n, k in slots],
                    "axis": {"labelExpr": FIRST_LANE_LABEL},
                },
                "x": {
                    "field": "start",
                    "type": "quantitative",
                    "title": TIME_TITLE,
                    "scale": {"domain": [0, end_s], "nice": False},
                },
                "x2": {"field": "end"},
                "color": _phase_colour([row["phase"] for row in rows], width_px),
            },
        },
    )


def request_sizes(
    sides: Mapping[str, Sequence[PurposeUse]], palette: Mapping[str, str], width_px: int = HALF_PX
) -> Spec:
    """Return a bar chart of the mean disk request size in kB by purpose and direction, as in LISA'14, figure 3."""
    rows = [
        {"what": f"{PURPOSE_TITLES[use.purpose]}, {direction}", "level": level, "size": size / 1e3}
        for level, uses in sides.items()
        for use in uses
        if use.purpose in PURPOSE_TITLES
        for direction, size in (
            ("read", use.transfers.read_request_bytes),
            ("write", use.transfers.write_request_bytes),
        )
        if size is not None
    ]
    return grouped_bars(
        "Mean size of disk requests in kB by purpose and direction, for one run of each configuration",
        rows,
        "what",
        "size",
        "Mean request (kB)",
        {level: palette[level] for level in sides},
        width_px,
    )
