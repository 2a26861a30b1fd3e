"""Read a profile in the format of pprof.

In: a message ``Profile`` of Protocol Buffers (``proto/profile.proto`` of github.com/google/pprof), as Go, pprof and
profilers of other languages write it; gzip is unpacked before. Out: its stacks and their counts.

A sample has one value of each type. If a type has the unit ``count``, its values are the numbers of samples. If not,
nanoseconds of time are divided by the sampling period. Without a type of time, bytes and nanoseconds of waiting are the
counts.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from assay.analysis.code_profile.recorded import ProfileKind
from assay.analysis.code_profile.stacks import Stack, stored_frame
from assay.foundation.errors import FormatError
from assay.store.formats.protobuf import Fields

_NS_PER_MS = 1e6
_NEGATIVE = 1 << 63
"""Numbers from here on represent negative values, which only a difference of two profiles has."""
_TIME_KINDS: Mapping[str, ProfileKind] = {"cpu": "cpu", "wall": "wall", "timer": "wall", "samples": "cpu"}
"""Types of samples of time, the most specific first."""
_OTHER_KINDS: Mapping[str, ProfileKind] = {
    "alloc": "alloc",
    "alloc_space": "alloc",
    "inuse_space": "alloc",
    "delay": "lock",
    "lock": "lock",
}


class PprofPart(NamedTuple):
    """The labels that assay's export writes: recording and part. Empty for profiles of other programs."""

    recording: str
    part: str


@dataclass(frozen=True, slots=True)
class PprofProfile:
    """The stacks of a profile by label. Counts are samples; for ``alloc`` they are bytes, for ``lock`` nanoseconds."""

    kind: ProfileKind
    interval_ms: float | None
    """Time between two samples; None if unknown, or if counts are not samples."""
    parts: Mapping[PprofPart, Counter[Stack]]


class _ValueType(NamedTuple):
    name: str
    unit: str


def read_pprof(content: bytes) -> PprofProfile:
    """Return the stacks of a profile. Raises FormatError if it is damaged, or a difference of two profiles."""
    message = Fields(content)
    try:
        texts = [text.decode("utf-8", "replace") for text in message.contents(6)]
        types = [_value_type(content, texts) for content in message.contents(1)]
        if not types or texts[0]:
            raise FormatError("it has no types of samples")
        period_ns = message.number(12) if _value_type(message.content(11), texts).unit == "nanoseconds" else 0
        kind, interval_ns, index, divisor = _count_type(types, period_ns)
        frames = _frames(message, texts)
        parts: defaultdict[PprofPart, Counter[Stack]] = defaultdict(Counter)
        for sample in map(Fields, message.contents(2)):
            value = sample.numbers(2)[index]
            if value >= _NEGATIVE:
                raise FormatError("it has negative values: it is a difference of two profiles")
            stack = tuple(frame for number in reversed(sample.numbers(1)) for frame in frames[number])
            if stack and (count := round(value / divisor)):
                parts[_labels(sample, texts)][stack] += count
    except (IndexError, KeyError) as error:
        raise FormatError("it refers to a text, a function or a location that it does not contain") from error
    return PprofProfile(kind, interval_ns / _NS_PER_MS if interval_ns else None, parts)


def _value_type(content: bytes, texts: list[str]) -> _ValueType:
    fields = Fields(content)
    return _ValueType(texts[fields.number(1)], texts[fields.number(2)])


def _count_type(types: list[_ValueType], period_ns: int) -> tuple[ProfileKind, int, int, int]:
    """Return the kind, the sampling interval in nanoseconds, the index of the values, and their divisor."""
    time_kind = next((kind for name, kind in _TIME_KINDS.items() if any(name == value.name for value in types)), None)
    for index, value in enumerate(types):
        if value.unit == "count" and time_kind:
            return time_kind, period_ns, index, 1
    for index, value in enumerate(types):
        if value.unit == "nanoseconds" and time_kind:
            if not period_ns:
                raise FormatError("its times have no sampling period, so samples can't be counted")
            return time_kind, period_ns, index, period_ns
    for index, value in enumerate(types):
        if value.name in _OTHER_KINDS and value.unit in ("bytes", "nanoseconds"):
            return _OTHER_KINDS[value.name], 0, index, 1
    type_names = ", ".join(f"{value.name}/{value.unit}" for value in types)
    raise FormatError(f"it counts {type_names}, and not samples of time, bytes or time of waiting")


def _frames(message: Fields, texts: list[str]) -> dict[int, list[str]]:
    """Return the frames of each location, outermost first: a location with inlined functions has several."""
    functions = {fields.number(1): stored_frame(texts[fields.number(2)]) for fields in map(Fields, message.contents(5))}
    frames: dict[int, list[str]] = {}
    for location in map(Fields, message.contents(4)):
        lines = [functions[Fields(line).number(1)] for line in reversed(location.contents(4))]
        frames[location.number(1)] = lines or [f"0x{location.number(3):x}"]
    return frames


def _labels(sample: Fields, texts: list[str]) -> PprofPart:
    labels = {texts[fields.number(1)]: texts[fields.number(2)] for fields in map(Fields, sample.contents(3))}
    return PprofPart(labels.get("recording", ""), labels.get("phase", ""))
