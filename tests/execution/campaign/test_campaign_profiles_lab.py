"""Test a profiled campaign on the lab: tasks, and the DataNodes and NodeManagers that serve them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from campaign_support import assay, assay_json, write_lab_plan
from lab_support import lab_for_campaigns

pytestmark = [pytest.mark.lab, pytest.mark.hadoop, pytest.mark.long]

BODY = """
layout: SSD
parameters: {dfs.replication: 2, dfs.blocksize: 16MiB, profile: cpu+daemons}
workloads:
  - shuffle: {data: 400MB, maps: 2, reduces: 2, payload: random}
repetitions: 2
timeout: 5min
"""


@pytest.fixture
def name() -> Iterator[str]:
    with lab_for_campaigns("profiles") as name:
        yield name


def test_daemons_of_both_workers_are_profiled_in_each_run_without_a_restart(name: str, tmp_path: Path) -> None:
    plan, repository = write_lab_plan(tmp_path, name, BODY), tmp_path / "repository"
    log = assay("run", plan, "--repository", repository, "--no-baseline").stderr
    assert log.count("starting daemons") == 1
    runs = [json.loads(path.read_text()) for path in sorted(repository.glob("bundles/*/run.json"))]
    assert len(runs) == 2
    for run in runs:
        answer = assay_json("profile", run["run_id"], "--repository", repository)
        assert answer["named_share"] == 1
        assert {process for process, _ in answer["processes"]} == {"job", "datanode", "nodemanager"}
        daemons = {f"{daemon}-{node}" for daemon in ("datanode", "nodemanager") for node in ("worker1", "worker2")}
        assert daemons <= set(answer["attempts"])
        served = assay_json("profile", run["run_id"], "--process", "datanode", "--repository", repository)
        assert sum(row["count"] for row in served["categories"]) == dict(answer["processes"])["datanode"] > 0
        assert all(not frame["frame"].endswith("YarnChild.main") for frame in served["frames"])
        assert "not profiled" not in json.dumps(run["warnings"])
