"""Draw a metric against another: a point for each run, with a link to the run's page.

In: a view of :mod:`assay.questions.runs.scatter`. Out: a Vega-Lite specification. Nothing is computed here.
"""

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from assay.interfaces.charts.drawing.identity import distinct_colours, shapes_of
from assay.interfaces.charts.drawing.style import FULL_PX, PALETTE, TIME_FORMATS, Spec, chart, colour_scale, log_axis
from assay.questions.runs.scatter import ScatterView
from assay.text import STARTED, level_text, metric_title

LOG_FROM = 20.0
"""Ratio of the largest to the smallest value from which an axis is logarithmic."""


def scatter_points(view: ScatterView, palette: Mapping[str, str], width_px: int = FULL_PX) -> Spec:
    """Return the chart: the first factor's levels give the points' colours, the second factor's their shapes.

    Without a second factor, the first factor's levels give the shapes too, and levels of one device class share a
    colour. No two levels have the same colour and shape.
    """
    rows = [
        {
            view.x: _drawn_value(view.x, point.x),
            view.y: _drawn_value(view.y, point.y),
            "run": point.run_id,
            "address": f"/runs/{quote(point.run_id, safe='')}",
            **({"colour": level_text(view.by, point.colour)} if point.colour is not None else {}),
            **({"shape": level_text(view.shape, point.shape)} if point.shape is not None else {}),
        }
        for point in view.points
    ]
    values_by_axis = {"x": [point.x for point in view.points], "y": [point.y for point in view.points]}
    axes: Spec = {axis: _axis(name, values_by_axis[axis]) for axis, name in (("x", view.x), ("y", view.y))}
    encoding: Spec = {
        **axes,
        "href": {"field": "address"},
        "tooltip": [{"field": "run", "title": "Run"}, *(_value_tooltip(name) for name in (view.x, view.y))],
    }
    if view.by:
        levels = sorted({point.colour or "" for point in view.points})
        new_colours = distinct_colours([level for level in levels if level not in palette], palette)
        colour_by_level = {**palette, **new_colours}
        colours = (
            distinct_colours(levels, colour_by_level)
            if view.shape
            else {level: colour_by_level[level] for level in levels}
        )
        shapes = shapes_of(colour_by_level)
        by_level = {"field": "colour", "type": "nominal"}
        text_by_level = {level: level_text(view.by, level) for level in levels}
        encoding["color"] = {
            **by_level,
            "scale": colour_scale({text_by_level[level]: colours[level] for level in levels}),
        }
        if not view.shape:
            shape_scale = {"domain": list(text_by_level.values()), "range": [shapes[level] for level in levels]}
            encoding["shape"] = {**by_level, "scale": shape_scale}
    if view.shape:
        encoding["shape"] = {"field": "shape", "type": "nominal"}
    mark = {"type": "point", "filled": True, "size": 64, "opacity": 0.75, "cursor": "pointer", "color": PALETTE[0]}
    body: Spec = {"width": width_px, "height": 420, "data": {"values": rows}, "mark": mark, "encoding": encoding}
    return chart(f"{metric_title(view.y)} against {metric_title(view.x)}, one point for each run", body)


def _drawn_value(name: str, value: float) -> float:
    """Return a start time in milliseconds, as Vega expects it; other values unchanged."""
    return 1000 * value if name == STARTED else value


def _axis(name: str, values: Sequence[float]) -> Spec:
    axis: Spec = {"field": name, "title": metric_title(name)}
    if name == STARTED:
        return {**axis, "type": "temporal", "scale": {"type": "utc", "nice": True}, "axis": {"format": TIME_FORMATS}}
    if values and min(values) > 0 and max(values) > LOG_FROM * min(values):
        return {**axis, "type": "quantitative", "scale": {"type": "log"}, "axis": {**log_axis(values), "format": "~s"}}
    return {**axis, "type": "quantitative", "scale": {"zero": False}, "axis": {"format": "~s"}}


def _value_tooltip(name: str) -> Spec:
    time_encoding: Spec = {"type": "temporal", "format": "%Y-%m-%d %H:%M", "timeUnit": "utcyearmonthdatehoursminutes"}
    return {"field": name, "title": metric_title(name), **(time_encoding if name == STARTED else {})}
