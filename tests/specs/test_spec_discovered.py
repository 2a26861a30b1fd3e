"""Test that surveyed hosts become a valid cluster file with guesses marked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.host_checks.catalogue import grade_hosts
from assay.model.clusters.cluster import Attachment, Cluster, DeviceKind, Role
from assay.model.clusters.host_checks import Grade
from assay.model.clusters.survey import Clients, ControlGroup, Survey
from assay.specs import load_cluster
from assay.specs.discovered import DiscoveryOptions, HostAccess, cluster_text
from survey_samples import basics, daemon, disk, mount, nic, survey


def written(folder: Path, hosts: list[Survey], wish: DiscoveryOptions | None = None) -> tuple[Cluster, str, list[str]]:
    reach = HostAccess({host.host: host.host for host in hosts}, {"user": "alice"})
    text, notes = cluster_text(hosts, reach, wish or DiscoveryOptions())
    (folder / "c.yaml").write_text(text)
    return load_cluster(folder / "c.yaml"), text, notes


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, "nic: 10Gbit/s  # as negotiated"),
        ({"nics": {"eth0": nic(driver=None, hardware=False)}}, "nic: 10Gbit/s  # guessed: it is virtual: its rate"),
        ({"nics": {"eth0": nic(driver="virtio_net")}}, "nic: 10Gbit/s  # guessed: it is virtual (driver virtio_net)"),
        ({"nics": {"eth0": nic(speed_mbit_per_s=None)}}, "nic: 10Gbit/s  # guessed: the driver ixgbe reports no rate"),
        (
            {"control_group": ControlGroup(4 * 2**30, None)},
            "memory: 4GiB  # the control group's limit; the machine has",
        ),
        (
            {"control_group": ControlGroup(None, 2.5)},
            "cores: 2  # Xeon E5-2620; the control group's limit; the machine",
        ),
        ({"control_group": ControlGroup(2**60, 64.0)}, "cores: 12  # Xeon E5-2620"),
    ],
)
def test_discover_and_check_say_the_same_of_a_survey(tmp_path: Path, changes: dict[str, Any], line: str) -> None:
    host = survey("w1", **changes)
    cluster, text, _ = written(tmp_path, [host])
    assert line in text
    report = grade_hosts(cluster, "now", {cluster.nodes[0].name: host}, {})
    by_check = {reading.criterion: reading for reading in report.readings}
    assert by_check["memory-as-described"].grade is Grade.FIT
    assert by_check["cores-as-described"].grade is Grade.FIT
    link = by_check["link-rate"]
    assert link.grade is (Grade.UNKNOWN if "guessed" in line else Grade.FIT)
    assert "guessed" not in line or link.message in text


def test_equal_hosts_become_one_type_and_the_first_is_assumed_to_be_the_master(tmp_path: Path) -> None:
    cluster, text, notes = written(tmp_path, [survey(f"w{n}") for n in range(1, 5)])
    assert cluster.master.name == "master"
    assert cluster.master.address is not None
    assert cluster.master.address.host == "w1"
    assert "guessed: the first host" in text
    assert len(cluster.workers) == 3
    [kind] = {node.type.name for node in cluster.workers}
    devices = cluster.workers[0].type.devices
    assert [(d.kind, d.directory, d.capacity_bytes) for d in devices] == [
        (DeviceKind.HDD, "/data1", 3_900 * 10**9),
        (DeviceKind.HDD, "/data2", 3_900 * 10**9),
    ]
    assert text.count("guessed: usual for its kind") == 3
    assert cluster.workers[0].type.nic.rate_bits_per_s == 1e10
    assert notes == []
    assert kind == "worker"


def test_running_daemons_say_who_leads_and_the_active_one_of_a_pair_does(tmp_path: Path) -> None:
    theirs = [
        survey("n1", daemons=(daemon("namenode", active=False),)),
        survey("n2", daemons=(daemon("namenode", active=True), daemon("resourcemanager"))),
        survey("w1", daemons=(daemon("datanode"), daemon("nodemanager"))),
        survey("edge", clients=Clients({"hadoop": "/usr/bin/hadoop"})),
    ]
    cluster, text, _ = written(tmp_path, theirs, DiscoveryOptions("theirs"))
    assert cluster.master.address is not None
    assert cluster.master.address.host == "n2"
    assert [node.name for node in cluster.workers] == ["worker"]
    assert cluster.attached == Attachment("edge", "/usr/bin/hadoop", "/etc/hadoop/conf", "default", "/user/alice/assay")
    assert "# n1 is not part of the cluster: namenode runs there" in text
    assert "guessed: the first" not in text


def test_a_single_host_is_master_and_worker(tmp_path: Path) -> None:
    cluster, _, _ = written(tmp_path, [survey()])
    assert cluster.nodes[0].roles == frozenset({Role.MASTER, Role.WORKER})


def test_layers_between_a_mount_and_its_disks_are_listed(tmp_path: Path) -> None:
    blocks = {
        "sdb": disk(1),
        "sdc": disk(2),
        "md0": disk(3, kind="raid", on=("sdb", "sdc"), device="9:0", raid_level="raid0", rotational=None),
        "dm-0": disk(4, kind="crypt", on=("md0",), device="253:0", rotational=None),
        "nvme0n1": disk(5, device="259:0", rotational=False),
    }
    mounts = (mount(1, device="253:0"), mount(2, device="259:0"), mount(3, device="259:0"))
    cluster, text, _ = written(tmp_path, [survey(blocks=blocks, mounts=mounts)])
    assert "/data1  # ext4 on LUKS (dm-0), RAID 0 (md0), sdb, sdc (HGST HUS726040)" in text
    assert [d.kind for d in cluster.workers[0].type.devices] == [DeviceKind.HDD, DeviceKind.NVME]


def test_devices_of_workers_are_reduced_to_their_common_part_with_a_warning(tmp_path: Path) -> None:
    poorer = survey("w3", mounts=(mount(1),))
    cluster, _, notes = written(tmp_path, [survey("w1"), survey("w2"), poorer])
    assert {len(node.type.devices) for node in cluster.workers} == {1}
    assert notes == ["w2: /data2 left out: workers' devices must be alike, and others have fewer"]


def test_hosts_without_a_separate_disk_get_a_folder_and_a_remark(tmp_path: Path) -> None:
    cluster, text, _ = written(tmp_path, [survey(mounts=(mount(0, point="/"),))])
    assert cluster.workers[0].type.devices[0].directory == "/var/tmp/assay-disk"
    assert "guessed: no data disk is mounted" in text


def test_a_mount_in_which_the_user_may_not_write_is_a_note(tmp_path: Path) -> None:
    _, _, notes = written(tmp_path, [survey(mounts=(mount(1, writable=False),))])
    assert notes == ["w1: alice may not write to /data1; let root make it a folder there"]


def test_options_of_the_user_override_guesses(tmp_path: Path) -> None:
    cluster, text, _ = written(tmp_path, [survey("w1"), survey("w2")], DiscoveryOptions("rack", "w2", "bench/assay"))
    assert (cluster.name, cluster.master.address and cluster.master.address.host) == ("rack", "w2")
    assert cluster.workers[0].type.devices[0].directory == "/data1/bench/assay"
    assert "as given" in text


@given(
    st.lists(
        st.tuples(
            st.integers(1, 256),
            st.integers(10**9, 2 * 10**12),
            st.one_of(st.none(), st.sampled_from([100, 1000, 2500, 10000, 25000, 100000])),
            st.integers(0, 4),
            st.sampled_from([None, True, False]),
            st.sampled_from([None, "namenode", "datanode", "resourcemanager", "nodemanager", "ozone"]),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_a_discovered_cluster_file_loads_with_one_master(
    tmp_path_factory: pytest.TempPathFactory, surveyed: list[tuple[int, int, int | None, int, bool | None, str | None]]
) -> None:
    hosts = [
        replace(
            survey(f"h{number}"),
            basics=basics(cores=cores, memory_bytes=memory),
            nics={"eth0": nic(speed_mbit_per_s=rate)},
            blocks={f"sd{'abcdefgh'[i]}": disk(i, rotational=turns) for i in range(1, disks + 1)},
            mounts=tuple(mount(i) for i in range(1, disks + 1)),
            daemons=(daemon(role),) if role else (),
        )
        for number, (cores, memory, rate, disks, turns, role) in enumerate(surveyed)
    ]
    cluster, _, _ = written(tmp_path_factory.mktemp("any"), hosts)
    assert sum(Role.MASTER in node.roles for node in cluster.nodes) == 1
    assert cluster.workers
    assert len(cluster.nodes) <= len(hosts)
