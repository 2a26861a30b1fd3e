"""Find the factor that a gain depends on, and widen the mean over matched groups accordingly.

In: the log ratios of matched groups, and the level of each in every other factor. Out: the factor whose levels' means
differ most clearly, and the mean over groups with an error in which these levels are the units.

Matched groups that share a level are independent only if that level does not change the gain. If the gain depends on
the block size and three sizes were measured, twelve groups count as three observations. Each factor is tested by
one-way analysis of variance; the smallest p value is multiplied by the number of factors that were tested, and compared
with :data:`ALPHA`, which is lenient because a missed dependence makes intervals too narrow. Three or more levels count
as a sample of possible levels: the error is cluster-robust, with levels - 1 degrees of freedom. A factor with two
levels is taken as fixed: the mean holds for these two levels only, and its error is unchanged. If clusters are strata,
a difference between clusters is not a dependence, because the statement is about these clusters.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.analysis.comparison.matched import GroupRatios, LogMean, MatchedGroups
from assay.analysis.comparison.sampled_levels import SampledLevels
from assay.analysis.statistics import Floats, InferenceScope, Ints, RunTable
from assay.analysis.statistics.cluster_strata import within_strata

ALPHA = 0.40
"""Maximum corrected p value of a factor that the gain depends on."""
LEVELS_MIN = 3
"""Minimum number of levels that count as a sample of possible levels."""
GROUPS_PER_LEVEL_MIN = 1.5
"""Minimum mean number of groups of a level: with one group per level, the groups are the units."""
OVER_LEVELS = "Student's t on the levels of {}, on which the gain depends"


@dataclass(frozen=True, slots=True)
class Dependence:
    """A factor between whose levels the gain differs."""

    factor: str
    levels: int
    p: float
    """Corrected for the number of factors that were tested."""


def dependence_of(matched: MatchedGroups, ratios: GroupRatios) -> tuple[Dependence, Ints] | None:
    """Return the factor on which the gain depends most clearly, with its level in each group; None if there is none."""
    if len(ratios.groups) < LEVELS_MIN + 1 or len(ratios.deployment):
        return None
    names = [name for name in matched.table.factors if name != matched.factor and name not in matched.ignored]
    values = within_strata(ratios.log_ratio, ratios.cluster_strata)
    return dependence_among(matched.table, names, _example_rows(matched, ratios.groups), values)


def dependence_among(
    table: RunTable, factors: Sequence[str], rows: Ints, values: Floats
) -> tuple[Dependence, Ints] | None:
    """Return the factor on which log gains depend most clearly, with its level in each group; None if there is none.

    ``rows``: a row of the table of each group. ``values``: the gain of each group, with equal means in each stratum.
    """
    from scipy.special import fdtrc  # imported here because the import takes 0.1 s

    group_count = len(values)
    if group_count < LEVELS_MIN + 1:
        return None
    tests: list[tuple[float, str, Ints, int]] = []
    for name in factors:
        codes = table.columns[name].codes[rows]
        if (codes == codes[0]).all():  # most factors have one level here, and `unique` takes ten times as long
            continue
        levels, level_of_group = np.unique(codes, return_inverse=True)
        level_count = len(levels)
        if group_count < GROUPS_PER_LEVEL_MIN * level_count:
            continue
        between, within = _mean_squares(values, level_of_group, level_count)
        p = float(between == 0)
        if within > 0:
            p = float(fdtrc(level_count - 1, group_count - level_count, between / within))
        tests.append((p, name, level_of_group, level_count))
    if not tests:
        return None
    p, name, level_of_group, level_count = min(tests, key=lambda test: test[0])
    corrected_p = min(1.0, p * len(tests))
    return (Dependence(name, level_count, corrected_p), level_of_group) if corrected_p < ALPHA else None


def _example_rows(matched: MatchedGroups, groups: Ints) -> Ints:
    """Return a row of the table of each group."""
    first = np.zeros(matched.groups.count, dtype=np.int64)
    first[matched.groups.of_row[::-1]] = matched.positions[::-1]
    rows: Ints = first[groups]
    return rows


def _mean_squares(values: Floats, level_of_group: Ints, level_count: int) -> tuple[float, float]:
    n = np.bincount(level_of_group, minlength=level_count)
    means = np.bincount(level_of_group, weights=values, minlength=level_count) / n
    between = float((n * (means - values.mean()) ** 2).sum()) / (level_count - 1)
    degrees = len(values) - level_count
    within = float(((values - means[level_of_group]) ** 2).sum()) / degrees if degrees else 0.0
    return between, within


def over_levels(mean: LogMean, ratios: GroupRatios, dependence: Dependence, level_of_group: Ints) -> LogMean:
    """Return the mean over groups with the error between levels of the factor, if its interval is wider.

    The widths are those of 95 % intervals: an error between few levels has few degrees of freedom.
    """
    if mean.scope is not InferenceScope.SIMILAR or dependence.levels < LEVELS_MIN:
        return mean
    values = within_strata(ratios.log_ratio, ratios.cluster_strata)
    group_count, level_count = len(values), dependence.levels
    n = np.bincount(level_of_group, minlength=level_count)
    means = np.bincount(level_of_group, weights=values, minlength=level_count) / n
    deviations = n / group_count * (means - values.mean())
    error = float(np.sqrt((deviations**2).sum() * level_count / (level_count - 1)))
    mean_over_levels = replace(
        mean,
        error=error,
        degrees=level_count - 1.0,
        method=OVER_LEVELS.format(dependence.factor),
        levels=SampledLevels(dependence.factor, level_count),
    )
    return mean_over_levels if mean_over_levels.ratio.width > mean.ratio.width else mean


def allow_for_dependence(mean: LogMean, matched: MatchedGroups, ratios: GroupRatios) -> LogMean:
    """Return the mean over the groups of ``ratios`` with an error that allows for a factor on which it depends."""
    dependence = dependence_of(matched, ratios)
    return over_levels(mean, ratios, *dependence) if dependence else mean
