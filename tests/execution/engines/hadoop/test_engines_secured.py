"""Test a Hadoop secured by Kerberos, HTTPS with a private authority, and encrypted transfer, with real daemons.

Jobs have maps alone: Hadoop without its native library can't shuffle where it is secured.
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.execution.engines.catalogue import engine_kind
from assay.execution.engines.contract import Provider
from assay.execution.hosts import LocalTransport
from assay.foundation.errors import EngineError
from assay.model.clusters.cluster import Attachment, Cluster, KerberosLogin, Nic, Node, NodeType, Placement, Role
from assay.model.clusters.layout import Directories, Layout
from assay.model.plans.configuration import Configuration
from assay.model.plans.program import Program
from campaign_support import assay
from secured_hadoop import Secured, secured_hadoop

pytestmark = pytest.mark.hadoop

ADMIN, FS = "org.apache.hadoop.hdfs.tools.DFSAdmin", "org.apache.hadoop.fs.FsShell"
TERAGEN = "org.apache.hadoop.examples.terasort.TeraGen"
CLUSTER = """
cluster: secured
local: {{}}
home: {home}
node_types:
  machine:
    cores: 2
    memory: 4GiB
    nic: 10Gbit/s
    devices: {{ssd: {{kind: ssd, read: 500MB/s, write: 450MB/s, capacity: 100GB}}}}
nodes:
  node: {{type: machine, roles: [master, worker]}}
provider: attached
attached:
  hadoop: {client}
  configuration: {folder}/conf
  queue: default
  directory: /user/alice/assay
  kerberos: {{principal: alice, keytab: {folder}/alice.keytab}}
  authorities: {folder}/ca.pem
"""
PLAN = """
plan: secured
cluster: cluster.yaml
engine: hadoop
layout: SSD
workloads: [teragen: {data: 2MB, maps: 2}]
parameters: {dfs.replication: 1}
repetitions: 1
"""


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with secured_hadoop(tmp_path_factory.mktemp("secured") / "theirs") as made:
        yield made


@pytest.fixture(autouse=True)
def kdc(secured: Secured, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in secured.environment.items():
        monkeypatch.setenv(name, value)


def attached(
    secured: Secured, home: Path, login: KerberosLogin | None, authorities: Path | None, queue: str = "default"
) -> Provider:
    given = (str(secured.client), str(secured.folder / "conf"), queue, "/user/alice/assay")
    attachment = Attachment("node", *given, (), login, str(authorities) if authorities else None)
    node = Node("node", NodeType("t", 2, 2**33, (), Nic(1e9)), frozenset(Role))
    cluster = Cluster("theirs", Placement.LOCAL, (node,), home=str(home), attached=attachment)
    return engine_kind("hadoop").provider_of(cluster)(cluster, {"node": LocalTransport("node")})


def _configuration() -> Configuration:
    parts = (Directories("ssd"),)
    return Configuration({}, Layout("SSD", parts, parts), {"dfs.replication": "1"})


async def test_a_ticket_of_a_keytab_lets_jobs_and_every_question_in(secured: Secured, tmp_path: Path) -> None:
    login = KerberosLogin("alice", str(secured.keytab("alice")))
    provider = attached(secured, tmp_path / "home", login, secured.authorities)
    shown: list[str] = []
    await provider.open(shown.append)
    try:
        engine = (await provider.provide(_configuration(), shown.append)).engine
        program = Program(TERAGEN, ("20000", "/assay/output/x"), {"mapreduce.job.maps": "2"})
        done = await engine.run(program, {"dfs.replication": "1"}, timeout_s=200, label="job", show=shown.append)
        assert done.outcome.exit_status == 0, done.outcome.output
        stored = await engine.storage.stored("/assay/output/x")
        await engine.storage.write("/assay/note", b"a word")
        assert await engine.storage.read("/assay/note") == b"a word"
        assert await engine.health_check() is None
        await engine.storage.delete("/assay/output")
    finally:
        await provider.close()
    assert stored.length_bytes == 2_000_000
    assert done.jobs
    assert len(done.tasks) >= 2
    assert done.metrics["other_containers"] == 0
    assert not (tmp_path / "home" / "ticket").exists()
    assert (tmp_path / "home").stat()
    _nothing_secret(secured, [" ".join(shown).encode(), *done.logs.values()])
    assert b"fs.s3a.secret.key" in next(log for name, log in done.logs.items() if name.endswith("_conf.xml"))


@pytest.mark.parametrize("wrong", ["none", "expired", "keytab", "authorities"])
async def test_an_invalid_ticket_is_reported_with_the_reason(secured: Secured, tmp_path: Path, wrong: str) -> None:
    cache = KerberosLogin(cache=f"FILE:{tmp_path}/cache")
    authorities: Path | None = secured.authorities
    if wrong == "expired":
        secured.kinit("alice", str(cache.cache), "-l", "1s")
        await asyncio.sleep(2)
    elif wrong == "keytab":
        cache = KerberosLogin("bob", str(secured.keytab("alice")))
    elif wrong == "authorities":
        cache, authorities = KerberosLogin("alice", str(secured.keytab("alice"))), None
    words = {
        "none": "but the user has no ticket: .*No credentials cache",
        "expired": "the Kerberos ticket has expired",
        "keytab": "no ticket could be obtained with the keytab: .*bob",
        "authorities": "its certificate is not trusted",
    }
    with pytest.raises(EngineError, match=words[wrong]) as raised:
        await attached(secured, tmp_path / "home", cache, authorities).open(lambda _: None)
    _nothing_secret(secured, [str(raised.value).encode()])
    assert not (tmp_path / "home" / "ticket").exists()


async def test_safe_mode_quotas_and_queues_are_asked_of_a_real_one_first(secured: Secured, tmp_path: Path) -> None:
    login = KerberosLogin("alice", str(secured.keytab("alice")))

    async def refused(match: str, queue: str = "default") -> None:
        provider = attached(secured, tmp_path / "home", login, secured.authorities, queue)
        try:
            with pytest.raises(EngineError, match=match):
                await provider.open(lambda _: None)
        finally:
            await provider.close()

    secured.hadoop(ADMIN, "-safemode", "enter")
    try:
        await refused("HDFS is in safe mode and read-only: Safe mode is ON")
    finally:
        secured.hadoop(ADMIN, "-safemode", "leave")
    await refused("did you mean 'default'", queue="defautl")
    secured.hadoop(FS, "-mkdir", "-p", "/user/alice/assay")
    secured.hadoop(FS, "-chown", "alice", "/user/alice/assay")
    secured.hadoop(ADMIN, "-setQuota", "1", "/user/alice/assay")
    try:
        await refused("the quota of files is used up")
    finally:
        secured.hadoop(ADMIN, "-clrQuota", "/user/alice/assay")


@pytest.mark.long
async def test_a_program_that_fills_its_quota_ends_with_an_error(secured: Secured, tmp_path: Path) -> None:
    login = KerberosLogin("alice", str(secured.keytab("alice")))
    provider = attached(secured, tmp_path / "home", login, secured.authorities)
    await provider.open(lambda _: None)
    try:
        engine = (await provider.provide(_configuration(), lambda _: None)).engine
        secured.hadoop(ADMIN, "-setSpaceQuota", "100m", "/user/alice/assay")
        program = Program(TERAGEN, ("20000", "/assay/output/full"), {"mapreduce.job.maps": "1"})
        done = await engine.run(program, {"dfs.replication": "1"}, timeout_s=200, label="job", show=lambda _: None)
    finally:
        secured.hadoop(ADMIN, "-clrSpaceQuota", "/user/alice/assay")
        await provider.close()
    assert done.outcome.exit_status != 0
    assert "quota" in " ".join(done.outcome.error_lines()).lower()


def test_a_campaign_on_a_secured_cluster_leaves_no_secret_in_bundles_reports_or_output(
    secured: Secured, tmp_path: Path
) -> None:
    text = CLUSTER.format(home=tmp_path / "home", client=secured.client, folder=secured.folder)
    (tmp_path / "cluster.yaml").write_text(text)
    (tmp_path / "plan.yaml").write_text(PLAN)
    root = tmp_path / "repository"
    ran = assay("run", tmp_path / "plan.yaml", "--repository", root, "--no-baseline", check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assay("report", "-o", tmp_path / "report.html", "--repository", root, check=False)
    files = [path for path in tmp_path.rglob("*") if path.is_file() and "home" not in path.parts]
    assert any(path.name.endswith("_conf.xml.gz") for path in files)
    contents = [gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes() for path in files]
    _nothing_secret(secured, [ran.stdout.encode(), ran.stderr.encode(), *contents])
    assert not [path for path in (tmp_path / "home").rglob("*") if path.name == "ticket"]


def _nothing_secret(secured: Secured, texts: list[bytes]) -> None:
    """Neither passwords nor keys, nor a delegation token as WebHDFS puts it into addresses."""
    for text in texts:
        assert [word for word in secured.planted if word in text] == []
        assert b"delegation=" not in text
