"""Draw the cost per job of each layout.

In: rows of :mod:`assay.analysis.cost.tco`. Out: a Vega-Lite specification. Nothing is computed here.
"""

from collections.abc import Mapping, Sequence

from assay.analysis.cost.tco import TcoRow
from assay.interfaces.charts.drawing.style import FULL_PX, INK, Spec, chart, colour_scale, opacity_scale


def cost_bars(
    rows: Sequence[TcoRow], palette: Mapping[str, str], titles: Mapping[str, str], width_px: int = FULL_PX
) -> Spec:
    """Return a bar chart of cost per job by workload and layout, with intervals from the run time's intervals."""
    values = [
        {
            "workload": titles.get(row.workload, row.workload),
            "layout": row.layout,
            "cost": row.cost_per_job,
            "low": row.cost_per_job_low,
            "high": row.cost_per_job_high,
        }
        for row in rows
    ]
    layouts = list(dict.fromkeys(row.layout for row in rows))
    currency = rows[0].currency if rows else ""
    x = {"type": "quantitative", "title": f"Cost per job ({currency})"}
    colours = {layout: palette[layout] for layout in layouts}
    by_layout = {"field": "layout", "type": "nominal"}
    bars = {
        "mark": {"type": "bar"},
        "encoding": {
            "x": {"field": "cost", **x},
            "color": {**by_layout, "scale": colour_scale(colours)},
            "opacity": {**by_layout, "scale": opacity_scale(colours)},
        },
    }
    interval = {
        "transform": [{"filter": "datum.low !== null"}],
        "mark": {"type": "errorbar", "color": INK, "ticks": {"size": 8, "color": INK}, "thickness": 1.5},
        "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}},
    }
    return chart(
        "Cost of one job by workload and layout, with 95 percent intervals",
        {
            "width": width_px,
            "height": {"step": 22},
            "data": {"values": values},
            "encoding": {
                "y": {"field": "workload", "type": "nominal", "sort": None, "title": None},
                "yOffset": {"field": "layout", "type": "nominal", "sort": layouts},
            },
            "layer": [bars, interval],
        },
    )
