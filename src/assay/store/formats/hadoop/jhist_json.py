"""Decode the task attempt events of a JSON job history straight into typed values.

In: a line, and the event type that it starts with. Out: the attempt's event as in ``jhist_attempts.py``, or None for a
line with another structure. ``jhist_events.py`` reads those lines, more slowly, because it builds every field as a
Python object.
"""

import re
from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Struct

from assay.store.formats.hadoop.jhist_attempts import (
    ENDS,
    HADOOP_GROUPS,
    STARTS,
    STATUS,
    AttemptEnded,
    AttemptStarted,
    counts_of,
)

_TYPE: Final = re.compile(rb'\s*+\{\s*+"type"\s*+:\s*+"([A-Z0-9_]++)"')
_Long: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63) + 1, le=2**63 - 1)]


class _Counter(Struct, gc=False):
    name: str
    value: _Long


class _Group(Struct, gc=False):
    name: str
    counts: list[_Counter]


class _Counters(Struct, gc=False):
    groups: list[_Group]


class _Start(Struct, gc=False, rename={"attempt_id": "attemptId", "start_ms": "startTime", "node": "trackerName"}):
    taskid: str
    attempt_id: str
    start_ms: _Long
    node: str


_END_NAMES: Final = {
    "attempt_id": "attemptId",
    "end_ms": "finishTime",
    "node": "hostname",
    "shuffle_ms": "shuffleFinishTime",
    "merge_ms": "sortFinishTime",
}


class _End(Struct, gc=False, rename=_END_NAMES):
    taskid: str
    attempt_id: str
    end_ms: _Long
    node: str | None = None
    shuffle_ms: _Long | None = None
    merge_ms: _Long | None = None
    counters: _Counters | None = None


class _StartLine(Struct, gc=False):
    type: str
    event: dict[str, _Start]


class _EndLine(Struct, gc=False):
    type: str
    event: dict[str, _End]


class _EventLine(Struct, gc=False):
    type: str
    event: dict[str, msgspec.Raw]


_START_DECODER: Final = msgspec.json.Decoder(_StartLine)
_END_DECODER: Final = msgspec.json.Decoder(_EndLine)
_EVENT_DECODER: Final = msgspec.json.Decoder(_EventLine)


def type_of(line: bytes) -> str:
    """Return the event type that a line starts with; empty if it starts otherwise.

    Also empty for a line that is not ASCII: msgspec does not check the encoding of values that it skips.
    """
    match = _TYPE.match(line) if line.isascii() else None
    return match[1].decode() if match else ""


def is_event(line: bytes) -> bool:
    """Return whether a line is a complete event. Its fields are not decoded."""
    try:
        return len(_EVENT_DECODER.decode(line).event) == 1
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def attempt_of(line: bytes, event_type: str) -> AttemptStarted | AttemptEnded | None:
    """Return the attempt event of a line; None if it has another structure or is damaged."""
    try:
        if event_type in STARTS:
            return _attempt_started(_START_DECODER.decode(line), event_type)
        return _attempt_ended(_END_DECODER.decode(line), event_type) if event_type in ENDS else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _attempt_started(line: _StartLine, event_type: str) -> AttemptStarted | None:
    if line.type != event_type or len(line.event) != 1:
        return None
    (start,) = line.event.values()
    kind = event_type.partition("_")[0].lower()
    return AttemptStarted(kind, start.taskid, start.attempt_id, start.start_ms, start.node)


def _attempt_ended(line: _EndLine, event_type: str) -> AttemptEnded | None:
    if line.type != event_type or len(line.event) != 1:
        return None
    (end,) = line.event.values()
    groups = end.counters.groups if end.counters else []
    counters: dict[str, int] = {}
    for group in reversed(groups):  # so that the first group with a counter decides, as in `selected_counters`
        if group.name.endswith(HADOOP_GROUPS):
            counters.update({counter.name: counter.value for counter in group.counts})
    if len({group.name for group in groups}) != len(groups):
        return None
    kind, _, outcome = event_type.partition("_ATTEMPT_")
    return AttemptEnded(
        kind.lower(),
        STATUS[outcome],
        end.taskid,
        end.attempt_id,
        end.end_ms,
        end.node or None,
        None if end.shuffle_ms == -1 else end.shuffle_ms or None,
        None if end.merge_ms == -1 else end.merge_ms or None,
        counts_of(counters) if groups else None,
    )
