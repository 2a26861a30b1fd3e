"""Place the names of points in a scatter plot so that no name covers another name, a point or a line.

In: positions of points and their names, the most important first. Out: the side of each name; None if no side is free.
Each name, in this order, takes the first free side. This is greedy point-feature labelling as in J. Christensen,
J. Marks and S. Shieber, "An Empirical Study of Algorithms for Point-Feature Label Placement" (1995).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_LETTER_PX: Final = 6.0
"""Width of a letter at the charts' font size of 12, in pixels, rounded up."""
_LINE_PX: Final = 14.0
"""Height of a name, in pixels."""
_POINT_PX: Final = 10.0
"""Half the width of the largest point, in pixels."""
_NICE_STEPS: Final = 10
"""Number of steps that Vega aims for when it rounds the end of a linear axis."""
_NICE_MULTIPLES: Final = ((10, math.sqrt(50)), (5, math.sqrt(10)), (2, math.sqrt(2)))
"""Vega's steps on a linear axis: a multiple of a power of ten, and the smallest quotient that uses it. Smaller
quotients use the power of ten itself."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Range of an axis as Vega rounds it: from ``low`` to ``high``, linear or logarithmic."""

    low: float
    high: float
    is_log: bool

    def share(self, value: float) -> float:
        """Return the position of a value on the axis, from 0 to 1."""
        if self.is_log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def extent_of(intervals: Sequence[tuple[float, float]], *, is_log: bool) -> Extent:
    """Return the extent of a linear axis from 0, or of a logarithmic axis, that contains ``intervals``."""
    ends = [end for pair in intervals for end in pair if end > 0] or [1.0]
    if is_log:
        low, high = (math.log10(end) for end in (min(ends), max(ends)))
        return Extent(10.0 ** math.floor(low), 10.0 ** max(math.ceil(high), math.floor(low) + 1), is_log=True)
    exact_step = max(ends) / _NICE_STEPS
    power = 10.0 ** math.floor(math.log10(exact_step))
    step = power * next(
        (multiple for multiple, quotient_min in _NICE_MULTIPLES if exact_step / power >= quotient_min), 1
    )
    return Extent(0.0, step * math.ceil(max(ends) / step), is_log=False)


@dataclass(frozen=True, slots=True)
class Side:
    """One position of a name: its alignment, and its offset from its point in pixels."""

    align: str
    dx: float
    dy: float


SIDES: Final = (
    Side("left", 8, -10),
    Side("right", -8, -10),
    Side("left", 8, 11),
    Side("right", -8, 11),
    Side("left", 12, 0),
    Side("right", -12, 0),
    Side("center", 0, -18),
    Side("center", 0, 18),
)
"""Sides in order of preference. Interval lines do not cross the first four."""


@dataclass(frozen=True, slots=True)
class _Box:
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: "_Box") -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def _box_of(name: str, side: Side, x: float, y: float) -> _Box:
    width = _LETTER_PX * len(name)
    left = x + side.dx - {"left": 0.0, "center": width / 2, "right": width}[side.align]
    return _Box(left, y + side.dy - _LINE_PX / 2, left + width, y + side.dy + _LINE_PX / 2)


def _point_box(x: float, y: float) -> _Box:
    return _Box(x - _POINT_PX, y - _POINT_PX, x + _POINT_PX, y + _POINT_PX)


def _is_free(box: _Box, occupied_boxes: Sequence[_Box], width_px: float) -> bool:
    return (
        box.left >= 0
        and box.right <= width_px
        and not any(box.overlaps(occupied_box) for occupied_box in occupied_boxes)
    )


@dataclass(frozen=True, slots=True)
class FixedText:
    """A text of the plot that names must not cover: its alignment, x as a share of the width, and positions in
    pixels."""

    text: str
    align: str
    x: float
    dx: float
    y: float


@dataclass(frozen=True, slots=True)
class Line:
    """A horizontal or vertical line of the plot that names must not cover: x as shares of the width, y in pixels."""

    x: tuple[float, float]
    y: tuple[float, float]

    def box(self, width_px: float) -> _Box:
        """Return the line as a box at a width of the plot."""
        (left, right), (top, bottom) = sorted(self.x), sorted(self.y)
        return _Box(left * width_px - 1, top - 1, right * width_px + 1, bottom + 1)


def is_crossed(text: FixedText, lines: Sequence[Line], widths_px: tuple[float, float]) -> bool:
    """Return whether a line crosses ``text`` at the smallest or the largest width of the plot."""
    side = Side(text.align, text.dx, 0)
    return any(
        _box_of(text.text, side, text.x * width, text.y).overlaps(line.box(width))
        for width in widths_px
        for line in lines
    )


def name_sides(
    points: Sequence[tuple[float, float]],
    names: Sequence[str],
    widths_px: tuple[float, float],
    fixed_texts: Sequence[FixedText] = (),
    lines: Sequence[Line] = (),
) -> list[Side | None]:
    """Return the side of each name; None if the name is empty or no side is free.

    ``points``: x as a share of the plot's width, y in pixels from its top. ``widths_px``: smallest and largest width
    of the plot; a side must be free at both. ``fixed_texts``: other texts of the plot. ``lines``: its intervals.
    """
    sides: list[Side | None] = []
    occupied_boxes = {
        width: [
            *(_point_box(x * width, y) for x, y in points),
            *(_box_of(text.text, Side(text.align, text.dx, 0), text.x * width, text.y) for text in fixed_texts),
            *(line.box(width) for line in lines),
        ]
        for width in widths_px
    }
    for index, ((x, y), name) in enumerate(zip(points, names, strict=True)):
        free_side = None
        for side in SIDES if name else ():
            boxes = {width: _box_of(name, side, x * width, y) for width in occupied_boxes}
            if all(
                _is_free(box, [*occupied_boxes[width][:index], *occupied_boxes[width][index + 1 :]], width)
                for width, box in boxes.items()
            ):
                free_side = side
                for width, box in boxes.items():
                    occupied_boxes[width].append(box)
                break
        sides.append(free_side)
    return sides
