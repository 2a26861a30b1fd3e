"""Charts of run times, throughputs, speedups and phases.

In: summaries and comparisons of ``analysis``. Out: Vega-Lite specifications. Nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.charts.style import FULL_PX, HALF_PX, INK, Spec, chart, colour_scale, grouped_bars
from assay.compare.comparison import Comparison
from assay.compare.summary import LevelSummary
from assay.wording.ratios import format_ratio

THROUGHPUT_TITLES = {
    "per_stream_mb_per_s": "Per stream",
    "gated_aggregate_mb_per_s": "Gated aggregate",
    "job_throughput_mb_per_s": "Over job wall time",
}
_WIDE = 6.0
_FEW_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
_SPEEDUP_TICKS = (0.1, 0.2, 0.5, 0.7, 1, 1.5, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100)


def _level_scale(palette: Mapping[str, str], levels: Sequence[str]) -> Spec:
    return colour_scale({level: palette[level] for level in dict.fromkeys(levels)})


def runtime_bars(summaries: Sequence[LevelSummary], palette: Mapping[str, str], width_px: int = HALF_PX) -> Spec:
    """Return run times in seconds: a bar for the geometric mean, its 95 % interval, and a ring for each run."""
    shown = [summary for summary in summaries if summary.n]
    means = [{"level": s.level, "mean": s.geometric_mean_s, "low": s.low_s, "high": s.high_s} for s in shown]
    each_run = [{"level": s.level, "seconds": duration} for s in shown for duration in s.durations_s]
    y = {"field": "level", "type": "nominal", "sort": None, "title": None}
    colour = {
        "field": "level",
        "type": "nominal",
        "scale": _level_scale(palette, [s.level for s in shown]),
        "legend": None,
    }
    bars = {
        "mark": {"type": "bar", "height": 18, "opacity": 0.88},
        "encoding": {"x": {"field": "mean", "type": "quantitative", "title": "Run time (s)"}, "color": colour},
    }
    interval = {
        "transform": [{"filter": "datum.low !== null"}],
        "mark": {"type": "errorbar", "ticks": {"size": 10, "color": INK}, "color": INK, "thickness": 1.5},
        "encoding": {"x": {"field": "low", "type": "quantitative", "title": "Run time (s)"}, "x2": {"field": "high"}},
    }
    points = {
        "data": {"values": each_run},
        "mark": {"type": "point", "size": 36, "color": INK, "opacity": 0.85, "strokeWidth": 1.3, "yOffset": 16},
        "encoding": {"x": {"field": "seconds", "type": "quantitative"}},
    }
    return chart(
        "Run time in seconds by configuration, with the 95 percent interval of the mean and each run",
        {
            "width": width_px,
            "height": {"step": 46},
            "data": {"values": means},
            "encoding": {"y": y},
            "layer": [bars, interval, points],
        },
    )


def throughput_bars(summaries: Sequence[LevelSummary], palette: Mapping[str, str], width_px: int = HALF_PX) -> Spec:
    """Return the three throughputs by name in MB/s, medians, side by side."""
    rows = [
        {"name": title, "level": s.level, "rate": s.throughputs_mb_per_s.get(key)}
        for key, title in THROUGHPUT_TITLES.items()
        for s in summaries
        if s.throughputs_mb_per_s.get(key) is not None
    ]
    return grouped_bars(
        "Throughput in MB per second by configuration: each measure under its own name",
        rows,
        "name",
        "rate",
        "Throughput (MB/s)",
        {s.level: palette[s.level] for s in summaries},
        width_px,
    )


def _forest_rows(comparisons: Sequence[Comparison], titles: Mapping[str, str]) -> list[Spec]:
    several = len({c.candidate for c in comparisons}) > 1
    rows = []
    for c in comparisons:
        label = titles.get(c.workload, c.workload) + (f" ({c.context})" if c.context else "")
        ratio = format_ratio(c.ratio) if c.ratio is not None else ""
        rows.append(
            {
                "name": f"{label}, {c.candidate}" if several else label,
                "candidate": c.candidate,
                "ratio": c.ratio,
                "low": c.ratio_low,
                "high": c.ratio_high,
                "label": f"{ratio}×",
            }
        )
    return rows


def speedup_axis(ends: Sequence[float], baseline: str) -> Spec:
    """Return the logarithmic axis that speedups and the ends of their intervals are drawn on."""
    domain = [max(0.1, min([0.9, *(0.95 * end for end in ends)])), min(100.0, max([1.1, *(1.1 * end for end in ends)]))]
    steps = _SPEEDUP_TICKS if domain[1] / domain[0] < _WIDE else _FEW_TICKS  # labels must not crowd each other out
    ticks = [tick for tick in steps if domain[0] <= tick <= domain[1]]
    scale = {"type": "log", "domain": domain, "nice": False, "clamp": True}
    axis = {"values": ticks, "format": "~g"}
    return {"type": "quantitative", "scale": scale, "axis": axis, "title": f"Times as fast as {baseline}"}


def speedup_forest(
    comparisons: Sequence[Comparison], palette: Mapping[str, str], titles: Mapping[str, str], width_px: int = FULL_PX
) -> Spec:
    """Return each comparison's speedup (baseline time / candidate time) with its interval, on a logarithmic axis."""
    shown = [c for c in comparisons if c.ratio is not None]
    ends = [end for c in shown for end in (c.ratio, c.ratio_low, c.ratio_high) if end is not None]
    baseline = shown[0].baseline if shown else ""
    x = speedup_axis(ends, baseline)
    colour = {
        "field": "candidate",
        "type": "nominal",
        "legend": None,
        "scale": _level_scale(palette, [c.candidate for c in shown]),
    }
    y = {"field": "name", "type": "nominal", "sort": None, "title": None}
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
    point = {
        "mark": {"type": "point", "filled": True, "size": 110, "opacity": 1},
        "encoding": {"x": {"field": "ratio", **x}, "color": colour, "y": y},
    }
    label = {
        "mark": {"type": "text", "dy": -14, "fontWeight": 600},
        "encoding": {"x": {"field": "ratio", **x}, "text": {"field": "label"}, "y": y},
    }
    layers = [no_difference, interval, point, label]
    return chart(
        f"Speedup over {baseline} by workload with 95 percent intervals",
        {"width": width_px, "height": {"step": 48}, "data": {"values": _forest_rows(shown, titles)}, "layer": layers},
    )


def phase_timeline(summaries: Sequence[LevelSummary], palette: Mapping[str, str], width_px: int = HALF_PX) -> Spec:
    """Return when each phase begins and ends, seconds from the run's start: the median of each, side by side."""
    rows = [
        {"phase": p.name, "level": s.level, "start": p.start_s, "end": p.end_s} for s in summaries for p in s.phases
    ]
    levels = [s.level for s in summaries]
    return chart(
        "Phases of the job in seconds from its start, by configuration",
        {
            "width": width_px,
            "height": {"step": 16},
            "data": {"values": rows},
            "mark": {"type": "bar", "cornerRadius": 2, "opacity": 0.88},
            "encoding": {
                "y": {"field": "phase", "type": "nominal", "sort": None, "title": None},
                "yOffset": {"field": "level", "type": "nominal", "sort": levels},
                "x": {"field": "start", "type": "quantitative", "title": "Time since the run's start (s)"},
                "x2": {"field": "end"},
                "color": {"field": "level", "type": "nominal", "scale": _level_scale(palette, levels)},
            },
        },
    )
