"""Compute the imbalance of a factor's levels over sessions, for gains that are slopes over configurations.

In: the session of each run of each configuration, and the weight of each configuration in the gain of its matched
group. Out: the imbalance of every group (``analysis/statistics/sessions.py``), which widens the error of the mean gain.

The weight of a configuration is spread evenly over its runs. Weights of one session unit in one group are added up, so
a session that alternates between the levels cancels.
"""

from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics import Floats, Ints, Mask
from assay.analysis.statistics.sessions import Imbalance, SessionVariance, imbalance_of, session_units


@dataclass(frozen=True, slots=True)
class RunSessions:
    """Sessions of the runs of a study; arrays are over runs."""

    configuration: Ints
    session: Ints
    """A number from 0; -1 if the start is unknown."""
    started_unix_s: Floats
    not_measured: Mask
    """Simulated and predicted runs, which have no sessions."""
    spread: SessionVariance


def sessions_of_slopes(
    runs: RunSessions, configurations: Ints, of_group: Ints, level: Floats, weights: Floats, groups: Ints
) -> Imbalance:
    """Return the imbalance of ``groups``.

    Each of ``configurations`` has a group, a level of the factor, and a weight in the gain of that group.
    """
    index_of = np.full(int(runs.configuration.max(initial=-1)) + 1, -1, dtype=np.int64)
    index_of[configurations] = np.arange(len(configurations))
    counted = index_of[runs.configuration] >= 0
    at = index_of[runs.configuration[counted]]
    session, not_measured = runs.session[counted], runs.not_measured[counted]
    code = np.unique(level, return_inverse=True)[1].astype(np.int64)
    units = session_units(session, runs.started_unix_s[counted], code[at], of_group[at])
    units[not_measured] = int(units.max(initial=0)) + 1
    n = np.bincount(at, minlength=len(configurations))
    number = np.full(int(of_group.max(initial=-1)) + 1, -1, dtype=np.int64)
    number[groups] = np.arange(len(groups))
    group_of_run = number[of_group[at]]
    inside = group_of_run >= 0
    contained = _contained_in_spread(at, units, n, weights)
    kept = number[of_group] >= 0
    unordered = (session < 0) & ~not_measured & inside
    return imbalance_of(
        group_of_run[inside],
        units[inside],
        (weights[at] / n[at])[inside],
        np.bincount(number[of_group[kept]], weights=contained[kept], minlength=len(groups)).astype(np.float64),
        np.bincount(group_of_run[unordered], minlength=len(groups)) > 0,
        runs.spread,
    )


def _contained_in_spread(configuration: Ints, units: Ints, n: Ints, weights: Floats) -> Floats:
    """Return the share of the sessions' variance that the spread of each configuration's runs already contains."""
    cells, runs = np.unique(np.stack((configuration, units)), axis=1, return_counts=True)
    squares = np.bincount(cells[0], weights=(runs / n[cells[0]]) ** 2, minlength=len(n))
    contained: Floats = np.where(n > 1, weights**2 * (1 - squares) / np.maximum(n - 1, 1), 0.0)
    return contained


def sessions_of_ratios(gains: Imbalance, ratio: Ints, factor: Floats, count: int) -> Imbalance:
    """Return the imbalance of ratios of gains.

    ``ratio``: the number of the ratio to which each gain belongs, or -1. ``factor``: the gain's factor in this ratio.
    """
    inside = ratio[gains.groups] >= 0
    groups = gains.groups[inside]
    part = ratio >= 0
    return imbalance_of(
        ratio[groups],
        gains.units[inside],
        gains.weights[inside] * factor[groups],
        np.bincount(ratio[part], weights=(gains.contained * factor**2)[part], minlength=count).astype(np.float64),
        np.bincount(ratio[part & gains.unordered], minlength=count) > 0,
        gains.spread,
    )
