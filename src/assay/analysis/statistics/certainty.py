"""Bound the errors of run times that the spread of repetitions does not show: rounding, and the error of the simulator.

In: times in seconds and, for simulated runs, the ends of the interval that holds 90 % of run times. Out: maximum errors
of their logarithms; no interval of a mean or a ratio is narrower. Simulated repetitions differ by the draws of the
simulator alone, so their spread does not show how far the simulator is from a cluster.
"""

import math
from collections.abc import Sequence

import numpy as np

from assay.analysis.statistics.arrays import Floats, Ints
from assay.analysis.statistics.intervals import rounding_of
from assay.analysis.statistics.runs.run_table import RunTable
from assay.model import SIMULATED_HIGH_S, SIMULATED_LOW_S, Run

_FROM_90_TO_95 = 1.959964 / 1.644854
"""Half-width of a normal 95 % interval / half-width of the 90 % interval."""


def log_errors_max(duration_s: Floats, low_s: Floats, high_s: Floats, *, sides: int) -> Floats:
    """Return the maximum error of each time's logarithm; ``low_s`` and ``high_s`` are NaN for runs that are not
    simulated.

    ``sides``: 1 for single times, 2 for times that are compared. A comparison adds the errors of both sides; those of a
    simulator are scaled so that the sum is the 95 % interval of two independent errors.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        half_width = np.log(high_s / low_s) / 2 * _FROM_90_TO_95 / math.sqrt(sides)
    return np.fmax(rounding_of(duration_s), half_width)


def log_errors_max_in(table: RunTable, rows: Ints, *, sides: int) -> Floats:
    """Return :func:`log_errors_max` for rows of a table."""
    unknown = np.full(len(table), np.nan)
    low_s, high_s = (table.values.get(name, unknown)[rows] for name in (SIMULATED_LOW_S, SIMULATED_HIGH_S))
    return log_errors_max(table.values["duration_s"][rows], low_s, high_s, sides=sides)


def log_errors_max_of(runs: Sequence[Run], *, sides: int) -> Floats:
    """Return :func:`log_errors_max` for runs."""
    times = (
        np.array([run.duration_s for run in runs], dtype=np.float64),
        *(
            np.array([run.metrics.get(name, np.nan) for run in runs], dtype=np.float64)
            for name in (SIMULATED_LOW_S, SIMULATED_HIGH_S)
        ),
    )
    return log_errors_max(*times, sides=sides)
