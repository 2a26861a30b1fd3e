"""Count stacks by time: how often each stack of one part of a recording was sampled in each interval.

In: the stacks of a recording with the times of their samples. Out: a :class:`StackTimes` for each part, and its text
in the bundle, in the file that :func:`assay.analysis.code_profile.files.times_file` names:

- the first line is ``interval_s N``, where N is a power of two;
- each other line is an interval: its start in Unix seconds, a multiple of N, and ``INDEX:COUNT`` of each stack that was
  sampled in it. INDEX is the line of the stack in the part's file of stacks, from 0.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from assay.analysis.code_profile.stacks import Stack
from assay.foundation.errors import FormatError

INTERVALS_MAX = 900
"""Approximate maximum number of intervals of a recording. Longer recordings have intervals of 2, 4, 8, … s."""
_HEAD = "interval_s "
_NS_PER_S = 1_000_000_000
_MS_PER_S = 1000


class StackSamples(NamedTuple):
    """A stack with its samples: their times, as Unix nanoseconds, and their counts."""

    stack: Stack
    times_ns: tuple[int, ...]
    counts: tuple[int, ...]

    def shifted(self, by_s: float) -> "StackSamples":
        """Return the samples with their times moved later by ``by_s``."""
        by_ns = round(by_s * _NS_PER_S)
        return self._replace(times_ns=tuple(time_ns + by_ns for time_ns in self.times_ns)) if by_ns else self


@dataclass(frozen=True, slots=True)
class StackTimes:
    """The stacks of one part of a recording in each interval, by the interval's start in Unix seconds."""

    interval_s: int
    stacks: Mapping[int, Counter[Stack]]

    def widened(self, interval_s: int) -> "StackTimes":
        """Return the same counts in longer intervals."""
        stacks: defaultdict[int, Counter[Stack]] = defaultdict(Counter)
        for start_unix_s, counts in self.stacks.items():
            stacks[start_unix_s - start_unix_s % interval_s].update(counts)
        return StackTimes(interval_s, stacks)

    def total(self) -> Counter[Stack]:
        """Return the counts of all intervals."""
        total = Counter[Stack]()
        for counts in self.stacks.values():
            total.update(counts)
        return total


def timed_parts(samples: Sequence[StackSamples], starts: Sequence[tuple[str, float]]) -> dict[str, StackTimes]:
    """Return the times of each part of a recording.

    ``starts``: parts in order with their starts in Unix milliseconds. A part ends where the next one starts; the first
    has all samples before it too.
    """
    seconds = [time_ns // _NS_PER_S for sample in samples for time_ns in sample.times_ns]
    if not seconds:
        return {}
    interval_s = 1
    while (max(seconds) - min(seconds)) / interval_s > INTERVALS_MAX:
        interval_s *= 2
    names, bounds_ms = [name for name, _ in starts], [-inf, *(start_ms for _, start_ms in starts[1:])]
    parts: dict[str, defaultdict[int, Counter[Stack]]] = defaultdict(lambda: defaultdict(Counter))
    for stack, times_ns, counts in samples:
        for time_ns, count in zip(times_ns, counts, strict=True):
            part = names[bisect_right(bounds_ms, time_ns * _MS_PER_S / _NS_PER_S) - 1]
            second = time_ns // _NS_PER_S
            parts[part][second - second % interval_s][stack] += count
    return {part: StackTimes(interval_s, stacks) for part, stacks in parts.items()}


def times_text(times: StackTimes) -> str:
    """Return the text of the times of a part. Its stacks are numbered as ``collapsed_text`` sorts them."""
    numbers = {stack: number for number, stack in enumerate(sorted(times.total()))}
    lines = [f"{_HEAD}{times.interval_s}"]
    for start_unix_s, counts in sorted(times.stacks.items()):
        pairs = sorted((numbers[stack], count) for stack, count in counts.items())
        lines.append(" ".join([str(start_unix_s), *(f"{number}:{count}" for number, count in pairs)]))
    return "\n".join(lines) + "\n"


def parse_times(text: str, stacks: Sequence[Stack]) -> StackTimes:
    """Return the times of a part. ``stacks``: all stacks of its file, in order. Raises FormatError if damaged."""
    head, *lines = text.splitlines() or [""]
    counts_by_start: dict[int, Counter[Stack]] = {}
    try:
        interval_s = int(head.removeprefix(_HEAD))
        for line in lines:
            start, *pairs = line.split(" ")
            numbers_and_counts = [map(int, pair.split(":")) for pair in pairs]
            counts_by_start[int(start)] = Counter({stacks[number]: count for number, count in numbers_and_counts})
    except (ValueError, IndexError) as error:
        raise FormatError(f"the times of a profile are damaged: {error}") from error
    if interval_s < 1:
        raise FormatError(f"the times of a profile have an interval of {interval_s} s")
    return StackTimes(interval_s, counts_by_start)
