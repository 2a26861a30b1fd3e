"""Survey the hosts of a cluster and grade them by the host checks.

In: a cluster. Out: a HostCheckReport. ``deep`` adds a sequential read of each disk for a second. The read needs root,
passwordless sudo, or membership of the group that may read block devices. It writes nothing. ``bandwidth`` adds a
second of traffic between each pair of hosts.
"""

import asyncio
import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from assay.analysis.host_checks.catalogue import described_host, grade_hosts
from assay.analysis.host_checks.check import data_disks
from assay.execution.hosts import Transport
from assay.execution.observation.link_rates import measure_pairs
from assay.execution.observation.scripts import command, run_script
from assay.execution.observation.survey import HOST_TIMEOUT_S, survey, survey_all
from assay.foundation.errors import HostError
from assay.model import Address, Cluster, HostCheckReport, Node, Survey

READ_S = 1.0
"""Maximum duration of the sequential read of each disk, in seconds."""
READ_BYTES_MAX = 512 * 2**20
"""Maximum bytes of the sequential read of each disk."""
DEEP_TIMEOUT_S = 120.0
"""Maximum time of a host's deep checks, in seconds."""


async def check_hosts(
    cluster: Cluster, *, deep: bool = False, bandwidth: bool = False, progress: Callable[[str], None] = lambda _: None
) -> HostCheckReport:
    """Connect to all hosts, survey them, and grade the surveys. The report lists unreachable hosts."""
    nodes = {node.name: node for node in cluster.nodes}

    async def work(transport: Transport) -> Survey:
        return await _survey_of(transport, nodes[transport.name], cluster, deep=deep)

    timeout_s = DEEP_TIMEOUT_S if deep else HOST_TIMEOUT_S
    addresses = {name: node.address for name, node in nodes.items()}
    surveyed_hosts = await survey_all(addresses, work, timeout_s=timeout_s, progress=progress)
    errors = {name: str(error) for name, error in surveyed_hosts.errors.items()}
    hosts = await _with_link_rates(surveyed_hosts.hosts, addresses, progress) if bandwidth else surveyed_hosts.hosts
    return grade_hosts(cluster, _now(), hosts, errors)


async def _with_link_rates(
    hosts: Mapping[str, Survey], addresses: Mapping[str, Address | None], progress: Callable[[str], None]
) -> Mapping[str, Survey]:
    link_rates = await measure_pairs({name: a for name in hosts if (a := addresses[name])}, progress)
    return {
        name: replace(
            host,
            sent_bits_per_s=link_rates.rates.get(name, {}),
            unmeasured_links={
                receiver: message for (sender, receiver), message in link_rates.errors.items() if sender == name
            },
        )
        for name, host in hosts.items()
    }


async def check_connected_hosts(cluster: Cluster, transports: Mapping[str, Transport]) -> HostCheckReport:
    """Grade the hosts of a cluster by the quick checks over open connections."""
    nodes = {node.name: node for node in cluster.nodes if node.name in transports}
    surveys_to_run = (_survey_of(transports[name], node, cluster, deep=False) for name, node in nodes.items())
    results = await asyncio.gather(*surveys_to_run, return_exceptions=True)
    surveys: dict[str, Survey] = {}
    errors: dict[str, str] = {}
    for name, result in zip(nodes, results, strict=True):
        if isinstance(result, Survey):
            surveys[name] = result
        elif isinstance(result, HostError):
            errors[name] = str(result)
        elif isinstance(result, BaseException):
            raise result
    return grade_hosts(cluster, _now(), surveys, errors)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


async def _survey_of(transport: Transport, node: Node, cluster: Cluster, *, deep: bool) -> Survey:
    addressed_nodes = [peer for peer in cluster.nodes if peer.address]
    peer_names = [peer.address.host for peer in addressed_nodes if peer.address and peer.name != node.name]
    index = next((number for number, peer in enumerate(addressed_nodes) if peer.name == node.name), None)
    next_node = (
        addressed_nodes[(index + 1) % len(addressed_nodes)] if index is not None and len(addressed_nodes) > 1 else None
    )
    directories = [device.directory for device in node.type.devices if device.directory]
    neighbour = next_node.address.host if next_node and next_node.address else None
    host_survey = await survey(transport, directories=directories, peers=peer_names, neighbour=neighbour)
    if not deep:
        return host_survey
    return replace(host_survey, read_bytes_per_s=await _bare_reads(transport, host_survey, node, cluster))


async def _bare_reads(transport: Transport, host_survey: Survey, node: Node, cluster: Cluster) -> Mapping[str, float]:
    disks = data_disks(host_survey, described_host(node, cluster))
    options = {"disks": disks, "seconds": READ_S, "bytes": READ_BYTES_MAX}
    if host_survey.user.sudo == "free":
        argv = ["sudo", "-n", *command("bare_reads", options)]
        result = await transport.run(["sh", "-c", shlex.join(argv)], timeout_s=DEEP_TIMEOUT_S, check=False)
        if result.exit_status == 0:
            return dict(json.loads(result.stdout)["rates"])
    answer = await run_script(transport, "bare_reads", options, timeout_s=DEEP_TIMEOUT_S)
    return dict(answer["rates"])
