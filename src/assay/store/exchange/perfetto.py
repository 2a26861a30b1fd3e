"""Write a run as a trace for Perfetto (ui.perfetto.dev): phases, task attempts by node, counters of devices, stacks.

In: a run, its task attempts, its trace and the stacks of its profile by second. Out: a message ``Trace`` of Protocol
Buffers (``protos/perfetto/trace`` of github.com/google/perfetto). Each node has a track for each container. An attempt
runs in the first container that is free when it starts. The interval of a reduce attempt contains the intervals of its
shuffle, merge and reduce. Times are nanoseconds of Unix time; a run with an unknown start is written as if it started
on 2 January 1970. Counters are rates per second, gauges are unchanged. Each recording of a profile is a process, and
each of its parts a thread with samples of its stacks. The samples of a second are spread evenly over it, because a
bundle holds counts for each second, not the times of samples.
"""

from collections.abc import Mapping, Sequence
from itertools import chain, count
from math import isnan
from types import MappingProxyType

from assay.analysis.code_profile.categories import plain_frame
from assay.analysis.code_profile.seconds import StackTimes
from assay.analysis.run_profile.series import WINDOWS_MAX, series_of
from assay.analysis.statistics import started_unix_s
from assay.model import Run, TaskAttempt, Trace
from assay.store.exchange.containers import Interval, containers_of, parts_of
from assay.store.formats.protobuf import bytes_field, double_field, number_field, text_field

_BEGIN, _END, _COUNTER = 1, 2, 4
"""Types of a track event."""
_SEQUENCE, _SAMPLES_SEQUENCE = 1, 2
"""Sequences of packets: of tracks, and of samples, which refer to names that are written once."""
_CLEARED, _NEEDED = 1, 2
"""Flags of a sequence: its names begin here, and its names are needed."""
_NS_PER_S = 1_000_000_000
_UNKNOWN_START_S = 86_400.0
"""Start of a run whose time is unknown; after 0, because traces may begin before the run."""


class _Tracks:
    """Packets of a trace, whose times are seconds from the start of the run."""

    def __init__(self, start_s: float) -> None:
        self._start_ns = round(start_s * _NS_PER_S)
        self._ids = count(1)
        self.packets = bytearray()

    def add(self, name: str, parent: int | None = None, unit: str | None = None) -> int:
        """Add a track and return its id. With ``unit`` it is the track of a counter."""
        track = next(self._ids)
        content = number_field(1, track) + text_field(2, name)
        if parent is not None:
            content += number_field(5, parent)
        if unit is not None:
            content += bytes_field(8, text_field(6, unit))
        self._packet(bytes_field(60, content))
        return track

    def interval(self, track: int, name: str, start_s: float, end_s: float, parts: Sequence[Interval] = ()) -> None:
        """Add an interval with the intervals inside it."""
        self._event(start_s, number_field(9, _BEGIN) + number_field(11, track) + text_field(23, name))
        for part_name, part_start_s, part_end_s in parts:
            self.interval(track, part_name, part_start_s, part_end_s)
        self._event(max(start_s, end_s), number_field(9, _END) + number_field(11, track))

    def value(self, track: int, t_s: float, value: float) -> None:
        """Add a value of a counter."""
        self._event(t_s, number_field(9, _COUNTER) + number_field(11, track) + double_field(44, value))

    def _event(self, t_s: float, content: bytes) -> None:
        time_ns = max(0, self._start_ns + round(t_s * _NS_PER_S))
        self._packet(number_field(8, time_ns) + bytes_field(11, content))

    def _packet(self, content: bytes) -> None:
        self.packets += bytes_field(1, content + number_field(10, _SEQUENCE))


def perfetto_bytes(
    run: Run,
    tasks: Sequence[TaskAttempt],
    trace: Trace,
    stacks: Mapping[tuple[str, str], StackTimes] = MappingProxyType({}),
) -> bytes:
    """Return the run as a trace for Perfetto. ``stacks``: by recording and part of its profile."""
    started_s = started_unix_s(run)
    tracks = _Tracks(_UNKNOWN_START_S if isnan(started_s) else started_s)
    run_track = tracks.add(f"{run.workload} {run.layout} {run.run_id}".replace("  ", " "))
    tracks.interval(run_track, "run", 0.0, run.duration_s)
    for phase in run.phases:
        tracks.interval(tracks.add(phase.name, run_track), phase.name, phase.start_s, phase.end_s)
    nodes = {name: tracks.add(name or "no node") for name in sorted({task.node for task in tasks} | set(trace.node))}
    for node, parent in nodes.items():
        for container, attempts in enumerate(containers_of([task for task in tasks if task.node == node]), start=1):
            track = tracks.add(f"container {container}", parent)
            for task in attempts:
                name = f"{task.kind} {task.attempt_id} {task.status}"
                tracks.interval(track, name, task.start_s, task.end_s, tuple(parts_of(task)))
    for series in series_of(trace, windows=WINDOWS_MAX):
        unit = f"{series.unit}/s" if series.counter else series.unit
        track = tracks.add(f"{series.subject} {series.metric}", nodes[series.node], unit)
        for t_s, value in zip(series.t_s, series.values, strict=True):
            tracks.value(track, t_s, value)
    return bytes(tracks.packets) + (_sample_packets(stacks) if stacks else b"")


def _sample_packets(stacks: Mapping[tuple[str, str], StackTimes]) -> bytes:
    """Return the processes and threads, the names of functions, frames and stacks, and a packet for each sample."""
    processes = {recording: number for number, recording in enumerate(dict.fromkeys(name for name, _ in stacks), 1)}
    threads = {names: number for number, names in enumerate(stacks, len(processes) + 1)}
    tree = b"".join(
        bytes_field(1, number_field(1, pid) + text_field(3, recording)) for recording, pid in processes.items()
    )
    tree += b"".join(
        bytes_field(2, number_field(1, tid) + text_field(2, part) + number_field(3, processes[recording]))
        for (recording, part), tid in threads.items()
    )
    callstacks: dict[tuple[str, ...], int] = {}
    samples = bytearray()
    for names, times in stacks.items():
        thread = number_field(2, processes[names[0]]) + number_field(3, threads[names])
        for start_unix_s, counts in times.stacks.items():
            step_ns, sample_position = times.interval_s * _NS_PER_S / counts.total(), 0.5
            for stack in counts.elements():
                time_ns = start_unix_s * _NS_PER_S + round(sample_position * step_ns)
                sample = thread + number_field(4, callstacks.setdefault(stack, len(callstacks) + 1))
                samples += _sample_packet(number_field(8, time_ns) + bytes_field(66, sample), _NEEDED)
                sample_position += 1
    names_packet = bytes_field(12, _interned(callstacks))
    return _sample_packet(bytes_field(2, tree)) + _sample_packet(names_packet, _CLEARED) + bytes(samples)


def _sample_packet(content: bytes, flags: int = 0) -> bytes:
    return bytes_field(1, content + number_field(10, _SAMPLES_SEQUENCE) + number_field(13, flags))


def _interned(callstacks: Mapping[tuple[str, ...], int]) -> bytes:
    """Return the names of functions, one frame for each, and the stacks, outermost frame first; all in one mapping."""
    names = dict.fromkeys(map(plain_frame, chain.from_iterable(callstacks)))
    functions = {name: number for number, name in enumerate(names, 1)}
    content = bytes_field(17, number_field(1, 1) + text_field(2, "JVM"))
    content += bytes_field(19, number_field(1, 1) + number_field(7, 1))
    for name, number in functions.items():
        content += bytes_field(5, number_field(1, number) + text_field(2, name))
        frame = number_field(1, number) + number_field(2, number) + number_field(3, 1) + number_field(4, number)
        content += bytes_field(6, frame)
    for stack, number in callstacks.items():
        frames = b"".join(number_field(2, functions[plain_frame(name)]) for name in stack)
        content += bytes_field(7, number_field(1, number) + frames)
    return content
