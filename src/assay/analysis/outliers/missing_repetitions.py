"""Compute the number of repetitions that each configuration still needs for a wanted precision.

In: a table of runs and a half-width (0.05: the 95 % interval of a configuration's geometric mean reaches at most 5 %
above it). Out: :class:`MissingRepetitions`: for each configuration its runs, its present half-width, and the total
number of runs that it needs, from its spread. A configuration with one run gets the spread of its workload: the pooled
variance of logarithms over configurations of the same workload, origin and scale. The formula is that of
``significance.runs_needed``, for all configurations at once: the smallest n with
t(n - 1) × s / √n <= ln(1 + half-width).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics import LEVEL, Floats, Ints, RunTable, groups_by, usable, warm_among_cold

NEEDED_MAX = 1000
"""Maximum number of repetitions that is shown; larger numbers are shown as "more than"."""
LISTED_MAX = 100
"""Maximum number of configurations that are listed."""
_STRATA = ("workload", "origin", "lab_scale")


@dataclass(frozen=True, slots=True)
class ImpreciseConfiguration:
    """A configuration whose mean time is not known with the wanted precision."""

    run_id: str
    """One of its runs."""
    configuration: dict[str, str]
    """Its levels of the factors in which runs of the table differ."""
    runs: int
    half_width: float | None
    """The present half-width, as a share of the mean; None with one run."""
    needed: int | None
    """Total number of runs; None: more than :data:`NEEDED_MAX`, or the spread is unknown."""
    assumed: bool
    """Whether the spread of the workload was used."""


@dataclass(frozen=True, slots=True)
class MissingRepetitions:
    """Number of repetitions that configurations still need for a wanted precision."""

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
    needs: tuple[ImpreciseConfiguration, ...]
    """Configurations with the most repetitions first, because users continue with these."""


def _runs_needed(spread: Floats, half_width_max: float) -> Ints:
    """Return the total number of runs for each spread; 0: more than :data:`NEEDED_MAX`, or unknown."""
    from scipy.special import stdtrit  # imported here because the import takes 0.1 s

    n = np.arange(2, NEEDED_MAX + 1)
    half_width_per_spread = stdtrit(n - 1, 0.5 + LEVEL / 2) / np.sqrt(n)  # falls with n
    with np.errstate(divide="ignore", invalid="ignore"):
        half_width_per_spread_max = np.log1p(half_width_max) / spread
    positions = np.searchsorted(-half_width_per_spread, -half_width_per_spread_max, side="left")
    runs_needed: Ints = np.where((positions < len(n)) & np.isfinite(spread), n[np.minimum(positions, len(n) - 1)], 0)
    return runs_needed


def _pooled_spread(table: RunTable, first: Ints, squares: Floats, runs: Ints) -> Floats:
    """Return the spread of each configuration's workload; NaN if no configuration was repeated."""
    names = [name for name in _STRATA if name in table.columns]
    strata = groups_by(table.subset(first), names)
    total = np.bincount(strata.of_row, weights=squares, minlength=strata.count)
    degrees = np.bincount(strata.of_row, weights=runs - 1, minlength=strata.count)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(total / degrees)
    pooled_spread: Floats = spread[strata.of_row]
    return pooled_spread


def missing_repetitions(
    table: RunTable, half_width_max: float, *, run_ids: Callable[[Sequence[int]], Sequence[str]]
) -> MissingRepetitions:
    """Return the repetitions that configurations still need for a half-width of at most ``half_width_max``.

    ``half_width_max``: a share of the mean. ``run_ids`` returns the ids of the runs in rows of the table. Raises
    ValueError unless ``half_width_max`` is positive.
    """
    if not half_width_max > 0:
        raise ValueError("half_width_max must be positive")
    groups = groups_by(table, list(table.factors))
    is_counted = usable(table)
    is_counted &= ~warm_among_cold(table, groups, is_counted)
    rows = np.flatnonzero(is_counted)
    if not len(rows):
        return MissingRepetitions(
            half_width_max, configurations=0, enough=0, single=0, more_runs=0, unknown=0, needs=()
        )
    _, first, code = np.unique(groups.of_row[rows], return_index=True, return_inverse=True)
    logs = np.log(table.values["duration_s"][rows])
    runs = np.bincount(code)
    mean = np.bincount(code, weights=logs) / runs
    squares = np.bincount(code, weights=(logs - mean[code]) ** 2)
    is_repeated = runs > 1
    spread = np.sqrt(squares / np.maximum(runs - 1, 1))
    spread = np.where(is_repeated, spread, _pooled_spread(table, rows[first], squares.astype(np.float64), runs))
    from scipy.special import stdtrit

    half_widths = np.expm1(stdtrit(np.maximum(runs - 1, 1), 0.5 + LEVEL / 2) * spread / np.sqrt(runs))
    runs_needed = _runs_needed(spread, half_width_max)
    is_precise = is_repeated & (half_widths <= half_width_max)
    has_known_need = ~is_precise & (runs_needed > 0)
    imprecise_configurations = np.flatnonzero(~is_precise)
    listed_numbers = imprecise_configurations[
        np.lexsort((runs_needed[imprecise_configurations], -runs[imprecise_configurations]))
    ][:LISTED_MAX]
    examples = [int(row) for row in rows[first[listed_numbers]]]
    needs = tuple(
        ImpreciseConfiguration(
            run_id=run_id,
            configuration=table.distinguishing_levels(row),
            runs=int(runs[number]),
            half_width=float(half_widths[number]) if is_repeated[number] else None,
            needed=max(int(runs_needed[number]), int(runs[number]) + 1) if runs_needed[number] else None,
            assumed=not bool(is_repeated[number]),
        )
        for number, row, run_id in zip(listed_numbers, examples, run_ids(examples) if examples else [], strict=True)
    )
    return MissingRepetitions(
        half_width_max,
        configurations=len(runs),
        enough=int(is_precise.sum()),
        single=int((~is_repeated).sum()),
        more_runs=int(np.maximum(runs_needed[has_known_need] - runs[has_known_need], 1).sum()),
        unknown=int((~is_precise & (runs_needed == 0)).sum()),
        needs=needs,
    )
