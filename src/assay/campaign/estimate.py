"""How long a run is expected to take: from runs already made, or from the devices' bandwidth when there are none.

The guess without history is deliberately simple: a fixed start-up, plus the bytes that must cross the devices of the
layout at their nominal rate, halved because Hadoop on disks reaches about half of it (LISA'14 saw 0.5 to 0.6).
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from assay.campaign.order import PlannedRun
from assay.model.plan import Plan
from assay.model.run import Run, RunStatus

JOB_START_S = 12.0
"""Smallest job on a small cluster: client, ApplicationMaster and one wave of tasks."""
RUN_EXTRA_S = 4.0
"""Caches, validation and publishing of one run."""
RESTART_S = 15.0
_REACHED_SHARE = 0.5
# Passes of the data over the disks: (reads, writes of one copy, writes of every copy).
_PASSES = {
    "dfsio-write": (0, 0, 1), "dfsio-read": (1, 0, 0), "teragen": (0, 0, 1), "terasort": (2, 1, 1),
    "teravalidate": (1, 0, 0), "wordcount": (1, 0, 0), "teraread": (1, 0, 0), "shuffle": (1, 1, 0),
    "hdfs-write": (0, 1, 0), "randomtextwriter": (0, 0, 1), "sort": (2, 1, 1),
    "dfsioe-write": (0, 0, 1), "dfsioe-read": (1, 0, 0), "pagerank": (6, 3, 3), "kmeans": (5, 0, 0),
    "sql-aggregation": (1, 0, 0), "sql-join": (1, 0, 0),
}  # fmt: skip


def expected_s(planned: PlannedRun, plan: Plan, history: Sequence[Run]) -> float:
    """Return the expected wall time of one run, its overhead included, in seconds."""
    alike = [
        run.duration_s
        for run in history
        if run.status is RunStatus.VALID
        and (run.workload, run.layout) == (planned.workload.key, planned.configuration.layout.name)
        and run.cluster == plan.cluster.name
    ]
    if alike:
        return median(alike) + RUN_EXTRA_S
    worker = plan.cluster.workers[0].type
    used = [device for device in worker.devices if device.name in planned.configuration.layout.devices()]
    scale, workers = plan.cluster.scale, len(plan.cluster.workers)
    reads = sum(device.read_bytes_per_s for device in used) * scale * workers * _REACHED_SHARE
    writes = sum(device.write_bytes_per_s for device in used) * scale * workers * _REACHED_SHARE
    copies = int(planned.configuration.parameters["dfs.replication"])
    data = planned.workload.data_bytes * scale
    read_passes, write_passes, copy_passes = _PASSES[planned.workload.name]
    moved = data * read_passes / reads + data * (write_passes + copy_passes * copies) / writes
    return JOB_START_S + RUN_EXTRA_S + moved


def remaining_s(left: Sequence[PlannedRun], plan: Plan, history: Sequence[Run]) -> float:
    """Return the expected time for all of ``left``, restarts between configurations included."""
    restarts = sum(
        before is None or before.configuration.key != run.configuration.key
        for before, run in zip([None, *left], left, strict=False)
    )
    return sum(expected_s(run, plan, history) for run in left) + restarts * RESTART_S
