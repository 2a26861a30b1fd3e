"""Where a plan is carried out: a lab that is up or is made for it, this machine, or the cluster's own hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from assay.lab.lifecycle import Lab, clear_abandoned, labs
from assay.model.cluster import Cluster, Placement


@contextmanager
def hosts_for(cluster: Cluster, progress: Callable[[str], None]) -> Iterator[tuple[Cluster, dict[str, Any]]]:
    """Yield the cluster with its hosts' addresses, and the lab's facts ({} elsewhere).

    A lab that was put up by hand under the cluster's name is used and left up; otherwise one is made and removed
    again. What a dead assay left behind is removed first. Raises LabError when a lab can't be made.
    """
    for line in clear_abandoned():
        progress(line)
    if cluster.placement is not Placement.LAB:
        yield cluster, {}
        return
    if any((status.name, status.state) == (cluster.name, "up") for status in labs()):
        progress(f"using the lab {cluster.name} that is up")
        lab = Lab.attach(cluster.name, described=cluster)
        try:
            yield lab.cluster, lab.facts
        finally:
            lab.detach()
        return
    with Lab.up(cluster, name=cluster.name, persistent=False, progress=progress) as made:
        for words in made.facts["warnings"]:
            progress(f"warning: {words}")
        yield made.cluster, made.facts
