"""How unevenly the levels of a factor are spread over sessions, for gains that are slopes over configurations.

In: the session of each run of each configuration, and the weight of each configuration in the gain of its set. Out: the
imbalance of every set (``analysis/statistics/sessions.py``), from which the error of the mean gain is widened.

The weight of a configuration is spread evenly over its runs. Weights of one session unit in one set are added up, so a
session that goes back and forth between the levels cancels.
"""

from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics import Floats, Ints, Mask
from assay.analysis.statistics.sessions import Imbalance, SessionSpread, imbalance_of, session_units


@dataclass(frozen=True, slots=True)
class RunSessions:
    """When the runs of a study were made; arrays are over runs."""

    configuration: Ints
    session: Ints
    """A number from 0; -1 where the start is not known."""
    started_unix_s: Floats
    drawn: Mask
    """Simulated and predicted runs, which have no sessions."""
    spread: SessionSpread


def sessions_of_slopes(
    runs: RunSessions, configurations: Ints, of_set: Ints, level: Floats, weights: Floats, sets: Ints
) -> Imbalance:
    """Return the imbalance of the sets ``sets``.

    ``configurations`` count; each has a set, a level of the factor, and a weight in the gain of that set.
    """
    place = np.full(int(runs.configuration.max(initial=-1)) + 1, -1, dtype=np.int64)
    place[configurations] = np.arange(len(configurations))
    counted = place[runs.configuration] >= 0
    at = place[runs.configuration[counted]]
    session, drawn = runs.session[counted], runs.drawn[counted]
    code = np.unique(level, return_inverse=True)[1].astype(np.int64)
    units = session_units(session, runs.started_unix_s[counted], code[at], of_set[at])
    units[drawn] = int(units.max(initial=0)) + 1
    n = np.bincount(at, minlength=len(configurations))
    number = np.full(int(of_set.max(initial=-1)) + 1, -1, dtype=np.int64)
    number[sets] = np.arange(len(sets))
    run_set = number[of_set[at]]
    inside = run_set >= 0
    shown = _shown_by_runs(at, units, n, weights)
    kept = number[of_set] >= 0
    own = np.bincount(number[of_set[kept]], weights=shown[kept], minlength=len(sets)).astype(np.float64)
    unordered = (session < 0) & ~drawn & inside
    return imbalance_of(
        run_set[inside],
        units[inside],
        (weights[at] / n[at])[inside],
        own,
        np.bincount(run_set[unordered], minlength=len(sets)) > 0,
        runs.spread,
    )


def _shown_by_runs(configuration: Ints, units: Ints, n: Ints, weights: Floats) -> Floats:
    """Return the share of the sessions' variance that the scatter of each configuration's runs contains already."""
    cells, runs = np.unique(np.stack((configuration, units)), axis=1, return_counts=True)
    squares = np.bincount(cells[0], weights=(runs / n[cells[0]]) ** 2, minlength=len(n))
    shown: Floats = np.where(n > 1, weights**2 * (1 - squares) / np.maximum(n - 1, 1), 0.0)
    return shown


def sessions_of_ratios(gains: Imbalance, ratio: Ints, factor: Floats, count: int) -> Imbalance:
    """Return the imbalance of ratios of gains: of each gain the ratio that it is part of (or -1), and its factor."""
    inside = ratio[gains.sets] >= 0
    sets = gains.sets[inside]
    part = ratio >= 0
    own = np.bincount(ratio[part], weights=(gains.own * factor**2)[part], minlength=count).astype(np.float64)
    unordered = np.bincount(ratio[part & gains.unordered], minlength=count) > 0
    return imbalance_of(
        ratio[sets], gains.units[inside], gains.weights[inside] * factor[sets], own, unordered, gains.spread
    )
