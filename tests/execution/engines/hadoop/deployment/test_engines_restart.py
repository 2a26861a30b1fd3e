"""Test fast restarts: the daemons' class archive, and immediate ends of daemons without state."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest

from assay.execution.campaign.attempts.run_context import AttemptState
from assay.execution.campaign.attempts.validation import status_of
from assay.execution.engines.contract import ProgramResult
from assay.execution.engines.hadoop.deployment.class_archive import ClassArchive, _merge_class_lists
from assay.execution.engines.hadoop.deployment.daemons import MASTER_DAEMONS, NAMENODE, WORKER_DAEMONS, Daemons
from assay.execution.engines.hadoop.deployment.distribution import Distribution
from assay.execution.engines.hadoop.engine import is_faster_in_client
from assay.execution.engines.hadoop.settings.configuration import daemon_state
from assay.execution.hosts.local import LocalTransport
from assay.execution.planning.forecast.call_limits import TimeLimit
from assay.model.plans.program import Outcome
from assay.model.runs.run import Check
from assay.model.runs.run_status import FailureClass, RunStatus
from assay.specs.cluster import load_cluster
from assay.workloads.workload import ValidationResult
from engine_samples import CLUSTER, HYBRID, deployment
from paths import EXAMPLES

JARS, OTHERS = "/opt/hadoop/lib/*", "/opt/hadoop/web"


@pytest.fixture
def archive(tmp_path: Path) -> ClassArchive:
    return ClassArchive(tmp_path / "classes", "java", JARS, OTHERS)


def test_only_what_daemons_read_is_their_state() -> None:
    base = {"dfs.replication": "3", "yarn.nodemanager.resource.memory-mb": "1024"}
    state = daemon_state(HYBRID, base)
    assert state == daemon_state(HYBRID, {**base, "dfs.replication": "2", "mapreduce.task.io.sort.mb": "9"})
    assert state != daemon_state(HYBRID, {**base, "yarn.nodemanager.resource.memory-mb": "2048"})
    assert state != daemon_state(HYBRID, {**base, "mapreduce.shuffle.port": "1"})
    assert state != daemon_state(replace(HYBRID, intermediate=HYBRID.hdfs), base)


def command_of(archive: ClassArchive | None, node: int = 0) -> list[str]:
    return Daemons(deployment(), {}, archive)._daemon_command(NAMENODE, CLUSTER.nodes[node])


def test_daemons_record_their_classes_once_and_then_use_the_archive(archive: ClassArchive) -> None:
    plain_command = command_of(None)
    recording_command = command_of(archive)
    assert f"-XX:DumpLoadedClassList={archive.folder}/NameNode.classes" in recording_command
    assert [part for part in recording_command if not part.startswith(("-Xshare", "-XX:DumpLoaded"))] == plain_command
    assert command_of(archive, node=2) == plain_command  # a second worker loads the same
    archive.path.write_bytes(b"archive")
    archive_command = command_of(archive)
    assert f"-XX:SharedArchiveFile={archive.path}" in archive_command
    conf = f"{deployment().directory}/conf"
    assert (
        archive_command[archive_command.index("-cp") + 1] == f"{JARS}:{OTHERS}:{conf}"
    )  # Java wants what is archived first
    assert f"-Dlog4j.configuration=file:{conf}/log4j.properties" in archive_command
    archive.path.unlink()
    (archive.folder / "failed").write_text("no")
    assert command_of(archive) == plain_command


def test_clients_and_jobs_never_use_the_archive(archive: ClassArchive) -> None:
    archive.folder.mkdir()
    archive.path.write_bytes(b"archive")
    client = Daemons(deployment(), {}, archive).command("org.apache.hadoop.examples.WordCount", "a", "b")
    assert not [part for part in client if "Shared" in part or "-Xshare" in part]


def test_every_class_is_listed_once_and_an_incomplete_line_is_omitted(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("# note\njava/lang/Object\na/B\n")
    (tmp_path / "b").write_text("java/lang/Object\nc/D\ne/half-wri")
    assert _merge_class_lists([tmp_path / "a", tmp_path / "b"]) == "java/lang/Object\na/B\nc/D\n"


async def test_a_java_that_cannot_create_the_archive_is_not_tried_again(archive: ClassArchive) -> None:
    failing_archive = replace(archive, java="false")
    assert not await failing_archive.make(lambda _: None)  # nothing was recorded: nothing is known
    assert failing_archive.must_be_made
    failing_archive.recording("NameNode")
    (failing_archive.folder / "NameNode.classes").write_text("java/lang/Object\n")
    assert not await failing_archive.make(lambda _: None)
    assert not failing_archive.must_be_made


async def test_a_real_java_makes_the_class_archive_and_starts_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("java") is None:
        pytest.skip("java is not installed")
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    (tmp_path / "lib").mkdir()
    archive = await ClassArchive.of(Distribution(tmp_path, "1", ("web", "lib/*")), "java")
    assert archive is not None
    assert archive.recording("NameNode")
    (archive.folder / "NameNode.classes").write_text("java/lang/Object\njava/util/ArrayList\n")
    lines: list[str] = []
    assert await archive.make(lines.append)
    assert lines
    assert [path.name for path in archive.folder.iterdir()] == ["daemons.jsa"]
    command = ["java", *archive.options(str(tmp_path)), "-version"]
    assert (await asyncio.to_thread(subprocess.run, command, capture_output=True, check=False)).returncode == 0


def test_a_datanode_may_end_by_itself_and_other_daemons_are_killed_at_once(tmp_path: Path) -> None:
    """Each process writes a file after SIGTERM. The DataNode gets the time for it, the NodeManager does not."""
    body = (
        "import signal, sys, time\n"
        "def end(*_):\n open(sys.argv[1], 'w').close(); sys.exit()\n"
        "signal.signal(signal.SIGTERM, end)\nopen(sys.argv[1] + '.up', 'w').close()\ntime.sleep(60)\n"
    )
    marker = f"test-{time.monotonic_ns()}"
    mains = {"DataNode": tmp_path / "datanode", "NodeManager": tmp_path / "nodemanager"}
    started = [
        subprocess.Popen([sys.executable, "-c", body, str(path), f"-Dassay.deployment={marker}", f"org.apache.{main}"])
        for main, path in mains.items()
    ]
    deadline = time.monotonic() + 20
    while not all(path.with_suffix(".up").exists() for path in mains.values()) and time.monotonic() < deadline:
        time.sleep(0.05)
    script = (resources.files("assay.execution.engines.hadoop.deployment.node") / "processes.py").read_text()
    subprocess.run([sys.executable, "-c", script, marker, "10"], check=True)
    assert [process.wait(20) for process in started] == [0, -9]
    assert mains["DataNode"].exists()
    assert not mains["NodeManager"].exists()


def test_a_stopped_run_names_its_time_limit_and_the_source_of_the_limit() -> None:
    outcome = Outcome(124, "took longer than 480 s", {}, 0, 480.0, timed_out=True)
    state = AttemptState(program_result=ProgramResult(outcome, 0.0))
    status, why, failure_class = status_of(
        state, None, TimeLimit(480.0, "4 × the longest of 2 comparable runs (2 min 00 s)")
    )
    assert (status, failure_class) == (RunStatus.FAILED, FailureClass.WORKLOAD)
    assert (
        why == "it did not end within its time limit of 8 min 00 s: 4 × the longest of 2 comparable runs (2 min 00 s)"
    )
    state_of_lost_host = AttemptState(
        program_result=ProgramResult(replace(outcome, timed_out=False, host_lost=True), 0.0)
    )
    assert status_of(state_of_lost_host, None, TimeLimit(1.0, ""))[2] is FailureClass.INFRASTRUCTURE
    state_of_dead_daemon = replace(state, problem="worker1: datanode died")
    assert status_of(state_of_dead_daemon, None, TimeLimit(1.0, ""))[2] is FailureClass.ENGINE


@pytest.mark.parametrize(
    ("check", "failure_class"),
    [
        (Outcome(1, "Permission denied: staging", {}, 0, 2.0), FailureClass.ENGINE),
        (Outcome(1, "No space left on device", {}, 0, 2.0), FailureClass.INFRASTRUCTURE),
        (Outcome(255, "out of reach", {}, 0, 2.0, host_lost=True), FailureClass.INFRASTRUCTURE),
        (None, FailureClass.VALIDATION),
    ],
)
def test_unchecked_output_is_not_called_wrong(check: Outcome | None, failure_class: FailureClass) -> None:
    failed_check = Check("sorted output", False, "TeraValidate could not run: Permission denied: staging")
    program_result = ProgramResult(Outcome(0, "", {}, 0, 9.0), 0.0)
    state = AttemptState(
        program_result=program_result, validation=ValidationResult((failed_check,), failed_checker=check)
    )
    status, why, failure = status_of(state, None, TimeLimit(60.0, "a guess"))
    assert (status, failure) == (RunStatus.INVALID, failure_class)
    assert why == "sorted output: TeraValidate could not run: Permission denied: staging"


def test_a_check_reads_over_the_masters_link_only_if_the_link_is_fast() -> None:
    cluster = load_cluster(EXAMPLES / "bsc-2015" / "lab-cluster.yaml")
    size = 200_000_000  # 32 s over a twentieth of 1 Gbit/s
    assert not is_faster_in_client(size, cluster.link_bits_per_s("ETH"))
    assert is_faster_in_client(size, cluster.link_bits_per_s("IB"))
    assert is_faster_in_client(size // 10, cluster.link_bits_per_s("ETH"))
    assert not is_faster_in_client(2 << 30, cluster.link_bits_per_s("IB"))


async def test_only_a_history_server_that_started_too_early_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemons = Daemons(deployment(), {node.name: LocalTransport(node.name) for node in CLUSTER.nodes})
    daemons.home = str(tmp_path)
    monkeypatch.setattr(daemons, "_daemon_command", lambda name, _: ["sh", "-c", f"echo {name} is up; sleep 30"])
    (tmp_path / "logs").mkdir()
    log, pid = tmp_path / "logs" / "jobhistoryserver.log", tmp_path / "jobhistoryserver.pid"
    for name in ("namenode", "resourcemanager", "datanode", "nodemanager"):
        (tmp_path / f"{name}.pid").write_text(str(os.getpid()))
    pid.write_text("999999999")
    log.write_text("Caused by: java.net.BindException: Address already in use\n")
    assert not await daemons.restart_history_server()
    log.write_text("Caused by: RemoteException(RetriableException): NameNode still not started\n")
    assert await daemons.restart_history_server()
    assert await daemons.dead_daemons() == []
    assert not await daemons.restart_history_server()
    os.kill(int(pid.read_text()), signal.SIGKILL)


def test_a_zombie_daemon_counts_as_dead(tmp_path: Path) -> None:
    daemons = Daemons(deployment(), {node.name: LocalTransport(node.name) for node in CLUSTER.nodes})
    daemons.home = str(tmp_path)
    child = subprocess.Popen(["sleep", "60"])
    for name in (*MASTER_DAEMONS, *WORKER_DAEMONS):
        (tmp_path / f"{name}.pid").write_text(str(os.getpid()))
    (tmp_path / "resourcemanager.pid").write_text(str(child.pid))
    assert asyncio.run(daemons.dead_daemons()) == []
    child.kill()
    deadline = time.monotonic() + 10
    while "Z" not in Path(f"/proc/{child.pid}/stat").read_text().rsplit(")", 1)[1] and time.monotonic() < deadline:
        time.sleep(0.01)
    assert asyncio.run(daemons.dead_daemons()) == ["master: resourcemanager"]
    child.wait()
