"""Compute the number of repetitions that each configuration still needs for a wanted precision.

In: a table of runs and a half-width (0.05: the 95 % interval of a configuration's geometric mean reaches at most 5 %
above it). Out: for each configuration its runs, its present half-width, and the total number of runs that it needs,
from its spread. A configuration of one run has the spread of its workload (pooled variance of logarithms over
configurations of the same workload, origin and scale). The formula is that of ``significance.runs_needed``, for all
configurations at once: smallest n with t(n - 1) × s / √n <= ln(1 + half-width).
"""

from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics import LEVEL, Floats, Ints, RunTable, groups_by, usable, warm_among_cold

NEEDED_MAX = 1000
"""Maximum number of repetitions that is shown; larger numbers are shown as "more than"."""
_STRATA = ("workload", "origin", "lab_scale")


@dataclass(frozen=True, slots=True)
class Need:
    """One configuration without the wanted precision."""

    position: int
    """A row of it in the table."""
    runs: int
    half_width: float | None
    """The present half-width, as a share of the mean; None with one run."""
    needed: int | None
    """Total number of runs; None: more than :data:`NEEDED_MAX`, or the spread is unknown."""
    assumed: bool
    """Whether the spread of the workload was used."""


@dataclass(frozen=True, slots=True)
class Precision:
    """All configurations compared with a wanted precision."""

    wanted: float
    configurations: int
    enough: int
    """Number of configurations with the wanted precision."""
    single: int
    """Number of configurations with a single run."""
    more_runs: int
    """Total number of runs that the other configurations still need, as far as it is known."""
    unknown: int
    """Number of configurations that need an unknown number, or more than :data:`NEEDED_MAX`."""
    needs: tuple[Need, ...]
    """Configurations with the most repetitions first, because users continue with these."""


def _needed(scatter: Floats, wanted: float) -> Ints:
    """Return the total number of runs for each spread; 0: more than :data:`NEEDED_MAX`, or unknown."""
    from scipy.special import stdtrit  # imported here because the import takes 0.1 s

    n = np.arange(2, NEEDED_MAX + 1)
    reach = stdtrit(n - 1, 0.5 + LEVEL / 2) / np.sqrt(n)  # falls with n
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = np.log1p(wanted) / scatter
    position = np.searchsorted(-reach, -bound, side="left")
    needed: Ints = np.where((position < len(n)) & np.isfinite(scatter), n[np.minimum(position, len(n) - 1)], 0)
    return needed


def _pooled(table: RunTable, first: Ints, squares: Floats, runs: Ints) -> Floats:
    """Return the scatter of each configuration's workload; NaN if no configuration was repeated."""
    names = [name for name in _STRATA if name in table.columns]
    strata = groups_by(table.subset(first), names)
    total = np.bincount(strata.of_row, weights=squares, minlength=strata.count)
    degrees = np.bincount(strata.of_row, weights=runs - 1, minlength=strata.count)
    with np.errstate(divide="ignore", invalid="ignore"):
        scatter = np.sqrt(total / degrees)
    pooled: Floats = scatter[strata.of_row]
    return pooled


def precision(table: RunTable, wanted: float, most: int = 100) -> Precision:
    """Return the repetitions that are still needed for the half-width ``wanted``.

    Raises ValueError unless it is positive.
    """
    if not wanted > 0:
        raise ValueError("the wanted half-width must be positive")
    groups = groups_by(table, list(table.factors))
    counted = usable(table)
    counted &= ~warm_among_cold(table, groups, counted)
    rows = np.flatnonzero(counted)
    if not len(rows):
        return Precision(wanted, 0, 0, 0, 0, 0, ())
    _, first, code = np.unique(groups.of_row[rows], return_index=True, return_inverse=True)
    logs = np.log(table.values["duration_s"][rows])
    runs = np.bincount(code)
    mean = np.bincount(code, weights=logs) / runs
    squares = np.bincount(code, weights=(logs - mean[code]) ** 2)
    repeated = runs > 1
    scatter = np.sqrt(squares / np.maximum(runs - 1, 1))
    scatter = np.where(repeated, scatter, _pooled(table, rows[first], squares.astype(np.float64), runs))
    from scipy.special import stdtrit

    half = np.expm1(stdtrit(np.maximum(runs - 1, 1), 0.5 + LEVEL / 2) * scatter / np.sqrt(runs))
    needed = _needed(scatter, wanted)
    enough = repeated & (half <= wanted)
    known = ~enough & (needed > 0)
    short = np.flatnonzero(~enough)
    order = short[np.lexsort((needed[short], -runs[short]))][:most]
    needs = tuple(
        Need(
            int(rows[first[at]]),
            int(runs[at]),
            float(half[at]) if repeated[at] else None,
            max(int(needed[at]), int(runs[at]) + 1) if needed[at] else None,
            not bool(repeated[at]),
        )
        for at in order
    )
    more = int(np.maximum(needed[known] - runs[known], 1).sum())
    return Precision(
        wanted, len(runs), int(enough.sum()), int((~repeated).sum()), more, int((~enough & (needed == 0)).sum()), needs
    )
