"""Draw a what-if answer: the change of time and cost, and the limiting resources before and after.

In: times in seconds, costs, and shares by limiting resource. Out: Vega-Lite specifications. Nothing is computed here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.analysis.run_profile.tables.limits_tables import LIMIT_TITLES
from assay.interfaces.charts.drawing.style import (
    FULL_PX,
    INK,
    LIMIT_COLOURS,
    PALETTE,
    Spec,
    chart,
    colour_scale,
    percent_theme,
)

_HEIGHT_PX = 260


@dataclass(frozen=True, slots=True)
class TimeCostPoint:
    """A measured run time, or a simulated run time with its interval. ``cost``: cost of a run; None if unknown."""

    label: str
    time_s: float
    cost: float | None
    low_s: float | None = None
    high_s: float | None = None


def change_chart(
    measured_point: TimeCostPoint, simulated_point: TimeCostPoint, currency: str, width_px: int = FULL_PX
) -> Spec:
    """Return a chart of the measured and the simulated point: time against cost, or time alone if a cost is unknown."""
    has_costs = measured_point.cost is not None and simulated_point.cost is not None
    rows = [
        {"label": side.label, "time": side.time_s, "cost": side.cost, "low": side.low_s, "high": side.high_s}
        for side in (measured_point, simulated_point)
    ]
    x = {"type": "quantitative", "title": "Time of a run (s)", "scale": {"zero": True, "nice": True}}
    if has_costs:
        scale = {"zero": True, "nice": True}
        y: Spec = {"field": "cost", "type": "quantitative", "title": f"Cost of a run ({currency})", "scale": scale}
    else:
        y = {"field": "label", "type": "nominal", "sort": None, "title": None}
    point_encoding: Spec = {"x": {"field": "time", **x}, "y": y}
    tooltip = [{"field": "label", "title": "What"}, {"field": "time", "title": "Time (s)", "format": ",.1f"}]
    if has_costs:
        tooltip.append({"field": "cost", "title": f"Cost ({currency})", "format": ".3~g"})
    colour = {
        "field": "label",
        "type": "nominal",
        "legend": {"symbolType": "circle"} if has_costs else None,
        "scale": {"domain": [measured_point.label, simulated_point.label], "range": [INK, PALETTE[0]]},
    }
    layers: list[Spec] = [
        {"mark": {"type": "line", "color": INK, "opacity": 0.4, "strokeDash": [2, 3]}, "encoding": point_encoding},
        {
            "transform": [{"filter": "datum.low !== null"}],
            "mark": {"type": "rule", "color": PALETTE[0], "strokeWidth": 2, "opacity": 0.7},
            "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}, "y": y},
        },
        {
            "transform": [{"filter": "datum.low === null"}],
            "mark": {"type": "point", "filled": False, "size": 130, "strokeWidth": 2},
            "encoding": {**point_encoding, "color": colour, "tooltip": tooltip},
        },
        {
            "transform": [{"filter": "datum.low !== null"}],
            "mark": {"type": "point", "filled": True, "size": 150, "opacity": 1},
            "encoding": {**point_encoding, "color": colour, "tooltip": tooltip},
        },
    ]
    return chart(
        "Time and cost of a run, measured (hollow) and simulated with the changes, with its 90 percent interval",
        {
            "width": width_px,
            "height": _HEIGHT_PX if has_costs else {"step": 34},
            "data": {"values": rows},
            "layer": layers,
        },
    )


def limit_bars(sides: Sequence[tuple[str, Mapping[str, float]]], width_px: int = FULL_PX) -> Spec:
    """Return a chart with a bar for each side, divided by limiting resource, as shares of the tasks' time."""
    names = [name for name in LIMIT_COLOURS if any(side.get(name, 0.0) > 0 for _, side in sides)]
    names += [name for _, side in sides for name in side if name not in LIMIT_COLOURS and name not in names]
    titles = {name: name for name in names} | {str(limit): title for limit, title in LIMIT_TITLES.items()}
    rows = [
        {"side": label, "limit": titles[name], "share": shares.get(name, 0.0), "rank": rank}
        for label, shares in sides
        for rank, name in enumerate(names)
    ]
    palette = {titles[name]: LIMIT_COLOURS.get(name, PALETTE[-1]) for name in names}
    return chart(
        "What limited the tasks, as shares of their time, before and with the changes",
        {
            "width": width_px,
            "height": {"step": 34},
            "data": {"values": rows},
            "mark": {"type": "bar", "height": 22},
            "encoding": {
                "y": {"field": "side", "type": "nominal", "sort": None, "title": None},
                "x": {
                    "field": "share",
                    "type": "quantitative",
                    "stack": "zero",
                    "title": "Share of the time of all tasks",
                    "axis": {"format": "%"},
                    "scale": {"domain": [0, 1]},
                },
                "order": {"field": "rank", "type": "quantitative"},
                "color": {"field": "limit", "type": "nominal", "sort": list(palette), "scale": colour_scale(palette)},
                "tooltip": [
                    {"field": "side", "title": "When"},
                    {"field": "limit", "title": "Limit"},
                    {"field": "share", "title": "Share", "format": ".0%"},
                ],
            },
        },
        percent_theme(),
    )
