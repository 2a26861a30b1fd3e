"""Test the contract of engines, storages and providers against every implementation that runs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import os.path
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import pytest_asyncio

from assay.analysis.code_profile.categories import plain_frame
from assay.analysis.code_profile.stacks import parse_collapsed
from assay.execution.engines.contract import Engine, ProgramResult, Provider
from assay.execution.engines.hadoop.profiling.recording import TIMED_JOB
from assay.foundation.errors import EngineError
from assay.model.clusters.layout import Layout
from assay.model.plans.engine_parameters import PROFILED
from attached_subject import LENT, Theirs
from contract_subjects import DATA_BYTES, PARAMETERS, SUBJECTS, Subject

pytestmark = pytest.mark.asyncio(loop_scope="module")
KINDS = {"map", "reduce", "shuffle_map", "result", "task"}
PHASES = {"setup", "map", "shuffle", "merge", "reduce", "cleanup"}
LIMIT_S = 300.0
BURN_MS = 1000
"""CPU time of each map task in a method that a profile has to find, in milliseconds."""


@dataclass(frozen=True, slots=True)
class Running:
    """An engine that runs, its provider, and what provokes it."""

    subject: Subject
    engine: Engine
    provider: Provider
    home: Path


@dataclass(frozen=True, slots=True)
class Written:
    """A program that wrote, when it was started and ended, and its messages."""

    done: ProgramResult
    before_unix_s: float
    after_unix_s: float
    shown: list[str]


@dataclass(frozen=True, slots=True)
class Shuffled:
    """A program that shuffled on this engine, and the large files that were there while it ran."""

    done: ProgramResult
    large_files: set[str]
    engine: str


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def theirs(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Path]:
    """Have what is attached to started once, by the first who needs it."""
    LENT.append(Theirs())
    try:
        yield tmp_path_factory.mktemp("theirs") / "home"
    finally:
        await LENT.pop().stop()


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=PARAMETERS)
async def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, theirs: Path
) -> AsyncIterator[Running]:
    subject = SUBJECTS[request.param]
    home = theirs if subject.shares_engine else tmp_path_factory.mktemp("contract") / "home"
    provider = subject.provider(home)
    await provider.open(lambda _: None)
    try:
        assert provider.engine is None
        first = await provider.provide(subject.configuration(), print)
        assert first.is_restarted
        assert provider.engine is first.engine
        yield Running(subject, first.engine, provider, home)
    finally:
        await provider.close()
    if "providing" not in subject.gaps:
        assert not subject.left(home)
    await provider.close()
    with pytest.raises(EngineError):
        _ = provider.facts


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def written(running: Running) -> Written:
    """Run the program that writes, once for the tests of its record and of its check."""
    shown: list[str] = []
    before = time.time()
    program = running.subject.writes("/assay/output/a")
    done = await running.engine.run(program, running.subject.base, timeout_s=LIMIT_S, label="job", show=shown.append)
    return Written(done, before, time.time(), shown)


async def test_a_program_runs_and_its_record_has_the_same_form_for_all_engines(
    running: Running, written: Written
) -> None:
    subject, engine, done = running.subject, running.engine, written.done
    assert done.outcome.exit_status == 0, done.outcome.output
    assert not done.outcome.timed_out
    assert done.outcome.failed_tasks == 0
    assert written.before_unix_s - 1 <= done.started_unix_s <= written.after_unix_s
    if "writing" not in subject.gaps:
        stored = await engine.storage.stored("/assay/output/a")
        assert (stored.files, stored.length_bytes, stored.replica_bytes) == (2, DATA_BYTES, DATA_BYTES)
    assert written.shown
    assert "job.log" in done.logs

    took_s = done.outcome.duration_s
    assert took_s > 0
    assert "clock" in subject.gaps or took_s <= written.after_unix_s - written.before_unix_s
    assert {job.status for job in done.jobs} == {"succeeded"}
    assert {task.job_id for task in done.tasks} <= {job.job_id for job in done.jobs}
    assert {task.kind for task in done.tasks} <= KINDS
    assert {phase.name for phase in done.phases if not phase.name.startswith("stage ")} <= PHASES
    assert all(task.node for task in done.tasks)
    for start_s, end_s in [(task.start_s, task.end_s) for task in done.tasks] + [
        (phase.start_s, phase.end_s) for phase in done.phases
    ]:
        assert -0.5 <= start_s <= end_s <= took_s + 2
    fields = {"duration_s", *(["tasks"] if done.tasks else []), *(["phases"] if done.phases else [])}
    assert fields <= set(done.sources) <= fields | set(done.metrics)


async def test_a_program_that_fails_is_an_outcome_with_its_error_lines(running: Running) -> None:
    subject, engine = running.subject, running.engine
    subject.requires("failing")
    program = subject.fails("/assay/nowhere")
    done = await engine.run(program, subject.base, timeout_s=LIMIT_S, label="job", show=print)
    assert done.outcome.exit_status != 0
    assert not done.outcome.timed_out
    assert not done.outcome.host_lost
    assert any("nowhere" in line for line in done.outcome.error_lines())
    assert await engine.health_check() is None


async def test_a_program_of_another_engine_is_refused_with_a_message(running: Running) -> None:
    program = replace(running.subject.fails("/assay/output/other"), engine="another")
    with pytest.raises(EngineError, match="a program of another"):
        await running.engine.run(program, running.subject.base, timeout_s=LIMIT_S, label="job", show=print)


@pytest.mark.slow
async def test_a_program_is_ended_at_its_time_limit_and_the_engine_still_works(running: Running) -> None:
    subject, engine = running.subject, running.engine
    program = subject.endless("/assay/output/endless")
    done = await engine.run(
        program, subject.base, timeout_s=12 if subject.name == "hadoop" else 1, label="j", show=print
    )
    assert (done.outcome.exit_status, done.outcome.timed_out) == (124, True)
    await engine.storage.delete("/assay/output/endless")
    assert await engine.health_check() is None


@pytest.mark.slow
async def test_a_program_that_is_cancelled_is_ended(running: Running) -> None:
    subject, engine = running.subject, running.engine
    program = subject.endless("/assay/output/cancelled")
    work = asyncio.create_task(engine.run(program, subject.base, timeout_s=LIMIT_S, label="j", show=print))
    await asyncio.sleep(1.0)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    await engine.storage.delete("/assay/output/cancelled")


async def test_a_check_writes_its_report_wherever_it_runs(running: Running, written: Written) -> None:
    subject, engine = running.subject, running.engine
    subject.requires("writing")
    assert written.done.outcome.exit_status == 0
    program = subject.checks("/assay/output/a", "/assay/output/report")
    done = await engine.check(program, subject.base, reads_bytes=DATA_BYTES, timeout_s=LIMIT_S, show=print)
    assert done.outcome.exit_status == 0, done.outcome.output
    assert "check.log" in done.logs
    assert [await engine.storage.read(path) for path in await engine.storage.paths("/assay/output/report")]


async def test_effective_parameters_include_defaults_and_those_of_the_plan(running: Running) -> None:
    subject, engine = running.subject, running.engine
    parameters = engine.effective_parameters({**subject.base, **subject.carried})
    assert parameters.items() >= dict(subject.carried).items()
    subject.requires("defaults")
    assert set(parameters) >= {default.name for default in subject.kind.rules.defaults}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shuffled(running: Running) -> Shuffled:
    """Run the program that shuffles with a profile, and list large files meanwhile, as they are deleted at its end."""
    subject, provider = running.subject, running.provider
    subject.requires("shuffling")
    assert subject.shuffles is not None
    profiled = "profiling" not in subject.gaps
    configuration = subject.configuration({PROFILED: "cpu"} if profiled else {})
    provided = await provider.provide(configuration, print)
    assert not provided.is_restarted
    program, parameters = subject.shuffles(BURN_MS if profiled else 0), configuration.parameters
    work = asyncio.create_task(provided.engine.run(program, parameters, timeout_s=LIMIT_S, label=TIMED_JOB, show=print))
    seen: set[str] = set()
    while not work.done():
        await asyncio.sleep(0.05)
        seen |= await asyncio.to_thread(_large_files, running.home.parent)
    done = work.result()
    assert done.outcome.exit_status == 0, done.outcome.output
    await provider.provide(subject.configuration(), print)
    return Shuffled(done, seen, program.engine)


async def test_shuffled_data_is_in_the_folders_of_the_layout(running: Running, shuffled: Shuffled) -> None:
    local = [folder for folder in running.engine.data_directories["node"] if folder.endswith("/local")]
    assert local
    inside = {path for path in shuffled.large_files if path.startswith(tuple(local))}
    assert inside
    assert {path for path in shuffled.large_files - inside if "/hdfs/" not in path} == set()


async def test_a_profile_has_a_recording_and_stacks_of_each_jvm(running: Running, shuffled: Shuffled) -> None:
    running.subject.requires("profiling")
    done = shuffled.done
    assert done.warnings == ()
    facts = done.environment["profile"]
    assert isinstance(facts, dict)
    on_hadoop = shuffled.engine == "hadoop"
    jvms = 3 if on_hadoop else 2  # Hadoop may start a speculative attempt, and kill it
    assert jvms <= facts["attempts_stored"] <= facts["attempts"]
    stacks = {name for name in done.logs if name.endswith(".collapsed")}
    parts = {"map", "shuffle", "merge", "reduce"} if on_hadoop else {"stage-0", "stage-1"}
    assert {part for part in parts if any(f".{part}." in name for name in stacks)} == parts
    tops = {part: _methods(done.logs[name] for name in stacks if f".{part}." in name) for part in parts}
    burning, burned = ("map" if on_hadoop else "stage-0"), "io/github/assay/jobs/Burner.burnCpu"
    assert tops[burning].most_common(1)[0][0] == burned
    assert not any(burned in methods for part, methods in tops.items() if part != burning)


def _methods(stacks: Iterable[bytes]) -> Counter[str]:
    """Return the number of samples of each executing method in collapsed stacks."""
    methods = Counter[str]()
    for text in stacks:
        for stack, count in parse_collapsed(text.decode(errors="replace"))[0].items():
            methods[plain_frame(stack[-1])] += count
    return methods


def _large_files(folder: Path) -> set[str]:
    """Return what shuffles and spills have written below ``folder``: all but logs, jars, recordings and archives."""
    files = set()
    for root, _, names in os.walk(folder):
        for name in names:
            path = Path(root) / name
            with contextlib.suppress(OSError):
                if path.stat().st_size > 2**20 and path.suffix not in (".jar", ".jfr", ".log", ".zip"):
                    files.add(str(path))
    return files


async def test_the_nodes_and_data_folders_of_an_engine_exist(running: Running) -> None:
    running.subject.requires("hosts")
    assert set(running.engine.addresses) == {"node"}
    folders = [folder for names in running.engine.data_directories.values() for folder in names]
    assert folders
    assert all(map(os.path.isdir, folders))
    assert all(isinstance(log, bytes) for log in (await running.engine.logs()).values())


async def test_written_files_can_be_read_listed_and_deleted(running: Running) -> None:
    storage = running.engine.storage
    await storage.write("/assay/input/x/one", b"1")
    await storage.write("/assay/input/x/deep/two", b"22")
    await storage.write("/assay/input/x/_SUCCESS", b"marker")
    await storage.write("/assay/input/x/one", b"333")
    assert await storage.read("/assay/input/x/one") == b"333"
    assert sorted(await storage.paths("/assay/input/x")) == ["/assay/input/x/deep/two", "/assay/input/x/one"]
    stored = await storage.stored("/assay/input/x")
    assert (stored.files, stored.length_bytes, stored.replica_bytes) == (2, 5, 5)
    assert await storage.exists("/assay/input/x")
    await storage.delete("/assay/input/x")
    assert not await storage.exists("/assay/input/x")
    await storage.delete("/assay/input/x")


async def test_a_missing_file_has_an_empty_list_and_an_error_when_read(running: Running) -> None:
    storage = running.engine.storage
    assert not await storage.exists("/assay/none")
    assert await storage.paths("/assay/none") == []
    assert (await storage.stored("/assay/none")).files == 0
    with pytest.raises(EngineError):
        await storage.read("/assay/none")


async def test_a_layout_without_a_storage_policy_has_no_placement_checks(running: Running) -> None:
    assert await running.engine.storage.placements(Layout("SSD", (), ()), ["/assay"]) == ()


async def test_an_open_provider_has_facts_and_locks_the_cluster(running: Running) -> None:
    subject = running.subject
    subject.requires("providing")
    facts = running.provider.facts
    assert facts.name == subject.kind.rules.name
    assert facts.version
    if "hosts" not in subject.gaps:
        with pytest.raises(EngineError, match="another assay"):
            await subject.provider(running.home).open(lambda _: None)


@pytest.mark.slow
async def test_an_engine_restarts_only_for_changes_that_need_it_and_keeps_the_data_of_each_layout(
    running: Running,
) -> None:
    """The last but one of these tests: ``running.engine`` runs no longer after it."""
    subject, provider = running.subject, running.provider
    subject.requires("providing")
    carried = await provider.provide(subject.configuration(subject.carried), print)
    assert not carried.is_restarted
    restarted = await provider.provide(subject.configuration(subject.restarting), print)
    assert restarted.is_restarted
    assert await restarted.engine.health_check() is None
    await restarted.engine.storage.write("/assay/input/kept", b"here")
    other = await provider.provide(subject.configuration(subject.restarting, layout="other"), print)
    assert other.is_restarted
    assert not await other.engine.storage.exists("/assay/input/kept")
    again = await provider.provide(subject.configuration(), print)
    assert await again.engine.storage.read("/assay/input/kept") == b"here"


async def test_a_dead_daemon_fails_the_health_check_with_a_message(running: Running) -> None:
    """The last of these tests: the engine is broken after it."""
    running.subject.requires("daemons")
    assert running.subject.disturb is not None
    engine = running.provider.engine
    assert engine is not None
    assert await engine.health_check() is None
    running.subject.disturb(engine, running.home)
    for _ in range(60):
        if trouble := await engine.health_check():
            break
        await asyncio.sleep(0.5)
    assert "died" in (trouble or "")
