"""Test the stated uncertainty of simulated times: never narrower than the simulator's own error."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from assay.analysis.comparison.comparison import compare
from assay.analysis.comparison.matched import match
from assay.analysis.comparison.speedups import speedups_of
from assay.analysis.statistics import Verdict
from assay.analysis.statistics.certainty import log_errors_max, log_errors_max_of
from assay.analysis.statistics.intervals import geometric_mean
from assay.analysis.statistics.runs.run_table import table_of
from assay.model.runs.origin import Origin
from assay.model.runs.run import SIMULATED_HIGH_S, SIMULATED_LOW_S, Run
from assay.questions.decisions.sentences.decision_sentences import headline
from builders import runs_with
from report_support import report_on

OFFSETS_S = (0.001, 0.0012, 0.0014)
SPREAD = 1.2
"""Nine of ten run times are within this factor of the simulated time."""


def simulated(**by_layout: float) -> list[Run]:
    """Return three runs of each layout, with the interval that a simulator states."""
    runs = runs_with({layout: [time_s + offset_s for offset_s in OFFSETS_S] for layout, time_s in by_layout.items()})
    return [
        replace(
            run,
            origin=Origin.SIMULATED,
            metrics={SIMULATED_LOW_S: run.duration_s / SPREAD, SIMULATED_HIGH_S: run.duration_s * SPREAD},
        )
        for run in runs
    ]


def test_the_largest_error_is_that_of_the_simulator_or_of_rounding() -> None:
    unknown = np.array([np.nan])
    assert log_errors_max(np.array([100.0]), unknown, unknown, sides=2) == pytest.approx([0.005])
    one_side, two_sides = (
        log_errors_max(np.array([100.0]), np.array([80.0]), np.array([125.0]), sides=sides)[0] for sides in (1, 2)
    )
    assert one_side == pytest.approx(math.log(1.25) * 1.96 / 1.645, rel=1e-3)
    assert two_sides == pytest.approx(one_side / math.sqrt(2))


def test_the_ratio_of_two_simulated_times_has_the_interval_of_independent_errors() -> None:
    (comparison,) = compare(simulated(HD2=100.0, SS2=50.0), factor="layout", baseline="HD2")
    assert comparison.low is not None
    assert comparison.high is not None
    half = math.log(SPREAD) * math.sqrt(2) * 1.96 / 1.645
    assert math.log(comparison.high / comparison.low) / 2 == pytest.approx(half, rel=1e-3)


def test_a_simulated_difference_below_the_simulators_error_is_not_distinguishable() -> None:
    runs = simulated(HD2=100.0, SS2=90.0)
    (comparison,) = compare(runs, factor="layout", baseline="HD2")
    assert comparison.verdict is Verdict.NOT_DISTINGUISHABLE
    (same,) = speedups_of(match(table_of(runs), "layout"), "HD2")
    assert same.verdict is Verdict.NOT_DISTINGUISHABLE
    assert (same.low, same.high) == pytest.approx((comparison.low, comparison.high))
    measured = [replace(run, origin=Origin.MEASURED, metrics={}) for run in runs]
    assert compare(measured, factor="layout", baseline="HD2")[0].verdict is Verdict.FASTER


def test_a_mean_of_simulated_times_is_never_more_certain_than_one_of_them() -> None:
    runs = simulated(HD2=100.0)
    mean = geometric_mean([run.duration_s for run in runs], log_errors_max_of(runs, sides=1))
    assert mean.low is not None
    assert mean.low < 100 / SPREAD


def test_the_headline_on_simulated_runs_begins_with_simulated() -> None:
    def answer(**by_layout: float) -> str:
        runs = simulated(**by_layout)
        return headline(report_on(runs).decisions[0])

    assert answer(HD2=100.0, SS2=50.0).startswith(
        "Simulated: 2 SSDs per worker (SS2) are 2.00× as fast as 2 hard disks"
    )
    assert "are not distinguishable on TeraSort" in answer(HD2=100.0, SS2=95.0)
