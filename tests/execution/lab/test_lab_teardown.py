"""Test that nothing of a lab remains after a normal end, Ctrl-C, kill -9 at any step, or a reboot."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from assay.execution.lab import undo
from assay.execution.lab.journal import LabHeader, UndoJournal, UndoStep
from assay.execution.lab.lifecycle import Lab, clear_abandoned, labs, remove
from assay.foundation.errors import LabError
from assay.foundation.process import Owner
from assay.model.clusters.cluster import Disks
from lab_support import EITHER, OTHER, left_of, require_emulator, require_lab, small_cluster, ssh, unique_name
from paths import SUPPORT

pytestmark = pytest.mark.lab

# Creates the small lab and kills itself with SIGKILL before the n-th step is recorded, or once the lab is up.
MAKER = """
import os, signal, sys, threading, time
from pathlib import Path
sys.path.insert(0, {tests!r})
from lab_support import small_cluster
from assay.execution.lab.journal import UndoJournal
from assay.execution.lab.lifecycle import Lab
from assay.model.clusters.cluster import Disks

record, lock, count = UndoJournal.record, threading.Lock(), 0

def counted(self, *steps):
    global count
    with lock:
        count += 1
        if count == {step}:
            os.kill(os.getpid(), signal.SIGKILL)
    record(self, *steps)
    if {delay} and steps[0].kind == "node":
        threading.Timer({delay}, os.kill, (os.getpid(), signal.SIGKILL)).start()

UndoJournal.record = counted
lab = Lab.up(small_cluster(disks=Disks({disks!r})), name={name!r}, persistent={persistent}, state=Path({state!r}))
print("up", flush=True)
if {stay}:
    time.sleep(60)
"""


def _run_maker(
    name: str, state: Path, disks: Disks = Disks.THROTTLE, *, step: int = 0, delay: float = 0, persistent: bool = False
) -> str:
    script = MAKER.format(
        tests=str(SUPPORT),
        step=step,
        delay=delay,
        name=name,
        state=str(state),
        persistent=persistent,
        stay=False,
        disks=disks.value,
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode in (0, -signal.SIGKILL), result.stderr
    return result.stdout.strip()


@pytest.fixture(autouse=True)
def _only_where_labs_can_be_made() -> None:
    require_lab()


@pytest.fixture(params=list(Disks))
def disks(request: pytest.FixtureRequest) -> Disks:
    kind: Disks = request.param
    require_emulator(kind)
    return kind


either_emulator = pytest.mark.parametrize("disks", [EITHER, OTHER], indirect=True)


def test_after_a_kill_at_any_step_the_next_command_removes_everything(tmp_path: Path, disks: Disks) -> None:
    """Kill at every step of the start: network and groups, images, settings of 2 disks, nodes; daemon, or limits."""
    name = unique_name("kill")
    steps_that_killed = 0
    for step in range(1, 40):
        if _run_maker(name, tmp_path, disks, step=step) == "up":
            break
        assert [status.state for status in labs(tmp_path)] == ["abandoned"]
        assert len(clear_abandoned(tmp_path)) == 1
        assert left_of(name, tmp_path) == [], f"killed at step {step}"
        steps_that_killed += 1
    clear_abandoned(tmp_path)  # the last one came up, and its owner ended without removing it
    assert left_of(name, tmp_path) == []
    assert steps_that_killed >= 9


@either_emulator
@pytest.mark.parametrize("delay_s", [0.001, 0.03, 0.08])
def test_an_owner_killed_while_the_nodes_boot_leaves_nothing(tmp_path: Path, delay_s: float, disks: Disks) -> None:
    name = unique_name("boot")
    _run_maker(name, tmp_path, disks, delay=delay_s)
    clear_abandoned(tmp_path)
    assert left_of(name, tmp_path) == []


@either_emulator
def test_a_persistent_lab_outlives_its_owner_and_is_removed_by_command(tmp_path: Path, disks: Disks) -> None:
    name = unique_name("stay")
    assert _run_maker(name, tmp_path, disks, persistent=True) == "up"
    assert clear_abandoned(tmp_path) == []
    lab = Lab.attach(name, tmp_path, described=small_cluster(disks=disks))
    assert ssh(lab.cluster.master.address, "echo alive") == "alive"
    with pytest.raises(LabError, match="in use"):
        remove(name, tmp_path)
    lab.detach()
    with pytest.raises(LabError, match="another description"):
        Lab.attach(name, tmp_path, described=small_cluster("other"))
    remove(name, tmp_path)
    assert left_of(name, tmp_path) == []


def test_busy_nodes_do_not_delay_removal_or_survive_it(tmp_path: Path, disks: Disks) -> None:
    """Processes that ignore SIGTERM, leave their session, and write to a slow disk are gone, and its file too."""
    name = unique_name("busy")
    lab = Lab.up(small_cluster(disks=disks), name=name, persistent=False, state=tmp_path)
    worker = lab.cluster.workers[0].address
    ssh(worker, "setsid sh -c 'trap \"\" TERM; cd /mnt/ssd; while :; do sleep 1; done' >/dev/null 2>&1 & true")
    ssh(worker, "setsid dd if=/dev/zero of=/mnt/hdd/x bs=1M count=190 >/dev/null 2>&1 & sleep 0.3")
    lab.down()
    assert left_of(name, tmp_path) == []


@either_emulator
def test_removal_can_be_repeated_and_continues_after_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, disks: Disks
) -> None:
    name = unique_name("again")
    lab = Lab.up(small_cluster(disks=disks), name=name, persistent=True, state=tmp_path)
    lab.detach()
    monkeypatch.setattr(undo, "DETACH_WAIT_S", 0.3)
    block = lab.facts["nodes"]["worker"]["devices"]["hdd"]["block"]
    with Path(block).open("rb"):
        with pytest.raises(LabError, match="still in use"):
            remove(name, tmp_path)
        assert [status.name for status in labs(tmp_path)] == [name]
    remove(name, tmp_path)
    assert left_of(name, tmp_path) == []


def test_after_a_reboot_only_files_are_removed(tmp_path: Path) -> None:
    """The undo of another boot's journal must not touch objects that have the same names today."""
    name = unique_name("boot2")
    namespace = f"assay-{unique_name('bystander')}-x"
    subprocess.run(["ip", "netns", "add", namespace], check=True)
    try:
        directory = tmp_path / "labs" / name
        directory.mkdir(parents=True)
        owner = replace(Owner.current(), boot_id="00000000-0000-0000-0000-000000000000")
        journal = UndoJournal.begin(directory, LabHeader(name, True, owner))
        journal.record(UndoStep("namespace", {"name": namespace}))
        (directory / "lab.json").write_text("{}")
        assert [status.state for status in labs(tmp_path)] == ["abandoned"]
        assert len(clear_abandoned(tmp_path)) == 1
        assert not directory.exists()
        assert Path("/run/netns", namespace).exists()
    finally:
        subprocess.run(["ip", "netns", "delete", namespace], check=True)


def test_a_disk_attached_after_its_owner_was_killed_is_detached(tmp_path: Path) -> None:
    """The kernel can finish a killed losetup after the clean-up has undone its step; here no step names the disk."""
    name = unique_name("late")
    image = tmp_path / "labs" / name / "images" / "worker.hdd.img"
    image.parent.mkdir(parents=True)
    UndoJournal.begin(tmp_path / "labs" / name, LabHeader(name, False, replace(Owner.current(), start_ticks=1)))
    image.write_bytes(bytes(1 << 20))
    subprocess.run(["losetup", "--find", str(image)], check=True)
    image.unlink()
    assert left_of(name, tmp_path) != []
    assert len(clear_abandoned(tmp_path)) == 1
    assert left_of(name, tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_during_the_start_of_a_lab_undoes_everything(tmp_path: Path, number: signal.Signals) -> None:
    name = unique_name("int")
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text(
        "cluster: small\nlab: {scale: 1/10, memory_floor: 256MiB}\n"
        "node_types:\n  worker: {cores: 2, memory: 4GB, nic: 2Gbit/s, devices: "
        "{hdd: {kind: hdd, count: 2, read: 120MB/s, write: 120MB/s, iops: 120, capacity: 4GB}}}\n"
        "nodes:\n  master: {type: worker, roles: [master]}\n  worker: {type: worker, roles: [worker], count: 2}\n"
    )
    state = tmp_path / "state"
    program = "from assay.interfaces.cli.main import main; main()"
    command = [sys.executable, "-c", program, "lab", "up", str(cluster), "--name", name]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "ASSAY_STATE": str(state)}
    )
    assert process.stderr
    for line in process.stderr:
        if "disks" in line:
            process.send_signal(number)
            break
    assert process.wait(timeout=30) == 130
    assert left_of(name, state) == []


def test_a_failure_during_the_start_undoes_everything_and_keeps_its_message(tmp_path: Path) -> None:
    name = unique_name("fail")
    described = small_cluster()
    worker = described.workers[0]
    devices = tuple(replace(device, capacity_bytes=10**6) for device in worker.type.devices)
    nodes = (described.nodes[0], replace(worker, type=replace(worker.type, devices=devices)))
    with pytest.raises(LabError, match="is the minimum"):
        Lab.up(replace(described, nodes=nodes), name=name, persistent=True, state=tmp_path)
    assert left_of(name, tmp_path) == []


def test_the_command_line_makes_shows_enters_and_removes_a_lab(tmp_path: Path) -> None:
    name = unique_name("cli")
    environment = {**os.environ, "ASSAY_STATE": str(tmp_path)}
    lab = Lab.up(small_cluster(), name=name, persistent=True, state=tmp_path)
    lab.detach()

    def assay(*words: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-c", "from assay.interfaces.cli.main import main; main()", *words]
        return subprocess.run(argv, capture_output=True, text=True, env=environment, timeout=60, check=False)

    assert name in assay("lab", "status").stdout
    assert assay("lab", "ssh", name, "worker", "--", "cat", "/proc/sys/kernel/hostname").stdout.strip() == "worker"
    result = assay("lab", "ssh", name, "nobody")
    assert (result.returncode, "Traceback" in result.stderr) == (LabError.exit_code, False)
    assert "its nodes: master, worker" in result.stderr
    assert assay("lab", "down").returncode == 0
    assert left_of(name, tmp_path) == []
    assert assay("lab", "down", name).returncode == LabError.exit_code
