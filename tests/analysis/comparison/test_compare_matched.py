"""Test speedups over matched groups and the published definitions of speedup."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.analysis.comparison.claims.published import aloja, lisa14, mean_improvement
from assay.analysis.comparison.matched import OVER_DEPLOYMENTS, OVER_MATCHED_GROUPS, WITHIN_MATCHED_GROUPS
from assay.analysis.comparison.result import CombinedParts, Exclusion, SpeedupResult
from assay.analysis.statistics import Verdict
from assay.analysis.statistics.keys import Groups, combined, groups_by, median_by
from assay.analysis.statistics.runs.run_table import table_of
from assay.foundation.errors import SpecificationError
from assay.model.runs.origin import Origin
from assay.model.runs.run import Run
from assay.model.runs.run_status import RunStatus
from builders import make_run
from effort import examples
from matching import matched_speedups

LAYOUTS = ("HDD", "SSD", "SS2")


def run_of(number: int, layout: str, block: str, duration_s: float, **changes: object) -> Run:
    return make_run(number, layout=layout, duration_s=duration_s, parameters={"dfs.blocksize": block}, **changes)


RUNS = st.lists(
    st.tuples(
        st.sampled_from(LAYOUTS),
        st.sampled_from(["64", "128", "256"]),
        st.sampled_from(["terasort", "sort"]),
        st.floats(1, 1e4),
    ),
    min_size=1,
    max_size=30,
).map(lambda rows: [run_of(i, layout, block, s, workload=w) for i, (layout, block, w, s) in enumerate(rows)])


def result_of(speedups: list[SpeedupResult], candidate: str, group: str = "terasort") -> SpeedupResult:
    return next(speedup for speedup in speedups if speedup.candidate == candidate and speedup.group == group)


def test_matched_groups_are_not_misled_by_a_mixture_of_configurations() -> None:
    """SSD ran mostly with the slow block size: by averages it is slower, in matched groups it is twice as fast."""
    times = {("HDD", "64"): [100.0] * 5, ("HDD", "128"): [1000.0], ("SSD", "64"): [50.0], ("SSD", "128"): [500.0] * 5}
    runs = [run_of(0, layout, block, s) for (layout, block), seconds in times.items() for s in seconds]
    table = table_of(runs)
    speedup = result_of(matched_speedups(table, "layout", "HDD"), "SSD")
    assert speedup.ratio == pytest.approx(2.0)
    assert (speedup.groups, speedup.runs_baseline, speedup.runs_candidate) == (2, 6, 6)
    average = next(figure for figure in aloja(table, "layout", "HDD") if figure.level == "SSD")
    assert average.value == pytest.approx(250 / 425)
    assert average.configurations == 2


@settings(max_examples=examples(60), deadline=None)
@given(RUNS)
def test_the_ratio_is_the_geometric_mean_over_groups_of_ratios_of_geometric_means(runs: list[Run]) -> None:
    results = matched_speedups(table_of(runs), "layout", "HDD") if any(r.layout == "HDD" for r in runs) else []
    for speedup in results:
        logs = []
        for block in ("64", "128", "256"):
            sides = [
                [
                    math.log(r.duration_s)
                    for r in runs
                    if r.layout == layout and r.workload == speedup.group and r.parameters["dfs.blocksize"] == block
                ]
                for layout in ("HDD", speedup.candidate)
            ]
            if all(sides):
                logs.append(np.mean(sides[0]) - np.mean(sides[1]))
        assert speedup.groups == len(logs)
        if logs:
            assert speedup.ratio == pytest.approx(math.exp(np.mean(logs)))
        counted = speedup.runs_baseline + speedup.runs_candidate + sum(speedup.excluded.values())
        assert counted == sum(r.workload == speedup.group and r.layout in ("HDD", speedup.candidate) for r in runs)


@settings(max_examples=examples(60), deadline=None)
@given(RUNS)
def test_reversed_roles_give_the_reciprocal(runs: list[Run]) -> None:
    layouts = {run.layout for run in runs}
    if not {"HDD", "SSD"} <= layouts:
        return
    table = table_of(runs)
    for by in ("workload", None):
        speedups = {s.group: s for s in matched_speedups(table, "layout", "HDD", by=by) if s.candidate == "SSD"}
        reversed_speedups = {
            s.group: s for s in matched_speedups(table, "layout", "SSD", by=by) if s.candidate == "HDD"
        }
        for group in speedups.keys() & reversed_speedups.keys():
            a, b = speedups[group], reversed_speedups[group]
            assert (a.groups, a.method) == (b.groups, b.method)
            if a.ratio is not None and b.ratio is not None:
                assert a.ratio == pytest.approx(1 / b.ratio)
            if a.low is not None and b.high is not None and a.low > 1e-100:
                assert a.low == pytest.approx(1 / b.high, rel=1e-6)


@settings(max_examples=examples(40), deadline=None)
@given(RUNS, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(runs: list[Run], rng: random.Random) -> None:
    if not any(run.layout == "HDD" for run in runs):
        return
    shuffled_runs = runs[:]
    rng.shuffle(shuffled_runs)

    def ratios(runs: list[Run]) -> dict[tuple[str, str], tuple[object, ...]]:
        results = matched_speedups(table_of(runs), "layout", "HDD")
        return {
            (s.group, s.candidate): (
                s.groups,
                s.ratio and round(s.ratio, 9),
                s.low and round(math.log(s.low), 6),
                dict(s.excluded),
            )
            for s in results
        }

    assert ratios(runs) == ratios(shuffled_runs)


def test_excluded_runs_are_counted_by_reason() -> None:
    invalid = {"status": RunStatus.INVALID, "cause": "x"}
    runs = [
        run_of(0, "HDD", "64", 100),
        run_of(1, "SSD", "64", 50),
        run_of(2, "SSD", "64", 5, **invalid),
        run_of(3, "SSD", "64", 5, status=RunStatus.FAILED, cause="x"),
        run_of(4, "SSD", "64", 1.0, cold=False),
        run_of(5, "HDD", "128", 100),
        run_of(6, "SSD", "256", 100),
        run_of(7, "SSD", "256", 100),
    ]
    result = result_of(matched_speedups(table_of(runs), "layout", "HDD"), "SSD")
    assert result.ratio == pytest.approx(2.0)
    assert result.excluded == {
        Exclusion.NO_BASELINE: 2,
        Exclusion.NO_CANDIDATE: 1,
        Exclusion.INVALID: 1,
        Exclusion.FAILED: 1,
        Exclusion.WARM: 1,
    }
    assert result.verdict is Verdict.NOT_ENOUGH_RUNS


def test_origins_and_scales_are_never_mixed() -> None:
    runs = [
        run_of(i, layout, "64", s, origin=origin)
        for i, (layout, s, origin) in enumerate(
            [("HDD", 100, Origin.MEASURED), ("SSD", 50, Origin.SIMULATED), ("HDD", 90, Origin.SIMULATED)]
        )
    ]
    speedups = {s.origin: s for s in matched_speedups(table_of(runs), "layout", "HDD")}
    assert speedups["simulated"].ratio == pytest.approx(1.8)
    assert "measured" not in speedups
    with pytest.raises(SpecificationError, match="never mixed"):
        matched_speedups(table_of(runs), "layout", "HDD", ignore=frozenset({"origin"}))


def test_an_ignored_factor_may_differ_and_is_named() -> None:
    runs = [run_of(0, "HDD", "64", 100), run_of(1, "SSD", "128", 50)]
    assert result_of(matched_speedups(table_of(runs), "layout", "HDD"), "SSD").groups == 0
    speedup = result_of(matched_speedups(table_of(runs), "layout", "HDD", ignore=frozenset({"dfs.blocksize"})), "SSD")
    assert speedup.ratio == pytest.approx(2.0)
    assert (speedup.groups, speedup.ignored) == (1, {"dfs.blocksize": 1})


def test_few_groups_with_repetitions_use_the_variance_within_groups() -> None:
    runs = [
        run_of(i, layout, "64", s)
        for i, (layout, s) in enumerate(
            [("HDD", 100), ("HDD", 104), ("HDD", 96), ("SSD", 50), ("SSD", 51), ("SSD", 49)]
        )
    ]
    speedup = result_of(matched_speedups(table_of(runs), "layout", "HDD"), "SSD")
    assert speedup.method == WITHIN_MATCHED_GROUPS
    assert speedup.verdict is Verdict.FASTER
    many_groups = [
        run_of(i, layout, str(block), (100 if layout == "HDD" else 50) * (1 + block / 50))
        for block in range(6)
        for i, layout in enumerate(("HDD", "SSD"))
    ]
    assert result_of(matched_speedups(table_of(many_groups), "layout", "HDD"), "SSD").method == OVER_MATCHED_GROUPS


def test_deployments_count_once_for_any_number_of_runs() -> None:
    runs: list[Run] = []
    for campaign, (gain, blocks) in enumerate([(2.0, 20), (1.0, 1), (4.0, 1)]):
        for block in range(blocks):
            for layout, s in (("HDD", 100.0 * gain), ("SSD", 100.0)):
                runs.append(run_of(len(runs), layout, str(block), s, campaign_id=f"c{campaign}"))
    speedup = result_of(matched_speedups(table_of(runs), "layout", "HDD", deployments=True), "SSD")
    assert speedup.method == OVER_DEPLOYMENTS
    assert speedup.ratio == pytest.approx(2.0)
    assert speedup.degrees == 2


def test_over_all_workloads_every_workload_counts_the_same() -> None:
    runs = [
        run_of(i, layout, str(block), s * (1 + block / 100), workload=workload)
        for workload, blocks, gain in (("terasort", 30, 4.0), ("wordcount", 3, 1.0))
        for block in range(blocks)
        for i, (layout, s) in enumerate((("HDD", 100 * gain), ("SSD", 100.0)))
    ]
    (speedup,) = matched_speedups(table_of(runs), "layout", "HDD", by=None)
    assert speedup.ratio == pytest.approx(2.0)
    assert (speedup.groups, speedup.combined) == (33, CombinedParts("workload", 2, 2))


def test_factors_can_be_combined() -> None:
    rows = [("HDD", "ETH", 100), ("SSD", "IB", 20), ("SSD", "ETH", 40)]
    runs = [replace(run_of(0, layout, "64", s), levels={"network": network}) for layout, network, s in rows]
    table = table_of(runs)
    ratios = {s.candidate: s.ratio for s in matched_speedups(table, ("layout", "network"), "HDD + ETH")}
    assert ratios == {"SSD + IB": pytest.approx(5.0), "SSD + ETH": pytest.approx(2.5)}
    assert "layout" not in combined(table, ["layout", "network"]).columns


@pytest.mark.parametrize(
    ("factor", "baseline", "message"),
    [("nonsense", None, "no run has a factor"), ("layout", "NVE", "no run has layout")],
)
def test_an_unknown_name_is_refused_with_the_known_names(factor: str, baseline: str | None, message: str) -> None:
    table = table_of([run_of(0, "HDD", "64", 1.0), run_of(1, "SSD", "64", 1.0)])
    with pytest.raises(SpecificationError, match=message) as raised:
        matched_speedups(table, factor, baseline)
    assert "layout" in str(raised.value.hint) or "HDD, SSD" in str(raised.value.hint)


def test_no_valid_run_is_an_error_and_not_a_number() -> None:
    table = table_of([run_of(0, "HDD", "64", 1.0, status=RunStatus.FAILED, cause="x")])
    with pytest.raises(SpecificationError, match="no valid run"):
        matched_speedups(table, "layout")


def test_keys_stay_apart_beyond_what_64_bits_hold() -> None:
    """Twenty factors of ten levels make 10^20 combinations, more than an integer can number."""
    runs = [
        make_run(i, parameters={f"p{k}": str((i * (k + 3)) % 10) for k in range(20)}, duration_s=1.0 + i)
        for i in range(50)
    ]
    table = table_of(runs)
    groups = groups_by(table, [f"p{k}" for k in range(20)])
    texts = [tuple(run.parameters.items()) for run in runs]
    assert groups.count == len(set(texts))
    pairs = {(text, int(group)) for text, group in zip(texts, groups.of_row, strict=True)}
    assert len(pairs) == groups.count


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.floats(-20, 20)), min_size=1, max_size=40))
def test_medians_by_group_equal_numpys(rows: list[tuple[int, float]]) -> None:
    group, values = np.array([g for g, _ in rows], dtype=np.int64), np.array([v for _, v in rows])
    medians = median_by(values, Groups(group, 6))
    for number in range(6):
        expected = np.median(values[group == number]) if (group == number).any() else math.nan
        assert medians[number] == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_lisa14_normalises_durations_and_averages_gains() -> None:
    times = {"terasort": {"HD11": [100.0, 110.0], "SSD": [70.0, 77.0]}, "wordcount": {"HD11": [50.0], "SSD": [50.0]}}
    runs = [
        make_run(workload=w, layout=layout, duration_s=s)
        for w, by in times.items()
        for layout, levels in by.items()
        for s in levels
    ]
    figures = {(f.workload, f.level): f for f in lisa14(table_of(runs), "layout", "HD11")}
    assert figures["terasort", "SSD"].value == pytest.approx(0.7)
    assert figures["terasort", "SSD"].spread == pytest.approx(math.sqrt(24.5) / 105)
    assert mean_improvement(list(figures.values()))["SSD"] == pytest.approx((1 / 0.7 + 1) / 2)
    average_by_level = {f.level: f.value for f in aloja(table_of(runs), "layout") if f.workload == "terasort"}
    assert average_by_level["SSD"] == pytest.approx(89.25 / 73.5)
    with pytest.raises(SpecificationError, match="normalise"):
        lisa14(table_of(runs), "layout", "NVE")
