"""Test imported profiles: real JFR recordings, collapsed stacks and pprof profiles attach to runs without a profile."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from assay.analysis.code_profile.stacks import parse_collapsed, stored_frame
from assay.execution.engines.hadoop.profiling import agent
from assay.foundation.errors import FormatError, RepositoryError
from assay.interfaces.cli.main import assay
from assay.model import ImportedRun, Stage, TaskAttempt
from assay.questions.comparisons.code_difference import difference_of_sides, profiled_sides
from assay.questions.comparisons.flame_graphs import flame_graphs_of_run
from assay.questions.runs.code_profiles.code_over_time import code_over_time
from assay.questions.runs.code_profiles.code_profile import CodeProfileRequest, code_profile
from assay.questions.runs.code_profiles.profile_import import ProfileImportRequest, import_profile
from assay.store import Repository
from assay.store.exchange.exchange import copy_bundles
from assay.store.exchange.package import bundles_with
from assay.store.exchange.transfer import pack, receive
from builders import make_run
from profile_support import BURN, add_run, run_two_methods
from web_support import client_of

pytestmark = pytest.mark.slow

COLLAPSED = "main;org.apache.hadoop.util.QuickSort.sort 30\nmain;com/example/Join.reduce 70\n"
CACHED = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "assay" / f"async-profiler-{agent.VERSION}"
has_profiler = pytest.mark.skipif(
    shutil.which("javac") is None or not (CACHED / agent.CONVERTER).is_file(),
    reason="javac is not installed, or async-profiler was not fetched yet: run a profiled run once",
)


@pytest.fixture
def store(tmp_path: Path) -> Repository:
    """Return a repository with run 1, imported run ``k``, and run 2, which was recorded with a profile."""
    store = Repository.create(tmp_path / "repository")
    store.publish(make_run(1))
    add_run(store, 2, "HDD", 300)
    (tmp_path / "x.csv").write_text("x")
    imported = ImportedRun("k", "x:1", replace(make_run(3, layout="SS2"), run_id=""))
    store.import_runs("any", lambda: iter([imported]), [("x.csv", tmp_path / "x.csv")])
    return store


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def imported_id(store: Repository) -> str:
    return next(run.run_id for run in store.runs() if run.layout == "SS2")


def command(store: Repository, *words: object) -> Result:
    return CliRunner().invoke(assay, [*map(str, words), "--repository", str(store.root)])


@pytest.mark.parametrize("compressed", [False, True])
def test_collapsed_stacks_are_shown_as_a_profile_of_an_imported_run(
    store: Repository, tmp_path: Path, compressed: bool
) -> None:
    run_id = imported_id(store)
    path = (
        written(tmp_path, "mine.collapsed.gz", gzip.compress(COLLAPSED.encode()))
        if compressed
        else written(tmp_path, "mine.collapsed", COLLAPSED)
    )
    done = command(store, "import", "profile", path, "--run", run_id, "--interval-ms", 20)
    assert done.exit_code == 0, done.output
    assert f"1 recording attached to run {run_id}: whole 100" in done.output
    answer = code_profile(store, run_id)
    assert (answer.attempts, answer.phases, answer.interval_ms) == (("mine",), (("whole", 100),), 20.0)
    assert answer.named_share == 0, "samples without a phase are not in a named phase"
    assert [(row.category, row.count) for row in answer.categories] == [("user code", 70), ("sort", 30)]
    assert "imported collapsed stacks, 1 recording" in command(store, "profile", run_id).output
    assert [round(side[0]) for side in flame_graphs_of_run(store, run_id).graphs[0].counts] == [100]
    page = client_of(store.root).get(f"/runs/{run_id}").text
    assert "com/example/Join.reduce" in page
    assert store.verify() == []
    assert len(store.runs()) == 3, "the profile is no run"


def test_two_attached_profiles_are_compared(store: Repository, tmp_path: Path) -> None:
    for run_id, count in ((make_run(1).run_id, 100), (imported_id(store), 900)):
        path = written(tmp_path, "x.collapsed", f"main;{BURN} {count}\nmain;a 50\n")
        import_profile(store, [path], ProfileImportRequest(run_id, interval_ms=10.0))
    pair = (make_run(1).run_id, imported_id(store))
    answer = difference_of_sides(profiled_sides(store, store.table(), pair, "runs"))
    top = max(answer.difference.frames, key=lambda row: row.difference_s_per_gb)
    assert (top.code.frame, round(top.difference_s_per_gb, 6)) == (BURN, 16.0), "800 samples of 10 ms in 0.5 GB"


def test_without_an_interval_counts_are_samples_and_have_no_time(store: Repository, tmp_path: Path) -> None:
    run_id = make_run(1).run_id
    done = command(store, "import", "profile", written(tmp_path, "a.txt", COLLAPSED), "--run", run_id)
    assert "need --interval-ms" in done.output
    assert "100 samples: whole 100" in command(store, "profile", run_id).output
    import_profile(store, [tmp_path / "a.txt"], ProfileImportRequest(imported_id(store)))
    with pytest.raises(FormatError, match="does not count samples of time") as error:
        profiled_sides(store, store.table(), (run_id, imported_id(store)), "runs")
    assert "--interval-ms" in str(error.value.hint)


def test_exports_of_assay_are_imported_with_the_parts_of_the_run(store: Repository, tmp_path: Path) -> None:
    command(store, "export", "pprof", "--run", make_run(2).run_id, "-o", tmp_path / "run.pb.gz")
    done = import_profile(store, [tmp_path / "run.pb.gz"], ProfileImportRequest(make_run(1).run_id))
    first, second = (code_profile(store, make_run(number).run_id) for number in (2, 1))
    assert second.phases == first.phases
    assert (second.attempts, second.frames, second.interval_ms) == (first.attempts, first.frames, 10.0)
    assert done.facts.method == "imported pprof profile"
    for number, file in enumerate(sorted(store.folders.bundles.rglob("*.map.collapsed.gz"))[:1]):
        import_profile(store, [file], ProfileImportRequest(imported_id(store)))
        assert code_profile(store, imported_id(store)).phases == (("map", 402),), number


def test_a_profile_is_copied_with_its_run_to_other_repositories(store: Repository, tmp_path: Path) -> None:
    run_id = imported_id(store)
    bundle = import_profile(store, [written(tmp_path, "a.txt", COLLAPSED)], ProfileImportRequest(run_id)).bundle
    assert bundle in bundles_with(store, [run_id])
    copied, received = (Repository.create(tmp_path / name) for name in ("copied", "received"))
    assert copy_bundles(store, copied, lambda *_: None).refused == ()
    for name in sorted(path.name for path in store.folders.bundles.iterdir()):
        packed = pack(store, name)
        assert receive(received, name, io.BytesIO(b"".join(packed.chunks())), bytes_max=10**8)
    for other in (copied, received):
        assert code_profile(other, run_id).total == 100
    facts = store.folders.bundles / bundle / "profile.json"
    facts.write_bytes(facts.read_bytes().replace(b'"cpu"', b'"cat"'))
    sums = facts.parent / "SHA256SUMS"
    digest = subprocess.run(["sha256sum", str(facts)], capture_output=True, text=True, check=True).stdout.split()[0]
    lines = [line for line in sums.read_text().splitlines() if not line.endswith("profile.json")]
    sums.write_text("\n".join([*lines, f"{digest}  profile.json\n"]))
    changed, third = b"".join(pack(store, bundle).chunks()), Repository.create(tmp_path / "third")
    with pytest.raises(RepositoryError, match="damaged"):
        receive(third, bundle, io.BytesIO(changed), bytes_max=10**8)


@pytest.mark.parametrize(
    ("name", "content", "words", "hint"),
    [
        ("empty.jfr", b"", "it is empty", "leave it out"),
        ("notes.txt", b"a log\nwithout counts\n", "0 of its lines are FRAME;FRAME COUNT, and 2 are not", "asprof"),
        ("noise.pb.gz", gzip.compress(bytes(range(256))), "nor a pprof profile", "go tool pprof"),
        ("cut.collapsed.gz", gzip.compress(COLLAPSED.encode() * 99)[:-20], "can't be read", "cut off"),
    ],
)
def test_a_wrong_file_is_refused_with_its_name_and_what_to_do(
    store: Repository, tmp_path: Path, name: str, content: bytes, words: str, hint: str
) -> None:
    with pytest.raises(FormatError) as error:
        import_profile(store, [written(tmp_path, name, content)], ProfileImportRequest(make_run(1).run_id))
    assert words in error.value.message
    assert error.value.where == name
    assert hint in str(error.value.hint)
    assert not list(store.folders.bundles.rglob("profile.json"))


def test_wrong_arguments_are_refused_with_a_message(store: Repository, tmp_path: Path) -> None:
    good, first = written(tmp_path, "a.collapsed", COLLAPSED), make_run(1).run_id
    command(store, "export", "pprof", "--run", make_run(2).run_id, "-o", tmp_path / "b.pb.gz")
    for words, message in (
        (("import", "profile", good), "a profile needs its files and the run"),
        (("import", "profile", "--run", first), "a profile needs its files and the run"),
        (("import", "profile", good, "--run", "ffff"), "no run has an id that begins with 'ffff'"),
        (("import", "profile", good, "--run", make_run(2).run_id), "this run has a profile"),
        (("import", "profile", tmp_path / "no.jfr", "--run", first), "no such file"),
        (("import", "profile", good, tmp_path / "b.pb.gz", "--run", first), "several formats"),
        (("import", "profile", good, good, "--run", first), "two files have this name"),
        (("import", "profile", tmp_path / "b.pb.gz", "--run", first, "--kind", "wall"), "profiles of cpu, not of wall"),
        (("import", "profile", good, "--run", first, "--strict"), "this option does not apply to profiles"),
        (("import", good, "--run", first), "this option applies to profiles only"),
    ):
        done = command(store, *words)
        assert message in str(done.exception), (words, done.exception)
    import_profile(store, [good], ProfileImportRequest(first))
    done = command(store, "import", "profile", good, "--run", first)
    assert "delete the folder bundles/" in str(getattr(done.exception, "hint", ""))


def test_too_many_bytes_are_refused_before_they_are_read(store: Repository, tmp_path: Path) -> None:
    path = tmp_path / "large.jfr"
    with path.open("wb") as file:
        file.truncate(10 * 10**9)
    with pytest.raises(FormatError, match="10 GB, and a run stores 200 MB"):
        import_profile(store, [path], ProfileImportRequest(make_run(1).run_id))


def test_frames_have_the_form_that_categories_know() -> None:
    assert stored_frame("org.apache.hadoop.util.QuickSort.sort") == "org/apache/hadoop/util/QuickSort.sort"
    assert stored_frame("com.a.B$C.<init>") == "com/a/B$C.<init>"
    for same in ("runtime.mallocgc", "java/util/A.b", "std::vector<int>::at", "main.(*T).run", "[libc.so]"):
        assert stored_frame(same) == same
    assert stored_frame("a;b\nc ") == "a,b c"
    assert parse_collapsed(f"{stored_frame('a;b')} 1")[0] == {("a,b",): 1}


def add_run_at(
    store: Repository, number: int, started_s: float, tasks: Sequence[TaskAttempt] = (), stages: tuple[Stage, ...] = ()
) -> str:
    started_at = datetime.fromtimestamp(started_s, UTC).isoformat()
    run = make_run(number, started_at=started_at, duration_s=time.time() - started_s + 1, stages=stages)
    store.publish(run, tasks=tasks)
    return run.run_id


@has_profiler
def test_an_async_profiler_recording_is_cut_into_the_phases_of_its_attempt(store: Repository, tmp_path: Path) -> None:
    started_s, target = time.time(), tmp_path / "attempt_1_r_0.jfr"
    library = CACHED / agent.LIBRARIES[os.uname().machine]
    option = f"-agentpath:{library}=start,event=ctimer,interval=5ms,jfr,file={target}"
    middle_s = run_two_methods(tmp_path, option) - started_s
    where = ("job_1", "task_1", "attempt_1_r_0", "reduce", "worker1", "succeeded")
    task = TaskAttempt(*where, 0.0, 99.0, middle_s, middle_s, 0, 0, 0, 0, None, None, None)
    run_id = add_run_at(store, 10, started_s, [task])
    done = import_profile(store, [target], ProfileImportRequest(run_id))
    assert done.facts.interval_ms == (5.0 if shutil.which("jfr") else None)
    by_phase = {phase: code_profile(store, run_id, CodeProfileRequest(phase=phase)) for phase, _ in done.parts}
    assert set(by_phase) == {"shuffle", "reduce"}
    graphs = {graph.phase: graph for graph in flame_graphs_of_run(store, run_id).graphs}
    names = flame_graphs_of_run(store, run_id).names
    for phase, method, other in (("shuffle", "Slow.first", "Slow.second"), ("reduce", "Slow.second", "Slow.first")):
        frames = {names[frame] for frame in graphs[phase].frames}
        assert method in frames
        assert other not in frames
    assert code_profile(store, run_id).named_share == 1
    if shutil.which("jfr"):
        over_time = code_over_time(store, run_id)
        cpu_s = sum(sum(row.threads) for row in over_time.categories) * over_time.interval_s
        assert cpu_s == pytest.approx(code_profile(store, run_id).total * 0.005)
    page = client_of(store.root).get(f"/runs/{run_id}").text
    assert "imported JFR recording" in page


@has_profiler
def test_a_flight_recorder_file_is_cut_into_the_stages_of_its_run(store: Repository, tmp_path: Path) -> None:
    started_s, target = time.time(), tmp_path / "executor-1.jfr"
    option = f"-XX:StartFlightRecording=filename={target},settings=profile,dumponexit=true"
    middle_s = run_two_methods(tmp_path, option) - started_s
    ends = ((0, 0.0, middle_s), (1, middle_s, time.time() - started_s))
    stages = tuple(
        Stage(number, 0, "s", (), 1, start_s, end_s, None, 0, 0, 0, 0, 0, 0.0, 0) for number, start_s, end_s in ends
    )
    run_id = add_run_at(store, 11, started_s, stages=stages)
    done = import_profile(store, [target], ProfileImportRequest(run_id, interval_ms=10.0))
    assert {part for part, _ in done.parts} <= {"stage-0", "stage-1", "no-stage"}
    graphs = flame_graphs_of_run(store, run_id)
    frames = {graph.phase: {graphs.names[frame] for frame in graph.frames} for graph in graphs.graphs}
    assert any("Slow" in name for names in frames.values() for name in names), "a busy machine samples few of them"
    assert "Slow.second" not in frames.get("stage-0", ())
    assert "Slow.first" not in frames.get("stage-1", ())
    with pytest.raises(FormatError, match="no samples of lock"):
        import_profile(store, [target], ProfileImportRequest(make_run(1).run_id, "lock"))


@has_profiler
def test_a_truncated_recording_or_one_of_another_time_is_refused(store: Repository, tmp_path: Path) -> None:
    target = tmp_path / "a.jfr"
    library = CACHED / agent.LIBRARIES[os.uname().machine]
    run_two_methods(tmp_path, f"-agentpath:{library}=start,event=ctimer,interval=5ms,jfr,file={target}")
    with pytest.raises(FormatError) as error:
        import_profile(store, [target], ProfileImportRequest(make_run(1).run_id))
    assert "after the run's start, and the run took 60 s" in error.value.message
    for size_bytes in (4, 60, 1000):
        cut = written(tmp_path, "cut.jfr", target.read_bytes()[:size_bytes])
        with pytest.raises(FormatError) as error:
            import_profile(store, [cut], ProfileImportRequest(make_run(1).run_id))
        assert "not a complete JFR recording" in error.value.message
        assert "jcmd PID JFR.dump" in str(error.value.hint)
