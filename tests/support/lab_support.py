"""Describe small labs, check that this machine supports them, and list their remains."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from assay.execution.lab.disks.diskd import FUSE, find_daemon
from assay.execution.lab.network import LabNetwork
from assay.execution.lab.probe import DEVICE_MODEL, DISK_RATES, probe
from assay.execution.lab.state import state_root
from assay.model.clusters.cluster import (
    Address,
    Cluster,
    Device,
    DeviceKind,
    Disks,
    LabSettings,
    Nic,
    Node,
    NodeType,
    Placement,
    Role,
)
from campaign_support import assay, require_hadoop

MEMORY_FLOOR_BYTES = 256 * 2**20
SCALE = 1 / 10
EITHER = Disks.MODEL if FUSE.exists() and find_daemon() else Disks.THROTTLE
"""The default emulator of labs on this machine, for tests that do not concern disks."""
OTHER = pytest.param(Disks.THROTTLE if EITHER is Disks.MODEL else Disks.MODEL, marks=pytest.mark.long)


@cache
def _missing() -> str:
    return "; ".join(f"{item.name}: {item.detail}" for item in probe().missing)


def require_lab() -> None:
    """Skip the test where no lab can be created, with the reason of the probe."""
    if _missing():
        pytest.skip(f"this machine can't emulate a cluster: {_missing()}")


def require_emulator(disks: Disks) -> None:
    """Skip the test where disks can't be emulated in that way."""
    require_lab()
    emulator = probe()
    name = DEVICE_MODEL if disks is Disks.MODEL else DISK_RATES
    if not emulator.has(name):
        pytest.skip(f"no disks by {disks.value} here: {emulator.detail(name)}")


def unique_name(word: str) -> str:
    """Return a lab name that another test session on this machine does not use."""
    return f"t{os.getpid()}-{word}"


@contextlib.contextmanager
def lab_for_campaigns(word: str) -> Iterator[str]:
    """Yield a lab's name for a campaign with Hadoop, and assert at the end that no part of the lab remains."""
    require_lab()
    require_hadoop()
    name = unique_name(word)
    yield name
    assay("lab", "status")  # removes the abandoned lab of a failed test
    assert left_of(name, state_root()) == []


def small_cluster(name: str = "small", disks: Disks | None = Disks.THROTTLE) -> Cluster:
    """Return a master without disks and a worker with a 120 MB/s HDD and a 400 MB/s SSD, at one tenth."""
    hdd = Device("hdd", DeviceKind.HDD, 120e6, 120e6, 120, 120, 200 * 10**9)
    ssd = Device("ssd", DeviceKind.SSD, 400e6, 300e6, None, None, 4 * 10**9)
    nic = Nic(2e9)
    master = Node("master", NodeType("head", 4, 10**9, (), nic), frozenset({Role.MASTER}))
    worker = Node("worker", NodeType("body", 2, 4 * 10**9, (hdd, ssd), nic), frozenset({Role.WORKER}))
    return Cluster(name, Placement.LAB, (master, worker), LabSettings(SCALE, MEMORY_FLOOR_BYTES, disks))


def ssh(address: Address | None, command: str, timeout_s: float = 30) -> str:
    """Run ``command`` on a lab node with the system's own ssh, checking its host key; return what it printed."""
    assert address is not None
    options = [
        "-i",
        str(address.key),
        "-o",
        f"UserKnownHostsFile={address.known_hosts}",
        "-o",
        "BatchMode=yes",
        "-o",
        "StrictHostKeyChecking=yes",
        "-o",
        "LogLevel=ERROR",
        "-p",
        str(address.port),
    ]
    argv = ["ssh", *options, f"{address.user}@{address.host}", command]
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=timeout_s).stdout.strip()


def _processes_about(words: str, folder: str) -> list[str]:
    processes = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            groups = (entry / "cgroup").read_text()
        except OSError:
            continue
        if words in groups or (words in line and "sshd/boot.sh" in line) or folder in line:
            processes.append(f"process {entry.name}: {line}")
    return processes


def left_of(name: str, state: Path) -> list[str]:
    """Return descriptions of the remains of the lab ``name`` on this machine; empty after a clean removal.

    In a state directory that is not the machine's default, the remains of every lab count.
    """
    shared = state == state_root()
    folder = str(state / "labs" / name) if shared else str(state)
    remains = [f"namespace {path.name}" for path in Path("/run/netns").glob(f"assay-{name}[-.]*")]
    backing = list(Path("/sys/block").glob("loop*/loop/backing_file"))
    remains += [f"loop device over {path.read_text().strip()}" for path in backing if folder in path.read_text()]
    groups = [*Path("/sys/fs/cgroup").glob(f"assay-{name}"), *Path("/sys/fs/cgroup").glob(f"*/assay-{name}")]
    remains += [f"control group {path}" for path in groups]
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    remains += [f"mount {line}" for line in mounts if folder in line or f"assay-{name}" in line]
    interface = LabNetwork(name, None, {}, {}).host_interface  # type: ignore[arg-type]
    remains += [f"interface {interface}"] if Path("/sys/class/net", interface).exists() else []
    remains += [f"folder {path}" for path in (state / "labs").glob(name if shared else "*")]
    return remains + _processes_about(f"assay-{name}", folder if shared else f"{folder}/labs") + _loose_throttles()


def _loose_throttles() -> list[str]:
    """Return the throttle lines and dirty-page limits of loop devices that nothing is attached to."""
    remains = []
    for device in Path("/sys/block").glob("loop*"):
        if (device / "loop").exists():
            continue  # some lab has it
        number = (device / "dev").read_text().strip()
        for file in Path("/sys/fs/cgroup").glob("blkio/blkio.throttle.*_device"):
            remains += [
                f"{file.name}: {line}" for line in file.read_text().splitlines() if line.startswith(f"{number} ")
            ]
        limit = Path("/sys/class/bdi", number, "strict_limit")
        if limit.exists() and limit.read_text().strip() != "0":
            remains.append(f"strict_limit of {device.name}")
    return remains
