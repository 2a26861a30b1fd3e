"""Test the Hadoop configuration files rendered for a layout."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.execution.engines.hadoop.deployment.daemons import Daemons
from assay.execution.engines.hadoop.hdfs import placement_check
from assay.execution.engines.hadoop.settings.configuration import (
    is_job_parameter,
    job_options,
    normalised,
    properties,
    render,
)
from assay.execution.engines.hadoop.settings.memory import usable_bytes
from assay.foundation.errors import SpecificationError
from assay.model.clusters.cluster import Node, Placement, Role
from assay.model.clusters.layout import Directories, Layout, StoragePolicy
from engine_samples import CLUSTER, HYBRID, TYPE, deployment


def values(text: str) -> dict[str, str]:
    root = ET.fromstring(text)
    return {p.findtext("name") or "": p.findtext("value") or "" for p in root.iter("property")}


def test_a_layout_decides_where_blocks_and_intermediate_data_are_stored() -> None:
    files = render(deployment(), CLUSTER.workers[0])
    assert (
        values(files["hdfs-site.xml"])["dfs.datanode.data.dir"] == "/mnt/hdd1/assay/HS2/hdfs,/mnt/hdd2/assay/HS2/hdfs"
    )
    local = values(files["yarn-site.xml"])["yarn.nodemanager.local-dirs"].split(",")
    assert local == [f"/mnt/ssd1/assay/HS2/local{index}" for index in (1, 2, 3)]


def test_the_plan_overrides_defaults_but_not_what_the_layout_fixes() -> None:
    changed = properties(
        deployment(**{"mapreduce.map.memory.mb": "512", "dfs.datanode.data.dir": "/elsewhere"}), CLUSTER.workers[0]
    )
    assert changed["mapreduce.map.memory.mb"] == "512"
    assert changed["dfs.datanode.data.dir"].startswith("/mnt/hdd1/")


def test_every_task_jvm_carries_the_marker_even_when_the_plan_sets_its_options() -> None:
    changed = properties(deployment(**{"mapreduce.map.java.opts": "-Xmx99m"}), CLUSTER.workers[0])
    for name in ("mapreduce.map.java.opts", "mapreduce.reduce.java.opts", "yarn.app.mapreduce.am.command-opts"):
        assert "-Dassay.deployment=abc123" in changed[name].split()
    assert "-Xmx99m" in changed["mapreduce.map.java.opts"]


def test_caches_of_daemons_and_clients_are_below_the_clusters_home() -> None:
    """/tmp is shared: the second user of a host could not write where the first has been."""
    home = CLUSTER.home
    set_there = properties(deployment(), CLUSTER.master)
    assert not [name for name, value in set_there.items() if "/tmp" in value]
    for name in (
        "hadoop.tmp.dir",
        "mapreduce.jobtracker.staging.root.dir",
        "yarn.node-attribute.fs-store.root-dir",
        "yarn.node-labels.fs-store.root-dir",
    ):
        assert set_there[name].removeprefix("file://").startswith(f"{home}/scratch"), name
    for options in (None, "-Xmx256m"):
        command = Daemons(deployment(), {}).command("Main", java_options=options)
        assert f"-Djava.io.tmpdir={home}/scratch/java" in command
        assert "-XX:-UsePerfData" in command


def test_every_property_lands_in_exactly_one_file() -> None:
    node = CLUSTER.workers[1]
    files = render(deployment(), node)
    landed = [name for file, text in files.items() if file.endswith(".xml") for name in values(text)]
    assert sorted(landed) == sorted(properties(deployment(), node))


def test_a_parameter_that_no_file_takes_is_refused_with_the_valid_prefixes() -> None:
    with pytest.raises(SpecificationError, match="spark") as caught:
        render(deployment(**{"spark.executor.cores": "2"}), CLUSTER.master)
    assert "mapreduce." in str(caught.value)


def test_a_single_machine_binds_to_its_address_only() -> None:
    local = replace(
        deployment(),
        cluster=replace(CLUSTER, placement=Placement.LOCAL),
        hosts={node.name: "127.0.0.1" for node in CLUSTER.nodes},
    )
    assert "0.0.0.0" not in "".join(render(local, CLUSTER.master).values())


def test_sizes_are_written_as_hadoop_reads_them() -> None:
    assert normalised({"dfs.blocksize": "64MiB"}) == {"dfs.blocksize": str(64 * 2**20)}
    assert normalised({"dfs.blocksize": "67108864"}) == {"dfs.blocksize": "67108864"}
    with pytest.raises(SpecificationError, match="size"):
        normalised({"dfs.blocksize": "64QB"})


@pytest.mark.parametrize(
    ("name", "by_job"),
    [
        ("mapreduce.map.memory.mb", True),
        ("dfs.replication", True),
        ("dfs.blocksize", True),
        ("yarn.nodemanager.resource.memory-mb", False),
        ("dfs.datanode.handler.count", False),
        ("mapreduce.jobhistory.done-dir", False),
        ("mapreduce.shuffle.port", False),
    ],
)
def test_only_daemon_parameters_need_a_restart(name: str, by_job: bool) -> None:
    assert is_job_parameter(name) is by_job


@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=40))
def test_any_value_survives_xml(value: str) -> None:
    text = render(deployment(**{"mapreduce.job.queuename": value}), CLUSTER.master)["mapred-site.xml"]
    assert values(text)["mapreduce.job.queuename"] == value


def test_a_split_device_has_as_many_directories_for_blocks_too() -> None:
    split = replace(HYBRID, hdfs=(Directories("hdd1"), Directories("ssd1", 2)))
    files = render(replace(deployment(), layout=split), CLUSTER.workers[0])
    assert values(files["hdfs-site.xml"])["dfs.datanode.data.dir"].split(",") == [
        "/mnt/hdd1/assay/HS2/hdfs",
        "/mnt/ssd1/assay/HS2/hdfs1",
        "/mnt/ssd1/assay/HS2/hdfs2",
    ]


def test_a_storage_policy_sets_the_kinds_of_directories_and_another_file_system() -> None:
    tiered = Layout("t", (Directories("hdd1"), Directories("ssd1", 2)), (Directories("hdd2"),), StoragePolicy.ONE_SSD)
    tiered_deployment = replace(deployment(), layout=tiered)
    assert properties(tiered_deployment, CLUSTER.workers[0])["dfs.datanode.data.dir"].split(",") == [
        "[DISK]/mnt/hdd1/assay/t.ONE_SSD/hdfs",
        "[SSD]/mnt/ssd1/assay/t.ONE_SSD/hdfs1",
        "[SSD]/mnt/ssd1/assay/t.ONE_SSD/hdfs2",
    ]
    assert tiered_deployment.image_directory.endswith("/t.ONE_SSD/namenode")
    assert replace(tiered_deployment, workers=1).name == "t.ONE_SSD.1"
    lazy = replace(tiered_deployment, layout=replace(tiered, policy=StoragePolicy.LAZY_PERSIST), memory_bytes=2**26)
    files = properties(lazy, CLUSTER.workers[0])
    assert files["dfs.datanode.data.dir"].endswith(",[RAM_DISK]/dev/shm/assay-abc123/t.LAZY_PERSIST/worker1")
    assert files["dfs.datanode.max.locked.memory"] == str(2**26)
    assert "dfs.datanode.data.dir" not in properties(lazy, CLUSTER.master)


def test_daemons_listen_on_the_chosen_network_alone() -> None:
    hosts = {node.name: f"10.1.0.{number}" for number, node in enumerate(CLUSTER.nodes, 1)}
    files = properties(replace(deployment(), hosts=hosts, one_network=True), CLUSTER.workers[0])
    assert files["dfs.datanode.address"] == "10.1.0.2:9866"
    assert files["fs.defaultFS"] == "hdfs://10.1.0.1:8020"
    assert files["yarn.nodemanager.bind-host"] == "10.1.0.2"


def test_a_tasks_heap_follows_its_containers_memory_unless_it_is_stated() -> None:
    options = job_options(deployment(), {"mapreduce.map.memory.mb": "1024", "mapreduce.reduce.java.opts": "-Xmx1000m"})
    assert "-Xmx682m" in options["mapreduce.map.java.opts"].split()
    assert "-Xmx1000m" in options["mapreduce.reduce.java.opts"].split()
    assert "-Xmx256m" in options["yarn.app.mapreduce.am.command-opts"].split()
    for name in ("yarn.app.mapreduce.am.command-opts", "mapreduce.map.java.opts", "mapreduce.reduce.java.opts"):
        assert "-Dassay.deployment=abc123" in options[name].split(), "also in what a job carries with it"


@pytest.mark.parametrize(
    ("answer", "lacking"),
    [
        ("tmpfs\n 4000000\nunlimited\nnative\n", []),
        ("tmpfs\n 4000000\n64\nnative\n", ["ulimit -l"]),
        ("tmpfs\n 100\nunlimited\nnative\n", ["too little room"]),
        ("ext2/ext3\n 4000000\n8192000\nnone\n", ["is not a tmpfs", "libhadoop.so"]),
        ("", ["is not a tmpfs", "libhadoop.so", "ulimit -l"]),
    ],
)
def test_missing_requirements_of_lazy_persist_are_listed(answer: str, lacking: list[str]) -> None:
    usable, words = usable_bytes(answer)
    assert len(words) == len(lacking)
    assert all(part in word for part, word in zip(lacking, words, strict=True))
    if not lacking:
        assert usable == 4000000 * 1024 // 2


@given(replication=st.integers(1, 6), policy=st.sampled_from(StoragePolicy), blocks=st.integers(1, 9))
def test_blocks_are_checked_against_their_policy(replication: int, policy: StoragePolicy, blocks: int) -> None:
    right = policy.storage_types(replication)
    assert len(right) == replication
    assert placement_check(policy, {right: blocks}).passed
    astray = ("ARCHIVE", *right[1:])
    check = placement_check(policy, {right: blocks, astray: 2})
    assert not check.passed
    assert f"2 of {blocks + 2} blocks" in check.detail


def test_replicas_are_checked_against_the_storage_policy() -> None:
    assert placement_check(StoragePolicy.LAZY_PERSIST, {("DISK", "RAM_DISK"): 1, ("DISK", "DISK"): 4}).passed
    assert not placement_check(StoragePolicy.HOT, {("DISK", "RAM_DISK"): 1}).passed
    assert not placement_check(StoragePolicy.ONE_SSD, {("DISK", "DISK"): 1}).passed


@given(st.integers(1, 9), st.booleans())
def test_fewer_workers_are_the_first_ones_and_the_master_stays(number: int, master_works: bool) -> None:
    roles = frozenset({Role.MASTER, Role.WORKER}) if master_works else frozenset({Role.MASTER})
    workers = tuple(Node(f"w{index}", TYPE, frozenset({Role.WORKER})) for index in range(5))
    cluster = replace(CLUSTER, nodes=(*workers, Node("m", TYPE, roles)))
    used = cluster.using(number)
    assert used.master.name == "m"
    assert [node.name for node in used.workers] == [node.name for node in cluster.workers][:number]
    assert cluster.using(None) is cluster


def test_only_where_nodes_share_a_machine_jvms_are_made_small() -> None:
    real = replace(deployment(), cluster=replace(CLUSTER, placement=Placement.SSH))
    assert "-Xmx256m" in deployment().daemon_java_options
    assert real.daemon_java_options == ""
    options = {
        name: properties(made, CLUSTER.workers[0])["mapreduce.map.java.opts"]
        for name, made in (("lab", deployment()), ("real", real))
    }
    assert "SerialGC" in options["lab"]
    assert options["real"] == "-Xmx256m --add-opens=java.base/java.lang=ALL-UNNAMED -Dassay.deployment=abc123"
