"""Discard clusters without enough disk capacity for the stored data, and for the output and spills of a run.

In: candidates, a mix of workloads and constraints. Out: the clusters that hold the data, in bytes; or what is missing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics import Ints
from assay.estimation.recommendation.candidates import Candidates
from assay.estimation.recommendation.time_bounds import ClusterResources, fits
from assay.execution.planning.forecast.device_space import FULL_SHARE
from assay.foundation.units import format_bytes
from assay.model import REPLICATION, CostProfile
from assay.questions.costs.mix import Work
from assay.questions.recommendation.request import Constraints
from assay.workloads.catalogue import workloads
from assay.workloads.workload import Size

RESERVE_SHARE = 0.25
"""Share of HDFS capacity that stays free for outputs and intermediate data."""
_SPILL_FACTOR = 2.0
"""Intermediate data on disk at the same time, as a multiple of the map output."""


def work_size(candidates: Candidates, work: Work, data_factor: float) -> Size:
    """Return the size of a workload's data on the catalogue's clusters."""
    replication = int(candidates.catalogue.parameters.get(REPLICATION, 3))
    options = {name: text for name, text in work.options.items() if name != "waves"}
    return Size.of(round(work.data_bytes * data_factor), replication, candidates.catalogue.parameters, options)


@dataclass(frozen=True, slots=True)
class CapacityNeed:
    """Disk capacity that the data needs, all replicas included."""

    hdfs_bytes: float
    """Capacity for stored data and for the output of a run."""
    spilled_bytes: float
    """Capacity for intermediate data."""
    capacity_bytes: float
    """Capacity for stored data alone, with the reserve that stays free."""


def capacity_need(
    candidates: Candidates, works: Sequence[Work], constraints: Constraints, profile: CostProfile, data_factor: float
) -> CapacityNeed:
    """Return the capacity for the stored data, and for the largest output and intermediate data of a run."""
    stored_bytes: dict[str, float] = {}
    output_bytes = spilled_bytes = 0.0
    for work in works:
        costs, size = profile.workloads[work.workload], work_size(candidates, work, data_factor)
        workload = workloads()[work.workload]
        data_bytes, needed_input = workload.data_bytes(size), workload.input(size)
        paths = (needed_input.path,) if needed_input is not None else workload.kept_outputs(size)
        for path in paths:
            stored_bytes[path] = max(stored_bytes.get(path, 0.0), float(data_bytes * size.replication))
        if needed_input is not None or not paths:
            output_bytes = max(output_bytes, data_bytes * costs.written * workload.output_copies(size))
        spilled_bytes = max(spilled_bytes, data_bytes * costs.map_output * costs.combined * _SPILL_FACTOR)
    capacity_bytes = constraints.capacity_bytes * data_factor * _replication(candidates)
    kept_bytes = max(capacity_bytes, sum(stored_bytes.values()))
    return CapacityNeed(
        (kept_bytes + output_bytes) / FULL_SHARE, spilled_bytes / FULL_SHARE, capacity_bytes / (1 - RESERVE_SHARE)
    )


def _replication(candidates: Candidates) -> int:
    return int(candidates.catalogue.parameters.get(REPLICATION, 3))


def with_capacity(
    rows: Ints, resources: ClusterResources, candidates: Candidates, need: CapacityNeed
) -> tuple[Ints, str]:
    """Return the clusters with enough disk capacity, and what they hold; if there is none, what is missing."""
    text = "hold all replicas of the data, and the output of runs"
    fits_data = fits(resources, need.hdfs_bytes, need.spilled_bytes, 1.0)
    has_room = fits_data & fits(resources, need.capacity_bytes, 0.0, 1.0)
    if not rows.size or has_room[rows].any():
        return rows[has_room[rows]], text
    shared_bytes = need.hdfs_bytes + np.where(resources.shared, need.spilled_bytes, 0.0)
    hdfs = np.maximum(shared_bytes, need.capacity_bytes)
    separate_bytes = np.where(resources.shared, 0.0, need.spilled_bytes)
    intermediate_excess = separate_bytes / np.maximum(1.0, resources.intermediate_bytes)
    excess = np.maximum(hdfs / resources.hdfs_bytes, intermediate_excess)[rows]
    nearest_row = int(rows[np.argmin(excess)])
    parts = [
        f"{format_bytes(resources.hdfs_bytes[nearest_row])} of the {format_bytes(hdfs[nearest_row])} that HDFS needs"
    ]
    if separate_bytes[nearest_row]:
        has_text = format_bytes(resources.intermediate_bytes[nearest_row])
        parts.append(f"{has_text} of the {format_bytes(separate_bytes[nearest_row])} for intermediate data")
    return rows[:0], (
        f"{text}: with {_replication(candidates)} replicas and free space, {candidates.label(nearest_row)} comes "
        f"nearest and has {' and '.join(parts)}. Enter at most {100 / float(excess.min()):.0f} % of the data, or a "
        "catalogue with more workers or larger disks"
    )
