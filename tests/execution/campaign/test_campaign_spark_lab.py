"""Test Spark on the lab: losses during a run are reported, the campaign continues, and datasets are queried."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.execution.campaign.attempts.runner import connect
from assay.execution.engines.catalogue import engine_kind
from assay.execution.engines.contract import ProviderKind
from assay.execution.engines.spark.distribution import find
from assay.execution.engines.spark.engine import SparkEngine
from assay.execution.hosts.transport import Transport
from assay.execution.lab.lifecycle import Lab
from assay.execution.lab.state import state_root
from assay.execution.planning.expansion import expand
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.model.clusters.cluster import Cluster
from assay.model.runs.run_status import RunStatus
from assay.specs import load_cluster
from builders import build_repository, make_run
from campaign_support import assay, assay_json, java_processes, require_hadoop, write_lab_plan
from fault_runner import inject_faults_in_turn
from fault_table import ROWS
from lab_support import left_of, require_lab, unique_name

pytestmark = [pytest.mark.lab, pytest.mark.hadoop, pytest.mark.long]

ASKED = ("decide", "layout", "--details", "options", "--where", "workload=terasort")
STANDING = """
layout: HDD
parameters: {dfs.replication: 2, spark.master: standalone}
workloads:
  - terasort: {data: 20MB}
"""
# Configuration of the Spark's owner: the path of its jars on the nodes, and executors that fit.
DEFAULTS = """spark.yarn.jars local:{jars}/*
spark.executor.instances 2
spark.executor.memory 512m
spark.executor.memoryOverhead 128m
spark.yarn.am.memory 256m
spark.yarn.am.memoryOverhead 128m
spark.cores.max 4
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """Yield a folder with a cluster file and a plan, and the name of their lab, which is up."""
    require_lab()
    require_hadoop()
    if find() is None:
        pytest.skip("there is no Spark here: `assay spark fetch`, or set SPARK_HOME")
    folder, name = tmp_path_factory.mktemp("spark"), unique_name("spark")
    write_lab_plan(folder, name, STANDING)
    assay("lab", "up", folder / "cluster.yaml")
    yield folder, name
    assay("lab", "down", name)
    assert left_of(name, state_root()) == []


def test_losses_of_spark_are_named_and_the_campaign_continues(lab: tuple[Path, str], tmp_path: Path) -> None:
    """A fault goes in by each run, one after the other, and the run after all of them is valid."""
    outcomes, wrong = inject_faults_in_turn([row for row in ROWS if row.in_turn], tmp_path, lab[1])
    for outcome in outcomes:
        print(
            f"{outcome.row.name}: {outcome.attempts}; {outcome.cause}; noticed after {outcome.noticed_s} s; "
            f"{outcome.took_s:.0f} s"
        )
    assert {outcome.row.name: outcome.wrong for outcome in outcomes if outcome.wrong} == {}
    assert wrong == []


async def _client(transport: Transport, cluster: Cluster, engine: SparkEngine, folder: Path) -> dict[str, str]:
    """Return the environment of a user of that Spark on this machine: configuration files, and an address by which
    executors reach the driver.
    """
    settings = {name: folder / name for name in ("hadoop", "spark")}
    for path in settings.values():
        path.mkdir()
    there = engine.hadoop.daemons.configuration_directory()
    for name in ("core-site.xml", "hdfs-site.xml", "yarn-site.xml"):
        (settings["hadoop"] / name).write_bytes(await transport.read_file(f"{there}/{name}"))
    jars = engine.effective_parameters({})["spark.yarn.jars"].removeprefix("local:").removesuffix("/*")
    (settings["spark"] / "spark-defaults.conf").write_text(DEFAULTS.format(jars=jars))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        way.connect((cluster.hosts[cluster.master.name], 9))
        address = way.getsockname()[0]
    return {
        "HADOOP_CONF_DIR": str(settings["hadoop"]),
        "SPARK_CONF_DIR": str(settings["spark"]),
        "SPARK_LOCAL_IP": address,
    }


def _answers(dataset: str, masters: tuple[str, ...], root: Path) -> dict[str, Any]:
    """Export in two batches, ask by each Spark, and return the answers by master; the repository's own by ``""``."""
    repository = build_repository(root)
    here = ("--repository", str(root))
    for number in range(3):
        more = make_run(9000 + number, layout=("HD2", "SSD")[number % 2], duration_s=31.7 + number / 3)
        repository.publish(replace(more, status=RunStatus.INVALID, cause="x") if number == 2 else more)
        if number != 1:
            assay("export", "--dataset", dataset, *here)
    asked = {on: assay_json(*ASKED, "--dataset", dataset, "--on", on) for on in masters}
    return {"": assay_json(*ASKED, *here), **asked}


async def test_a_dataset_on_hdfs_has_the_same_answers_from_yarn_and_from_sparks_standalone_master(
    lab: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, name = lab
    made = Lab.attach(name, described=load_cluster(folder / "cluster.yaml"))
    async with AsyncExitStack() as stack:
        stack.callback(made.detach)
        transports = await connect(made.cluster, stack)
        provider = engine_kind("spark").providers[ProviderKind.DEPLOYED](made.cluster, transports)
        await provider.open(print)
        stack.push_async_callback(provider.close)
        [configuration] = expand(load_plan(folder / "plan.yaml"))
        engine = (await provider.provide(configuration, print)).engine
        assert isinstance(engine, SparkEngine)
        assert engine.standalone is not None
        client = await _client(transports[made.cluster.master.name], made.cluster, engine, tmp_path)
        for variable, value in client.items():
            monkeypatch.setenv(variable, value)
        masters = (engine.standalone.url, "yarn")
        address = engine.effective_parameters({})["fs.defaultFS"]
        answers = await asyncio.to_thread(_answers, f"{address}/assay/runs", masters, tmp_path / "repository")
    assert java_processes(name) == {}
    assert answers[""]
    for on in masters:
        assert answers[on] == answers[""], on
