"""Check an externally managed Hadoop before assay uses it: its client, queue, space, and the hosts of NodeManagers.

In: the edge node, the client's configuration and REST APIs of the masters. Out: facts, or an EngineError that says what
to change.
"""

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from assay.execution.engines.hadoop.hdfs import ROOT, Hdfs
from assay.execution.engines.hadoop.jobs.rest import Endpoint
from assay.execution.engines.hadoop.settings.site import ClientConfiguration
from assay.execution.engines.skeleton import COMMAND_TIMEOUT_S
from assay.execution.hosts.transport import Transport
from assay.foundation.errors import EngineError, HostError
from assay.foundation.units import format_bytes
from assay.model import Attachment
from assay.specs.fields import unknown


def hosts_without_login(node_hosts: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """Return the hosts of NodeManagers, by name or address, that the cluster file does not name.

    ``names``: the name or address of each host of the cluster file. Domains are not compared. A cluster of one host may
    name it localhost.
    """

    def short_name(host: str) -> str:
        return host if re.fullmatch(r"[\d.]+|.*:.*", host) else host.partition(".")[0].lower()

    cluster_hosts = {
        short_name(host) for host in [*names, *names.values(), *(["localhost"] if len(names) == 1 else [])]
    }
    return sorted(host for host in node_hosts if short_name(host) not in cluster_hosts)


async def client_version(edge: Transport, attachment: Attachment) -> str:
    """Return the version that the client prints. Raises EngineError if the client does not run."""
    try:
        command = [attachment.hadoop, "--config", attachment.configuration, "version"]
        result = await edge.run(command, timeout_s=COMMAND_TIMEOUT_S)
    except HostError as error:
        hint = "set attached: hadoop in the cluster file to the client's program"
        message = f"the client does not run: {error.message}"
        raise EngineError(message, where=f"{edge.name}: {attachment.hadoop}", hint=hint) from error
    match = re.search(r"^Hadoop (\S+)", result.stdout.decode(errors="replace"), re.MULTILINE)
    if match is None:
        message = f"it prints no version: {result.stdout[:80].decode(errors='replace')!r}"
        raise EngineError(message, where=f"{edge.name}: {attachment.hadoop} version")
    return match[1]


async def check_queue(resourcemanager: Endpoint, queue: str, site: ClientConfiguration) -> None:
    """Raise EngineError, with the existing queues, if this queue does not exist."""
    answer = await resourcemanager.get("/ws/v1/cluster/scheduler")
    names: list[str] = []

    def walk(tree: Any) -> None:
        if isinstance(tree, dict):
            if isinstance(tree.get("queueName"), str):
                names.append(tree["queueName"])
            for value in tree.values():
                walk(value)
        elif isinstance(tree, list):
            for value in tree:
                walk(value)

    walk(answer)
    queues = list(dict.fromkeys(names))
    if queues and queue.rpartition(".")[2] not in {name.rpartition(".")[2] for name in queues}:
        raise EngineError(
            unknown("queue", queue, queues), where=site.where, hint="set attached: queue in the cluster file"
        )


async def free_space(hdfs: Hdfs, namenode: Endpoint) -> str:
    """Return the free space and quota as text. Raises EngineError if a quota is used up."""
    system = await namenode.bean("Hadoop:service=NameNode,name=FSNamesystem")
    parts = [f"HDFS has {format_bytes(int(system.get('CapacityRemaining', 0)))} of free space"]
    summary = await hdfs.summary(ROOT)
    used_bytes, quota_bytes = int(summary.get("spaceConsumed", 0)), int(summary.get("spaceQuota", -1))
    file_count, file_quota = (
        int(summary.get("fileCount", 0)) + int(summary.get("directoryCount", 0)),
        int(summary.get("quota", -1)),
    )
    if quota_bytes > 0:
        parts.append(
            f"{format_bytes(quota_bytes - used_bytes)} of the folder's quota of {format_bytes(quota_bytes)} is left"
        )
    if (quota_bytes > 0 and used_bytes >= quota_bytes) or 0 < file_quota <= file_count:
        kind = "space" if quota_bytes > 0 and used_bytes >= quota_bytes else "files"
        raise EngineError(
            f"the quota of {kind} is used up", where=hdfs.root, hint="delete files there, or request a larger quota"
        )
    return "; ".join(parts) + f" (at {time.strftime('%H:%M')})"
