"""Detect outliers by a model of all other configurations: a second opinion next to the comparison of repetitions.

In: runs as a table. Out: for each valid run, its expected time from trees that have not seen its configuration, and its
distance from that time in multiples of the usual error: the median absolute error of the workload on the cluster.
Outliers hardly change a median. The usual error of a noisy cluster is large, so its ordinary runs are not flagged. The
model is learned twice, the second time without the outliers of the first, so that outliers do not shift expected times.
Unlike in :mod:`assay.analysis.outliers`, repetitions that are all slow do not make each other look normal.
"""

from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics import Floats, Groups, Mask, RunTable, groups_by, median_by, usable
from assay.estimation.prediction.features import distinguishing_factors, learned_encoding
from assay.estimation.prediction.model import SEED, TrainingData
from assay.estimation.prediction.stack import out_of_fold, tree_spread

OUTLIER_ERRORS_MIN = 5.0
"""Minimum distance of an outlier from its expected time, in usual errors; :data:`OUTLIER_RATIO_MIN` applies too."""
OUTLIER_RATIO_MIN = 1.25
"""Minimum ratio of an outlier's time to its expected time, or of the expected time to its time."""
NORMAL = 1.4826
"""Standard deviation of a normal distribution, in multiples of its median absolute deviation."""
ERROR_MIN = 0.02
"""Minimum usual error of a workload: 2 %."""
SEPARATE_ERROR_RUNS_MIN = 20
"""Minimum number of runs of one workload on one cluster to get a separate usual error."""
_REMAINING_SHARE_MIN = 0.5
"""Minimum share of runs that must remain for outliers to be left out the second time."""


@dataclass(frozen=True, slots=True)
class ExpectedTimes:
    """Expected times and distances by row of the table; NaN for runs that are not valid."""

    expected_s: Floats
    errors_off: Floats
    """Difference of measured and expected log time, in usual errors; negative if the run was faster than expected."""

    def outliers(self, table: RunTable) -> Mask:
        """Return which runs are outliers."""
        with np.errstate(invalid="ignore", divide="ignore"):
            is_far = np.abs(np.log(table.values["duration_s"] / self.expected_s)) >= np.log(OUTLIER_RATIO_MIN)
            outliers: Mask = (np.abs(self.errors_off) >= OUTLIER_ERRORS_MIN) & is_far
        return outliers


def second_opinion(table: RunTable, unsound: Mask | None = None, seed: int = SEED) -> ExpectedTimes:
    """Return the opinion on each run. The model does not learn from the ``unsound`` runs.

    Raises SpecificationError if there are too few runs to learn from.
    """
    rows = np.flatnonzero(usable(table))
    usable_runs = table.subset(rows)
    sound_at_first = np.ones(len(usable_runs), dtype=np.bool_) if unsound is None else ~unsound[rows]
    first_opinion = _expected_times(usable_runs, sound_at_first, seed)
    is_sound = sound_at_first & ~first_opinion.outliers(usable_runs)
    opinion = (
        _expected_times(usable_runs, is_sound, seed)
        if _REMAINING_SHARE_MIN <= is_sound.sum() / sound_at_first.sum() < 1.0
        else first_opinion
    )
    unknown = np.full(len(table), np.nan)
    result = ExpectedTimes(unknown, unknown.copy())
    result.expected_s[rows] = opinion.expected_s
    result.errors_off[rows] = opinion.errors_off
    return result


def _expected_times(usable_runs: RunTable, is_sound: Mask, seed: int) -> ExpectedTimes:
    """Return the opinion on all runs, learned from the sound runs."""
    data = TrainingData.of(usable_runs.subset(is_sound))
    encoding = learned_encoding(data.configurations())
    configurations = groups_by(usable_runs, distinguishing_factors(usable_runs))
    first_rows = np.zeros(configurations.count, dtype=np.int64)
    first_rows[configurations.of_row[::-1]] = np.arange(len(usable_runs))[::-1]
    logs = np.log(usable_runs.values["duration_s"])
    sound_groups = Groups(configurations.of_row[is_sound], configurations.count)
    medians = median_by(logs[is_sound], sound_groups)
    known_numbers = np.flatnonzero(np.isfinite(medians))
    unknown_numbers = np.flatnonzero(~np.isfinite(medians))
    features = encoding.of(usable_runs.subset(first_rows))
    expected, spread = np.empty(configurations.count), np.empty(configurations.count)
    folds = out_of_fold(features[known_numbers], medians[known_numbers], seed)
    expected[known_numbers], spread[known_numbers] = folds.expected, folds.spread
    if len(unknown_numbers):
        by_tree = folds.forest.by_tree(features[unknown_numbers])
        expected[unknown_numbers], spread[unknown_numbers] = by_tree.mean(axis=1), tree_spread(by_tree)
    scaled_errors = (logs - expected[configurations.of_row]) / spread[configurations.of_row]
    names = [name for name in ("workload", "cluster") if name in usable_runs.columns]
    noise_groups = groups_by(usable_runs, names)
    usual_errors = NORMAL * median_by(
        np.abs(scaled_errors[is_sound]), Groups(noise_groups.of_row[is_sound], noise_groups.count)
    )
    sizes = np.bincount(noise_groups.of_row[is_sound], minlength=noise_groups.count)
    usual_errors[sizes < SEPARATE_ERROR_RUNS_MIN] = NORMAL * float(np.median(np.abs(scaled_errors[is_sound])))
    error = np.maximum(usual_errors[noise_groups.of_row] * spread[configurations.of_row], ERROR_MIN)
    return ExpectedTimes(np.exp(expected[configurations.of_row]), (logs - expected[configurations.of_row]) / error)
