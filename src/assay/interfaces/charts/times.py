"""Draw run times, throughputs and phases.

In: summaries of :mod:`assay.analysis.comparison.details.level_summary`. Out: Vega-Lite specifications. Nothing is
computed here.
"""

from collections.abc import Mapping, Sequence

from assay.analysis.comparison.details.level_summary import LevelSummary
from assay.interfaces.charts.drawing.style import HALF_PX, INK, Spec, chart, colour_scale, grouped_bars, opacity_scale
from assay.model.runs.throughput import GATED_AGGREGATE, JOB_THROUGHPUT, PER_STREAM

THROUGHPUT_TITLES = {PER_STREAM: "Per stream", GATED_AGGREGATE: "Gated aggregate", JOB_THROUGHPUT: "Over job wall time"}


def _level_scale(palette: Mapping[str, str], levels: Sequence[str]) -> Spec:
    return colour_scale({level: palette[level] for level in dict.fromkeys(levels)})


def runtime_bars(summaries: Sequence[LevelSummary], palette: Mapping[str, str], width_px: int = HALF_PX) -> Spec:
    """Return a chart of run times in seconds: a bar for the geometric mean, its 95 % interval, a ring for each run."""
    summaries_with_runs = [summary for summary in summaries if summary.n]
    means = [
        {"level": s.level, "mean": s.geometric_mean_s, "low": s.low_s, "high": s.high_s} for s in summaries_with_runs
    ]
    run_rows = [{"level": s.level, "seconds": duration} for s in summaries_with_runs for duration in s.durations_s]
    y = {"field": "level", "type": "nominal", "sort": None, "title": None}
    colour = {
        "field": "level",
        "type": "nominal",
        "scale": _level_scale(palette, [s.level for s in summaries_with_runs]),
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
        "data": {"values": run_rows},
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
    """Return a bar chart of median throughputs in MB/s: a group for each of the three measures."""
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


def phase_timeline(summaries: Sequence[LevelSummary], palette: Mapping[str, str], width_px: int = HALF_PX) -> Spec:
    """Return a chart of phases: for each configuration, a bar from the median start to the median end.

    Times are in seconds from the run's start.
    """
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
            "mark": {"type": "bar", "cornerRadius": 2},
            "encoding": {
                "y": {"field": "phase", "type": "nominal", "sort": None, "title": None},
                "yOffset": {"field": "level", "type": "nominal", "sort": levels},
                "x": {"field": "start", "type": "quantitative", "title": "Time since the run's start (s)"},
                "x2": {"field": "end"},
                "color": {"field": "level", "type": "nominal", "scale": _level_scale(palette, levels)},
                "opacity": {
                    "field": "level",
                    "type": "nominal",
                    "scale": opacity_scale({level: palette[level] for level in levels}),
                },
            },
        },
    )
