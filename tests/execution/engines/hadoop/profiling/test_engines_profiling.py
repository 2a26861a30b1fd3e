"""Test recording profiles of task attempts: the plan's word, methods that a host lacks, phases, and bounds."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.code_profile.seconds import parse_times
from assay.analysis.code_profile.stacks import parse_collapsed
from assay.analysis.statistics.runs.factors_of_runs import matching_factors
from assay.execution.engines.contract import ProgramResult
from assay.execution.engines.hadoop.deployment.attachment_checks import hosts_without_login
from assay.execution.engines.hadoop.profiling import agent
from assay.execution.engines.hadoop.profiling.methods import METHODS
from assay.execution.engines.hadoop.profiling.parts import (
    PARTS_MAX,
    PartSpan,
    RecordedParts,
    StageSpan,
    phase_spans,
    stage_parts,
    stage_spans_of,
)
from assay.execution.engines.hadoop.profiling.recording import ProfileRecorder, ProfileRecorders, evenly_spaced, prepare
from assay.execution.engines.hadoop.rules import HadoopRules
from assay.execution.engines.spark.rules import SparkRules
from assay.execution.hosts import LocalTransport
from assay.execution.hosts.transport import CommandResult
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.foundation.errors import EngineError, SpecificationError
from assay.interfaces.cli.main import assay
from assay.model import PROFILED, Attachment, Outcome, TaskAttempt
from builders import make_run
from cluster_texts import HDD, cluster_text
from profile_support import run_two_methods

pytestmark = pytest.mark.slow

PLAN = """\
plan: p
cluster: cluster.yaml
layout: HDD
{parameters}
workloads:
  - terasort: {{data: 1GB, maps: 2, reduces: 1}}
"""


def write_plan(folder: Path, parameters: str = "") -> Path:
    (folder / "cluster.yaml").write_text(cluster_text({"hdd": HDD}, header="lab: {scale: 1/20, memory_floor: 4GiB}"))
    path = folder / "plan.yaml"
    path.write_text(PLAN.format(parameters=parameters))
    return path


def attempt(name: str, kind: str, **times: float | None) -> TaskAttempt:
    ends = {"shuffle_end_s": None, "merge_end_s": None} | times
    where = ("job_1", name, name, kind, "worker1", "succeeded")
    return TaskAttempt(*where, 1.0, 9.0, ends["shuffle_end_s"], ends["merge_end_s"], 0, 0, 0, 0, None, None, None)


def test_the_key_profile_sets_the_parameter_and_off_sets_none(tmp_path: Path) -> None:
    rules = HadoopRules()
    assert rules.parameters({"profile": "cpu"}) == {PROFILED: "cpu"}
    assert rules.parameters({"profile": "off"}) == {}
    assert rules.job_can_set(PROFILED), "a profile needs no restart of daemons"
    with pytest.raises(SpecificationError, match="unknown profile 'cpus'; did you mean 'cpu'"):
        load_plan(write_plan(tmp_path, "parameters: {profile: cpus}"))
    plan = load_plan(write_plan(tmp_path, "parameters: {profile: wall}"))
    assert SparkRules(rules).setting_mistake("profile", "cpu", plan.cluster) is None
    attachment = Attachment("edge", "hadoop", "/etc/hadoop/conf", "default", "/user/assay")
    attached = replace(plan.cluster, attached=attachment)
    assert rules.setting_mistake("profile", "cpu", attached) is None
    assert "externally managed; write cpu" in str(rules.setting_mistake("profile", "cpu+daemons", attached))
    assert rules.setting_mistake("profile", "cpu+daemons", plan.cluster) is None
    edge_only = replace(plan.cluster, attached=replace(attachment, only_edge=True))
    assert "needs a login on every worker" in str(rules.setting_mistake("profile", "cpu", edge_only))
    assert rules.setting_mistake("profile", "off", edge_only) is None


def test_hosts_of_nodemanagers_without_a_login_are_named() -> None:
    names = {"data1": "dn1.rack.example.com", "data2": "10.0.0.2"}
    assert hosts_without_login(["dn1", "DN1.rack.example.com", "data2", "10.0.0.2"], names) == []
    assert hosts_without_login(["dn1", "dn3.rack.example.com", "10.0.0.3"], names) == [
        "10.0.0.3",
        "dn3.rack.example.com",
    ]
    assert hosts_without_login(["localhost"], names) == ["localhost"]
    assert hosts_without_login(["localhost"], {"edge": "laptop"}) == []


def test_profile_on_the_command_line_is_another_campaign_than_the_plan_without(tmp_path: Path) -> None:
    path = write_plan(tmp_path)
    command = ["run", str(path), "--dry-run", "--json", "--repository", str(tmp_path / "repository")]
    plain, profiled = (CliRunner().invoke(assay, [*command, *more]) for more in ((), ("--profile", "cpu")))
    assert (plain.exit_code, profiled.exit_code) == (0, 0), profiled.output
    assert '"planned"' in profiled.output
    from assay.execution.planning.plan_files.plan_reader import checked_plan

    plan = load_plan(path)
    assert checked_plan(replace(plan, parameters={**plan.parameters, "profile": "cpu"})).fingerprint != plan.fingerprint


def test_a_profile_file_without_a_simulation_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(assay, ["run", str(write_plan(tmp_path)), "--dry-run", "--profile", "costs.yaml"])
    assert done.exit_code != 0
    assert "add --simulate" in str(done.exception) + done.output


def test_phases_of_an_attempt_cover_it_from_the_start_to_the_end_of_its_jvm() -> None:
    tasks = [attempt("m", "map"), attempt("r", "reduce", shuffle_end_s=3.0, merge_end_s=4.5)]
    assert list(phase_spans(tasks, 1000.0, ["m", "r", "other"])) == [
        ("m", "map", "", ""),
        ("r", "shuffle", "1", "1003000"),
        ("r", "merge", "1003000", "1004500"),
        ("r", "reduce", "1004500", ""),
        ("other", "unknown", "", ""),
    ]


def test_stages_of_executors_and_driver_cover_them_from_start_to_end() -> None:
    spans = [StageSpan(0, 1.0, 3.0), StageSpan(1, 2.0, 4.0), StageSpan(2, 5.0, 6.0)]
    parts = stage_parts({"1": spans, "2": []}, (), 0.0)
    assert parts.expected_recordings == {"driver", "executor-1", "executor-2"}
    assert list(parts.spans_of(["executor-1"])) == [
        ("executor-1", "no-stage", "1", "1000"),
        ("executor-1", "stage-0", "1000", "2000"),
        ("executor-1", "stage-0+1", "2000", "3000"),
        ("executor-1", "stage-1", "3000", "4000"),
        ("executor-1", "no-stage", "4000", "5000"),
        ("executor-1", "stage-2", "5000", "6000"),
        ("executor-1", "no-stage", "6000", ""),
    ]
    assert [cut.part for cut in parts.spans_of(["executor-2", "executor-9"])] == ["no-stage", "unknown"]


@given(st.lists(st.floats(1.0, 2e9), min_size=3, max_size=3, unique_by=lambda at: round(at * 1000)))
def test_a_stage_that_starts_when_another_ends_does_not_run_with_it(times: list[float]) -> None:
    first, second, third = sorted(times)
    cuts = list(stage_spans_of({"driver": [StageSpan(0, first, second), StageSpan(1, second, third)]}, ["driver"]))
    assert [cut.part for cut in cuts] == ["no-stage", "stage-0", "stage-1", "no-stage"]


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(1, 50)), max_size=150))
def test_cuts_of_any_stages_have_no_gap_and_few_names(times: list[tuple[int, int]]) -> None:
    spans = [StageSpan(number, start + 1.0, start + 1.0 + length) for number, (start, length) in enumerate(times)]
    cuts = list(stage_spans_of({"driver": spans}, ["driver"]))
    assert (cuts[0].from_ms, cuts[-1].to_ms) == ("1", "")
    assert [cut.to_ms for cut in cuts[:-1]] == [cut.from_ms for cut in cuts[1:]]
    assert len({cut.part for cut in cuts}) <= PARTS_MAX + 2


@pytest.mark.parametrize(("limit", "count"), [(100, 10), (99, 5), (30, 3), (10, 1), (9, 0)])
def test_recordings_above_the_limit_are_sampled_evenly(limit: int, count: int) -> None:
    sizes = {f"a{number}": 10 for number in range(10)}
    chosen = evenly_spaced(sizes, limit)
    assert len(chosen) == count
    assert sum(sizes[name] for name in chosen) <= limit


def test_a_changed_jar_is_refused(tmp_path: Path) -> None:
    name = f"async-profiler-{agent.VERSION}.jar"
    (tmp_path / name).write_bytes(b"changed")
    with pytest.raises(EngineError, match=hashlib.sha256(b"changed").hexdigest()):
        agent.verify(tmp_path)


def test_an_absent_jar_is_called_missing(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"\bthe jar is missing"):
        agent.verify(tmp_path)


def agent_files(folder: Path) -> Path:
    """Write a native library that no JVM can load, as on a host with another C library."""
    for name in (*agent.LIBRARIES.values(), agent.CONVERTER):
        (folder / name).write_bytes(b"not a library")
    return folder


def test_without_java_the_job_runs_unprofiled_with_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "require", lambda _: agent_files(tmp_path))
    workers, home = {"node": LocalTransport("node")}, str(tmp_path / "home")
    recorder = asyncio.run(prepare("cpu", workers, "/nonexistent/java", home, lambda _: None))
    assert recorder.method is None
    result = asyncio.run(
        recorder.end(None, ProgramResult(Outcome(0, "", {}, 0, 1.0), 0.0), RecordedParts(frozenset(), 1, lambda _: ()))
    )
    assert "no cpu profile was recorded: " in result.warnings[0].words
    assert all(method.name in result.warnings[0].words for method in METHODS["cpu"])
    assert result.environment["profile"]["method"] is None


@pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")
def test_flight_recorder_replaces_an_agent_that_does_not_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "require", lambda _: agent_files(tmp_path))
    workers, home = {"node": LocalTransport("node")}, str(tmp_path / "home")
    recorder = asyncio.run(prepare("cpu", workers, "java", home, lambda _: None))
    assert recorder.method is not None
    assert recorder.method.name == "JDK Flight Recorder"
    assert "agent.so" in recorder.reason
    wall = asyncio.run(prepare("wall", workers, "java", home, lambda _: None))
    assert wall.method is None, "Flight Recorder records no time of waiting threads"


PROGRAM = """
import java.lang.management.*;
public class Slow {
    static final Object LOCK = new Object();
    static volatile Object kept;
    static volatile int rounds;
    static void slow() {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        while (threads.getCurrentThreadCpuTime() < 400_000_000L)
            synchronized (LOCK) {
                kept = new byte[1000];
                if (++rounds % 1000 == 0 && rounds <= 10_000) pause();
            }
    }
    // While it holds the lock, the other thread waits longer than the shortest wait that Flight Recorder records.
    static void pause() {
        try { Thread.sleep(50); } catch (InterruptedException stopped) { throw new IllegalStateException(stopped); }
    }
    public static void main(String[] arguments) throws Exception {
        Thread other = new Thread(() -> slow());
        other.start(); slow(); other.join();
    }
}
"""
PROFILER_FOLDER = (
    Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "assay" / f"async-profiler-{agent.VERSION}"
)
has_agent = pytest.mark.skipif(
    shutil.which("javac") is None or not (PROFILER_FOLDER / agent.CONVERTER).is_file(),
    reason="javac is not installed, or async-profiler was not fetched yet: run a profiled run once",
)
RECENT_S = 600
METHODS_TO_TRY = [
    (kind, method.name)
    for kind, methods in METHODS.items()
    for method in methods
    if kind != "cpu+kernel" or method not in METHODS["cpu"]
]


def record(
    folder: Path, recorder: ProfileRecorder, names: tuple[str, ...], damage: Callable[[Path], None] = lambda _: None
) -> ProgramResult:
    """Run a small program in a profiled JVM for each name, damage the first recording, and collect all."""
    (folder / "Slow.java").write_text(PROGRAM)
    subprocess.run(["javac", "-d", folder, folder / "Slow.java"], check=True)
    result = ProgramResult(Outcome(0, "", {}, 0, 1.0), 0.0)

    async def run() -> ProgramResult:
        recordings = await recorder.begin()
        assert recordings is not None
        for name in names:
            option = recorder.option(recordings, name)
            await recorder.hosts["node"].run(["java", option, "-cp", str(folder), "Slow"], timeout_s=120)
        damage(Path(recordings.folder) / f"{names[0]}.jfr")
        parts = RecordedParts(frozenset(names), len(names), lambda chosen: [PartSpan(name, "whole") for name in chosen])
        return await recorder.end(recordings, result, parts)

    return asyncio.run(run())


@has_agent
@pytest.mark.parametrize(("kind", "name"), METHODS_TO_TRY)
def test_each_method_records_the_slow_method(kind: str, name: str, tmp_path: Path) -> None:
    workers, home = {"node": LocalTransport("node")}, str(tmp_path / "home")
    method = next(method for method in METHODS[kind] if method.name == name)
    recorder = asyncio.run(prepare(kind, workers, "java", home, lambda _: None, methods=(method,)))
    if recorder.method is None:
        pytest.skip(f"{name} does not work here: {recorder.reason}")
    result = record(tmp_path, recorder, ("one",))
    assert result.warnings == ()
    stacks, skipped = parse_collapsed(result.logs["profiles/one.whole.collapsed"].decode())
    assert skipped == 0
    slow = sum(count for stack, count in stacks.items() if any("Slow.slow" in frame for frame in stack))
    assert slow > 0
    timed = "profiles/one.whole.seconds" in result.logs
    assert timed == (kind in ("cpu", "cpu+kernel", "wall"))
    if timed:
        times = parse_times(result.logs["profiles/one.whole.seconds"].decode(), list(stacks))
        assert times.total() == stacks
        assert all(abs(time.time() - second) < RECENT_S for second in times.stacks)
    assert result.environment["profile"]["method"] == name


@has_agent
@pytest.mark.parametrize("size_bytes", [1000])
def test_a_truncated_recording_is_counted_and_the_other_one_is_read(size_bytes: int, tmp_path: Path) -> None:
    workers, home = {"node": LocalTransport("node")}, str(tmp_path / "home")
    recorder = asyncio.run(prepare("cpu", workers, "java", home, lambda _: None))
    result = record(tmp_path, recorder, ("one", "two"), lambda file: os.truncate(file, size_bytes))
    assert [warning.words for warning in result.warnings] == ["1 of 2 JVMs have no readable profile"]
    assert result.environment["profile"]["attempts_stored"] == 1
    assert "profiles/two.whole.collapsed" in result.logs


class AheadTransport(LocalTransport):
    """This machine, with a clock that is ahead by a fixed time if it is asked for."""

    ahead_s = 0.0

    async def run(self, argv: Sequence[str], **options: Any) -> CommandResult:
        result = await super().run(argv, **options)
        if argv[0] == "date":
            result = replace(result, stdout=f"{float(result.stdout) + self.ahead_s}\n".encode())
        return result


def ahead(name: str, ahead_s: float) -> AheadTransport:
    transport = AheadTransport(name)
    transport.ahead_s = ahead_s
    return transport


@has_agent
@pytest.mark.parametrize(("kind", "clock"), [("cpu", "driver"), ("cpu", ""), ("alloc", "driver")])
def test_samples_and_parts_are_aligned_by_the_offsets_of_clocks(kind: str, clock: str, tmp_path: Path) -> None:
    hosts, home = {"node": ahead("node", 1000.0), "driver": ahead("driver", 400.0)}, str(tmp_path / "home")

    async def run() -> ProgramResult:
        recorder = await prepare(kind, hosts, "java", home, lambda _: None)
        recordings = await recorder.begin()
        assert recordings is not None
        option = recorder.option(recordings, "one")
        middle_s = await asyncio.to_thread(run_two_methods, tmp_path, option)
        by_clock_s = middle_s - (600.0 if clock else 0.0)  # the driver's clock is behind the node's
        at = str(round(by_clock_s * 1000))
        cuts = [PartSpan("one", "stage-0", "1", at), PartSpan("one", "stage-1", at, "")]
        parts = RecordedParts(frozenset({"one"}), 1, lambda _: cuts, clock)
        return await recorder.end(recordings, ProgramResult(Outcome(0, "", {}, 0, 1.0), 0.0), parts)

    result = asyncio.run(run())
    assert result.environment["profile"]["clock_ahead_s"] == pytest.approx({"node": 1000.0, "driver": 400.0}, abs=9.0)
    stacks = {part: result.logs[f"profiles/one.{part}.collapsed"].decode() for part in ("stage-0", "stage-1")}
    assert [("Slow.first" in text, "Slow.second" in text) for text in stacks.values()] == [(True, False), (False, True)]
    if kind == "cpu":
        first = list(parse_collapsed(stacks["stage-0"])[0])
        times = parse_times(result.logs["profiles/one.stage-0.seconds"].decode(), first)
        assert all(abs(time.time() - 1000.0 - second) < RECENT_S for second in times.stacks)


async def run_slow(folder: Path) -> asyncio.subprocess.Process:
    """Start a JVM that burns CPU time for a minute at most, and write its pid file."""
    (folder / "Slow.java").write_text(PROGRAM.replace("400_000_000L", "60_000_000_000L"))
    await LocalTransport("node").run(["javac", "-d", str(folder), f"{folder}/Slow.java"], timeout_s=120)
    process = await asyncio.create_subprocess_exec("java", "-cp", str(folder), "Slow")
    (folder / "datanode.pid").write_text(f"{process.pid}\n")
    return process


@has_agent
@pytest.mark.skipif(shutil.which("jcmd") is None, reason="jcmd is not installed")
def test_a_running_daemon_is_recorded_during_the_job(tmp_path: Path) -> None:
    """The first recording is left running, as by an interrupted run; the second replaces it."""
    hosts, home = {"node": LocalTransport("node")}, str(tmp_path / "home")
    pid_files = {"node": {"datanode": f"{tmp_path}/datanode.pid", "nodemanager": "/nonexistent", "namenode": "/x"}}
    no_parts = RecordedParts(frozenset(), 0, lambda _: ())

    async def run() -> tuple[ProgramResult, ProgramResult]:
        process = await run_slow(tmp_path)
        try:
            recorder = await ProfileRecorders(hosts, "java", home).recorder("cpu+daemons", lambda _: None)
            assert recorder is not None
            assert await recorder.begin(pid_files)
            recordings = await recorder.begin(pid_files)
            await asyncio.sleep(1)
            done = ProgramResult(Outcome(0, "", {}, 0, 1.0), 0.0)
            recorded = await recorder.end(recordings, done, no_parts)
            recordings = await recorder.begin(pid_files)
        finally:
            process.kill()
            await process.wait()
        return recorded, await recorder.end(recordings, done, no_parts)

    recorded, died = asyncio.run(run())
    (problem,) = (warning.words for warning in recorded.warnings)
    assert problem.startswith("the nodemanager on node is not profiled: ")
    assert "/nonexistent" in problem
    assert recorded.environment["profile"]["kind"] == "cpu"
    assert recorded.environment["profile"]["attempts_stored"] == 1
    text = recorded.logs["profiles/datanode-node.datanode.collapsed"].decode()
    stacks, skipped = parse_collapsed(text)
    assert any("Slow.slow" in frame for stack in stacks for frame in stack)
    assert skipped == 0
    assert "profiles/datanode-node.datanode.seconds" in recorded.logs
    assert "1 of 1 JVMs have no readable profile" in [warning.words for warning in died.warnings]


@pytest.fixture
def mounted(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """Mount a file system in memory with the given options."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    folder = tmp_path / "mounted"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", request.param, "tmpfs", folder], check=False)
    if done.returncode:
        pytest.skip("this machine mounts no tmpfs")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@has_agent
@pytest.mark.parametrize("mounted", ["size=16m,noexec"], indirect=True)
def test_flight_recorder_replaces_an_agent_in_a_folder_without_execution(mounted: Path) -> None:
    workers = {"node": LocalTransport("node")}
    recorder = asyncio.run(prepare("cpu", workers, "java", str(mounted), lambda _: None))
    assert recorder.method is not None
    assert recorder.method.name == "JDK Flight Recorder"
    assert "agent.so" in recorder.reason


@has_agent
@pytest.mark.parametrize("mounted", ["size=2m"], indirect=True)
def test_a_full_folder_of_recordings_does_not_disturb_the_programs(mounted: Path, tmp_path: Path) -> None:
    workers = {"node": LocalTransport("node")}
    recorder = asyncio.run(prepare("cpu", workers, "java", str(mounted), lambda _: None))
    assert recorder.method is not None
    filler = mounted / "filler"
    filler.write_bytes(bytes(os.statvfs(mounted).f_bavail * os.statvfs(mounted).f_frsize - 4096))
    result = record(tmp_path, recorder, ("one",))
    assert "1 of 1 JVMs have no readable profile" in " ".join(warning.words for warning in result.warnings)


def test_profiled_runs_are_not_matched_with_unprofiled_runs() -> None:
    plain = make_run(1)
    profiled = replace(plain, parameters={**plain.parameters, PROFILED: "cpu"})
    assert matching_factors(plain, "layout") != matching_factors(profiled, "layout")
