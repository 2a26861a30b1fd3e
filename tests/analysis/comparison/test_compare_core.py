"""Test that a plain comparison is a matched comparison with one group, under the same rules."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from statistics import variance

import pytest
from scipy import stats

from assay.analysis.comparison.comparison import WELCH, compare
from assay.analysis.comparison.matched import PAIRED, PAIRS_MIN, WITHIN_MATCHED_GROUPS
from assay.analysis.comparison.result import Exclusion
from assay.analysis.statistics.intervals import COUNT_RATIO_MIN, Estimate
from assay.analysis.statistics.runs.run_table import table_of
from assay.analysis.statistics.verdicts import Verdict, verdict_of
from assay.model.runs.run import Run
from assay.model.runs.run_status import RunStatus
from builders import runs_with
from matching import matched_speedups


def generated(seed: int, sizes: tuple[int, int], *, blocks: bool) -> list[Run]:
    """Return one set's runs, some of which do not count; with ``blocks`` they pair, else no two share one."""
    noise = random.Random(seed)
    times = {name: [noise.lognormvariate(3, 0.3) for _ in range(n)] for name, n in zip(("A", "B"), sizes, strict=True)}
    runs = [
        replace(run, block=run.block if blocks else number, duration_s=run.duration_s)
        for number, run in enumerate(runs_with(times))
    ]
    odd = [
        replace(runs[0], run_id="invalid", status=RunStatus.INVALID, duration_s=1.0),
        replace(runs[-1], run_id="failed", status=RunStatus.FAILED, duration_s=0.0),
        replace(runs[0], run_id="warm", cold=False, duration_s=2.0),
    ]
    made = [*runs, *odd]
    noise.shuffle(made)
    return made


def logs_of(runs: list[Run], layout: str) -> list[float]:
    counted = [run for run in runs if run.layout == layout and run.status is RunStatus.VALID and run.cold]
    return [math.log(run.duration_s) for run in sorted(counted, key=lambda run: run.block)]


@pytest.mark.parametrize("seed", range(20))
def test_the_plain_comparison_is_the_matched_core_on_one_set(seed: int) -> None:
    """Old results are the truth: both are Welch's interval as scipy has it, and they are each other's equal."""
    sizes = random.Random(seed).randint(2, 9), random.Random(-seed - 1).randint(2, 9)
    runs = generated(seed, sizes, blocks=False)
    (plain,), (matched,) = compare(runs, factor="layout", baseline="A"), matched_speedups(table_of(runs), "layout", "A")
    of_many = matched.ratio, matched.low, matched.high
    assert (plain.ratio, plain.low, plain.high) == pytest.approx(of_many, rel=1e-12)
    assert (plain.runs_baseline, plain.runs_candidate) == (matched.runs_baseline, matched.runs_candidate) == sizes
    assert (plain.method, matched.method, matched.groups) == (WELCH, WITHIN_MATCHED_GROUPS, 1)
    truth = stats.ttest_ind(logs_of(runs, "A"), logs_of(runs, "B"), equal_var=False).confidence_interval(0.95)
    low, high = math.exp(truth.low), math.exp(truth.high)
    if max(sizes) < COUNT_RATIO_MIN * min(sizes):
        assert (plain.low, plain.high) == pytest.approx((low, high), rel=1e-9)
    elif variance(logs_of(runs, "AB"[sizes[0] > sizes[1]])) > variance(logs_of(runs, "BA"[sizes[0] > sizes[1]])):
        assert (plain.low, plain.high) == pytest.approx((low, high), rel=1e-9)  # the small side scatters more
    else:
        assert (plain.low, plain.high) != pytest.approx((low, high), rel=1e-9)
    assert dict(plain.excluded) == dict(matched.excluded)
    assert dict(plain.excluded) == {Exclusion.INVALID: 1, Exclusion.FAILED: 1, Exclusion.WARM: 1}


@pytest.mark.parametrize("blocks", [3, 4, 5, 6, 12])
def test_pairing_within_blocks_is_the_paired_t_from_five_blocks_on(blocks: int) -> None:
    runs = generated(blocks, (blocks, blocks), blocks=True)
    (comparison,) = compare(runs, factor="layout", baseline="A")
    differences = [b - c for b, c in zip(logs_of(runs, "A"), logs_of(runs, "B"), strict=True)]
    assert comparison.ratio == pytest.approx(math.exp(sum(differences) / blocks))
    assert (comparison.method == PAIRED) is (blocks >= PAIRS_MIN)
    if comparison.method == PAIRED:
        truth = stats.ttest_1samp(differences, 0).confidence_interval(0.95)
        assert (comparison.low, comparison.high) == pytest.approx((math.exp(truth.low), math.exp(truth.high)), rel=1e-9)


def test_one_rule_gives_the_verdict_of_one_group_and_of_many() -> None:
    sure = Estimate(2.0, 1.5, 2.5)
    assert verdict_of(sure, 0.001, 1, (4, 4)) is verdict_of(sure, 0.001, 12, (40, 35)) is Verdict.FASTER
    assert verdict_of(sure, 0.001, 1, (2, 2)) is Verdict.NOT_ENOUGH_RUNS, "a single group needs three runs per side"
    assert verdict_of(sure, 0.001, 2, (2, 2)) is Verdict.FASTER
    assert verdict_of(sure, 0.06, 12, (40, 35)) is Verdict.NOT_DISTINGUISHABLE, "by the corrected p value"
    assert verdict_of(Estimate(0.5, 0.4, 0.6), 0.001, 1, (4, 4)) is Verdict.SLOWER
    assert verdict_of(Estimate(1.02, 1.01, 1.03), 0.001, 1, (4, 4)) is Verdict.EQUIVALENT
    assert verdict_of(Estimate(1.02, 1.01, 1.03), 0.001, 1, (4, 4), margin=0.0) is Verdict.FASTER
    assert verdict_of(sure, 0.001, 12, (40, 35), confounded=True) is Verdict.CONFOUNDED
    assert verdict_of(None, None, 0, (0, 3)) is Verdict.NOT_COMPARED
    assert verdict_of(Estimate(2.0, None, None), None, 1, (1, 1)) is Verdict.NOT_ENOUGH_RUNS


@pytest.mark.parametrize("varied", [True, False], ids=["a factor of one plan", "a plan for each"])
def test_engines_are_compared_across_versions_on_each_layout(varied: bool) -> None:
    """An engine's version differs whenever the engine does, so it does not set the runs apart."""
    runs = []
    for engine, version, factor in (("hadoop", "3.4.2", 1.0), ("spark", "4.3.0 on Hadoop 3.4.2", 0.5)):
        times = {"HD2": [100.0 * factor, 104.0 * factor], "SS2": [40.0, 41.0]}
        for run in runs_with(times, engine=engine, engine_version=version):
            levels = {"engine": engine, "layout": run.layout} if varied else run.levels
            runs.append(replace(run, run_id=f"{engine}-{run.run_id}", levels=levels))
    by_context = {result.context: result for result in compare(runs, factor="engine", baseline="hadoop")}
    assert set(by_context) == {"layout=HD2", "layout=SS2"}
    on_disks = by_context["layout=HD2"]
    assert (on_disks.baseline, on_disks.candidate) == ("hadoop", "spark")
    assert (on_disks.runs_baseline, on_disks.runs_candidate) == (2, 2)
    assert on_disks.ratio == pytest.approx(2.0)
    of_layouts = compare(runs, factor="layout", baseline="HD2")
    assert {result.context for result in of_layouts} == {"engine=hadoop", "engine=spark"}
    [matched] = matched_speedups(table_of(runs), "engine", "hadoop")
    assert matched.groups == 2
