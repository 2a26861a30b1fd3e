"""Measure colour differences by CIEDE2000, for normal vision and colour-vision deficiency.

Sources: G. Sharma, W. Wu, E. Dalal, "The CIEDE2000 color-difference formula", Color Research and Application 30 (2005),
with some of its test data; G. M. Machado, M. Oliveira, L. Fernandes, "A physiologically-based model for simulation of
color vision deficiency", IEEE TVCG 15 (2009), its matrices for severity 1.
"""

from __future__ import annotations

import math

Lab = tuple[float, float, float]
Rows = tuple[tuple[float, float, float], ...]
SHARMA: list[tuple[Lab, Lab, float]] = [
    ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
    ((50.0, -1.3802, -84.2814), (50.0, 0.0, -82.7485), 1.0),
    ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
    ((50.0, 2.5, 0.0), (61.0, -5.0, 29.0), 22.8977),
    ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
    ((2.0776, 0.0795, -1.135), (0.9033, -0.0636, -0.5514), 0.9082),
]
_XYZ: Rows = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.072175), (0.0193339, 0.119192, 0.9503041))
_WHITE = (0.95047, 1.0, 1.08883)
_VISION_MATRICES: dict[str, Rows] = {
    "normal": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "without red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "without green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "without blue": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}


def _product(rows: Rows, values: Lab) -> Lab:
    first, second, third = (sum(a * b for a, b in zip(row, values, strict=True)) for row in rows)
    return first, second, third


def _linear(channel: int) -> float:
    share = channel / 255
    return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)


def lab(colour: str, vision: str = "normal") -> Lab:
    """Return a colour of sRGB in CIELAB (D65), as seen with this ``vision``."""
    red, green, blue = (_linear(int(colour[start : start + 2], 16)) for start in (1, 3, 5))
    seen = _product(_VISION_MATRICES[vision], (red, green, blue))
    linear_red, linear_green, linear_blue = (min(max(value, 0.0), 1.0) for value in seen)
    shares = (
        value / white
        for value, white in zip(_product(_XYZ, (linear_red, linear_green, linear_blue)), _WHITE, strict=True)
    )
    x, y, z = (math.cbrt(v) if v > 216 / 24389 else (24389 / 27 * v + 16) / 116 for v in shares)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def _hue(a: float, b: float) -> float:
    return math.degrees(math.atan2(b, a)) % 360


def ciede2000(first: Lab, other: Lab) -> float:
    """Return how different two colours look. A difference of about 2 is just visible."""
    chroma_7 = ((math.hypot(*first[1:]) + math.hypot(*other[1:])) / 2) ** 7
    a_scale = 1.5 - 0.5 * math.sqrt(chroma_7 / (chroma_7 + 25.0**7))
    chroma_1, chroma_2 = math.hypot(first[1] * a_scale, first[2]), math.hypot(other[1] * a_scale, other[2])
    hue_1, hue_2 = _hue(first[1] * a_scale, first[2]), _hue(other[1] * a_scale, other[2])
    hue_turn = (hue_2 - hue_1 + 180) % 360 - 180 if chroma_1 * chroma_2 else 0.0
    mean_lightness, mean_chroma = (first[0] + other[0]) / 2, (chroma_1 + chroma_2) / 2
    mean_hue = (hue_1 + hue_turn / 2) % 360 if chroma_1 * chroma_2 else hue_1 + hue_2
    hue_weight = 1.0
    for weight, harmonic, shift in ((-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.2, 4, -63)):
        hue_weight += weight * math.cos(math.radians(harmonic * mean_hue + shift))
    lightness_offset_2 = (mean_lightness - 50) ** 2
    lightness_term = (other[0] - first[0]) / (1 + 0.015 * lightness_offset_2 / math.sqrt(20 + lightness_offset_2))
    chroma_term = (chroma_2 - chroma_1) / (1 + 0.045 * mean_chroma)
    hue_term = (
        2
        * math.sqrt(chroma_1 * chroma_2)
        * math.sin(math.radians(hue_turn / 2))
        / (1 + 0.015 * mean_chroma * hue_weight)
    )
    rotation = 2 * math.sqrt(mean_chroma**7 / (mean_chroma**7 + 25.0**7))
    rotation *= -math.sin(math.radians(60 * math.exp(-(((mean_hue - 275) / 25) ** 2))))
    return math.sqrt(lightness_term**2 + chroma_term**2 + hue_term**2 + rotation * chroma_term * hue_term)
