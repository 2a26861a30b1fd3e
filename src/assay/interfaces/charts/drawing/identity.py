"""Give each storage layout the colour of its device class and the shape of its number of disks.

In: names of levels, and the device classes of layouts that are known from recorded devices. Out: colours and Vega's
names of shapes. A layout without a known class gets it from its code (:mod:`assay.model.clusters.layout_code`). Layouts
of one class have one colour on all charts; where a chart has no shapes, ``style.opacity_scale``
distinguishes them. Any other
name takes the first unused colour, from a position that depends on its text. The order of the names does not matter, so
a level keeps its colour when runs are added.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from assay.analysis.comparison.factors.device_classes import DeviceClass, device_class_of
from assay.interfaces.charts.drawing.style import PALETTE
from assay.model.clusters.layout_code import beginning

SHAPES: Final = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
SHAPE_PATHS: Final[Mapping[str, str]] = {
    "circle": "M5 0a5 5 0 1 0 .01 0z",
    "square": "M.6 .6h8.8v8.8h-8.8z",
    "triangle-up": "M5 .4 10 9.4H0z",
    "diamond": "M5 0 10 5 5 10 0 5z",
    "cross": "M3.3 .3h3.4v3h3v3.4h-3v3h-3.4v-3h-3v-3.4h3z",
    "triangle-down": "M5 9.6 0 .6h10z",
}
"""The same shapes as SVG paths in a square of 10 × 10."""
OTHERS: Final = (
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


def _number(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")


def shape_of(name: str) -> str:
    """Return the shape of a configuration's points. For a layout code, the number of disks selects it."""
    layout_code = beginning(name)
    if layout_code is None:
        return SHAPES[_number(name) % len(SHAPES)]
    code, rest = layout_code
    return SHAPES[((code.disks or 1) - 1 + (_number(rest) if rest else 0)) % len(SHAPES)]


def _class_of(name: str) -> DeviceClass | None:
    """Return the class whose name or whose layout code is at the beginning of ``name``; None without one."""
    if name in tuple(DeviceClass):
        return DeviceClass(name)
    layout_code = beginning(name)
    return device_class_of(str(layout_code[0]), None) if layout_code is not None else None


def _turned(colours: Sequence[str], first: int) -> tuple[str, ...]:
    start = first % len(colours)
    return (*colours[start:], *colours[:start])


def colours_of(names: Iterable[str], classes: Mapping[str, DeviceClass] | None = None) -> dict[str, str]:
    """Return a colour for each name; it depends on the set of names, not on their order.

    ``classes``: device classes of layouts; they have precedence over layout codes. Next to layouts, other names have
    no colour of a device class.
    """
    given = list(dict.fromkeys(names))
    known = classes or {}
    of_name = {name: known.get(name) or _class_of(name) for name in given}
    colours = {name: CLASS_COLOURS[device_class] for name, device_class in of_name.items() if device_class is not None}
    taken = set(CLASS_COLOURS.values()) if colours or classes is not None else set()
    for name in sorted(name for name in given if name not in colours):
        first = _number(name)
        wanted = (*_turned(_HUES, first), *_turned(OTHERS, first))
        colours[name] = next((colour for colour in wanted if colour not in taken), wanted[0])
        taken.add(colours[name])
    return {name: colours[name] for name in given}
