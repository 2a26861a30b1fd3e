"""Which question an interval answers, how sets and clusters differ, and rows that rest on different sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from assay.analysis.comparison.comparison import compare
from assay.analysis.comparison.result import Exclusion, SpeedupResult
from assay.analysis.comparison.verdict_text import scope_text
from assay.analysis.statistics import InferenceScope, Verdict
from assay.analysis.statistics.run_table import table_of
from assay.model.runs.run import Run
from assay.questions.comparisons.result_sentences import name_of, sentence
from assay.questions.comparisons.speedup import speedups_over
from benchmark_support import benchmark
from builders import interleaved, make_run
from matching import indistinguishable_from_best, matched_speedups

NETS = ("ETH", "IB")
SIDES = {"L0": (100.1, 103.2, 98.3, 101.4), "L1": (104.2, 106.3, 103.4, 108.1)}


def of(layout: str, block: int, seconds: float, **changes: Any) -> Run:
    return make_run(layout=layout, parameters={"dfs.blocksize": str(block)}, duration_s=seconds, **changes)


def speedups(runs: list[Run], baseline: str, **asked: Any) -> Any:
    return matched_speedups(table_of(interleaved(runs)), "layout", baseline, **asked)


def answer(found: SpeedupResult, question: InferenceScope) -> Any:
    return next((one for one in found.by_scope if one.scope is question), None)


def test_two_clusters_that_disagree_are_told_line_by_line_and_as_a_sample_of_clusters() -> None:
    gains = {"old": (4.4, 4.5, 4.6, 4.5, 4.55, 4.45), "new": (3.0, 3.1)}
    runs = [
        of(layout, number, 90.07 if layout == "HDD" else 90.07 / gain, cluster=cluster)
        for cluster, found in gains.items()
        for number, gain in enumerate(found)
        for layout in ("HDD", "SSD")
    ]
    (found,) = speedups(runs, "HDD")
    assert [(line.cluster, line.groups) for line in found.clusters] == [("old", 6), ("new", 2)]
    assert [line.ratio for line in found.clusters] == pytest.approx([4.5, 3.05], abs=0.01)
    here, elsewhere = (answer(found, question) for question in (InferenceScope.SIMILAR, InferenceScope.OTHER_CLUSTERS))
    assert (found.low, found.high, found.scope) == (here.low, here.high, InferenceScope.SIMILAR)
    assert here.single_low < 3.05  # what a single further configuration shows: the spread is not hidden
    assert elsewhere.units == 2
    assert elsewhere.ratio == pytest.approx(np.sqrt(4.5 * 3.05), rel=0.01)  # each cluster counts, not each set
    assert elsewhere.low < 1  # two clusters say next to nothing of a third
    assert answer(found, InferenceScope.TESTED) is None  # no run was repeated
    assert "similar settings on these clusters" in sentence(found)


def test_an_interval_says_which_question_it_answers_at_four_sets_and_at_five() -> None:
    rng = np.random.default_rng(1)
    for sets, question in ((4, InferenceScope.TESTED), (5, InferenceScope.SIMILAR)):
        runs = [
            of(layout, block, float(100.003 * np.exp(rng.normal(0, 0.01))) / (1 + block * (layout == "SSD")))
            for block in range(sets)
            for layout in ("HDD", "SSD")
            for _ in range(3)
        ]
        (found,) = speedups(runs, "HDD")
        assert found.scope is question
        assert scope_text(question) in sentence(found)
        these, here = answer(found, InferenceScope.TESTED), answer(found, InferenceScope.SIMILAR)
        assert these.ratio == pytest.approx(here.ratio)
        assert these.high / these.low < 1.1 < here.high / here.low


def test_over_all_workloads_one_question_is_answered_not_two_mixed() -> None:
    rng = np.random.default_rng(1)
    runs = [
        of(layout, block, float(100.003 * np.exp(rng.normal(0, 0.01))) / (2 if layout == "SSD" else 1), workload=name)
        for name, sets in (("terasort", 6), ("sort", 7), ("wordcount", 2))
        for block in range(sets)
        for layout in ("HDD", "SSD")
        for _ in range(2)
    ]
    (found,) = speedups(runs, "HDD", by=None)
    assert (found.scope, name_of(found), found.groups) == (InferenceScope.SIMILAR, "2 of 3 workloads", 13)
    assert dict(found.excluded) == {Exclusion.OTHER_SCOPE: 8}
    assert {one.scope for one in found.by_scope} == {InferenceScope.TESTED, InferenceScope.SIMILAR}


def test_rows_that_rest_on_different_sets_are_told_apart_and_estimated_together() -> None:
    """SS2 is 1.25 times SSD everywhere, but ran against HDD on the hard configurations only, where SSDs gain less."""
    runs = []
    for block in range(12):
        gain = 4.0 if block < 8 else 2.0
        wobble = 1 + 0.003 * ((block * 5) % 7)
        runs += [of("HDD", block, 100.007 * wobble), of("SSD", block, 100.007 / gain)]
        runs += [of("SS2", block, 100.007 / gain / 1.25 * wobble)] * (block >= 8)
    view = speedups_over(table_of(runs), ["layout"], "HDD")
    found: dict[str, Any] = {one.candidate: one for one in view.results}
    assert found["SS2"].ratio / found["SSD"].ratio == pytest.approx(0.79, abs=0.01)
    (known,) = view.level_pairs
    assert not known.same_groups
    direct: Any = next(pair for pair in known.pairs if (pair.baseline, pair.candidate) == ("SSD", "SS2"))
    assert direct.ratio == pytest.approx(1.25, rel=0.02)  # what the sets that have both say
    assert 0.9 < found["SS2"].joint.value / found["SSD"].joint.value < 1.25  # drawn towards it
    assert direct.joint.value == pytest.approx(found["SS2"].joint.value / found["SSD"].joint.value)
    assert {(pair.baseline, pair.candidate): pair.groups for pair in known.pairs} == {
        ("HDD", "SSD"): 12,
        ("HDD", "SS2"): 4,
        ("SSD", "SS2"): 4,
    }
    assert known.parts == (("HDD", "SSD", "SS2"),)
    turned = speedups_over(table_of(runs), ["layout"], "SS2").level_pairs[0]
    assert [(pair.baseline, pair.candidate) for pair in turned.pairs][:2] == [("SS2", "HDD"), ("SS2", "SSD")]
    same = speedups_over(table_of([run for run in runs if run.layout != "SS2"]), ["layout"], "HDD")
    assert same.level_pairs[0].same_groups
    one: Any = same.results[0]
    assert (one.joint.value, one.joint.low, one.joint.high) == pytest.approx((one.ratio, one.low, one.high))


def test_one_odd_set_does_not_hide_what_the_others_say() -> None:
    gains = (1.01, 1.02, 1.0, 1.01, 0.99, 1.02, 1.0, 1.01, 1.02, 4.57)
    runs = [
        of(*row) for block, gain in enumerate(gains) for row in (("ETH", block, 100.01), ("IB", block, 100.01 / gain))
    ]
    (found,) = speedups(runs, "ETH")
    assert found.high > 1.5
    assert found.trimmed.high < 1.03


def test_the_fastest_is_sought_among_levels_that_sets_connect_with_it() -> None:
    runs = [of(layout, block, seconds + block / 7) for block in range(6) for layout, seconds in (("A", 50), ("B", 99))]
    runs += [of(layout, 100, seconds) for layout, seconds in (("X", 9.0), ("Y", 8.0))]
    (found,) = indistinguishable_from_best(table_of(runs), "layout")
    assert (found.fastest_candidates, set(found.slower), found.never_compared) == (("A",), {"B"}, ("X", "Y"))


def test_conclusions_allow_for_how_many_are_drawn() -> None:
    """Forty levels that are all alike: at 5 % each, two would be called faster or slower."""
    rng = np.random.default_rng(6)
    runs = [of(f"L{n}", block, float(100 * np.exp(rng.normal(0, 0.05)))) for n in range(41) for block in range(8)]
    runs.sort(key=lambda run: run.parameters["dfs.blocksize"])
    found = speedups(runs, "L0")
    by_interval = [one for one in found if one.low is not None and not one.low <= 1 <= (one.high or 0)]
    assert by_interval
    assert all(one.verdict is Verdict.NOT_DISTINGUISHABLE for one in found)
    assert "not distinguishable after correction for 40 comparisons" in sentence(by_interval[0])
    assert all((one.holm_p or 0) >= (one.p or 0) for one in found)


def test_a_verdict_of_one_set_goes_by_the_p_value_of_its_own_interval_corrected() -> None:
    rng = np.random.default_rng(6)
    runs = [of(f"L{n}", 64, float(100 * np.exp(rng.normal(0, 0.05)))) for n in range(2, 42) for _ in range(4)]
    runs += [of(name, 64, time) for name, found in SIDES.items() for time in found]
    found = compare(interleaved(runs), factor="layout", baseline="L0")
    by_interval = [one for one in found if not (one.low or 0) <= 1 <= (one.high or 0)]
    assert by_interval
    assert all((one.p or 1) < 0.05 for one in by_interval)
    assert not {one.verdict for one in found} & {Verdict.FASTER, Verdict.SLOWER}
    assert "after correction for 41 comparisons" in sentence(by_interval[0])


@pytest.mark.slow
def test_few_sets_and_many_levels_keep_the_truly_fastest() -> None:
    """Eight equal levels in three sets that differ: the fastest (any of them) stays in, whichever sets hold it."""
    errors = benchmark("matched_errors")
    assert errors.kept(8, 3, 8, 3, tables=200, seed=1) >= 0.92
    assert errors.kept(8, 6, 4, 1, tables=200, seed=1) >= 0.92


@pytest.mark.slow
def test_each_question_has_an_interval_that_holds_its_truth() -> None:
    found = benchmark("matched_errors").coverage(4, 6, 2, tables=200, seed=1)
    assert found.these >= 0.92
    assert found.elsewhere >= 0.92
    assert found.joint >= 0.91
    assert found.single >= 0.91
