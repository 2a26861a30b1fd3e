"""Test the observation of another program's job or of a period; its arguments are not stored."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from assay.model.runs.origin import Origin
from assay.model.runs.run_status import RunStatus
from assay.store import Repository
from campaign_support import PROGRAM, assay, write_local_plan
from fault_layer import DAY_S, Layer, require_layer


@pytest.fixture(autouse=True)
def separate_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give assay an empty state directory: it removes abandoned labs, and tests of labs run at the same time."""
    monkeypatch.setenv("ASSAY_STATE", str(tmp_path / "state"))


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    return (
        write_local_plan(tmp_path, "watched", "layout: SSD\nworkloads: [wordcount: {data: 1MB}]\n").parent
        / "cluster.yaml"
    )


@pytest.mark.slow
def test_a_command_is_observed_and_its_arguments_are_not_stored(cluster: Path, tmp_path: Path) -> None:
    secret = "hunter2hunter2"
    root = tmp_path / "repository"
    done = assay("observe", cluster, "--repository", root, "--", "sh", "-c", f"sleep 1.2; : {secret}")
    [run] = Repository.open(root).runs()
    assert (run.workload, run.origin, run.status) == ("observed", Origin.MEASURED, RunStatus.VALID)
    assert run.workload_parameters == {"program": "sh"}
    assert run.duration_s >= 1.2
    assert any("the jobs are unknown" in str(warning) for warning in run.warnings)
    assert list(root.glob("bundles/*/trace/node.parquet"))
    assert secret not in done.stderr
    for path in root.rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes()
    assert json.loads(assay("runs", "--json", "--repository", root).stdout)


@pytest.mark.slow
def test_a_failed_command_is_a_failed_run_and_a_period_is_a_valid_run(cluster: Path, tmp_path: Path) -> None:
    root = tmp_path / "repository"
    assert assay("observe", cluster, "--repository", root, "--", "false", check=False).returncode == 1
    assay("observe", cluster, "--repository", root, "--for", "1s")
    assert sorted(run.status for run in Repository.open(root).runs()) == [RunStatus.FAILED, RunStatus.VALID]


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [[], ["--for", "1s", "--", "true"], ["--for", "soon"], ["--", "no-such-program"]])
def test_wrong_arguments_are_refused_with_the_reason(cluster: Path, tmp_path: Path, arguments: list[str]) -> None:
    done = assay("observe", cluster, "--repository", tmp_path / "repository", *arguments, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(("assay: ", "observing"))


@pytest.mark.slow
def test_a_clock_that_jumps_does_not_change_the_observed_duration(cluster: Path, tmp_path: Path) -> None:
    require_layer()
    layer, root = Layer(tmp_path / "layer", tmp_path), tmp_path / "repository"
    command = [*PROGRAM, "observe", str(cluster), "--repository", str(root), "--", "sh", "-c", "touch began; sleep 3"]
    with subprocess.Popen(command, env=layer.environment, cwd=tmp_path) as process:
        while process.poll() is None and not (tmp_path / "began").exists():
            time.sleep(0.05)
        layer.set_clock(-DAY_S)
    [run] = Repository.open(root).runs()
    assert 3 <= run.duration_s < 60
