"""Test the scope of intervals, differences between sets and clusters, and rows with different sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from assay.analysis.comparison.comparison import compare
from assay.analysis.comparison.result import Exclusion, SpeedupResult
from assay.analysis.comparison.verdict_text import scope_text
from assay.analysis.statistics import InferenceScope, Verdict
from assay.analysis.statistics.runs.run_table import table_of
from assay.model.runs.run import Run
from assay.questions.comparisons.result_sentences import name_of, sentence
from assay.questions.comparisons.speedup import SpeedupRequest, speedups_over
from benchmark_support import benchmark
from builders import interleaved, make_run
from matching import indistinguishable_from_best, matched_speedups

NETS = ("ETH", "IB")
SIDES = {"L0": (100.1, 103.2, 98.3, 101.4), "L1": (104.2, 106.3, 103.4, 108.1)}


def of(layout: str, block: int, seconds: float, **changes: Any) -> Run:
    return make_run(layout=layout, parameters={"dfs.blocksize": str(block)}, duration_s=seconds, **changes)


def speedups(runs: list[Run], baseline: str, **asked: Any) -> Any:
    return matched_speedups(table_of(interleaved(runs)), "layout", baseline, **asked)


def answer(speedup: SpeedupResult, question: InferenceScope) -> Any:
    return next((estimate for estimate in speedup.by_scope if estimate.scope is question), None)


def test_clusters_that_disagree_are_listed_separately_and_as_a_sample_of_clusters() -> None:
    gains = {"old": (4.4, 4.5, 4.6, 4.5, 4.55, 4.45), "new": (3.0, 3.1)}
    runs = [
        of(layout, number, 90.07 if layout == "HDD" else 90.07 / gain, cluster=cluster)
        for cluster, factor in gains.items()
        for number, gain in enumerate(factor)
        for layout in ("HDD", "SSD")
    ]
    (factor,) = speedups(runs, "HDD")
    assert [(line.cluster, line.groups) for line in factor.clusters] == [("old", 6), ("new", 2)]
    assert [line.ratio for line in factor.clusters] == pytest.approx([4.5, 3.05], abs=0.01)
    here, elsewhere = (answer(factor, question) for question in (InferenceScope.SIMILAR, InferenceScope.OTHER_CLUSTERS))
    assert (factor.low, factor.high, factor.scope) == (here.low, here.high, InferenceScope.SIMILAR)
    assert here.single_low < 3.05  # what a single further configuration shows: the spread is not hidden
    assert elsewhere.units == 2
    assert elsewhere.ratio == pytest.approx(np.sqrt(4.5 * 3.05), rel=0.01)  # each cluster counts, not each set
    assert elsewhere.low < 1  # two clusters say next to nothing of a third
    assert answer(factor, InferenceScope.TESTED) is None  # no run was repeated
    assert "similar settings on these clusters" in sentence(factor)


def test_an_interval_has_its_scope_with_four_and_with_five_matched_groups() -> None:
    rng = np.random.default_rng(1)
    for sets, question in ((4, InferenceScope.TESTED), (5, InferenceScope.SIMILAR)):
        runs = [
            of(layout, block, float(100.003 * np.exp(rng.normal(0, 0.01))) / (1 + block * (layout == "SSD")))
            for block in range(sets)
            for layout in ("HDD", "SSD")
            for _ in range(3)
        ]
        (speedup,) = speedups(runs, "HDD")
        assert speedup.scope is question
        assert scope_text(question) in sentence(speedup)
        these, here = answer(speedup, InferenceScope.TESTED), answer(speedup, InferenceScope.SIMILAR)
        assert these.ratio == pytest.approx(here.ratio)
        assert these.high / these.low < 1.1 < here.high / here.low


def test_two_repeated_groups_are_narrower_than_three_only_for_the_tested_settings() -> None:
    """With one more group, which was not repeated, the scope is wider; two groups have that interval as well."""
    runs = [
        of(layout, block, (100.0 + number) / gain)
        for block, gain in ((0, 1.1), (1, 1.25))
        for layout, gain in (("HDD", 1.0), ("SSD", gain))
        for number in range(3)
    ]
    third = [of("HDD", 2, 100.3), of("SSD", 2, 100.3 / 1.15)]
    (two,), (three,) = speedups(runs, "HDD"), speedups([*runs, *third], "HDD")
    assert (two.scope, three.scope) == (InferenceScope.TESTED, InferenceScope.SIMILAR)
    assert scope_text(InferenceScope.TESTED) in sentence(two)
    similar = answer(two, InferenceScope.SIMILAR)
    assert two.high / two.low < three.high / three.low < similar.high / similar.low


def test_over_all_workloads_one_question_is_answered_not_two_mixed() -> None:
    rng = np.random.default_rng(1)
    runs = [
        of(layout, block, float(100.003 * np.exp(rng.normal(0, 0.01))) / (2 if layout == "SSD" else 1), workload=name)
        for name, sets in (("terasort", 6), ("sort", 7), ("wordcount", 2))
        for block in range(sets)
        for layout in ("HDD", "SSD")
        for _ in range(2)
    ]
    (speedup,) = speedups(runs, "HDD", by=None)
    assert (speedup.scope, name_of(speedup), speedup.groups) == (InferenceScope.SIMILAR, "2 of 3 workloads", 13)
    assert dict(speedup.excluded) == {Exclusion.OTHER_SCOPE: 8}
    assert answer(speedup, InferenceScope.SIMILAR) is not None


def test_rows_from_different_groups_are_distinguished_and_estimated_jointly() -> None:
    """SS2 is 1.25 times SSD everywhere, but ran against HDD on the hard configurations only, where SSDs gain less."""
    runs = []
    for block in range(12):
        gain = 4.0 if block < 8 else 2.0
        wobble = 1 + 0.003 * ((block * 5) % 7)
        runs += [of("HDD", block, 100.007 * wobble), of("SSD", block, 100.007 / gain)]
        runs += [of("SS2", block, 100.007 / gain / 1.25 * wobble)] * (block >= 8)
    view = speedups_over(table_of(runs), SpeedupRequest(("layout",), "HDD"))
    results: dict[str, Any] = {result.candidate: result for result in view.results}
    assert results["SS2"].ratio / results["SSD"].ratio == pytest.approx(0.79, abs=0.01)
    (known,) = view.level_pairs
    assert not known.same_groups
    direct: Any = next(pair for pair in known.pairs if (pair.baseline, pair.candidate) == ("SSD", "SS2"))
    assert direct.ratio == pytest.approx(1.25, rel=0.02)  # what the sets that have both say
    assert 0.9 < results["SS2"].joint.value / results["SSD"].joint.value < 1.25  # drawn towards it
    assert direct.joint.value == pytest.approx(results["SS2"].joint.value / results["SSD"].joint.value)
    assert {(pair.baseline, pair.candidate): pair.groups for pair in known.pairs} == {
        ("HDD", "SSD"): 12,
        ("HDD", "SS2"): 4,
        ("SSD", "SS2"): 4,
    }
    assert known.parts == (("HDD", "SSD", "SS2"),)
    turned = speedups_over(table_of(runs), SpeedupRequest(("layout",), "SS2")).level_pairs[0]
    assert [(pair.baseline, pair.candidate) for pair in turned.pairs][:2] == [("SS2", "HDD"), ("SS2", "SSD")]
    same = speedups_over(table_of([run for run in runs if run.layout != "SS2"]), SpeedupRequest(("layout",), "HDD"))
    assert same.level_pairs[0].same_groups
    result: Any = same.results[0]
    assert (result.joint.value, result.joint.low, result.joint.high) == pytest.approx(
        (result.ratio, result.low, result.high)
    )


def test_one_outlying_group_does_not_hide_the_result_of_the_others() -> None:
    gains = (1.01, 1.02, 1.0, 1.01, 0.99, 1.02, 1.0, 1.01, 1.02, 4.57)
    runs = [
        of(*row) for block, gain in enumerate(gains) for row in (("ETH", block, 100.01), ("IB", block, 100.01 / gain))
    ]
    (speedup,) = speedups(runs, "ETH")
    assert speedup.high > 1.5
    assert speedup.trimmed.high < 1.03


def test_the_fastest_is_sought_among_levels_that_sets_connect_with_it() -> None:
    runs = [of(layout, block, seconds + block / 7) for block in range(6) for layout, seconds in (("A", 50), ("B", 99))]
    runs += [of(layout, 100, seconds) for layout, seconds in (("X", 9.0), ("Y", 8.0))]
    (best,) = indistinguishable_from_best(table_of(runs), "layout")
    assert (best.fastest_candidates, set(best.slower), best.never_compared) == (("A",), {"B"}, ("X", "Y"))


def test_conclusions_allow_for_how_many_are_drawn() -> None:
    """Forty levels that are all alike: at 5 % each, two would be called faster or slower."""
    rng = np.random.default_rng(6)
    runs = [of(f"L{n}", block, float(100 * np.exp(rng.normal(0, 0.05)))) for n in range(41) for block in range(8)]
    runs.sort(key=lambda run: run.parameters["dfs.blocksize"])
    results = speedups(runs, "L0")
    by_interval = [result for result in results if result.low is not None and not result.low <= 1 <= (result.high or 0)]
    assert by_interval
    assert all(result.verdict is Verdict.NOT_DISTINGUISHABLE for result in results)
    text = sentence(by_interval[0])
    assert text.startswith("L")
    assert "not confirmed: among the 40 comparisons of this answer, one can differ this much by chance" in text
    assert "not distinguishable" not in text
    assert all((result.holm_p or 0) >= (result.p or 0) for result in results)


def test_the_verdict_of_one_group_uses_the_corrected_p_value_of_its_interval() -> None:
    rng = np.random.default_rng(6)
    runs = [of(f"L{n}", 64, float(100 * np.exp(rng.normal(0, 0.05)))) for n in range(2, 42) for _ in range(4)]
    runs += [of(name, 64, time) for name, results in SIDES.items() for time in results]
    results = compare(interleaved(runs), factor="layout", baseline="L0")
    by_interval = [result for result in results if not (result.low or 0) <= 1 <= (result.high or 0)]
    assert by_interval
    assert all((result.p or 1) < 0.05 for result in by_interval)
    assert not {result.verdict for result in results} & {Verdict.FASTER, Verdict.SLOWER}
    text = "not confirmed: among the 41 comparisons of this answer, one can differ this much by chance"
    assert text in sentence(by_interval[0])


@pytest.mark.slow
def test_few_sets_and_many_levels_keep_the_truly_fastest() -> None:
    """Eight equal levels in three sets that differ: the fastest (any of them) stays in, whichever sets hold it."""
    errors = benchmark("matched_errors")
    assert errors.share_with_fastest(8, 3, 8, 3, tables=200, seed=1) >= 0.92
    assert errors.share_with_fastest(8, 6, 4, 1, tables=200, seed=1) >= 0.92


@pytest.mark.slow
def test_each_question_has_an_interval_that_holds_its_truth() -> None:
    coverage = benchmark("matched_errors").coverage(4, 6, 2, tables=200, seed=1)
    assert coverage.these >= 0.92
    assert coverage.elsewhere >= 0.92
    assert coverage.joint >= 0.91
    assert coverage.single >= 0.91
