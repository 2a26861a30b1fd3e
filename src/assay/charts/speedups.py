"""The chart of speedups over matched sets, and of a publication's own figures.

In: :class:`~assay.compare.matched.Speedup` values. Out: Vega-Lite specifications. Nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.charts.style import FULL_PX, INK, Spec, chart, colour_scale
from assay.charts.times import speedup_axis
from assay.compare.speedups import Speedup
from assay.wording.ratios import format_ratio

ROW_PX = 30


def _rows(speedups: Sequence[Speedup], titles: Mapping[str, str]) -> list[Spec]:
    several = len({s.candidate for s in speedups}) > 1
    grouped = len({s.group for s in speedups}) > 1
    rows = []
    for s in speedups:
        scale = f" (lab 1/{1 / float(s.lab_scale):g})" if s.lab_scale else ""
        group = titles.get(s.group, s.group) + scale
        name = f"{group}, {s.candidate}" if grouped and several else s.candidate if several else group
        rows.append(
            {
                "name": name or s.candidate,
                "candidate": s.candidate,
                "ratio": s.ratio,
                "low": s.low,
                "high": s.high,
                "label": f"{format_ratio(s.ratio or 0)}×",
                "sets": s.sets,
                "runs": s.runs_baseline + s.runs_candidate,
                "baseline": s.baseline,
                "origin": s.origin,
            }
        )
    return rows


def matched_forest(
    speedups: Sequence[Speedup], palette: Mapping[str, str], titles: Mapping[str, str], width_px: int = FULL_PX
) -> Spec:
    """Return a row for each speedup: a dot, its 95 % interval and its value, on a logarithmic axis."""
    shown = [s for s in speedups if s.ratio is not None]
    baselines = list(dict.fromkeys(s.baseline for s in shown))
    x = speedup_axis(
        [end for s in shown for end in (s.ratio, s.low, s.high) if end is not None],
        baselines[0] if len(baselines) == 1 else "the baseline",
    )
    candidates = list(dict.fromkeys(s.candidate for s in shown))
    colour = {
        "field": "candidate",
        "type": "nominal",
        "legend": None,
        "scale": colour_scale({name: palette.get(name, INK) for name in candidates}),
    }
    y = {"field": "name", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 220}}
    tooltip = [
        {"field": "name", "title": "Compared"},
        {"field": "baseline", "title": "Against"},
        {"field": "ratio", "title": "Times as fast", "format": ".3~g"},
        {"field": "low", "title": "95 % from", "format": ".3~g"},
        {"field": "high", "title": "to", "format": ".3~g"},
        {"field": "sets", "title": "Matched sets"},
        {"field": "runs", "title": "Runs"},
        {"field": "origin", "title": "Origin"},
    ]
    layers = [
        {
            "data": {"values": [{"one": 1}]},
            "mark": {"type": "rule", "color": INK, "opacity": 0.6, "strokeDash": [4, 3]},
            "encoding": {"x": {"field": "one", **x}},
        },
        {
            "transform": [{"filter": "datum.low !== null"}],
            "mark": {"type": "rule", "strokeWidth": 3, "strokeCap": "round"},
            "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}, "color": colour, "y": y},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
            "encoding": {"x": {"field": "ratio", **x}, "color": colour, "y": y, "tooltip": tooltip},
        },
        {
            "mark": {"type": "text", "dy": -11, "fontWeight": 600},
            "encoding": {"x": {"field": "ratio", **x}, "text": {"field": "label"}, "y": y},
        },
    ]
    return chart(
        "Speedup by row with 95 percent intervals; right of the dashed line is faster than the baseline",
        {"width": width_px, "height": {"step": ROW_PX}, "data": {"values": _rows(shown, titles)}, "layer": layers},
    )
