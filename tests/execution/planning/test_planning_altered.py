"""Test changes to one configuration of a plan: accepted values and refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.execution.planning.plan_files.changed_plan import changed_plan, only_run, parse_changes, parse_question
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.foundation.errors import SpecificationError
from assay.model.plans.plan import Plan

CLUSTER = """cluster: small
lab: {scale: 1/20}
node_types:
  master: {cores: 4, memory: 16GB, nic: 1Gbit/s}
  worker:
    cores: 4
    memory: 16GB
    nic: 1Gbit/s
    cpu: {model: Xeon, speed: 0.6}
    devices:
      hdd: {kind: hdd, count: 2, read: 120MB/s, write: 120MB/s, iops: 120, capacity: 500GB}
      ssd: {kind: ssd, count: 2, read: 500MB/s, write: 460MB/s, capacity: 480GB}
nodes:
  master: {type: master, roles: [master]}
  worker: {type: worker, roles: [worker], count: 3}
networks: {ETH: 1Gbit/s, IB: 56Gbit/s}
racks: {nodes: 2, uplink: 8Gbit/s}
"""
PLAN = """plan: small
cluster: cluster.yaml
workloads:
  - terasort: {data: 2GB, maps: 6, reduces: 6}
  - dfsio-write: {data: 2GB, files: 6}
factors:
  layout: [HD2, SS2]
  network: [ETH, IB]
  terasort.reduces: [6, 12]
"""
LEVELS = {"layout": "HD2", "network": "ETH", "terasort.reduces": "12"}


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "plan.yaml").write_text(PLAN)
    return load_plan(tmp_path / "plan.yaml")


def test_a_plan_without_changes_has_the_measured_configuration(plan: Plan) -> None:
    run = only_run(changed_plan(plan, LEVELS, "terasort"))
    assert (run.configuration.layout.name, run.configuration.network) == ("HD2", "ETH")
    assert run.workload.parameters == {"maps": "6", "reduces": "12"}
    assert plan.cluster.workers[0].type.cpu_speed == 0.6
    assert plan.cluster.racks is not None
    assert plan.cluster.racks.uplink_bits_per_s == 8e9


def test_everything_that_a_plan_can_set_can_be_set(plan: Plan) -> None:
    changes = parse_changes(["layout=SS2", "containers=3", "data=10TB", "terasort.maps=9", "dfs.replication=2"])
    run = only_run(changed_plan(plan, LEVELS, "terasort", changes))
    assert run.configuration.layout.name == "SS2"
    assert run.configuration.parameters["yarn.nodemanager.resource.cpu-vcores"] == "3"
    assert run.configuration.parameters["dfs.replication"] == "2"
    assert run.workload.data_bytes == 10**13
    assert run.workload.parameters["maps"] == "9"


def test_the_described_cluster_can_be_changed(plan: Plan) -> None:
    texts = [
        "workers=5",
        "nic=25GbE",
        "worker.devices.ssd.count=3",
        "worker.devices.hdd.read=200MB/s",
        "worker.cores=16",
        "worker.cpu.speed=2",
        "racks.uplink=40Gbit/s",
        "layout=SS3",
    ]
    changed = changed_plan(plan, LEVELS, "dfsio-write", parse_question(texts))
    worker = changed.cluster.workers[-1]
    assert [node.name for node in changed.cluster.workers] == [f"worker{n}" for n in range(1, 6)]
    assert worker.type.nic.rate_bits_per_s == 25e9
    assert only_run(changed).configuration.network is None  # the network that was chosen gave way to the link
    assert {d.name for d in worker.type.devices} == {"hdd1", "hdd2", "ssd1", "ssd2", "ssd3"}
    assert (worker.type.cores, worker.type.cpu_speed) == (16, 2.0)
    assert changed.cluster.racks is not None
    assert (changed.cluster.racks.nodes, changed.cluster.racks.uplink_bits_per_s) == (2, 40e9)
    fewer = changed_plan(plan, LEVELS, "terasort", [("workers.count", "2"), ("dfs.replication", "2")])
    assert len(fewer.cluster.workers) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("layout=SS9", "SS9"),
        ("foo=1", "foo"),
        ("worker.ram=5GB", "cpu.speed"),
        ("worker.devices.nvme.count=1", "hdd, ssd"),
        ("worker.devices.ssd.count=0", "whole number"),
        ("worker.devices.ssd.read=0MB/s", "more than 0"),
        ("workers.count=many", "whole number"),
        ("workers=0", "workers.count: '0' is not a whole number"),
        ("worker=12", "workers.count"),
        ("maps=9GB", "whole number"),
        ("files=12", "TeraSort has no setting 'files'"),
        ("machines=12", "its settings are layout, network, engine, containers"),
        ("workrs.count=12", "TeraSort has no setting 'workrs.count'"),
        ("workrs.count=12", "did you mean 'workers.count'?"),
        ("wrker.cores=12", "did you mean 'worker.cores'"),
        ("rack.nodes=12", "did you mean 'racks.nodes'?"),
        ("nothing.count=12", "no configuration file of Hadoop has this parameter"),
        ("nic=fast", "nic"),
        ("nic=-5Gbit/s", "'-5Gbit/s' must not be negative"),
        ("layout", "NAME=VALUE"),
        ("dfs.replication=7", "copies"),
    ],
)
def test_impossible_input_is_refused_with_the_reason(plan: Plan, text: str, words: str) -> None:
    with pytest.raises(SpecificationError) as caught:
        changed_plan(plan, LEVELS, "terasort", parse_question([text]))
    assert words in str(caught.value)


def test_a_name_is_set_once() -> None:
    with pytest.raises(SpecificationError, match="twice"):
        parse_changes(["data=1GB", "data=2GB"])
    with pytest.raises(SpecificationError, match="twice"):
        parse_question(["workers=4", "workers.count=5"])


@pytest.mark.parametrize("word", ["workers", "nodes"])
def test_a_question_can_have_another_number_of_workers(plan: Plan, word: str) -> None:
    assert parse_question([f" {word} =5"]) == parse_question(["workers.count=5"])
    assert len(changed_plan(plan, LEVELS, "terasort", parse_question([f"{word}=5"])).cluster.workers) == 5


def test_parameters_of_a_tuning_run_are_kept_though_no_factor_sets_them(plan: Plan) -> None:
    """Such as one of a tuning, whose levels are its own."""
    levels = {**LEVELS, "mapreduce.task.io.sort.mb": "44", "compression": "snappy"}
    parameters = only_run(changed_plan(plan, levels, "terasort")).configuration.parameters
    assert parameters["mapreduce.task.io.sort.mb"] == "44"
    assert parameters["mapreduce.map.output.compress"] == "true"


@pytest.mark.parametrize("engine", ["hadoop", "spark"])
def test_a_run_of_a_plan_that_varies_engines_keeps_its_engine(tmp_path: Path, engine: str) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    varied = PLAN.replace("  - dfsio-write: {data: 2GB, files: 6}\n", "").replace(
        "factors:", "factors:\n  engine: [hadoop, spark]"
    )
    (tmp_path / "plan.yaml").write_text(varied)
    changed = changed_plan(load_plan(tmp_path / "plan.yaml"), {**LEVELS, "engine": engine}, "terasort")
    assert changed.engine == engine
