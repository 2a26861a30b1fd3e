"""Test ALOJA's list of clusters: hardware, prices, ignored shell expressions, damage."""

from __future__ import annotations

import pytest

from assay.foundation.errors import FormatError
from assay.store.formats.aloja.clusters import AlojaCluster, is_clusters, parse_clusters
from mutation import fuzz_count, mutations
from paths import ROOT

REAL = ROOT.parent / "shared" / "data" / "aloja" / "aloja-clusters.csv"
HEADER = (
    "id_cluster,conf_name,provider,type,datanodes,vm_size,vm_OS,vm_cores,vm_RAM_GB,cost_hour,cost_remote_disk,cost_SSD,"
    "cost_IB,attached_volumes,disk_size_GB,disks,nets,description\n"
)
RACK = (
    '18,rack-18,on-premise,On-Premise,8,M-8,,12,54,3.50,0.20,0.70,0.80,6,980,HDD HD2 SSD HD2,ETH IB,"6 SATA, 1 SSD"\n'
)
CLOUD = "7,cloud-07,azure,IaaS,4,A7,linux,8,56,$(bc <<< ,0.04,0,0,,,$CLUSTER_DISKS RL1,,\n"
SHELL = "7,here-07,on-premise,OnPrem,0,localhost,,$(nproc),1.7,0,0,0,0,0,,HDD,ETH,\n"


def only(row: str) -> AlojaCluster:
    (cluster,) = parse_clusters(HEADER + row, "c.csv")
    return cluster


def test_hardware_prices_and_codes_of_a_cluster_are_read() -> None:
    rack = only(RACK)
    assert (rack.name, rack.cluster_id, rack.provider, rack.service_type) == ("rack-18", 18, "on-premise", "on-premise")
    assert (rack.datanodes, rack.vm_size, rack.vm_os, rack.cores, rack.ram_gb) == (8, "M-8", "", 12, 54.0)
    assert (rack.cost_usd_per_h, rack.cost_remote_disk_usd_per_h) == (3.5, 0.2)
    assert (rack.cost_ssd_usd_per_h, rack.cost_ib_usd_per_h) == (0.7, 0.8)
    assert (rack.attached_volumes, rack.disk_size_gb) == (6, 980.0)
    assert (rack.disks, rack.networks) == (("HDD", "HD2", "SSD"), ("ETH", "IB"))
    assert (rack.description, rack.absent, rack.where) == ("6 SATA, 1 SSD", {}, "c.csv:2")


def test_a_price_that_the_shell_computes_is_absent_with_its_reason() -> None:
    cloud = only(CLOUD)
    assert cloud.cost_usd_per_h is None
    assert "by a shell command" in cloud.absent["cost_hour"]
    assert cloud.cost_remote_disk_usd_per_h == 0.04


def test_a_list_that_the_shell_expands_keeps_its_literal_values_with_a_note() -> None:
    cloud = only(CLOUD)
    assert cloud.disks == ("RL1",)
    assert "$CLUSTER_DISKS" in cloud.absent["disks"]
    assert (cloud.attached_volumes, cloud.disk_size_gb, cloud.networks) == (None, None, ())


def test_a_stated_zero_is_a_zero_and_not_absent() -> None:
    here = only(SHELL)
    assert here.cost_usd_per_h == 0.0
    assert set(here.absent) == {"vm_cores"}
    assert here.service_type == "on-premise"


@pytest.mark.parametrize("cell", ["-3.50", "nan", "inf", "1e3", "3,50€", "cheap"])
def test_a_price_that_is_no_number_is_absent_with_its_reason(cell: str) -> None:
    cluster = only(RACK.replace("3.50", f'"{cell}"'))
    assert cluster.cost_usd_per_h is None
    assert "is not a number" in cluster.absent["cost_hour"]


def test_an_id_may_stand_twice_but_a_name_may_not() -> None:
    assert [cluster.cluster_id for cluster in parse_clusters(HEADER + CLOUD + SHELL)] == [7, 7]
    with pytest.raises(FormatError, match=r"is also at c\.csv:2") as raised:
        parse_clusters(HEADER + CLOUD + RACK + CLOUD, "c.csv")
    assert raised.value.where == "c.csv:4"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "columns are missing"),
        ("id,name\n1,a\n", "columns are missing"),
        (HEADER + RACK.replace("rack-18", ""), "has no name"),
        (HEADER + "1,a,b\n", "has 3 cells where the header has 18"),
        (HEADER + RACK.replace('1 SSD"', "1 SSD"), "not valid CSV"),
    ],
)
def test_damage_is_named_with_its_line(text: str, words: str) -> None:
    with pytest.raises(FormatError, match=words) as raised:
        parse_clusters(text, "c.csv")
    assert (raised.value.where or "").startswith("c.csv")


def test_only_the_header_of_the_format_is_recognised() -> None:
    assert is_clusters(HEADER)
    assert is_clusters(HEADER.replace("\n", "\r\n") + RACK)
    assert not is_clusters("ID,Benchmark,Exe.Time\n")
    assert not is_clusters("")


def test_damaged_lists_give_sound_clusters_or_an_error() -> None:
    for damaged in mutations((HEADER + RACK + CLOUD + SHELL).encode(), fuzz_count()):
        try:
            clusters = parse_clusters(damaged.decode("latin-1"), "c.csv")
        except FormatError:
            continue
        for cluster in clusters:
            prices = (cluster.cost_usd_per_h, cluster.cost_remote_disk_usd_per_h, cluster.ram_gb)
            assert all(price is None or 0 <= price < 1e15 for price in prices)


def test_the_published_aloja_cluster_list_is_read() -> None:
    if not REAL.exists():
        pytest.skip(f"ALOJA's list of clusters is not at {REAL}")
    clusters = {cluster.name: cluster for cluster in parse_clusters(REAL.read_text(encoding="utf-8"))}
    assert len(clusters) == 214
    paper = clusters["minerva100-02-10-18"]
    assert (paper.cost_usd_per_h, paper.cost_remote_disk_usd_per_h) == (3.5, 0.2)
    assert (paper.cost_ssd_usd_per_h, paper.cost_ib_usd_per_h, paper.datanodes) == (0.7, 0.8, 8)
    assert {name for name, cluster in clusters.items() if cluster.cluster_id == 2} == {"al-02", "localhost-02"}
    unpriced = [cluster for cluster in clusters.values() if cluster.cost_usd_per_h is None]
    assert len(unpriced) == 7
    assert all("cost_hour" in cluster.absent for cluster in unpriced)
    assert not [c for c in clusters.values() if c.service_type.lower().startswith("onprem")]
