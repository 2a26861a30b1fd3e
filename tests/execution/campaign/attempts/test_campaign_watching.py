"""Test the watchdog of a run on real processes, links and devices: what it ends, when, and why."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from assay.execution.campaign.attempts.health_watch import HealthMonitor
from assay.execution.campaign.attempts.run_context import AttemptState
from assay.execution.campaign.attempts.validation import status_of
from assay.execution.campaign.failures import host_problems, memory_problems
from assay.execution.engines.contract import Engine, ProgramResult
from assay.execution.hosts import LocalTransport
from assay.execution.lab.health import LabHealth
from assay.execution.observation.node import watch
from assay.execution.observation.node_health import SILENT_CHECKS_MIN, NodeObservations, NodeWatch, WatchOptions
from assay.execution.observation.scripts import source
from assay.execution.planning.forecast.call_limits import NO_HISTORY
from assay.foundation.errors import AssayError, EngineError, HostError, LabError
from assay.model.plans.program import Outcome
from assay.model.runs.run import Check
from assay.model.runs.run_status import FailureClass, RunStatus
from assay.workloads.workload import ValidationResult

BOUND_S = 15.0


@dataclass
class ObservedRun:
    """What the watch asks of an engine."""

    pid_files: Mapping[str, Mapping[str, str]]
    troubles: list[str | None] = field(default_factory=list)

    async def health_check(self) -> str | None:
        return self.troubles.pop(0) if self.troubles else None


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"]) as process:
        (tmp_path / "datanode.pid").write_text(f"{process.pid}\n")
        yield process
        process.kill()


async def guarded(folder: Path, disturb: Any, directories: Mapping[str, str] | None = None) -> tuple[float, AssayError]:
    """Return after how long endless work was ended, and why."""
    pid_files = {"datanode": str(folder / "datanode.pid")}
    watch = await NodeWatch.start(LocalTransport("worker1"), WatchOptions(pid_files, directories or {}))
    monitor = HealthMonitor({"worker1": watch}, cast(Engine, ObservedRun({"worker1": pid_files})), None)
    report_problem: list[str] = []
    began_s = time.monotonic()
    try:
        work = asyncio.create_task(asyncio.sleep(60))
        asyncio.get_running_loop().call_later(0.1, disturb)
        with pytest.raises(AssayError) as raised:
            await monitor.guard(work, report_problem.append)
        assert work.cancelled()
        assert report_problem == [raised.value.message]
        return time.monotonic() - began_s, raised.value
    finally:
        await monitor.stop()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "words"),
    [(signal.SIGKILL, "worker1: datanode died"), (signal.SIGSTOP, "worker1: datanode is stopped (SIGSTOP)")],
)
async def test_work_is_ended_soon_after_a_daemon_that_it_needs_is_gone(
    tmp_path: Path, daemon: subprocess.Popen[bytes], number: signal.Signals, words: str
) -> None:
    took_s, error = await guarded(tmp_path, lambda: os.kill(daemon.pid, number))
    assert isinstance(error, EngineError)
    assert error.message == words
    assert took_s < BOUND_S


@pytest.mark.slow
async def test_work_ends_as_it_would_while_all_is_well(tmp_path: Path, daemon: subprocess.Popen[bytes]) -> None:
    pid_files = {"datanode": str(tmp_path / "datanode.pid")}
    watch = await NodeWatch.start(LocalTransport("w"), WatchOptions(pid_files, {"disk": str(tmp_path)}))
    monitor = HealthMonitor({"w": watch}, cast(Engine, ObservedRun({"w": pid_files})), None)

    async def work() -> str:
        await asyncio.sleep(2.5)
        return "done"

    try:
        assert await monitor.guard(work(), pytest.fail) == "done"
        await monitor.final_check()
    finally:
        await monitor.stop()
    (seen,) = monitor.observations
    assert seen.checks >= 2
    assert (seen.daemons, seen.stopped_daemons, seen.devices) == ({}, (), [])
    assert seen.cpu_s / seen.checks < 0.1, "most of it is Python's start"


@pytest.mark.slow
async def test_two_failed_checks_in_a_row_end_a_run_on_an_engine_without_daemons(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("assay.execution.campaign.attempts.health_watch.ENGINE_INTERVAL_S", 0.0)
    engine = ObservedRun({}, [None, "late", None, "no master answers", "no master answers"])
    monitor = HealthMonitor({}, cast(Engine, engine), None)
    with pytest.raises(EngineError, match="no master answers"):
        await monitor.guard(asyncio.sleep(60), lambda _: None)
    assert engine.troubles == []


NOWHERE = "203.0.113.1"  # reserved for documentation by RFC 5737


@pytest.mark.slow
@pytest.mark.parametrize(("lab", "silent_checks"), [(True, {"nowhere"}), (False, set[str]())])
async def test_a_silent_peer_counts_in_a_lab_or_after_it_answered_once(lab: bool, silent_checks: set[str]) -> None:
    watch = await NodeWatch.start(
        LocalTransport("here"), WatchOptions(peers={"here too": "127.0.0.1", "nowhere": NOWHERE}, is_shared_kernel=lab)
    )
    while watch.observations.checks < 3:
        await watch.next_check(5)
    await watch.end()
    assert watch.observations.silent_checks.keys() == silent_checks
    assert all(checks >= 2 for checks in watch.observations.silent_checks.values())


@pytest.mark.slow
async def test_two_nodes_without_a_path_end_the_work_but_not_while_one_of_them_is_silent() -> None:
    watches = {name: await NodeWatch.start(LocalTransport(name), WatchOptions()) for name in ("worker1", "worker2")}
    monitor = HealthMonitor(watches, cast(Engine, ObservedRun({})), None)
    try:
        for checks in range(1, SILENT_CHECKS_MIN):
            watches["worker1"].observations.add_check(line(silent_checks={"worker2": checks}), 1e9)
        assert monitor._pair_error() is None
        watches["worker1"].observations.add_check(line(silent_checks={"worker2": SILENT_CHECKS_MIN}), 1e9)
        error = monitor._pair_error()
        assert isinstance(error, HostError)
        assert error.message == "packets between worker1 and worker2 are lost, in one direction at least"
        watches["worker2"].last_check_s -= 60
        assert monitor._pair_error() is None
    finally:
        await monitor.stop()
    assert host_problems(monitor.observations) == [error.message]


def test_a_node_that_no_other_hears_is_named_alone() -> None:
    seen = [NodeObservations(name) for name in ("master", "worker1", "worker2")]
    for view in (seen[0], seen[2]):
        view.add_check(line(silent_checks={"worker1": SILENT_CHECKS_MIN}), 10.0)
    assert host_problems(seen) == ["no other node receives packets from worker1"]
    pair = [NodeObservations("master"), NodeObservations("worker1"), seen[2]]
    assert host_problems(pair) == ["packets between worker2 and worker1 are lost, in one direction at least"]


class Deaf(LocalTransport):
    """A host that hears nothing from a moment on, as behind a link that is down."""

    deaf = False
    dropped = False

    async def run(self, argv: Sequence[str], **options: Any) -> Any:
        if self.deaf:
            await asyncio.sleep(60)
        return await super().run(argv, **options)

    def abandon(self) -> None:
        self.dropped = True


@pytest.mark.slow
async def test_a_silent_host_is_probed_and_then_counts_as_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.execution.campaign.attempts.health_watch.SILENT_S", 0.6)
    host = Deaf("worker1")
    watch = await NodeWatch.start(host, WatchOptions())
    monitor = HealthMonitor({"worker1": watch}, cast(Engine, ObservedRun({})), None)
    os.kill(watch._process.pid, signal.SIGSTOP)
    try:
        # It is late, but it answers: nothing is said of it.
        assert await monitor._host_error(watch) is None
        await asyncio.sleep(0.8)
        assert await monitor._host_error(watch) is None
        host.deaf = True
        monkeypatch.setattr("assay.execution.campaign.attempts.health_watch.ANSWER_S", 0.6)
        with pytest.raises(HostError, match="worker1 does not answer: its last check was"):
            await monitor.guard(asyncio.sleep(60), lambda _: None)
        assert host.dropped, "the watchdog must not wait for a silent host"
    finally:
        await monitor.stop()


class Ending:
    """A lab of which a node ends: that is seen a moment after its connection is lost."""

    asked = 0

    def health_check(self) -> str | None:
        self.asked += 1
        return "worker1 of the lab small is gone" if self.asked > 2 else None


@pytest.mark.slow
async def test_a_removed_node_is_reported_as_removed_and_not_as_a_lost_connection() -> None:
    host = Deaf("worker1")
    watch = await NodeWatch.start(host, WatchOptions())
    monitor = HealthMonitor({"worker1": watch}, cast(Engine, ObservedRun({})), cast(LabHealth, Ending()))
    os.kill(watch._process.pid, signal.SIGKILL)
    await watch._reading
    host.deaf = True
    try:
        error = await monitor._host_error(watch)
        assert isinstance(error, LabError)
        assert error.message == "worker1 of the lab small is gone"
    finally:
        await monitor.stop()


def watched(
    namespace: str, directories: Mapping[str, str], *between: Sequence[str], **more: object
) -> NodeObservations:
    """Run the watch in a network namespace, with a command before each further look; return what was seen."""
    options = {
        "interval_s": 0.3,
        "daemons": {},
        "directories": directories,
        "peers": {},
        "cgroup": None,
        "shared": True,
    }
    options |= more
    command = ["ip", "netns", "exec", namespace, sys.executable, "-c", source("watch"), json.dumps(options)]
    seen = NodeObservations("worker1")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        seen.add_check(json.loads(process.stdout.readline()), time.time())
        for view in between:
            subprocess.run(view, check=True)
            for _ in range(2):
                seen.add_check(json.loads(process.stdout.readline()), time.time())
        assert process.stdin is not None
        process.stdin.close()
        process.stdout.read()
    return seen


@pytest.fixture
def namespace() -> Iterator[str]:
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    name = f"watch-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    link = ["ip", "-n", name, "link"]
    subprocess.run([*link, "add", "eth0", "type", "veth", "peer", "name", "far"], check=True)
    for end in ("eth0", "far"):
        subprocess.run([*link, "set", end, "up"], check=True)
    yield name
    subprocess.run(["ip", "netns", "delete", name], check=True)


@pytest.mark.root
@pytest.mark.slow
def test_a_link_that_was_down_for_a_moment_is_seen_and_spoils_the_run(namespace: str) -> None:
    switch = ["ip", "-n", namespace, "link", "set", "far"]
    assert watched(namespace, {}, ["true"]).links == {}
    seen = watched(namespace, {}, [*switch, "down"], [*switch, "up"])
    assert seen.links["eth0"].message == "the link eth0 of worker1 was down (its carrier changed 2 times)"
    assert seen.down_checks["eth0"] == 0
    assert watched(namespace, {}, [*switch, "down"]).down_checks["eth0"] == 2


@pytest.mark.root
@pytest.mark.slow
@pytest.mark.parametrize("lab", [True, False])
def test_a_peer_counts_as_silent_until_it_answers_again(namespace: str, lab: bool) -> None:
    loopback = ["ip", "-n", namespace, "link", "set", "lo"]
    subprocess.run([*loopback, "up"], check=True)
    peers = {"peers": {"worker2": "127.0.0.1"}, "shared": lab}
    assert watched(namespace, {}, ["true"], **peers).silent_checks == {}
    later = [["true"]] * 6  # lines of before a change are read after it
    gone = [*later, [*loopback, "down"], *later]
    seen = watched(namespace, {}, *gone, [*loopback, "up"], *later, **peers)
    assert (seen.silent_checks, list(seen.lost_peers)) == ({}, ["worker2"])


@pytest.mark.root
@pytest.mark.slow
def test_a_device_that_fills_up_is_seen_even_when_it_is_empty_again(namespace: str, tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "assay", str(tmp_path)], check=True)
    try:
        fill = ["fallocate", "-l", "8m", str(tmp_path / "fill")]
        seen = watched(namespace, {"hdd1": str(tmp_path)}, fill, ["rm", str(tmp_path / "fill")])
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
    assert [change.message for change in seen.low_space.values()] == ["hdd1 of worker1 was full"]


def line(**fields: Any) -> dict[str, Any]:
    return {"daemons": {}, "links": {}, "room": {}, "silent_checks": {}, "oom": 0, "kernel": [], "cpu_s": 0.0, **fields}


def ended(*passed: bool) -> AttemptState:
    checks = tuple(Check("replicas", passing, "2 of 2" if passing else "1 of 2") for passing in passed)
    state = AttemptState(program_result=ProgramResult(Outcome(0, "", {}, 0, 30.0), 1000.0))
    state.validation = ValidationResult(checks)
    return state


@pytest.mark.parametrize(
    ("fields", "at_unix_s", "passed", "wants"),
    [
        ({}, 1010.0, True, (RunStatus.VALID, None)),
        ({}, 1010.0, False, (RunStatus.INVALID, FailureClass.VALIDATION)),
        ({"links": {"eth0": [1, 2]}}, 1010.0, False, (RunStatus.INVALID, FailureClass.INFRASTRUCTURE)),
        ({"links": {"eth0": [1, 2]}}, 1010.0, True, (RunStatus.INVALID, FailureClass.INFRASTRUCTURE)),
        # While input was made, or after the job: the time that was measured stands.
        ({"links": {"eth0": [1, 2]}}, 900.0, True, (RunStatus.VALID, None)),
        ({"room": {"hdd1": [0, 10**9, 5]}}, 1010.0, False, (RunStatus.INVALID, FailureClass.INFRASTRUCTURE)),
        ({"room": {"hdd1": [0, 10**9, 5]}}, 1010.0, True, (RunStatus.VALID, None)),
        (
            {"kernel": ["I/O error, dev loop3, sector 8"]},
            1010.0,
            True,
            (RunStatus.INVALID, FailureClass.INFRASTRUCTURE),
        ),
    ],
)
def test_links_and_devices_decide_the_class_before_what_came_of_them(
    fields: dict[str, Any], at_unix_s: float, passed: bool, wants: tuple[RunStatus, FailureClass | None]
) -> None:
    seen = NodeObservations("worker1")
    seen.add_check(line(**fields), at_unix_s)
    state = ended(passed)
    state.observations = (seen,)
    status, why, failure_class = status_of(state, None, NO_HISTORY)
    assert (status, failure_class) == wants
    if failure_class is FailureClass.INFRASTRUCTURE:
        assert why is not None
        assert not why.startswith("replicas")
        assert "worker1" in why


def test_device_errors_after_the_loss_of_the_labs_disks_are_no_separate_cause() -> None:
    seen = NodeObservations("worker1")
    seen.add_check(line(kernel=["EXT4-fs error (device loop3): nothing answers"]), 1010.0)
    status, why, failure_class = status_of(AttemptState(observations=(seen,)), LabError("assay-diskd died"), NO_HISTORY)
    assert (status, why, failure_class) == (RunStatus.FAILED, "assay-diskd died", FailureClass.INFRASTRUCTURE)


def test_lack_of_memory_is_named_by_the_kernels_words_and_counted_once() -> None:
    seen = NodeObservations("worker1")
    kernel = (
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,"
        "oom_memcg=/assay-x/worker1,task_memcg=/assay-x/worker1,task=java,pid=4711,uid=0"
    )
    seen.add_check(line(oom=1, kernel=[kernel, "Memory cgroup out of memory: Killed process 4711 (java)"]), 1.0)
    words = "the kernel ended java (process 4711) on worker1 for lack of memory"
    assert memory_problems([seen]) == [words]
    assert host_problems([seen]) == []
    state = AttemptState(observations=(seen,))
    status, why, failure_class = status_of(state, EngineError("worker1: datanode died"), NO_HISTORY)
    assert (status, why, failure_class) == (RunStatus.FAILED, f"{words}; worker1: datanode died", FailureClass.ENGINE)
    untold = NodeObservations("worker1")
    untold.add_check(line(oom=1), 1.0)  # a node whose user may not read the kernel's log
    assert memory_problems([untold]) == ["the kernel ended a process on worker1 for lack of memory"]


@pytest.mark.parametrize(
    ("exit_status", "problem", "words", "wants"),
    [
        (1, None, "the client ended with 1: ", FailureClass.WORKLOAD),
        (-9, None, "the client was ended by SIGKILL: ", FailureClass.ENGINE),
        (-200, None, "the client was ended by signal 200: ", FailureClass.ENGINE),
        (1, "executor 2 on worker1 was lost", "executor 2 on worker1 was lost; the client ended", FailureClass.ENGINE),
        (0, "executor 2 on worker1 was lost", "executor 2 on worker1 was lost during", FailureClass.ENGINE),
        (0, None, "event log: cut off", FailureClass.ENGINE),
    ],
)
def test_losses_of_the_engine_are_not_failures_of_the_job(
    exit_status: int, problem: str | None, words: str, wants: FailureClass
) -> None:
    state = ended(True)
    log = Check("event log", False, "cut off")
    state.program_result = ProgramResult(Outcome(exit_status, "", {}, 0, 30.0), 1000.0, checks=(log,))
    state.problem = problem
    status, why, failure_class = status_of(state, None, NO_HISTORY)
    assert status is (RunStatus.FAILED if exit_status else RunStatus.INVALID)
    assert str(why).startswith(words)
    assert failure_class is wants
    state.validation = ended(False).validation
    if exit_status == 0 and problem is None:
        assert status_of(state, None, NO_HISTORY)[2] is FailureClass.VALIDATION, "the output is wrong, too"


@pytest.mark.slow
async def test_a_directory_that_never_existed_is_not_a_lost_device(tmp_path: Path) -> None:
    """Hosts of an attached engine have folders that assay neither makes nor may enter."""
    options = WatchOptions({}, {"ssd1": str(tmp_path), "hdd1": str(tmp_path / "theirs")})
    watch = await NodeWatch.start(LocalTransport("worker1"), options)
    await asyncio.sleep(1.5)
    await watch.end()
    assert watch.observations.devices == []


def test_the_kernels_words_of_other_devices_are_not_the_runs() -> None:
    every = ["vda", "vda1", "loop0", "loop3", "dm-0", "sda", "nvme0n1"]
    for line, ours, counts in (
        ("I/O error, dev loop3, sector 17039360 op 0x1:(WRITE) flags 0x9800", {"vda"}, False),
        ("JBD2: I/O error when updating journal superblock for loop0-8.", {"vda"}, False),
        ("JBD2: I/O error when updating journal superblock for loop0-8.", {"loop0"}, True),
        ("EXT4-fs error (device vda1): __ext4_find_entry:1613: inode #2: comm dd", {"vda", "vda1"}, True),
        ("Buffer I/O error on dev dm-0, logical block 7, async page read", {"dm-0", "sda"}, True),
        ("Buffer I/O error on dev nvme0n1, logical block 7", {"sda"}, False),
        ("eth0: Link is Down", {"vda"}, True),
    ):
        assert watch.names_watched_device(line, ours, every) is counts, line


def test_the_devices_under_a_folder_are_in_the_kernels_list(tmp_path: Path) -> None:
    known = {device.name for device in Path("/sys/class/block").iterdir()}
    assert watch.devices_under([str(tmp_path)]) <= known
