"""Charts of a single run: its phases, and series of its trace on the same axis of time.

In: phases and thinned series (seconds from the run's start). Out: Vega-Lite specifications. Nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.charts.style import FULL_PX, INK, PALETTE, Spec, chart
from assay.explain.series import Series
from assay.model.run import Phase

TIME_TITLE = "Time since the run's start (s)"


def _time_axis(end_s: float, start_s: float = 0.0) -> Spec:
    return {"type": "quantitative", "title": TIME_TITLE, "scale": {"domain": [start_s, end_s], "nice": False}}


def phase_bars(phases: Sequence[Phase], duration_s: float, width_px: int = FULL_PX) -> Spec:
    """Return a bar from begin to end for each phase; phases may overlap."""
    rows = [{"phase": p.name, "start": p.start_s, "end": p.end_s, "length": p.duration_s} for p in phases]
    end_s = max([duration_s, *(phase.end_s for phase in phases)])
    y = {"field": "phase", "type": "nominal", "sort": None, "title": None}
    tooltip = [
        {"field": "phase", "title": "Phase"},
        {"field": "start", "title": "Begins (s)", "format": ".1f"},
        {"field": "end", "title": "Ends (s)", "format": ".1f"},
        {"field": "length", "title": "Takes (s)", "format": ".1f"},
    ]
    return chart(
        "Phases of the run in seconds from its start",
        {
            "width": width_px,
            "height": {"step": 22},
            "data": {"values": rows},
            "mark": {"type": "bar", "color": PALETTE[0], "cornerRadius": 2, "opacity": 0.88, "height": 14},
            "encoding": {
                "y": y,
                "x": {"field": "start", **_time_axis(end_s)},
                "x2": {"field": "end"},
                "tooltip": tooltip,
            },
        },
    )


def trace_lines(
    series: Sequence[Series],
    title: str,
    end_s: float,
    start_s: float = 0.0,
    width_px: int = FULL_PX,
    *,
    highest: float | None = None,
) -> Spec:
    """Return a line for each series, coloured by subject and metric and dashed by node; drag to choose a span.

    ``highest``: the value that the axis reaches at least, for charts that are to be read side by side.
    """
    rows = [
        {"t": t, "value": value, "node": one.node, "what": one.subject.partition(":")[2] or one.subject}
        for one in series
        for t, value in zip(one.t_s, one.values, strict=True)
    ]
    what = list(dict.fromkeys(one.subject.partition(":")[2] or one.subject for one in series))
    nodes = list(dict.fromkeys(one.node for one in series))
    unit = series[0].unit if series else ""
    return chart(
        f"{title} in {unit} over time, a line for each node and device" if unit else f"{title} over time",
        {
            "width": width_px,
            "height": 200,
            "data": {"values": rows},
            "params": [
                {
                    "name": "span",
                    "select": {
                        "type": "interval",
                        "encodings": ["x"],
                        "mark": {"fill": INK, "fillOpacity": 0.12, "stroke": None},
                    },
                }
            ],
            "mark": {"type": "line", "interpolate": "linear", "strokeWidth": 1.3, "clip": True},
            "encoding": {
                "x": {"field": "t", **_time_axis(end_s, start_s)},
                "y": {
                    "field": "value",
                    "type": "quantitative",
                    "title": f"{title} ({unit})" if unit else title,
                    **({} if highest is None else {"scale": {"domain": [0, highest]}}),
                },
                "color": {
                    "field": "what",
                    "type": "nominal",
                    "sort": what,
                    "legend": {"symbolType": "stroke"},
                    "scale": {"domain": what, "range": [PALETTE[i % len(PALETTE)] for i in range(len(what))]},
                },
                "strokeDash": {
                    "field": "node",
                    "type": "nominal",
                    "sort": nodes,
                    "scale": {"domain": nodes},
                    "legend": {"symbolType": "stroke"},
                },
            },
        },
    )
