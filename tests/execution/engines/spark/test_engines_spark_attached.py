"""Test an attached Spark with a client script in its place: requests, fetched files, refusals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from assay.execution.engines.catalogue import engine_kind
from assay.execution.engines.contract import Engine, Provider
from assay.execution.engines.spark.attached import AttachedSpark
from assay.execution.engines.spark.distribution import SparkDistribution
from assay.execution.engines.spark.programs import SparkPrograms
from assay.execution.hosts import LocalTransport
from assay.foundation.errors import EngineError
from assay.model.clusters.cluster import Attachment, Cluster, Nic, Node, NodeType, Placement, Role, SparkClient
from assay.model.clusters.layout import Directories, Layout
from assay.model.plans.configuration import Configuration
from assay.model.plans.program import Program
from assay.model.runs.warning import WarningCode
from played_hadoop import CLIENT, Theirs, serving, site_xml
from spark_samples import application, log

SUBMIT = """\
#!/bin/sh
[ "$1" = --version ] && {{ echo "version {version}" >&2; exit 0; }}
echo "$HADOOP_CONF_DIR $SPARK_CONF_DIR $*" > {folder}/asked-spark
for word in "$@"; do case "$word" in spark.yarn.tags=*) tag=${{word#*=}};; esac; done
echo "{{\\"someone\\": \\"else's\\"}}" > {folder}/events/application_1_0008
sed "s/OUR-TAG/$tag/" {folder}/event-log > {folder}/events/application_1_0009
sleep {sleep}
"""
ROWS = Program("io.github.assay.spark.Rows", ("100", "2", "/assay/output/x"), engine="spark")


@pytest.fixture
def theirs() -> Iterator[tuple[Theirs, int]]:
    with serving(Theirs()) as served:
        yield served


@pytest.fixture(autouse=True)
def nothing_is_built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def ship(*_: object) -> object:
        from assay.execution.engines.hadoop.jobs.jobs import JobsJar

        return JobsJar("/ours/jobs.jar")

    async def ship_programs(*_: object) -> str:
        return "/ours/programs.jar"

    monkeypatch.setattr("assay.execution.engines.hadoop.jobs.jobs.ship", ship)
    monkeypatch.setattr("assay.execution.engines.hadoop.jobs.jobs.require", lambda _: tmp_path)
    monkeypatch.setattr(
        "assay.execution.engines.spark.attached.require", lambda _: SparkDistribution(tmp_path, "4.3.0")
    )
    monkeypatch.setattr(
        "assay.execution.engines.spark.programs.require",
        lambda *_: SparkPrograms(tmp_path, {"spark.memory.fraction": "0.6"}),
    )
    monkeypatch.setattr("assay.execution.engines.spark.programs.ship", ship_programs)


def attached_provider(
    folder: Path, port: int, *, version: str = "4.3.0", master: str = "yarn", output: str = "", sleep_s: float = 0.0
) -> Provider:
    site_xml(folder, port)
    for name, text in (
        ("hadoop", CLIENT.format(folder=folder, sleep=0)),
        ("spark-submit", SUBMIT.format(folder=folder, version=version, sleep=sleep_s)),
    ):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (folder / "events").mkdir(exist_ok=True)
    tagged = [
        {**event, "Spark Properties": {**event["Spark Properties"], "spark.yarn.tags": "OUR-TAG"}}
        if event["Event"] == "SparkListenerEnvironmentUpdate"
        else event
        for event in application()
    ]
    (folder / "event-log").write_bytes(log(tagged))
    lines = (
        output
        or "spark.eventLog.enabled  true\n"
        f"spark.eventLog.dir=file://{folder}/events\n# a word\nspark.executor.memory 3g"
    )
    (folder / "spark-defaults.conf").write_text(lines)
    page = f"127.0.0.1:{port}" if master != "yarn" else None
    client = SparkClient(str(folder / "spark-submit"), str(folder), master, page)
    attachment = Attachment("node", str(folder / "hadoop"), str(folder), "nights", "/user/me/assay", spark=client)
    node = Node("node", NodeType("t", 2, 2**33, (), Nic(1e9)), frozenset(Role))
    cluster = Cluster("theirs", Placement.LOCAL, (node,), home=str(folder / "home"), attached=attachment)
    return engine_kind("spark").provider_of(cluster)(cluster, {"node": LocalTransport("node")})


def configuration(engine: str = "spark") -> Configuration:
    parts = (Directories("ssd"),)
    return Configuration({}, Layout("SSD", parts, parts), {"dfs.replication": "1"}, engine=engine)


async def open_engine(provider: Provider) -> Engine:
    await provider.open(lambda _: None)
    return (await provider.provide(configuration(), lambda _: None)).engine


async def test_a_program_is_submitted_by_the_client_and_its_log_identified_among_others(
    theirs: tuple[Theirs, int], tmp_path: Path
) -> None:
    server, port = theirs
    provider = attached_provider(tmp_path, port)
    assert isinstance(provider, AttachedSpark)
    engine = await open_engine(provider)
    try:
        result = await engine.run(ROWS, {"spark.executor.cores": "3"}, timeout_s=30, label="job", show=print)
        hadoop = (await provider.provide(configuration("hadoop"), lambda _: None)).engine
        assert hadoop.facts.name == "hadoop"
    finally:
        await provider.close()
    assert provider.engine is None
    assert result.outcome.exit_status == 0
    assert list(result.logs) == ["job.log", "application_1_0009"]
    assert result.tasks
    [line] = (tmp_path / "asked-spark").read_text().splitlines()
    assert line.startswith(f"{tmp_path} {tmp_path} --conf ")
    lines = [
        "spark.master=yarn",
        "spark.submit.deployMode=client",
        "spark.yarn.queue=nights",
        "spark.yarn.stagingDir=/user/me/assay/staging",
        f"spark.eventLog.dir=file://{tmp_path}/events",
        "spark.executor.cores=3",
        "spark.executor.instances=1",
    ]
    assert [words for words in lines if f"--conf {words} " not in line] == []
    assert "spark.executor.memory" not in line, "sizes that the plan does not set are the cluster's"
    assert line.endswith(
        "--jars /ours/jobs.jar --class io.github.assay.spark.Rows /ours/programs.jar 100 2 /user/me/assay/SSD/output/x"
    )
    changing_requests = [request for request in server.asked if not request.startswith("GET")]
    assert all("/webhdfs/v1/user/me/assay" in request for request in changing_requests)
    effective = engine.effective_parameters({})
    assert effective["spark.executor.memory"] == "3g"
    assert effective["spark.memory.fraction"] == "0.6"


async def test_obstacles_are_reported_before_the_attachment(theirs: tuple[Theirs, int], tmp_path: Path) -> None:
    _, port = theirs
    with pytest.raises(EngineError, match=r"runs Spark 3\.5\.1, but assay's own .* for Spark 4\.3\.0"):
        await attached_provider(tmp_path, port, version="3.5.1").open(lambda _: None)
    with pytest.raises(EngineError, match="it prints no version"):
        await attached_provider(tmp_path, port, version="of nothing").open(lambda _: None)
    with pytest.raises(EngineError, match="Spark's master is None, not ALIVE"):
        await attached_provider(tmp_path, port, master="spark://127.0.0.1:7077").open(lambda _: None)
    provider = attached_provider(tmp_path, port)
    (tmp_path / "spark-submit").unlink()
    with pytest.raises(EngineError, match="Spark's client does not run"):
        await provider.open(lambda _: None)
    await attached_provider(tmp_path, port).open(lambda _: None)


@pytest.mark.parametrize("output", ["# nothing", "spark.eventLog.enabled true\nspark.eventLog.dir s3a://logs/spark"])
async def test_logs_go_into_the_campaigns_folder_where_those_of_the_cluster_are_unreadable(
    theirs: tuple[Theirs, int], tmp_path: Path, output: str
) -> None:
    server, port = theirs
    messages: list[str] = []
    provider = attached_provider(tmp_path, port, output=output)
    await provider.open(messages.append)
    await provider.close()
    [message] = [message for message in messages if "event logs" in message]
    assert message.startswith("event logs go to /user/me/assay/spark-events: ")
    assert any(request.startswith("PUT /webhdfs/v1/user/me/assay/spark-events") for request in server.asked)


@pytest.mark.slow
async def test_other_applications_on_the_standalone_master_disturb_a_run(
    theirs: tuple[Theirs, int], tmp_path: Path
) -> None:
    server, port = theirs
    server.spark = {
        "status": "ALIVE",
        "workers": [{"state": "ALIVE"}],
        "activeapps": [{"id": "app-1", "cores": 6}, {"id": "app-2", "cores": 2}],
    }
    provider = attached_provider(tmp_path, port, master="spark://127.0.0.1:7077", sleep_s=2.5)
    engine = await open_engine(provider)
    try:
        result = await engine.run(ROWS, {"spark.executor.cores": "3"}, timeout_s=30, label="job", show=print)
        assert await engine.health_check() is None
        server.spark = {"status": "ALIVE", "workers": []}
        assert await engine.health_check() == "Spark's master has no live worker"
    finally:
        await provider.close()
    warnings = [str(warning) for warning in result.warnings if warning.code is WarningCode.DISTURBED]
    assert warnings == ["disturbed by others: 2 other applications used 8 cores of Spark's cluster"]
    assert "spark.cores.max=3" in (tmp_path / "asked-spark").read_text()


def test_a_plan_may_not_set_what_the_cluster_file_sets(tmp_path: Path) -> None:
    rules = engine_kind("spark").rules
    attachment = Attachment("node", "hadoop", "/conf", "nights", "/user/me/assay")
    node = Node("node", NodeType("t", 2, 2**33, (), Nic(1e9)), frozenset(Role))
    cluster = Cluster("theirs", Placement.LOCAL, (node,), home=str(tmp_path), attached=attachment)

    def mistakes(**parameters: str) -> str:
        named = {name.replace("_", "."): value for name, value in parameters.items()}
        return " ".join(mistake.reason for mistake in rules.mistakes(named, cluster, 1, list(named)))

    assert mistakes(spark_executor_memory="640g", spark_executor_cores="64") == "", "how much there is, only it knows"
    assert "is set by the cluster file" in mistakes(spark_master="standalone")
    assert "which names your queue and folder" in mistakes(spark_yarn_queue="theirs")
    assert "less than the 450 MiB" in mistakes(spark_executor_memory="64m")
    assert "configures daemons" in mistakes(yarn_nodemanager_resource="1")
    assert rules.warnings({"spark.dynamicAllocation.enabled": "true"}, cluster) == ()
    assert rules.warnings({"spark.dynamicAllocation.enabled": "true"}, replace(cluster, attached=None))
