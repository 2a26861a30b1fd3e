"""Test real Hadoop daemons on this machine through the local transport.

One campaign has every workload that no other test has, tiny. Jobs of one map
run in their ApplicationMaster's JVM, which is half of their time; those of more maps or of more than a block do not:
an aggregate is of streams that run at once. TeraRead reads two blocks in containers: in the ApplicationMaster's JVM,
the job's history would count as bytes that the job wrote.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.analysis.run_profile.gated_aggregate import gated_aggregate
from assay.model.runs.traces.stream import CountedStream
from assay.workloads.catalogue import workloads
from campaign_support import (
    assay,
    assay_json,
    end_java_processes,
    java_processes,
    left_in_tmp,
    require_hadoop,
    write_local_plan,
)
from paths import ARCHIVED_JAVA

pytestmark = pytest.mark.hadoop

WORKLOADS = {
    "wordcount": "{data: 5MB, maps: 1, reduces: 1}",
    "teravalidate": "{data: 5MB, maps: 1, reduces: 1}",
    "teraread": "{data: 20MB, maps: 1}",
    "shuffle": "{data: 2MB, maps: 2, reduces: 2, payload: random, reduce_burn_ms: 1000}",
    "hdfs-write": "{data: 2MB, maps: 1}",
    "hdfs-write-random": "{data: 2MB, maps: 1, payload: random, label: hdfs-write-random}",
    "randomtextwriter": "{data: 2MB, maps: 1}",
    "sort": "{data: 2MB, maps: 1, reduces: 2}",
    "dfsio-read": "{data: 20MB, files: 2}",
    "dfsioe-write": "{data: 60MB, files: 2, payload: random}",
    "dfsioe-read": "{data: 60MB, files: 2}",
    "pagerank": "{data: 2MB, maps: 1, iterations: 1}",
    "kmeans": "{data: 2MB, maps: 1, clusters: 3, iterations: 2}",
    "sql-aggregation": "{data: 2MB, maps: 1}",
    "sql-join": "{data: 2MB, maps: 1}",
}
BURNED = "io/github/assay/jobs/Burner.burnCpu"
IN_OTHER_TESTS = {"dfsio-write", "teragen", "terasort", "decision-support"}
"""Those of the lab, and of Spark."""
BODY = """
layout: SSD
parameters:
  dfs.replication: 1
  dfs.blocksize: 16MiB
  mapreduce.job.ubertask.enable: true
  mapreduce.job.ubertask.maxmaps: 1
  profile: cpu
workloads:
{workloads}
factors: {{mapreduce.job.reduce.slowstart.completedmaps: [0.05]}}
repetitions: 1
attempts: 1
""".format(workloads="\n".join(f"  - {name.removesuffix('-random')}: {options}" for name, options in WORKLOADS.items()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    require_hadoop()
    if shutil.which("javac") is None:
        pytest.skip("javac is not installed: assay's own jobs can't be built here")
    folder, before = tmp_path_factory.mktemp("local"), left_in_tmp()
    yield folder
    assert left_in_tmp() == before
    assert end_java_processes(str(folder)) == {}


@pytest.fixture(scope="module")
def repository(folder: Path) -> Path:
    """Return the repository after a campaign with a Java that records its command lines."""
    java, repository = folder / "java" / "bin" / "java", folder / "repository"
    java.parent.mkdir(parents=True)
    java.write_text(f'#!/bin/sh\necho "$*" >> {folder}/java-commands\nexec {ARCHIVED_JAVA}/bin/java "$@"\n')
    java.chmod(0o755)
    plan = write_local_plan(folder, f"local-{os.getpid()}", BODY, java_home=java.parents[1])
    assay("run", plan, "--repository", repository, "--no-baseline", timeout_s=1500, check=False)
    return repository


@pytest.fixture(scope="module")
def runs(repository: Path) -> dict[str, dict[str, Any]]:
    return {run["workload"]: run for run in assay_json("runs", "--repository", repository)}


def test_every_workload_runs_and_is_valid(runs: dict[str, dict[str, Any]]) -> None:
    assert {name: (run["status"], run["cause"]) for name, run in runs.items()} == dict.fromkeys(
        WORKLOADS, ("valid", None)
    )
    assert all(run["lab_scale"] is None for run in runs.values())


def test_containers_run_the_java_of_the_cluster_file(runs: dict[str, dict[str, Any]], folder: Path) -> None:
    commands = (folder / "java-commands").read_text()
    assert runs
    assert [name for name in ("NodeManager", "MRAppMaster", "YarnChild") if name not in commands] == []


def test_every_workload_is_run_by_a_test() -> None:
    assert set(workloads()) - IN_OTHER_TESTS <= {name.removesuffix("-random") for name in WORKLOADS}


def test_no_daemon_remains(repository: Path, folder: Path) -> None:
    assert repository.is_relative_to(folder)
    assert java_processes(str(folder)) == {}


def test_a_run_lists_its_checks(repository: Path, runs: dict[str, dict[str, Any]]) -> None:
    shown = assay_json("show", runs["wordcount"]["run_id"], "--repository", repository)
    assert {check["name"] for check in shown["checks"]} >= {"words counted", "bytes read", "exit status"}


@pytest.mark.parametrize("name", ["dfsioe-write", "dfsioe-read"])
def test_streams_are_kept_byte_by_byte_of_time(repository: Path, runs: dict[str, dict[str, Any]], name: str) -> None:
    shown = assay_json("show", runs[name]["run_id"], "--repository", repository)
    assert shown["metrics"]["per_stream_mb_per_s"] > 0
    (kept,) = repository.glob(f"bundles/{runs[name]['run_id']}/logs/streams.jsonl*")
    lines = [json.loads(line) for line in gzip.decompress(kept.read_bytes()).splitlines()]
    assert sum(sum(line["slot_bytes"]) for line in lines) == 60_000_000
    # Two quick streams need not be under way together in any second: then they have no aggregate.
    aggregate = gated_aggregate(
        [
            CountedStream(
                line["start_ms"] / 1000, line["end_ms"] / 1000, line["first_slot_s"], tuple(line["slot_bytes"])
            )
            for line in lines
        ]
    )
    expected = None if aggregate is None else pytest.approx(aggregate.mean_mb_per_s)
    assert shown["metrics"].get("gated_aggregate_mb_per_s") == expected
    source = shown["sources"].get("gated_aggregate_mb_per_s", "")
    assert ("NameNode's clock" in source) == (aggregate is not None)


def test_a_profile_has_the_stacks_of_each_phase_of_each_attempt(
    repository: Path, runs: dict[str, dict[str, Any]]
) -> None:
    shown = assay_json("show", runs["shuffle"]["run_id"], "--repository", repository)
    profile = shown["environment"]["profile"]
    assert (profile["kind"], profile["attempts_stored"]) == ("cpu", 4)
    assert profile["method"]
    (folder,) = repository.glob(f"bundles/{runs['shuffle']['run_id']}/logs/profiles")
    phases = {path.name.split(".")[1] for path in folder.glob("*.collapsed.gz")}
    assert phases >= {"map", "shuffle"}
    stacks = b"".join(gzip.decompress(path.read_bytes()) for path in folder.glob("*.map.collapsed.gz"))
    assert b"YarnChild" in stacks


def test_a_slow_method_of_one_phase_tops_this_phase_and_no_other(
    repository: Path, runs: dict[str, dict[str, Any]]
) -> None:
    top = {}
    for phase in ("map", "shuffle", "reduce"):
        shuffle = runs["shuffle"]["run_id"]
        answer = assay_json("profile", shuffle, "--phase", phase, "--repository", repository)
        top[phase] = [row["frame"] for row in answer["frames"]]
    assert top["reduce"][0] == BURNED
    assert BURNED not in top["map"] + top["shuffle"]


def test_a_job_in_its_application_masters_jvm_is_valid_without_a_profile(
    repository: Path, runs: dict[str, dict[str, Any]]
) -> None:
    shown = assay_json("show", runs["wordcount"]["run_id"], "--repository", repository)
    assert shown["environment"]["profile"]["attempts_stored"] == 0
    assert any("have no readable profile" in str(warning) for warning in shown["warnings"])


def test_without_java_the_error_has_the_cause_the_place_and_a_hint(tmp_path: Path) -> None:
    plan = write_local_plan(tmp_path, "nojava", BODY, java_home="/nonexistent")
    done = assay("run", plan, "--repository", tmp_path / "repository", check=False)
    assert done.returncode == 5
    assert "/nonexistent/bin/java" in done.stderr
    assert "java_home" in done.stderr
