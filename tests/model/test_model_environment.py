"""Test the reader of a run's environment: typed values, and nothing for invalid ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.model.runs.environment import ClusterFacts, Environment, LabFacts, LabNodeFacts, LayoutDirectories, NodeFacts

CLUSTER = ClusterFacts(
    name="lab",
    placement="lab",
    nodes=4,
    masters=1,
    workers=3,
    worker_names=("w1", "w2", "w3"),
    ports=4,
    node_types={"big": 4},
    layout_devices={"hdd": 2, "ssd": 1},
    device_names={"hdd1": "hdd", "hdd2": "hdd", "ssd1": "ssd"},
    layout_capacity_bytes=10**12,
    layout=LayoutDirectories({"hdd1": 1, "hdd2": 1}, {"ssd1": 10}),
)
NODE = {
    "hardware": {"cpu": {"model": "Xeon", "logical_cores": 8}, "memory": {"total_bytes": 2**34}},
    "distribution": "Debian 12",
    "kernel": {"release": "6.1"},
    "java": {"version": "17.0.1"},
}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
PARTS = ["assay", "cluster", "nodes", "parameters", "lab", "layout", "hdfs", "intermediate", "worker_names", "devices"]


def test_recorded_facts_are_read_back() -> None:
    lab = {"nodes": {"w1": {"devices": {"hdd1": {"request_bytes": 4096}}}, "w2": {"devices": {"hdd1": "?"}}}}
    environment = Environment(
        {
            "assay": {"version": "0.2.0", "python": "3.12"},
            "cluster": CLUSTER.tree(),
            "nodes": {"w1": NODE, "w2": "away"},
            "parameters": {"dfs.replication": "3", "odd": 3},
            "lab": lab,
        }
    )
    assert environment.cluster == CLUSTER
    assert environment.layout_devices == CLUSTER.layout_devices
    assert environment.nodes == {"w1": NodeFacts("Xeon", 8, 2**34, "Debian 12", "6.1", "17.0.1")}
    assert (environment.assay_version, environment.assay_python) == ("0.2.0", "3.12")
    assert environment.parameters == {"dfs.replication": "3"}
    assert environment.request_bytes == {"hdd1": 4096}
    assert ("nodes.w1.kernel.release", "6.1") in list(environment.leaves())


@pytest.mark.parametrize("tree", [{}, {"cluster": "many"}, {"cluster": None, "nodes": [], "lab": 3, "assay": {}}])
def test_unrecorded_facts_are_none(tree: dict[str, Any]) -> None:
    environment = Environment(tree)
    assert (environment.cluster, environment.nodes, environment.parameters, environment.request_bytes) == (
        None,
        {},
        {},
        {},
    )
    assert environment.layout_devices == {}
    assert environment.assay_version == ""


def test_a_labs_facts_say_what_a_campaign_needs() -> None:
    node = {"address": "10.0.0.2", "link_bits_per_s": 10**8, "cgroup": {"cpu": "/c", "memory": "/m"}, "devices": {}}
    tree = {"name": "lab", "subnet": "10.0.0.0/24", "nodes": {"w1": node, "odd": 3}, "warnings": ["too many cores"]}
    environment = LabFacts.of(tree)
    assert environment.tree is tree
    assert (environment.name, environment.subnet, environment.warnings) == ("lab", "10.0.0.0/24", ("too many cores",))
    assert environment.nodes["w1"] == LabNodeFacts("10.0.0.2", 1e8, {"cpu": "/c", "memory": "/m"}, {})
    assert environment.control_groups == {"w1": {"cpu": "/c", "memory": "/m"}}


def test_cluster_facts_keep_only_valid_counts() -> None:
    facts = ClusterFacts.of({"nodes": "many", "masters": True, "workers": 3, "layout": {"hdfs": {}}, "ports": -1})
    assert facts == ClusterFacts(workers=3)


@given(st.dictionaries(st.sampled_from(PARTS), st.dictionaries(st.sampled_from(PARTS), json_values) | json_values))
def test_no_record_is_a_traceback(tree: dict[str, Any]) -> None:
    environment = Environment(tree)
    assert environment.cluster is None or environment.cluster.layout_devices == environment.layout_devices
    assert len(environment.nodes) + len(environment.parameters) + len(environment.request_bytes) >= 0
    assert isinstance(environment.assay_version + environment.assay_python, str)
    assert all(isinstance(text, str) for _, text in environment.leaves())
