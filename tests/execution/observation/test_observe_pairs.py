"""Test bandwidth between pairs of hosts: available tools, bounded time, and one bad link."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from assay.execution.observation.link_rates import measure_pairs, rounds
from assay.execution.observation.scripts import command
from assay.model.clusters.cluster import Address
from assay.model.clusters.host_checks import BETWEEN, Grade, HostCheckReport
from assay.specs import load_cluster
from campaign_support import assay
from fleet import fleet, run_on_each
from hosts_support import LoopbackSshd, loopback_sshd

OLD_PYTHONS = sorted((Path.home() / ".pyenv" / "versions").glob("3.6.*/bin/python3.6"))


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[LoopbackSshd]:
    with loopback_sshd(tmp_path) as server:
        yield server


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 40])
def test_each_two_hosts_meet_once_each_way_and_none_is_in_two_pairs_at_a_time(count: int) -> None:
    names = [f"h{number}" for number in range(count)]
    planned = rounds(names)
    met = [pair for pairs in planned for pair in pairs]
    assert len(met) == len(set(met)) == count * (count - 1)
    for pairs in planned:
        busy = [name for pair in pairs for name in pair]
        assert len(busy) == len(set(busy))


@pytest.mark.slow
async def test_pairs_are_measured_over_ssh_and_failures_are_reported(sshd: LoopbackSshd) -> None:
    nowhere = Address("127.0.0.1", 1, "x", known_hosts=str(sshd.directory / "known_hosts"))
    pairs = await measure_pairs({"a": sshd.address, "b": sshd.address, "gone": nowhere})
    assert {name: set(rates) for name, rates in pairs.rates.items()} == {"a": {"b"}, "b": {"a"}}
    assert min(rate for rates in pairs.rates.values() for rate in rates.values()) > 1e8
    assert set(pairs.errors) == {("gone", "a"), ("gone", "b")}
    assert "refuses port 1" in pairs.errors["gone", "a"]


@pytest.mark.slow
@pytest.mark.parametrize("python", [sys.executable, *map(str, OLD_PYTHONS)])
def test_a_server_with_another_secret_is_not_accepted(python: str) -> None:
    script = command("link_rate", {})[3]

    def run(**options: object) -> subprocess.Popen[bytes]:
        argv = [python, "-u", "-c", script, json.dumps({"seconds": 0.2, **options})]
        return subprocess.Popen(argv, stdout=subprocess.PIPE)

    server = run(word="a" * 32)
    assert server.stdout is not None
    port = json.loads(server.stdout.readline())["port"]
    run(word="b" * 32, host="127.0.0.1", port=port).communicate(timeout=20)
    sent = json.loads(run(word="a" * 32, host="127.0.0.1", port=port).communicate(timeout=20)[0])
    took = json.loads(server.communicate(timeout=20)[0])
    assert took["bytes"] == sent["bytes"] > 0


@pytest.mark.lab
@pytest.mark.slow
def test_the_host_with_a_slow_link_is_in_every_slow_pair(tmp_path: Path) -> None:
    """Five hosts, of which one sends a tenth of what the others do: 100 against 1000 Mbit/s."""
    names = ["n1", "n2", "n3", "n4", "n5"]
    with fleet(tmp_path / "hosts", names) as made:
        for name in names:
            rate = "100mbit" if name == "n2" else "1gbit"
            run_on_each(made, [name], f"tc qdisc replace dev eth0 root tbf rate {rate} burst 256k latency 50ms")
        file = tmp_path / "cluster.yaml"
        hosts = [made.address(name) for name in names]
        assay("discover", *hosts, *made.login, "-o", file)
        checked = assay("check", file, "--bandwidth", "--json", check=False)
        nodes = load_cluster(file).nodes
        cluster_names = [node.name for node in nodes]
        bad = next(node.name for node in nodes if node.address and node.address.host == made.address("n2"))
        report = msgspec.json.decode(checked.stdout, type=HostCheckReport)
    readings = [reading for reading in report.readings if reading.criterion == "pair-bandwidth"]
    print(readings)
    assert report.worst(BETWEEN, "pair-bandwidth") is not Grade.FIT
    slow = [tuple(reading.subject.split(" → ")) for reading in readings if "the median pair has" in reading.message]
    assert {(bad, name) for name in cluster_names if name != bad} <= set(slow)
    assert len(slow) <= 6, "a busy machine may slow another pair down"
