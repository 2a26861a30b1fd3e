"""A second opinion on odd runs: how far each is from what all other configurations let one expect of it.

In: runs as a table. Out: for each valid run the time that trees expect which have not seen its configuration, and how
many times the usual error it is off. The usual error is that of its workload on its cluster (the median absolute one,
which odd runs do not move), so that a noisy cluster's runs are not all odd. Learned twice: what is far off at first is
left out the second time, because odd runs would teach that odd is usual. Repetitions cannot excuse each other here,
as the quality room's expectations let them.
"""

from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics import Floats, Groups, Mask, RunTable, groups_by, median_by, usable
from assay.estimation.prediction.features import learned_encoding, told_apart_by
from assay.estimation.prediction.model import SEED, Learning
from assay.estimation.prediction.stack import out_of_fold, spread_of

FAR = 5.0
"""So many usual errors off, and by :data:`RATIO`, a run is odd."""
RATIO = 1.25
NORMAL = 1.4826
ERROR_MIN = 0.02
"""Errors of a workload are never taken to be smaller than 2 %."""
ALIKE_MIN = 20
_REST_MIN = 0.5
"""Unless so large a share of the runs is left, nothing is left out the second time."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """By row of the table; NaN for runs that are not valid."""

    expected_s: Floats
    errors_off: Floats
    """How many usual errors the log time is off; below 0 it was faster."""

    def odd(self, table: RunTable) -> Mask:
        """Return which runs are odd."""
        with np.errstate(invalid="ignore", divide="ignore"):
            far = np.abs(np.log(table.values["duration_s"] / self.expected_s)) >= np.log(RATIO)
            found: Mask = (np.abs(self.errors_off) >= FAR) & far
        return found


def second_opinion(table: RunTable, but: Mask | None = None, seed: int = SEED) -> Opinion:
    """Return the opinion on each run; of the runs ``but`` nothing is learned, as they are known not to be sound.

    SpecificationError when there is too little to learn from.
    """
    rows = np.flatnonzero(usable(table))
    taken = table.taken(rows)
    told = np.ones(len(taken), dtype=np.bool_) if but is None else ~but[rows]
    first = _judged(taken, told, seed)
    sound = told & ~first.odd(taken)
    judged = _judged(taken, sound, seed) if _REST_MIN <= sound.sum() / told.sum() < 1.0 else first
    nothing = np.full(len(table), np.nan)
    result = Opinion(nothing, nothing.copy())
    result.expected_s[rows] = judged.expected_s
    result.errors_off[rows] = judged.errors_off
    return result


def _judged(taken: RunTable, sound: Mask, seed: int) -> Opinion:
    """Return the opinion on all rows, learned from the sound ones."""
    told = Learning.of(taken.taken(sound))
    encoding = learned_encoding(told.configurations())
    configurations = groups_by(taken, told_apart_by(taken))
    first = np.zeros(configurations.count, dtype=np.int64)
    first[configurations.of_row[::-1]] = np.arange(len(taken))[::-1]
    logs = np.log(taken.values["duration_s"])
    kept = Groups(configurations.of_row[sound], configurations.count)
    medians = median_by(logs[sound], kept)
    known = np.flatnonzero(np.isfinite(medians))
    unknown = np.flatnonzero(~np.isfinite(medians))
    features = encoding.of(taken.taken(first))
    expected, spread = np.empty(configurations.count), np.empty(configurations.count)
    folds = out_of_fold(features[known], medians[known], seed)
    expected[known], spread[known] = folds.expected, folds.spread
    if len(unknown):
        by_tree = folds.forest.each(features[unknown])
        expected[unknown], spread[unknown] = by_tree.mean(axis=1), spread_of(by_tree)
    off = (logs - expected[configurations.of_row]) / spread[configurations.of_row]
    names = [name for name in ("workload", "cluster") if name in taken.columns]
    alike = groups_by(taken, names)
    usual = NORMAL * median_by(np.abs(off[sound]), Groups(alike.of_row[sound], alike.count))
    sizes = np.bincount(alike.of_row[sound], minlength=alike.count)
    usual[sizes < ALIKE_MIN] = NORMAL * float(np.median(np.abs(off[sound])))
    error = np.maximum(usual[alike.of_row] * spread[configurations.of_row], ERROR_MIN)
    return Opinion(np.exp(expected[configurations.of_row]), (logs - expected[configurations.of_row]) / error)
