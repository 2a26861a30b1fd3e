"""Compute a forecast's position on the extrapolation bar: green within the learned range, red far beyond it.

In: a multiple of the learned range, or the basis of a prediction. Out: a position from 0 to 1, and a text.
"""

import math
from dataclasses import dataclass
from typing import Final

from assay.estimation.prediction.predict import Basis
from assay.questions.recommendation.recommend import EXTRAPOLATION_MAX, EXTRAPOLATION_STATED

_WITHIN: Final = 0.5
"""Share of the bar for forecasts within the learned range."""
_AT_BASIS: Final = {
    Basis.MEASURED: 0.1,
    Basis.NEW_PAIR: 0.55,
    Basis.NEW_CLUSTER: 0.7,
    Basis.NEW_LAYOUT: 0.7,
    Basis.UNKNOWN: 1.0,
}


@dataclass(frozen=True, slots=True)
class ExtrapolationBar:
    """A position from 0 (well within the learned range) to 1 (far beyond it), and its text."""

    position: float
    text: str


def bar_of_multiple(times: float, of: str) -> ExtrapolationBar:
    """Return the bar for a multiple of the learned range. ``of``: name of the multiplied quantity."""
    if times <= EXTRAPOLATION_STATED:
        position = _WITHIN * max(0.0, math.log2(max(1.0, times))) / math.log2(EXTRAPOLATION_STATED)
        return ExtrapolationBar(position, f"Within the learned range of {of}.")
    beyond = math.log2(times / EXTRAPOLATION_STATED) / math.log2(EXTRAPOLATION_MAX / EXTRAPOLATION_STATED)
    position = min(1.0, _WITHIN + beyond * _WITHIN / 2)
    return ExtrapolationBar(position, f"Extrapolated: {times:,.1f} times the learned range of {of}.")


def bar_of_basis(basis: str) -> ExtrapolationBar:
    """Return the bar for a prediction with this basis."""
    kind_of_basis = Basis(basis)
    kind = "Within the learned range" if kind_of_basis is Basis.MEASURED else "Extrapolated"
    return ExtrapolationBar(_AT_BASIS[kind_of_basis], f"{kind}: based on {kind_of_basis}.")
