"""Test the latest samples of the nodes of a running job: their values, their file, and the device that it is on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.execution.observation.sampling import host_sample
from assay.foundation.block_devices import block_devices
from assay.interfaces.web.server.app import create_app
from assay.model import HostSample
from assay.store import Repository
from assay.store.campaigns.host_samples import AGE_S_MAX, NODES_MAX, HostSamplesFile
from prometheus_support import first_result, prometheus
from step_recorder import StepRecorder
from toy_campaign import run_toy_campaign, write_toy_plan
from web_support import served

HEADER = b'{"assay_sampler":1,"t":100.0,"hostname":"h","cores":4,"ticks_per_s":100,"missing":{}}\n'
LINE = (
    b'{"t":101.5,"cpu":[100,0,50,1000,10,1,2,3],"mem":[9,8,7,6,5,4],"psi":[1,2,3,4,5],'
    b'"disk":{"ssd":[1,8,3,4,16,6,7000,8]},"nic":{"eth0":[10,20]},"cgroup":[2000000000,1,2,3]}\n'
)
BODY = "layout: SSD\nworkloads: [words: {data: 100kB, how: slowly}]\nrepetitions: 1\nattempts: 1\n"


def test_a_sample_has_bytes_and_seconds() -> None:
    sample = host_sample("n1", [HEADER, LINE])
    assert sample == HostSample(
        "n1",
        101.5,
        cores=4,
        cpu_s={"user": 1, "nice": 0, "system": 0.5, "idle": 10, "iowait": 0.1, "irq": 0.03, "steal": 0.03},
        cgroup_cpu_s=2,
        disks={"ssd": (8 * 512, 16 * 512, 7)},
        nics={"eth0": (10, 20)},
    )


@pytest.mark.parametrize("last", [HEADER, b'{"t":101.5,"cpu":[1', b'{"end":true,"samples":2,"cpu_s":0.1}\n', b"\xff\n"])
def test_a_line_without_values_is_no_sample(last: bytes) -> None:
    assert host_sample("n1", [HEADER, last]) is None


def test_the_file_is_bounded_and_an_old_or_damaged_one_is_ignored(tmp_path: Path) -> None:
    file, path = HostSamplesFile(tmp_path), tmp_path / "samples.json"
    assert file.read() == ()
    file.write([HostSample(f"n{number}", 1.0) for number in range(NODES_MAX + 5)])
    assert len(file.read()) == NODES_MAX
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    os.utime(path, (0, time.time() - AGE_S_MAX - 1))
    assert file.read() == ()
    for damaged in (b"", b"[{", b'[{"node":1}]', b'{"node":"n1"}', b"\xff"):
        path.write_bytes(damaged)
        assert file.read() == ()
    file.remove()
    file.remove()
    HostSamplesFile(tmp_path / "missing").write([])


def test_a_path_is_on_its_partition_and_its_disk(disk_path: Path) -> None:
    assert block_devices(disk_path) == block_devices(disk_path / ".")
    assert block_devices(disk_path / "missing") == frozenset()
    if Path("/dev/shm").is_dir():
        assert not block_devices(Path("/dev/shm")) & block_devices(disk_path)
    for name in block_devices(disk_path):
        parent = Path("/sys/class/block", name)
        if (parent / "partition").exists():
            assert parent.resolve().parent.name in block_devices(disk_path)


@pytest.fixture
def separate_device(disk_path: Path) -> Iterator[Path]:
    """Return the path of a repository on another device than ``disk_path``."""
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == disk_path.stat().st_dev:
        pytest.skip("there is no second file system")
    folder = memory / f"assay-test-{os.getpid()}"
    Repository.create(folder)
    yield folder
    shutil.rmtree(folder)


def samples_during(plan: Path, root: Path) -> list[tuple[HostSample, ...]]:
    """Execute the plan, and return the contents of the samples file during the campaign."""
    thread = threading.Thread(target=run_toy_campaign, args=(plan, Repository.open(root), StepRecorder()))
    thread.start()
    contents: list[tuple[HostSample, ...]] = []
    while thread.is_alive():
        contents += [HostSamplesFile(path.parent).read() for path in root.glob("campaigns/*/samples.json")]
        time.sleep(0.2)
    thread.join()
    assert not list(root.glob("campaigns/*/samples.json*"))
    return [content for content in contents if content]


@pytest.mark.slow
def test_a_running_job_has_its_nodes_latest_samples(
    disk_path: Path, separate_device: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = samples_during(write_toy_plan(disk_path, BODY, monkeypatch), separate_device)
    (first,), (last,) = contents[0], contents[-1]
    assert last.at_unix_s - first.at_unix_s >= 1
    assert abs(last.at_unix_s - time.time()) < 60
    assert last.cores == os.cpu_count()
    assert sum(last.cpu_s.values()) > sum(first.cpu_s.values())
    assert first.disks.keys() == last.disks.keys()
    for disk, first_counters in first.disks.items():
        assert all(now >= then for now, then in zip(last.disks[disk], first_counters, strict=True))
    [run] = Repository.open(separate_device).runs()
    assert run.status == "valid"


@pytest.mark.slow
def test_no_host_samples_are_recorded_if_the_repository_is_on_a_measured_device(
    disk_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Repository.create(disk_path / "repository")
    assert samples_during(write_toy_plan(disk_path, BODY, monkeypatch), disk_path / "repository") == []
    [journal] = disk_path.glob("repository/campaigns/*/journal.jsonl")
    assert any(json.loads(line)["event"] == "end" for line in journal.read_text().splitlines())


@pytest.mark.slow
def test_prometheus_sees_the_nodes_of_a_running_job(
    disk_path: Path, separate_device: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = write_toy_plan(disk_path, BODY.replace("repetitions: 1", "repetitions: 2"), monkeypatch)
    cluster, disk = plan.parent / "cluster.yaml", disk_path / "disk"
    disk.mkdir()
    cluster.write_text(cluster.read_text().replace("kind: ssd,", f"kind: ssd, directories: [{disk}],"))
    campaign = threading.Thread(target=run_toy_campaign, args=(plan, Repository.open(separate_device), StepRecorder()))
    with served(create_app(separate_device)) as server, prometheus(disk_path, server) as database:
        campaign.start()
        try:
            utilization_query = (
                "sum by (node) (rate(assay_host_cpu_seconds_total[5s])) / sum by (node) (assay_host_cores)"
            )
            ((labels, _),) = first_result(database, f"{utilization_query} > 0")
            assert labels == {"node": "node"}
            ((_, age_s),) = first_result(database, "time() - assay_host_sample_timestamp_seconds")
            assert abs(age_s) < 30
            assert first_result(database, "assay_host_network_receive_bytes_total")
            if block_devices(disk) and not next(iter(block_devices(disk))).startswith("0:"):
                assert first_result(database, 'assay_host_disk_written_bytes_total{disk="ssd1"} > 0')
            metrics_during = urllib.request.urlopen(f"{server}/metrics", timeout=30).read()
        finally:
            campaign.join()
        assert first_result(database, "count(assay_host_cores) or vector(0) == 0")
        metrics_after = urllib.request.urlopen(f"{server}/metrics", timeout=30).read()
    assert b"\nassay_host_cores{" in metrics_during
    assert b"\nassay_host_cores{" not in metrics_after
    result = subprocess.run(["promtool", "check", "metrics"], input=metrics_during, capture_output=True, timeout=60)
    assert result.returncode == 0, result.stderr + result.stdout
