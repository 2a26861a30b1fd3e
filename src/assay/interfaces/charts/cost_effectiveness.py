"""Draw the cost-effectiveness plane: run time in seconds against cost, with the Pareto front.

In: points with their intervals (:class:`CostEffectivenessPoint`). Out: a Vega-Lite specification. Only the positions
of names are computed here.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Protocol

from assay.interfaces.charts.drawing.identity import shapes_of
from assay.interfaces.charts.drawing.labels import Extent, FixedText, Line, extent_of, is_crossed, name_sides
from assay.interfaces.charts.drawing.style import (
    FULL_PX,
    INK,
    NARROW_PX,
    PALETTE,
    Spec,
    chart,
    colour_scale,
    log_axis,
    percent_theme,
)
from assay.model import LAYOUT_FACTOR
from assay.text import layout_text, level_text, levels_text

HEIGHT_PX = 380
LINEAR_RATIO_MAX = 5.0
"""Maximum ratio of the largest to the smallest value on a linear axis; above it, the axis is logarithmic."""
LABELS_MAX = 24
"""Maximum number of points in a chart that names every point where the name fits. With more points, only the Pareto
front has names. A legend names the layouts unless every point has its name."""
_CORNER_PX = 6
"""Distance of the name of a quadrant from the edges of the plot, in pixels."""
_AXIS_PX = 75
"""Width of the vertical axis with its title and labels, in pixels."""
_LEGEND_SYMBOL_PX, _LEGEND_CHARACTER_PX = 30, 7
"""Widths of a symbol with its margins and of a character in the legend, in pixels."""
_PLOTS_PX = (200, 265, 350, 460, 610, 810, 1080, 1440)
"""Plot widths, in pixels, at which the positions of names change."""
_NAME_IF_IT_FITS = {"condition": {"test": "datum.from <= width && width < datum.below", "field": "name"}, "value": ""}
"""The text of a name that is visible at the plot widths of its row."""


_CORNERS = tuple(
    FixedText(f"{speed}, {price}", align, x, dx, y)
    for align, x, dx, speed in (("left", 0.0, _CORNER_PX, "fast"), ("right", 1.0, -_CORNER_PX, "slow"))
    for y, price in ((HEIGHT_PX - 2 * _CORNER_PX, "economical"), (2 * _CORNER_PX, "expensive"))
)
"""Names of the quadrants in the corners of the plot."""


class QuadrantLines(Protocol):
    """The lines that divide the plane into quadrants."""

    @property
    def time_s(self) -> float:
        """Limit between fast and slow, in seconds."""

    @property
    def cost(self) -> float:
        """Limit between economical and expensive, in the chart's currency."""


class CostEffectivenessPoint(Protocol):
    """One configuration of the plane."""

    @property
    def label(self) -> str:
        """Name of the configuration."""

    @property
    def levels(self) -> Mapping[str, str]:
        """Levels of the configuration by factor."""

    @property
    def time_s(self) -> float:
        """Time of a run, in seconds."""

    @property
    def time_low_s(self) -> float | None:
        """Lower end of the time's interval, in seconds; None without an interval."""

    @property
    def time_high_s(self) -> float | None:
        """Upper end of the time's interval, in seconds; None without an interval."""

    @property
    def cost(self) -> float | Decimal:
        """Cost of a run, in the chart's currency."""

    @property
    def cost_low(self) -> float | None:
        """Lower end of the cost's interval; None without an interval."""

    @property
    def cost_high(self) -> float | None:
        """Upper end of the cost's interval; None without an interval."""

    @property
    def runs(self) -> int:
        """Number of runs behind the point."""

    @property
    def on_pareto_front(self) -> bool:
        """Whether no other configuration is at least as fast, at least as cheap, and better in time or cost."""

    @property
    def pareto_front_probability(self) -> float | None:
        """Share of simulations in which the configuration is on the Pareto front; None if unknown."""


def _ends(value: float, low: float | None, high: float | None) -> tuple[float, float]:
    return (value if low is None else low), (value if high is None else high)


def _is_wide(values: Sequence[float]) -> bool:
    """Return whether the values need a logarithmic axis: on a linear axis, small values would overlap."""
    return bool(values) and min(values) > 0 and max(values) / min(values) > LINEAR_RATIO_MAX


def _axis(title: str, extent: Extent, intervals: Sequence[tuple[float, float]]) -> Spec:
    ends = [end for pair in intervals for end in pair if end > 0]
    scale: Spec = {"type": "log", "nice": True} if extent.is_log else {"zero": True, "nice": True}
    return {"type": "quantitative", "title": title, "scale": scale, "axis": log_axis(ends) if extent.is_log else {}}


def _quadrants(divide: QuadrantLines, x: Spec, y: Spec, lines: Sequence[Line]) -> list[Spec]:
    """Return the two lines that divide the plane, and the names of the quadrants in the corners.

    A name is visible at the plot widths at which none of ``lines`` crosses it.
    """
    rule: Spec = {"type": "rule", "color": INK, "opacity": 0.3}
    layers: list[Spec] = [
        {"data": {"values": [{"time": divide.time_s}]}, "mark": rule, "encoding": {"x": {"field": "time", **x}}},
        {"data": {"values": [{"cost": divide.cost}]}, "mark": rule, "encoding": {"y": {"field": "cost", **y}}},
    ]
    for corner in _CORNERS:
        mark = {
            "type": "text",
            "align": corner.align,
            "baseline": "middle",
            "fontStyle": "italic",
            "opacity": 0.65,
            "x": "width" if corner.x else 0,
            "xOffset": corner.dx,
            "y": corner.y,
        }
        free_width_ranges = [pair for pair in pairwise(_PLOTS_PX) if not is_crossed(corner, lines, pair)]
        data = {
            "values": [
                {"name": corner.text, "from": width_min_px, "below": width_max_px}
                for width_min_px, width_max_px in free_width_ranges
            ]
        }
        layers.append({"data": data, "mark": mark, "encoding": {"text": _NAME_IF_IT_FITS}})
    return layers


def _rows(points: Sequence[CostEffectivenessPoint]) -> list[Spec]:
    return [
        {
            "label": _title(p),
            "layout": layout_text(p.levels.get(LAYOUT_FACTOR, p.label)),
            "time": p.time_s,
            "time_low": p.time_low_s,
            "time_high": p.time_high_s,
            "cost": float(p.cost),
            "cost_low": p.cost_low,
            "cost_high": p.cost_high,
            "front": p.on_pareto_front,
            "runs": p.runs,
            "probability": p.pareto_front_probability,
        }
        for p in sorted(points, key=lambda p: p.time_s)
    ]


def _is_named_by_levels(point: CostEffectivenessPoint) -> bool:
    return point.label == " ".join(point.levels.values())


def _title(point: CostEffectivenessPoint) -> str:
    """Return the levels of a point in words; the label of a point that is not named by its levels."""
    return levels_text(point.levels) if _is_named_by_levels(point) else point.label


def short_names(points: Sequence[CostEffectivenessPoint]) -> list[str]:
    """Return the points' names without the levels that all points share: ``SS2 InfiniBand``.

    Layouts keep their code, because a layout in words leaves no room for the names of other points.
    """
    varied_factors = {
        name for p in points for name in p.levels if len({point.levels.get(name) for point in points}) > 1
    }
    if not all(map(_is_named_by_levels, points)):
        return [p.label for p in points]
    return [
        " ".join(
            level if name == LAYOUT_FACTOR else level_text(name, level)
            for name, level in p.levels.items()
            if name in (varied_factors or p.levels)
        )
        for p in points
    ]


def _name_rows(
    points: Sequence[CostEffectivenessPoint],
    x: Extent,
    y: Extent,
    fixed_texts: Sequence[FixedText],
    lines: Sequence[Line],
) -> list[Spec]:
    """Return the names that fit next to their points at each plot width; names on the Pareto front have priority."""
    pairs = zip(points, short_names(points), strict=True)
    points_with_names = sorted(pairs, key=lambda pair: (not pair[0].on_pareto_front, pair[0].time_s))
    shares = [(x.share(p.time_s), HEIGHT_PX * (1 - y.share(float(p.cost)))) for p, _ in points_with_names]
    names = [name if p.on_pareto_front or len(points) <= LABELS_MAX else "" for p, name in points_with_names]
    return [
        {
            "name": name,
            "time": p.time_s,
            "cost": float(p.cost),
            "align": side.align,
            "dx": side.dx,
            "dy": side.dy,
            "from": width_min_px,
            "below": width_max_px,
        }
        for width_min_px, width_max_px in pairwise(_PLOTS_PX)
        for (p, _), name, side in zip(
            points_with_names,
            names,
            name_sides(shares, names, (width_min_px, width_max_px), fixed_texts, lines),
            strict=True,
        )
        if side is not None
    ]


def _interval_lines(points: Sequence[CostEffectivenessPoint], x: Extent, y: Extent) -> list[Line]:
    """Return the drawn intervals of the points."""

    def height(cost: float) -> float:
        return HEIGHT_PX * (1 - y.share(cost))

    lines = []
    for point in points:
        share, top = x.share(point.time_s), height(float(point.cost))
        if point.time_low_s is not None and point.time_high_s is not None:
            lines.append(Line((x.share(point.time_low_s), x.share(point.time_high_s)), (top, top)))
        if point.cost_low is not None and point.cost_high is not None:
            lines.append(Line((share, share), (height(float(point.cost_low)), height(float(point.cost_high)))))
    return lines


def _divide_lines(divide: QuadrantLines | None, x: Extent, y: Extent) -> tuple[Line, ...]:
    """Return the lines between the quadrants; empty without quadrants."""
    if divide is None:
        return ()
    share, top = x.share(divide.time_s), HEIGHT_PX * (1 - y.share(float(divide.cost)))
    return Line((share, share), (0.0, HEIGHT_PX)), Line((0.0, 1.0), (top, top))


def _interval(
    channel: str, value: str, cross_channel: str, cross_value: str, axes: Mapping[str, Spec], colour: Spec
) -> Spec:
    return {
        "transform": [{"filter": f"datum.{value}_low !== null"}],
        "mark": {"type": "rule", "opacity": 0.6},
        "encoding": {
            channel: {"field": f"{value}_low", **axes[channel]},
            f"{channel}2": {"field": f"{value}_high"},
            cross_channel: {"field": cross_value, **axes[cross_channel]},
            "color": colour,
        },
    }


def _names(rows: Sequence[Spec], axes: Spec) -> Spec:
    """Return the layer of names; a name is visible only at the plot widths for which it was placed."""
    offsets = {key: {"expr": f"datum.{key}"} for key in ("align", "dx", "dy")}
    return {
        "data": {"values": list(rows)},
        "mark": {"type": "text", "baseline": "middle", **offsets},
        "encoding": {**axes, "text": _NAME_IF_IT_FITS},
    }


def _previous_positions(
    previous_points: Sequence[CostEffectivenessPoint], rows: Sequence[CostEffectivenessPoint], axes: Mapping[str, Spec]
) -> list[Spec]:
    """Return hollow points at the costs before a price change, each with a line to its current position."""
    cost_by_label = {p.label: float(p.cost) for p in rows}
    moved_points = [
        {"label": _title(p), "time": p.time_s, "was": float(p.cost), "cost": cost_by_label[p.label]}
        for p in previous_points
        if p.label in cost_by_label and cost_by_label[p.label] != float(p.cost)
    ]
    x, y = {"field": "time", **axes["x"]}, axes["y"]
    tooltip = [{"field": "label", "title": "Before"}, {"field": "was", "title": "Cost before", "format": ".3~g"}]
    return [
        {
            "data": {"values": moved_points},
            "mark": {"type": "rule", "color": INK, "opacity": 0.35, "strokeDash": [1, 3]},
            "encoding": {"x": x, "y": {"field": "was", **y}, "y2": {"field": "cost"}},
        },
        {
            "data": {"values": moved_points},
            "mark": {"type": "point", "filled": False, "color": INK, "opacity": 0.45, "size": 70},
            "encoding": {"x": x, "y": {"field": "was", **y}, "tooltip": tooltip},
        },
    ]


def _tooltip(currency: str) -> list[Spec]:
    return [
        {"field": "label", "title": "Configuration"},
        {"field": "time", "title": "Time (s)", "format": ",.1f"},
        {"field": "cost", "title": f"Cost ({currency})", "format": ".3~g"},
        {"field": "runs", "title": "Runs"},
        {"field": "probability", "title": "On the front in", "format": ".0%"},
    ]


def _pareto_front(axes: Spec) -> Spec:
    return {
        "transform": [{"filter": "datum.front"}],
        "mark": {"type": "line", "interpolate": "step-after", "color": INK, "opacity": 0.45, "strokeDash": [4, 3]},
        "encoding": {**axes, "order": {"field": "time", "type": "quantitative"}},
    }


def cost_effectiveness_chart(
    points: Sequence[CostEffectivenessPoint],
    palette: Mapping[str, str],
    currency: str,
    width_px: int = FULL_PX,
    *,
    divide: QuadrantLines | None = None,
    previous_points: Sequence[CostEffectivenessPoint] = (),
    axis_titles: tuple[str, str] = ("Time of a run", "Cost of a run"),
) -> Spec:
    """Return the chart of time against cost: a named point with intervals for each configuration, and the Pareto front.

    The area of a point shows its number of runs. ``divide``: lines between the quadrants. ``previous_points``: points
    before a price change; they decide whether an axis is logarithmic. ``axis_titles``: of the time and cost axes.
    """
    layouts = list(dict.fromkeys(p.levels.get(LAYOUT_FACTOR, p.label) for p in points))
    scaled_points = previous_points or points
    times = [_ends(p.time_s, p.time_low_s, p.time_high_s) for p in points]
    costs = [_ends(float(p.cost), p.cost_low, p.cost_high) for p in [*points, *previous_points]]
    x_extent = extent_of(times, is_log=_is_wide([p.time_s for p in scaled_points]))
    y_extent = extent_of(costs, is_log=_is_wide([float(p.cost) for p in scaled_points]))
    x, y = _axis(f"{axis_titles[0]} (s)", x_extent, times), _axis(f"{axis_titles[1]} ({currency})", y_extent, costs)
    lines = [*_interval_lines(points, x_extent, y_extent), *_divide_lines(divide, x_extent, y_extent)]
    names = _name_rows(points, x_extent, y_extent, _CORNERS if divide is not None else (), lines)
    is_labelled = sum(row["from"] <= width_px - _AXIS_PX < row["below"] for row in names) == len(points)
    entry_px = _LEGEND_SYMBOL_PX + _LEGEND_CHARACTER_PX * max(len(layout_text(name)) for name in layouts)
    # A page shrinks a wide chart to a phone's width, with the same columns.
    legend: Spec | None = None if is_labelled else {"columns": max(1, NARROW_PX // entry_px)}
    colours = {name: palette.get(name, PALETTE[-1]) for name in layouts}
    shapes = shapes_of({**colours, **palette})
    colour_by_text = {layout_text(name): colour for name, colour in colours.items()}
    colour = {"field": "layout", "type": "nominal", "legend": legend, "scale": colour_scale(colour_by_text)}
    axes: Spec = {"x": {"field": "time", **x}, "y": {"field": "cost", **y}}
    layers: list[Spec] = [
        _pareto_front(axes),
        _interval("x", "time", "y", "cost", {"x": x, "y": y}, colour),
        _interval("y", "cost", "x", "time", {"x": x, "y": y}, colour),
        {
            "mark": {"type": "point", "filled": True, "opacity": 1},
            "encoding": {
                **axes,
                "color": colour,
                "tooltip": _tooltip(currency),
                "shape": {
                    "field": "layout",
                    "type": "nominal",
                    "legend": legend,
                    "scale": {"domain": list(colour_by_text), "range": [shapes[name] for name in layouts]},
                },
                "size": {
                    "field": "runs",
                    "type": "quantitative",
                    "legend": None,
                    "scale": {
                        "type": "linear",
                        "domain": [0, max((p.runs for p in points), default=1)],
                        "range": [30, 260],
                    },
                },
            },
        },
        _names(names, axes),
    ]
    background = _quadrants(divide, x, y, lines) if divide is not None else []
    background += _previous_positions(previous_points, points, {"x": x, "y": y}) if previous_points else []
    return chart(
        "Time against cost of a run by configuration with intervals; the dashed line joins the Pareto front",
        {"width": width_px, "height": HEIGHT_PX, "data": {"values": _rows(points)}, "layer": [*background, *layers]},
        percent_theme(),
    )
