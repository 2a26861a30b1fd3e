"""What a configuration looks like wherever it is drawn: its colour and its shape, told by its name alone.

In: names of levels, such as storage layouts. Out: colours and Vega's names of shapes. The order in which levels were
found does not matter, so a configuration keeps its colour when runs are added. Layout codes (``model.layout_code``)
get their family's hue: hard disks blue, SSDs orange-red, mixtures green, NVMe amber, remote volumes pink; how many
disks there are is told by lightness and shape. Any other name takes the first free hue from a place that its own text
gives. More hues than the palette has can't be told apart (see ``charts.style``), so then lightness changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Final

from assay.charts.style import PALETTE
from assay.model.layout_code import beginning

SHAPES: Final = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
SHAPE_PATHS: Final[Mapping[str, str]] = {
    "circle": "M5 0a5 5 0 1 0 .01 0z",
    "square": "M.6 .6h8.8v8.8h-8.8z",
    "triangle-up": "M5 .4 10 9.4H0z",
    "diamond": "M5 0 10 5 5 10 0 5z",
    "cross": "M3.3 .3h3.4v3h3v3.4h-3v3h-3.4v-3h-3v-3.4h3z",
    "triangle-down": "M5 9.6 0 .6h10z",
}
"""The same shapes as SVG paths in a square of 10."""
_FAMILY: Final = {
    "HD": (0, 0),
    "SS": (1, 0),
    "HS": (2, 0),
    "SH": (2, 1),
    "HY": (2, 2),
    "HN": (2, 1),
    "RL": (3, 0),
    "RR": (3, 1),
    "RS": (3, 2),
    "R": (3, 2),
    "NFS": (3, 1),
    "NVE": (4, 0),
}
"""A code's family: its hue in the palette, and a step of lightness."""
_LIGHTNESS: Final = (0.145, 0.21, 0.29)
"""Relative luminances (WCAG 2) that keep a contrast of 3:1 on white and on the dark theme's cards."""
_ROUNDS: Final = len(_LIGHTNESS)


def _linear(channel: int) -> float:
    share = channel / 255
    return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)


def luminance(colour: str) -> float:
    """Return a colour's relative luminance as WCAG 2 defines it, 0 to 1."""
    red, green, blue = (_linear(int(colour[place : place + 2], 16)) for place in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _mixed(colour: str, share: float) -> str:
    """Return ``colour`` with a share of white, or of black where it is negative."""
    end = 255 if share > 0 else 0
    channels = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return "#" + "".join(f"{round(value + (end - value) * abs(share)):02X}" for value in channels)


def _of_luminance(colour: str, wanted: float) -> str:
    low, high = -1.0, 1.0
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if luminance(_mixed(colour, middle)) < wanted else (low, middle)
    return _mixed(colour, (low + high) / 2)


def _shade(hue: int, step: int) -> str:
    """Return a hue of the palette: as it is at step 0, then at luminances far from that, the farthest first."""
    colour = PALETTE[hue % len(PALETTE)]
    steps = sorted(_LIGHTNESS, key=lambda wanted: -abs(wanted - luminance(colour)))
    return colour if step % _ROUNDS == 0 else _of_luminance(colour, steps[step % _ROUNDS - 1])


def _number(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")


def _coded(name: str) -> tuple[int, int, int] | None:
    """Return a layout code's hue, step of lightness and number of disks; None for any other name."""
    found = beginning(name)
    if found is None:
        return None
    code, rest = found
    hue, step = _FAMILY[code.family]
    disks = (code.disks or 1) + (_number(rest) % len(SHAPES) if rest else 0)
    return hue, step if step or hue == _FAMILY["RL"][0] else disks - 1, disks


def shape_of(name: str) -> str:
    """Return the shape of a configuration's points."""
    coded = _coded(name)
    return SHAPES[(coded[2] - 1 if coded else _number(name)) % len(SHAPES)]


def colours_of(names: Iterable[str]) -> dict[str, str]:
    """Return a colour for each name: the same for the same set of names, whatever their order."""
    given = list(dict.fromkeys(names))
    found = {name: _shade(coded[0], coded[1]) for name in given if (coded := _coded(name)) is not None}
    taken: set[tuple[int, int]] = set()
    hues = len(PALETTE) - 1  # grey is for what has no colour of its own
    for name in sorted(name for name in given if name not in found):
        first = _number(name)
        places = ((step, (first + shift) % hues) for step in range(_ROUNDS) for shift in range(hues))
        step, hue = next((place for place in places if place not in taken), (first % _ROUNDS, first % hues))
        taken.add((step, hue))
        found[name] = _shade(hue, step)
    return {name: found[name] for name in given}
