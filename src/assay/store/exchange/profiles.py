"""Write the stacks of a run for other tools: as collapsed text, and in the format of pprof.

Collapsed text: see :mod:`assay.analysis.code_profile.stacks`. The first frame of each stack is its part: a phase of
MapReduce or a stage of Spark.

pprof: a gzipped message ``Profile`` of Protocol Buffers (``proto/profile.proto`` of github.com/google/pprof). A sample
has the labels ``phase`` and ``recording``. Values are the count, and for samples of time also nanoseconds. A frame is
a function without file and line.
"""

import gzip
from collections import Counter
from math import isnan

from assay.analysis.code_profile.categories import plain_frame
from assay.analysis.code_profile.recorded import RecordedStacks
from assay.analysis.code_profile.stacks import Stack, collapsed_text
from assay.analysis.statistics import started_unix_s
from assay.store.formats.protobuf import bytes_field, number_field, packed_field, text_field

_COUNT_TYPES = {"alloc": ("alloc", "bytes"), "lock": ("delay", "nanoseconds")}
"""Type and unit of the counts of a kind of profile; profiles of other kinds count samples."""
_NS_PER_MS = 1_000_000
_NS_PER_S = 1_000_000_000


def collapsed_bytes(recorded: RecordedStacks) -> bytes:
    """Return all stacks of a run as collapsed text, with the part as the first frame."""
    stacks = Counter[Stack]()
    for part in recorded.parts:
        stacks.update({(part.part, *stack): count for stack, count in part.stacks.items()})
    return collapsed_text(stacks).encode("utf-8", "replace")


def pprof_bytes(recorded: RecordedStacks) -> bytes:
    """Return all stacks of a run as a profile that pprof reads."""
    strings, functions = {"": 0}, dict[str, int]()

    def text(value: str) -> int:
        return strings.setdefault(value, len(strings))

    interval_ns = round(recorded.interval_ms * _NS_PER_MS) if recorded.interval_ms else None
    count_type = _COUNT_TYPES.get(recorded.kind, ("samples", "count"))
    types = [count_type, (recorded.kind, "nanoseconds")] if interval_ns else [count_type]
    value_types = [number_field(1, text(name)) + number_field(2, text(unit)) for name, unit in types]
    profile = bytearray(b"".join(bytes_field(1, value_type) for value_type in value_types))
    for part in recorded.parts:
        labels = b"".join(
            bytes_field(3, number_field(1, text(key)) + number_field(2, text(value)))
            for key, value in (("phase", part.part), ("recording", part.recording))
        )
        for stack, count in part.stacks.items():
            frames = [functions.setdefault(name, len(functions) + 1) for name in map(plain_frame, reversed(stack))]
            values = [count, count * interval_ns] if interval_ns else [count]
            profile += bytes_field(2, packed_field(1, frames) + packed_field(2, values) + labels)
    for name, number in functions.items():
        profile += bytes_field(4, number_field(1, number) + bytes_field(4, number_field(1, number)))
        profile += bytes_field(5, number_field(1, number) + number_field(2, text(name)) + number_field(3, text(name)))
    if interval_ns:
        profile += bytes_field(11, value_types[1]) + number_field(12, interval_ns)
    started_s = started_unix_s(recorded.run)
    if not isnan(started_s):
        profile += number_field(9, round(started_s * _NS_PER_S))
    profile += number_field(10, round(recorded.run.duration_s * _NS_PER_S))
    profile += number_field(14, text(types[-1][0]))
    profile += b"".join(text_field(6, value) for value in strings)
    return gzip.compress(profile, mtime=0)
