"""Give each configuration its colour and shape, from its name alone.

In: names of levels, for example of storage layouts. Out: colours and Vega's names of shapes. The order of the levels
does not matter, so a configuration keeps its colour when runs are added. Each common layout code
(:mod:`assay.model.clusters.layout_code`) has a fixed colour; the colours also distinguish numbers of disks. Any other
name takes the first unused colour, from a position that depends on its text. There are 19 colours. With more levels,
colours repeat; names and shapes distinguish the levels.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from assay.interfaces.charts.drawing.style import PALETTE
from assay.model.clusters.layout_code import beginning, parse

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
_OF_CODES: Final[Mapping[tuple[str, int], str]] = {
    ("HD", 1): "#0072B2",
    ("HD", 2): "#5490CC",
    ("HD", 3): "#7884A8",
    ("HD", 4): "#9030FC",
    ("HD", 5): "#9078FC",
    ("HD", 6): "#906090",
    ("SS", 1): "#D55E00",
    ("SS", 2): "#C024B4",
    ("NVE", 1): "#D80C18",
    ("HS", 5): "#009C3C",
    ("R", 1): "#84906C",
    ("R", 2): "#60783C",
    ("R", 3): "#307854",
    ("RL", 1): "#A8849C",
    ("RL", 2): "#CC1878",
    ("RL", 3): "#D86090",
    ("RR", 1): "#C08454",
    ("RR", 2): "#FC18F0",
    ("RR", 3): "#84786C",
}
"""Colour by family and number of disks, for the layout codes that the ALOJA and SanDisk studies compare."""


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


def _colour_of_code(name: str) -> str | None:
    """Return the fixed colour of the layout code at the beginning of ``name``; None without one."""
    code = beginning(name)
    return _OF_CODES.get((code[0].family, code[0].disks or 1)) if code is not None else None


def _turned(colours: Sequence[str], first: int) -> tuple[str, ...]:
    start = first % len(colours)
    return (*colours[start:], *colours[:start])


def colours_of(names: Iterable[str]) -> dict[str, str]:
    """Return a colour for each name; it depends on the set of names, not on their order."""
    given = list(dict.fromkeys(names))
    colours = {
        name: colour_of_code
        for name in given
        if parse(name) is not None and (colour_of_code := _colour_of_code(name)) is not None
    }
    taken = set(colours.values())
    for name in sorted(name for name in given if name not in colours):
        first, colour_of_code = _number(name), _colour_of_code(name)
        wanted = (*([colour_of_code] if colour_of_code else []), *_turned(_HUES, first), *_turned(OTHERS, first))
        colours[name] = next((colour for colour in wanted if colour not in taken), wanted[0])
        taken.add(colours[name])
    return {name: colours[name] for name in given}
