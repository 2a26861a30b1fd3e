"""Read the daemons' JMX metrics, for hosts that assay cannot log in to, and to detect other users' load.

In: the NameNode, which lists its DataNodes, and the ResourceManager, which lists its NodeManagers. Out: bytes that all
of them moved since their start, and the CPU utilisation of their hosts; the difference of two readings gives metrics of
a run. Beans: DataNodeActivity and ShuffleMetrics (Apache Hadoop, "Metrics"), OperatingSystem (java.lang.management).
"""

import asyncio
import json
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from assay.execution.engines.contract import ProgramResult
from assay.execution.engines.hadoop.jobs.rest import Endpoint
from assay.foundation.errors import EngineError, HostError
from assay.foundation.units import format_bytes
from assay.model import CodedWarning, WarningCode

CONCURRENT_READS_MAX = 8
"""Maximum number of daemons that are asked at the same time."""
READ_TIMEOUT_S = 15.0
"""Maximum time for reading the metrics of all daemons, in seconds."""
SOURCE = "daemons' JMX, before and after the program"
OTHERS_SHARE_MAX = 0.05
"""Maximum share of all bytes that other users may move without a warning."""
OTHERS_BYTES_MAX = 64 * 2**20
"""Maximum bytes of other users without a warning. They may be assay's own checksums, job files and histories."""
_LISTED_MAX = 4
"""Maximum number of daemons that a warning lists."""
_ACTIVITY = "Hadoop:service=DataNode,name=DataNodeActivity*"
_SHUFFLE = "Hadoop:service=NodeManager,name=ShuffleMetrics"
_SYSTEM = "java.lang:type=OperatingSystem"


@dataclass(frozen=True, slots=True)
class DaemonMetrics:
    """The daemons' metrics at one time; each mapping is by host."""

    read_bytes: Mapping[str, float]
    written_bytes: Mapping[str, float]
    shuffled_bytes: Mapping[str, float]
    busy_shares: Mapping[str, float]
    """Recent utilisation of the host's CPU, as a share."""
    silent_daemons: tuple[str, ...] = ()
    """Addresses of the daemons that did not answer."""


async def read_totals(namenode: Endpoint, resourcemanager: Endpoint) -> DaemonMetrics | None:
    """Return the metrics of every live daemon of the workers; None if the masters do not list them in time."""
    slots = asyncio.Semaphore(CONCURRENT_READS_MAX)
    values: dict[str, dict[str, float]] = {name: {} for name in ("read", "written", "shuffled", "busy")}
    silent_daemons: list[str] = []

    async def ask(host: str, endpoint: Endpoint, query: str, attributes: Mapping[str, str]) -> None:
        async with slots:
            try:
                bean = await endpoint.bean(query)
            except (EngineError, HostError):
                silent_daemons.append(f"{host}:{endpoint.port}")
                return
        for name, attribute in attributes.items():
            if isinstance(value := bean.get(attribute), int | float) and value >= 0:
                values[name][host] = float(value)

    try:
        async with asyncio.timeout(READ_TIMEOUT_S):
            datanodes = _datanodes(await namenode.bean("Hadoop:service=NameNode,name=NameNodeInfo"), namenode)
            nodes = (await resourcemanager.get("/ws/v1/cluster/nodes?states=RUNNING")).get("nodes") or {}
            managers = _managers(nodes, resourcemanager)
            byte_attributes = {"read": "BytesRead", "written": "BytesWritten"}
            await asyncio.gather(
                *(ask(host, address, _ACTIVITY, byte_attributes) for host, address in datanodes.items()),
                *(
                    ask(host, address, _SHUFFLE, {"shuffled": "ShuffleOutputBytes"})
                    for host, address in managers.items()
                ),
                *(ask(host, address, _SYSTEM, {"busy": "SystemCpuLoad"}) for host, address in datanodes.items()),
            )
    except (EngineError, HostError, TimeoutError):
        return None
    if not datanodes and not managers:
        return None
    return DaemonMetrics(
        values["read"], values["written"], values["shuffled"], values["busy"], tuple(sorted(set(silent_daemons)))
    )


def _datanodes(info: Mapping[str, Any], namenode: Endpoint) -> dict[str, Endpoint]:
    """Return each host's DataNode endpoint, by the NameNode's names."""
    try:
        live_datanodes: dict[str, dict[str, Any]] = json.loads(info.get("LiveNodes") or "{}")
    except ValueError:
        return {}
    endpoints = {}
    for name, datanode in live_datanodes.items():
        address = str(datanode.get("infoSecureAddr" if namenode.tls else "infoAddr", ""))
        port = address.rpartition(":")[2]
        if port.isdecimal() and int(port):
            host = name.rpartition(":")[0]
            endpoints[host] = replace(namenode, host=host, port=int(port))
    return endpoints


def _managers(nodes: Mapping[str, Any], resourcemanager: Endpoint) -> dict[str, Endpoint]:
    endpoints = {}
    for node in nodes.get("node") or []:
        host, _, port = str(node.get("nodeHTTPAddress", "")).rpartition(":")
        if host and port.isdecimal():
            endpoints[host] = replace(resourcemanager, host=host, port=int(port))
    return endpoints


def add_daemon_metrics(
    result: ProgramResult, before: DaemonMetrics | None, after: DaemonMetrics | None, copies: int
) -> ProgramResult:
    """Return the result with the bytes that all daemons moved during the program, and the bytes of other users.

    Omit daemons that restarted between the two readings. The program's bytes are its jobs' counters, with written bytes
    times ``copies``. Without a job's history, other users' bytes are unknown. Daemons update their metrics every 10 s.
    """
    if before is None or after is None:
        message = "the bytes of all daemons were not observed: their JMX did not answer in time"
        return replace(result, warnings=(*result.warnings, CodedWarning(WarningCode.TRACE, message)))
    metrics = {
        f"all_hdfs_{name}_bytes": growth
        for name, growth in (
            ("read", _counter_growth(before.read_bytes, after.read_bytes)),
            ("written", _counter_growth(before.written_bytes, after.written_bytes)),
        )
        if growth is not None
    }
    shuffled_bytes = _counter_growth(before.shuffled_bytes, after.shuffled_bytes)
    metrics |= {"all_shuffled_bytes": shuffled_bytes} if shuffled_bytes is not None else {}
    busy_shares = [*before.busy_shares.values(), *after.busy_shares.values()]
    metrics |= {"published_cpu_share": statistics.fmean(busy_shares)} if busy_shares else {}
    warnings = list(result.warnings)
    if after.silent_daemons:
        more_count = len(after.silent_daemons) - _LISTED_MAX
        more_text = f" and {more_count} more" if more_count > 0 else ""
        names_text = ", ".join(after.silent_daemons[:_LISTED_MAX]) + more_text
        message = f"not observed, as their JMX did not answer: {names_text}"
        warnings.append(CodedWarning(WarningCode.TRACE, message))
    other_bytes = _other_bytes(result, metrics, copies)
    if other_bytes is not None:
        metrics["other_hdfs_bytes"] = other_bytes
        total_bytes = metrics["all_hdfs_read_bytes"] + metrics["all_hdfs_written_bytes"]
        if other_bytes > max(OTHERS_BYTES_MAX, OTHERS_SHARE_MAX * total_bytes):
            message = f"disturbed by others: HDFS moved {format_bytes(int(other_bytes))} that were not this run's, of "
            warnings.append(CodedWarning(WarningCode.DISTURBED, message + format_bytes(int(total_bytes))))
    sources = {**result.sources, **dict.fromkeys(metrics, SOURCE)}
    return replace(result, metrics={**result.metrics, **metrics}, warnings=tuple(warnings), sources=sources)


def _counter_growth(before: Mapping[str, float], after: Mapping[str, float]) -> float | None:
    """Return the growth of counters over the hosts that answered twice and did not restart; None if no host did."""
    differences = [after[host] - value for host, value in before.items() if after.get(host, -1) >= value]
    return sum(differences) if differences else None


def _other_bytes(result: ProgramResult, metrics: Mapping[str, float], copies: int) -> float | None:
    counters_by_job = [
        {name: value for group in job.counters.values() for name, value in group.items()} for job in result.jobs
    ]
    is_known = counters_by_job and all("HDFS_BYTES_WRITTEN" in counters for counters in counters_by_job)
    if not is_known or not {"all_hdfs_read_bytes", "all_hdfs_written_bytes"} <= metrics.keys():
        return None
    run_bytes = sum(
        counters.get("HDFS_BYTES_READ", 0) + counters["HDFS_BYTES_WRITTEN"] * copies for counters in counters_by_job
    )
    return max(0.0, metrics["all_hdfs_read_bytes"] + metrics["all_hdfs_written_bytes"] - run_bytes)
