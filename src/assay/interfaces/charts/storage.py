"""Draw storage costs: cost per performance against cost per capacity, relative to a baseline.

In: one :class:`StoragePoint` for each layout. Out: a Vega-Lite specification. Nothing is computed here.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from assay.interfaces.charts.drawing.identity import shapes_of
from assay.interfaces.charts.drawing.style import FULL_PX, INK, PALETTE, Spec, chart, colour_scale

HEIGHT_PX = 300


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


def storage_costs(
    points: Sequence[StoragePoint], baseline: str, palette: Mapping[str, str], width_px: int = FULL_PX
) -> Spec:
    """Return a chart with a point for each layout of known capacity, and the baseline at (1, 1)."""
    rows = [{"layout": baseline, "performance": 1.0, "capacity": 1.0}] + [
        {"layout": p.layout, "performance": p.cost_per_performance, "capacity": p.cost_per_capacity}
        for p in points
        if p.cost_per_capacity is not None
    ]
    layouts = [row["layout"] for row in rows]
    x = {
        "field": "capacity",
        "type": "quantitative",
        # Leaves room for the name of the rightmost point.
        "scale": {
            "zero": True,
            "nice": True,
            "domainMax": 1.12 * max([1.0, *(p.cost_per_capacity or 0.0 for p in points)]),
        },
        "title": f"Cost per capacity ({baseline} is 1)",
    }
    y = {
        "field": "performance",
        "type": "quantitative",
        "scale": {"zero": True, "nice": True},
        "title": f"Cost per performance ({baseline} is 1)",
    }
    named = {"type": "nominal", "field": "layout", "legend": None}
    colours = {str(name): palette.get(str(name), PALETTE[-1]) for name in layouts}
    shapes = shapes_of({**colours, **palette})
    rule = {"type": "rule", "color": INK, "opacity": 0.45, "strokeDash": [4, 3]}
    return chart(
        f"Cost per capacity against cost per performance by layout, as shares of those of {baseline}",
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
                        "color": {**named, "scale": colour_scale(colours)},
                        "shape": {**named, "scale": {"domain": layouts, "range": [shapes[str(n)] for n in layouts]}},
                    },
                },
                {
                    "mark": {"type": "text", "align": "left", "dx": 10, "dy": -8},
                    "encoding": {"x": x, "y": y, "text": {"field": "layout"}},
                },
            ],
        },
    )
