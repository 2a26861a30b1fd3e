"""Test Spark at plan time and around its programs: parameters, impossible values, sources, gaps in logs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from assay.execution.engines.catalogue import engine_kind
from assay.execution.engines.hadoop.settings.configuration import Deployment, Ports
from assay.execution.engines.spark import distribution, settings
from assay.execution.engines.spark.history import read_history
from assay.execution.engines.spark.java import minimum_java, require_java, version_of
from assay.execution.hosts.local import LocalTransport
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.foundation.errors import EngineError, SpecificationError
from assay.model.clusters.cluster import Cluster
from assay.model.clusters.layout import Directories, Layout
from assay.model.plans.rules import Rules
from assay.specs import load_cluster
from assay.workloads.catalogue import workloads
from assay.workloads.workload import Size
from paths import EXAMPLES, ROOT

RULES: Rules = engine_kind("spark").rules
EVENTS: list[dict[str, object]] = [
    {"Event": "SparkListenerLogStart", "Spark Version": "4.3.0"},
    {
        "Event": "SparkListenerApplicationStart",
        "App Name": "TeraSort",
        "App ID": "app-1",
        "Timestamp": 1_700_000_002_000,
    },
    {"Event": "SparkListenerJobStart", "Job ID": 0, "Submission Time": 1_700_000_003_000, "Stage IDs": [0]},
    {
        "Event": "SparkListenerTaskEnd",
        "Stage ID": 0,
        "Stage Attempt ID": 0,
        "Task Type": "ResultTask",
        "Task End Reason": {"Reason": "Success"},
        "Task Info": {
            "Task ID": 0,
            "Index": 0,
            "Launch Time": 1_700_000_003_500,
            "Finish Time": 1_700_000_004_000,
            "Host": "w1",
        },
    },
    {
        "Event": "SparkListenerStageCompleted",
        "Stage Info": {
            "Stage ID": 0,
            "Stage Name": "save",
            "Number of Tasks": 1,
            "Submission Time": 1_700_000_003_000,
            "Completion Time": 1_700_000_004_000,
        },
    },
    {
        "Event": "SparkListenerJobEnd",
        "Job ID": 0,
        "Completion Time": 1_700_000_004_000,
        "Job Result": {"Result": "JobSucceeded"},
    },
    {"Event": "SparkListenerApplicationEnd", "Timestamp": 1_700_000_005_000, "ExitCode": 0},
]


def log(events: list[dict[str, object]]) -> dict[str, bytes]:
    return {"events_1_app-1": b"".join(json.dumps(event).encode() + b"\n" for event in events), "appstatus_app-1": b""}


def without(name: str) -> list[dict[str, object]]:
    return [event for event in EVENTS if event["Event"] != f"SparkListener{name}"]


@pytest.fixture
def cluster() -> Cluster:
    return load_cluster(EXAMPLES / "lab" / "cluster.yaml")


def test_a_complete_log_has_jobs_tasks_and_phases_from_the_drivers_start() -> None:
    record = read_history(log(EVENTS), 1_700_000_000.0)
    assert [(job.job_id, job.name, job.status, job.submit_s, job.finish_s) for job in record.jobs] == [
        ("0", "save", "succeeded", 3.0, 4.0)
    ]
    assert [(task.node, task.start_s, task.end_s) for task in record.tasks] == [("w1", 3.5, 4.0)]
    assert [(phase.name, phase.start_s, phase.end_s) for phase in record.phases] == [
        ("setup", 0.0, 3.0),
        ("stage 0", 3.0, 4.0),
        ("cleanup", 4.0, 5.0),
    ]
    assert [check.passed for check in record.checks] == [True]


@pytest.mark.parametrize(
    ("events", "words"),
    [
        (without("TaskEnd"), "1 successful tasks are missing: Spark dropped their events"),
        (without("JobEnd"), "the log ends before the application, with 1 jobs running"),
        (without("ApplicationEnd"), "the log ends before the application"),
        ([], "no application starts in this log"),
    ],
)
def test_a_log_with_a_gap_is_a_check_that_fails(events: list[dict[str, object]], words: str) -> None:
    [check] = read_history(log(events), 1_700_000_000.0).checks
    assert not check.passed
    assert words in check.detail


def test_a_log_that_was_cut_off_or_never_written_is_a_check_that_fails() -> None:
    [cut] = read_history({"events_1_app": log(EVENTS)["events_1_app-1"][:-20]}, 0.0).checks
    assert "cut off" in cut.detail
    [none] = read_history({}, 0.0).checks
    assert not none.passed


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"spark.executor.memory": "4g"}, "an executor of 4224 MiB never fits on a node that gives 1536 MiB"),
        ({"spark.executor.memory": "300m"}, "less than the 450 MiB that Spark needs"),
        (
            {"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.minExecutors": "4"},
            "4 executors are requested, but at most 3 are allowed",
        ),
        (
            {"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.maxExecutors": "9"},
            "9 executors of 768 MiB are requested, but only 5 fit in addition to the ApplicationMaster's",
        ),
        (
            {"spark.executor.instances": "9"},
            "9 executors of 768 MiB are requested, but only 5 fit in addition to the ApplicationMaster's",
        ),
    ],
)
def test_containers_that_never_fit_are_reported_before_the_start(
    cluster: Cluster, parameters: dict[str, str], words: str
) -> None:
    assert not [*RULES.mistakes({"dfs.replication": "2"}, cluster, 3)]
    mistakes = [*RULES.mistakes({"dfs.replication": "2", **parameters}, cluster, 3)]
    assert words in mistakes[0].reason
    assert {name for name in parameters if not name.endswith("enabled")} <= set(mistakes[0].names)


def test_a_plan_whose_executors_do_not_fit_is_refused_with_its_line(tmp_path: Path) -> None:
    cluster = EXAMPLES / "lab" / "cluster.yaml"
    text = f"plan: p\ncluster: {cluster}\nengine: spark\nlayout: HDD\nworkloads: [terasort: {{data: 1GB}}]\n"
    (tmp_path / "plan.yaml").write_text(f"{text}parameters: {{dfs.replication: 2, spark.executor.memory: 9g}}\n")
    with pytest.raises(SpecificationError, match=r"an executor of 9344 MiB never fits on a node") as caught:
        load_plan(tmp_path / "plan.yaml")
    assert "plan.yaml:6" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("spark.executor.cores", "two", "not a whole number"),
        ("spark.executor.memory", "2 GiB RAM", "is not a size"),
        ("spark.master", "mesos", "valid: yarn, standalone"),
        ("spark.io.compression.codec", "brotli", "valid: snappy, lz4, lzf, zstd"),
        ("compression", "brotli", "valid: none, snappy, lz4, lzf, zstd"),
        ("spark.dynamicAllocation.enabled", "perhaps", "not true or false"),
        ("spark.dynamicAllocation.minExecutors", "-1", "not a whole number"),
        ("spark.dynamicAllocation.maxExecutors", "0", "not a whole number above 0"),
        ("dfs.replication", "0", "not a number of copies"),
    ],
)
def test_an_impossible_setting_is_named(cluster: Cluster, name: str, value: str, words: str) -> None:
    assert words in (RULES.setting_mistake(name, value, cluster) or "")


def test_compression_sets_both_engines_alike() -> None:
    assert RULES.parameters({"compression": "zstd"}) == {
        "spark.shuffle.compress": "true",
        "spark.shuffle.spill.compress": "true",
        "spark.io.compression.codec": "zstd",
    }
    both = RULES.parameters({"compression": "snappy"})
    assert both["mapreduce.map.output.compress.codec"].endswith("SnappyCodec")
    assert both["spark.io.compression.codec"] == "snappy"
    assert RULES.parameters({"compression": "none"}) == {
        "mapreduce.map.output.compress": "false",
        "spark.shuffle.compress": "false",
        "spark.shuffle.spill.compress": "false",
    }


@pytest.mark.parametrize(
    ("text", "mib"), [("640m", 640), ("2g", 2048), ("512", 512), ("1024k", 1), ("2GiB", 2048), ("2 g", None)]
)
def test_sizes_are_read_as_spark_writes_them(text: str, mib: float | None) -> None:
    assert settings.memory_mb(text) == mib


def test_the_spark_of_spark_home_is_used_or_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with pytest.raises(EngineError, match="not a complete Spark: spark-core_"):
        distribution.find()
    (tmp_path / "jars").mkdir()
    for name in ("core", "sql", "yarn"):
        (tmp_path / "jars" / f"spark-{name}_2.12-2.4.8.jar").touch()
    with pytest.raises(EngineError, match=r"Spark 2\.4\.8 is too old"):
        distribution.find()
    (tmp_path / "jars" / "spark-core_2.12-2.4.8.jar").rename(tmp_path / "jars" / "spark-core_2.12-3.5.1.jar")
    home = distribution.find()
    assert home is not None
    assert (home.version, home.major) == ("3.5.1", 3)


@pytest.mark.slow
def test_a_spark_that_pip_cannot_install_is_reported_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(EngineError, match="pip could not download Spark") as caught:
        distribution.fetch(lambda _: None)
    assert "SPARK_HOME" in str(caught.value)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("spark", "printed", "enough"),
    [
        ("4.3.0", 'openjdk version "17.0.15" 2025-04-15', True),
        ("4.3.0", 'openjdk version "17.0.9" 2023-10-17', False),
        ("4.3.0", 'openjdk version "21" 2023-09-19', True),
        ("4.0.1", 'openjdk version "17.0.9" 2023-10-17', True),
        ("4.0.1", 'openjdk version "11.0.22" 2024-01-16', False),
        ("3.5.1", 'java version "1.8.0_402"', True),
        ("4.3.0", "not a Java", False),
    ],
)
def test_the_java_version_is_checked_against_the_spark_version(spark: str, printed: str, enough: bool) -> None:
    assert (version_of(printed) >= minimum_java(spark)) == enough


async def test_a_java_that_is_too_old_is_named_with_its_host(tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    java.chmod(0o755)
    spark = distribution.SparkDistribution(tmp_path, "4.3.0")
    with pytest.raises(
        EngineError, match=r"Java 11\.0\.2 is too old for Spark 4\.3\.0, which needs 17\.0\.11"
    ) as caught:
        await require_java({"w1": LocalTransport("w1")}, str(java), spark)
    assert caught.value.where == f"w1: {java}"


@pytest.mark.parametrize("name", [name for name, declared in workloads().items() if "spark" in declared.engines])
def test_each_program_exists_and_gets_the_paths_of_input_and_output(name: str) -> None:
    workload = workloads()[name]
    size = Size(10**9, 2, maps=4, reduces=3)
    program = workload.programs(size, "/assay/input/x")["spark"]
    source = ROOT / "java" / "spark-jobs" / "src" / "main" / "java" / f"{program.main_class.replace('.', '/')}.java"
    usage = re.search(r"\{@code (\w+) ([^}]*)\}", " ".join(source.read_text().replace("*", " ").split()))
    assert usage is not None
    assert usage[1] == program.main_class.rsplit(".", 1)[-1]
    assert len(usage[2].split()) == len(program.arguments)
    assert set(workload.outputs) & set(program.arguments) or not workload.outputs
    if workload.input(size):
        assert "/assay/input/x" in program.arguments
    assert workload.data_moved(size, "spark").read <= workload.data_moved(size, "hadoop").read


def test_a_lost_executor_is_the_cause_and_its_attempts_count_as_failed() -> None:
    lost = json.loads(json.dumps(EVENTS[3]))
    lost["Task End Reason"] = {"Reason": "ExecutorLostFailure", "Loss Reason": "Container killed on request (exit 137)"}
    lost["Task Info"] |= {"Task ID": 7, "Failed": True}
    record = read_history(log([*EVENTS[:3], lost, *EVENTS[3:]]), 1_700_000_000.0)
    assert record.failed_tasks == 1
    assert [(check.passed, check.detail) for check in record.checks] == [
        (True, "the ends of all 2 task attempts are recorded"),
        (False, "the first failure: ExecutorLostFailure: Container killed on request (exit 137)"),
    ]


def test_a_standalone_master_gets_as_many_cores_as_the_executors_have(cluster: Cluster) -> None:
    layout = Layout("SS2", (Directories("ssd1"),), (Directories("ssd2"),))
    hosts = {node.name: "127.0.0.1" for node in cluster.nodes}
    deployment = Deployment(cluster, layout, {}, "lib/*", "java", "", "mark", Ports(), hosts, "/home/d")
    given = {"spark.executor.cores": "4", "dfs.blocksize": "16MiB"}
    on_yarn = settings.program_settings(deployment, given, {"spark.master": "yarn"})
    assert "spark.cores.max" not in on_yarn
    assert on_yarn["spark.executor.instances"] == "3", "one on each worker"
    assert on_yarn["spark.hadoop.dfs.blocksize"] == str(16 * 2**20)
    assert "-Dassay.deployment=mark" in on_yarn["spark.executor.extraJavaOptions"]
    standalone = settings.program_settings(deployment, {**given, "spark.master": "standalone"}, {})
    assert standalone["spark.cores.max"] == "12"
    dynamic = settings.program_settings(deployment, {**given, "spark.dynamicAllocation.enabled": "true"}, {})
    assert (dynamic["spark.dynamicAllocation.maxExecutors"], "spark.executor.instances" in dynamic) == ("3", False)
    ratio = "spark.scheduler.minRegisteredResourcesRatio"
    assert (on_yarn[ratio], dynamic[ratio]) == ("1.0", "0.0"), (
        "with dynamic allocation, executors start when a program has tasks"
    )


def removed(executor: str, why: str) -> dict[str, object]:
    return {"Event": "SparkListenerExecutorRemoved", "Executor ID": executor, "Removed Reason": why}


@pytest.mark.parametrize(
    ("why", "problem"),
    [
        ("Container from a bad node. Exit status: 137", "executor 1 on w1 was lost: Container from a bad node"),
        ("Executor killed by driver.", None),
        ("Container exited with a non-zero exit code 52. Error file: prelaunch.err", None),
        ("Container killed by YARN for exceeding physical memory limits", None),
    ],
)
def test_an_executor_removed_during_a_job_is_lost_unless_its_removal_was_ordered(why: str, problem: str | None) -> None:
    added: dict[str, object] = {
        "Event": "SparkListenerExecutorAdded",
        "Executor ID": "1",
        "Executor Info": {"Host": "w1", "Total Cores": 2},
    }
    record = read_history(log([*EVENTS[:2], added, EVENTS[2], removed("1", why), *EVENTS[3:]]), 0.0)
    assert problem is None if record.problem is None else problem is not None and record.problem.startswith(problem)
    after = read_history(log([*EVENTS[:2], added, *EVENTS[2:6], removed("1", why), *EVENTS[6:]]), 0.0)
    assert after.problem is None, "its jobs had ended"


def test_stages_of_jobs_that_a_program_calls_alike_are_one_phase() -> None:
    named = [{**event, "Properties": {"spark.job.description": "question 14"}} for event in EVENTS[2:3]]
    record = read_history(log([*EVENTS[:2], *named, *EVENTS[3:]]), 1_700_000_000.0)
    assert [(phase.name, phase.start_s, phase.end_s) for phase in record.phases][1] == ("question 14", 3.0, 4.0)
    assert [stage.stage_id for stage in record.stages] == [0], "stages are recorded one by one"
