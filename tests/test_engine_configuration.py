"""Hadoop's configuration files, as rendered for a layout."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.engines.hadoop.configuration import Deployment, Ports, is_job_parameter, normalised, properties, render
from assay.errors import SpecificationError
from assay.model.cluster import Cluster, Device, DeviceKind, Nic, Node, NodeType, Placement, Role
from assay.model.layout import Directories, Layout


def _device(name: str, kind: DeviceKind) -> Device:
    return Device(name, kind, 1e8, 1e8, 120, 120, 10**9, directory=f"/mnt/{name}")


TYPE = NodeType("worker", 4, 2**31, (_device("hdd1", DeviceKind.HDD), _device("hdd2", DeviceKind.HDD),
                                     _device("ssd1", DeviceKind.SSD)), Nic(1e9))  # fmt: skip
CLUSTER = Cluster(
    "test",
    Placement.LAB,
    (
        Node("master", TYPE, frozenset({Role.MASTER})),
        Node("worker1", TYPE, frozenset({Role.WORKER})),
        Node("worker2", TYPE, frozenset({Role.WORKER})),
    ),
    home="/mnt/system/assay",
)
HYBRID = Layout("HS2", (Directories("hdd1"), Directories("hdd2")), (Directories("ssd1", 3),))


def deployment(**parameters: str) -> Deployment:
    return Deployment(
        cluster=CLUSTER,
        layout=HYBRID,
        parameters=parameters,
        classpath="/opt/hadoop/lib/*",
        java="java",
        java_options="--add-opens=java.base/java.lang=ALL-UNNAMED",
        marker="abc123",
        ports=Ports(),
        hosts={node.name: node.name for node in CLUSTER.nodes},
        home="/mnt/system/assay/deployments",
    )


def values(text: str) -> dict[str, str]:
    root = ET.fromstring(text)
    return {p.findtext("name") or "": p.findtext("value") or "" for p in root.iter("property")}


def test_a_layout_decides_where_blocks_and_intermediate_data_lie() -> None:
    files = render(deployment(), CLUSTER.workers[0])
    assert (
        values(files["hdfs-site.xml"])["dfs.datanode.data.dir"] == "/mnt/hdd1/assay/HS2/hdfs,/mnt/hdd2/assay/HS2/hdfs"
    )
    local = values(files["yarn-site.xml"])["yarn.nodemanager.local-dirs"].split(",")
    assert local == [f"/mnt/ssd1/assay/HS2/local{index}" for index in (1, 2, 3)]


def test_the_plan_overrides_defaults_but_not_what_the_layout_fixes() -> None:
    changed = properties(deployment(**{"mapreduce.map.memory.mb": "512", "dfs.datanode.data.dir": "/elsewhere"}),
                         CLUSTER.workers[0])  # fmt: skip
    assert changed["mapreduce.map.memory.mb"] == "512"
    assert changed["dfs.datanode.data.dir"].startswith("/mnt/hdd1/")


def test_every_task_jvm_carries_the_marker_even_when_the_plan_sets_its_options() -> None:
    changed = properties(deployment(**{"mapreduce.map.java.opts": "-Xmx99m"}), CLUSTER.workers[0])
    for name in ("mapreduce.map.java.opts", "mapreduce.reduce.java.opts", "yarn.app.mapreduce.am.command-opts"):
        assert "-Dassay.deployment=abc123" in changed[name].split()
    assert "-Xmx99m" in changed["mapreduce.map.java.opts"]


def test_every_property_lands_in_exactly_one_file() -> None:
    node = CLUSTER.workers[1]
    files = render(deployment(), node)
    landed = [name for file, text in files.items() if file.endswith(".xml") for name in values(text)]
    assert sorted(landed) == sorted(properties(deployment(), node))


def test_a_parameter_that_no_file_takes_is_refused_with_the_valid_prefixes() -> None:
    with pytest.raises(SpecificationError, match="spark") as caught:
        render(deployment(**{"spark.executor.cores": "2"}), CLUSTER.master)
    assert "mapreduce." in str(caught.value)


def test_a_single_machine_binds_to_its_own_address_only() -> None:
    local = replace(deployment(), cluster=replace(CLUSTER, placement=Placement.LOCAL),
                    hosts={node.name: "127.0.0.1" for node in CLUSTER.nodes})  # fmt: skip
    assert "0.0.0.0" not in "".join(render(local, CLUSTER.master).values())


def test_sizes_are_written_as_hadoop_reads_them() -> None:
    assert normalised({"dfs.blocksize": "64MiB"}) == {"dfs.blocksize": str(64 * 2**20)}
    assert normalised({"dfs.blocksize": "67108864"}) == {"dfs.blocksize": "67108864"}
    with pytest.raises(SpecificationError, match="size"):
        normalised({"dfs.blocksize": "64QB"})


@pytest.mark.parametrize(
    ("name", "by_job"),
    [("mapreduce.map.memory.mb", True), ("dfs.replication", True), ("dfs.blocksize", True),
     ("yarn.nodemanager.resource.memory-mb", False), ("dfs.datanode.handler.count", False),
     ("mapreduce.jobhistory.done-dir", False), ("mapreduce.shuffle.port", False)],
)  # fmt: skip
def test_only_daemon_parameters_need_a_restart(name: str, by_job: bool) -> None:
    assert is_job_parameter(name) is by_job


@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=40))
def test_any_value_survives_xml(value: str) -> None:
    text = render(deployment(**{"mapreduce.job.queuename": value}), CLUSTER.master)["mapred-site.xml"]
    assert values(text)["mapreduce.job.queuename"] == value
