"""Draw task durations as histograms, a panel for each phase.

In: durations of :mod:`assay.analysis.run_profile.task_durations`. Out: a Vega-Lite specification. Nothing is computed
here.
"""

from collections.abc import Sequence

from assay.analysis.run_profile.task_durations import PhaseDurations
from assay.interfaces.charts.drawing.style import FULL_PX, PALETTE, Spec, chart, colour_scale

_COLUMNS = 2
"""Maximum number of panels next to each other."""
_AXIS_PX, _GAP_PX = 60, 24
_COLOURS = {"other tasks": PALETTE[0], "outliers": PALETTE[1]}


def duration_histograms(phases: Sequence[PhaseDurations], width_px: int = FULL_PX) -> Spec:
    """Return a histogram of task durations in seconds for each phase; triangles mark bins with outliers."""
    rows = [
        {
            "phase": phase.phase,
            "low_s": time_bin.low_s,
            "high_s": time_bin.high_s,
            "kind": kind,
            "tasks": tasks,
            "rank": rank,
        }
        for phase in phases
        for time_bin in phase.bins
        for rank, (kind, tasks) in enumerate(
            zip(_COLOURS, (time_bin.tasks - time_bin.outliers, time_bin.outliers), strict=True)
        )
        if tasks
    ]
    panels = min(_COLUMNS, len(phases))
    x: Spec = {"field": "low_s", "type": "quantitative", "title": "Duration (s)", "scale": {"zero": False}}
    colour: Spec = {"field": "kind", "type": "nominal", "sort": list(_COLOURS), "scale": colour_scale(_COLOURS)}
    if not any(row["kind"] == "outliers" for row in rows):
        colour["legend"] = None
    bars: Spec = {
        "mark": {"type": "bar", "cornerRadiusEnd": 0},
        "encoding": {
            "x": {**x, "bin": "binned"},
            "x2": {"field": "high_s"},
            "y": {
                "field": "tasks",
                "type": "quantitative",
                "stack": "zero",
                "title": "Tasks",
                "axis": {"labelExpr": "datum.value === floor(datum.value) ? format(datum.value, 'd') : ''"},
            },
            "color": colour,
            "order": {"field": "rank", "type": "quantitative"},
        },
    }
    marks: Spec = {
        "transform": [
            {"filter": "datum.kind === 'outliers'"},
            {"calculate": "(datum.low_s + datum.high_s) / 2", "as": "middle"},
        ],
        "mark": {"type": "point", "shape": "triangle-up", "size": 70, "filled": True, "opacity": 1, "yOffset": 6},
        "encoding": {"x": {**x, "field": "middle"}, "y": {"datum": 0}, "color": colour},
    }
    header = {"title": None, "labelAngle": 0, "labelOrient": "top", "labelAnchor": "start", "labelPadding": 4}
    return chart(
        "Histograms of task durations in seconds, one for each phase; outlier tasks have another colour and a triangle",
        {
            "autosize": "pad",
            "data": {"values": rows},
            "facet": {"field": "phase", "type": "nominal", "sort": [phase.phase for phase in phases], "header": header},
            "columns": panels,
            "spacing": _GAP_PX,
            "resolve": {"scale": {"x": "independent", "y": "independent"}},
            "spec": {
                "width": (width_px - _AXIS_PX - (panels - 1) * (_GAP_PX + _AXIS_PX)) // panels,
                "height": 180,
                "layer": [bars, marks],
            },
        },
    )
