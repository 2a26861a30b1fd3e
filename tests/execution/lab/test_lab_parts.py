"""Test parts of the lab: control-group files, journal, locks, rates, probe."""

from __future__ import annotations

import fcntl
import ipaddress
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import IO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.devices.model_parameters import DIRTY_BYTES_MIN, dirty_seconds
from assay.execution.lab import build, lifecycle, network, undo
from assay.execution.lab.cgroups import (
    Controller,
    DiskLimits,
    NodeCgroup,
    find_controllers,
    throttle,
    throttle_directory,
)
from assay.execution.lab.commands import run
from assay.execution.lab.journal import JOURNAL, LabHeader, UndoJournal, UndoStep, read_journal
from assay.execution.lab.lifecycle import Lab, labs
from assay.execution.lab.scale import memory_limit_bytes, scaled_disk
from assay.execution.lab.state import lab_directory, take_lab_lock
from assay.foundation.errors import LabError, SpecificationError
from assay.foundation.process import Lock, Owner, lock_holder
from assay.model.clusters.cluster import Device, DeviceKind, Disks, Placement
from assay.model.clusters.disk_requests import FULL_REQUEST_BYTES, PAGE_BYTES, request_bytes
from lab_support import small_cluster


def _version2(mount: Path, controllers: str = "cpu io memory pids") -> dict[str, Controller]:
    (mount / "cgroup.controllers").write_text(controllers)
    return find_controllers(f"35 25 0:30 / {mount} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n")


def test_controllers_of_version_1_are_detected_by_their_mounts() -> None:
    text = (
        "31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "32 30 0:28 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n"
        "33 30 0:29 / /sys/fs/cgroup/my\\040memory rw shared:9 - cgroup cgroup rw,memory\n"
        "34 30 0:30 / / rw - ext4 /dev/vda rw\n"
    )
    controllers = find_controllers(text)
    assert {name: (c.version, str(c.mount)) for name, c in controllers.items()} == {
        "cpu": (1, "/sys/fs/cgroup/cpu,cpuacct"),
        "cpuacct": (1, "/sys/fs/cgroup/cpu,cpuacct"),
        "io": (1, "/sys/fs/cgroup/blkio"),
        "memory": (1, "/sys/fs/cgroup/my memory"),
    }


def test_controllers_of_version_2_are_detected_and_a_missing_one_is_missing(tmp_path: Path) -> None:
    assert set(_version2(tmp_path)) == {"cpu", "cpuacct", "io", "memory"}
    assert set(_version2(tmp_path, "cpu pids")) == {"cpu", "cpuacct"}


def test_version_2_sets_all_limits_in_the_group_of_the_node(tmp_path: Path) -> None:
    group = NodeCgroup(_version2(tmp_path), "demo", "worker1")
    group.make()
    node = tmp_path / "assay-demo" / "worker1"
    assert group.directories == (node,)
    assert group.limit_memory(2**30)
    assert group.share_cpu(0.5, lab_nodes=4)
    assert (node / "memory.max").read_text() == str(2**30)
    assert (node / "memory.swap.max").read_text() == "0"
    assert (node / "cpu.weight").read_text() == "50"
    assert (node.parent / "cpu.weight").read_text() == "400"
    # The last of the controllers written; the kernel takes them one by one.
    assert (tmp_path / "cgroup.subtree_control").read_text() in {"+cpu", "+io", "+memory"}
    directory = throttle_directory(group)
    assert directory == node
    assert throttle(node, "7:3", DiskLimits(12e6, 11e6, 120, None))
    assert (node / "io.max").read_text() == "7:3 rbps=12000000 wbps=11000000 riops=120 wiops=max"
    assert throttle(node, "7:3", DiskLimits())
    assert (node / "io.max").read_text() == "7:3 rbps=max wbps=max riops=max wiops=max"


def test_version_1_throttles_in_the_root_group(tmp_path: Path) -> None:
    mounts = {name: tmp_path / name for name in ("cpu", "cpuacct", "memory", "io")}
    for mount in mounts.values():
        mount.mkdir()
    (mounts["io"] / "blkio.throttle.read_bps_device").write_text("")
    group = NodeCgroup({name: Controller(name, 1, mount) for name, mount in mounts.items()}, "demo", "n")
    group.make()
    assert {path.parent.parent.name for path in group.directories} == {"cpu", "cpuacct", "memory"}
    assert throttle_directory(group) == mounts["io"]
    assert throttle(mounts["io"], "7:3", DiskLimits(12e6, None, None, 120))
    written = {path.name: path.read_text() for path in mounts["io"].glob("*_device")}
    assert written == {
        "blkio.throttle.read_bps_device": "7:3 12000000",
        "blkio.throttle.write_bps_device": "7:3 0",
        "blkio.throttle.read_iops_device": "7:3 0",
        "blkio.throttle.write_iops_device": "7:3 120",
    }
    assert group.limit_memory(2**30)
    assert (mounts["memory"] / "assay-demo/n/memory.limit_in_bytes").read_text() == str(2**30)


@given(scale=st.floats(0.01, 1), rate=st.floats(1e6, 4e9), iops=st.none() | st.integers(50, 10**6))
def test_throttled_requests_shrink_with_the_scale_but_never_cap_the_bandwidth(
    scale: float, rate: float, iops: int | None
) -> None:
    for kind in DeviceKind:
        chosen = request_bytes(Device("d", kind, rate, rate, iops, iops, 10**12), scale, Disks.THROTTLE)
        assert chosen % PAGE_BYTES == 0
        assert 4 * PAGE_BYTES <= chosen <= FULL_REQUEST_BYTES
        if iops is not None and chosen < FULL_REQUEST_BYTES:
            assert chosen * iops >= rate * scale


@given(scale=st.floats(0.05, 1), other=st.floats(0.05, 1))
def test_a_modelled_arm_moves_as_much_time_of_transfer_per_seek_at_every_scale(scale: float, other: float) -> None:
    device = Device("d", DeviceKind.HDD, 120e6, 120e6, 120, 120, 10**12)
    times_s = [request_bytes(device, s, Disks.MODEL) / (device.read_bytes_per_s * s) for s in (scale, other)]
    assert times_s[0] == pytest.approx(times_s[1], rel=0.15)


def test_a_disk_scales_rates_and_capacity_but_not_requests() -> None:
    device = Device("d", DeviceKind.HDD, 120e6, 100e6, 120, 110, 10**12)
    spec = scaled_disk("n", device, 0.1, Path("x"), Disks.THROTTLE)
    assert spec.limits == DiskLimits(pytest.approx(12e6), pytest.approx(10e6), 120, 110)  # type: ignore[arg-type]
    assert spec.capacity_bytes == pytest.approx(10**11, abs=4096)
    assert spec.request_bytes == 128 * 1024
    assert spec.dirty_bytes == 5_000_000  # half a second


@given(scale=st.floats(0.001, 1), disks=st.integers(1, 12))
def test_equal_bandwidth_has_equal_dirty_bytes_for_any_number_of_disks(scale: float, disks: int) -> None:
    slow = Device("h", DeviceKind.HDD, 120e6, 120e6, 120, 120, 10**15)
    fast = replace(slow, name="s", kind=DeviceKind.SSD, read_bytes_per_s=disks * 120e6, write_bytes_per_s=disks * 120e6)
    seconds = dirty_seconds([slow, fast], scale)
    held = [scaled_disk("n", d, scale, Path("x"), Disks.MODEL, seconds).dirty_bytes for d in (slow, fast)]
    assert held[1] == pytest.approx(disks * held[0], rel=1e-5)
    assert held[0] >= DIRTY_BYTES_MIN
    assert seconds == 0.5 or held[0] == DIRTY_BYTES_MIN


def test_memory_is_scaled_down_to_the_floor() -> None:
    cluster = small_cluster()
    settings = cluster.lab
    assert settings
    node = cluster.workers[0]
    assert memory_limit_bytes(node, settings) == 4 * 10**8
    assert memory_limit_bytes(node, replace(settings, memory_floor_bytes=10**9)) == 10**9


def test_a_subnet_that_the_machine_uses_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    used_networks = [ipaddress.IPv4Network("10.213.0.0/17"), ipaddress.IPv4Network("10.213.128.7/32")]
    monkeypatch.setattr(network, "_used_networks", lambda: iter(used_networks))
    planned = network.plan_network("demo", {"a": 1e9, "b": 1e9})
    assert str(planned.subnet) == "10.213.129.0/24"
    assert planned.addresses == {"a": "10.213.129.1", "b": "10.213.129.2"}
    assert len(planned.host_interface) <= 15
    monkeypatch.setattr(network, "_used_networks", lambda: iter([ipaddress.IPv4Network("0.0.0.0/0")]))
    with pytest.raises(LabError, match="no free /24"):
        network.plan_network("demo", {"a": 1e9})


def test_the_journal_gives_back_what_was_recorded_and_ignores_a_line_cut_short(tmp_path: Path) -> None:
    header = LabHeader("demo", True, Owner.current())
    journal = UndoJournal.begin(tmp_path, header)
    steps = [UndoStep("namespace", {"name": "a"}), UndoStep("image", {"path": "/x"})]
    journal.record(*steps)
    with (tmp_path / JOURNAL).open("ab") as file:
        file.write(b'{"kind":"link","argum')
    assert read_journal(tmp_path) == (header, steps)


@given(st.binary(max_size=300))
def test_no_journal_content_is_a_traceback(content: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, JOURNAL).write_bytes(content)
        read_journal(Path(folder))


def test_a_lock_names_its_holder_and_ends_with_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    script = (
        f"import sys, time; from pathlib import Path; from assay.foundation.process import Lock; "
        f"held = Lock.try_take(Path({str(path)!r})); print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert holder.stdout
    assert holder.stdout.readline() == "held\n"
    process = lock_holder(path)
    assert process
    assert process.pid == holder.pid
    with pytest.raises(LabError, match=f"in use .process {holder.pid}, since"):
        take_lab_lock(tmp_path)
    holder.kill()
    holder.wait()
    assert lock_holder(path) is None
    lock = Lock.try_take(path)
    assert lock
    lock.release()
    lock.release()
    assert lock_holder(path) is None


def test_a_lab_that_is_removed_while_its_lock_is_taken_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when another terminal's ``lab down`` ends between reading the lab's description and taking its lock."""
    gone = tmp_path / "gone"
    with pytest.raises(LabError, match="the lab gone has just been removed by another command"):
        take_lab_lock(gone)
    going = tmp_path / "going"
    going.mkdir()
    lock_file = fcntl.flock

    def removed_first(file: IO[str], how: int) -> None:
        shutil.rmtree(going)
        lock_file(file, how)

    monkeypatch.setattr(fcntl, "flock", removed_first)
    with pytest.raises(LabError, match="the lab going has just been removed"):
        take_lab_lock(going)


def test_a_lab_removed_by_another_is_not_attached_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "_read_description", lambda _: SimpleNamespace(described=None))
    with pytest.raises(LabError, match="has just been removed"):
        Lab.attach("gone", tmp_path)


def test_removal_waits_while_a_modelled_disk_drains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a second of 12 MB/s are 1500 pages: at some 100 requests a second, longer than ten seconds."""
    clock = iter(range(1000))
    time = SimpleNamespace(monotonic=lambda: float(next(clock)), sleep=lambda _: None)
    monkeypatch.setattr(undo, "time", time)
    image = tmp_path / "hdd.img"
    busy_devices = [[Path("/dev/loop0")]] * 40
    monkeypatch.setattr(undo, "loops_over", lambda _: busy_devices.pop() if busy_devices else [])
    monkeypatch.setattr(undo, "run", lambda _: "")
    assert undo.UNDO["loop"]({"path": str(image)}) is None
    assert not busy_devices


@pytest.mark.parametrize("name", ["", "UPPER", "a b", "../x", "a" * 60, "-a", "a/b"])
def test_a_name_that_is_no_word_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(SpecificationError, match="can't name a lab"):
        lab_directory(name, tmp_path)


def test_a_cluster_of_real_hosts_is_no_lab(tmp_path: Path) -> None:
    cluster = replace(small_cluster(), placement=Placement.SSH, lab=None)
    with pytest.raises(LabError, match="is not described as a lab"):
        Lab.up(cluster, name="x", persistent=False, state=tmp_path)
    assert labs(tmp_path) == []


def test_a_missing_or_failing_program_is_an_error_with_a_message() -> None:
    with pytest.raises(LabError, match="is not installed"):
        run(["assay-no-such-program"])
    with pytest.raises(LabError, match="No such file"):
        run(["cat", "/no/such/file"])
    with pytest.raises(LabError, match=r"did not end within 0.2 s"):
        run(["sleep", "5"], timeout_s=0.2)


@pytest.mark.root
def test_without_root_the_probe_reports_it_and_tries_nothing(tmp_path: Path) -> None:
    script = (
        "import json, os; from assay.execution.lab.probe import probe; "
        "from assay.execution.lab.lifecycle import clear_abandoned; "
        "os.seteuid(65534); found = probe(); "
        "print(json.dumps([[c.name, c.ok, c.detail] for c in found.missing]), clear_abandoned())"
    )
    argv = [sys.executable, "-c", script]
    done = subprocess.run(
        argv, capture_output=True, text=True, check=True, env={**os.environ, "ASSAY_STATE": str(tmp_path)}
    )
    missing, _ = json.JSONDecoder().raw_decode(done.stdout)
    assert [(name, ok) for name, ok, _ in missing] == [("root", False)]
    assert "sudo" in missing[0][2]


def test_a_node_with_more_memory_than_the_machine_is_refused_before_anything_is_made() -> None:
    cluster = small_cluster("toobig")
    assert cluster.lab is not None
    large = replace(cluster, lab=replace(cluster.lab, memory_floor_bytes=900 * 10**12))
    with pytest.raises(LabError, match=r"900 TB of memory, and this machine has .*\n.*lower memory_floor"):
        build.build(large, cast("build.LabSite", None))
