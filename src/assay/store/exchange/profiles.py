"""Write the stacks of a run for other tools: as collapsed text, and in the format of pprof.

Collapsed text: see :mod:`assay.analysis.code_profile.stacks`. The first frame of each stack is its part: a phase of
MapReduce or a stage of Spark.

pprof: a gzipped message ``Profile`` of Protocol Buffers (``proto/profile.proto`` of github.com/google/pprof). A sample
has the labels ``phase`` and ``recording``. Values are the count, and for samples of time also nanoseconds. A frame is
a function without file and line.
"""

import gzip
from collections import Counter
from collections.abc import Iterable
from math import isnan

from assay.analysis.code_profile.categories import plain_frame
from assay.analysis.code_profile.recorded import RecordedStacks
from assay.analysis.code_profile.stacks import Stack, collapsed_text
from assay.analysis.statistics import started_unix_s

_COUNTED = {"alloc": ("alloc", "bytes"), "lock": ("delay", "nanoseconds")}
"""Type and unit of the counts of a kind of profile; others count samples."""
_NS_PER_MS = 1_000_000
_NS_PER_S = 1_000_000_000
_BYTES_FIELD = 2
"""Wire type of a field with a length: a text, a message or packed numbers."""


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
    counted = _COUNTED.get(recorded.kind, ("samples", "count"))
    types = [counted, (recorded.kind, "nanoseconds")] if interval_ns else [counted]
    value_types = [_number(1, text(name)) + _number(2, text(unit)) for name, unit in types]
    profile = bytearray(b"".join(_field(1, value_type) for value_type in value_types))
    for part in recorded.parts:
        labels = b"".join(
            _field(3, _number(1, text(key)) + _number(2, text(value)))
            for key, value in (("phase", part.part), ("recording", part.recording))
        )
        for stack, count in part.stacks.items():
            frames = [functions.setdefault(name, len(functions) + 1) for name in map(plain_frame, reversed(stack))]
            values = [count, count * interval_ns] if interval_ns else [count]
            profile += _field(2, _packed(1, frames) + _packed(2, values) + labels)
    for name, number in functions.items():
        profile += _field(4, _number(1, number) + _field(4, _number(1, number)))
        profile += _field(5, _number(1, number) + _number(2, text(name)) + _number(3, text(name)))
    if interval_ns:
        profile += _field(11, value_types[1]) + _number(12, interval_ns)
    started_s = started_unix_s(recorded.run)
    if not isnan(started_s):
        profile += _number(9, round(started_s * _NS_PER_S))
    profile += _number(10, round(recorded.run.duration_s * _NS_PER_S))
    profile += _number(14, text(types[-1][0]))
    profile += b"".join(_field(6, value.encode("utf-8", "replace")) for value in strings)
    return gzip.compress(profile, mtime=0)


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _BYTES_FIELD) + _varint(len(content)) + content


def _packed(number: int, values: Iterable[int]) -> bytes:
    return _field(number, b"".join(map(_varint, values)))
