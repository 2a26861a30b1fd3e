"""The concurrency-gated aggregate throughput: how fast the cluster moves data while enough tasks are at it.

In: intervals (seconds) with the bytes that each moved. Out: MB/s (10^6 bytes) with its standard deviation.

This is the idea of the enhanced DFSIO in Intel's HiBench ("average of aggregated throughput"): the aggregate rate is
averaged over only those one-second slots in which enough files were in flight, so that ramp-up and stragglers do not
count. It is therefore higher than data over wall time, and the two must not be mixed. Unlike HiBench, whose tasks
sample their own progress, each task's bytes are spread evenly over its interval here: stock Hadoop tells no more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from assay.model.run import Task

GATE = 0.5
"""A slot counts when at least this share of the largest concurrency was active in it."""
SLOT_S = 1.0
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Transfer:
    """``moved_bytes`` moved evenly between two times in seconds."""

    start_s: float
    end_s: float
    moved_bytes: int


@dataclass(frozen=True, slots=True)
class GatedAggregate:
    """Mean and standard deviation of the aggregate rate over the slots that count, and how many those are."""

    mean_mb_per_s: float
    stddev_mb_per_s: float
    slots: int
    slots_total: int
    concurrency_max: int


def transfers(tasks: Iterable[Task], bytes_of: Callable[[Task], int]) -> list[Transfer]:
    """Return the transfers of the attempts that succeeded and moved something; ``bytes_of`` picks the counter."""
    moved = ((task, bytes_of(task)) for task in tasks if task.status == "succeeded")
    return [Transfer(task.start_s, task.end_s, count) for task, count in moved if count > 0]


def _concurrency_max(intervals: Sequence[Transfer]) -> int:
    events = sorted([(t.start_s, 1) for t in intervals] + [(t.end_s, -1) for t in intervals])
    active = largest = 0
    for _, change in events:
        active += change
        largest = max(largest, active)
    return largest


def gated_aggregate(moved: Sequence[Transfer]) -> GatedAggregate | None:
    """Return the gated aggregate over slots of one second from the first start; None when nothing was moved.

    The last slot ends with the last transfer, and slots weigh by their length. A transfer of no length has no rate and
    is left out. A slot's concurrency is its active task-seconds over its length.
    """
    intervals = [t for t in moved if t.end_s > t.start_s]
    if not intervals:
        return None
    origin, end = min(t.start_s for t in intervals), max(t.end_s for t in intervals)
    count = max(1, math.ceil((end - origin) / SLOT_S - _ROUNDING))
    lengths = [min(SLOT_S, end - origin - index * SLOT_S) for index in range(count)]
    active_s, slot_bytes = [0.0] * count, [0.0] * count
    for transfer in intervals:
        rate = transfer.moved_bytes / (transfer.end_s - transfer.start_s)
        first = int((transfer.start_s - origin) / SLOT_S)
        for index in range(first, min(count, math.ceil((transfer.end_s - origin) / SLOT_S))):
            slot_start = origin + index * SLOT_S
            overlap = min(transfer.end_s, slot_start + SLOT_S) - max(transfer.start_s, slot_start)
            active_s[index] += max(0.0, overlap)
            slot_bytes[index] += rate * max(0.0, overlap)
    largest = _concurrency_max(intervals)
    needed = GATE * largest - _ROUNDING
    counted = [i for i in range(count) if lengths[i] > 0 and active_s[i] / lengths[i] >= needed]
    if not counted:
        return None
    weight = sum(lengths[i] for i in counted)
    mean = sum(slot_bytes[i] for i in counted) / weight
    spread = sum(lengths[i] * (slot_bytes[i] / lengths[i] - mean) ** 2 for i in counted) / weight
    return GatedAggregate(mean / 1e6, math.sqrt(spread) / 1e6, len(counted), count, largest)
