"""Find the event logs of an externally managed Spark, and the log of assay's program among them.

In: Spark's configuration (``spark.eventLog.dir``, an address), the attached Hadoop. Out: an :class:`EventLogs`. The
folder is in HDFS or on the edge node; if it is elsewhere or not configured, logs go into assay's own folder. The log of
assay's program is found by the tag that each run carries. The tag is in the properties at the beginning of a log
(SparkListenerEnvironmentUpdate, org.apache.spark.scheduler.EventLoggingListener).
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from assay.execution.engines.contract import ShowProgress
from assay.execution.engines.hadoop.deployment.attached import AttachedCluster
from assay.execution.engines.hadoop.hdfs import ROOT, Hdfs
from assay.execution.engines.skeleton import COMMAND_TIMEOUT_S
from assay.execution.engines.spark import settings
from assay.execution.hosts.transport import Transport
from assay.foundation.errors import EngineError, FormatError, HostError
from assay.store.formats.spark.codecs import unpacked

CANDIDATES_MAX = 40
"""Maximum number of new logs that are searched for the log of assay's program."""
_LOGS_FOLDER = "spark-events"


@dataclass(frozen=True, slots=True)
class EventLogs:
    """The folder of event logs: its address for Spark, and the path from which it is read."""

    address: str
    path: str
    in_hdfs: bool
    is_assay_folder: bool
    """Whether this is assay's own folder, because no folder is configured that assay can read."""
    edge: Transport
    storage: Hdfs

    async def names(self) -> frozenset[str]:
        """Return the names of the current logs, files or folders. Raises EngineError if the folder can't be listed."""
        if self.in_hdfs:
            return frozenset(entry.path.rsplit("/", 1)[-1] for entry in await self.storage.entries(self.path))
        listing = await self.edge.run(["ls", "-1", self.path], timeout_s=COMMAND_TIMEOUT_S, check=False)
        if listing.exit_status != 0:
            message = listing.stderr.decode(errors="replace").strip()
            raise EngineError(
                f"the folder of event logs can't be listed: {message}",
                where=f"{self.edge.name}: {self.address}",
                hint=f"{settings.EVENTS} in spark-defaults.conf names the folder; it must exist before a program runs",
            )
        return frozenset(listing.stdout.decode().splitlines())

    async def fetch(self, previous_logs: frozenset[str], tag: str) -> dict[str, bytes]:
        """Return the files of the new log with ``tag``, by name; empty if there is none.

        ``previous_logs``: names of the logs that existed before.
        """
        try:
            new_logs = sorted(await self.names() - previous_logs)[:CANDIDATES_MAX]
            for name in new_logs:
                files = await self._files(name)
                if any(_contains_tag(content, file_name, tag) for file_name, content in files.items()):
                    return files
        except (EngineError, HostError):
            return {}
        return {}

    async def _files(self, name: str) -> dict[str, bytes]:
        """Return a log's files; empty if it can't be read."""
        path = f"{self.path}/{name}"
        try:
            if self.in_hdfs:
                paths = [file.path for file in await self.storage.files(path)]
                return {file_path.rsplit("/", 1)[-1]: await self.storage.read(file_path) for file_path in paths}
            find = ["find", path, "-type", "f", "-name", "[!.]*"]
            listing = await self.edge.run(find, timeout_s=COMMAND_TIMEOUT_S, check=False)
            paths = sorted(listing.stdout.decode().splitlines())
            return {file_path.rsplit("/", 1)[-1]: await self.edge.read_file(file_path) for file_path in paths}
        except (EngineError, HostError):
            return {}


def _contains_tag(content: bytes, name: str, tag: str) -> bool:
    try:
        return any(tag.encode() in line for line in unpacked(io.BytesIO(content), name))
    except FormatError:
        return False


def logs_of(spark_settings: Mapping[str, str], attached: AttachedCluster, show: ShowProgress) -> EventLogs:
    """Return the configured folder of event logs, or assay's own folder if assay can't read the configured folder."""
    storage = attached.hdfs(ROOT)
    default = attached.site.get("fs.defaultFS", attached.site.get("fs.default.name")).rstrip("/")
    directory = (
        spark_settings.get(settings.EVENTS, "").rstrip("/")
        if spark_settings.get("spark.eventLog.enabled") == "true"
        else ""
    )
    parts = urlsplit(directory)
    if directory and parts.scheme in ("", "file"):
        return EventLogs(
            directory, parts.path, in_hdfs=False, is_assay_folder=False, edge=attached.edge, storage=storage
        )
    if parts.scheme == "hdfs" and (not parts.netloc or f"hdfs://{parts.netloc}" == default):
        return EventLogs(
            directory, parts.path, in_hdfs=True, is_assay_folder=False, edge=attached.edge, storage=storage
        )
    path = f"{attached.attachment.directory}/{_LOGS_FOLDER}"
    reason = f"assay can't read {directory}" if directory else "no other folder is configured"
    show(f"event logs go to {path}: {reason}")
    return EventLogs(f"{default}{path}", path, in_hdfs=True, is_assay_folder=True, edge=attached.edge, storage=storage)
