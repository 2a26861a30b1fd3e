"""Find the factors that a gain depends on, and widen the mean over matched groups accordingly.

In: the log ratios of matched groups, and the level of each in every other factor. Out: the factors on which the gain
depends, and the mean over groups with an error that allows for them.

Matched groups that share a level are independent only if that level does not change the gain. If the gain depends on
the block size and three sizes were measured, twelve groups count as three observations. Each factor is tested by
one-way analysis of variance; the smallest p value is multiplied by the number of factors that were tested, and compared
with :data:`ALPHA`, which is lenient because a missed dependence makes intervals too narrow. Three or more levels count
as a sample of possible levels: the error is cluster-robust, with levels - 1 degrees of freedom. A factor with two
levels is taken as fixed: the mean holds for these two levels only, and its error is unchanged. If clusters are strata,
a difference between clusters is not a dependence, because the statement is about these clusters.

Three levels can be alike by chance, so some of many comparisons don't show a dependence that exists. Therefore the
comparisons of an answer are also tested together (:func:`shared_dependences`). A comparison that doesn't show a
dependence of its answer gets one of two errors: that between its levels, or the error over groups plus the variance
between levels that other comparisons show. Other comparisons never make an interval narrower or a p value smaller.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.analysis.comparison.joint import Fit
from assay.analysis.comparison.matched import STRATA, GroupRatios, LogMean, MatchedGroups, Strata
from assay.analysis.comparison.sampled_levels import SampledLevels
from assay.analysis.statistics import Floats, InferenceScope, Ints, RunTable, satterthwaite
from assay.analysis.statistics.blocks import connected_parts
from assay.analysis.statistics.cluster_strata import strata_of, within_strata

ALPHA = 0.40
"""Maximum corrected p value of a factor that the gain depends on."""
SHARED_ALPHA = 0.05
"""Maximum corrected p value of a factor that the gains of an answer depend on."""
_COVARIANCE = 1.0
"""Covariance of -2 log p of two comparisons that share a level, whose log ratios correlate by 0.5."""
_P_MIN = 1e-300
"""Smallest p value in a sum of logarithms."""
LEVELS_MIN = 3
"""Minimum number of levels that count as a sample of possible levels."""
GROUPS_PER_LEVEL_MIN = 1.5
"""Minimum mean number of groups of a level: with one group per level, the groups are the units."""
OVER_LEVELS = "Student's t on the levels of {}, on which the gain depends"
LEARNED = "Student's t on matched groups, with the variance between levels of {} in other comparisons"


@dataclass(frozen=True, slots=True)
class Dependence:
    """A factor between whose levels the gain differs."""

    factor: str
    levels: int
    p: float
    """Corrected for the number of factors that were tested."""


@dataclass(frozen=True, slots=True)
class SharedDependence:
    """A factor on which the gains of an answer depend, with the variance of a gain between its levels."""

    p: float
    """Corrected for the number of factors that were tested."""
    variance: float
    """Median over the comparisons that show the dependence."""
    degrees: float


SharedDependences = Mapping[str, SharedDependence]
"""The factors on which the gains of an answer depend."""


_Answer = tuple[tuple[str | None, ...], int]
"""The origin and lab scale of an answer, and the number of its connected levels."""


@dataclass(frozen=True, slots=True)
class GroupDependence:
    """A dependence with the level of the factor in each matched group of one comparison."""

    dependence: Dependence
    level_of_group: Ints
    shared: SharedDependence | None = None
    """None if the groups of the comparison show the dependence."""


@dataclass(frozen=True, slots=True)
class _FactorTest:
    """The test whether a gain differs between the levels of one factor."""

    factor: str
    levels: int
    p: float
    """Not corrected for the number of factors that were tested."""
    variance: float
    """Variance of the gain between levels."""
    level_of_group: Ints


def dependences_of(
    matched: MatchedGroups, ratios: GroupRatios, shared: SharedDependences
) -> tuple[GroupDependence, ...]:
    """Return the factors on which the gain depends: first the factor that its groups show most clearly.

    ``shared``: the factors on which the gains of the answer depend (:func:`shared_dependences`).
    """
    if len(ratios.groups) < LEVELS_MIN + 1 or len(ratios.deployment):
        return ()
    values = within_strata(ratios.log_ratio, ratios.cluster_strata)
    tests = _factor_tests(matched.table, _other_factors(matched), _example_rows(matched, ratios.groups), values)
    clearest = _clearest(tests)
    shared_items = (
        GroupDependence(
            Dependence(test.factor, test.levels, shared[test.factor].p), test.level_of_group, shared[test.factor]
        )
        for test in tests
        if test.factor in shared and not (clearest and test.factor == clearest.dependence.factor)
    )
    return tuple(shared_items) if clearest is None else (clearest, *shared_items)


def shared_dependences(
    matched: MatchedGroups, strata: Strata, fits: Sequence[Fit]
) -> list[Mapping[int, SharedDependences]]:
    """Return, for each stratum and level (code), the factors on which the gains of its answer depend.

    An answer has the levels that matched groups connect, in all strata of one origin and lab scale. In each stratum,
    the pairs of levels with most matched groups are tested, so the baseline does not matter.
    """
    names, parts = _other_factors(matched), _answers(matched, strata, fits)
    tests: dict[_Answer, dict[str, list[list[_FactorTest]]]] = {}
    for fit, answers in zip(fits, parts, strict=True):
        tests_of_stratum: dict[tuple[_Answer, str], list[_FactorTest]] = {}
        for code, rows, log_ratio in fit.tree_of_pairs():
            if len(rows) <= LEVELS_MIN:
                continue
            cluster = fit.cluster[rows] if len(fit.cluster) else fit.cluster
            values = within_strata(log_ratio, strata_of(cluster, len(rows)))
            for test in _factor_tests(matched.table, names, _example_rows(matched, fit.groups[rows]), values):
                if test.levels >= LEVELS_MIN:
                    tests_of_stratum.setdefault((answers[code], test.factor), []).append(test)
        for (answer, factor), tests_of_factor in tests_of_stratum.items():
            tests.setdefault(answer, {}).setdefault(factor, []).append(tests_of_factor)
    shared = {answer: _shared(tests_of_factors) for answer, tests_of_factors in tests.items()}
    return [{code: shared.get(answer, {}) for code, answer in answers.items()} for answers in parts]


def _answers(matched: MatchedGroups, strata: Strata, fits: Sequence[Fit]) -> list[dict[int, _Answer]]:
    """Return the answer of each level (code), for each stratum."""
    kinds = [tuple(strata.levels(matched.table, stratum).get(name) for name in STRATA) for stratum in range(len(fits))]
    level_count = len(matched.table.columns[matched.factor].levels)
    part_of_level = {}
    for kind in set(kinds):
        fits_of_kind = [fit for fit, of_fit in zip(fits, kinds, strict=True) if of_fit == kind]
        members = [fit.codes[fit.blocks.part == part] for fit in fits_of_kind for part in np.unique(fit.blocks.part)]
        part_of_level[kind] = connected_parts(members, level_count)
    return [
        {int(code): (kind, int(part_of_level[kind][code])) for code in fit.codes}
        for fit, kind in zip(fits, kinds, strict=True)
    ]


def _shared(tests_of_factors: Mapping[str, Sequence[Sequence[_FactorTest]]]) -> SharedDependences:
    """Return the factors whose tests, by factor and stratum, together show a dependence."""
    shared = {}
    for factor, tests_of_strata in tests_of_factors.items():
        tests = [test for tests in tests_of_strata for test in tests]
        corrected_p = _combined_p(tests_of_strata) * len(tests_of_factors)
        if len(tests) < 2 or corrected_p >= SHARED_ALPHA:
            continue
        smallest_p = min(test.p for test in tests)
        clear_tests = [test for test in tests if test.p <= max(SHARED_ALPHA, smallest_p)]
        variance = float(np.median([test.variance for test in clear_tests]))
        degrees = float(sum(test.levels - 1 for test in clear_tests))
        shared[factor] = SharedDependence(corrected_p, variance, degrees)
    return shared


def _combined_p(tests_of_strata: Sequence[Sequence[_FactorTest]]) -> float:
    """Return one p value for the tests of all strata (R. A. Fisher, Statistical Methods for Research Workers, 1932).

    The tests of a stratum share levels, so they are dependent (M. B. Brown, Biometrics 31, 1975).
    """
    from scipy.special import chdtrc  # imported here because the import takes 0.1 s

    counts = np.array([len(tests) for tests in tests_of_strata])
    statistic = -2 * sum(math.log(max(test.p, _P_MIN)) for tests in tests_of_strata for test in tests)
    mean = 2.0 * float(counts.sum())
    variance = float((4 * counts + _COVARIANCE * counts * (counts - 1)).sum())
    return float(chdtrc(2 * mean**2 / variance, statistic * 2 * mean / variance))


def _other_factors(matched: MatchedGroups) -> list[str]:
    return [name for name in matched.table.factors if name != matched.factor and name not in matched.ignored]


def _clearest(tests: Sequence[_FactorTest]) -> GroupDependence | None:
    """Return the factor that a gain depends on most clearly; None if there is none."""
    if not tests:
        return None
    test = min(tests, key=lambda test: test.p)
    corrected_p = min(1.0, test.p * len(tests))
    if corrected_p >= ALPHA:
        return None
    return GroupDependence(Dependence(test.factor, test.levels, corrected_p), test.level_of_group)


def _factor_tests(table: RunTable, factors: Sequence[str], rows: Ints, values: Floats) -> list[_FactorTest]:
    """Return the test of each factor that has several levels, and enough groups of each."""
    from scipy.special import fdtrc  # imported here because the import takes 0.1 s

    group_count = len(values)
    if group_count < LEVELS_MIN + 1:
        return []
    tests = []
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
        n = np.bincount(level_of_group)
        groups_per_level = (group_count - float((n * n).sum()) / group_count) / (level_count - 1)
        variance = max(0.0, between - within) / groups_per_level
        tests.append(_FactorTest(name, level_count, p, variance, level_of_group))
    return tests


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


def allow_for_dependences(mean: LogMean, ratios: GroupRatios, dependences: Sequence[GroupDependence]) -> LogMean:
    """Return the mean over groups with the error that allows for the factors on which the gain depends.

    A dependence that the groups show counts before those that only other comparisons show. Of several factors, the one
    with the widest interval counts.
    """
    if mean.scope is not InferenceScope.SIMILAR:
        return mean
    items = [item for item in dependences if item.dependence.levels >= LEVELS_MIN]
    items = [item for item in items if item.shared is None] or items
    return max([mean, *(_allow_for(mean, ratios, item) for item in items)], key=lambda mean: mean.ratio.width)


def _allow_for(mean: LogMean, ratios: GroupRatios, item: GroupDependence) -> LogMean:
    """Return the mean with the error between levels, or with the variance that other comparisons show.

    The second only if the groups of this comparison do not show the dependence. Both errors are valid: the levels are
    alike by chance, or they do not matter here. The smaller p value counts.
    """
    by_levels = _over_levels(mean, ratios, item)
    if item.shared is None:
        return by_levels
    return min(by_levels, _with_learned(mean, item, item.shared), key=lambda mean: mean.p or 0.0)


def _over_levels(mean: LogMean, ratios: GroupRatios, item: GroupDependence) -> LogMean:
    """Return the mean with the error between levels, which is at least the error between groups."""
    over_groups = mean.sessions or mean
    values = within_strata(ratios.log_ratio, ratios.cluster_strata)
    factor, level_count = item.dependence.factor, item.dependence.levels
    n = np.bincount(item.level_of_group, minlength=level_count)
    means = np.bincount(item.level_of_group, weights=values, minlength=level_count) / n
    deviations = n / len(values) * (means - values.mean())
    error_between_levels = float(np.sqrt((deviations**2).sum() * level_count / (level_count - 1)))
    return replace(
        mean,
        error=max(error_between_levels, over_groups.error),
        degrees=min(level_count - 1.0, over_groups.degrees),
        method=OVER_LEVELS.format(factor),
        levels=SampledLevels(factor, level_count),
    )


def _with_learned(mean: LogMean, item: GroupDependence, shared: SharedDependence) -> LogMean:
    """Return the mean with the variance between levels, learned from other comparisons, added to its error.

    Other comparisons add no degrees of freedom, so they never make a p value smaller.
    """
    n = np.bincount(item.level_of_group)
    variances = np.array([mean.error**2, shared.variance * float((n * n).sum()) / float(n.sum()) ** 2])
    return replace(
        mean,
        error=float(np.sqrt(variances.sum())),
        degrees=min(mean.degrees, satterthwaite(variances, np.array([mean.degrees, shared.degrees]))),
        method=LEARNED.format(item.dependence.factor),
    )
