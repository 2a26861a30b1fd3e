"""Test the repository under faults: killed writers, full disks, flipped bits, lost index, concurrent processes."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.foundation.errors import RepositoryError
from assay.model.runs.run import RUN_SCHEMA_VERSION
from assay.model.runs.task_attempt import TaskAttempt
from assay.store import ProblemKind, Repository
from assay.store.bundles.folders import Folders
from assay.store.bundles.staging import FOREIGN_AGE_MAX_S, TemporaryFolders, clear_dead
from assay.store.index.index import bundle_names
from assay.store.index.index_builder import IndexBuilder, index_name
from assay.store.index.tables import connection
from builders import make_run
from paths import SUPPORT

TASK = TaskAttempt(
    "job_1", "task_1", "attempt_1", "map", "w1", "succeeded", 1.5, 2.5, None, None, 10, 20, 30, 40, 50, 0.5, 0.1
)
PRELUDE = f"""
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it, and hand that on
sys.path.insert(0, {str(SUPPORT)!r})
from pathlib import Path
from builders import make_run
from assay.foundation.errors import RepositoryError
from assay.store import Repository
repository = Repository.open(Path(sys.argv[1]))
"""


def start(repository: Repository, code: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PRELUDE + code, str(repository.root), *arguments]
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it did not happen within 30 s")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository.create(tmp_path / "repository")


def partial(repository: Repository) -> list[Path]:
    return list((repository.root / "partial").iterdir())


@pytest.mark.slow
def test_a_writer_killed_in_mid_publish_leaves_no_bundle_and_is_cleared_up_after(
    repository: Repository, tmp_path: Path
) -> None:
    fifo = tmp_path / "log"
    os.mkfifo(fifo)  # the writer blocks on this log, with run.json already written
    writer = start(repository, "repository.publish(make_run(1), logs={'x': Path(sys.argv[2])})", str(fifo))
    try:
        wait_until(lambda: any((folder / "run.json").exists() for folder in partial(repository)))
        Repository.open(repository.root)
        assert len(partial(repository)) == 1, "a living writer's folder was taken away"
        assert repository.runs() == []
    finally:
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
    assert len(partial(repository)) == 1
    assert list((repository.root / "bundles").iterdir()) == []
    reopened = Repository.open(repository.root)
    assert partial(reopened) == []
    reopened.publish(make_run(1))
    assert reopened.runs() == [make_run(1)]
    assert reopened.verify() == []


def test_ctrl_c_in_mid_publish_leaves_nothing(repository: Repository, tmp_path: Path) -> None:
    fifo = tmp_path / "log"
    os.mkfifo(fifo)
    writer = start(repository, "repository.publish(make_run(1), logs={'x': Path(sys.argv[2])})", str(fifo))
    wait_until(lambda: any((folder / "run.json").exists() for folder in partial(repository)))
    writer.send_signal(signal.SIGINT)
    writer.communicate(timeout=30)
    assert partial(repository) == []
    assert list((repository.root / "bundles").iterdir()) == []


def test_leftovers_of_a_remote_writer_are_removed_after_a_day(repository: Repository) -> None:
    foreign = repository.root / "partial" / "x~0123456789ab~1~1~00000000"
    foreign.mkdir()
    assert clear_dead(foreign.parent) == []
    assert clear_dead(foreign.parent, now_unix_s=time.time() + FOREIGN_AGE_MAX_S + 60) == [foreign.name]
    assert partial(repository) == []


@pytest.mark.root
@pytest.mark.parametrize("part", ["logs={'x': os.urandom(4_000_000)}", "trace=trace"])
def test_a_full_disk_is_reported_and_stores_nothing(tmp_path: Path, part: str) -> None:
    code = f"""
import os, random
from assay.model.runs.traces.trace import Trace
trace = Trace()
if {part.startswith("trace")}:
    for index in range(400_000):
        trace.append(random.random(), "w1", "cpu", "user_s", counter=True, value=random.random())
repository = Repository.create(Path(sys.argv[1]) / "r")
try:
    repository.publish(make_run(1), {part})
except RepositoryError as error:
    print("refused:", error)
print("left:", [p.name for d in ("bundles", "partial") for p in (repository.root / d).iterdir()])
repository.publish(make_run(2))
print("then:", len(repository.runs()), repository.verify())
"""
    code = PRELUDE.replace("repository = Repository.open(Path(sys.argv[1]))", "") + code
    mount = 'mount -t tmpfs -o size=1m tmpfs "$1" && exec "$2" -c "$3" "$1"'
    shell = ["unshare", "--mount", "--propagation", "private", "sh", "-c", mount, "sh"]
    done = subprocess.run([*shell, str(tmp_path), sys.executable, code], capture_output=True, text=True)
    if "mount" in done.stderr or "unshare" in done.stderr:
        pytest.skip(f"no private mount here: {done.stderr.strip()}")
    lines = done.stdout.splitlines()
    assert "No space left on device" in done.stdout, done.stdout + done.stderr
    assert lines[0].startswith("refused:")
    assert lines[-2:] == ["left: []", "then: 1 []"]


def published(repository: Repository) -> Path:
    return repository.publish(make_run(1), tasks=[TASK], logs={"client": b"all went well\n" * 100})


@pytest.mark.parametrize("name", ["run.json", "tasks.parquet", "logs/client.gz"])
@pytest.mark.parametrize("position", [0.1, 0.5, 0.9])
def test_verify_finds_a_single_flipped_bit(repository: Repository, name: str, position: float) -> None:
    file = published(repository) / name
    content = bytearray(file.read_bytes())
    content[int(len(content) * position)] ^= 1
    file.write_bytes(content)
    problems = [(problem.run_id, problem.file, problem.kind) for problem in repository.verify()]
    assert (make_run(1).run_id, name, ProblemKind.CHANGED) in problems


def test_verify_finds_what_is_missing_extra_and_strange(repository: Repository) -> None:
    bundle = published(repository)
    (bundle / "tasks.parquet").unlink()
    (bundle / "logs" / "note.txt").write_text("x")
    (bundle / "SHA256SUMS").write_text((bundle / "SHA256SUMS").read_text() + "nonsense\n")
    (repository.root / "bundles" / "stray.txt").write_text("x")
    (repository.root / "bundles" / "empty").mkdir()
    seen: list[tuple[int, int]] = []
    problems = repository.verify(lambda done, total: seen.append((done, total)))
    assert {(problem.file, problem.kind) for problem in problems} == {
        ("tasks.parquet", ProblemKind.MISSING),
        ("logs/note.txt", ProblemKind.EXTRA),
        ("SHA256SUMS", ProblemKind.CHANGED),
        ("bundles/stray.txt", ProblemKind.EXTRA),
        ("SHA256SUMS", ProblemKind.MISSING),
        ("run.json", ProblemKind.UNREADABLE),
    }
    assert seen == [(1, 2), (2, 2)]


def test_verify_names_a_run_of_a_later_schema(repository: Repository) -> None:
    repository.publish(make_run(1, schema_version=RUN_SCHEMA_VERSION + 1))
    assert [problem.kind for problem in repository.verify()] == [ProblemKind.NEWER]


def test_a_damaged_bundle_is_left_out_with_a_warning_and_the_others_are_shown(
    repository: Repository, caplog: pytest.LogCaptureFixture
) -> None:
    bundle = published(repository)
    repository.publish(make_run(2))
    whole = (bundle / "run.json").read_bytes()
    (bundle / "run.json").write_bytes(whole[: len(whole) // 2])
    assert repository.runs() == [make_run(2)]
    assert f"bundle {make_run(1).run_id} is left out: run.json is damaged" in caplog.text
    with pytest.raises(RepositoryError, match=r"run\.json is damaged"):
        repository.run(make_run(1).run_id)
    (bundle / "run.json").write_bytes(whole)
    assert repository.runs() == [make_run(1), make_run(2)]


def test_a_damaged_log_is_reported_as_an_error(repository: Repository) -> None:
    file = published(repository) / "logs" / "client.gz"
    for content in (b"", b"no gzip", file.read_bytes()[:20], b"\x1f\x8b" + b"\x00" * 40):
        file.write_bytes(content)
        if content:
            with pytest.raises(RepositoryError, match="damaged"):
                repository.log(make_run(1).run_id, "client")
    file.write_bytes(gzip.compress(b"x"))
    assert repository.log(make_run(1).run_id, "client") == b"x"


def test_a_damaged_table_is_reported_as_an_error(repository: Repository) -> None:
    bundle = published(repository)
    (bundle / "tasks.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(RepositoryError, match="can't be read"):
        repository.tasks(make_run(1).run_id)


def index_file(repository: Repository) -> Path:
    return max((repository.root / "index").glob("runs-*.parquet"), key=lambda path: path.stat().st_mtime_ns)


DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "gone": lambda whole: None,
    "empty": lambda whole: b"",
    "foreign": lambda whole: b"garbage" * 100,
    "cut": lambda whole: whole[:-9],
    "zeroed": lambda whole: bytes(len(whole)),
    "zeroed but for its footer": lambda whole: whole[:4] + bytes(len(whole) - 2004) + whole[-2000:],
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_an_index_that_is_gone_or_damaged_is_built_anew(
    repository: Repository, damage: Callable[[bytes], bytes | None]
) -> None:
    every = [make_run(number) for number in range(5)]
    for run in every:
        repository.publish(run)
    assert repository.runs() == every
    index = index_file(repository)
    content = damage(index.read_bytes())
    index.unlink()
    if content is not None:
        index.write_bytes(content)
    assert repository.runs() == every
    assert repository.runs(limit=1) == every[-1:]


@pytest.mark.slow
def test_every_cut_of_the_index_is_survived(repository: Repository) -> None:
    repository.publish(make_run(1))
    repository.runs()
    whole = index_file(repository).read_bytes()
    for length in range(0, len(whole), max(1, len(whole) // 40)):
        index_file(repository).write_bytes(whole[:length])
        assert repository.runs() == [make_run(1)]


def test_a_bundle_that_was_removed_or_copied_in_is_noticed(repository: Repository, tmp_path: Path) -> None:
    other = Repository.create(tmp_path / "other")
    copied, removed = other.publish(make_run(1)), repository.publish(make_run(2))
    assert repository.runs() == [make_run(2)]
    copied.rename(repository.root / "bundles" / copied.name)
    assert repository.runs() == [make_run(1), make_run(2)]
    for file in removed.iterdir():
        file.unlink()
    removed.rmdir()
    assert repository.runs() == [make_run(1)]


def test_an_unchanged_repository_leaves_the_index_alone(repository: Repository) -> None:
    repository.publish(make_run(1))
    repository.runs()
    before = index_file(repository).stat()
    repository.runs(layout="HD2")
    assert (index_file(repository).stat().st_ino, index_file(repository).stat().st_mtime_ns) == (
        before.st_ino,
        before.st_mtime_ns,
    )


def test_runs_are_listed_if_no_index_can_be_written(repository: Repository) -> None:
    repository.publish(make_run(1))
    (repository.root / "index").rmdir()
    (repository.root / "index").write_text("in the way")
    assert repository.runs() == [make_run(1)]
    assert repository.verify() == []


def test_a_second_writer_of_the_same_index_leaves_the_existing_file(repository: Repository) -> None:
    """Its rows may be divided over other files, and a reader may already have read the existing file's list."""
    for number in range(3):
        repository.publish(make_run(number))
        repository.runs()
    folders = Folders(repository.root)
    names = bundle_names(folders.bundles)
    path = folders.index / index_name(names)
    existing = path.stat().st_ino
    with connection() as opened:
        assert IndexBuilder(folders, TemporaryFolders(), []).build(opened, names, ()).name == path.name
        assert path.stat().st_ino == existing
        IndexBuilder(folders, TemporaryFolders(), [], replace=True).build(opened, names, ())
    assert path.stat().st_ino != existing
    assert len(repository.runs()) == 3


@pytest.mark.slow
def test_many_writers_and_readers_at_once_see_whole_runs_only(repository: Repository) -> None:
    code = """
first = int(sys.argv[2])
won = 0
for number in range(first, first + 12):
    repository.publish(make_run(number), logs={"x": b"x" * 10_000})
    repository.runs()
    try:
        repository.publish(make_run(900 + number - first))
        won += 1
    except RepositoryError as error:
        assert "already stored" in str(error), error
print(won)
"""
    writers = [start(repository, code, str(first)) for first in (100, 200)]
    seen = 0
    while any(writer.poll() is None for writer in writers):
        runs = repository.runs()
        assert len(runs) >= seen
        assert all(run == make_run(int(run.run_id[-12:])) for run in runs)
        seen = len(runs)
    outputs = [writer.communicate(timeout=60)[0].strip() for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0], outputs
    assert sum(map(int, outputs)) == 12, "each contested id must be won exactly once"
    assert len(repository.runs()) == 36
    assert repository.verify() == []
    assert partial(repository) == []
