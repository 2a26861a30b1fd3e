"""Test a small Spark campaign with daemons on this machine: rows, records and SQL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from assay.execution.engines.spark.distribution import find
from campaign_support import assay, assay_json, end_java_processes, java_processes, require_hadoop, write_local_plan
from paths import ARCHIVED_JAVA

pytestmark = pytest.mark.hadoop

OPTIONS = {
    "terasort": "maps: 2, reduces: 2",
    "shuffle": "maps: 2, reduces: 2, payload: random, map_burn_ms: 1500",
    "sql-join": "maps: 1, reduces: 2",
}
DECISIONS = {"decision-support": "maps: 1, streams: 1"}
DYNAMIC_ALLOCATION = "spark.sql.shuffle.partitions: 2, spark.dynamicAllocation.enabled: true"
BODY = """
layout: SSD
parameters: {{dfs.replication: 1, spark.master: standalone, spark.executor.cores: 1, profile: cpu, {}}}
workloads:
{}
factors: {{spark.io.compression.codec: [zstd]}}
repetitions: 1
attempts: 1
"""


def plan_of(
    folder: Path, name: str, options: dict[str, str], parameters: str = "", java_home: Path = ARCHIVED_JAVA
) -> Path:
    lines = "\n".join(
        f"  - {workload}: {{data: 2MB, {workload_options}}}" for workload, workload_options in options.items()
    )
    plan = write_local_plan(folder, name, BODY.format(parameters, lines), java_home=java_home)
    plan.write_text(plan.read_text().replace("engine: hadoop", "engine: spark"))
    return plan


def runs_of(plan: Path, repository: Path) -> list[dict[str, Any]]:
    assay("run", plan, "--repository", repository, "--no-baseline", check=False)
    return [json.loads(path.read_text()) for path in sorted(repository.glob("bundles/*/run.json"))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    require_hadoop()
    if find() is None:
        pytest.skip("there is no Spark here: `assay spark fetch`, or set SPARK_HOME")
    folder = tmp_path_factory.mktemp("local")
    yield folder
    assert end_java_processes(str(folder)) == {}


def test_workloads_are_valid_on_spark_and_their_event_logs_are_complete(folder: Path) -> None:
    repository = folder / "repository"
    runs = runs_of(plan_of(folder, "spark", OPTIONS), repository)
    assert {run["workload"]: (run["status"], run["cause"]) for run in runs} == dict.fromkeys(OPTIONS, ("valid", None))
    for run in runs:
        assert run["engine"] == "spark"
        assert run["parameters"]["spark.io.compression.codec"] == "zstd"
        effective = run["environment"]["parameters"]
        assert effective["spark.master"].startswith("spark://")
        assert effective["spark.sql.adaptive.enabled"] == "true", "Spark's own defaults are recorded too"
        [log] = [check for check in run["checks"] if check["name"] == "event log"]
        assert log["passed"]
        assert run["jobs"]
        assert "stage 0" in [phase["name"] for phase in run["phases"]]
        profile_facts = run["environment"]["profile"]
        assert (profile_facts["kind"], profile_facts["attempts_stored"]) == ("cpu", profile_facts["attempts"])
    sort_run = next(run["run_id"] for run in runs if run["workload"] == "terasort")
    profiles = {
        stage: assay_json("profile", sort_run, "--stage", str(stage), "--repository", repository) for stage in (0, 1)
    }
    assert all("driver" in profile["attempts"] and profile["total"] for profile in profiles.values())
    shuffle_run = next(run["run_id"] for run in runs if run["workload"] == "shuffle")
    map_frames, reduce_frames = (
        assay_json("profile", shuffle_run, "--stage", stage, "--repository", repository)["frames"]
        for stage in ("0", "1")
    )
    assert map_frames[0]["frame"] == "io/github/assay/jobs/Burner.burnCpu"
    assert map_frames[0]["frame"] not in {row["frame"] for row in reduce_frames}
    all_stages = assay_json("profile", sort_run, "--repository", repository)
    assert all_stages["named_share"] == 1
    assert "user code" in {row["category"] for row in all_stages["categories"]}
    description = assay_json("show", runs[0]["run_id"], "--repository", repository)
    assert description["engine"].startswith("spark")
    assert assay_json("verify", "--repository", repository) == []


@pytest.mark.long
def test_decision_support_is_answered_by_executors_that_come_and_go(folder: Path) -> None:
    [run] = runs_of(plan_of(folder, "decisions", DECISIONS, DYNAMIC_ALLOCATION), folder / "decided")
    assert (run["status"], run["cause"]) == ("valid", None)
    assert {"question 14", "question 12", "stream 1"} <= {phase["name"] for phase in run["phases"]}
    assert {"power_s", "streams_s", *(f"question_{n:02d}_s" for n in range(1, 23))} <= {*run["metrics"]}
    [answers] = [check for check in run["checks"] if check["name"] == "answers"]
    assert answers["detail"].startswith("DuckDB's: 22 questions, ")


def test_a_java_that_is_too_old_is_refused_before_anything_starts(folder: Path, tmp_path: Path) -> None:
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        f'#!/bin/sh\ncase $1 in -version) echo \'openjdk version "17.0.9"\' >&2;; *) exec {which("java")} "$@";; esac\n'
    )
    java.chmod(0o755)
    plan = plan_of(tmp_path, f"old-{folder.name}", OPTIONS, java_home=java.parents[1])
    result = assay("run", plan, "--repository", tmp_path / "repository", "--no-baseline", check=False)
    assert result.returncode == 5
    assert "Java 17.0.9 is too old for Spark" in result.stderr
    assert java_processes(str(tmp_path)) == {}
