"""Compute the concurrency-gated aggregate throughput: the rate of the cluster while enough tasks run.

In: streams, each with its start and end in seconds and its bytes. Out: MB/s (10^6 bytes), its standard deviation over
time, and the concurrency and rate of every slot.

Time is divided into slots of one second. A slot's concurrency is its active stream-seconds over its length; the slot
counts if its concurrency is at least half of the largest number of streams at one moment. The aggregate is the mean
rate over the slots that count. It excludes ramp-up and stragglers, so it is higher than data / wall time. Do not
compare the two.

The bytes of a slot are measured if the program reports them (:class:`CountedStream`: seconds of one clock). Otherwise a
task's bytes are spread evenly over its duration (:class:`Transfer`), because job histories have no more. The idea is
that of the enhanced DFSIO in Intel's HiBench ("average of aggregated throughput"); docs/reference/workloads.md has the
differences.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from assay.model import CountedStream, TaskAttempt

CONCURRENCY_MIN = 0.5
"""Minimum concurrency of a slot that counts, as a share of the largest."""
SLOT_S = 1.0
"""Length of a slot, in seconds."""
_ROUNDING = 1e-9
"""Tolerance for floating-point errors."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """``moved_bytes`` moved evenly between two times in seconds."""

    start_s: float
    end_s: float
    moved_bytes: int


@dataclass(frozen=True, slots=True)
class Slot:
    """A second, or a part of a second at an end, with its active streams and their bytes."""

    start_s: float
    length_s: float
    concurrency: float
    moved_bytes: float
    counted: bool

    @property
    def bytes_per_s(self) -> float:
        """Return the aggregate rate."""
        return self.moved_bytes / self.length_s


@dataclass(frozen=True, slots=True)
class GatedAggregate:
    """Mean and standard deviation of the aggregate rate over the slots that count, and their number."""

    mean_mb_per_s: float
    stddev_mb_per_s: float
    slots: int
    slots_total: int
    concurrency_max: int
    curve: tuple[Slot, ...]


def transfers(tasks: Iterable[TaskAttempt], bytes_of: Callable[[TaskAttempt], int]) -> list[Transfer]:
    """Return the transfers of the attempts that succeeded and moved something; ``bytes_of`` returns the counter."""
    tasks_and_bytes = ((task, bytes_of(task)) for task in tasks if task.status == "succeeded")
    return [Transfer(task.start_s, task.end_s, count) for task, count in tasks_and_bytes if count > 0]


def at_once_max(spans: Sequence[TaskAttempt | Transfer | CountedStream]) -> int:
    """Return the largest number of attempts, or of streams, that ran at the same time."""
    running = [span for span in spans if span.end_s > span.start_s]
    changes = sorted([(span.start_s, 1) for span in running] + [(span.end_s, -1) for span in running])
    return max(accumulate((change for _, change in changes), initial=0))


def gated_aggregate(all_streams: Sequence[Transfer] | Sequence[CountedStream]) -> GatedAggregate | None:
    """Return the gated aggregate; None if nothing was moved.

    The first slot begins with the first start, and the last one ends with the last end. Slots have weights by length.
    Slots of measured streams are whole seconds of their clock, those of others begin at the first start. A stream
    without duration has no rate and is omitted.
    """
    streams = [stream for stream in all_streams if stream.end_s > stream.start_s]
    if not streams:
        return None
    first, end = min(stream.start_s for stream in streams), max(stream.end_s for stream in streams)
    origin = float(math.floor(first)) if isinstance(streams[0], CountedStream) else first
    count = max(1, math.ceil((end - origin) / SLOT_S - _ROUNDING))
    active_s, slot_bytes = [0.0] * count, [0.0] * count
    for stream in streams:
        for index, overlap_s in _overlaps(stream, origin, count):
            active_s[index] += overlap_s
        for index, moved_bytes in _parts(stream, origin, count):
            slot_bytes[index] += moved_bytes
    concurrency_max = at_once_max(streams)
    curve = []
    for index in range(count):
        start = max(first, origin + index * SLOT_S)
        length = min(end, origin + (index + 1) * SLOT_S) - start
        if length > 0:
            concurrency = active_s[index] / length
            counted = concurrency >= CONCURRENCY_MIN * concurrency_max - _ROUNDING
            curve.append(Slot(start, length, concurrency, slot_bytes[index], counted))
    return _mean(curve, concurrency_max)


def _overlaps(stream: Transfer | CountedStream, origin: float, count: int) -> Iterator[tuple[int, float]]:
    """Yield the slots in which a stream is active, with the seconds."""
    for index in range(
        int((stream.start_s - origin) / SLOT_S), min(count, math.ceil((stream.end_s - origin) / SLOT_S))
    ):
        start = origin + index * SLOT_S
        yield index, max(0.0, min(stream.end_s, start + SLOT_S) - max(stream.start_s, start))


def _parts(stream: Transfer | CountedStream, origin: float, count: int) -> Iterator[tuple[int, float]]:
    """Yield the slots in which a stream moved data, with the bytes."""
    if isinstance(stream, Transfer):
        rate = stream.moved_bytes / (stream.end_s - stream.start_s)
        for index, overlap_s in _overlaps(stream, origin, count):
            yield index, rate * overlap_s
        return
    for offset, moved_bytes in enumerate(stream.slot_bytes):
        # Bytes just outside, because of a clock's error, count in the first or last slot.
        yield min(max(stream.first_slot + offset - int(origin), 0), count - 1), float(moved_bytes)


def _mean(curve: Sequence[Slot], concurrency_max: int) -> GatedAggregate | None:
    counted_slots = [slot for slot in curve if slot.counted]
    if not counted_slots:
        return None
    weight = sum(slot.length_s for slot in counted_slots)
    mean = sum(slot.moved_bytes for slot in counted_slots) / weight
    variance = sum(slot.length_s * (slot.bytes_per_s - mean) ** 2 for slot in counted_slots) / weight
    return GatedAggregate(
        mean / 1e6, math.sqrt(variance) / 1e6, len(counted_slots), len(curve), concurrency_max, tuple(curve)
    )
