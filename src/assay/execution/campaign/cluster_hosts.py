"""Provide the hosts of a plan: a lab, this machine, or the cluster's hosts.

In: the cluster of the cluster file. Out: the cluster with addresses, and a lab's facts.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from assay.execution.lab.lifecycle import Lab, clear_abandoned, labs
from assay.model import Cluster, LabFacts, Placement


@contextmanager
def hosts_for(cluster: Cluster, progress: Callable[[str], None]) -> Iterator[tuple[Cluster, LabFacts | None]]:
    """Yield the cluster with its hosts' addresses, and the lab's facts (None elsewhere).

    A running lab with the cluster's name is used and left up; otherwise a lab is made and removed at the end. Labs that
    a dead assay process left behind are removed first. Raises LabError when a lab can't be made.
    """
    for line in () if cluster.simulated else clear_abandoned():
        progress(line)
    if cluster.placement is not Placement.LAB or cluster.simulated:
        yield cluster, None
        return
    if any((status.name, status.state) == (cluster.name, "up") for status in labs()):
        progress(f"using the running lab {cluster.name}")
        lab = Lab.attach(cluster.name, described=cluster)
        try:
            yield lab.cluster, lab.recorded
        finally:
            lab.detach()
        return
    with Lab.up(cluster, name=cluster.name, persistent=False, progress=progress) as created_lab:
        for warning in created_lab.recorded.warnings:
            progress(f"warning: {warning}")
        yield created_lab.cluster, created_lab.recorded
