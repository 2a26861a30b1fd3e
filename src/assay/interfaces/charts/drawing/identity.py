"""Give each storage layout the colour of its device class and the shape of its number of disks.

In: names of levels, and the device classes of layouts that are known from recorded devices. Out: colours and Vega's
names of shapes. A layout without a known class gets it from its code (:mod:`assay.model.clusters.layout_code`). Layouts
of one class have one colour on all charts, and different shapes (:func:`shapes_of`); where a chart has no shapes,
``style.opacity_scale`` distinguishes them. Any other name takes the first unused colour, from a position that depends
on its text. The order of the names does not matter, so a level keeps its colour when runs are added.
"""

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from assay.analysis.comparison.factors.device_classes import DeviceClass, device_class_of
from assay.interfaces.charts.drawing.style import PALETTE
from assay.model.clusters.layout_code import parse_prefix


def _star(points: int, inner_share: float, radius: float = 1.0, centre: float = 0.0) -> str:
    """Return a star as an SVG path; ``inner_share``: radius of its inner corners as a share of ``radius``."""
    corners = [
        (radius * (inner_share if number % 2 else 1.0), math.pi * (number / points - 0.5))
        for number in range(2 * points)
    ]
    vertices = (
        f"{centre + distance * math.cos(angle):.3g} {centre + distance * math.sin(angle):.3g}"
        for distance, angle in corners
    )
    return f"M{'L'.join(vertices)}Z"


_STARS: Final = ((5, 0.81), (4, 0.35), (5, 0.45), (6, 0.87), (3, 0.2), (6, 0.5), (8, 0.6), (12, 0.7))
"""Points and inner radius of additional shapes; a large inner radius makes a polygon."""
SHAPES: Final = (
    *("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-left", "triangle-right"),
    *(_star(*star) for star in _STARS),
)
"""Vega's names of shapes, and SVG paths from -1 to 1."""
SHAPE_PATHS: Final[Mapping[str, str]] = {
    "circle": "M5 0a5 5 0 1 0 .01 0z",
    "square": "M.6 .6h8.8v8.8h-8.8z",
    "triangle-up": "M5 .4 10 9.4H0z",
    "diamond": "M5 0 10 5 5 10 0 5z",
    "cross": "M3.3 .3h3.4v3h3v3.4h-3v3h-3.4v-3h-3v-3.4h3z",
    "triangle-down": "M5 9.6 0 .6h10z",
    "triangle-left": "M.4 5 9.4 0v10z",
    "triangle-right": "M9.6 5 .6 10V0z",
    **{_star(*star): _star(*star, radius=5, centre=5) for star in _STARS},
}
"""The same shapes as SVG paths in a square of 10 × 10."""
ADDITIONAL_COLOURS: Final = (
    "#C024B4",
    "#5490CC",
    "#C08454",
    "#307854",
    "#CC1878",
    "#9030FC",
    "#60783C",
    "#7884A8",
    "#D80C18",
    "#84786C",
    "#D86090",
    "#906090",
    "#FC18F0",
)
"""Additional colours for charts with more than six levels."""
_HUES: Final = PALETTE[:-1]
CLASS_COLOURS: Final[Mapping[DeviceClass, str]] = {
    DeviceClass.HARD_DISKS: PALETTE[0],
    DeviceClass.SSD: PALETTE[1],
    DeviceClass.HYBRID: PALETTE[2],
    DeviceClass.NVME: PALETTE[4],
    DeviceClass.REMOTE: PALETTE[5],
}


def _linear(channel: int) -> float:
    share = channel / 255
    return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)


def luminance(colour: str) -> float:
    """Return a colour's relative luminance as WCAG 2 defines it, 0 to 1."""
    red, green, blue = (_linear(int(colour[start : start + 2], 16)) for start in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def shape_of(name: str) -> str:
    """Return the preferred shape of a name: a layout code has the shape of its number of disks, others a circle."""
    layout_code = parse_prefix(name)
    return SHAPES[((layout_code[0].disks or 1) - 1) % len(SHAPES) if layout_code else 0]


def shapes_of(colours: Mapping[str, str]) -> dict[str, str]:
    """Return a shape for each name with a colour: names of one colour have different shapes.

    In alphabetical order, each name gets its preferred shape or, if this is taken, the first free shape. Shapes repeat
    if more names than shapes have one colour.
    """
    shapes_by_colour: dict[str, set[str]] = defaultdict(set)
    shapes = {}
    for name in sorted(colours):
        preferred_shape, used_shapes = shape_of(name), shapes_by_colour[colours[name]]
        shapes[name] = next(
            (shape for shape in (preferred_shape, *SHAPES) if shape not in used_shapes), preferred_shape
        )
        used_shapes.add(shapes[name])
    return {name: shapes[name] for name in colours}


def distinct_colours(names: Sequence[str], palette: Mapping[str, str]) -> dict[str, str]:
    """Return a different colour for each name.

    It is the name's colour in ``palette``, or the first unused colour if an earlier name has that colour.
    """
    colours: dict[str, str] = {}
    for name in names:
        unused_colours = (
            colour for colour in (*_HUES, *ADDITIONAL_COLOURS) if colour not in {*palette.values(), *colours.values()}
        )
        palette_colour = palette.get(name)
        colours[name] = (
            palette_colour
            if palette_colour and palette_colour not in colours.values()
            else next(unused_colours, PALETTE[-1])
        )
    return colours


def _class_of(name: str) -> DeviceClass | None:
    """Return the class whose name or whose layout code is at the beginning of ``name``; None without one."""
    if name in tuple(DeviceClass):
        return DeviceClass(name)
    layout_code = parse_prefix(name)
    return device_class_of(str(layout_code[0]), None) if layout_code is not None else None


def _rotated(colours: Sequence[str], offset: int) -> tuple[str, ...]:
    start = offset % len(colours)
    return (*colours[start:], *colours[:start])


def colours_of(names: Iterable[str], classes: Mapping[str, DeviceClass] | None = None) -> dict[str, str]:
    """Return a colour for each name; it depends on the set of names, not on their order.

    ``classes``: device classes of layouts; they have precedence over layout codes. Next to layouts, other names have
    no colour of a device class.
    """
    distinct_names = list(dict.fromkeys(names))
    layout_classes = classes or {}
    class_by_name = {name: layout_classes.get(name) or _class_of(name) for name in distinct_names}
    colours, counts = {}, Counter[DeviceClass]()
    for name, device_class in sorted(class_by_name.items()):
        if device_class is not None and counts[device_class] < len(SHAPES):
            colours[name] = CLASS_COLOURS[device_class]
            counts[device_class] += 1
    reserved_colours = set(CLASS_COLOURS.values()) if colours or classes is not None else set()
    for name in sorted(name for name in distinct_names if name not in colours):
        offset = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")
        colour_order = (*_rotated(_HUES, offset), *_rotated(ADDITIONAL_COLOURS, offset))
        colours[name] = next((colour for colour in colour_order if colour not in reserved_colours), colour_order[0])
        reserved_colours.add(colours[name])
    return {name: colours[name] for name in distinct_names}
