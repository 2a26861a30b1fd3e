"""Test that a healthy host passes every check, and that each fault is reported by its own check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.host_checks.catalogue import BETWEEN_CHECKS, CRITERIA, HOST_CHECKS, grade_hosts
from assay.model.clusters.cluster import (
    Address,
    Attachment,
    Cluster,
    Device,
    DeviceKind,
    Nic,
    Node,
    NodeType,
    Placement,
    Role,
)
from assay.model.clusters.host_checks import BETWEEN, Grade
from assay.model.clusters.survey import BackgroundLoad, Clock, ControlGroup, Directory, Java, Login, Processor, Survey
from survey_samples import DATA, GIB, SYSCTLS, basics, daemon, disk, mount, nic, survey

TYPE = NodeType(
    "worker",
    12,
    64 * GIB,
    tuple(
        Device(f"hdd{n}", DeviceKind.HDD, 1.5e8, 1.5e8, None, None, 3_900 * 10**9, directory=p)
        for n, p in enumerate(DATA)
    ),
    Nic(1e10),
)


def cluster(names: list[str]) -> Cluster:
    roles = [frozenset({Role.MASTER}), *[frozenset({Role.WORKER})] * len(names)]
    nodes = (Node(name, TYPE, role, Address(name)) for name, role in zip(names, roles, strict=False))
    return Cluster("rack", Placement.SSH, tuple(nodes), home="/home/alice/assay")


def failures(*hosts: Survey) -> dict[tuple[str, str], list[tuple[Grade, str]]]:
    """Return (host, check) to what was found that is not fit."""
    result: dict[tuple[str, str], list[tuple[Grade, str]]] = {}
    report = grade_hosts(cluster([host.host for host in hosts]), "now", {host.host: host for host in hosts}, {})
    for reading in report.readings:
        if reading.grade is not Grade.FIT:
            result.setdefault((reading.host, reading.criterion), []).append((reading.grade, reading.message))
    return result


ALWAYS_NOT_KNOWN = {"slow-disk", "rights", "hadoop-alike", "pair-bandwidth"}
"""A login without sudo can't know of the first and lacks the second; no Hadoop runs, and no pairs were measured."""


def test_a_correctly_configured_host_passes_all_checks() -> None:
    assert {name for _, name in failures(survey("w1"), survey("w2"))} == ALWAYS_NOT_KNOWN


def test_there_are_enough_checks_and_each_says_why_who_and_how() -> None:
    assert len(CRITERIA) >= 35
    assert len({criterion.name for criterion in CRITERIA}) == len(CRITERIA)
    for criterion in CRITERIA:
        assert criterion.why.endswith(".")
        assert criterion.change
        assert criterion.advice
        assert all(advice.value and advice.source for advice in criterion.advice)


def test_vendors_that_disagree_are_both_quoted() -> None:
    advice = {criterion.name: {a.value for a in criterion.advice} for criterion in CRITERIA}
    assert {"1, at most 10", "0", "20, down from 60"} <= advice["swappiness"]
    assert len(advice["overcommit"]) == 3


def settings(**changed: str) -> dict[str, Any]:
    return {"basics": basics(sysctls=SYSCTLS | {n.replace("__", "."): v for n, v in changed.items()}, swap_bytes=GIB)}


def only_disk(**changed: Any) -> dict[str, Any]:
    return {"blocks": {"sda": disk(0), "sdb": disk(1, **changed), "sdc": disk(2)}}


def only_mount(**changed: Any) -> dict[str, Any]:
    return {"mounts": (mount(0, point="/"), mount(1, **changed), mount(2))}


def under(kind: str, **changed: Any) -> dict[str, Any]:
    """Put a mapping between the first data file system and its disk."""
    upper = disk(1, kind=kind, on=("sdb",), rotational=None, **changed)
    return {"blocks": {"sda": disk(0), "sdb": disk(1, device="8:99"), "dm-0": upper, "sdc": disk(2)}}


def background(**changed: Any) -> dict[str, Any]:
    return {"background_load": replace(BackgroundLoad((0.1,), 0.01, {}, 0, 60 * GIB, 1e6), **changed)}


def processor(**changed: Any) -> dict[str, Any]:
    return {"cpu": replace(Processor(("performance",), 2100.0, 2100.0, 2100.0, 1, 1, 0, 0), **changed)}


E, W, N, U = Grade.ERROR, Grade.WARNING, Grade.NOTE, Grade.UNKNOWN
WRONG: list[tuple[str, Grade, Mapping[str, Any]]] = [
    ("swappiness", W, settings(vm__swappiness="60")),
    ("swappiness", N, settings(vm__swappiness="20")),
    ("overcommit", W, settings(vm__overcommit_memory="2")),
    ("huge-pages", W, {"basics": basics(huge_pages="always")}),
    ("huge-pages-defrag", W, {"basics": basics(huge_pages_defrag="always")}),
    ("swap-in-use", W, background(swap_used_bytes=GIB)),
    ("zone-reclaim", W, settings(vm__zone_reclaim_mode="1")),
    ("dirty-pages", N, settings(vm__dirty_ratio="80")),
    ("map-count", W, settings(vm__max_map_count="1024")),
    ("memory-as-described", E, {"basics": basics(memory_bytes=32 * GIB)}),
    ("memory-as-described", E, {"control_group": ControlGroup(GIB, None)}),
    ("cores-as-described", E, {"control_group": ControlGroup(None, 2.5)}),
    ("control-group", W, {"control_group": ControlGroup(GIB, 2.0)}),
    ("memory-errors", W, processor(memory_errors=3)),
    ("governor", W, processor(governors=("powersave",))),
    ("governor", U, processor(governors=())),
    ("frequency", N, processor(slowest_mhz=1200.0)),
    ("throttling", W, processor(throttled=7)),
    ("numa", N, processor(numa_nodes=2)),
    ("cores-as-described", E, {"basics": basics(cores=8)}),
    ("background-load", W, background(cpu_share=0.5)),
    ("clock-source", N, {"basics": basics(clock_source="hpet")}),
    ("tuned", N, {"tuned_profile": "powersave"}),
    ("mounted", E, {"mounts": ()}),
    ("mounted", W, {"mounts": (mount(0, point="/"),)}),
    ("writable", E, {"directories": {"/data1": Directory(True, "hdfs", "700", False)}}),
    ("capacity", W, only_mount(size_bytes=10**12, free_bytes=9 * 10**11)),
    ("device-kind", W, only_disk(rotational=False, scheduler="none")),
    ("noatime", N, only_mount(options=("relatime", "rw"))),
    ("file-system", W, only_mount(file_system="btrfs")),
    ("mount-options", E, only_mount(options=("noatime", "ro"))),
    ("mount-options", W, only_mount(options=("noatime", "rw", "sync"))),
    ("noexec", E, {"mounts": (mount(0, point="/", options=("noexec",)), mount(1), mount(2))}),
    ("alignment", W, under("part", start_bytes=63 * 512)),
    ("scheduler", N, only_disk(scheduler="none")),
    ("readahead", N, only_disk(read_ahead_kib=128)),
    ("max-request", N, only_disk(max_request_kib=128)),
    ("write-cache", W, only_disk(write_cache="write back")),
    ("smart", E, {"health": {"sdb": "FAILED", "sdc": "PASSED"}}),
    ("smart", U, {"health": {}}),
    ("disk-errors", W, only_disk(errors=40)),
    ("raid", W, under("raid", raid_level="raid5")),
    ("raid", E, under("raid", raid_level="raid5", raid_missing=1)),
    ("raid", E, under("raid", raid_level="raid5", raid_action="check")),
    ("encryption", N, under("crypt")),
    ("free-space", W, only_mount(free_bytes=400 * 10**9)),
    ("free-space", E, only_mount(free_bytes=10**9)),
    ("free-inodes", E, only_mount(free_inodes=10)),
    ("disk-burden", W, background(disk_bytes_per_s={"sdb": 5e7})),
    ("link-rate", E, {"nics": {"eth0": nic(speed_mbit_per_s=1000)}}),
    ("link-rate", U, {"nics": {"eth0": nic(speed_mbit_per_s=None)}}),
    ("link-rate", U, {"nics": {"eth0": nic(driver=None, hardware=False)}}),
    ("link-rate", U, {"nics": {"eth0": nic(driver="virtio_net")}}),
    ("negotiated", W, {"nics": {"eth0": nic(supported_mbit_per_s=40000)}}),
    ("ring-buffers", N, {"nics": {"eth0": nic(ring_receive=256)}}),
    ("link-errors", W, {"nics": {"eth0": nic(rx_errors=10**6)}}),
    ("link-drops", N, {"nics": {"eth0": nic(rx_dropped=10**7)}}),
    ("link-flaps", W, {"nics": {"eth0": nic(carrier_changes=300)}}),
    ("whole-packet", E, {"full_mtu_passes": False}),
    ("own-name", W, {"name_addresses": ("127.0.1.1",)}),
    ("own-name", E, {"name_addresses": ()}),
    ("peers", E, {"peers": {"w9": ()}}),
    ("reverse-name", W, {"login_address_name": None}),
    ("connections", N, settings(net__core__somaxconn="128")),
    ("open-files", E, {"basics": basics(open_files=1024)}),
    ("open-files", N, {"basics": basics(open_files=16384)}),
    ("daemons-open-files", W, {"daemons": (daemon("datanode", open_files=4096, by_assay=True),)}),
    ("processes", W, {"basics": basics(processes=1024)}),
    ("clock-offset", E, {"clock": Clock(True, "Etc/UTC", 3.0, 0.01)}),
    ("clock-service", W, {"clock": Clock(False, "Etc/UTC", 0.0, 0.01)}),
    ("java", E, {"java": Java("/x", "1.8.0_402", {})}),
    ("java", E, {"java": Java(None, None, {})}),
    ("tools", N, {"tools": dict.fromkeys(("tar", "flock", "setsid"), "/bin/x")}),
    ("tools", E, {"tools": {}}),
    ("selinux", N, {"selinux": "enforcing"}),
    ("firewall", W, {"services": ("firewalld",)}),
    ("scrubs", N, {"scrubs": ("raid-check",)}),
    ("other-daemons", E, {"daemons": (daemon("datanode"),)}),
    ("other-jobs", W, {"daemons": (daemon("resourcemanager", running_jobs=2, containers=9),)}),
    ("engine-state", E, {"daemons": (daemon("namenode", safe_mode=True),)}),
    ("engine-state", W, {"daemons": (daemon("resourcemanager", unhealthy=1),)}),
]


@pytest.mark.parametrize(("check", "grade", "changed"), WRONG, ids=[f"{name}-{grade}" for name, grade, _ in WRONG])
def test_each_defect_fails_its_check(check: str, grade: Grade, changed: Mapping[str, Any]) -> None:
    assert grade in [named for named, _ in failures(survey(**changed))[("w1", check)]]


def test_every_check_of_a_host_has_something_that_it_finds() -> None:
    tried = {name for name, _, _ in WRONG} | {"slow-disk", "rights", "interrupts"}
    assert {check.criterion.name for check in HOST_CHECKS} == tried


def test_a_disk_is_compared_with_the_other_disks() -> None:
    blocks = {f"sd{'abcde'[n]}": disk(n) for n in range(5)}
    mounts = (mount(0, point="/"), *(mount(n) for n in range(1, 5)))
    described = replace(TYPE, devices=())
    rates = {"sdb": 2e8, "sdc": 2.1e8, "sdd": 9e7, "sde": 2e8}
    host = survey(blocks=blocks, mounts=mounts, read_bytes_per_s=rates)
    rack = cluster(["w1"])
    rack = replace(rack, nodes=(replace(rack.nodes[0], type=described),))
    slow = [r for r in grade_hosts(rack, "now", {"w1": host}, {}).readings if r.criterion == "slow-disk"]
    assert [(r.subject, r.grade) for r in slow if r.grade is not Grade.FIT] == [("sdd", Grade.ERROR)]


DIFFERS: list[tuple[str, Grade, Mapping[str, Any]]] = [
    ("kernels-alike", W, {"basics": basics(kernel="5.10.0")}),
    ("distributions-alike", N, {"basics": basics(distribution="Rocky Linux 8.9")}),
    ("javas-alike", W, {"java": Java("/x", "11.0.22", {})}),
    ("processors-alike", W, {"basics": basics(cores=16)}),
    ("memory-alike", W, {"basics": basics(memory_bytes=128 * GIB)}),
    ("disks-alike", N, only_disk(model="ST4000")),
    ("mounts-alike", W, only_mount(options=("relatime",))),
    ("settings-alike", W, settings(vm__dirty_ratio="30")),
    ("nics-alike", W, {"nics": {"eth0": nic(speed_mbit_per_s=1000)}}),
    ("pair-bandwidth", W, {"sent_bits_per_s": {"w1": 9.1e9, "w2": 2e9}}),
    ("mtu-alike", E, {"nics": {"eth0": nic(mtu_bytes=9000)}}),
    ("clocks-alike", E, {"clock": Clock(True, "Etc/UTC", 2.0, 0.01)}),
    ("zones-alike", N, {"clock": Clock(True, "Europe/Madrid", 0.0, 0.01)}),
    ("hadoop-alike", W, {"daemons": (daemon("datanode", version="3.1.1"),)}),
]


@pytest.mark.parametrize(("check", "grade", "changed"), DIFFERS, ids=[name for name, _, _ in DIFFERS])
def test_one_host_that_differs_is_named(check: str, grade: Grade, changed: Mapping[str, Any]) -> None:
    daemons = {"daemons": (daemon("datanode"),)} if check == "hadoop-alike" else {}
    hosts = [survey("w1", **daemons), survey("w2", **daemons), survey("w3", **changed)]
    report = grade_hosts(cluster([host.host for host in hosts]), "now", {host.host: host for host in hosts}, {})
    readings = [reading for reading in report.readings if reading.criterion == check and reading.host == BETWEEN]
    assert grade in [reading.grade for reading in readings]
    assert any("w3" in reading.message + reading.subject for reading in readings if reading.grade is grade)


def test_no_check_cites_a_guide_to_hbase() -> None:
    assert not [check for check in HOST_CHECKS if any("HBase" in advice.source for advice in check.criterion.advice)]


def test_every_check_between_hosts_has_something_that_it_finds() -> None:
    assert {check.criterion.name for check in BETWEEN_CHECKS} == {name for name, _, _ in DIFFERS}


def test_hosts_that_could_not_be_asked_are_errors() -> None:
    report = grade_hosts(cluster(["w1", "w2"]), "now", {"w1": survey()}, {"w2": "it refuses port 22"})
    assert report.count(Grade.ERROR) == 1
    assert report.worst("w1", "swappiness") is Grade.FIT


def test_running_daemons_of_an_attached_cluster_are_no_error() -> None:
    theirs = replace(cluster(["w1"]), attached=Attachment("w1", "h", "c", "q", "/user/a/b"))
    host = survey(daemons=(daemon("datanode"),))
    assert grade_hosts(theirs, "now", {"w1": host}, {}).worst("w1", "other-daemons") is Grade.FIT


_numbers = st.one_of(st.none(), st.integers(0, 2**50))


@given(st.data())
def test_every_check_has_an_answer_for_any_missing_fact(data: st.DataObject) -> None:
    """No check raises, and none calls fit what it can't know: what may be missing is taken away at random."""

    def poorer(value: Any, kept: tuple[str, ...] = ()) -> Any:
        optional = [f.name for f in fields(value) if "None" in str(f.type) and f.name not in kept]
        taken = data.draw(st.lists(st.sampled_from(optional), unique=True)) if optional else []
        return replace(value, **dict.fromkeys(taken))

    host = survey()
    host = replace(
        host,
        basics=poorer(replace(host.basics, sysctls={})),
        cpu=poorer(host.cpu),
        background_load=poorer(host.background_load),
        nics={"eth0": poorer(nic())} if data.draw(st.booleans()) else {},
        blocks={name: poorer(block) for name, block in host.blocks.items()} if data.draw(st.booleans()) else {},
        mounts=data.draw(st.sampled_from([(), host.mounts])),
        java=poorer(host.java),
        user=Login("a", 1, (), data.draw(st.sampled_from(["root", "free", "password", "none"]))),
        daemons=(poorer(daemon("namenode", safe_mode=None)),),
        login_address=data.draw(st.sampled_from([None, "10.0.0.1"])),
        login_nic=None,
    )
    report = grade_hosts(cluster(["w1", "w2"]), "now", {"w1": host, "w2": survey("w2")}, {})
    assert all(reading.message for reading in report.readings)
    if not host.basics.sysctls:
        assert report.worst("w1", "overcommit") is Grade.UNKNOWN


def pairs(**sent: dict[str, float]) -> list[tuple[Grade, str, str]]:
    """Return the readings of pairs of hosts with NICs of 10 Gbit/s for the rates that each sent."""
    hosts = {name: survey(name, sent_bits_per_s=rates) for name, rates in sent.items()}
    readings = grade_hosts(cluster(list(hosts)), "now", hosts, {}).readings
    return [
        (reading.grade, reading.subject, reading.message)
        for reading in readings
        if reading.criterion == "pair-bandwidth"
    ]


def test_a_slow_pair_is_compared_with_its_nics_and_with_the_other_pairs() -> None:
    assert pairs(w1={"w2": 9.3e9}, w2={"w3": 9.4e9}, w3={}) == [(Grade.FIT, "", "2 pairs: 9.3 Gbit/s to 9.4 Gbit/s")]
    [(grade, subject, words)] = pairs(w1={"w2": 9.3e9, "w3": 1e9}, w2={"w3": 9.4e9}, w3={})
    assert (grade, subject) == (Grade.WARNING, "w1 → w3")
    assert "the median pair has 9.3 Gbit/s" in words
    assert [message for _, _, message in pairs(w1={"w2": 5e9}, w2={})] == ["5 Gbit/s, over NICs of 10 Gbit/s"]
