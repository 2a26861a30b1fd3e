"""Test predictions for instance types that were never measured: hardware from the catalogue, and honest intervals."""

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
"""Instance types, with the time of the simulated jobs relative to what their cores let expect."""
COUNTS = (2, 4, 8)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the runs of two jobs whose time is a constant and work shared by all cores, with 3 % scatter."""
    random = np.random.default_rng(5)
    folder = tmp_path_factory.mktemp("runs")
    instances = shipped_instances()
    with (folder / "runs.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["job", "instance_type", "nodes", "runtime_s"])
        for job, work in (("a", 4000.0), ("b", 9000.0)):
            for name, ratio in TYPES.items():
                for count in COUNTS:
                    time_s = (15 + work / (count * instances[name].vcpus)) * ratio * np.exp(random.normal(0.0, 0.03))
                    writer.writerow([job, name, count, f"{time_s:.3f}"])
    return benchmark("cloud_tables").read_folder(folder, {})


@pytest.fixture(scope="module")
def without_c4(runs: Any) -> tuple[Any, RunTable, Predictions]:
    return left_out(runs.table, "c4.2xlarge")


def left_out(table: RunTable, name: str) -> tuple[Any, RunTable, Predictions]:
    """Return a model without one instance type, the runs of this type, and their predictions."""
    names, codes = instance_types_of(table)
    left = codes == names.index(f"cluster.instance_type={name}")
    model = learn(table.subset(~left))
    return model, table.subset(left), predict(model, table.subset(left))


def test_intervals_hold_for_new_instance_types(runs: Any, without_c4: tuple[Any, RunTable, Predictions]) -> None:
    """Each type is left out in turn; the law's cores are in the catalogue, its offsets between types are not."""
    held, errors = [], []
    for name, answer in (("r4.2xlarge", left_out(runs.table, "r4.2xlarge")), ("c4.2xlarge", without_c4)):
        model, table, predicted = answer
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
    """Its interval comes from clusters that were left out, not from types."""
    eight = runs.workers == 8
    eight_m4 = eight & (runs.type == runs.types.index("m4.xlarge"))
    model = learn(runs.table.subset(~eight_m4))
    predicted = predict(model, runs.table.subset(eight_m4))
    assert "no run has cluster 8x m4.xlarge" in predicted.reasons[0][0]


def test_the_model_file_keeps_the_model_for_new_types(without_c4: tuple[Any, RunTable, Predictions]) -> None:
    """A stored model answers as the learned one."""
    model, table, predicted = without_c4
    again = predict(decode_model(encode_model(model, "runs-1.parquet"), "runs-1.parquet"), table)
    assert again.expected_s.tolist() == predicted.expected_s.tolist()
    assert again.high_s.tolist() == predicted.high_s.tolist()


def test_types_with_one_cluster_each_are_treated_as_clusters(runs: Any) -> None:
    """Then leaving out a type is leaving out a cluster, so that there is one answer."""
    table = runs.table.subset(runs.workers == 4)
    assert learn(stacked([table, table])).instance_types is None


def test_two_types_with_equal_times_leave_a_third_uncertain(runs: Any) -> None:
    """Hardware does not show that a type is much faster, so its interval is not the scatter of two known types."""
    known = np.isin(runs.type, [runs.types.index(name) for name in ("m4.xlarge", "c4.xlarge", "c4.2xlarge")])
    model = learn(stacked([runs.table.subset(known)] * 2))
    predicted = predict(model, runs.table.subset(runs.type == runs.types.index("r4.2xlarge")))
    assert np.median(predicted.high_s / predicted.expected_s) > 1.15


def test_errors_of_left_out_types_follow_from_the_inverse_covariance() -> None:
    """Leaving out rows in closed form is the same as predicting them from the others."""
    random = np.random.default_rng(2)
    factor = random.normal(size=(7, 9))
    covariance, times = factor @ factor.T, random.normal(size=7)
    precision = np.linalg.inv(covariance).astype(np.float64)
    left, kept = np.arange(3), np.arange(3, 7)
    direct = times[left] - covariance[np.ix_(left, kept)] @ np.linalg.inv(covariance[np.ix_(kept, kept)]) @ times[kept]
    errors, spread = left_out_errors(precision, precision @ times, left)
    assert errors == pytest.approx(direct)
    explained = np.linalg.solve(covariance[np.ix_(kept, kept)], covariance[np.ix_(kept, left)])
    conditional = covariance[np.ix_(left, left)] - covariance[np.ix_(left, kept)] @ explained
    assert spread == pytest.approx(np.sqrt(np.diag(conditional)))


@pytest.mark.parametrize(
    ("name", "family"),
    [("c4.2xlarge", "c4"), ("Standard_D4_v2", "Standard_D_v2"), ("n2-standard-16", "n2-standard"), ("A7", "A7")],
)
def test_instance_families_of_three_providers_are_recognised(name: str, family: str) -> None:
    assert family_of(name) == family


def test_hardware_that_runs_did_not_record_comes_from_the_catalogue() -> None:
    """A recorded value has precedence, and an unknown type states nothing."""
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
