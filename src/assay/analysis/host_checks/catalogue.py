"""All checks, and a cluster evaluated by them. In: surveys, and what the cluster file says. Out: a Fitness. Pure."""

from collections.abc import Iterator, Mapping

from assay.analysis.host_checks import between, disks, memory, network, processor, system
from assay.analysis.host_checks.check import BetweenCheck, DescribedHost, HostCheck
from assay.model import Cluster, Fitness, Grade, Node, Reading, Survey
from assay.model.clusters.host_checks import BETWEEN

HOST_CHECKS: tuple[HostCheck, ...] = (*memory.CHECKS, *processor.CHECKS, *disks.CHECKS, *network.CHECKS, *system.CHECKS)
BETWEEN_CHECKS: tuple[BetweenCheck, ...] = between.CHECKS
CRITERIA = (*(check.criterion for check in HOST_CHECKS), *(check.criterion for check in BETWEEN_CHECKS))


def described(node: Node, cluster: Cluster) -> DescribedHost:
    """Return what the cluster file says of a host."""
    directories = {device.name: device.directory for device in node.type.devices if device.directory}
    return DescribedHost(node.type, node.roles, directories, cluster.home, cluster.attached is not None)


def judged(cluster: Cluster, checked_at: str, hosts: Mapping[str, Survey], unreached: Mapping[str, str]) -> Fitness:
    """Judge every host that was surveyed, by itself and next to the others."""
    nodes = {node.name: node for node in cluster.nodes}
    readings = [
        reading
        for name, survey in hosts.items()
        for reading in _of_host(name, survey, described(nodes[name], cluster) if name in nodes else DescribedHost())
    ]
    if len(hosts) > 1:
        readings += _between(hosts)
    return Fitness(cluster.name, checked_at, tuple(hosts), CRITERIA, tuple(readings), dict(unreached))


def _of_host(name: str, survey: Survey, described: DescribedHost) -> Iterator[Reading]:
    for check in HOST_CHECKS:
        for finding in check.judge(survey, described):
            yield Reading(check.criterion.name, name, finding.grade, finding.message, finding.subject)


def _between(hosts: Mapping[str, Survey]) -> Iterator[Reading]:
    for check in BETWEEN_CHECKS:
        for finding in check.judge(hosts):
            yield Reading(check.criterion.name, BETWEEN, Grade(finding.grade), finding.message, finding.subject)
