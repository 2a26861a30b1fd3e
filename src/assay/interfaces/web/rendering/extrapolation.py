"""Compute a forecast's position on the extrapolation bar: green within the learned range, red far beyond it.

In: a multiple of the learned range, or the basis of a prediction. Out: a position from 0 to 1, and a text.
"""

import math
from dataclasses import dataclass
from typing import Final

from assay.estimation.prediction.predict import Basis
from assay.questions.recommendation.recommend import EXTRAPOLATION_MAX, EXTRAPOLATION_STATED

_LEARNED_SHARE: Final = 0.5
"""Share of the bar for forecasts within the learned range."""
_POSITION_OF_BASIS: Final = {
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


def bar_of_multiple(multiple: float, quantity: str) -> ExtrapolationBar:
    """Return the bar for a multiple of the learned range. ``quantity``: name of the multiplied quantity."""
    if multiple <= EXTRAPOLATION_STATED:
        position = _LEARNED_SHARE * max(0.0, math.log2(max(1.0, multiple))) / math.log2(EXTRAPOLATION_STATED)
        return ExtrapolationBar(position, f"Within the learned range of {quantity}.")
    excess = math.log2(multiple / EXTRAPOLATION_STATED) / math.log2(EXTRAPOLATION_MAX / EXTRAPOLATION_STATED)
    # Forecasts are made up to EXTRAPOLATION_MAX, at three quarters of the bar; a larger multiple can still be shown.
    position = min(1.0, _LEARNED_SHARE + excess * _LEARNED_SHARE / 2)
    return ExtrapolationBar(position, f"Extrapolated: {multiple:,.1f} times the learned range of {quantity}.")


def bar_of_basis(basis_name: str) -> ExtrapolationBar:
    """Return the bar for a prediction with this basis."""
    basis = Basis(basis_name)
    range_text = "Within the learned range" if basis is Basis.MEASURED else "Extrapolated"
    return ExtrapolationBar(_POSITION_OF_BASIS[basis], f"{range_text}: based on {basis}.")
