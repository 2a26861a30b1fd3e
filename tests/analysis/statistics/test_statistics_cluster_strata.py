"""Test means over matched groups of several clusters, with clusters as strata."""

from __future__ import annotations

import numpy as np
import pytest

from assay.analysis.comparison.joint import fit_strata, speedup_of_pair
from assay.analysis.comparison.matched import group_ratios, log_mean, match, side, stratify
from assay.analysis.comparison.scope_estimates import scope_estimates
from assay.analysis.statistics import InferenceScope
from assay.analysis.statistics.cluster_strata import error_over_strata, strata_of, within_strata
from assay.analysis.statistics.sessions import DEFAULT_SPREAD, Imbalance
from benchmark_support import benchmark

VALUES = np.array([0.10, 0.12, 0.14, 0.30, 0.33, 0.36, 0.39])
CLUSTER = np.array([4, 4, 4, 7, 7, 7, 7])


def test_clusters_with_three_groups_each_are_strata() -> None:
    assert strata_of(CLUSTER, 7).tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert strata_of(CLUSTER[:5], 5).tolist() == [0] * 5  # two groups are too few for a variance
    assert strata_of(CLUSTER[:0], 3).tolist() == [0] * 3


def test_the_error_is_that_of_a_stratified_mean() -> None:
    """Two strata with variances of 0.0004 and 0.0015: the formula by hand."""
    error, degrees = error_over_strata(VALUES, strata_of(CLUSTER, 7))
    parts = (3 / 7) ** 2 * 0.0004 / 3, (4 / 7) ** 2 * 0.0015 / 4
    assert error == pytest.approx(np.sqrt(sum(parts)))
    assert degrees == pytest.approx(sum(parts) ** 2 / (parts[0] ** 2 / 2 + parts[1] ** 2 / 3))
    assert error_over_strata(VALUES, None) == pytest.approx((VALUES.std(ddof=1) / np.sqrt(7), 6.0))
    assert np.isnan(error_over_strata(VALUES[:1], None)[0])
    assert within_strata(VALUES, strata_of(CLUSTER, 7)).mean() == pytest.approx(VALUES.mean())


def test_sessions_that_all_groups_of_a_cluster_share_are_not_in_the_spread_within_it() -> None:
    """On each of two clusters all of A ran in one session, and all of B in another."""
    groups, side_of = np.repeat(np.arange(6), 2), np.tile([0, 1], 6)
    units, weights = groups // 3 * 2 + side_of, np.where(side_of == 0, 1.0, -1.0)
    unordered = np.zeros(6, dtype=np.bool_)
    uneven = Imbalance(groups, units, weights, np.zeros(6), unordered, DEFAULT_SPREAD)
    assert uneven.beyond_groups(np.repeat([0, 1], 3)) == pytest.approx(1.0)  # 2 / 2 clusters: nothing is shown
    assert uneven.beyond_groups() == pytest.approx(1 - 1 / 5)


@pytest.mark.parametrize("clusters", [2, 3])
def test_intervals_on_these_clusters_hold_and_are_narrower_than_with_the_clusters_spread(clusters: int) -> None:
    rng, held, narrower = np.random.default_rng(clusters), [], []
    for _ in range(150):
        drawn = benchmark("processes").clusters_apart(rng, 1.2, clusters=clusters)
        matched = match(drawn.table, "layout")
        strata = stratify(matched, "workload")
        both = strata.only(group_ratios(side(matched, 0), side(matched, 1), matched), 0)
        mean = log_mean(both)
        assert mean is not None
        assert mean.scope is InferenceScope.SIMILAR
        ratio, true = mean.ratio, np.exp(drawn.log_gains_here[strata.levels(drawn.table, 0)["workload"] or ""])
        assert ratio.low is not None
        assert ratio.high is not None
        held.append(ratio.low <= true <= ratio.high)
        narrower.append(mean.error < both.log_ratio.std(ddof=1) / np.sqrt(len(both.groups)))
    assert 0.89 <= np.mean(held) <= 0.99
    assert np.mean(narrower) > 0.85  # clusters are alike by chance in some repositories


def test_pairs_and_scopes_have_the_interval_of_the_comparison() -> None:
    matched = match(benchmark("processes").clusters_apart(np.random.default_rng(3), 1.2).table, "layout")
    strata = stratify(matched, "workload")
    both = strata.only(group_ratios(side(matched, 0), side(matched, 1), matched), 0)
    mean = log_mean(both)
    assert mean is not None
    groups, pair = speedup_of_pair(fit_strata(matched, strata)[0], 0, 1)
    assert pair is not None
    assert (groups, pair.error, pair.degrees) == pytest.approx((16, mean.error, mean.degrees))
    similar = next(scope for scope in scope_estimates(both) if scope.scope is InferenceScope.SIMILAR)
    assert (similar.low, similar.high) == pytest.approx((mean.ratio.low, mean.ratio.high))
    assert similar.single_high is not None
    assert similar.high is not None
    assert similar.single_high > similar.high * 1.05  # one more setting is on one of the clusters, which differ
