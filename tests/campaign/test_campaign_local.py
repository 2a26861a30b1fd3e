"""Real Hadoop daemons on this machine through the local transport: the path of a machine without a lab."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from campaign_support import assay, assay_json, java_processes, require_hadoop, write_local_plan

pytestmark = pytest.mark.hadoop

BODY = """
layout: SSD
parameters: {dfs.replication: 1, dfs.blocksize: 16MiB}
workloads:
  - wordcount: {data: 20MB, maps: 2, reduces: 1}
  - teravalidate: {data: 20MB, maps: 2, reduces: 2}
factors: {mapreduce.job.reduce.slowstart.completedmaps: [0.05]}
repetitions: 1
attempts: 1
"""


def test_wordcount_and_teravalidate_are_valid_on_one_machine(tmp_path: Path) -> None:
    require_hadoop()
    plan, repository = write_local_plan(tmp_path, f"local-{os.getpid()}", BODY), tmp_path / "repository"
    assay("run", plan, "--repository", repository, "--until", "1 run")
    [standing] = assay_json("campaign", "status", "--repository", repository)
    assert (standing["running"], standing["done"], standing["planned"]) == (False, 1, 2)
    assert standing["stopped"] == "--until 1 run"
    assay("run", plan, "--repository", repository)
    runs = {run["workload"]: run for run in assay_json("runs", "--repository", repository)}
    assert {name: run["status"] for name, run in runs.items()} == {"wordcount": "valid", "teravalidate": "valid"}
    assert all(run["lab_scale"] is None for run in runs.values())
    shown = assay_json("show", runs["wordcount"]["run_id"], "--repository", repository)
    assert {check["name"] for check in shown["checks"]} >= {"words counted", "bytes read", "exit status"}
    assert java_processes(str(tmp_path)) == {}


def test_without_java_the_error_says_what_and_where_and_what_to_do(tmp_path: Path) -> None:
    plan = write_local_plan(tmp_path, "nojava", BODY)
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text(cluster.read_text() + "java_home: /nonexistent\n")
    done = assay("run", plan, "--repository", tmp_path / "repository", check=False)
    assert done.returncode == 5
    assert "/nonexistent/bin/java" in done.stderr
    assert "java_home" in done.stderr
