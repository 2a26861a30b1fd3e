"""Test reading a repository that cannot be written: read-only mount, full disk."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from assay.analysis.statistics import RunTable
from assay.store import Repository
from builders import make_run, study_runs
from paths import SUPPORT

pytestmark = pytest.mark.root

PRELUDE = f"""
import atexit, json, os, re, signal, subprocess, sys, tempfile, urllib.request
sys.path.insert(0, {str(SUPPORT)!r})
from pathlib import Path
from builders import make_run
from assay.store import Repository
root = Path(sys.argv[1])
"""


def in_a_private_mount(mount: str, root: Path, code: str, *, temporary: Path | None = None) -> dict[str, object]:
    """Return what a program prints last, run as root where only it sees the mount."""
    shell = ["unshare", "--mount", "--propagation", "private", "sh", "-c", f'{mount} && exec "$2" -c "$3" "$1"', "sh"]
    environment = {"TMPDIR": str(temporary)} if temporary else {}
    done = subprocess.run(
        [*shell, str(root), sys.executable, PRELUDE + code],
        capture_output=True,
        text=True,
        timeout=120,
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/nonexistent", **environment},
    )
    if "unshare" in done.stderr:
        pytest.skip(f"no private mount here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stdout + done.stderr
    result: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return result


READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1"'


@pytest.mark.parametrize("state", ["no index", "older index", "damaged index", "damaged bundle"])
def test_a_read_only_repository_is_read_whatever_the_state_of_its_index(tmp_path: Path, state: str) -> None:
    repository = Repository.create(tmp_path / "r")
    for run in study_runs():
        repository.publish(run)
    if state != "no index":
        repository.table()
    if state == "older index":
        for number in range(8):
            repository.publish(make_run(900 + number, layout="HD2"))
    if state == "damaged index":
        for path in repository.folders.index.glob("*.parquet"):
            path.write_bytes(path.read_bytes()[:900])
    if state == "damaged bundle":
        bundle = repository.publish(make_run(900))
        (bundle / "run.json").write_text("{")
    there = sorted(path.name for path in repository.folders.index.iterdir())
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    code = """
try:
    (root / "written").touch()
    raise SystemExit("it can be written")
except OSError:
    pass
repository = Repository.open(root)
table = repository.table()
ids = repository.ids_at(table, range(len(table)))
again = repository.table()
assay = [sys.executable, "-m", "assay"]
print(json.dumps({
    "runs": len(table),
    "same": ids == [run.run_id for run in repository.runs_at(table, range(len(table)))],
    "still": repository.has_index_of(table) and again.source == table.source,
    "files": len(list(Path(tempfile.gettempdir()).glob("assay-index~*/*.parquet"))),
    "commands": [
        subprocess.run([*assay, *command, "--repository", str(root)], capture_output=True).returncode
        for command in (["decide"], ["show", ids[0]], ["decide", "layout", "--details", "options"])
    ],
}))
"""
    output = in_a_private_mount(READ_ONLY, repository.root, code, temporary=temporary)
    expected = len(study_runs()) + (8 if state == "older index" else 0)
    files = 0 if state == "damaged bundle" else 1  # there the index has all runs that can be read
    assert output == {"runs": expected, "same": True, "still": True, "files": files, "commands": [0, 0, 0]}
    assert list(temporary.iterdir()) == []
    assert sorted(path.name for path in repository.folders.index.iterdir()) == there


@pytest.mark.slow
@pytest.mark.parametrize("end", ["SIGTERM", "SIGKILL"])
def test_a_server_answers_every_page_when_the_disk_is_full(tmp_path: Path, end: str) -> None:
    """The folder for temporary files is on the full disk too, as on a machine with one partition.

    A page of room is left, in which the folder for temporary files looks usable.
    """
    code = """
repository = Repository.create(root / "r")
for number in range(8):
    repository.publish(make_run(number, layout=("HDD", "SSD")[number % 2]))
os.environ["TMPDIR"] = str(root)
ours = lambda: {path.name for path in Path("/dev/shm").glob("assay-index~*")}
before = ours()
command = [sys.executable, "-m", "assay", "serve", "--port", "0", "--repository", str(root / "r")]
served = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
atexit.register(served.kill)
address = re.search("http://[^ ]+", served.stdout.readline())[0]
def status(page):
    try:
        return urllib.request.urlopen(address + page, timeout=30).status
    except urllib.error.HTTPError as error:
        return error.code
pages = ["", "runs", "compare", "cost", "api/v1/runs", "runs/" + make_run(0).run_id]
first = [status(page) for page in pages]
for number in range(8, 24):
    repository.publish(make_run(number, layout=("HDD", "SSD")[number % 2]))
(root / "room").write_bytes(bytes(4096))
for block in (65536, 1):
    with (root / f"filling-{block}").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(block))
        except OSError:
            pass
(root / "room").unlink()
full = [status(page) for page in pages]
total = json.load(urllib.request.urlopen(address + "api/v1/runs", timeout=30))
kept = len(ours() - before)
served.send_signal(getattr(signal, END))
served.communicate(timeout=30)
if END == "SIGKILL":  # the next process that makes temporary folders removes what it left
    reader = Repository.open(root / "r")
    assert len(reader.table()) == 24
    reader.close()
    from assay.store.bundles.staging import TemporaryFolders
    folders = TemporaryFolders()
    list(folders.create())
    folders.close()
print(json.dumps({"first": first, "full": full, "total": total["total"], "kept": kept, "left": len(ours() - before)}))
"""
    output = in_a_private_mount('mount -t tmpfs -o size=4m tmpfs "$1"', tmp_path, f"END = {end!r}" + code)
    assert output == {"first": [200] * 6, "full": [200] * 6, "total": 24, "kept": 1, "left": 0}


def test_records_that_could_not_be_stored_are_stored_once_there_is_space(tmp_path: Path) -> None:
    """A repository that becomes writable again has a complete index without names of temporary files."""
    repository = Repository.create(tmp_path / "r")
    for number in range(4):
        repository.publish(make_run(number))
    index = repository.folders.index
    index.rmdir()
    index.write_text("a file in the place of the folder: nothing can be kept there")
    table = repository.table()
    assert len(repository.runs_at(table, [0, 3])) == 2
    index.unlink()
    repository.publish(make_run(4))
    assert sizes(repository) == (5, 5)
    for path in repository.folders.index.glob("*.parquet"):
        path.touch()
    assert sizes(Repository.open(repository.root)) == (5, 5)
    assert len(repository.runs_at(table, [0, 3])) == 2


def sizes(repository: Repository) -> tuple[int, int]:
    table: RunTable = repository.table()
    return len(table), len(repository.ids_at(table, range(len(table))))
