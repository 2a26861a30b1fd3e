"""Test plans and clusters in bundles: same hardware and runs, without addresses, logins and secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.specs.cluster import cluster_of
from assay.specs.document import document_of
from assay.specs.redaction import redacted_cluster, redacted_plan
from paths import ROOT

EXAMPLES = ROOT / "examples"
REAL = """
cluster: rack-7
provider: attached
node_types:
  big:
    cores: 12
    memory: 64GB
    nic: 10Gbit/s
    devices: {hdd: {kind: hdd, count: 2, read: 120MB/s, write: 120MB/s, capacity: 2TB, directories: [/data1, /data2]}}
nodes:
  edge: {type: big, roles: [], addresses: [edge.example.org]}
  master: {type: big, roles: [master], addresses: [master.example.org]}
  worker: {type: big, roles: [worker], addresses: [w1.example.org, w2.example.org]}
networks: {IB: {rate: 56Gbit/s, addresses: {worker: [10.1.0.1, 10.1.0.2], master: [10.1.0.3], edge: [10.1.0.4]}}}
ssh: {user: alice, key: /home/alice/.ssh/id, jump: bob@gate.example.org}
home: /srv/alice
attached: {queue: tests, directory: /user/alice, edge: edge, kerberos: {principal: alice@EXAMPLE.ORG, keytab: /etc/k}}
"""


def test_a_redacted_cluster_has_its_hardware_and_no_address_login_or_path() -> None:
    text = redacted_cluster(REAL)
    for word in ("example", "alice", "bob", "10.1.0", "/data", "/srv", "/home", "edge", "tests", "keytab"):
        assert word not in text.lower(), word
    original = cluster_of(document_of(REAL.encode(), "cluster.yaml"), Path())
    redacted = cluster_of(document_of(text.encode(), "cluster.yaml"), Path())
    assert [node.name for node in redacted.nodes] == [node.name for node in original.nodes if node.roles]
    assert redacted.simulated
    assert all(node.address is None for node in redacted.nodes)
    assert redacted.networks["IB"].rate_bits_per_s == 56e9
    [device, _] = redacted.workers[0].type.devices
    assert (device.read_bytes_per_s, device.capacity_bytes, device.directory) == (1.2e8, 2 * 10**12, None)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*/*cluster*.yaml")), ids=str)
def test_a_redacted_example_describes_the_same_cluster(path: Path) -> None:
    original = cluster_of(document_of(path.read_bytes(), "cluster.yaml"), path.parent)
    redacted = cluster_of(document_of(redacted_cluster(path.read_text()).encode(), "cluster.yaml"), Path())
    assert [node.name for node in redacted.nodes] == [node.name for node in original.nodes]
    assert redacted.lab == original.lab
    assert [node.type.cores for node in redacted.nodes] == [node.type.cores for node in original.nodes]


def test_secret_parameters_and_paths_are_left_out_of_a_plan() -> None:
    plan = "plan: p\ncluster: /home/alice/cluster.yaml\nparameters: {fs.s3a.secret.key: abc, dfs.replication: 2}\n"
    content = document_of(redacted_plan(plan).encode(), "plan.yaml").content
    assert content == {"plan": "p", "cluster": "cluster.yaml", "parameters": {"dfs.replication": "2"}}
