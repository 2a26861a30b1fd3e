"""Test the checks before Hadoop's daemons start, on real folders and the real clock."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest

from assay.execution.engines.hadoop.deployment import readiness
from assay.execution.engines.hadoop.deployment.daemons import ClusterHealth, health_text
from assay.execution.engines.hadoop.deployment.readiness import CONTAINERS_MEMORY, record_directories, require_ready
from assay.execution.engines.hadoop.settings.configuration import Deployment
from assay.execution.hosts import LocalTransport
from assay.foundation.errors import UnusableHostError
from assay.model.clusters.cluster import Placement
from engine_samples import CLUSTER, deployment

HOSTS = {node.name: LocalTransport(node.name) for node in CLUSTER.nodes}
WORKER = CLUSTER.workers[0]


def deployment_below(folder: Path, data: str = "data") -> Deployment:
    """Return a deployment whose home and devices are below ``folder``, the same for every node."""
    types = {
        node.type.name: replace(
            node.type,
            devices=tuple(replace(device, directory=str(folder / data / device.name)) for device in node.type.devices),
        )
        for node in CLUSTER.nodes
    }
    nodes = tuple(replace(node, type=types[node.type.name]) for node in CLUSTER.nodes)
    cluster = replace(CLUSTER, nodes=nodes, home=str(folder / "home"), placement=Placement.LOCAL)
    return replace(deployment(), cluster=cluster, home=str(folder / "home" / "deployments"))


def folders(hadoop: Deployment) -> dict[str, list[str]]:
    directories = {node.name: [hadoop.directory] for node in hadoop.cluster.nodes}
    for node in hadoop.cluster.workers:
        directories[node.name] += hadoop.hdfs_directories(node)
    return directories


async def refusal(hadoop: Deployment) -> str:
    with pytest.raises(UnusableHostError) as raised:
        await require_ready(hadoop, HOSTS, folders(hadoop))
    return str(raised.value)


def write_version(directory: str, cluster: str) -> None:
    file = Path(directory, "current", "VERSION")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#Sun\nnamespaceID=1\nclusterID={cluster}\n")


@pytest.mark.slow
async def test_hosts_without_a_problem_get_only_their_folders(tmp_path: Path) -> None:
    hadoop = deployment_below(tmp_path)
    await require_ready(hadoop, HOSTS, folders(hadoop))
    files = [path for directory in hadoop.hdfs_directories(hadoop.cluster.workers[0]) for path in os.scandir(directory)]
    assert files == []


@pytest.mark.slow
async def test_hdfs_formatted_in_other_directories_is_reported_with_both_and_a_remedy(tmp_path: Path) -> None:
    before = deployment_below(tmp_path, "old")
    write_version(before.image_directory, "CID-1")
    await record_directories(before, HOSTS[CLUSTER.master.name])
    await require_ready(before, HOSTS, folders(before))
    words = await refusal(deployment_below(tmp_path, "new"))
    assert f"the HDFS of layout {before.layout.name} was made in {tmp_path}/old/hdd1" in words
    assert f"but is now expected in {tmp_path}/new/hdd1" in words
    assert f"remove {before.directory}" in words
    shutil.rmtree(before.directory)  # as the hint says
    await require_ready(deployment_below(tmp_path, "new"), HOSTS, folders(deployment_below(tmp_path, "new")))


@pytest.mark.slow
async def test_a_directory_of_another_hdfs_is_reported(tmp_path: Path) -> None:
    hadoop = deployment_below(tmp_path)
    write_version(hadoop.image_directory, "CID-1")
    write_version(hadoop.hdfs_directories(hadoop.cluster.workers[0])[0], "CID-2")
    assert "belongs to another HDFS (CID-2, not CID-1)" in await refusal(hadoop)


@pytest.mark.slow
async def test_clocks_that_differ_and_containers_that_do_not_fit_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hadoop = replace(deployment_below(tmp_path), parameters={CONTAINERS_MEMORY: str(1 << 40)})

    class ClockAhead:
        time = staticmethod(lambda: time.time() + 5400.0 + 30.0)

    monkeypatch.setattr(readiness, "time", ClockAhead)
    words = await refusal(hadoop)
    assert "its clock is 1 h 30 min" in words
    assert "behind this machine's" in words
    assert f"lower {CONTAINERS_MEMORY}" in words


def test_the_health_seen_by_masters_is_described() -> None:
    text = health_text(ClusterHealth(live_datanodes=1, live_nodemanagers=2, safe_mode=True), 2)
    assert text == "1 DataNodes and 2 NodeManagers of 2 are live, HDFS in safe mode"
    assert health_text(None, 2) == "a master daemon does not answer"


def problems_of(user: str, folder: Path, as_user: bool = False) -> list[list[str]]:
    """Return the problems of a folder that the script prints for a user."""
    source = (resources.files("assay.execution.engines.hadoop.deployment.node") / "ready.py").read_text()
    owned = [str(folder)] if as_user else []
    options = {"folders": [str(folder)], "own": owned, "room_bytes": 1 << 20, "metadata": []}
    python = "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable
    command = [python, "-c", source, json.dumps(options)]
    done = subprocess.run(command, user=user, capture_output=True, text=True, check=True, cwd="/", env={})
    return list(json.loads(done.stdout)["problems"])


@pytest.fixture
def disk(disk_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("file systems are mounted by root")
    folder = disk_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m,mode=755", "assay", str(folder)], check=True)
    disk_path.chmod(0o755)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.root
@pytest.mark.slow
def test_full_read_only_and_forbidden_folders_are_distinguished_with_a_remedy(disk: Path) -> None:
    data = disk / "data"
    assert problems_of("root", data) == []
    assert problems_of("nobody", disk / "new") == [
        [f"{disk}/new can't be written by nobody", "chown it to nobody, or name another directory"]
    ]
    data.chmod(0o777)
    [[words, hint]] = problems_of("nobody", data, as_user=True)
    assert words == f"{data} belongs to root, and a DataNode of nobody sets its mode"
    assert "chown" in hint
    (disk / "fill").write_bytes(b"x" * ((7 << 20) + (960 << 10)))
    assert problems_of("root", data)[0][0].startswith(f"{data} has 0 MB free, but daemons need 1 MB")
    subprocess.run(["dd", "if=/dev/zero", f"of={disk / 'rest'}", "bs=4k"], check=False, capture_output=True)
    assert problems_of("root", data) == [[f"{data} has no room left", "free space on that device"]]
    for name in ("fill", "rest"):
        (disk / name).unlink()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    assert problems_of("root", data)[0][0] == f"{data} is mounted read-only"
