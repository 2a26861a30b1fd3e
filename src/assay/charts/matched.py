"""Charts of speedups over matched sets: a dot and its interval for each level, with the number of sets beside it.

In: speedups of ``analysis.matched``, all against one baseline. Out: Vega-Lite specifications. Nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.charts.style import FULL_PX, INK, Spec, chart, colour_scale
from assay.compare.speedups import Speedup
from assay.wording.ratios import format_ratio

_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
_ROW_PX = 30


def shared_domain(speedups: Sequence[Speedup]) -> tuple[float, float]:
    """Return the ends of an axis that holds all ``speedups`` and 1, for charts that are to be read side by side."""
    ends = [end for s in speedups for end in (s.ratio, s.low, s.high) if end is not None]
    return max(0.01, min([0.9, *(0.9 * end for end in ends)])), min(100.0, max([1.2, *(1.1 * end for end in ends)]))


def _row(speedup: Speedup, name: str, domain: tuple[float, float]) -> Spec:
    sets = "1 set" if speedup.sets == 1 else f"{speedup.sets} sets"
    ratio = speedup.ratio or 1.0
    low, high = speedup.low, speedup.high
    return {
        "name": name,
        "candidate": speedup.candidate,
        "ratio": ratio,
        "text": f"{format_ratio(ratio)}× ({sets})",
        "low": None if low is None else max(low, domain[0]),
        "high": None if high is None else min(high, domain[1]),
    }


def matched_forest(
    speedups: Sequence[Speedup], palette: Mapping[str, str], domain: tuple[float, float], width_px: int = FULL_PX
) -> Spec:
    """Return each level's speedup over the baseline with its 95 % interval, on a logarithmic axis.

    A level without an interval has a ring instead of a dot. ``domain``: the axis' ends (:func:`shared_domain`).
    """
    shown = [s for s in speedups if s.ratio is not None]
    baseline = shown[0].baseline if shown else ""
    origins = {(s.origin, s.lab_scale) for s in shown}
    names = [s.candidate if len(origins) < 2 else f"{s.candidate} ({s.origin})" for s in shown]
    ticks = [tick for tick in _TICKS if domain[0] <= tick <= domain[1]]
    scale = {"type": "log", "domain": list(domain), "nice": False, "clamp": True}
    x = {
        "type": "quantitative",
        "scale": scale,
        "axis": {"values": ticks, "format": "~g"},
        "title": f"Times as fast as {baseline}",
    }
    y = {"field": "name", "type": "nominal", "sort": None, "title": None}
    levels = {s.candidate: palette[s.candidate] for s in shown}
    colour = {"field": "candidate", "type": "nominal", "legend": None, "scale": colour_scale(levels)}
    no_difference = {
        "data": {"values": [{"one": 1}]},
        "mark": {"type": "rule", "color": INK, "opacity": 0.6, "strokeDash": [4, 3]},
        "encoding": {"x": {"field": "one", **x}},
    }
    interval = {
        "transform": [{"filter": "datum.low !== null"}],
        "mark": {"type": "rule", "strokeWidth": 3, "strokeCap": "round"},
        "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}, "color": colour, "y": y},
    }
    dots = [
        {
            "transform": [{"filter": f"datum.low {test} null"}],
            "mark": {"type": "point", "filled": filled, "size": 90, "opacity": 1},
            "encoding": {"x": {"field": "ratio", **x}, "color": colour, "y": y},
        }
        for test, filled in (("!==", True), ("===", False))
    ]
    numbers = {
        "mark": {"type": "text", "align": "left", "x": "width", "xOffset": 10},
        "encoding": {"text": {"field": "text"}, "y": y},
    }
    rows = [_row(s, name, domain) for s, name in zip(shown, names, strict=True)]
    return chart(
        f"Speedup over {baseline} with 95 percent intervals and numbers of matched sets",
        {
            "width": width_px,
            "height": {"step": _ROW_PX},
            "data": {"values": rows},
            "layer": [no_difference, interval, *dots, numbers],
        },
    )
