"""Test modelled disks: seeks of interleaved streams, true utilisation, and no remains of a dead daemon."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from assay.execution.lab.disks.diskd import DiskDaemon, find_daemon
from assay.execution.lab.journal import LabHeader, UndoJournal, read_journal
from assay.execution.lab.lifecycle import Lab, labs, remove
from assay.execution.lab.probe import DEVICE_MODEL, clear_scratch, probe
from assay.foundation.errors import LabError
from assay.foundation.process import Owner
from assay.model.clusters.cluster import Cluster, Disks, LabSettings
from lab_support import SCALE, left_of, require_emulator, require_lab, small_cluster, ssh, unique_name

FILE_KB = 24 * 1024


def _cluster() -> Cluster:
    """Return the small cluster with an SSD that is large and fast compared with the worker's memory."""
    described = small_cluster(disks=None)
    master, worker = described.nodes
    hdd, ssd = worker.type.devices
    ssd = replace(ssd, read_bytes_per_s=600e6, write_bytes_per_s=600e6, capacity_bytes=10 * 10**9)
    kind = replace(worker.type, devices=(hdd, ssd), memory_bytes=10**9)
    lab = LabSettings(SCALE, memory_floor_bytes=128 * 2**20)
    return replace(described, nodes=(master, replace(worker, type=kind)), lab=lab)


def _daemon_of(lab_directory: Path) -> DiskDaemon:
    _, steps = read_journal(lab_directory)
    (step,) = (step for step in steps if step.kind == "diskd")
    return DiskDaemon(*(Path(step.arguments[name]) for name in ("program", "specification", "mount")))


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    require_emulator(Disks.MODEL)
    state, name = tmp_path_factory.mktemp("state"), unique_name("model")
    with Lab.up(_cluster(), name=name, persistent=False, state=state) as created_lab:
        for disk in ("hdd", "ssd"):
            ssh(
                created_lab.cluster.workers[0].address,
                f"dd if=/dev/zero of=/mnt/{disk}/x bs=1M count={FILE_KB // 1024} oflag=direct 2>/dev/null",
            )
        yield created_lab
    assert left_of(name, state) == []


def _read(lab: Lab, disk: str, readers: int) -> tuple[float, float]:
    """Read a disk with ``readers`` concurrent readers. Return bytes/s and the disk's utilization as iostat computes it.

    Each reader reads its own part, request by request. They bypass the page cache: its readahead would hide a number of
    seeks that depends on the machine's speed.
    """
    block = Path(lab.facts["nodes"]["worker"]["devices"][disk]["block"]).name
    part_kb = FILE_KB // 8
    ticks = f"awk '{{print $10}}' /sys/block/{block}/stat"
    output = ssh(
        lab.cluster.workers[0].address,
        f"{ticks}; fio --output-format=json --name=r --filename=/mnt/{disk}/x --rw=read --bs=64k "
        f"--size={part_kb // 2}k --offset_increment={part_kb}k --numjobs={readers} --thread --direct=1 "
        f"--group_reporting > /tmp/r.json; {ticks}; cat /tmp/r.json",
    )
    before_ms, after_ms, report = output.split("\n", 2)
    (job,) = json.loads(report)["jobs"]
    return job["read"]["bw_bytes"], (int(after_ms) - int(before_ms)) / job["read"]["runtime"]


def _best(lab: Lab, disk: str, readers: int) -> tuple[float, float]:
    """Return the maximum speed and utilization of three readings: other load only lowers them."""
    speeds = [_read(lab, disk, readers) for _ in range(3)]
    return max(rate for rate, _ in speeds), max(busy for _, busy in speeds)


@pytest.mark.lab
def test_a_machine_that_supports_the_disk_model_uses_it_and_reports_it(lab: Lab) -> None:
    assert lab.facts["disks"] == {"emulator": "model", "reason": "this machine supports it"}
    hdd = lab.facts["nodes"]["worker"]["devices"]["hdd"]
    assert (hdd["kind"], hdd["rpm"], hdd["read_bytes_per_s"]) == ("hdd", 7200, pytest.approx(12e6))


@pytest.mark.lab
@pytest.mark.alone
def test_interleaved_readers_cost_an_arm_bandwidth_and_flash_none(lab: Lab) -> None:
    single, several = _best(lab, "hdd", 1)[0], _best(lab, "hdd", 8)[0]
    assert several < 0.85 * single
    assert several > 0.25 * single
    assert _best(lab, "ssd", 8)[0] > 0.7 * _best(lab, "ssd", 1)[0]


@pytest.mark.lab
@pytest.mark.alone
def test_a_saturated_disk_shows_as_busy(lab: Lab) -> None:
    assert _best(lab, "hdd", 8)[1] > 0.8
    assert _best(lab, "ssd", 8)[1] > 0.5


@pytest.mark.lab
def test_reads_of_a_node_are_in_its_page_cache_and_the_image_in_none(lab: Lab) -> None:
    """A file larger than the memory limit is read from the disk again, as the cache stays within the limit."""
    address = lab.cluster.workers[0].address
    facts = lab.facts["nodes"]["worker"]
    limit_bytes, group = facts["memory_bytes"], facts["cgroup"]["memory"]
    size_mb = int(1.5 * limit_bytes / 2**20)
    block = Path(facts["devices"]["ssd"]["block"]).name
    show_sectors = f"awk '{{print $3}}' /sys/block/{block}/stat"
    show_cache = f'awk \'$1 == "cache" || $1 == "file" {{print $2}}\' {group}/memory.stat'
    show_usage = f"cat {group}/memory.usage_in_bytes {group}/memory.current 2>/dev/null"
    output = ssh(
        address,
        f"{show_cache}; dd if=/dev/zero of=/mnt/ssd/big bs=1M count={size_mb} oflag=direct 2>/dev/null; {show_cache}; "
        f"cat /mnt/ssd/big > /dev/null; a=$({show_sectors}); cat /mnt/ssd/big > /dev/null; b=$({show_sectors}); "
        f"echo $(( (b - a) * 512 )); {show_cache}; {show_usage}; rm /mnt/ssd/big",
        timeout_s=120,
    )
    cached_bytes, second_cached_bytes, reread_bytes, last_cached_bytes, used_bytes = (
        int(word) for word in output.split()
    )
    # Direct writes bypass the node's page cache, and the image's pages are not counted on the node.
    assert second_cached_bytes - cached_bytes < 0.2 * limit_bytes
    assert reread_bytes > limit_bytes / 2
    assert last_cached_bytes <= used_bytes <= limit_bytes


def _busy_lab(word: str, state: Path) -> tuple[str, int]:
    """Create a persistent lab and write to one of its disks in the background; return its name and its daemon's id."""
    require_emulator(Disks.MODEL)
    name = unique_name(word)
    lab = Lab.up(small_cluster(disks=Disks.MODEL), name=name, persistent=True, state=state)
    lab.detach()
    ssh(lab.cluster.workers[0].address, "setsid dd if=/dev/zero of=/mnt/hdd/x bs=1M count=190 >/dev/null 2>&1 & true")
    (pid,) = _daemon_of(state / "labs" / name).pids()
    return name, pid


@pytest.mark.lab
def test_a_lab_whose_daemon_was_killed_is_broken_and_is_removed_whole(tmp_path: Path) -> None:
    name, pid = _busy_lab("dead", tmp_path)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert [status.state for status in labs(tmp_path)] == ["broken"]
    with pytest.raises(LabError, match=rf"the lab {name} is broken: the daemon of its disks has ended"):
        Lab.attach(name, tmp_path)
    remove(name, tmp_path)
    assert left_of(name, tmp_path) == []


@pytest.mark.lab
def test_a_lab_whose_daemon_was_stopped_is_removed_whole_and_soon(tmp_path: Path) -> None:
    name, pid = _busy_lab("stopped", tmp_path)
    os.kill(pid, signal.SIGSTOP)
    resumed = threading.Event()

    def resume_daemon() -> None:  # no signal ends a process that waits for a disk that does not answer
        resumed.set()
        os.kill(pid, signal.SIGCONT)

    resume_timer = threading.Timer(90, resume_daemon)
    resume_timer.start()
    try:
        remove(name, tmp_path)
    finally:
        resume_timer.cancel()
    assert not resumed.is_set()
    assert left_of(name, tmp_path) == []


def _program(folder: Path, script: str) -> Path:
    path = folder / "assay-diskd"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.mark.lab
def test_without_a_working_daemon_disks_are_throttled_and_the_reason_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_lab()
    require_emulator(Disks.THROTTLE)
    program = _program(tmp_path, "echo 'no fuse today' >&2; exit 1")
    monkeypatch.setenv("ASSAY_DISKD", str(program))
    emulators = probe(tmp_path)
    assert not emulators.has(DEVICE_MODEL)
    assert "no fuse today" in emulators.detail(DEVICE_MODEL)
    name = unique_name("less")
    with Lab.up(small_cluster(disks=None), name=name, persistent=False, state=tmp_path) as lab:
        assert lab.facts["disks"]["emulator"] == "throttle"
        assert "no fuse today" in lab.facts["disks"]["reason"]
        assert any("seeks" in words for words in lab.facts["not_emulated"])
    with pytest.raises(LabError, match="disks: model is not possible on this machine: no fuse today"):
        Lab.up(small_cluster(disks=Disks.MODEL), name=name, persistent=False, state=tmp_path)
    assert left_of(name, tmp_path) == []


@pytest.mark.lab
def test_processes_that_try_the_machine_at_once_do_not_disturb_each_other_and_leave_nothing(tmp_path: Path) -> None:
    require_lab()
    script = "from assay.execution.lab.probe import probe; print([item.detail for item in probe().missing])"
    environment = {**os.environ, "ASSAY_STATE": str(tmp_path)}
    argv = [sys.executable, "-c", script]
    processes = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(3)]
    assert [process.communicate()[0].strip() for process in processes] == ["[]"] * len(processes)
    assert list(tmp_path.glob("probe*")) == []
    dead_folder, living_folder = (tmp_path / f"probe-{pid}-x" for pid in (processes[0].pid, os.getpid()))
    for folder in (dead_folder, living_folder):
        folder.mkdir()
        (folder / "image").touch()
    clear_scratch(tmp_path)
    assert list(tmp_path.glob("probe*")) == [living_folder]


def test_the_daemon_is_located_by_the_environment_and_an_invalid_one_is_rejected(tmp_path: Path) -> None:
    program = _program(tmp_path, "exit 0")
    assert find_daemon({"ASSAY_DISKD": str(program)}) == program
    assert find_daemon({"ASSAY_DISKD": str(tmp_path / "absent"), "PATH": str(tmp_path)}) is None


def test_a_failed_daemon_is_reported_with_its_message_and_leaves_nothing(tmp_path: Path) -> None:
    daemon = DiskDaemon(_program(tmp_path, "echo 'bad disk' >&2; exit 1"), tmp_path / "model.json", tmp_path / "model")
    journal = UndoJournal.begin(tmp_path, LabHeader("x", False, Owner.current()))
    with pytest.raises(LabError, match="the disks' daemon failed: bad disk"):
        daemon.start([], 1, journal)
    assert _daemon_of(tmp_path) == daemon  # it was in the journal before it was started
    assert daemon.end() is None
    assert not daemon.specification.exists()


@pytest.mark.slow
def test_a_daemon_that_ignores_sigterm_is_killed_and_other_daemons_are_not(tmp_path: Path) -> None:
    # It waits without starting a program: until its exec, the child of a shell has the shell's command line.
    os.mkfifo(tmp_path / "never-written")
    script = f"trap '' TERM; echo ready; read line < {tmp_path}/never-written"
    journal = UndoJournal.begin(tmp_path, LabHeader("x", False, Owner.current()))
    program = _program(tmp_path, script)
    # A script's command line begins with its interpreter, as `nice` stands before the program for a moment.
    daemons = [DiskDaemon(program, tmp_path / f"{name}.json", tmp_path / name) for name in ("one", "two")]
    processes = [daemon.start([], 1, journal) for daemon in daemons]
    assert daemons[0].end() is None
    assert processes[0].wait(5) == -signal.SIGKILL
    assert list(daemons[1].pids()) == [processes[1].pid]
    assert daemons[1].end() is None
    processes[1].wait(5)
