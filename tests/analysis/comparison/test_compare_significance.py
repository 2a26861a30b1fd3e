"""Test rank tests with effect sizes, multiple comparisons, sets of best candidates, and numbers of runs."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.analysis.comparison.significance import (
    cliffs_delta,
    half_width,
    precise_enough,
    rank_test,
    runs_needed,
    smallest_p_with_ties,
)
from assay.analysis.statistics.intervals import geometric_mean
from assay.analysis.statistics.ranks import holm, rank_test_p
from assay.analysis.statistics.runs.run_table import table_of
from assay.foundation.errors import SpecificationError
from assay.model.runs.run import Run
from assay.questions.comparisons.speedup import SpeedupRequest, speedups_over
from benchmark_support import benchmark
from builders import interleaved, make_run
from effort import examples
from matching import indistinguishable_from_best

TIMES = st.lists(st.integers(1, 9).map(float), min_size=1, max_size=8)


@given(TIMES, TIMES)
def test_cliffs_delta_is_counted_over_pairs_and_antisymmetric(a: list[float], b: list[float]) -> None:
    pairs = [(x > y) - (x < y) for x in a for y in b]
    assert cliffs_delta(a, b) == pytest.approx(sum(pairs) / len(pairs))
    assert cliffs_delta(a, b) == -cliffs_delta(b, a)
    assert -1 <= cliffs_delta(a, b) <= 1


@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_keeps_the_order_and_only_raises(p_values: list[float]) -> None:
    corrected = holm(p_values)
    assert all(after >= before for before, after in zip(p_values, corrected, strict=True))
    order = np.argsort(p_values, kind="stable")
    assert (np.diff(corrected[order]) >= 0).all()
    assert all(
        after <= min(1.0, before * len(p_values)) + 1e-12 for before, after in zip(p_values, corrected, strict=True)
    )


def test_holm_gives_the_p_values_computed_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]).tolist() == pytest.approx([0.03, 0.06, 0.06])
    with pytest.raises(ValueError, match="from 0 to 1"):
        holm([1.5])


@settings(max_examples=examples(25), deadline=None)
@given(
    st.lists(st.integers(1, 5).map(float), min_size=2, max_size=3),
    st.lists(st.integers(1, 5).map(float), min_size=2, max_size=3),
)
def test_the_smallest_reachable_p_is_that_of_the_best_arrangement(a: list[float], b: list[float]) -> None:
    pooled = [*a, *b]
    if len(set(pooled)) == 1:
        assert smallest_p_with_ties(a, b) == 1.0
        return
    p_values = []
    for positions in itertools.combinations(range(len(pooled)), len(a)):
        first = [pooled[i] for i in positions]
        second = [pooled[i] for i in range(len(pooled)) if i not in positions]
        p_values.append(rank_test_p(first, second))
    assert smallest_p_with_ties(a, b) == pytest.approx(min(p_values))
    test = rank_test(a, b)
    assert test.exact
    assert test.p >= test.smallest_reachable_p - 1e-12


def test_levels_indistinguishable_from_the_best_are_listed() -> None:
    runs: list[Run] = []
    for block in range(8):
        for layout, s in (("HDD", 100), ("SSD", 50), ("SS2", 49.9 + 0.4 * (block % 2)), ("NVE", 10)):
            if layout != "NVE" or block < 1:
                noise = 1 + 0.01 * ((block * 7 + len(layout)) % 5)
                parameters = {"dfs.blocksize": str(block) if layout != "NVE" else "other"}
                runs.append(make_run(len(runs), layout=layout, duration_s=s * noise, parameters=parameters))
    (best,) = indistinguishable_from_best(table_of(runs), "layout")
    assert set(best.fastest_candidates) == {"SSD", "SS2"}
    assert best.never_compared == ("NVE",)
    assert set(best.slower) == {"HDD"}
    assert best.slower["HDD"][1] < 1e-4
    with pytest.raises(SpecificationError, match="too many"):
        indistinguishable_from_best(table_of([make_run(i, layout=f"HD{i}") for i in range(70)]), "layout")


@pytest.mark.slow
def test_the_fastest_level_is_a_candidate_in_95_percent_of_studies() -> None:
    """Six equally fast levels: one of them is (arbitrarily) the fastest, and must not drop out in 5 % of studies."""
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(150):
        runs = [
            make_run(
                layout=f"L{level}",
                parameters={"dfs.blocksize": str(block)},
                duration_s=float(100 * np.exp(rng.normal(0, 0.05))),
            )
            for block in range(6)
            for level in range(6)
        ]
        hits += "L0" in indistinguishable_from_best(table_of(runs), "layout")[0].fastest_candidates
    assert hits / 150 >= 0.93


def test_student_t_over_sets_and_deployments_covers_what_it_says() -> None:
    """A small version of the tables in docs/adr/0005."""
    coverage = benchmark("matched_coverage")
    few = {"experiments": 600, "resamples": 200, "seed": 7}
    over_groups = coverage.over_groups(5, kind="normal", **few).by_method
    assert over_groups["Student's t"] >= 0.92
    assert over_groups["BCa"] < 0.9
    deployed = coverage.repeated_deployments(4, runs=3, **few).by_method
    assert deployed["t over deployments"] >= 0.92
    assert deployed["all runs as independent"] < 0.85


def test_runs_needed_narrows_the_interval_as_promised() -> None:
    times = [100.0, 104.0, 97.0, 102.0, 95.0]
    n = runs_needed(times, 0.02)
    assert n is not None
    again = (times * n)[:n]
    assert half_width(again) == pytest.approx(0.02, rel=0.25)
    assert runs_needed(times, 1e-6, at_most=50) is None
    assert runs_needed([5.0, 5.0], 0.01) == 2
    with pytest.raises(ValueError, match="two runs"):
        runs_needed([1.0], 0.05)


def test_repeating_does_not_stop_before_five_runs() -> None:
    assert not precise_enough([100.0, 100.1], 0.05)
    assert precise_enough([100.0, 100.1, 100.2, 100.1, 100.0], 0.05)
    assert half_width([3.0]) == float("inf")
    mean = geometric_mean([100.0, 110.0, 120.0])
    assert half_width([100.0] * 5) == 0  # repetitions do not remove rounding
    assert half_width([100.0, 110.0, 120.0]) == pytest.approx((mean.high or 0) / mean.value - 1)


def test_runs_on_another_cluster_do_not_reverse_a_direct_comparison() -> None:
    rng = np.random.default_rng(1)

    def groups_of_runs(cluster: str, count: int, **gains: float) -> list[Run]:
        return [
            make_run(
                layout=layout,
                cluster=cluster,
                parameters={"dfs.blocksize": str(block)},
                duration_s=600 / gain * float(np.exp(rng.normal(0, 0.05))),
            )
            for block in range(count)
            for layout, gain in gains.items()
        ]

    runs = [*groups_of_runs("one", 40, HDD=1, SSD=7.5), *groups_of_runs("two", 12, HDD=1, SSD=3.04, SS2=3.5)]
    table = table_of([replace(run, levels={"layout": run.layout}) for run in interleaved(runs)])
    (best,) = indistinguishable_from_best(table, "layout")
    assert (
        "SS2" in best.fastest_candidates
    )  # in all groups together 0.8 of SSD, but 1.15 in all twelve groups that have both
    (compared,) = speedups_over(table, SpeedupRequest(("layout",), baseline="HDD")).level_pairs
    contradicted = {(pair.baseline, pair.candidate) for pair in compared.pairs if pair.contradicted}
    assert contradicted == {("HDD", "SS2"), ("SSD", "SS2")}
