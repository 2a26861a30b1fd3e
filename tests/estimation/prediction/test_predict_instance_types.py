"""Test predictions for instance types that were never measured: their hardware comes from the catalogue."""

from __future__ import annotations

import csv
from typing import Any

import numpy as np
import pytest

from assay.analysis.statistics import RunTable
from assay.analysis.statistics.runs.run_table import stacked
from assay.estimation.prediction.features import hardware_values, instance_types_of
from assay.estimation.prediction.instance_types import family_of, left_out_errors
from assay.estimation.prediction.model import learn
from assay.estimation.prediction.model_file import decode_model, encode_model
from assay.estimation.prediction.predict import Basis, Predictions, predict
from assay.model import Hardware
from assay.specs.instances import shipped_instances
from benchmark_support import benchmark

pytestmark = pytest.mark.slow
TYPES = {"m4.large": 1.0, "m4.xlarge": 1.1, "c4.xlarge": 0.85, "c4.2xlarge": 0.9, "r4.2xlarge": 1.15, "m4.2xlarge": 1.0}
"""Instance types, with the time of a job relative to the time that follows from their number of cores."""
COUNTS = (2, 4, 8)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the runs of two jobs whose time is a constant plus work that all cores share, with 3 % noise."""
    rng = np.random.default_rng(5)
    folder = tmp_path_factory.mktemp("runs")
    instances = shipped_instances()
    with (folder / "runs.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["job", "instance_type", "nodes", "runtime_s"])
        for job, work in (("a", 4000.0), ("b", 9000.0)):
            for name, ratio in TYPES.items():
                for count in COUNTS:
                    time_s = (15 + work / (count * instances[name].vcpus)) * ratio * np.exp(rng.normal(0.0, 0.03))
                    writer.writerow([job, name, count, f"{time_s:.3f}"])
    return benchmark("cloud_tables").read_folder(folder, {})


@pytest.fixture(scope="module")
def without_c4(runs: Any) -> tuple[Any, RunTable, Predictions]:
    return left_out(runs.table, "c4.2xlarge")


def left_out(table: RunTable, name: str) -> tuple[Any, RunTable, Predictions]:
    """Return a model without one instance type, the runs of this type, and their predictions."""
    names, codes = instance_types_of(table)
    is_left_out = codes == names.index(f"cluster.instance_type={name}")
    model = learn(table.subset(~is_left_out))
    return model, table.subset(is_left_out), predict(model, table.subset(is_left_out))


def test_intervals_hold_for_new_instance_types(runs: Any, without_c4: tuple[Any, RunTable, Predictions]) -> None:
    """Leave out two types in turn. The catalogue has their cores, but not how their times differ otherwise."""
    held, errors = [], []
    for name, left_out_type in (("r4.2xlarge", left_out(runs.table, "r4.2xlarge")), ("c4.2xlarge", without_c4)):
        model, table, predicted = left_out_type
        times_s = table.values["duration_s"]
        held += ((predicted.low_s <= times_s) & (times_s <= predicted.high_s)).tolist()
        errors += np.abs(predicted.expected_s / times_s - 1.0).tolist()
        assert {predicted.basis_of(row) for row in range(len(table))} == {Basis.NEW_CLUSTER}
        assert predicted.reasons[0] == (
            f"no run has instance type {name}; its error is estimated by leaving out 5 instance types in turn",
        )
        assert model.instance_types.types == 5
    assert np.mean(held) >= 0.85
    assert np.mean(errors) < 0.35


def test_a_new_number_of_a_known_type_is_not_a_new_type(runs: Any) -> None:
    """The interval comes from the errors of left-out clusters, not of left-out types."""
    has_eight_workers = runs.workers == 8
    is_new_cluster = has_eight_workers & (runs.type == runs.types.index("m4.xlarge"))
    model = learn(runs.table.subset(~is_new_cluster))
    predicted = predict(model, runs.table.subset(is_new_cluster))
    assert "no run has cluster 8x m4.xlarge" in predicted.reasons[0][0]


def test_the_model_file_keeps_the_model_for_new_types(without_c4: tuple[Any, RunTable, Predictions]) -> None:
    """A stored model predicts the same times as the model before it was stored."""
    model, table, predicted = without_c4
    stored_predictions = predict(decode_model(encode_model(model, "runs-1.parquet"), "runs-1.parquet"), table)
    assert stored_predictions.expected_s.tolist() == predicted.expected_s.tolist()
    assert stored_predictions.high_s.tolist() == predicted.high_s.tolist()


def test_types_with_one_cluster_each_are_treated_as_clusters(runs: Any) -> None:
    """To leave out a type is then to leave out a cluster, so there is no separate model of types."""
    table = runs.table.subset(runs.workers == 4)
    assert learn(stacked([table, table])).instance_types is None


def test_two_types_with_equal_times_leave_a_third_uncertain(runs: Any) -> None:
    """The hardware cannot show that a third type is much faster, so its interval is wider than the noise of the two."""
    has_known_type = np.isin(runs.type, [runs.types.index(name) for name in ("m4.xlarge", "c4.xlarge", "c4.2xlarge")])
    model = learn(stacked([runs.table.subset(has_known_type)] * 2))
    predicted = predict(model, runs.table.subset(runs.type == runs.types.index("r4.2xlarge")))
    assert np.median(predicted.high_s / predicted.expected_s) > 1.15


def test_errors_of_left_out_types_follow_from_the_inverse_covariance() -> None:
    """The errors in closed form equal those of a prediction of the left-out rows from the other rows."""
    rng = np.random.default_rng(2)
    factor = rng.normal(size=(7, 9))
    covariance, times = factor @ factor.T, rng.normal(size=7)
    precision = np.linalg.inv(covariance).astype(np.float64)
    left_rows, other_rows = np.arange(3), np.arange(3, 7)
    expected_errors = (
        times[left_rows]
        - covariance[np.ix_(left_rows, other_rows)]
        @ np.linalg.inv(covariance[np.ix_(other_rows, other_rows)])
        @ times[other_rows]
    )
    errors, spread = left_out_errors(precision, precision @ times, left_rows)
    assert errors == pytest.approx(expected_errors)
    weights = np.linalg.solve(covariance[np.ix_(other_rows, other_rows)], covariance[np.ix_(other_rows, left_rows)])
    conditional = covariance[np.ix_(left_rows, left_rows)] - covariance[np.ix_(left_rows, other_rows)] @ weights
    assert spread == pytest.approx(np.sqrt(np.diag(conditional)))


@pytest.mark.parametrize(
    ("name", "family"),
    [("c4.2xlarge", "c4"), ("Standard_D4_v2", "Standard_D_v2"), ("n2-standard-16", "n2-standard"), ("A7", "A7")],
)
def test_instance_families_of_three_providers_are_recognised(name: str, family: str) -> None:
    assert family_of(name) == family


def test_hardware_that_runs_did_not_record_comes_from_the_catalogue() -> None:
    """A recorded value has precedence, and an unknown type has no values."""
    clusters = [
        Hardware(4, None, None, "r4.2xlarge"),
        Hardware(4, 6.0, 1e9, "r4.2xlarge"),
        Hardware(4, None, None, "unknown.large"),
        Hardware(4, None, None, "i3.2xlarge"),
    ]
    values = hardware_values(clusters, shipped_instances())
    assert values["cluster.cores"].tolist()[:2] == [8.0, 6.0]
    assert np.isnan(values["cluster.cores"][2])
    assert values["cluster.memory_bytes"][0] == 61 * 2**30
    assert values["cluster.local_disks"].tolist()[::3] == [1.0, 2.0]
    assert values["cluster.clock_hz"][0] > 2e9
