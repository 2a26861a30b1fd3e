"""Draw costs of layouts: the cost per job, and cost per performance against cost per capacity.

In: rows of :mod:`assay.analysis.cost.job_cost`, or a :class:`StoragePoint` for each layout. Out: a Vega-Lite
specification. Nothing is computed here.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from assay.analysis.cost.job_cost import JobCostRow
from assay.interfaces.charts.drawing.identity import shapes_of
from assay.interfaces.charts.drawing.labels import SIDES, Extent, Line, extent_of, name_sides
from assay.interfaces.charts.drawing.style import FULL_PX, INK, PALETTE, Spec, chart, colour_scale, opacity_scale
from assay.questions.decisions.sentences.years_sentences import CostsOverYears
from assay.text import layout_text

HEIGHT_PX = 300
LABEL_PX = 330
"""Maximum width of a label of a job, in pixels."""
_NARROW_PLOT_PX = 230
"""Width of the plot on a phone, in pixels."""
_HALF_LINE_PX = 7
"""Distance by which labels of two lines move up, because the chart places their first line at the middle of a bar."""
_WRAPPED_LABEL = "split(replace(replace(datum.label, ': ', ':\\n'), /(([^,]*, ){1}[^,]*), /g, '$1,\\n'), '\\n')"
"""Label of a job in lines: its workload, then two settings in each line."""


class StoragePoint(Protocol):
    """A layout, with costs relative to the baseline (1)."""

    @property
    def layout(self) -> str:
        """Name of the layout."""

    @property
    def cost_per_performance(self) -> float:
        """Price / speed, relative to the baseline."""

    @property
    def cost_per_capacity(self) -> float | None:
        """Price / device capacity, relative to the baseline; None if the capacity is unknown."""


def _storage_rows(
    layouts: Sequence[str], costs: Sequence[tuple[float, float]], axes: tuple[Extent, Extent], width_px: int
) -> list[Spec]:
    """Return a point for each layout. The baseline is the first of ``layouts``; no name crosses its lines.

    ``costs``: cost per capacity and cost per performance, relative to the baseline. ``axes``: extents of these two.
    """
    x_extent, y_extent = axes
    points = [  # x as a share of the width, y in pixels
        (x_extent.share(capacity), HEIGHT_PX * (1 - y_extent.share(performance))) for capacity, performance in costs
    ]
    x, y = points[0]
    sides = name_sides(
        points, layouts, (_NARROW_PLOT_PX, width_px), lines=(Line((x, x), (0, HEIGHT_PX)), Line((0, 1), (y, y)))
    )
    return [
        {
            "layout": layout_text(layout),
            "name": layout,
            "performance": performance,
            "capacity": capacity,
            "align": side.align,
            "dx": side.dx,
            "dy": side.dy,
        }
        for layout, (capacity, performance), side in zip(
            layouts, costs, [side or SIDES[0] for side in sides], strict=True
        )
    ]


def storage_costs(
    points: Sequence[StoragePoint], baseline: str, palette: Mapping[str, str], width_px: int = FULL_PX
) -> Spec:
    """Return a chart with a point for each layout of known capacity, and the baseline at (1, 1)."""
    sized_points = [point for point in points if point.cost_per_capacity is not None]
    layouts = [baseline, *(point.layout for point in sized_points)]
    costs = [(1.0, 1.0), *((point.cost_per_capacity or 0.0, point.cost_per_performance) for point in sized_points)]
    x_extent, y_extent = (
        extent_of([(value, value) for value in values], is_log=False) for values in zip(*costs, strict=True)
    )
    rows = _storage_rows(layouts, costs, (x_extent, y_extent), width_px)
    x, y = (
        {
            "field": field,
            "type": "quantitative",
            "scale": {"domain": [0, extent.high], "nice": False},
            "title": f"Cost per {field} (relative to {layout_text(baseline)})",
        }
        for field, extent in (("capacity", x_extent), ("performance", y_extent))
    )
    by_layout = {"type": "nominal", "field": "layout", "legend": None}
    colours = {name: palette.get(name, PALETTE[-1]) for name in layouts}
    shapes = shapes_of({**colours, **palette})
    colour_by_text = {layout_text(name): colour for name, colour in colours.items()}
    rule = {"type": "rule", "color": INK, "opacity": 0.45, "strokeDash": [4, 3]}
    return chart(
        f"Cost per capacity against cost per performance by layout, as shares of those of {layout_text(baseline)}",
        {
            "width": width_px,
            "height": HEIGHT_PX,
            "data": {"values": rows},
            "layer": [
                {"data": {"values": [{"capacity": 1}]}, "mark": rule, "encoding": {"x": x}},
                {"data": {"values": [{"performance": 1}]}, "mark": rule, "encoding": {"y": y}},
                {
                    "mark": {"type": "point", "filled": True, "size": 130, "opacity": 1},
                    "encoding": {
                        "x": x,
                        "y": y,
                        "color": {**by_layout, "scale": colour_scale(colour_by_text)},
                        "shape": {
                            **by_layout,
                            "scale": {"domain": list(colour_by_text), "range": [shapes[name] for name in layouts]},
                        },
                    },
                },
                {
                    "mark": {
                        "type": "text",
                        "baseline": "middle",
                        **{key: {"expr": f"datum.{key}"} for key in ("align", "dx", "dy")},
                    },
                    "encoding": {"x": x, "y": y, "text": {"field": "name"}},
                },
            ],
        },
    )


def cost_bars(
    rows: Sequence[JobCostRow], palette: Mapping[str, str], titles: Mapping[str, str], width_px: int = FULL_PX
) -> Spec:
    """Return a bar chart of cost per job by workload and layout, with intervals from the run time's intervals."""
    values = [
        {
            "workload": titles.get(row.workload, row.workload),
            "layout": layout_text(row.layout),
            "cost": row.cost_per_job,
            "low": row.cost_per_job_low,
            "high": row.cost_per_job_high,
        }
        for row in rows
    ]
    layouts = {layout_text(row.layout): row.layout for row in rows}
    currency = rows[0].currency if rows else ""
    x = {"type": "quantitative", "title": f"Cost per job ({currency})"}
    colours = {text: palette[layout] for text, layout in layouts.items()}
    by_layout = {"field": "layout", "type": "nominal"}
    bars = {
        "mark": {"type": "bar"},
        "encoding": {
            "x": {"field": "cost", **x},
            "color": {**by_layout, "scale": colour_scale(colours)},
            "opacity": {**by_layout, "scale": opacity_scale(colours)},
        },
    }
    return chart(
        "Cost of one job by workload and layout, with 95 percent intervals",
        {
            "width": width_px,
            "height": {"step": 22},
            "data": {"values": values},
            "encoding": {
                "y": {
                    "field": "workload",
                    "type": "nominal",
                    "sort": None,
                    "title": None,  # no title: it would cover labels of several lines, and the labels name the jobs
                    "axis": {"labelExpr": _WRAPPED_LABEL, "labelLimit": LABEL_PX},
                },
                "yOffset": {"field": "layout", "type": "nominal", "sort": list(layouts)},
            },
            "layer": [bars, _intervals(x)],
        },
    )


def _intervals(x: dict[str, str]) -> dict[str, object]:
    """Return the layer of intervals of horizontal bars whose x axis is ``x``."""
    return {
        "transform": [{"filter": "datum.low !== null"}],
        "mark": {"type": "errorbar", "color": INK, "ticks": {"size": 8, "color": INK}, "thickness": 1.5},
        "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}},
    }


def _option_axis(options: Sequence[str]) -> Spec:
    """Return the axis of options: the layout with its code, and below it the levels that it is combined with."""
    lines = {"labelExpr": "split(replace(datum.label, ') + ', ')\\n+ '), '\\n')", "labelLimit": LABEL_PX}
    return {**lines, "labelOffset": -_HALF_LINE_PX} if all(") + " in option for option in options) else lines


def over_years_bars(costs: CostsOverYears, width_px: int = FULL_PX) -> Spec:
    """Return a bar for the cost per job of each option, relative to the baseline, with its interval."""
    values = [
        {"option": option.option, "cost": option.cost, "low": option.cost_low, "high": option.cost_high}
        for option in costs.by_cost
    ]
    x = {"type": "quantitative", "title": f"Cost per job, relative to {costs.baseline}"}
    return chart(
        f"Cost per job over {costs.period} by option, with 95 percent intervals",
        {
            "width": width_px,
            "height": {"step": 40},
            "data": {"values": values},
            "encoding": {
                "y": {
                    "field": "option",
                    "type": "nominal",
                    "sort": None,
                    "title": None,
                    "axis": _option_axis([option.option for option in costs.by_cost]),
                }
            },
            "layer": [
                {"mark": {"type": "bar", "color": PALETTE[0]}, "encoding": {"x": {"field": "cost", **x}}},
                _intervals(x),
            ],
        },
    )
