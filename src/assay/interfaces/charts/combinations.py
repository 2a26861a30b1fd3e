"""Draw how factors interact: the expected time of each combination of levels of two or three factors.

In: combinations with their expected times. Out: a Vega-Lite specification. Nothing is computed here.
"""

from collections.abc import Sequence
from typing import Protocol

from assay.interfaces.charts.drawing.identity import colours_of
from assay.interfaces.charts.drawing.style import FULL_PX, INK, Spec, chart, colour_scale, opacity_scale
from assay.text import column_title, level_text

_SYMBOL_PX, _LETTER_PX = 30, 7
"""Width of a symbol and of a letter of the legend, in pixels."""
HEIGHT_PX = 260
COLOURS_MAX = 12
"""Maximum number of levels of the first factor in a chart: the levels with the most measured configurations."""
MEASURED, PREDICTED = "measured", "predicted"
"""Whether a combination was measured, in the legend."""


class Combination(Protocol):
    """A combination of levels, one of each factor."""

    @property
    def levels(self) -> Sequence[str]:
        """One level of each factor."""

    @property
    def expected_s(self) -> float:
        """Expected run time, in seconds."""

    @property
    def configurations(self) -> int:
        """Number of measured configurations with this combination; 0: the time is predicted."""


def _order(levels: Sequence[str]) -> list[str]:
    try:
        return sorted(levels, key=float)
    except ValueError:
        return sorted(levels)


def combinations(cells: Sequence[Combination], factors: Sequence[str], width_px: int = FULL_PX) -> Spec:
    """Return a line chart over the last factor, with a coloured line for each level of the first factor.

    With three factors, there is a line for each pair of levels of the first two. Dashes show the second factor.
    """
    titles = [column_title(name) for name in factors]
    counts: dict[str, int] = {}
    for cell in cells:
        counts[cell.levels[0]] = counts.get(cell.levels[0], 0) + cell.configurations
    first_levels = _order(sorted(counts, key=lambda level: -counts[level])[:COLOURS_MAX])
    text_by_level = {level: level_text(factors[0], level) for level in first_levels}
    rows = [
        {
            "first": text_by_level[cell.levels[0]],
            "second": level_text(factors[1], cell.levels[1]) if len(cell.levels) > 2 else "",
            "last": level_text(factors[-1], cell.levels[-1]),
            "seconds": cell.expected_s,
            "kind": MEASURED if cell.configurations else PREDICTED,
        }
        for cell in cells
        if cell.levels[0] in first_levels
    ]
    x = {
        "field": "last",
        "type": "ordinal",
        "title": titles[-1],
        "sort": [level_text(factors[-1], level) for level in _order(list({cell.levels[-1] for cell in cells}))],
        "axis": {"labelAngle": 0},
    }
    y = {
        "field": "seconds",
        "type": "quantitative",
        "title": "Expected time (s)",
        "scale": {"type": "log", "nice": False},
    }
    colours = {text_by_level[level]: colour for level, colour in colours_of(first_levels).items()}
    columns = {"columns": max(1, width_px // (_SYMBOL_PX + _LETTER_PX * max(map(len, colours))))}
    by_first_factor = {"field": "first", "type": "nominal", "title": titles[0], "legend": columns}
    shades = {
        "color": {**by_first_factor, "scale": colour_scale(colours)},
        "opacity": {**by_first_factor, "scale": opacity_scale(colours)},
    }
    dash = {"field": "second", "type": "nominal", "title": titles[1] if len(titles) > 2 else None}
    has_predictions = any(not cell.configurations for cell in cells)
    shape_scale = {"domain": [MEASURED, PREDICTED], "range": ["circle", "cross"]}
    legend = {} if has_predictions else {"legend": None}
    dash_encoding = {"strokeDash": dash} if len(titles) > 2 else {}
    line = {"mark": {"type": "line", "strokeWidth": 1.5}, "encoding": {**shades, **dash_encoding}}
    points = {
        "mark": {"type": "point", "size": 45, "filled": True, "stroke": INK, "strokeWidth": 0.3},
        "encoding": {
            **shades,
            "detail": {"field": "second"},
            "shape": {"field": "kind", "type": "nominal", "title": None, "scale": shape_scale, **legend},
            "tooltip": [
                {"field": name, "title": title}
                for name, title in (("first", titles[0]), ("second", dash["title"] or ""), ("last", titles[-1]))
                if title
            ]
            + [{"field": "seconds", "title": "Expected time (s)", "format": ",.0f"}, {"field": "kind", "title": "Is"}],
        },
    }
    body = {
        "width": width_px,
        "height": HEIGHT_PX,
        "data": {"values": rows},
        "encoding": {"x": x, "y": y},
        "layer": [line, points],
    }
    return chart(f"Expected time of each combination of {' × '.join(titles)}, predicted", body)
