"""Test a cluster with access to the edge node alone: no other connections, and no run counts as cold."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from assay.execution.campaign.attempts.recording import cache_warning
from assay.execution.campaign.attempts.runner import connect
from assay.execution.campaign.attempts.sampling import drop_all_caches, unobserved_workers
from assay.execution.campaign.external_runs import ObservationRequest, observe
from assay.execution.hosts import LocalTransport
from assay.model.clusters.cluster import Address, Cluster, Placement
from assay.model.runs.run import CacheState
from assay.specs import load_cluster

CLUSTER = """
cluster: theirs
local: {}
node_types:
  machine:
    cores: 2
    memory: 4GiB
    nic: 10Gbit/s
    devices: {ssd: {kind: ssd, read: 500MB/s, write: 450MB/s, capacity: 100GB}}
nodes:
  node: {type: machine, roles: [master, worker]}
provider: attached
attached: {queue: nights, directory: /user/me/assay, only_edge: true}
"""
COLD = CacheState("edge", 2**30, 2**20, 2**20, 0, dropped=True, reason=None)


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    described = load_cluster(tmp_path / "cluster.yaml")
    [edge] = described.nodes
    assert described.attached is not None
    assert described.attached.only_edge
    far = [replace(edge, name=f"far{number}", address=Address("256.0.0.1")) for number in (1, 2)]
    return replace(described, nodes=(edge, *far))


async def test_no_host_but_the_edge_node_is_connected_to(cluster: Cluster) -> None:
    async with AsyncExitStack() as stack:
        assert list(await connect(cluster, stack)) == ["node"]
    assert [node.name for node in cluster.login_nodes] == ["node"]
    assert cluster.attached is not None
    every = replace(cluster, attached=replace(cluster.attached, only_edge=False))
    assert len(every.login_nodes) == 3


async def test_the_cache_of_an_edge_node_without_data_is_not_dropped(cluster: Cluster) -> None:
    assert await drop_all_caches(cluster, {"node": LocalTransport("node")}, {}) == ()


async def test_observed_settings_name_unobserved_nodes(cluster: Cluster) -> None:
    async def work() -> None:
        return None

    published = await observe(
        cluster, {"node": LocalTransport("node")}, ObservationRequest("nothing", work), engine="hadoop"
    )
    words = "not observed, because assay logs in to the edge node only: devices, links, memory and caches of far1, far2"
    assert words in map(str, published.run.warnings)
    assert unobserved_workers(replace(cluster, attached=None)) == ()


def test_a_run_records_why_it_is_not_cold_and_whether_its_data_fit_into_memory(cluster: Cluster) -> None:
    real = replace(cluster, placement=Placement.SSH)
    small, large = cache_warning((), real, 3 * 10**9), cache_warning((), real, 2 * 10**10)
    assert small is not None
    assert small.startswith("not shown to be cold: assay logs in to the edge node only; the data (3 GB) fit into the")
    assert large is not None
    assert "the data (20 GB) are larger than the workers' memory (12.9 GB)" in large
    assert cluster.attached is not None
    every = replace(real, attached=replace(cluster.attached, only_edge=False))
    assert cache_warning((COLD,), every, 10**9) is None
    refused = replace(COLD, dropped=False, reason="sudo wants a password")
    assert "sudo wants a password; the data (1 GB) fit into" in (cache_warning((COLD, refused), every, 10**9) or "")
