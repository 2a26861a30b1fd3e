"""Draw disk traffic over time, for one run of each configuration.

In: series of :mod:`assay.analysis.run_profile.traffic`, MB/s. Out: a Vega-Lite specification. Nothing is computed here.
"""

from collections.abc import Mapping, Sequence

from assay.analysis.run_profile.traffic import TrafficSeries
from assay.interfaces.charts.drawing.style import FULL_PX, HALF_PX, Spec, chart, colour_scale

STACKED_PX, PAPER_PX, SIDE_PX = 90, 70, 110
"""Height of a panel, in pixels: in one column; in two columns on paper; in two columns on a screen."""
GAP_PX = 24
AXIS_PX = 44
"""Width of the y axis labels, in pixels. Vega does not include it in the width of a facet's panels."""
SHADES = (1.0, 0.55)
"""Opacities that alternate between the devices of a stack, so that neighbours are distinguishable."""


def _rows(sides: Mapping[str, Sequence[TrafficSeries]]) -> list[Spec]:
    rows = []
    for level, series in sides.items():
        devices = list(dict.fromkeys(line.device for line in series))
        for line in series:
            rank = devices.index(line.device)
            base = {
                "level": level,
                "direction": line.direction,
                "panel": f"{level}, {line.direction} (MB/s)",
                "device": line.device,
                "shade": rank % len(SHADES),
                "rank": rank,
            }
            rows += [{**base, "t": t, "rate": rate} for t, rate in zip(line.t_s, line.mb_per_s, strict=True)]
    return rows


def disk_traffic_areas(
    sides: Mapping[str, Sequence[TrafficSeries]], palette: Mapping[str, str], width_px: int = HALF_PX
) -> Spec:
    """Return a chart of read and write MB/s over time, with a panel for each configuration and direction.

    Devices are stacked. All panels share both axes, so heights and lengths are comparable. ``sides``: configuration to
    its series. Below the default width, the panels are in one column.
    """
    is_one_column = width_px < HALF_PX
    panel = {
        "width": width_px - AXIS_PX if is_one_column else (width_px - AXIS_PX - GAP_PX) // 2,
        "height": STACKED_PX if is_one_column else PAPER_PX if width_px < FULL_PX else SIDE_PX,
        "mark": {"type": "area", "interpolate": "step-after", "line": False},
        "encoding": {
            "x": {
                "field": "t",
                "type": "quantitative",
                "title": "Time since the run's start (s)",
                "axis": {"tickCount": 5},
            },
            "y": {"field": "rate", "type": "quantitative", "stack": "zero", "title": None, "axis": {"tickCount": 4}},
            "color": {
                "field": "level",
                "type": "nominal",
                "legend": None,
                "scale": colour_scale({level: palette[level] for level in sides}),
            },
            "detail": {"field": "device", "type": "nominal"},
            "order": {"field": "rank", "type": "quantitative"},
            "opacity": {
                "field": "shade",
                "type": "ordinal",
                "legend": None,
                "scale": {"domain": list(range(len(SHADES))), "range": list(SHADES)},
            },
        },
    }
    header = {"title": None, "labelAngle": 0, "labelOrient": "top", "labelAnchor": "start", "labelPadding": 4}
    panels = list(dict.fromkeys(row["panel"] for row in _rows(sides)))
    by_panel = {"field": "panel", "type": "nominal", "sort": panels, "header": header}
    return chart(
        "Disk reads and writes in MB per second over time, for one run of each configuration",
        {
            "autosize": "pad",
            "data": {"values": _rows(sides)},
            "spacing": GAP_PX,
            "columns": 1 if is_one_column else 2,
            "facet": by_panel,
            "spec": panel,
        },
    )
