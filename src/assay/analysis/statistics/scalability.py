"""Fit how speed grows with a numeric factor: workers, containers, disks, memory, data.

In: levels of the factor with their speed relative to the smallest level. Out: a fitted Universal Scalability Law, if at
least :data:`LEVELS_MIN` levels exist and the law describes them:

    speed(n) = n / (1 + contention (n - 1) + coherency n (n - 1)),   n = level / smallest level

With coherency 0 it is Amdahl's law, with contention the serial share. Source: N. J. Gunther, Guerrilla Capacity
Planning (2007), chapter 4; G. M. Amdahl, AFIPS Conf. Proc. 30 (1967).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics import Floats

LEVELS_MIN = 4
"""Minimum number of levels to fit the law."""
MISFIT_MAX = 0.05
"""Maximum root mean square of relative residuals of a law that fits."""


@dataclass(frozen=True, slots=True)
class ScalabilityLaw:
    """A fitted law; ``n`` counts multiples of the smallest level."""

    contention: float
    coherency: float
    misfit: float
    """Root mean square of the relative residuals."""

    def speed(self, n: float) -> float:
        """Return the speed at ``n`` times the smallest level, relative to it."""
        return n / (1 + self.contention * (n - 1) + self.coherency * n * (n - 1))

    @property
    def peak(self) -> float | None:
        """The multiple of the smallest level with the highest speed; None if speed only grows, or only falls."""
        if self.coherency <= 0 or self.contention >= 1:
            return None
        peak = math.sqrt((1 - self.contention) / self.coherency)
        return peak if peak > 1 else None


def fit_law(levels: Sequence[float], speeds: Sequence[float]) -> ScalabilityLaw | None:
    """Return the law of best fit to relative speeds; None for too few levels, or if no law fits.

    ``levels`` are positive and distinct; ``speeds`` are relative to the smallest level's. Least squares on logarithms,
    with contention and coherency at least 0.
    """
    if len(levels) < LEVELS_MIN:
        return None
    from scipy.optimize import least_squares  # imported here because only curves need it

    n = np.asarray(levels, dtype=np.float64) / min(levels)
    logs = np.log(np.asarray(speeds, dtype=np.float64))

    def residuals(parameters: Floats) -> Floats:
        contention, coherency = parameters
        differences: Floats = np.log(n / (1 + contention * (n - 1) + coherency * n * (n - 1))) - logs
        return differences

    solution = least_squares(residuals, (0.1, 0.01), bounds=((0.0, 0.0), (np.inf, np.inf)))
    misfit = float(np.sqrt(np.mean(np.square(solution.fun))))
    law = ScalabilityLaw(float(solution.x[0]), float(solution.x[1]), misfit)
    return law if misfit <= MISFIT_MAX else None
