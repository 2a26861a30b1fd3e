"""Test factors besides the layout: network, workers, containers, compression, joint factors, waves, policies."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.execution.engines.hadoop.settings.containers import MAP_MEMORY, NODE_MEMORY, NODE_VCORES, containers_per_node
from assay.execution.planning.expansion import expand
from assay.execution.planning.forecast.estimate import expected_s
from assay.execution.planning.order import restarts, schedule
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.foundation.errors import SpecificationError
from assay.model.clusters.layout import StoragePolicy
from assay.model.plans.configuration import Configuration
from assay.model.plans.plan import Plan
from assay.specs import load_cluster
from cluster_texts import HDD, cluster_text

DEVICES = {"hdd": HDD, "ssd": "{kind: ssd, read: 500MB/s, write: 460MB/s, capacity: 480GB}"}
CLUSTER = (
    cluster_text(DEVICES, header="lab: {scale: 1/20, memory_floor: 4GiB}")
    + "networks:\n  ETH: 1Gbit/s\n  IB: {rate: 56Gbit/s}\n"
)

HOSTS = (
    cluster_text({"hdd": "{kind: hdd, read: 120MB/s, write: 120MB/s, capacity: 500GB, directories: [/h]}"}, header="")
    + "networks:\n  ETH: 1Gbit/s\n"
    "  IB: {rate: 56Gbit/s, addresses: {head: [10.1.0.1], data: [10.1.0.2, 10.1.0.3]}}\n"
)
PLAN = """\
plan: p
cluster: cluster.yaml
parameters: {}
workloads:
  - terasort: {data_per_node: 2GB, waves: 1}
factors:
  network: [ETH, 40Gbit/s]
layout: HY2
"""


def load(folder: Path, plan: str = PLAN, cluster: str = CLUSTER) -> Plan:
    (folder / "cluster.yaml").write_text(cluster)
    (folder / "plan.yaml").write_text(plan)
    return load_plan(folder / "plan.yaml")


def refusal(folder: Path, plan: str, cluster: str = CLUSTER) -> list[str]:
    with pytest.raises(SpecificationError) as caught:
        load(folder, plan, cluster)
    return str(caught.value).replace(f"{folder}/", "").split("\n")


def varied(folder: Path, factors: str, *, parameters: str = "{}") -> list[Configuration]:
    text = PLAN.replace("network: [ETH, 40Gbit/s]", factors).replace("parameters: {}", f"parameters: {parameters}")
    return expand(load(folder, text))


def test_a_network_is_one_of_the_clusters_or_in_a_lab_a_rate(tmp_path: Path) -> None:
    assert [configuration.network for configuration in expand(load(tmp_path))] == ["ETH", "40Gbit/s"]
    only = varied(tmp_path, "workers: [3]", parameters="{network: IB}")
    assert [(c.network, c.workers, c.key) for c in only] == [("IB", 3, "layout=HY2 workers=3")]


def test_the_networks_of_real_hosts_have_addresses(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(HOSTS)
    cluster = load_cluster(tmp_path / "cluster.yaml")
    assert cluster.networks["ETH"].addresses == {}
    assert cluster.networks["IB"].rate_bits_per_s == 56e9
    assert cluster.networks["IB"].addresses == {"head": "10.1.0.1", "data1": "10.1.0.2", "data2": "10.1.0.3"}


def test_containers_and_compression_become_engine_parameters(tmp_path: Path) -> None:
    two, four = varied(tmp_path, "containers: [2, 4]", parameters=f"{{compression: snappy, {MAP_MEMORY}: 512}}")
    assert (two.parameters[NODE_MEMORY], two.parameters[NODE_VCORES]) == ("1024", "2")
    assert containers_per_node(four.parameters, MAP_MEMORY) == 4
    assert two.parameters["mapreduce.map.output.compress.codec"].endswith(".SnappyCodec")
    assert not {"containers", "compression"} & set(two.parameters)
    assert two.levels == {"layout": "HY2", "containers": "2"}
    plain, packed = varied(tmp_path, "compression: [none, gzip]")
    assert plain.parameters["mapreduce.map.output.compress"] == "false"
    assert packed.parameters["mapreduce.map.output.compress"] == "true"


def test_a_joined_factor_sets_several_things_at_once(tmp_path: Path) -> None:
    joined = """
  setup:
    small: {containers: 2, workers: 1, network: ETH, dfs.replication: 1}
    large: {dfs.blocksize: 64MiB, compression: snappy}
  mapreduce.task.io.sort.mb: [32, 64]"""
    small, *_, large = varied(tmp_path, joined.strip(), parameters="{dfs.blocksize: 32MiB, dfs.replication: 2}")
    assert small.levels == {"layout": "HY2", "setup": "small", "mapreduce.task.io.sort.mb": "32"}
    assert (small.workers, small.network, small.parameters["dfs.blocksize"]) == (1, "ETH", "32MiB")
    assert (small.parameters["dfs.replication"], large.parameters["dfs.replication"]) == ("1", "2")
    assert (large.workers, large.network, large.parameters["dfs.blocksize"]) == (None, None, "64MiB")


def test_a_factor_may_have_the_name_of_a_setting_and_join_any_parameters(tmp_path: Path) -> None:
    levels = 'containers: {"4": {yarn.nodemanager.resource.memory-mb: 1536}, "8": {containers: 8}}'
    text = PLAN.replace("network: [ETH, 40Gbit/s]", levels)
    assert "is also set by 'containers'" in refusal(tmp_path, text)[0]
    four, eight = varied(tmp_path, levels.replace("yarn.nodemanager.resource.memory-mb: 1536", "containers: 4"))
    assert (four.parameters[NODE_VCORES], eight.parameters[NODE_VCORES]) == ("4", "8")


def test_data_per_node_and_waves_follow_the_workers_and_containers_in_use(tmp_path: Path) -> None:
    text = PLAN.replace("network: [ETH, 40Gbit/s]", "workers: [1, 3]\n  containers: [2, 4]")
    plan = load(tmp_path, text)
    assert plan.workloads[0].data_bytes == 6 * 10**9
    runs = {
        (run.configuration.levels["workers"], run.configuration.levels["containers"]): run
        for run in schedule(plan, expand(plan))
    }
    assert {key: run.workload.data_bytes for key, run in runs.items()} == {
        ("1", "2"): 2 * 10**9,
        ("1", "4"): 2 * 10**9,
        ("3", "2"): 6 * 10**9,
        ("3", "4"): 6 * 10**9,
    }
    # All containers of the workers in use except that of the ApplicationMaster.
    assert {key: run.workload.parameters["reduces"] for key, run in runs.items()} == {
        ("1", "2"): "1",
        ("1", "4"): "3",
        ("3", "2"): "5",
        ("3", "4"): "11",
    }
    assert expected_s(runs["1", "2"], plan, []) == expected_s(runs["3", "2"], plan, []), (
        "each node has the same amount of work"
    )


def test_waves_are_of_files_of_reduces_or_of_maps_and_can_be_varied(tmp_path: Path) -> None:
    text = PLAN.replace(
        "workloads:\n", "workloads:\n  - dfsio-write: {data: 1GB, waves: 2}\n  - teragen: {data: 1GB, waves: 1}\n"
    )
    text = text.replace("network: [ETH, 40Gbit/s]", "terasort.waves: [1, 2]\n  terasort.data_per_node: [1GB]")
    plan = load(tmp_path, text)
    runs = schedule(plan, expand(plan))
    assert {run.workload.name: run.workload.parameters for run in runs if run.workload.name != "terasort"} == {
        "dfsio-write": {"waves": "2", "files": "22"},
        "teragen": {"waves": "1", "maps": "11"},
    }
    sorts = [run.workload for run in runs if run.workload.name == "terasort"]
    assert {sort.parameters["reduces"] for sort in sorts} == {"11", "22"}
    assert {sort.data_bytes for sort in sorts} == {3 * 10**9}


def test_copies_are_as_many_as_the_fewest_workers_hold(tmp_path: Path) -> None:
    assert {c.parameters["dfs.replication"] for c in varied(tmp_path, "workers: [2, 3]")} == {"2"}


def test_a_policy_comes_with_a_layout(tmp_path: Path) -> None:
    text = PLAN.replace(
        "layout: HY2", "layout: t\nlayouts:\n  t: {hdfs: [hdd1, ssd1], intermediate: [hdd2], policy: ONE_SSD}"
    )
    plan = load(tmp_path, text)
    assert plan.layouts["t"].policy is StoragePolicy.ONE_SSD
    assert plan.fingerprint != load(tmp_path, text.replace("ONE_SSD", "HOT")).fingerprint
    assert StoragePolicy.ONE_SSD.storage_types(3) == ("DISK", "DISK", "SSD")


def test_older_plans_keep_their_fingerprint(tmp_path: Path) -> None:
    """A campaign that started before these settings existed can be resumed."""
    text = PLAN.replace("data_per_node: 2GB, waves: 1", "data: 2GB").replace(
        "network: [ETH, 40Gbit/s]", "dfs.blocksize: [64MiB]"
    )
    cluster = CLUSTER[: CLUSTER.index("networks:")]
    fingerprint = load(tmp_path, text.replace("HY2", "HD2"), cluster).fingerprint
    assert fingerprint == "8f442c769a232440191bfbdbfde634307b26068fdce9cb47164427e43cd460a4"
    assert load(tmp_path, text.replace("HY2", "HD2")).fingerprint != fingerprint, "networks count when there are any"


MISTAKES = [
    (
        "network: [ETH, 40Gbit/s]",
        "network: [ETH, fast]",
        'plan.yaml:7: network: \'fast\' is not a link rate; write "1Gbit/s", "25GbE" or "100Mbit/s"; or name one of '
        "the cluster's networks: ETH, IB",
    ),
    (
        "network: [ETH, 40Gbit/s]",
        "workers: [1, 4]",
        "plan.yaml:7: workers: '4' is not a number of workers from 1 to 3, which the cluster has; "
        "`assay whatif --set workers.count=N` simulates more",
    ),
    (
        "network: [ETH, 40Gbit/s]",
        "containers: [0]",
        "plan.yaml:7: containers: '0' is not a whole number from 1 to 1000",
    ),
    (
        "network: [ETH, 40Gbit/s]",
        "containers: [100]",
        "plan.yaml:7: containers: 40.3 GB are requested, a worker has 4.29 GB; set fewer containers, or lower "
        "mapreduce.map.memory.mb and mapreduce.reduce.memory.mb, or in a lab raise memory_floor "
        "(layout=HY2 containers=100)",
    ),
    (
        "network: [ETH, 40Gbit/s]",
        "yarn.nodemanager.resource.memory-mb: [4096,\n    4097]",
        "plan.yaml:8: yarn.nodemanager.resource.memory-mb: containers get 4.3 GB, a worker has 4.29 GB; set a lower "
        "value, or 'containers: N', which sets it, or in a lab raise memory_floor (layout=HY2 "
        "yarn.nodemanager.resource.memory-mb=4097)",
    ),
    (
        "parameters: {}",
        "parameters: {yarn.nodemanager.resource.memory-mb: 49152}",
        "plan.yaml:3: yarn.nodemanager.resource.memory-mb: containers get 51.5 GB, a worker has 4.29 GB; set a lower "
        "value, or 'containers: N', which sets it, or in a lab raise memory_floor (layout=HY2 network=ETH)",
    ),
    (
        "network: [ETH, 40Gbit/s]",
        "compression: [snapy]",
        "plan.yaml:7: compression: unknown compression 'snapy'; did you mean 'snappy'? valid: none, snappy, gzip, "
        "bzip2 (lz4 and zstd need libraries that Hadoop lacks: where the hosts have them, set "
        "mapreduce.map.output.compress and mapreduce.map.output.compress.codec)",
    ),
    (
        "network: [ETH, 40Gbit/s]",
        "netwrok: [ETH]",
        "plan.yaml:7: unknown factor 'netwrok'; did you mean 'network'? valid: layout, engine, network, workers, "
        "containers, compression, profile, an engine parameter such as dfs.blocksize, "
        "WORKLOAD.option such as terasort.reduces, or a name of your own with levels that set several of these",
    ),
    (
        "network: [ETH, 40Gbit/s]",
        "s: {a: {conteiners: 3}}",
        "plan.yaml:7: unknown setting 'conteiners'; did you mean 'containers'? valid: network, workers, containers, "
        "compression, profile, or an engine parameter such as dfs.blocksize",
    ),
    (
        "network: [ETH, 40Gbit/s]",
        "s: {a: {}}",
        "plan.yaml:7: s: level 'a' needs settings, such as {dfs.blocksize: 64MiB}",
    ),
    (
        "network: [ETH, 40Gbit/s]",
        "dfs.blocksize: {a: {workers: 1}}",
        "plan.yaml:7: dfs.blocksize: levels that set several things need a name of your own, without a dot",
    ),
    (
        "network: [ETH, 40Gbit/s]",
        "s: {a: {workers: 1}}\n  workers: [1]",
        "plan.yaml:8: workers is set by the factor 's' already",
    ),
    (
        "network: [ETH, 40Gbit/s]",
        "s:\n    a: {workers: 1}\n    b: {workers: 1, dfs.replication: 2}",
        "plan.yaml:9: dfs.replication: 2 copies need 2 workers, but 1 are used (layout=HY2 s=b)",
    ),
    (
        "network: [ETH, 40Gbit/s]",
        "mapreduce.task.io.sort.mb: [64,\n    200]",
        "plan.yaml:8: a sort buffer of 200 MiB does not fit into a map's heap of 256 MiB, one array of which has at "
        "most 170; reduce it, or raise mapreduce.map.memory.mb (layout=HY2 mapreduce.task.io.sort.mb=200)",
    ),
    (
        "parameters: {}",
        "parameters: {containers: 2, yarn.nodemanager.resource.memory-mb: 99}",
        "plan.yaml:3: yarn.nodemanager.resource.memory-mb is also set by 'containers'; write one of the two",
    ),
    (
        "data_per_node: 2GB, waves: 1",
        "data_per_node: 2GB, data: 1GB",
        "plan.yaml:5: terasort: write either data or data_per_node",
    ),
    (
        "data_per_node: 2GB, waves: 1",
        "data: 2GB, waves: 1, reduces: 3",
        "plan.yaml:5: waves sets terasort's reduces; write one of the two",
    ),
    (
        "layout: HY2",
        "layout: t\nlayouts:\n  t: {hdfs: [hdd1], intermediate: [hdd2], policy: ONE_SSD}",
        "plan.yaml:10: layout 't': policy ONE_SSD needs an SSD or NVMe device for hdfs; valid: ssd1",
    ),
    (
        "layout: HY2",
        "layout: t\nlayouts:\n  t: {hdfs: [hdd1], intermediate: [hdd2], policy: COLD}",
        "plan.yaml:10: policy: unknown storage policy 'COLD'; valid: HOT, ONE_SSD, ALL_SSD, LAZY_PERSIST",
    ),
]


@pytest.mark.parametrize(("old", "new", "expected"), MISTAKES, ids=[case[2][10:60] for case in MISTAKES])
def test_a_mistake_is_named_with_file_line_and_choices(tmp_path: Path, old: str, new: str, expected: str) -> None:
    assert old in PLAN
    assert expected in refusal(tmp_path, PLAN.replace(old, new, 1))


def test_defaults_of_assay_are_checked_against_machines_and_not_against_nodes_of_a_lab(tmp_path: Path) -> None:
    text = PLAN.replace("network: [ETH, 40Gbit/s]", "dfs.replication: [1, 2]").replace("HY2", "HDD")
    load(tmp_path, text, CLUSTER.replace("memory_floor: 4GiB", "memory_floor: 1GiB"))
    load(tmp_path, text, HOSTS)
    mistakes = refusal(tmp_path, text, HOSTS.replace("memory: 16GB", "memory: 1.5GB"))
    assert (
        "yarn.nodemanager.resource.memory-mb: containers get 1.61 GB, a worker has 1.5 GB; set a lower value"
        in mistakes[0]
    )


CLUSTER_MISTAKES = [
    (
        CLUSTER,
        "IB: {rate: 56Gbit/s}",
        "IB: {rate: 56Gbit/s, addresses: {worker: [a]}}",
        "cluster.yaml:16: addresses are for real hosts; a lab's links are shaped to the rate",
    ),
    (
        HOSTS,
        "data: [10.1.0.2, 10.1.0.3]}",
        "data: [10.1.0.2]}",
        "cluster.yaml:14: 1 addresses for 2 nodes; write one for each",
    ),
    (
        HOSTS,
        "head: [10.1.0.1], ",
        "",
        "cluster.yaml:14: IB: head have no addresses in it; every group of nodes needs them",
    ),
    (
        HOSTS,
        "head: [10.1.0.1], ",
        "haed: [10.1.0.1], ",
        "cluster.yaml:14: unknown group of nodes 'haed'; did you mean 'head'? valid: head, data",
    ),
    (HOSTS, "10.1.0.3]", "10.1.0.2]", "cluster.yaml:14: address '10.1.0.2' is given twice"),
    (
        HOSTS,
        "  IB:",
        "  TEN: 10Gbit/s\n  IB:",
        "cluster.yaml:14: ETH and TEN have the same addresses: give all but one of them separate addresses",
    ),
]


@pytest.mark.parametrize(("text", "old", "new", "expected"), CLUSTER_MISTAKES)
def test_a_wrong_network_is_named_with_its_line(tmp_path: Path, text: str, old: str, new: str, expected: str) -> None:
    assert old in text
    (tmp_path / "cluster.yaml").write_text(text.replace(old, new))
    with pytest.raises(SpecificationError) as caught:
        load_cluster(tmp_path / "cluster.yaml")
    assert expected in str(caught.value).replace(f"{tmp_path}/", "").split("\n")


def test_real_hosts_have_only_the_networks_that_are_described(tmp_path: Path) -> None:
    text = PLAN.replace("HY2", "HDD")
    assert refusal(tmp_path, text, HOSTS) == [
        "plan.yaml:7: network: unknown network '40Gbit/s'; valid: ETH, IB; the cluster file describes them under "
        "'networks'"
    ]


def test_an_engine_is_a_factor_and_the_one_that_has_both_is_provided(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    text = "plan: p\ncluster: cluster.yaml\nworkloads:\n  - terasort: {data: 2GB, waves: 1}\n"
    (tmp_path / "plan.yaml").write_text(f"{text}factors:\n  engine: [hadoop, spark]\n  layout: [HD2, SS1]\n")
    plan = load_plan(tmp_path / "plan.yaml")
    assert plan.engine == "spark"
    runs = schedule(plan, expand(plan))
    assert {run.configuration.engine for run in runs} == {"hadoop", "spark"}
    assert sum(why is not None for why in restarts(runs, plan)) == 4, "the engine alone restarts nothing"
    reduces = {run.configuration.engine: run.workload.parameters["reduces"] for run in runs}
    assert reduces == {"hadoop": "11", "spark": "6"}, "a wave is as many tasks as each engine runs at once"
    (tmp_path / "plan.yaml").write_text(f"{text}layout: HD2\nfactors:\n  engine: [hadoop, flink]\n")
    with pytest.raises(SpecificationError, match=r"unknown engine 'flink'; valid: hadoop, spark"):
        load_plan(tmp_path / "plan.yaml")
    (tmp_path / "plan.yaml").write_text(f"{text}engine: hadoop\nlayout: HD2\nfactors:\n  engine: [hadoop, spark]\n")
    with pytest.raises(SpecificationError, match="none of hadoop includes them all"):
        load_plan(tmp_path / "plan.yaml")
