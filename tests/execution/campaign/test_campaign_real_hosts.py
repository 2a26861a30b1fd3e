"""Follow docs/how-to/your-own-cluster.md on hosts given by addresses and a login alone.

The hosts are a lab, reached through a jump host by a user who is not root, first without sudo, then with it. One of the
hosts has Python 3.6. In the second half, another user runs the Hadoop.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay.execution.engines.hadoop.deployment.distribution import find
from assay.execution.lab.lifecycle import Lab
from assay.execution.lab.state import state_root
from assay.specs import load_cluster
from assay.store import Repository
from campaign_support import assay, assay_json, require_hadoop
from lab_support import left_of, require_lab, unique_name
from plain_hosts import JAVA_HOME, PlainHosts, start_theirs

pytestmark = [pytest.mark.lab, pytest.mark.slow]

OLD_PYTHONS = sorted((Path.home() / ".pyenv" / "versions").glob("3.6.*/bin/python3.6"))
LAB = """
cluster: {name}
lab: {{scale: 1, memory_floor: 2GiB}}
node_types:
  head: {{cores: 2, memory: 4GiB, nic: 1Gbit/s}}
  worker:
    cores: 2
    memory: 4GiB
    nic: 1Gbit/s
    devices:
      hdd: {{kind: hdd, read: 150MB/s, write: 150MB/s, iops: 120, capacity: 16GB}}
      ssd: {{kind: ssd, read: 400MB/s, write: 300MB/s, capacity: 12GB}}
nodes:
  master: {{type: head, roles: [master]}}
  worker: {{type: worker, roles: [worker], count: 2}}
  gate: {{type: worker, roles: [worker]}}
"""
OURS = """
plan: disks-or-flash
cluster: rack-7.yaml
engine: hadoop
workloads:
  - teragen: {data: 300MB, maps: 2}
parameters: {containers: 2, mapreduce.map.memory.mb: 512, dfs.replication: 1, yarn.app.mapreduce.am.resource.mb: 768}
factors: {layout: [HDD, SSD]}
repetitions: 1
"""
THEIRS = """
plan: blocks
cluster: rack-7-theirs.yaml
engine: hadoop
layout: SSD
workloads:
  - teragen: {data: 200MB, maps: 2}
parameters: {mapreduce.map.memory.mb: 512, dfs.replication: 1, yarn.app.mapreduce.am.resource.mb: 768}
factors: {dfs.blocksize: [16MiB, 64MiB]}
repetitions: 1
"""
HOSTS = ("master", "worker1", "worker2")


@dataclass(frozen=True, slots=True)
class Walk:
    """The hosts, and the folder in which their user works."""

    hosts: PlainHosts
    folder: Path

    @property
    def root(self) -> Path:
        return self.folder / "repository"

    def discovered(self, name: str, java_home: str = "") -> Path:
        """Discover the hosts, and correct what no host of a lab can tell, as the walk-through says to do."""
        file = self.folder / f"{name}.yaml"
        hosts = [self.hosts.host(host) for host in HOSTS]
        entered = [*self.hosts.login, "--jump", self.hosts.host("gate"), "--below", "bench"]
        output_of("discover", *hosts, *entered, "--name", name, "-o", file)
        print(text := file.read_text())
        assert "lab:" not in text
        file.write_text(re.sub(r"(?<=write: )450MB/s(?=  # guessed)", "300MB/s", text) + java_home)
        return file


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    require_lab()
    require_hadoop()
    folder, name = tmp_path_factory.mktemp("walk"), unique_name("plain")
    (folder / "lab.yaml").write_text(LAB.format(name=name))
    with Lab.up(load_cluster(folder / "lab.yaml"), name=name, persistent=False) as lab:
        hosts = PlainHosts(lab.cluster, folder)
        hosts.make_plain()
        if OLD_PYTHONS:
            hosts.give_old_python("worker2", OLD_PYTHONS[0])
        yield Walk(hosts, folder)
    assert left_of(name, state_root()) == []


def output_of(*arguments: str | Path, check: bool = True) -> str:
    """Run the program as the documentation does, and show what it says, for the documentation."""
    print(f"\n$ assay {' '.join(map(str, arguments))}")
    done = assay(*arguments, check=check)
    print(done.stdout + done.stderr)
    return done.stdout


def test_without_sudo_hosts_are_discovered_checked_measured_and_hadoop_is_deployed(walk: Walk) -> None:
    rack = walk.discovered("rack-7", f"java_home: {JAVA_HOME}\n")
    output_of("check", rack, "--keep", walk.root)
    output_of("baseline", rack)
    (walk.folder / "plan.yaml").write_text(OURS)
    output_of("run", walk.folder / "plan.yaml", "--repository", walk.root, "--no-baseline")
    runs = assay_json("runs", "--repository", walk.root)
    assert [run["status"] for run in runs] == ["valid", "valid"]
    assert {run["cold"] for run in runs} == {None}
    output_of("decide", "layout", "--details", "groups", "--baseline", "HDD", "--repository", walk.root)
    for run in Repository.open(walk.root).runs():
        assert set(run.environment["nodes"]) == set(HOSTS)


@pytest.mark.long
def test_with_sudo_jobs_run_on_an_external_hadoop_and_everything_is_reported(walk: Walk) -> None:
    walk.hosts.allow_sudo(HOSTS)
    distribution = find()
    assert distribution is not None
    start_theirs(walk.hosts, HOSTS, distribution)
    theirs = walk.discovered("rack-7-theirs")
    assert "provider: attached" in theirs.read_text()
    output_of("check", theirs, check=False)
    (walk.folder / "attached.yaml").write_text(THEIRS)
    output_of("run", walk.folder / "attached.yaml", "--repository", walk.root, "--no-baseline")
    runs = [run for run in assay_json("runs", "--repository", walk.root) if run["plan"] == "blocks"]
    assert [run["status"] for run in runs] == ["valid", "valid"]
    assert {run["cold"] for run in runs} == {True}
    output_of("show", runs[0]["run_id"], "--repository", walk.root)
    output_of("decide", "dfs.blocksize", "--details", "groups", "--repository", walk.root)
    output_of("report", "-o", walk.folder / "report.html", "--by", "dfs.blocksize", "--repository", walk.root)
    assert (walk.folder / "report.html").stat().st_size > 20_000
