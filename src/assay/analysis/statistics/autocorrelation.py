"""Widen the error of a mean of paired differences, because consecutive runs are correlated.

In: logarithms of run times in the order in which the runs started, and the side of each. Out: a factor for the standard
error of the mean difference between the sides.

The model is a first-order autoregression: consecutive runs correlate by ``r``, runs ``k`` places apart by ``r**k``.
The differences within the blocks of a plan (A B, B A, …) then correlate too, by 0.12 where ``r`` is 0.6, but Student's
t assumes that they are independent. ``r`` is estimated from all runs rather than from the differences, of which there
are half as many, and corrected for its bias in short series (F. H. C. Marriott and J. A. Pope, Biometrika 41, 1954).
The factor is the square root of a ratio: the variance of the mean difference under ``r`` over the variance that
Student's t expects. For blocks of two consecutive runs it is at most about 1.1.
"""

import numpy as np

from assay.analysis.statistics.arrays import Floats, Ints, Mask

_CORRELATION_MAX = 0.9
"""Maximum correlation of consecutive runs."""
_LAGS_MAX = 50
"""Maximum distance of correlated runs: 0.9 to the power of 50 is 0.005."""


def error_factor(logs: Floats, candidate: Mask, block: Ints) -> float:
    """Return the factor for the standard error of a mean over blocks that have one run on each side.

    All arrays are in the order in which the runs started: logarithms of their times, which of them are of the
    candidate, and the block of each.
    """
    residuals = logs - np.where(candidate, logs[candidate].mean(), logs[~candidate].mean())
    squares = float(residuals @ residuals)
    if len(logs) < 4 or squares == 0:
        return 1.0
    sample_correlation = float(residuals[1:] @ residuals[:-1]) / squares
    correlation = min(sample_correlation + (1 + 3 * max(sample_correlation, 0.0)) / len(logs), _CORRELATION_MAX)
    if correlation <= 0:
        return 1.0
    sides = np.where(candidate, -1.0, 1.0)
    lags = np.arange(1, min(_LAGS_MAX, len(logs) - 1) + 1)
    products = np.array([sides[lag:] @ sides[:-lag] for lag in lags])
    variance_of_sum = len(logs) + 2 * float(products @ correlation**lags)
    distances = np.diff(np.argsort(block, kind="stable").reshape(-1, 2), axis=1)
    variance_of_pair = float((2 - 2 * correlation**distances).mean())
    pairs = len(distances)
    # The expectation of the sample variance that Student's t uses.
    expected_variance = (pairs * variance_of_pair - variance_of_sum / pairs) / (pairs - 1)
    return max(1.0, float(np.sqrt(variance_of_sum / pairs / expected_variance))) if expected_variance > 0 else 1.0
