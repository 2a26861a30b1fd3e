"""Make the survey of a healthy host, for tests that change one property."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from assay.model.clusters.survey import (
    BackgroundLoad,
    Block,
    Clients,
    Clock,
    ControlGroup,
    Daemon,
    Directory,
    HostFacts,
    Interface,
    Java,
    Login,
    Mount,
    Processor,
    Survey,
)

GIB = 2**30
SYSCTLS = {
    "vm.swappiness": "1",
    "vm.overcommit_memory": "0",
    "vm.overcommit_ratio": "50",
    "vm.dirty_ratio": "20",
    "vm.dirty_background_ratio": "10",
    "vm.zone_reclaim_mode": "0",
    "vm.max_map_count": "262144",
    "fs.file-max": "6544018",
    "net.core.somaxconn": "4096",
    "kernel.numa_balancing": "0",
}
DATA = ("/data1", "/data2")


def disk(number: int, **changed: Any) -> Block:
    """A hard disk of 4 TB."""
    block = Block(
        device=f"8:{16 * number}",
        kind="disk",
        on=(),
        size_bytes=4 * 10**12,
        rotational=True,
        model="HGST HUS726040",
        scheduler="mq-deadline",
        read_ahead_kib=1024,
        max_request_kib=1280,
        max_hardware_request_kib=1280,
        write_cache="write through",
        physical_block_bytes=4096,
        alignment_offset_bytes=0,
        errors=0,
    )
    return replace(block, **changed)


def mount(number: int, **changed: Any) -> Mount:
    """An ext4 file system on that disk, mounted as it should be."""
    base = Mount(
        point=f"/data{number}",
        device=f"8:{16 * number}",
        source=f"/dev/sd{'abcdefgh'[number]}",
        file_system="ext4",
        options=("noatime", "rw"),
        root="/",
        size_bytes=3_900 * 10**9,
        free_bytes=3_500 * 10**9,
        inodes=10**8,
        free_inodes=9 * 10**7,
        writable=True,
    )
    return replace(base, **changed)


def nic(**changed: Any) -> Interface:
    """A link of 10 Gbit/s."""
    base = Interface(
        driver="ixgbe",
        hardware=True,
        state="up",
        mtu_bytes=1500,
        speed_mbit_per_s=10000,
        supported_mbit_per_s=10000,
        duplex="full",
        ring_receive=4096,
        ring_receive_max=4096,
        carrier_changes=2,
        rx_packets=10**9,
        tx_packets=10**9,
    )
    return replace(base, **changed)


def daemon(role: str, **changed: Any) -> Daemon:
    """A daemon that is not assay's."""
    return replace(Daemon(role, "hdfs", 1000, "/etc/hadoop/conf", open_files=128000, version="3.3.6"), **changed)


def basics(**changed: Any) -> HostFacts:
    """A machine with 12 cores and 64 GiB."""
    base = HostFacts(
        cores=12,
        physical_cores=6,
        processor="Xeon E5-2620",
        virtual=False,
        memory_bytes=64 * GIB,
        swap_bytes=0,
        huge_pages="never",
        huge_pages_defrag="never",
        kernel="6.1.0-18-amd64",
        machine="x86_64",
        distribution="Debian GNU/Linux 12 (bookworm)",
        python="3.11.2",
        sysctls=SYSCTLS,
        open_files=65536,
        processes=65536,
        clock_source="tsc",
    )
    return replace(base, **changed)


def survey(host: str = "w1", **changed: Any) -> Survey:
    """A host in good order."""
    base = Survey(
        host=host,
        hostname=host,
        name_addresses=("10.0.0.1",),
        login_address="10.0.0.1",
        login_nic="eth0",
        login_address_name=host,
        peers={},
        user=Login("alice", 1000, ("alice",), "none"),
        basics=basics(),
        cpu=Processor(("performance",), 2100.0, 2100.0, 2100.0, 1, 1, 0, 0),
        blocks={"sda": disk(0, size_bytes=240 * 10**9, rotational=False), "sdb": disk(1), "sdc": disk(2)},
        health={"sda": "PASSED", "sdb": "PASSED", "sdc": "PASSED"},
        mounts=(mount(0, point="/", size_bytes=230 * 10**9, free_bytes=150 * 10**9), mount(1), mount(2)),
        directories={point: Directory(True, "alice", "755", True) for point in DATA},
        nics={"eth0": nic()},
        full_mtu_passes=True,
        background_load=BackgroundLoad((0.1, 0.1, 0.1), 0.01, {}, 0, 60 * GIB, 10**6),
        control_group=ControlGroup(),
        tools=dict.fromkeys(("fio", "iperf3", "tar", "flock", "setsid"), "/usr/bin/x"),
        clock=Clock(True, "Etc/UTC", 0.001, 0.002),
        daemons=(),
        clients=Clients(),
        java=Java("/usr/lib/jvm/java-17", "17.0.15", {"/usr/lib/jvm/java-17": "17.0.15"}),
        timers=(),
        scrubs=(),
        services=("chronyd", "irqbalance"),
        tuned_profile=None,
        selinux="off",
        firewall_tables=(),
    )
    return replace(base, **changed)
