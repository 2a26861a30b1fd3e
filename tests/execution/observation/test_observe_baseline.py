"""Test the baseline in directories of this machine: measurements, cleanup, and messages when it cannot run."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from assay.analysis.devices import rates as device_rates
from assay.analysis.devices.rates import BaselineSettings
from assay.execution.hosts import LocalTransport
from assay.execution.hosts.transport import CommandResult
from assay.execution.observation import device_baseline
from assay.foundation.errors import HostError
from assay.interfaces.cli.measure import baseline as cli
from assay.model.clusters.cluster import (
    Cluster,
    Device,
    DeviceKind,
    Disks,
    LabSettings,
    Nic,
    Node,
    NodeType,
    Placement,
    Role,
)
from assay.model.clusters.device_baseline import DeviceBaseline


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FILE_S", "RANDOM_S"):
        monkeypatch.setattr(device_baseline, name, 1)


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


async def _measure(directory: Path) -> DeviceBaseline:
    return await device_baseline.measure_baseline(_cluster(directory), {"here": LocalTransport("here")})


@pytest.mark.slow
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


async def test_a_directory_that_cannot_be_created_is_an_error_that_names_the_host(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(HostError, match="here: mkdir"):
        await _measure(tmp_path / "file")


@pytest.mark.slow
async def test_a_host_without_fio_gets_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(_programs_without_fio(tmp_path / "bin")))
    with pytest.raises(HostError) as caught:
        await _measure(tmp_path)
    assert "fio is not installed" in str(caught.value)
    assert caught.value.hint == "on that host: apt-get install fio"
    assert _names(tmp_path) == ["bin"]


STREAM_RUNTIMES_MS = (2000, 4000)
STREAM_BYTES = 8 * 10**6


@dataclass
class Recorder:
    """A host that runs nothing, records its commands, and answers as fio does.

    Streams come in pairs: both read the same, one takes twice as long as the other.
    """

    name: str = "here"
    commands: list[tuple[str, ...]] = field(default_factory=list)
    knows_file_systems: bool = True

    async def run(self, argv: Sequence[str], **_: Any) -> CommandResult:
        self.commands.append(tuple(argv))
        refused = argv[:2] == ["sync", "-f"] and not self.knows_file_systems
        return CommandResult(tuple(argv), int(refused), _fio_report(argv) if argv[0] == "fio" else b"", b"")


def _fio_report(argv: Sequence[str]) -> bytes:
    none = {"io_bytes": 0, "bw_bytes": 0, "bw": 0, "iops": 0.0, "runtime": 0}
    jobs = []
    for name in (word.removeprefix("--name=") for word in argv if word.startswith("--name=")):
        for runtime_ms in STREAM_RUNTIMES_MS if name.startswith("streams") else (1000,):
            did = {
                "io_bytes": STREAM_BYTES,
                "bw_bytes": STREAM_BYTES * 1000 // runtime_ms,
                "bw": 1,
                "iops": 50.0,
                "runtime": runtime_ms,
            }
            way = "write" if name.startswith("write") else "read"
            jobs.append({"jobname": name, "read": none, "write": none} | {way: did})
    return json.dumps({"fio version": "fio-3.33", "jobs": jobs}).encode()


async def _baseline_of(host: Recorder, cluster: Cluster | None = None) -> DeviceBaseline:
    return await device_baseline.measure_baseline(cluster or _cluster(Path("/data")), {"here": host})  # type: ignore[dict-item]


@pytest.mark.parametrize("knows", [True, False])
async def test_all_metadata_is_written_before_a_disk_is_measured(knows: bool) -> None:
    """Otherwise the kernel writes it back later, and the arm leaves the reader for it."""
    host = Recorder(knows_file_systems=knows)
    await _baseline_of(host)
    folder = "/data/.assay-baseline"
    synced = [("sync", "-f", "--", folder), *([] if knows else [("sync",)])]
    expected = [("rm",), ("mkdir",), *synced, ("fio",), *synced, ("fio",), ("rm",)]
    assert [argv if argv[0] == "sync" else argv[:1] for argv in host.commands if argv[0] != "df"] == expected
    assert all("-rf" in argv for argv in host.commands if argv[0] == "rm")


async def test_streams_that_end_at_different_times_get_no_rates_they_never_had_together() -> None:
    measured = await _baseline_of(Recorder())
    (streams,) = (m.value for m in measured.measurements if m.metric == "streams_8_read_bytes_per_s")
    assert streams == 2 * STREAM_BYTES / (max(STREAM_RUNTIMES_MS) / 1000)


def _with_hdd(lab: LabSettings | None) -> Cluster:
    cluster = _cluster(Path("/data"))
    node = cluster.nodes[0]
    hdd = Device("hdd", DeviceKind.HDD, 150e6, 150e6, 120, None, 10**12, directory="/data")
    kind = replace(node.type, devices=(hdd,))
    placement = Placement.LAB if lab else Placement.LOCAL
    return replace(cluster, placement=placement, nodes=(replace(node, type=kind),), lab=lab)


async def test_a_real_hdds_short_seeks_are_not_compared_with_the_whole_disks_requests_per_second() -> None:
    cluster = _with_hdd(None)
    expected = {m.metric: (m.expected, m.modelled) for m in (await _baseline_of(Recorder(), cluster)).measurements}
    hdd = cluster.nodes[0].type.devices[0]
    readahead = 2 * device_baseline.HOST_READAHEAD_BYTES
    how = BaselineSettings(int(150e6 * device_baseline.FILE_S) // 2**22 * 2**22, 8, readahead, 4096, 1)
    by_model = device_rates.model_rates(hdd, 1.0, how)
    assert expected == {
        "sequential_read_bytes_per_s": (150e6, False),
        "sequential_write_bytes_per_s": (150e6, False),
        "streams_8_read_bytes_per_s": (by_model.streams_bytes_per_s, True),
        "random_read_iops": (by_model.random_read_iops, True),
    }
    assert by_model.random_read_iops is not None
    assert by_model.random_read_iops > 1.3 * 120


@pytest.mark.parametrize(
    ("disks", "random", "modelled"),
    [(Disks.THROTTLE, lambda iops: iops == 120, False), (Disks.MODEL, lambda iops: iops > 120, True)],
)
async def test_a_throttled_disk_is_held_to_what_is_stated(
    disks: Disks, random: Callable[[float], bool], modelled: bool
) -> None:
    baseline_ = await _baseline_of(Recorder(), _with_hdd(LabSettings(0.5, 2**30, disks)))
    (iops,) = (m for m in baseline_.measurements if m.metric == "random_read_iops")
    assert iops.expected is not None
    assert (random(iops.expected), iops.modelled) == (True, modelled)


async def test_computed_expectations_are_distinguished_from_stated_ones(capsys: pytest.CaptureFixture[str]) -> None:
    measured = await _baseline_of(Recorder(), _with_hdd(None))
    cli._print(measured, None)
    rows = {
        words: line
        for line in capsys.readouterr().out.splitlines()
        for words in ("random", "sequential read")
        if words in line
    }
    assert "modelled, deviates" in rows["random"]
    assert "modelled" not in rows["sequential read"]
    modelled = {measurement["metric"]: measurement["modelled"] for measurement in cli._json(measured)["measurements"]}
    assert (modelled["random_read_iops"], modelled["sequential_read_bytes_per_s"]) == (True, False)


async def test_a_disk_without_room_is_not_written_to(tmp_path: Path) -> None:
    """The file may take a tenth of the free space; the folder that was made for it goes again."""

    class Full(LocalTransport):
        async def run(self, argv: Sequence[str], **options: Any) -> CommandResult:
            if argv[0] == "df":
                return CommandResult(tuple(argv), 0, b"Avail\n1000000\n", b"")
            assert argv[0] != "fio"
            return await super().run(argv, **options)

    device = Device("ssd", DeviceKind.SSD, 5e8, 5e8, None, None, 10**12, directory=str(tmp_path))
    node = Node("n1", NodeType("t", 2, 2**30, (device,), Nic(1e9)), frozenset(Role))
    with pytest.raises(HostError, match="would take more than 10 % of the free space"):
        await device_baseline.measure_baseline(Cluster("full", Placement.LOCAL, (node,)), {"n1": Full("n1")})
    assert os.listdir(tmp_path) == []  # noqa: PTH208
