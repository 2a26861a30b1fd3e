"""Test the learned model: accuracy, coverage, and no answer outside the measured range."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.analysis.statistics.runs.run_table import RunTable, table_of
from assay.estimation.prediction.model import TimeModel, TrainingData, learn
from assay.estimation.prediction.model_file import MAGIC, decode_model, encode_model
from assay.estimation.prediction.nearest import MeasuredConfigurations, nearest
from assay.estimation.prediction.predict import Basis, predict
from assay.foundation.errors import RepositoryError
from effort import examples
from learning import configured, learning_runs, learning_table, time_s

pytestmark = pytest.mark.slow
FROM = "runs-1.parquet"


@pytest.fixture(scope="module")
def table() -> RunTable:
    return learning_table()


@pytest.fixture(scope="module")
def model(table: RunTable) -> TimeModel:
    return learn(table)


def single_row(*what: Any, **changes: Any) -> RunTable:
    return table_of([replace(configured(0, *what), **changes)])


def test_a_configuration_similar_to_measured_ones_is_predicted_with_an_interval(model: TimeModel) -> None:
    predicted = predict(model, single_row("terasort", "SSD", "IB", 6, 12))
    true_s = time_s("terasort", "SSD", "IB", 6, 12)
    assert predicted.basis_of(0) is Basis.MEASURED
    assert predicted.expected_s[0] == pytest.approx(true_s, rel=0.15)
    assert predicted.low_s[0] < true_s < predicted.high_s[0]


def test_intervals_hold_for_configurations_that_were_not_learned_from(table: RunTable) -> None:
    groups = TrainingData.of(table).groups.of_row
    held_out = np.isin(groups, np.random.default_rng(3).permutation(groups.max() + 1)[:40])
    predicted = predict(learn(table.subset(~held_out)), table.subset(held_out))
    times_s = table.values["duration_s"][held_out]
    held = (predicted.low_s <= times_s) & (times_s <= predicted.high_s)
    assert held.mean() >= 0.85
    assert np.median(predicted.high_s / predicted.low_s) < 2


def test_the_same_table_and_seed_give_the_same_model(table: RunTable, model: TimeModel) -> None:
    again = learn(table)
    assert encode_model(again, FROM) == encode_model(model, FROM)


def test_repetitions_never_stand_on_both_sides(table: RunTable) -> None:
    """One configuration with many outliers: its prediction comes from the other configurations."""
    outliers = [configured(900 + n, "sort", "HDD", "IB", 7, 12, duration_s=50_000.0) for n in range(30)]
    both = learn(table_of([*learning_runs(), *outliers]))
    assert both.median_logs.max() == pytest.approx(np.log(50_000.0))
    assert both.expected_logs[int(both.median_logs.argmax())] < np.log(5_000.0)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"workload": "pagerank"}, "no run has workload pagerank"),
        ({"levels": {"network": "10G"}}, "no run has network 10G"),
        ({"parameters": {"mapreduce.tasktracker.map.tasks.maximum": "64"}}, "is outside the measured range, 2 to 12"),
        ({"layout": "tape", "cluster": "other"}, "its kind of disks was never measured"),
    ],
)
def test_outside_what_was_learned_there_is_no_time(model: TimeModel, changes: dict[str, Any], why: str) -> None:
    predicted = predict(model, single_row("terasort", "SSD", "IB", 6, 12, **changes))
    assert np.isnan(predicted.expected_s[0])
    assert predicted.basis_of(0) is Basis.UNKNOWN
    assert any(why in words for words in predicted.reasons[0])


def test_a_new_cluster_is_predicted_from_others_with_a_wider_interval() -> None:
    learned = learn(learning_table(clusters=(4, 6, 8, 10, 12)))
    known = predict(learned, single_row("terasort", "SSD", "IB", 8, 8))
    new = predict(learned, single_row("terasort", "SSD", "IB", 8, 9))
    assert new.basis_of(0) is Basis.NEW_CLUSTER
    assert "no run has cluster c9; its error is estimated by leaving out 5 clusters in turn" in new.reasons[0][0]
    assert new.low_s[0] < time_s("terasort", "SSD", "IB", 8, 9) < new.high_s[0]
    assert new.high_s[0] / new.low_s[0] > known.high_s[0] / known.low_s[0]


def test_parts_never_measured_together_are_reported(table: RunTable) -> None:
    layout, cluster = table.columns["layout"], table.columns["cluster"]
    pair = (layout.codes == layout.code("SSD")) & (cluster.codes == cluster.code("c12"))
    predicted = predict(learn(table.subset(~pair)), single_row("terasort", "SSD", "IB", 6, 12))
    assert predicted.basis_of(0) in (Basis.NEW_PAIR, Basis.UNKNOWN)
    assert "no run has cluster and layout c12 with SSD" in predicted.reasons[0][0]


def test_contradictory_runs_make_the_interval_wide_and_nothing_fail(table: RunTable, model: TimeModel) -> None:
    noise = np.random.default_rng(1).lognormal(0.0, 1.0, len(table))
    wild = learn(replace(table, values={**table.values, "duration_s": table.values["duration_s"] * noise}))
    configuration = single_row("terasort", "SSD", "IB", 6, 12)
    calm, unsure = predict(model, configuration), predict(wild, configuration)
    assert unsure.high_s[0] / unsure.low_s[0] > 3 * calm.high_s[0] / calm.low_s[0]


def test_the_nearest_configurations_are_of_the_same_workload(table: RunTable, model: TimeModel) -> None:
    rows = nearest(model.encoding, MeasuredConfigurations.of(table), single_row("sort", "SSD", "IB", 6, 12))
    assert rows[0].differs == ()
    assert [table.columns["workload"].text(near.position) for near in rows] == ["sort"] * 3
    assert rows[1].median_s == pytest.approx(rows[0].median_s, rel=0.5)


def test_a_model_is_read_as_it_was_written(model: TimeModel, table: RunTable) -> None:
    again = decode_model(encode_model(model, FROM), FROM)
    assert predict(again, table).expected_s.tolist() == predict(model, table).expected_s.tolist()
    assert again.encoding == model.encoding


def test_a_model_of_other_runs_or_of_another_version_is_refused(model: TimeModel) -> None:
    content = encode_model(model, FROM)
    with pytest.raises(RepositoryError, match="learned from other runs"):
        decode_model(content, "runs-2.parquet")
    with pytest.raises(RepositoryError, match="another version"):
        decode_model(content.replace(MAGIC, b"assay model 99\n"), FROM)
    with pytest.raises(RepositoryError, match="not a model file of assay"):
        decode_model(b"\x80\x04cos\nsystem\n", FROM)


@settings(max_examples=examples(30), deadline=None)
@given(st.data())
def test_a_damaged_model_is_refused_with_a_message(model: TimeModel, data: st.DataObject) -> None:
    content = bytearray(encode_model(model, FROM))
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(RepositoryError, match="a cached model is not used"):
        decode_model(bytes(content), FROM)


def test_a_damaged_tree_is_detected(model: TimeModel) -> None:
    forest = model.stack.forest
    assert forest.fault(len(model.encoding.names)) is None
    assert replace(forest, right=forest.right + 10**6).fault(99) == "a branch leads out of its tree"
    assert replace(forest, feature=forest.feature + 1000).fault(99) is not None
    assert replace(forest, number=forest.number[:-1]).fault(99) == "its arrays have different lengths"
