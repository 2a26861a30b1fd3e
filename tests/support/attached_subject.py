"""Provide a real Hadoop cluster that tests reach as an attached cluster, through its client."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from assay.execution.engines.catalogue import engine_kind
from assay.execution.engines.contract import (
    Engine,
    EngineFacts,
    EngineKind,
    ProvidedEngine,
    Provider,
    ProviderKind,
    ShowProgress,
)
from assay.execution.engines.hadoop.deployment.attached import AttachedHadoop
from assay.execution.engines.hadoop.deployment.deployed import DeployedHadoop
from assay.execution.engines.hadoop.engine import HadoopEngine
from assay.execution.engines.hadoop.jobs.rest import Endpoint
from assay.execution.engines.spark.deployed import DeployedSpark
from assay.execution.engines.spark.distribution import find as find_spark
from assay.execution.engines.spark.engine import SparkEngine
from assay.execution.hosts.transport import Transport
from assay.model.clusters.cluster import Attachment, Cluster, SparkClient
from assay.model.clusters.layout import Directories, Layout
from assay.model.plans.configuration import Configuration

_ACTIVE_TIMEOUT_S = 60.0
"""Maximum wait for an active ResourceManager, in seconds."""
LAUNCHER = """\
#!/bin/sh
# As Hadoop's own launcher: hadoop [--config DIR] CLASS|version ARGUMENTS
if [ "$1" = --config ]; then conf=$2; shift 2; else conf={conf}; fi
class=$1; shift
[ "$class" = version ] && class=org.apache.hadoop.util.VersionInfo
small="-Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
exec {java} $small {options} -cp "$conf:{classpath}:$HADOOP_CLASSPATH" "$class" "$@"
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


SPARK_SUBMIT = """\
#!{python}
# As Spark's own spark-class: its launcher makes the command of the driver.
import os, subprocess, sys
os.environ.update(SPARK_HOME={home!r}, SPARK_SCALA_VERSION="2.13", JAVA_HOME={java_home!r})
asks = [{java!r}, "-Xmx128m", "-cp", {home!r} + "/jars/*", "org.apache.spark.launcher.Main"]
made = subprocess.run([*asks, "org.apache.spark.deploy.SparkSubmit", *sys.argv[1:]], stdout=subprocess.PIPE, check=True)
words = made.stdout.split(b"\\0\\n", 1)[-1].rstrip(b"\\0").split(b"\\0")
os.execvp(words[0], words)
"""


def write_spark_client(home: Path, java: str, folder: Path) -> SparkClient:
    """Write a ``spark-submit`` and its configuration for the Spark at ``home``; event logs go to the same folder."""
    configuration, events = folder / "spark", folder / "spark-events"
    for made in (configuration, events):
        made.mkdir(parents=True, exist_ok=True)
    names = {"home": str(home), "java": java, "java_home": java.removesuffix("/bin/java")}
    (folder / "spark-submit").write_text(SPARK_SUBMIT.format(python=sys.executable, **names))
    (folder / "spark-submit").chmod(0o755)
    lines = [
        "# what its owner has set",
        "spark.eventLog.enabled true",
        f"spark.eventLog.dir=file://{events}",
        f"spark.yarn.jars   local:{home}/jars/*",
        "spark.driver.memory 512m",
    ]
    (configuration / "spark-defaults.conf").write_text("\n".join(lines))
    return SparkClient(str(folder / "spark-submit"), str(configuration), "yarn")


class Theirs:
    """A Hadoop, with a Spark where needed, that was started outside assay; several tests attach to it."""

    def __init__(self) -> None:
        self._deployed: DeployedHadoop | DeployedSpark | None = None
        self.attachment: Attachment | None = None
        self.standalone = ("", "")
        """Address and page of Spark's own master."""

    async def start(
        self, cluster: Cluster, transports: Mapping[str, Transport], show: ShowProgress, master: str = "yarn"
    ) -> Attachment:
        """Start it, and Spark's own master if ``master`` is that, unless it runs already; return how it is entered."""
        if self._deployed is None:
            deployed = replace(cluster, attached=None)
            self._deployed = (DeployedSpark if find_spark() else DeployedHadoop)(deployed, transports)
            await self._deployed.open(show)
        if self.attachment is None or (master == "standalone" and not self.standalone[0]):
            self.attachment = await self._provide(self._deployed, cluster, master, show)
        return self.attachment

    async def _provide(
        self, deployed: DeployedHadoop | DeployedSpark, cluster: Cluster, master: str, show: ShowProgress
    ) -> Attachment:
        """Start the daemons that a program on ``master`` needs; return how they are entered."""
        spark = find_spark()
        parts = (Directories("ssd"),)
        configuration = Configuration(
            {},
            Layout("SSD", parts, parts),
            {"spark.master": master} if spark else {},
            engine="spark" if spark else "hadoop",
        )
        engine = (await deployed.provide(configuration, show)).engine
        folder = Path(cluster.home).parent / "client"
        hadoop = engine.hadoop if isinstance(engine, SparkEngine) else engine
        assert isinstance(hadoop, HadoopEngine)
        client = write_client(hadoop, folder)
        daemons = hadoop.daemons
        await _wait_until_active(daemons.resourcemanager)
        if isinstance(engine, SparkEngine) and engine.standalone:
            self.standalone = (
                engine.standalone.url,
                f"{daemons.deployment.host(cluster.master)}:{engine.standalone.ports.http}",
            )
        return Attachment(
            cluster.master.name,
            str(client),
            daemons.configuration_directory(),
            "default",
            "/user/me/assay",
            spark=write_spark_client(spark.home, daemons.deployment.java, folder) if spark else None,
        )

    def on(self, master: str) -> Attachment:
        """Return how its Spark is entered on YARN, or on its own master."""
        assert self.attachment is not None
        spark = self.attachment.spark
        if spark is None or master == "yarn":
            return self.attachment
        url, page = self.standalone
        return replace(self.attachment, spark=replace(spark, master=url, page=page))

    async def stop(self) -> None:
        if self._deployed:
            await self._deployed.close()
        self._deployed, self.attachment, self.standalone = None, None, ("", "")


async def _wait_until_active(resourcemanager: Endpoint) -> None:
    """Wait for an active ResourceManager: NodeManagers register with it before it has made its key pair."""
    deadline_s = time.monotonic() + _ACTIVE_TIMEOUT_S
    while time.monotonic() < deadline_s:
        if (await resourcemanager.get("/ws/v1/cluster/info"))["clusterInfo"]["haState"] == "ACTIVE":
            return
        await asyncio.sleep(0.1)
    raise TimeoutError(f"the ResourceManager was not active within {_ACTIVE_TIMEOUT_S:.0f} s")


LENT: list[Theirs] = []
"""What runs already for those who attach; empty where each starts its own."""


class ExternalEngineKind:
    """A provider that starts a Hadoop outside assay and then attaches to it."""

    def __init__(
        self, cluster: Cluster, transports: Mapping[str, Transport], engine: str = "hadoop", master: str = "yarn"
    ) -> None:
        self.theirs = LENT[0] if LENT else Theirs()
        self._own = not LENT
        self._engine_name, self._master = engine, master
        home = Path(cluster.home)
        self._cluster, self._transports = cluster, transports
        self._home = str(home.parent / f"{home.name}-ours")
        self._ours: Provider | None = None

    @property
    def facts(self) -> EngineFacts:
        return self._provider.facts

    @property
    def engine(self) -> Engine | None:
        return self._provider.engine

    @property
    def _provider(self) -> Provider:
        return self._ours or AttachedHadoop(replace(self._cluster, home=self._home), self._transports)

    async def open(self, show: ShowProgress) -> None:
        await self.theirs.start(self._cluster, self._transports, show, self._master)
        entered = replace(self.theirs.on(self._master), directory=f"/user/me/{self._engine_name}-{self._master}")
        ours = replace(self._cluster, home=self._home, attached=entered)
        self._ours = engine_kind(self._engine_name).provider_of(ours)(ours, self._transports)
        await self._ours.open(show)

    async def provide(self, configuration: Configuration, show: ShowProgress) -> ProvidedEngine:
        return await self._provider.provide(configuration, show)

    async def close(self) -> None:
        if self._ours:
            await self._ours.close()
        if self._own:
            await self.theirs.stop()


def external_kind(engine: str = "hadoop", master: str = "yarn") -> EngineKind:
    """Return the kind of an engine that is attached to, whose provider starts first what it is attached to."""

    def provider(cluster: Cluster, transports: Mapping[str, Transport]) -> Provider:
        return ExternalEngineKind(cluster, transports, engine, master)

    return replace(engine_kind(engine), providers={ProviderKind.DEPLOYED: provider})
