"""Test the learner's view of a table, refusals, and the width of intervals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.analysis.statistics.runs.run_table import table_of
from assay.estimation.prediction import calibration
from assay.estimation.prediction.features import learned_encoding
from assay.estimation.prediction.model import learn
from assay.foundation.errors import SpecificationError
from assay.model.runs.run import Run
from builders import make_run
from effort import examples
from learning import learning_runs, learning_table


@pytest.mark.parametrize(
    ("runs", "why"),
    [
        (learning_runs()[:10], "10 valid runs are too few to learn from"),
        ([make_run(n, duration_s=60.0 + n) for n in range(40)], "40 valid runs have only 1 configurations"),
        ([replace(run, duration_s=60.0) for run in learning_runs()], "took exactly 60 s"),
    ],
)
def test_runs_unusable_for_calibration_are_refused_with_the_reason(runs: list[Run], why: str) -> None:
    with pytest.raises(SpecificationError, match=why):
        learn(table_of(runs))


def test_a_constant_factor_is_no_feature() -> None:
    table = learning_table()
    encoding = learned_encoding(table)
    assert "dfs.blocksize" not in encoding.names
    assert {"workload", "cluster", "layout", "network"} <= set(encoding.names)
    assert encoding.of(table).shape == (len(table), len(encoding.names))


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(st.floats(0, 10), min_size=9, max_size=60))
def test_the_conformal_quantile_leaves_at_most_a_tenth_above(errors: list[float]) -> None:
    values = np.array(errors)
    assert (values <= calibration.conformal_quantile(values)).mean() >= calibration.LEVEL


def test_few_errors_have_no_quantile_and_few_levels_widen_it() -> None:
    assert calibration.conformal_quantile(np.arange(8.0)) == np.inf
    assert np.isnan(calibration.left_out_quantile([np.ones(50)]))
    two, three = (calibration.left_out_quantile([np.ones(50)] * n) for n in (2, 3))
    assert two > three > 1.0
    assert calibration.left_out_quantile([np.ones(50)] * 20) == 1.0


@pytest.mark.parametrize("levels", [2, 3, 5, 8])
def test_the_quantile_of_few_left_out_levels_holds_for_nine_of_ten_new_levels(levels: int) -> None:
    """Each level has its own offset; an interval around zero covers the offset of the next level."""
    random = np.random.default_rng(levels)
    held = [
        abs(offsets[-1]) <= calibration.left_out_quantile([np.full(5, abs(offset)) for offset in offsets[:-1]])
        for offsets in random.normal(size=(10_000, levels + 1))
    ]
    assert np.mean(held) == pytest.approx(calibration.LEVEL, abs=0.01)


def test_a_text_that_is_unique_to_each_run_is_no_factor() -> None:
    runs = [replace(run, levels={**run.levels, "folder": f"run-{n}"}) for n, run in enumerate(learning_runs())]
    encoding = learned_encoding(table_of(runs))
    assert encoding.factor("folder") is None
    assert encoding.factor("network") is not None


def test_a_level_keeps_the_promise_in_most_samples_and_not_only_on_average() -> None:
    random = np.random.default_rng(4)
    samples = random.exponential(size=(400, 60))
    plain, raised = (
        np.array([1 - np.exp(-quantile(errors)) for errors in samples])
        for quantile in (calibration.conformal_quantile, calibration.level_quantile)
    )
    assert plain.mean() == pytest.approx(0.9, abs=0.01)
    assert (plain < 0.9).mean() > 0.35
    assert (raised < 0.9).mean() < 0.2
