"""List all host checks, and grade a cluster. In: surveys and the cluster file. Out: a report. Pure."""

from collections.abc import Mapping
from typing import Any

from assay.analysis.host_checks import cross_host, disks, memory, network, processor, system
from assay.analysis.host_checks.check import CrossHostCheck, DescribedHost, HostCheck
from assay.model import CheckReading, Cluster, HostCheckReport, Node, Survey
from assay.model.clusters.host_checks import BETWEEN

HOST_CHECKS: tuple[HostCheck[Any], ...] = (
    *memory.CHECKS,
    *processor.CHECKS,
    *disks.CHECKS,
    *network.CHECKS,
    *system.CHECKS,
)
BETWEEN_CHECKS: tuple[CrossHostCheck, ...] = cross_host.CHECKS
CRITERIA = (*(check.criterion for check in HOST_CHECKS), *(check.criterion for check in BETWEEN_CHECKS))


def described_host(node: Node, cluster: Cluster) -> DescribedHost:
    """Return the description of a host in the cluster file."""
    directories = {device.name: device.directory for device in node.type.devices if device.directory}
    return DescribedHost(node.type, node.roles, directories, cluster.home, cluster.attached is not None)


def grade_hosts(
    cluster: Cluster, checked_at: str, hosts: Mapping[str, Survey], unreachable: Mapping[str, str]
) -> HostCheckReport:
    """Grade every surveyed host separately, and all hosts together if there are several."""
    nodes = {node.name: node for node in cluster.nodes}
    readings = [
        CheckReading(check.criterion.name, name, finding.grade, finding.message, finding.subject)
        for name, survey in hosts.items()
        for check in HOST_CHECKS
        for finding in check.findings(
            survey, described_host(nodes[name], cluster) if name in nodes else DescribedHost()
        )
    ]
    if len(hosts) > 1:
        readings += [
            CheckReading(check.criterion.name, BETWEEN, finding.grade, finding.message, finding.subject)
            for check in BETWEEN_CHECKS
            for finding in check.findings(hosts)
        ]
    return HostCheckReport(cluster.name, checked_at, tuple(hosts), CRITERIA, tuple(readings), dict(unreachable))
