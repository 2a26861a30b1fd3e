"""A campaign on Spark, tiny, on daemons of this machine: rows, records and SQL, valid by the checks that all have."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.engines.spark.distribution import find
from campaign_support import assay, assay_json, end_java_processes, require_hadoop, write_local_plan

pytestmark = pytest.mark.hadoop

OPTIONS = {
    "terasort": "maps: 2, reduces: 2",
    "shuffle": "maps: 2, reduces: 2, payload: random",
    "sql-join": "maps: 1, reduces: 2",
}
BODY = """
layout: SSD
parameters: {{dfs.replication: 1, spark.master: standalone, spark.executor.cores: 1}}
workloads:
{}
factors: {{spark.io.compression.codec: [zstd]}}
repetitions: 1
attempts: 1
""".format("\n".join(f"  - {name}: {{data: 2MB, {options}}}" for name, options in OPTIONS.items()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    require_hadoop()
    if find() is None:
        pytest.skip("there is no Spark here: `assay spark fetch`, or set SPARK_HOME")
    folder = tmp_path_factory.mktemp("local")
    yield folder
    assert end_java_processes(str(folder)) == {}


def test_workloads_are_valid_on_spark_and_their_event_logs_are_whole(folder: Path) -> None:
    plan, repository = write_local_plan(folder, "spark", BODY), folder / "repository"
    plan.write_text(plan.read_text().replace("engine: hadoop", "engine: spark"))
    assay("run", plan, "--repository", repository, "--no-baseline", check=False)
    runs = [json.loads(path.read_text()) for path in sorted(repository.glob("bundles/*/run.json"))]
    assert {run["workload"]: (run["status"], run["cause"]) for run in runs} == dict.fromkeys(OPTIONS, ("valid", None))
    for run in runs:
        assert run["engine"] == "spark"
        assert run["parameters"]["spark.io.compression.codec"] == "zstd"
        effective = run["environment"]["parameters"]
        assert effective["spark.master"].startswith("spark://")
        assert effective["spark.sql.adaptive.enabled"] == "true", "what Spark takes by itself is recorded too"
        [log] = [check for check in run["checks"] if check["name"] == "event log"]
        assert log["passed"]
        assert run["jobs"]
        assert "stage 0" in [phase["name"] for phase in run["phases"]]
    shown = assay_json("show", runs[0]["run_id"], "--repository", repository)
    assert shown["engine"].startswith("spark")
    assert assay_json("verify", "--repository", repository) == []
