"""Test recommendations from measured runs on instance types: which model answers, and what it answers."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from assay.interfaces.cli.main import assay
from assay.questions.recommendation.instances import CatalogueRequest, catalogue_text
from cluster_texts import rented_prices
from simulator_support import needs_simulator

TYPES = {"m4.xlarge": (4, 1.0), "c4.xlarge": (4, 0.85), "c4.2xlarge": (8, 0.85), "m4.2xlarge": (8, 1.0)}
"""Instance type to vCPUs, and its time relative to what they let expect."""
PRICES = rented_prices("0.2", m4_2xlarge="0.4", r4_2xlarge="0.53")


def _time_s(vcpus: int, ratio: float, count: int, data_gb: float) -> float:
    return (20 + 400 * data_gb / (count * vcpus)) * ratio


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a repository of runs on four types, a catalogue of one of them and an unmeasured type, and prices."""
    folder = tmp_path_factory.mktemp("measured")
    noise = random.Random(3)
    lines = ["job,seconds,machine,nodes,data"]
    for machine, (vcpus, ratio) in TYPES.items():
        for count in (2, 4, 6, 8, 12):
            for data_gb in (10, 20):
                time_s = _time_s(vcpus, ratio, count, data_gb) * noise.lognormvariate(0, 0.03)
                lines.append(f"terasort,{time_s:.2f},{machine},{count},{data_gb}GB")
    (folder / "runs.csv").write_text("\n".join(lines) + "\n")
    fields = ("job=workload", "seconds=duration_s", "machine=instance_type", "nodes=workers", "data=data_bytes")
    mapping = [part for field in fields for part in ("--map", field)]
    command = ["import", "table", str(folder / "runs.csv"), *mapping, "--repository", str(folder / "r")]
    imported = CliRunner().invoke(assay, command)
    assert imported.exit_code == 0, imported.output
    request = CatalogueRequest(
        ("m4.2xlarge", "r4.2xlarge"), "4-8 by 2", volumes="gp3:1TB:2", cpu_speeds=("x86_64=1:0.6:1.6",)
    )
    (folder / "cloud.yaml").write_text(catalogue_text(request))
    (folder / "prices.yaml").write_text(PRICES)
    return {name: folder / name for name in ("r", "cloud.yaml", "prices.yaml")}


def _recommended(files: dict[str, Path], size: str) -> dict[str, Any]:
    options = (
        "--catalogue",
        files["cloud.yaml"],
        "--prices",
        files["prices.yaml"],
        "--simulations",
        "6",
        "--jobs",
        "1",
    )
    words = ("recommend", "--workload", f"terasort:{size}:daily", *options, "--learn-from", files["r"], "--json")
    done = CliRunner().invoke(assay, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return dict(json.loads(done.stdout))


@needs_simulator
def test_measured_instance_types_predict_the_times_and_the_answer_names_the_model(files: dict[str, Path]) -> None:
    answer = _recommended(files, "20GB")
    assert answer["origin"] == "predicted"
    assert answer["time_model"].startswith("times are predicted from 40 runs on 4 instance types in r (Gaussian")
    for choice in answer["finalists"]:
        [time] = choice["times"]
        true_s = _time_s(8, 1.0, int(choice["levels"]["workers"]), 20)
        assert time["low_s"] < true_s < time["high_s"]
        if choice["levels"]["worker"] == "m4-2xlarge":
            assert time["time_s"] == pytest.approx(true_s, rel=0.15)
    assert {change["kind"] for change in answer["changes"]} <= {"price"}


@needs_simulator
def test_data_outside_the_measured_range_is_simulated_and_the_answer_has_the_reason(files: dict[str, Path]) -> None:
    answer = _recommended(files, "200GB")
    assert answer["origin"] == "simulated"
    why = answer["time_model"]
    assert why.startswith("times are simulated, not predicted from 40 runs")
    assert why.endswith("is outside the range of the runs")
