"""Test factor importance on tables with a known formula, and the second estimate on altered runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assay.analysis.statistics.keys import has_level
from assay.analysis.statistics.runs.run_table import RunTable
from assay.estimation.prediction.explaining import cells, explain
from assay.estimation.prediction.model import TimeModel, learn
from assay.estimation.prediction.second_opinion import second_opinion
from assay.foundation.errors import SpecificationError
from learning import LAYOUTS, learning_table, time_s

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def table() -> RunTable:
    return learning_table()


@pytest.fixture(scope="module")
def model(table: RunTable) -> TimeModel:
    return learn(table)


def test_shares_add_up_and_name_what_the_formula_has(model: TimeModel, table: RunTable) -> None:
    explained = explain(model, table.subset(has_level(table, "workload", "terasort")))
    shares = {effect.factor: effect.share for effect in explained.factors}
    assert list(shares)[:2] == ["mapreduce.tasktracker.map.tasks.maximum", "layout"]
    assert shares["network"].value < 0.1
    together = sum(share.value for share in shares.values()) + sum(pair.share.value for pair in explained.pairs)
    assert together + explained.rest == pytest.approx(1.0, abs=0.05)
    assert all(share.low <= share.value <= share.high for share in shares.values() if share.low and share.high)
    layout = next(effect for effect in explained.factors if effect.factor == "layout")
    assert [level.level for level in layout.levels] == sorted(LAYOUTS, key=lambda name: LAYOUTS[name])
    assert layout.levels[0].ratio < 1 < layout.levels[-1].ratio
    assert explained.alike == ("workload",)


def test_combinations_have_their_times_and_mark_the_unmeasured(model: TimeModel, table: RunTable) -> None:
    slow = has_level(table, "layout", "HDD") & has_level(table, "network", "IB")
    picked = table.subset(has_level(table, "workload", "sort") & ~slow)
    measured = {cell.levels: cell for cell in cells(model, picked, ["layout", "network"])}
    assert measured["HDD", "IB"].configurations == 0
    assert measured["SSD", "IB"].configurations == 12
    mean_s = np.mean([time_s("sort", "SSD", "IB", slots, cores) for slots in (2, 4, 6, 8, 10, 12) for cores in (8, 12)])
    assert measured["SSD", "IB"].expected_s == pytest.approx(mean_s, rel=0.2)


def test_runs_that_are_all_equal_explain_nothing(model: TimeModel, table: RunTable) -> None:
    with pytest.raises(SpecificationError, match="too few to learn from"):
        explain(model, table.subset(np.arange(5)))
    with pytest.raises(SpecificationError, match="the maximum is 10"):
        cells(model, table, ["layout", "workload", "network"], cells_max=10)


@pytest.mark.parametrize(("factor", "recall_least"), [(0.1, 0.9), (1.5, 0.6), (5.0, 0.9)])
def test_planted_outliers_are_detected_and_few_others(table: RunTable, factor: float, recall_least: float) -> None:
    made = np.random.default_rng(2).random(len(table)) < 0.04
    times_s = np.where(made, table.values["duration_s"] * factor, table.values["duration_s"])
    changed = replace(table, values={**table.values, "duration_s": times_s})
    odd = second_opinion(changed).outliers(changed)
    assert odd[made].mean() >= recall_least
    assert odd[~made].mean() <= 0.05


def test_runs_that_are_known_to_be_unsound_teach_nothing(table: RunTable) -> None:
    died = np.arange(len(table)) % 3 == 0
    times_s = np.where(died, 7.0, table.values["duration_s"])
    changed = replace(table, values={**table.values, "duration_s": times_s})
    odd = second_opinion(changed, unsound=died).outliers(changed)
    assert odd[died].all()
    assert odd[~died].mean() <= 0.05
