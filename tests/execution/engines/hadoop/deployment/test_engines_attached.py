"""Test the provider of an attached Hadoop with a small server and a client script in the place of Hadoop.

The contract suite tests the same provider with a real Hadoop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.execution.engines.catalogue import engine_kind
from assay.execution.engines.contract import Engine, Provider
from assay.execution.engines.hadoop.settings.site import ClientConfiguration
from assay.execution.hosts import LocalTransport
from assay.foundation.errors import EngineError
from assay.model.clusters.cluster import Address, Attachment, Cluster, Nic, Node, NodeType, Placement, Role
from assay.model.clusters.layout import Directories, Layout
from assay.model.plans.configuration import Configuration
from assay.model.plans.program import Program
from assay.model.runs.warning import WarningCode
from played_hadoop import CLIENT, Theirs, serving, site_xml

pytestmark = pytest.mark.slow

TERAGEN = "org.apache.hadoop.examples.terasort.TeraGen"


@pytest.fixture
def theirs() -> Iterator[tuple[Theirs, int]]:
    with serving(Theirs()) as served:
        yield served


@pytest.fixture
def standby() -> Iterator[tuple[Theirs, int]]:
    """Return the server of a standby master."""
    with serving(Theirs(state="standby")) as served:
        yield served


@pytest.fixture(autouse=True)
def no_jobs_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ship(*_: object) -> object:
        from assay.execution.engines.hadoop.jobs.jobs import JobsJar

        return JobsJar("/ours/jobs.jar")

    monkeypatch.setattr("assay.execution.engines.hadoop.jobs.jobs.ship", ship)


def attached(
    folder: Path, port: int, *, sleep_s: float = 0.0, settings: Mapping[str, str] | None = None, only_edge: bool = False
) -> Provider:
    site_settings = dict(settings or {})
    queue = site_settings.pop("queue", "nights")
    site_xml(folder, port, **site_settings)
    client = folder / "hadoop"
    client.write_text(CLIENT.format(folder=folder, sleep=sleep_s))
    client.chmod(0o755)
    attachment = Attachment("node", str(client), str(folder), queue, "/user/me/assay", ("/their/examples.jar",))
    node = Node("node", NodeType("t", 2, 2**33, (), Nic(1e9)), frozenset(Role))
    far = Node("far", node.type, frozenset({Role.WORKER}), Address("10.0.0.9"))
    nodes = (node, far) if only_edge else (node,)
    attachment = replace(attachment, only_edge=only_edge)
    cluster = Cluster("theirs", Placement.LOCAL, nodes, home=str(folder / "home"), attached=attachment)
    return engine_kind("hadoop").provider_of(cluster)(cluster, {"node": LocalTransport("node")})


def configuration(**parameters: str) -> Configuration:
    parts = (Directories("ssd"),)
    return Configuration({}, Layout("SSD", parts, parts), {k.replace("_", "."): v for k, v in parameters.items()})


async def open_engine(provider: Provider, **parameters: str) -> Engine:
    await provider.open(lambda _: None)
    return (await provider.provide(configuration(**parameters), lambda _: None)).engine


async def test_a_program_is_submitted_by_the_clusters_client_to_the_named_queue_and_folder(
    theirs: tuple[Theirs, int], tmp_path: Path
) -> None:
    state, port = theirs
    provider = attached(tmp_path, port)
    engine = await open_engine(provider, dfs_replication="2")
    try:
        program = Program(TERAGEN, ("100", "/assay/output/x"), {"some.dir": "/assay/y,/assayed"})
        result = await engine.run(program, {"dfs.replication": "2"}, timeout_s=30, label="job", show=print)
        await engine.storage.delete("/assay/output/x")
        assert provider.facts.version == "3.3.6"
    finally:
        await provider.close()
    assert result.outcome.exit_status == 0
    line = (tmp_path / "asked").read_text().splitlines()[-1]
    assert line.startswith("/their/examples.jar:/ours/jobs.jar|")
    assert f"--config {tmp_path} {TERAGEN}" in line
    assert "-Dmapreduce.job.queuename=nights" in line
    assert "-Dsome.dir=/user/me/assay/SSD/y,/assayed" in line
    assert line.endswith("100 /user/me/assay/SSD/output/x")
    changing_requests = [asked for asked in state.asked if not asked.startswith("GET")]
    assert changing_requests
    assert all("/webhdfs/v1/user/me/assay" in asked for asked in changing_requests)
    assert engine.data_directories["node"] == ["/data1/dn", "/data2/dn"]


@pytest.mark.slow
async def test_applications_of_others_are_counted_and_named_in_a_warning_of_the_run(
    theirs: tuple[Theirs, int], tmp_path: Path
) -> None:
    state, port = theirs
    provider = attached(tmp_path, port, sleep_s=2.5)
    engine = await open_engine(provider)
    try:
        undisturbed_result = await engine.run(
            Program(TERAGEN, ("1", "/assay/a")), {}, timeout_s=30, label="job", show=print
        )
        state.others = 12
        disturbed_result = await engine.run(
            Program(TERAGEN, ("1", "/assay/b")), {}, timeout_s=30, label="job", show=print
        )
    finally:
        await provider.close()
    assert undisturbed_result.warnings == ()
    assert undisturbed_result.metrics["other_containers"] == 0
    assert undisturbed_result.metrics["all_hdfs_read_bytes"] == 10**6
    assert undisturbed_result.metrics["all_hdfs_written_bytes"] == 0
    assert undisturbed_result.metrics["published_cpu_share"] == 0.5
    assert disturbed_result.metrics["other_containers_max"] == 12
    assert [warning.code for warning in disturbed_result.warnings] == [WarningCode.DISTURBED]
    assert "disturbed by others: 12.0 containers" in str(disturbed_result.warnings[0])


async def test_a_program_that_fails_is_an_outcome(theirs: tuple[Theirs, int], tmp_path: Path) -> None:
    _, port = theirs
    provider = attached(tmp_path, port)
    engine = await open_engine(provider)
    try:
        result = await engine.run(Program(TERAGEN, ("/assay/nowhere",)), {}, timeout_s=30, label="job", show=print)
        assert result.outcome.exit_status == 255
        assert any("nowhere" in line for line in result.outcome.error_lines())
        assert await engine.health_check() is None
    finally:
        await provider.close()


@pytest.mark.parametrize(
    ("state_changes", "settings", "message"),
    [
        ({"safe_mode": "Safe mode is ON."}, {}, "in safe mode"),
        ({"state": "standby"}, {}, "no NameNode is active"),
        ({"quota": {"spaceQuota": 10, "spaceConsumed": 10}}, {}, "the quota of space is used up"),
        ({"quota": {"quota": 4}}, {}, "the quota of files is used up"),
        ({}, {"queue": "nigths"}, "did you mean 'nights'"),
        ({}, {"hadoop.security.authentication": "kerberos"}, "secured by Kerberos, but .* has no (ticket|klist)"),
        ({}, {"hadoop.security.authentication": "ldap"}, "authenticates users by 'ldap'"),
        ({}, {"fs.defaultFS": "ofs://om"}, "no Ozone"),
        ({}, {"dfs.nameservices": "a,b"}, "federated"),
        ({}, {"dfs.http.policy": "HTTPS_ONLY", "dfs.namenode.https-address": "127.0.0.1:1"}, "no (answer|curl)"),
    ],
)
async def test_obstacles_are_reported_before_anything_is_locked(
    theirs: tuple[Theirs, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    state_changes: dict[str, Any],
    settings: dict[str, str],
    message: str,
) -> None:
    state, port = theirs
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path}/none")
    for name, value in state_changes.items():
        setattr(state, name, value)
    provider = attached(tmp_path, port, settings=settings)
    with pytest.raises(EngineError, match=message):
        await provider.open(lambda _: None)
    second_provider = attached(tmp_path, port)
    vars(state).update(vars(Theirs(port=port)))
    await second_provider.open(lambda _: None)
    await second_provider.close()


@pytest.mark.parametrize("state_changes", [{"gone": True}, {"safe_mode": "Safe mode is ON."}])
async def test_a_cluster_that_restarts_between_runs_is_waited_for(
    theirs: tuple[Theirs, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state_changes: dict[str, Any]
) -> None:
    monkeypatch.setattr("assay.execution.engines.hadoop.deployment.attached.BACK_INTERVAL_S", 0.05)
    state, port = theirs
    provider = attached(tmp_path, port)
    messages: list[str] = []
    await open_engine(provider)

    def show(message: str) -> None:
        messages.append(message)
        if sum("waiting" in line for line in messages) == 3:
            vars(state).update(vars(Theirs(port=port)))

    vars(state).update(state_changes)
    try:
        engine = (await provider.provide(configuration(), show)).engine
        assert await engine.health_check() is None
    finally:
        await provider.close()
    assert "waiting for the externally managed Hadoop: " in messages[0]
    assert ("no NameNode is active" in messages[0]) == ("gone" in state_changes)


async def test_a_service_that_does_not_come_back_is_an_error_with_a_message(
    theirs: tuple[Theirs, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.execution.engines.hadoop.deployment.attached.BACK_TIMEOUT_S", 0.1)
    monkeypatch.setattr("assay.execution.engines.hadoop.deployment.attached.BACK_INTERVAL_S", 0.05)
    state, port = theirs
    provider = attached(tmp_path, port)
    await open_engine(provider)
    state.gone = True
    try:
        with pytest.raises(EngineError, match="no NameNode is active"):
            await provider.provide(configuration(), lambda _: None)
    finally:
        await provider.close()


async def test_where_only_the_edge_node_is_entered_daemons_report_the_bytes_that_they_moved(
    theirs: tuple[Theirs, int], tmp_path: Path
) -> None:
    _, port = theirs
    provider = attached(tmp_path, port, only_edge=True)
    engine = await open_engine(provider)
    try:
        result = await engine.run(Program(TERAGEN, ("1", "/assay/a")), {}, timeout_s=30, label="job", show=print)
    finally:
        await provider.close()
    assert engine.addresses["far"] == "10.0.0.9"
    assert result.metrics["all_hdfs_read_bytes"] == 10**6


async def test_changes_that_need_a_restart_or_more_nodes_are_refused(
    theirs: tuple[Theirs, int], tmp_path: Path
) -> None:
    _, port = theirs
    provider = attached(tmp_path, port)
    try:
        with pytest.raises(EngineError, match=r"yarn.nodemanager.resource: a job can't set this"):
            await open_engine(provider, yarn_nodemanager_resource="1")
        with pytest.raises(EngineError, match="4 copies are requested, but 3 DataNodes are live"):
            await provider.provide(configuration(dfs_replication="4"), lambda _: None)
    finally:
        await provider.close()


async def test_without_a_client_or_a_configuration_the_message_names_it(
    theirs: tuple[Theirs, int], tmp_path: Path
) -> None:
    _, port = theirs
    provider = attached(tmp_path, port)
    (tmp_path / "hadoop").unlink()
    with pytest.raises(EngineError, match="the client does not run"):
        await provider.open(lambda _: None)
    (tmp_path / "core-site.xml").unlink()
    with pytest.raises(EngineError, match="there is no Hadoop configuration"):
        await provider.open(lambda _: None)


async def test_the_active_master_of_two_is_used_and_a_failover_is_followed(
    theirs: tuple[Theirs, int], tmp_path: Path
) -> None:
    state, port = theirs
    pair = {
        "fs.defaultFS": "hdfs://big",
        "dfs.nameservices": "big",
        "dfs.ha.namenodes.big": "nn1,nn2",
        "dfs.namenode.http-address.big.nn1": "127.0.0.1:1",
        "dfs.namenode.http-address.big.nn2": f"127.0.0.1:{port}",
        "yarn.resourcemanager.ha.rm-ids": "rm1,rm2",
        "yarn.resourcemanager.webapp.address.rm1": "127.0.0.1:1",
        "yarn.resourcemanager.webapp.address.rm2": f"127.0.0.1:{port}",
    }
    provider = attached(tmp_path, port, settings=pair)
    engine = await open_engine(provider)
    try:
        assert await engine.health_check() is None
        state.state = "standby"
        assert "no NameNode is active" in (await engine.health_check() or "")
        state.state = "active"
        assert await engine.health_check() is None
    finally:
        await provider.close()


@pytest.mark.slow
async def test_health_checks_and_queries_follow_a_failover_during_a_run(
    theirs: tuple[Theirs, int], standby: tuple[Theirs, int], tmp_path: Path
) -> None:
    (first, first_port), (second, second_port) = theirs, standby
    pair = {
        "fs.defaultFS": "hdfs://big",
        "dfs.nameservices": "big",
        "dfs.ha.namenodes.big": "nn1,nn2",
        "dfs.namenode.http-address.big.nn1": f"127.0.0.1:{first_port}",
        "dfs.namenode.http-address.big.nn2": f"127.0.0.1:{second_port}",
        "yarn.resourcemanager.ha.rm-ids": "rm1,rm2",
        "yarn.resourcemanager.webapp.address.rm1": f"127.0.0.1:{first_port}",
        "yarn.resourcemanager.webapp.address.rm2": f"127.0.0.1:{second_port}",
    }
    provider = attached(tmp_path, first_port, sleep_s=5, settings=pair)
    engine = await open_engine(provider)
    second.others = 5
    try:
        program = Program(TERAGEN, ("1", "/assay/a"))
        running = asyncio.create_task(engine.run(program, {}, timeout_s=60, label="job", show=print))
        await asyncio.sleep(1.5)
        first.state, first.gone, second.state = "standby", True, "active"
        result = await running
        await engine.storage.delete("/assay/a")
    finally:
        await provider.close()
    assert result.outcome.exit_status == 0
    assert result.metrics["other_containers_max"] == 5
    assert any(asked.startswith("DELETE") for asked in second.asked)


def test_references_to_other_properties_are_replaced_by_their_values() -> None:
    site = ClientConfiguration(
        {"a": "${b}/x", "b": "/${user.name}", "loop": "${loop}", "fs.defaultFS": "hdfs://h"}, "here", "me"
    )
    assert site.get("a") == "/me/x"
    assert site.history_folders()[0] == "/tmp/hadoop-yarn/staging/history/done_intermediate/me"
    assert "${loop}" in site.get("loop")
    assert replace(site, settings={"fs.defaultFS": "hdfs://h:1"}).namenodes() == [("h", 9870)]
