"""Test the daemon of emulated disks: sizes, stored data, clean ends, errors."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import random
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from paths import ROOT

pytestmark = pytest.mark.daemon
DAEMON = ROOT / "rust/target/release/assay-diskd"
SIZE_BYTES = 8 * 2**20
HDD: dict[str, Any] = {
    "kind": "hdd",
    "read_bytes_per_s": 300e6,
    "write_bytes_per_s": 300e6,
    "inner_share": 0.5,
    "seek_track_s": 0.0005,
    "seek_full_s": 0.002,
    "rpm": 15000,
    "queue_depth": 32,
    "write_cache_bytes": 2**20,
}
SSD: dict[str, Any] = {
    "kind": "ssd",
    "channels": 8,
    "read_bytes_per_s": 500e6,
    "write_bytes_per_s": 400e6,
    "burst_bytes": 2**20,
    "burst_write_bytes_per_s": 450e6,
    "read_latency_s": 1e-4,
    "write_latency_s": 5e-5,
    "read_iops": 75000,
    "write_iops": None,
}


def require_daemon(*, mounting: bool = True) -> None:
    """Skip, and say why, where the daemon was not built or may not mount."""
    if not DAEMON.exists():
        pytest.skip(f"{DAEMON} was not built: run tools/setup.sh test")
    if mounting and os.geteuid() != 0:
        pytest.skip("mounting needs root")
    if mounting and not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("this machine has no usable /dev/fuse")


def specification(folder: Path) -> dict[str, Any]:
    (folder / "mount").mkdir(exist_ok=True)
    devices = [
        {
            "name": f"worker1.{model['kind']}1",
            "image": str(folder / f"{model['kind']}.img"),
            "size": SIZE_BYTES,
            "model": dict(model),
        }
        for model in (HDD, SSD)
    ]
    return {"mount": str(folder / "mount"), "seed": 1, "devices": devices}


def write_specification(folder: Path, document: object) -> Path:
    path = folder / "spec.json"
    path.write_text(json.dumps(document))
    return path


@contextlib.contextmanager
def daemon(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Start it, wait until it serves, and leave nothing of it behind."""
    path = write_specification(folder, specification(folder))
    process = subprocess.Popen([DAEMON, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()
        subprocess.run(["umount", "-l", folder / "mount"], check=False, capture_output=True)


def is_mounted(path: Path) -> bool:
    return any(line.split()[4] == str(path) for line in Path("/proc/self/mountinfo").read_text().splitlines())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    require_daemon()
    return tmp_path


def test_files_have_the_described_size_and_keep_what_is_written(folder: Path) -> None:
    rng = random.Random(4)
    content = {"worker1.hdd1": bytearray(SIZE_BYTES), "worker1.ssd1": bytearray(SIZE_BYTES)}
    with daemon(folder):
        mount = folder / "mount"
        assert sorted(path.name for path in mount.iterdir()) == [".stats", "worker1.hdd1", "worker1.ssd1"]
        for name, expected in content.items():
            assert (mount / name).stat().st_size == SIZE_BYTES
            with (mount / name).open("r+b", buffering=0) as file:
                for _ in range(60):
                    offset, length = rng.randrange(SIZE_BYTES), rng.choice([1, 511, 4096, 65536, 1500000])
                    data = rng.randbytes(min(length, SIZE_BYTES - offset))
                    file.seek(offset)
                    assert file.write(data) == len(data)
                    expected[offset : offset + len(data)] = data
                os.fsync(file.fileno())
            assert (mount / name).read_bytes() == expected
    assert (folder / "hdd.img").read_bytes() == content["worker1.hdd1"]
    assert (folder / "ssd.img").read_bytes() == content["worker1.ssd1"]
    with daemon(folder):
        assert (folder / "mount/worker1.hdd1").read_bytes() == content["worker1.hdd1"], "images are kept"


def test_direct_reads_and_writes_work_as_a_loop_device_needs_them(folder: Path) -> None:
    with daemon(folder), mmap.mmap(-1, 2**20) as page_aligned:
        page_aligned.write(random.Random(1).randbytes(2**20))
        descriptor = os.open(folder / "mount/worker1.ssd1", os.O_RDWR | os.O_DIRECT)
        try:
            assert os.pwritev(descriptor, [page_aligned], 4096) == 2**20
            with mmap.mmap(-1, 2**20) as back:
                assert os.preadv(descriptor, [back], 4096) == 2**20
                assert back[:] == page_aligned[:]
        finally:
            os.close(descriptor)


def test_sizes_are_fixed(folder: Path) -> None:
    with daemon(folder):
        file = folder / "mount/worker1.hdd1"
        with pytest.raises(PermissionError):
            os.truncate(file, 5)
        with file.open("r+b", buffering=0) as opened:
            opened.seek(SIZE_BYTES)
            with pytest.raises(OSError, match="File too large"):
                opened.write(b"x" * 512)
            assert opened.read() == b""
        with pytest.raises(OSError, match=r"."):
            (folder / "mount/new").touch()


def test_stats_count_what_was_done(folder: Path) -> None:
    with daemon(folder):
        (folder / "mount/worker1.hdd1").read_bytes()
        with (folder / "mount/worker1.ssd1").open("r+b", buffering=0) as file:
            file.write(bytes(2**20))
        stats = json.loads((folder / "mount/.stats").read_text())
    hdd, ssd = stats["worker1.hdd1"], stats["worker1.ssd1"]
    assert (hdd["read_bytes"], hdd["written_bytes"], hdd["bytes"]) == (SIZE_BYTES, 0, SIZE_BYTES)
    assert hdd["reads"] >= SIZE_BYTES // 2**20
    assert hdd["busy_s"] >= SIZE_BYTES / HDD["read_bytes_per_s"]
    assert (ssd["reads"], ssd["written_bytes"], ssd["seeks"], ssd["seek_s"]) == (0, 2**20, 0, 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_daemon_and_unmounts_its_folder(folder: Path, number: signal.Signals) -> None:
    with daemon(folder) as process:
        assert is_mounted(folder / "mount")
        process.send_signal(number)
        assert process.wait(timeout=10) == 0
        assert not is_mounted(folder / "mount")
        assert list((folder / "mount").iterdir()) == []


def test_after_kill_9_only_a_dead_mount_remains(folder: Path) -> None:
    with daemon(folder) as process:
        process.kill()
        process.wait(timeout=10)
        with pytest.raises(OSError, match="not connected"):
            (folder / "mount/worker1.hdd1").read_bytes()
        subprocess.run(["umount", "-l", folder / "mount"], check=True)
        assert not is_mounted(folder / "mount")
    with daemon(folder):
        assert (folder / "mount/worker1.hdd1").stat().st_size == SIZE_BYTES


def test_the_daemon_ends_when_its_device_is_unmounted(folder: Path) -> None:
    # In a separate mount namespace: a copy in another namespace, such as a lab node's, would keep the mount alive.
    path = write_specification(folder, specification(folder))
    script = (
        'exec 3<&0; mkfifo "$3"; "$1" "$2" >"$3" 2>&1 & read -r line <"$3"; echo "$line"; umount "$4"; wait $!; echo $?'
    )
    ended = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", DAEMON, path, folder / "fifo", folder / "mount"],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert ended.stdout.split() == ["ready", "0"], ended.stderr


def refusal(folder: Path, argument: object) -> str:
    """Return what the daemon says, after one line and exit code 1."""
    refused = subprocess.run(
        [DAEMON, str(argument)], cwd=folder, capture_output=True, text=True, timeout=10, check=False
    )
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("assay-diskd: ")
    assert refused.stderr.count("\n") == 1
    return refused.stderr


def change(path: str, value: object) -> Any:
    """Return a function that sets a specification's field, or removes it."""

    def apply(document: dict[str, Any]) -> None:
        *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
        target: Any = document
        for part in parents:
            target = target[part]
        if value is None:
            del target[last]
        else:
            target[last] = value

    return apply


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("mount", None, "mount: is missing"),
        ("mount", "relative", "mount: must be an absolute path"),
        ("mount", "/proc/self/nowhere", "can't mount, /proc/self/nowhere"),
        ("mount", str(ROOT / "tests"), "not empty"),
        ("seed", -1, "seed: must be a number that is not negative"),
        ("devices", [], "devices: at least one is needed"),
        ("devices.0.name", "a/b", "devices[0].name"),
        ("devices.0.name", ".stats", "devices[0].name"),
        ("devices.1.name", "worker1.hdd1", "devices[1].name: worker1.hdd1 occurs twice"),
        ("devices.0.size", 1000, "devices[0].size: 1000 is not a positive multiple of 512"),
        ("devices.0.size", 1.5, "devices[0].size: must be a whole number"),
        ("devices.0.image", "/proc/nowhere/x.img", "can't use the image, /proc/nowhere/x.img"),
        ("devices.0.model.kind", "tape", 'devices[0].model.kind: must be "hdd" or "ssd"'),
        ("devices.0.model.rpm", None, "devices[0].model.rpm: is missing"),
        ("devices.0.model.rpm", 0, "devices[0].model.rpm: must be more than 0"),
        ("devices.0.model.rpms", 7200, "devices[0].model.rpms: unknown; known are kind, "),
        ("devices.0.model.inner_share", 1.5, "inner_share: 1.5 is more than 1"),
        ("devices.0.model.seek_full_s", 0.0001, "seek_full_s: less than seek_track_s"),
        ("devices.1.model.channels", 0, "devices[1].model.channels: must be 1 to 1024"),
        ("devices.1.model.queue_depth", 0, "devices[1].model.queue_depth: must be 1 to 65536"),
    ],
)
def test_a_bad_specification_is_refused_in_one_line(tmp_path: Path, path: str, value: object, message: str) -> None:
    require_daemon(mounting=False)
    document = specification(tmp_path)
    change(path, value)(document)
    assert message in refusal(tmp_path, write_specification(tmp_path, document))


def test_an_invalid_specification_is_refused_in_one_line(tmp_path: Path) -> None:
    require_daemon(mounting=False)
    (tmp_path / "bad.json").write_text('{"mount": }')
    for argument, message in (("bad.json", "not JSON at byte 10"), ("none.json", "No such file"), ("-h", "usage")):
        assert message in refusal(tmp_path, argument)


def test_an_image_in_use_or_of_another_size_is_refused(folder: Path) -> None:
    with daemon(folder):
        (folder / "other").mkdir()
        other = specification(folder) | {"mount": str(folder / "other")}
        assert "another process has locked it" in refusal(folder, write_specification(folder, other))
    (folder / "ssd.img").write_bytes(bytes(4096))
    message = refusal(folder, write_specification(folder, specification(folder)))
    assert f"it has 4096 bytes and should have {SIZE_BYTES}" in message


def test_the_unit_tests_of_the_device_model_pass() -> None:
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("cargo is not installed: the tests in rust/ did not run")
    done = subprocess.run(
        [cargo, "test", "--offline", "--quiet"],
        cwd=ROOT / "rust",
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("test result: ok") >= 4
