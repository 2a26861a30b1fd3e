"""Provide the hosts of a plan: a lab, this machine, or the cluster's hosts.

In: the cluster of the cluster file. Out: the cluster with addresses, and a lab's facts.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from assay.execution.lab.lifecycle import Lab, clear_abandoned, labs
from assay.model import Cluster, LabFacts, Placement


@contextmanager
def hosts_for(cluster: Cluster, progress: Callable[[str], None]) -> Iterator[tuple[Cluster, LabFacts | None]]:
    """Yield the cluster with its hosts' addresses, and the lab's facts (None without a lab).

    Use a running lab with the cluster's name, and leave it up. If none is running, make a lab and remove it at the end.
    First remove the labs of assay processes that died. Raises LabError if a lab can't be made.
    """
    if not cluster.simulated:
        for line in clear_abandoned():
            progress(line)
    if cluster.placement is not Placement.LAB or cluster.simulated:
        yield cluster, None
        return
    if any((status.name, status.state) == (cluster.name, "up") for status in labs()):
        progress(f"using the running lab {cluster.name}")
        lab = Lab.attach(cluster.name, described=cluster)
        try:
            yield lab.cluster, lab.typed_facts
        finally:
            lab.detach()
        return
    with Lab.up(cluster, name=cluster.name, persistent=False, progress=progress) as created_lab:
        for warning in created_lab.typed_facts.warnings:
            progress(f"warning: {warning}")
        yield created_lab.cluster, created_lab.typed_facts
