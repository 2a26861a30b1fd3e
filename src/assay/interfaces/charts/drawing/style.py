"""Define the style of all charts: one theme, and one colour for each configuration.

The first two colours are the blue and the vermilion of M. Okabe and K. Ito ("Color Universal Design", 2008). A search
selected the others: each has a contrast of 3:1 on the light and on the dark theme, and any two differ clearly
(CIEDE2000) with normal vision and with each kind of dichromacy (G. M. Machado et al., 2009). Text and rules use
``currentColor``, so a chart inside a page has the text colour of the page's theme.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

Spec = dict[str, Any]
SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
VEGA_LITE_VERSION = "5.21"
"""Vega-Lite version that the specifications are written for and rendered with."""
PALETTE = ("#0072B2", "#D55E00", "#009C3C", "#A8849C", "#9078FC", "#84906C", "#6C6C78")
"""The seven colours that differ most. The last is for levels without an assigned colour."""
OPACITIES = (0.9, 0.6, 0.38, 0.25)
"""Opacities of the levels of one colour in a chart without shapes."""
PHASE_COLOURS = {
    "overhead": "#8F8F8F",
    "setup": "#9C8C70",
    "map": "#3A9C8C",
    "shuffle": "#A08A28",
    "merge": "#7A6FD0",
    "reduce": "#CC6677",
    "waste": "#6A6A6A",
    "cleanup": "#9C8C70",
    "task": "#3A9C8C",
    "shuffle_map": "#3A9C8C",
    "result": "#CC6677",
}
"""Colours of phases. Their hues differ from the hues of configurations; the contrast is the same."""
LIMIT_COLOURS = {
    "cpu": "#3A9C8C",
    "disk:hdfs": PALETTE[0],
    "disk:shared": PALETTE[0],
    "disk": PALETTE[0],
    "disk:intermediate": PALETTE[5],
    "network": PALETTE[1],
    "memory": "#7A6FD0",
    "containers": "#A08A28",
    "fixed": "#8F8F8F",
    "no task": PALETTE[3],
}
"""Colours of limits. A kind of resource has the same colour on all charts; limits without an entry are neutral."""
INK = "currentColor"
FULL_PX = 980
HALF_PX = 470
NARROW_PX = 340
"""Chart widths in pixels, including labels: the text width of a page, half of it, and the width of a phone."""
PAPER_PX = 640
"""Width of a full-width chart on paper: its text is then about 9 points high, like the document's text."""
TIME_FORMATS = {
    "year": "%Y",
    "month": "%b %Y",
    "date": "%d %b",
    "hours": "%H:%M",
    "minutes": "%H:%M",
    "seconds": "%H:%M:%S",
    "milliseconds": "%H:%M:%S.%L",
}
"""Time formats of the axis by unit, with 24 hours. Vega's default has 12 hours without AM or PM."""
_POWERS = range(-12, 13)
_DECADES_FINE_MAX = 3
"""Maximum number of decades on a logarithmic axis with ticks at 1, 2 and 5; above it, ticks are powers of ten."""
_FONT = "system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif"


def colour_scale(colour_by_level: dict[str, str]) -> Spec:
    """Return the Vega-Lite scale that assigns the configurations their colours."""
    return {"domain": list(colour_by_level), "range": list(colour_by_level.values())}


def opacity_scale(colour_by_level: Mapping[str, str]) -> Spec:
    """Return the scale of opacities by level, so that levels of one colour differ."""
    totals = Counter(colour_by_level.values())
    counts, opacities = Counter[str](), []
    for colour in colour_by_level.values():
        total = totals[colour]
        step = (OPACITIES[0] - OPACITIES[-1]) / max(total - 1, 1)
        evenly_spaced_opacity = round(OPACITIES[0] - step * counts[colour], 3)
        opacities.append(OPACITIES[counts[colour]] if total <= len(OPACITIES) else evenly_spaced_opacity)
        counts[colour] += 1
    return {"type": "ordinal", "domain": list(colour_by_level), "range": opacities}


def phase_scale(names: Sequence[str]) -> Spec:
    """Return the scale that assigns each phase its colour; unknown phases are neutral."""
    return colour_scale({name: PHASE_COLOURS.get(name, PALETTE[-1]) for name in dict.fromkeys(names)})


def grouped_bars(
    description: str,
    rows: Sequence[Spec],
    group_field: str,
    value_field: str,
    title: str,
    palette: dict[str, str],
    width_px: int,
) -> Spec:
    """Return a chart of ``value_field``: for each value of ``group_field``, a group with a bar for each ``level``."""
    return chart(
        description,
        {
            "width": width_px,
            "height": {"step": 20},
            "data": {"values": rows},
            "mark": {"type": "bar"},
            "encoding": {
                "y": {"field": group_field, "type": "nominal", "sort": None, "title": None},
                "yOffset": {"field": "level", "type": "nominal", "sort": list(palette)},
                "x": {"field": value_field, "type": "quantitative", "title": title},
                "color": {"field": "level", "type": "nominal", "scale": colour_scale(palette)},
                "opacity": {"field": "level", "type": "nominal", "scale": opacity_scale(palette)},
            },
        },
    )


def percent_theme() -> Spec:
    """Return the configuration of a chart whose axes or tooltips show percentages, as text shows them: ``12 %``."""
    number = {"decimal": ".", "thousands": ",", "grouping": [3], "currency": ["$", ""], "percent": " %"}
    return {**theme(), "locale": {"number": number}}


def theme() -> Spec:
    """Return the configuration that all charts share."""
    text = {"labelColor": INK, "titleColor": INK, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
    axis = {
        "domain": False,
        "ticks": False,
        "gridColor": INK,
        "gridOpacity": 0.14,
        "titleOpacity": 0.8,
        "titlePadding": 8,
        "labelPadding": 6,
        "labelOpacity": 0.9,
        "tickCount": 6,
    }
    return {
        "background": None,
        "font": _FONT,
        "aria": False,
        "padding": 4,
        "view": {"stroke": None},
        "axis": {**text, **axis},
        "axisY": {"labelLimit": 170},
        "legend": {**text, "orient": "top", "title": None, "symbolType": "square", "labelLimit": 200},
        "header": {**text, "labelFontWeight": 600},
        "text": {"color": INK, "fontSize": 12},
        "bar": {"cornerRadiusEnd": 2},
    }


def log_axis(values: Sequence[float]) -> Spec:
    """Return a logarithmic axis around positive values; every grid line has a label.

    Vega's default axis has grid lines at 2 to 9 between two powers of ten, most of them without a label.
    """
    powers_below = [power for power in _POWERS if float(f"1e{power}") <= min(values)]
    powers_within = [power for power in _POWERS if power >= powers_below[-1] and float(f"1e{power}") < max(values)]
    steps = (1, 2, 5) if len(powers_within) <= _DECADES_FINE_MAX else (1,)
    ticks = [float(f"{step}e{power}") for power in powers_within or powers_below[-1:] for step in steps]
    values = [*ticks, 10 * ticks[-len(steps)]]
    return {
        "values": values,
        "tickCount": len(values),
        "format": ",~g",
    }  # Vega drops every second label if there are more values than tickCount


def chart(description: str, body: Spec, config: Spec | None = None) -> Spec:
    """Return a complete specification. ``description``: text for screen readers. ``config``: default, the theme."""
    autosize = {"type": "fit-x", "contains": "padding"}  # the width includes labels and legends
    return {"$schema": SCHEMA, "description": description, "autosize": autosize, "config": config or theme(), **body}
