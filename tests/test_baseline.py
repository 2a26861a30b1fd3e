"""The baseline on this machine's own directories: what is measured, what is left, and what is said when it can't be."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from assay.errors import HostError
from assay.hosts import LocalTransport
from assay.model.baseline import Baseline
from assay.model.cluster import Cluster, Device, DeviceKind, Nic, Node, NodeType, Placement, Role
from assay.observe import baseline


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("READ_S", "RANDOM_S"):
        monkeypatch.setattr(baseline, name, 1)


def _cluster(directory: Path) -> Cluster:
    device = Device("disk", DeviceKind.SSD, 500e6, 400e6, 9000, None, 100 * 10**6, directory=str(directory))
    other = Device("unmounted", DeviceKind.HDD, 500e6, 400e6, 9000, None, 100 * 10**6)
    kind = NodeType("this", 2, 2**33, (device, other), Nic(1e9))
    return Cluster("local", Placement.LOCAL, (Node("here", kind, frozenset({Role.MASTER, Role.WORKER})),))


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _programs_without_fio(folder: Path) -> Path:
    folder.mkdir()
    for entry in (*Path("/bin").iterdir(), *Path("/usr/bin").iterdir()):
        if entry.name != "fio" and not (folder / entry.name).is_symlink():
            (folder / entry.name).symlink_to(entry)
    return folder


async def _measure(directory: Path) -> Baseline:
    return await baseline.measure_baseline(_cluster(directory), {"here": LocalTransport("here")})


async def test_a_real_directory_is_measured_and_left_as_it_was(tmp_path: Path) -> None:
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    (tmp_path / "mine").write_text("kept")
    measured = await _measure(tmp_path)
    figures = {m.metric: (m.subject, m.expected) for m in measured.measurements}
    assert figures == {
        "sequential_read_bytes_per_s": ("disk", 500e6),
        "sequential_write_bytes_per_s": ("disk", 400e6),
        "streams_8_read_bytes_per_s": ("disk", None),
        "random_read_iops": ("disk", 9000),
    }
    assert all(m.value > 0 for m in measured.measurements)
    assert _names(tmp_path) == ["mine"]


async def test_a_directory_that_can_not_be_made_is_an_error_that_names_the_host(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(HostError, match="here: mkdir"):
        await _measure(tmp_path / "file")


async def test_a_host_without_fio_is_told_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(_programs_without_fio(tmp_path / "bin")))
    with pytest.raises(HostError) as caught:
        await _measure(tmp_path)
    assert "fio is not installed" in str(caught.value)
    assert caught.value.hint == "on that host: apt-get install fio"
    assert _names(tmp_path) == ["bin"]
