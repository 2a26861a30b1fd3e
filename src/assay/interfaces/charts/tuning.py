"""Draw the course of a tuning: the time of each run in run order, and the fastest time so far.

In: trials. Out: a Vega-Lite specification. Nothing is computed here.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from assay.interfaces.charts.drawing.style import FULL_PX, INK, PALETTE, Spec, chart

HEIGHT_PX = 220
KINDS = ("the plan's configuration", "search", "comparison")


class Trial(Protocol):
    """One run of a tuning."""

    @property
    def number(self) -> int:
        """Position of the run in the tuning."""

    @property
    def levels(self) -> Mapping[str, str]:
        """Levels of the tuned factors."""

    @property
    def is_default(self) -> bool:
        """Whether the run has the plan's configuration."""

    @property
    def comparison(self) -> bool:
        """Whether the run belongs to the comparison after the search."""

    @property
    def duration_s(self) -> float | None:
        """Run time in seconds; None if the run is not valid."""

    @property
    def fastest_s(self) -> float | None:
        """Time of the fastest run of the search so far, in seconds; None if unknown."""


def tuning_course(trials: Sequence[Trial], width_px: int = FULL_PX) -> Spec:
    """Return a chart of run times in run order; the kinds of runs (:data:`KINDS`) differ in colour and shape."""
    rows = [
        {
            "number": trial.number,
            "seconds": trial.duration_s,
            "fastest": None if trial.comparison else trial.fastest_s,
            "kind": KINDS[0] if trial.is_default else KINDS[2] if trial.comparison else KINDS[1],
            "what": ", ".join(f"{name} {level}" for name, level in trial.levels.items()) or KINDS[0],
        }
        for trial in trials
    ]
    x = {"field": "number", "type": "quantitative", "title": "Run", "axis": {"tickMinStep": 1, "format": "d"}}
    axis = {"type": "quantitative", "title": "Run time (s)", "scale": {"zero": False, "nice": True}}
    kinds = {"domain": list(KINDS), "range": [PALETTE[1], PALETTE[0], PALETTE[2]]}
    shapes = {"domain": list(KINDS), "range": ["diamond", "circle", "square"]}
    points = {
        "transform": [{"filter": "datum.seconds !== null"}],
        "mark": {"type": "point", "filled": True, "size": 60, "stroke": INK, "strokeWidth": 0.3},
        "encoding": {
            "x": x,
            "y": {"field": "seconds", **axis},
            "color": {"field": "kind", "type": "nominal", "title": None, "scale": kinds},
            "shape": {"field": "kind", "type": "nominal", "title": None, "scale": shapes},
            "tooltip": [{"field": "what", "title": "Configuration"}, {"field": "seconds", "title": "Time (s)"}],
        },
    }
    line = {
        "transform": [{"filter": "datum.fastest !== null"}],
        "mark": {"type": "line", "interpolate": "step-after", "color": INK, "strokeWidth": 1, "opacity": 0.6},
        "encoding": {"x": x, "y": {"field": "fastest", **axis}},
    }
    body = {"width": width_px, "height": HEIGHT_PX, "data": {"values": rows}, "layer": [line, points]}
    return chart("Time of each run in the order of the tuning, and the fastest of the search so far", body)
