"""Draw speedups: a dot and its 95 % interval for each comparison, on a logarithmic axis.

In: comparisons over one or many matched groups, with their names. Out: a Vega-Lite specification.
"""

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Protocol

from assay.analysis.comparison.result import SpeedupResult
from assay.analysis.comparison.verdict_text import groups_and_runs
from assay.interfaces.charts.drawing.style import FULL_PX, INK, Spec, chart, colour_scale
from assay.text import format_ratio, scale_text, workload_title

_ROW_PX = 30
"""Height of a row, in pixels."""
_WIDE_RATIO_MIN = 6.0
"""Minimum ratio of the ends of an axis that uses the sparse ticks (``_FEW_TICKS``)."""
_FEW_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
_TICKS = (0.1, 0.2, 0.5, 0.7, 1, 1.5, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100)
"""Labelled values of a narrower axis."""

_BEYOND_MAX = 4.0
"""Maximum ratio of an end of the axis to the extreme speedup on that side."""
_WIDTH_MAX = 4.0
"""Maximum ratio of the ends of an interval that the axis contains anyway. A wider interval would flatten the others."""
_TITLE_LETTERS_MAX = 46
"""Maximum length of a line of the axis title, in characters: the width of a phone."""
_TWO_LINES = "split(replace(datum.label, '), ', ')\\n'), '\\n')"
"""Expression that continues a name after its code in brackets on a second line."""
_BASELINE: Spec = {"condition": {"test": "indexof(datum.label, '), ') >= 0", "value": "bottom"}, "value": "middle"}
"""Baseline of a name's first line: above the row's centre where a second line follows."""
_TICKS_MIN = 3
"""Minimum number of ticks on an axis."""
_FINER_PER_UNIT = (5, 10, 20, 50, 100)
"""Ticks per unit (5: every 0.2), tried in this order for an axis with fewer than ``_TICKS_MIN`` of the ticks above."""


class ForestRow(Protocol):
    """A ratio with its interval and its basis."""

    @property
    def candidate(self) -> str:
        """Name of the option that is compared with the baseline."""

    @property
    def baseline(self) -> str:
        """Name of the baseline."""

    @property
    def ratio(self) -> float | None:
        """Speedup: baseline time / option time."""

    @property
    def low(self) -> float | None:
        """Lower end of the 95 % interval."""

    @property
    def high(self) -> float | None:
        """Upper end of the 95 % interval."""

    @property
    def groups(self) -> int:
        """Number of matched groups with both the option and the baseline."""

    @property
    def runs_baseline(self) -> int:
        """Number of the baseline's runs in these groups."""

    @property
    def runs_candidate(self) -> int:
        """Number of the option's runs in these groups."""

    @property
    def origin(self) -> str:
        """Origin of the ratio: measured, simulated, predicted or published."""


def speedup_domain(comparisons: Sequence[ForestRow]) -> tuple[float, float]:
    """Return the ends of an axis that contains 1 and all ratios.

    It contains intervals that are no wider than :data:`_WIDTH_MAX` or the middle interval, and of those no more than
    :data:`_BEYOND_MAX` times the extreme ratios. An arrow marks longer intervals.
    """
    ratios = [1.0, *(c.ratio for c in comparisons if c.ratio is not None)]
    by_width = sorted((c.high / c.low, c.low, c.high) for c in comparisons if c.low and c.high)
    widest = max(_WIDTH_MAX, by_width[(len(by_width) - 1) // 2][0]) if by_width else 0.0
    ends = [*ratios, *(end for width, *interval in by_width if width <= widest for end in interval)]
    low, high = min([0.9, *(0.9 * end for end in ends)]), max([1.2, *(1.1 * end for end in ends)])
    return max(0.01, low, min(ratios) / _BEYOND_MAX), min(100.0, high, max(ratios) * _BEYOND_MAX)


def row_names(comparisons: Sequence[ForestRow], groups: Sequence[str]) -> list[str]:
    """Return the name that distinguishes each comparison: its group, its candidate, or both."""
    has_several_candidates, has_several_groups = len({c.candidate for c in comparisons}) > 1, len(set(groups)) > 1
    return [
        ", ".join(
            name
            for name in (
                group * (has_several_groups or not has_several_candidates),
                c.candidate * has_several_candidates,
            )
            if name
        )
        or c.candidate
        for c, group in zip(comparisons, groups, strict=True)
    ]


def named_speedups(speedups: Sequence[SpeedupResult]) -> list[tuple[str, SpeedupResult]]:
    """Return speedups over matched groups, each with its row name; names of lab runs include the scale."""
    scales = (f" (lab {scale_text(float(s.lab_scale))})" if s.lab_scale else "" for s in speedups)
    groups = [workload_title(s.group) + scale for s, scale in zip(speedups, scales, strict=True)]
    return list(zip(row_names(speedups, groups), speedups, strict=True))


def _ticks(domain: tuple[float, float]) -> list[float]:
    """Return the labelled values of the axis: enough to read it, and few enough not to overlap."""
    steps = _TICKS if domain[1] / domain[0] < _WIDE_RATIO_MIN else _FEW_TICKS
    ticks = [tick for tick in steps if domain[0] <= tick <= domain[1]]
    for per_unit in _FINER_PER_UNIT:
        if len(ticks) < _TICKS_MIN:
            first_number, last_number = int(-(-domain[0] * per_unit // 1)), int(domain[1] * per_unit)
            ticks = [number / per_unit for number in range(first_number, last_number + 1)]
    return ticks


def _axis(domain: tuple[float, float], baselines: Sequence[str], rows: Sequence[Spec]) -> Spec:
    is_cut = any(row[end] != row[drawn_end] for row in rows for end, drawn_end in (("low", "from"), ("high", "to")))
    note = "; arrow: the interval is longer" if is_cut else ""
    title = wrap(f"Speedup vs {baselines[0] if len(baselines) == 1 else 'the baseline'}{note}", _TITLE_LETTERS_MAX)
    return {
        "type": "quantitative",
        "scale": {"type": "log", "domain": list(domain), "nice": False, "clamp": True},
        # A title that is wider than the plot extends to the left, below the names, and is not cut at the right.
        "axis": {"values": _ticks(domain), "format": "~g", "titleAnchor": "end"},
        "title": title if len(title) > 1 else title[0],
    }


def _row(name: str, c: ForestRow, domain: tuple[float, float]) -> Spec:
    return {
        "name": name,
        "candidate": c.candidate,
        "baseline": c.baseline,
        "ratio": c.ratio,
        "low": c.low,
        "high": c.high,
        "from": None if c.low is None else max(c.low, domain[0]),
        "to": None if c.high is None else min(c.high, domain[1]),
        "label": f"{format_ratio(c.ratio or 1.0)}×",
        "basis": groups_and_runs(c.groups, c.runs_baseline, c.runs_candidate),
        "origin": str(c.origin),
    }


def _arrows(rows: Sequence[Spec], by_row: Spec, x: Spec) -> list[Spec]:
    """Return the marks of intervals that are longer than the axis: a triangle at its end."""
    sides = (("low", "from", "triangle-left"), ("high", "to", "triangle-right"))
    return [
        {
            "transform": [{"filter": f"datum.{end} !== null && datum.{end} !== datum['{drawn_end}']"}],
            "mark": {"type": "point", "shape": shape, "filled": True, "size": 70, "opacity": 1},
            "encoding": {"x": {"field": drawn_end, **x}, **by_row},
        }
        for end, drawn_end, shape in sides
        if any(row[end] != row[drawn_end] for row in rows)
    ]


def speedup_forest(
    named_rows: Sequence[tuple[str, ForestRow]], palette: Mapping[str, str], width_px: int = FULL_PX
) -> Spec:
    """Return a chart with a row for each comparison that has a ratio (baseline time / candidate time).

    A row without an interval has a ring instead of a dot.
    """
    rows_with_ratio = [(name, c) for name, c in named_rows if c.ratio is not None]
    comparisons = [c for _, c in rows_with_ratio]
    ends = speedup_domain(comparisons)
    baselines = list(dict.fromkeys(c.baseline for c in comparisons))
    rows = [_row(name, c, ends) for name, c in rows_with_ratio]
    x: Spec = _axis(ends, baselines, rows)
    y: Spec = {
        "field": "name",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"labelLimit": 220, "labelExpr": _TWO_LINES, "labelBaseline": _BASELINE},
    }
    levels = {c.candidate: palette.get(c.candidate, INK) for c in comparisons}
    colour: Spec = {"field": "candidate", "type": "nominal", "legend": None, "scale": colour_scale(levels)}
    tooltip = [
        {"field": "name", "title": "Compared"},
        {"field": "baseline", "title": "Against"},
        {"field": "ratio", "title": "Speedup", "format": ".3~g"},
        {"field": "low", "title": "95 % from", "format": ".3~g"},
        {"field": "high", "title": "to", "format": ".3~g"},
        {"field": "basis", "title": "From"},
        {"field": "origin", "title": "Origin"},
    ]
    no_difference: Spec = {
        "data": {"values": [{"one": 1}]},
        "mark": {"type": "rule", "color": INK, "opacity": 0.6, "strokeDash": [4, 3]},
        "encoding": {"x": {"field": "one", **x}},
    }
    interval: Spec = {
        "transform": [{"filter": "datum.low !== null"}],
        "mark": {"type": "rule", "strokeWidth": 3, "strokeCap": "round"},
        "encoding": {"x": {"field": "from", **x}, "x2": {"field": "to"}, "color": colour, "y": y},
    }
    dots: list[Spec] = [
        {
            "transform": [{"filter": f"datum.low {test} null"}],
            "mark": {"type": "point", "filled": is_filled, "size": 90, "opacity": 1},
            "encoding": {"x": {"field": "ratio", **x}, "color": colour, "y": y, "tooltip": tooltip},
        }
        for test, is_filled in (("!==", True), ("===", False))
    ]
    # A column to the right of the plot: above the dots, labels would cover names, intervals and the dashed line.
    label_column: Spec = {
        "mark": {"type": "text", "align": "left", "x": "width", "xOffset": 10, "fontWeight": 600},
        "encoding": {"text": {"field": "label"}, "y": y},
    }
    return chart(
        f"Speedup over {' or '.join(baselines)} with 95 percent intervals; right of the dashed line is faster",
        {
            "width": width_px,
            "height": {"step": _ROW_PX},
            "data": {"values": rows},
            "layer": [no_difference, interval, *_arrows(rows, {"color": colour, "y": y}, x), *dots, label_column],
        },
    )
