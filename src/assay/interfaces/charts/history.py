"""Draw a run history: a value of each run over its start, with flagged runs highlighted.

In: runs in the order of their starts. Out: a Vega-Lite specification. Nothing is computed here.
"""

from collections.abc import Sequence
from typing import Protocol

from assay.interfaces.charts.drawing.style import FULL_PX, INK, PALETTE, TIME_FORMATS, Spec, chart, log_axis

HEIGHT_PX = 240
PLAIN, OUTLIER = "as expected", "outlier"


class DatedValue(Protocol):
    """A run with its start and the value to draw."""

    @property
    def run_id(self) -> str:
        """Id of the run."""

    @property
    def started_at(self) -> str:
        """Start of the run, in ISO 8601."""

    @property
    def value(self) -> float:
        """Value on the vertical axis; the chart's title names it."""

    @property
    def anomaly(self) -> str | None:
        """Description of the run's anomaly; None without an anomaly."""


def run_history(
    points: Sequence[DatedValue], title: str, *, logarithmic: bool = False, width_px: int = FULL_PX
) -> Spec:
    """Return the chart. ``title``: name of the values. ``logarithmic``: whether their axis is logarithmic."""
    rows = [
        {
            "at": p.started_at,
            "value": p.value,
            "kind": OUTLIER if p.anomaly else PLAIN,
            "what": p.anomaly,
            "run": p.run_id,
        }
        for p in points
    ]
    scale: Spec = {"type": "log", "nice": True} if logarithmic else {"zero": True, "nice": True}
    value_axis = log_axis([p.value for p in points]) if logarithmic and points else {}
    days = {p.started_at[:10] for p in points}
    colour_range = {"domain": [PLAIN, OUTLIER], "range": [PALETTE[0], PALETTE[1]]}
    shape_range = {"domain": [PLAIN, OUTLIER], "range": ["circle", "diamond"]}
    return chart(
        f"{title} of each run over its start; outliers have another colour and shape",
        {
            "width": width_px,
            "height": HEIGHT_PX,
            "data": {"values": rows},
            "mark": {"type": "point", "filled": True, "opacity": 0.75, "size": 45, "stroke": INK, "strokeWidth": 0.3},
            "encoding": {
                "x": {
                    "field": "at",
                    "type": "temporal",
                    "title": f"Started on {days.pop()} (UTC)" if len(days) == 1 else "Started (UTC)",
                    "scale": {"type": "utc"},
                    "axis": {"format": TIME_FORMATS},
                },
                "y": {"field": "value", "type": "quantitative", "title": title, "scale": scale, "axis": value_axis},
                "color": {"field": "kind", "type": "nominal", "title": None, "scale": colour_range},
                "shape": {"field": "kind", "type": "nominal", "title": None, "scale": shape_range},
                "tooltip": [
                    {"field": "run", "title": "Run"},
                    {"field": "value", "title": title, "format": ",.3~g"},
                    {"field": "what", "title": "Outlier"},
                ],
            },
        },
    )
