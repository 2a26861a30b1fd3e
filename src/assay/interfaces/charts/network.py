"""Draw the comparison network: levels as points on a circle. A line joins two levels that share matched groups.

In: levels, and the number of matched groups with both levels of a pair. Out: a Vega-Lite specification; its expressions
compute the positions of points. Two levels without a line share no matched group: they are compared only through other
levels.
"""

from collections.abc import Mapping

from assay.analysis.comparison.joint import LevelNetwork
from assay.interfaces.charts.drawing.identity import shapes_of
from assay.interfaces.charts.drawing.style import HALF_PX, INK, PALETTE, Spec, chart, colour_scale

_LINES_MAX = 15
"""Maximum number of lines in a chart: more cross each other too often to be read, and a table has their numbers."""
_NUMBER_POSITION = 0.6
"""Position of a number along its line, as a share of the line: off the middle, where lines cross."""
_ALL_NUMBERS_LEVELS_MAX = 8
"""Maximum number of levels at which numbers of lines do not overlap. With more levels, a line has no number if a
thicker line joins the same level to a neighbour of its other level."""
_SIDE = 0.2
"""Minimum horizontal distance of a point from the circle's centre, in radii, for a name at its left or right."""
_EDGE = 1.5
"""End of both axes, in radii of the circle."""
_HEIGHT_PX = 300


def is_readable(network: LevelNetwork) -> bool:
    """Return whether the network has few enough lines for a chart."""
    return len(network.pairs) <= _LINES_MAX


def comparison_network(network: LevelNetwork, palette: Mapping[str, str], width_px: int = HALF_PX) -> Spec:
    """Return the chart. A line's thickness shows its number of matched groups.

    The number is next to the line where it overlaps no other number.
    """
    levels = {level: index for index, level in enumerate(network.levels)}
    lines: list[Spec] = [
        {"between": f"{a} and {b}", "groups": groups, "a": levels[a], "b": levels[b]} for a, b, groups in network.pairs
    ]
    points: list[Spec] = [{"level": level, "a": index} for level, index in levels.items()]
    numbered_lines = _without_overlap(sorted(lines, key=lambda line: -line["groups"]), len(levels))
    colours = {level: palette.get(level, PALETTE[-1]) for level in levels}
    line_texts = ", ".join(f"{line['between']} {line['groups']}" for line in lines)
    return chart(
        f"Matched groups that have both of two levels: {line_texts}",
        {
            "width": width_px,
            "height": _HEIGHT_PX,
            "layer": [
                _lines(lines, len(levels)),
                _numbers(numbered_lines, len(levels)),
                _points(points, colours),
                *_names(points, len(levels)),
            ],
        },
    )


def _without_overlap(lines: list[Spec], levels: int) -> list[Spec]:
    """Return the lines whose numbers do not overlap the number of a thicker line. ``lines``: the thickest first."""
    if levels <= _ALL_NUMBERS_LEVELS_MAX:
        return lines
    return [
        line
        for index, line in enumerate(lines)
        if not any(_share_a_level(line, thicker_line, levels) for thicker_line in lines[:index])
    ]


def _share_a_level(line: Spec, other_line: Spec, levels: int) -> bool:
    """Return whether two lines share a level, and their other levels are neighbours on the circle."""
    for end, far_end in (("a", "b"), ("b", "a")):
        for shared_end, other_end in (("a", "b"), ("b", "a")):
            if line[end] == other_line[shared_end] and (line[far_end] - other_line[other_end]) % levels in (
                1,
                levels - 1,
            ):
                return True
    return False


def _position(field: str, name: str, levels: int, distance: float = 1.0) -> list[Spec]:
    """Return the calculation of ``x`` and ``y`` (with suffix ``name``) of a level on a circle."""
    angle = f"(datum.{field} / {levels} * 2 * PI - PI / 2)"
    return [
        {"calculate": f"{distance} * cos{angle}", "as": f"x{name}"},
        {"calculate": f"{distance} * sin{angle}", "as": f"y{name}"},
    ]


def _axis(field: str) -> Spec:
    scale = {"domain": [-_EDGE, _EDGE], "nice": False}
    return {"field": field, "type": "quantitative", "axis": None, "scale": scale}


def _lines(rows: list[Spec], levels: int) -> Spec:
    return {
        "data": {"values": rows},
        "transform": [*_position("a", "1", levels), *_position("b", "2", levels)],
        "mark": {"type": "rule", "stroke": INK, "opacity": 0.35, "strokeCap": "round"},
        "encoding": {
            "x": _axis("x1"),
            "y": _axis("y1"),
            "x2": {"field": "x2"},
            "y2": {"field": "y2"},
            "strokeWidth": {
                "field": "groups",
                "type": "quantitative",
                "scale": {"type": "sqrt", "domainMin": 0, "range": [0.8, 9]},
                "legend": None,
            },
            "tooltip": [{"field": "between", "title": "Levels"}, {"field": "groups", "title": "Matched groups"}],
        },
    }


def _numbers(rows: list[Spec], levels: int) -> Spec:
    positions = [
        {"calculate": f"{_NUMBER_POSITION} * datum.{axis}1 + {1 - _NUMBER_POSITION} * datum.{axis}2", "as": axis}
        for axis in ("x", "y")
    ]
    return {
        "data": {"values": rows},
        "transform": [*_position("a", "1", levels), *_position("b", "2", levels), *positions],
        "mark": {"type": "text", "fontSize": 12, "fontWeight": 600, "dy": -7},
        "encoding": {"x": _axis("x"), "y": _axis("y"), "text": {"field": "groups", "format": ","}},
    }


def _points(rows: list[Spec], colours: dict[str, str]) -> Spec:
    shapes = {"domain": list(colours), "range": list(shapes_of(colours).values())}
    return {
        "data": {"values": rows},
        "transform": _position("a", "", len(rows)),
        "mark": {"type": "point", "filled": True, "size": 170, "opacity": 1},
        "encoding": {
            "x": _axis("x"),
            "y": _axis("y"),
            "color": {"field": "level", "type": "nominal", "scale": colour_scale(colours), "legend": None},
            "shape": {"field": "level", "type": "nominal", "scale": shapes, "legend": None},
        },
    }


def _names(rows: list[Spec], levels: int) -> list[Spec]:
    """Return the names, each on the outer side of its point, where it covers no point and no other name."""
    sides = (("left", f"datum.x > {_SIDE}"), ("right", f"datum.x < -{_SIDE}"), ("center", f"abs(datum.x) <= {_SIDE}"))
    return [
        {
            "data": {"values": rows},
            "transform": [*_position("a", "", levels, 1.2 if align == "center" else 1.1), {"filter": condition}],
            "mark": {"type": "text", "fontSize": 12, "fontWeight": 600, "limit": 140, "align": align},
            "encoding": {"x": _axis("x"), "y": _axis("y"), "text": {"field": "level"}},
        }
        for align, condition in sides
    ]
