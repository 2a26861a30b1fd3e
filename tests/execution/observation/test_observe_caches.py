"""Test cold caches with real files that become resident and are evicted."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.execution.hosts import LocalTransport
from assay.execution.observation.caches import drop_caches, is_cold
from assay.execution.observation.scripts import source
from assay.model.runs.run import CacheState

SIZE_BYTES = 8 << 20
COLD = CacheState("n1", 10**9, 10**7, 10**8, 0, dropped=True, reason=None)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A directory with 8 MiB in two files that were read just now, a link, a FIFO and an empty file."""
    folder = tmp_path / "data"
    (folder / "deep").mkdir(parents=True)
    for name in ("blk_1", "deep/blk_2"):
        (folder / name).write_bytes(os.urandom(SIZE_BYTES // 2))
        (folder / name).read_bytes()
    (folder / "link").symlink_to("blk_1")
    (folder / "empty").write_bytes(b"")
    os.mkfifo(folder / "fifo")
    return folder


@pytest.fixture
def script() -> ModuleType:
    spec = importlib.util.spec_from_loader("node_caches", loader=None)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    exec(source("caches"), module.__dict__)
    return module


@pytest.fixture
def stranger_directory() -> Iterator[Path]:
    """A directory that every user may enter; pytest's own are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="assay-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.alone
async def test_data_is_resident_before_and_not_after(data: Path) -> None:
    state = await drop_caches(LocalTransport("n1"), [str(data)], timeout_s=120)
    assert state.node == "n1"
    if not state.dropped:
        pytest.skip(f"caches can't be dropped here, so dropping is NOT tested: {state.reason}")
    assert state.data_resident_before_bytes == SIZE_BYTES
    assert state.data_resident_after_bytes == 0
    assert state.cached_after_bytes < state.cached_before_bytes
    assert state.reason is None
    assert is_cold([state]) is True


@pytest.mark.alone
def test_cachestat_and_mincore_count_alike(data: Path, script: ModuleType) -> None:
    path, other = str(data / "blk_1"), script.Counter()
    other.has_cachestat = False

    def counted() -> tuple[int, int]:
        return script.count_file(path, script.Counter()), script.count_file(path, other)

    assert counted() == (SIZE_BYTES // 2, SIZE_BYTES // 2)
    with (data / "blk_1").open("rb", buffering=0) as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        assert counted() == (0, 0)
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        file.read(100_000)
    first, second = counted()
    assert first == second
    assert 100_000 <= first < SIZE_BYTES // 2


def test_a_directory_that_is_not_there_holds_nothing(tmp_path: Path, script: ModuleType) -> None:
    assert script.count([str(tmp_path / "absent")], 5.0) == 0


def test_counting_has_a_bound(data: Path, script: ModuleType) -> None:
    resident, why = script.try_count([str(data)], -1.0)
    assert resident is None
    assert "takes longer than" in why


def as_stranger(folder: Path, data: Path, sudo: str | None) -> dict[str, object]:
    """Run the script as an unprivileged user, with ``sudo`` as the text of the only program of that name."""
    if sudo is not None:
        (folder / "sudo").write_text(sudo)
        (folder / "sudo").chmod(0o755)
    done = subprocess.run(
        ["/usr/bin/python3", "-c", source("caches"), json.dumps({"directories": [str(data)], "budget_s": 5})],
        env={"PATH": str(folder)},
        user=65534,
        group=65534,
        extra_groups=[],
        capture_output=True,
        check=True,
        cwd="/",
    )
    return dict(json.loads(done.stdout))


@pytest.mark.root
def test_without_sudo_the_reason_says_so_and_what_to_do(stranger_directory: Path) -> None:
    answer = as_stranger(stranger_directory, stranger_directory, None)
    assert answer["dropped"] is False
    assert "there is no sudo" in str(answer["reason"])
    assert "NOPASSWD: /usr/bin/tee /proc/sys/vm/drop_caches" in str(answer["reason"])


@pytest.mark.root
def test_a_sudo_that_asks_for_a_password_is_named_with_the_line_for_sudoers(stranger_directory: Path) -> None:
    refusing = "#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n"
    answer = as_stranger(stranger_directory, stranger_directory, refusing)
    assert answer["dropped"] is False
    reason = str(answer["reason"])
    assert reason.startswith(
        "sudo asks for a password; allow it with this line in sudoers: nobody ALL=(root) NOPASSWD:"
    )


@pytest.mark.root
def test_sudo_is_used_without_waiting_for_a_password(stranger_directory: Path) -> None:
    agreeing = "#!/bin/sh\nread level\n[ \"$*\" = '-n /usr/bin/tee /proc/sys/vm/drop_caches' ] && [ $level = 3 ]\n"
    assert as_stranger(stranger_directory, stranger_directory, agreeing)["dropped"] is True


@pytest.mark.root
def test_files_that_may_not_be_read_are_unknown_rather_than_cold(stranger_directory: Path) -> None:
    (stranger_directory / "data").mkdir(mode=0o700)
    answer = as_stranger(stranger_directory, stranger_directory / "data", "#!/bin/sh\nexit 0\n")
    assert answer["dropped"] is True
    assert answer["resident_after_bytes"] is None
    assert "Permission denied" in str(answer["unknown"])


def test_cold_needs_every_node() -> None:
    warm = dataclasses.replace(COLD, node="n2", data_resident_after_bytes=10**8)
    unknown = dataclasses.replace(COLD, node="n2", data_resident_before_bytes=None, data_resident_after_bytes=None)
    refused = dataclasses.replace(COLD, node="n2", dropped=False, reason="no sudo")
    assert is_cold([COLD]) is True
    assert is_cold([COLD, warm]) is False
    assert is_cold([COLD, unknown]) is None
    assert is_cold([COLD, refused]) is None
    assert is_cold([unknown, warm]) is False
    assert is_cold([]) is None


def test_one_percent_of_what_was_cached_may_stay() -> None:
    assert (
        is_cold([dataclasses.replace(COLD, data_resident_before_bytes=10**9, data_resident_after_bytes=10**7)]) is True
    )
    assert (
        is_cold([dataclasses.replace(COLD, data_resident_before_bytes=10**8, data_resident_after_bytes=10**7)]) is False
    )
    assert is_cold([dataclasses.replace(COLD, data_resident_before_bytes=0, data_resident_after_bytes=1 << 20)]) is True


@given(st.lists(st.tuples(st.booleans(), st.none() | st.integers(0, 10**10), st.none() | st.integers(0, 10**10))))
def test_cold_is_never_claimed_without_a_drop_and_a_count(nodes: list[tuple[bool, int | None, int | None]]) -> None:
    states = [CacheState("n", 0, 0, before, after, dropped, None) for dropped, before, after in nodes]
    if is_cold(states) is True:
        assert all(state.dropped and state.data_resident_after_bytes is not None for state in states)
        assert states
