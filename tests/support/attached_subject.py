"""Somebody else's Hadoop for tests: one that assay deployed, entered by a client of its own as any other would be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from assay.engines.catalogue import engine_kind
from assay.engines.contract import EngineFacts, Provided, Provider, ProviderKind, Show
from assay.engines.hadoop.attached import AttachedEngine, AttachedHadoop
from assay.engines.hadoop.deployed import DeployedHadoop
from assay.engines.hadoop.engine import HadoopEngine
from assay.hosts.transport import Transport
from assay.model.cluster import Attachment, Cluster
from assay.model.layout import Directories, Layout
from assay.model.plan import Configuration

LAUNCHER = """\
#!/bin/sh
# As Hadoop's own launcher: hadoop [--config DIR] CLASS|version ARGUMENTS
if [ "$1" = --config ]; then conf=$2; shift 2; else conf={conf}; fi
class=$1; shift
[ "$class" = version ] && class=org.apache.hadoop.util.VersionInfo
exec {java} -Xmx256m {options} -cp "$conf:{classpath}:$HADOOP_CLASSPATH" "$class" "$@"
"""


def write_client(engine: HadoopEngine, folder: Path) -> Path:
    """Write a ``hadoop`` program for a running Hadoop, and return it; its settings are the daemons' own."""
    daemons = engine.daemons
    deployment = daemons.deployment
    text = LAUNCHER.format(
        conf=daemons.configuration_directory(),
        java=deployment.java,
        options=deployment.java_options,
        classpath=deployment.classpath,
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hadoop").write_text(text)
    (folder / "hadoop").chmod(0o755)
    return folder / "hadoop"


class BesideTheirs:
    """A provider that first deploys a Hadoop as somebody else would, then is attached to it."""

    def __init__(self, cluster: Cluster, transports: Mapping[str, Transport]) -> None:
        self.theirs = DeployedHadoop(replace(cluster, attached=None), transports)
        home = Path(cluster.home)
        self._cluster = replace(cluster, home=str(home.parent / f"{home.name}-ours"))
        self._transports = transports
        self._ours: AttachedHadoop | None = None

    @property
    def facts(self) -> EngineFacts:
        return self._provider.facts

    @property
    def engine(self) -> AttachedEngine | None:
        return self._provider.engine

    @property
    def _provider(self) -> AttachedHadoop:
        return self._ours or AttachedHadoop(self._cluster, self._transports)

    async def open(self, show: Show) -> None:
        await self.theirs.open(show)
        parts = (Directories("ssd"),)
        provided = await self.theirs.provide(Configuration({}, Layout("SSD", parts, parts), {}), show)
        assert isinstance(provided.engine, HadoopEngine)
        client = write_client(provided.engine, Path(self._cluster.home).parent / "client")
        attachment = Attachment(
            self._cluster.master.name,
            str(client),
            provided.engine.daemons.configuration_directory(),
            "default",
            "/user/me/assay",
        )
        self._ours = AttachedHadoop(replace(self._cluster, attached=attachment), self._transports)
        await self._ours.open(show)

    async def provide(self, configuration: Configuration, show: Show) -> Provided:
        return await self._provider.provide(configuration, show)

    async def close(self) -> None:
        if self._ours:
            await self._ours.close()
        await self.theirs.close()


def beside_theirs(cluster: Cluster, transports: Mapping[str, Transport]) -> Provider:
    return BesideTheirs(cluster, transports)


KIND = replace(engine_kind("hadoop"), providers={ProviderKind.DEPLOYED: beside_theirs})
