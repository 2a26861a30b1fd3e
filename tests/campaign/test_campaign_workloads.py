"""Every workload that is not in another test, tiny, with real daemons on this machine: it runs, and it is valid."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from pathlib import Path

import pytest

from campaign_support import assay, assay_json, java_processes, require_hadoop, write_local_plan

pytestmark = pytest.mark.hadoop

BODY = """
layout: SSD
parameters: {dfs.replication: 1, dfs.blocksize: 16MiB}
workloads:
  - teraread: {data: 2MB, maps: 1}
  - shuffle: {data: 2MB, maps: 2, reduces: 2, payload: random}
  - hdfs-write: {data: 2MB, maps: 1}
  - hdfs-write: {data: 2MB, maps: 1, payload: random, label: hdfs-write-random}
  - randomtextwriter: {data: 2MB, maps: 1}
  - sort: {data: 2MB, maps: 1, reduces: 2}
  - dfsioe-write: {data: 60MB, files: 2, payload: random}
  - dfsioe-read: {data: 60MB, files: 2}
  - pagerank: {data: 2MB, maps: 1, iterations: 1}
  - kmeans: {data: 2MB, maps: 1, clusters: 3, iterations: 2}
  - sql-aggregation: {data: 2MB, maps: 1}
  - sql-join: {data: 2MB, maps: 1}
factors: {mapreduce.job.reduce.slowstart.completedmaps: [0.05]}
repetitions: 1
attempts: 1
"""


def test_every_workload_runs_and_is_valid(tmp_path: Path) -> None:
    require_hadoop()
    if shutil.which("javac") is None:
        pytest.skip("javac is not installed: assay's own jobs can't be built here")
    plan, repository = write_local_plan(tmp_path, f"workloads-{os.getpid()}", BODY), tmp_path / "repository"
    done = assay("run", plan, "--repository", repository, "--no-baseline", timeout_s=1500, check=False)
    runs = {run["workload"]: run for run in assay_json("runs", "--repository", repository)}
    assert {name: run["status"] for name, run in runs.items()} == dict.fromkeys(runs, "valid"), done.stderr
    assert len(runs) == 12
    assert java_processes(str(tmp_path)) == {}
    for name in ("dfsioe-write", "dfsioe-read"):
        shown = assay_json("show", runs[name]["run_id"], "--repository", repository)
        assert shown["metrics"]["per_stream_mb_per_s"] > 0
        (kept,) = repository.glob(f"bundles/{runs[name]['run_id']}/logs/streams.jsonl*")
        lines = [json.loads(line) for line in gzip.decompress(kept.read_bytes()).splitlines()]
        assert sum(sum(line["slot_bytes"]) for line in lines) == 60_000_000
        assert "NameNode's clock" in shown["sources"]["gated_aggregate_mb_per_s"]
