"""Reads a job history's events of task attempts out of JSON without building what nobody asks for.

In: a line of a history in Avro's JSON encoding. Out: the attempt's event in the form of
:mod:`assay.formats.jhist_attempts`. Only what is beyond doubt is taken: any other line (a layout that is not known
here, and all that is damaged) is left to the reader in :mod:`assay.formats.jhist_events`, which decides what it is or
what is wrong with it. A line is decoded into the fields that are wanted; the rest is only checked for being JSON.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Raw, Struct

from assay.formats.jhist_attempts import OWN_GROUPS, STARTS, STATUS, AttemptEnded, AttemptStarted, kept

_Long = Annotated[int, Meta(ge=-(2**63) + 1, le=2**63 - 1)]
_TYPE: Final = re.compile(rb'\{"type":\s?"(\w+)"')


class _Skipped(Struct):
    type: str
    event: dict[str, Raw]


class _Start(Struct):
    taskid: str
    attemptId: str  # noqa: N815
    startTime: _Long  # noqa: N815
    trackerName: str  # noqa: N815


class _Counter(Struct, gc=False):
    name: str
    value: _Long


class _Group(Struct):
    name: str
    counts: list[_Counter]


class _Counters(Struct):
    groups: list[_Group]


class _End(Struct):
    taskid: str
    attemptId: str  # noqa: N815
    finishTime: _Long  # noqa: N815
    hostname: str | None = None
    shuffleFinishTime: _Long | None = None  # noqa: N815
    sortFinishTime: _Long | None = None  # noqa: N815
    counters: _Counters | None = None


class _StartEvent(Struct):
    type: str
    event: dict[str, _Start]


class _EndEvent(Struct):
    type: str
    event: dict[str, _End]


_SKIPPED: Final = msgspec.json.Decoder(_Skipped)
_START: Final = msgspec.json.Decoder(_StartEvent)
_END: Final = msgspec.json.Decoder(_EndEvent)


def is_utf8(content: bytes) -> bool:
    """Say whether ``content`` is text in UTF-8, which the quick way does not check line by line."""
    if content.isascii():
        return True
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def quick_line(line: bytes, wanted: Collection[str]) -> AttemptStarted | AttemptEnded | bool:
    """Return the attempt's event in a line; True when the event is not wanted; False when there is doubt.

    ``line`` is valid UTF-8.
    """
    match = _TYPE.match(line)
    if not match:
        return False
    kind = match[1].decode()
    try:
        if kind not in wanted:
            skipped = _SKIPPED.decode(line)
            return skipped.type == kind and [bytes(raw)[:1] for raw in skipped.event.values()] == [b"{"]
        if kind in STARTS:
            begin = _START.decode(line)
            (start,) = begin.event.values()
            if begin.type != kind:
                return False
            return AttemptStarted(_task_kind(kind), start.taskid, start.attemptId, start.startTime, start.trackerName)
        if kind in ("MAP_ATTEMPT_FINISHED", "REDUCE_ATTEMPT_FINISHED"):
            finish = _END.decode(line)
            (end,) = finish.event.values()
            return _ended(kind, end) if finish.type == kind else False
    except ValueError:  # msgspec's errors, and more than one event in a line
        return False
    return False


def _task_kind(event_type: str) -> str:
    return "map" if event_type.startswith("MAP") else "reduce"


def _known(time_ms: int | None) -> int | None:
    return None if time_ms == -1 or not time_ms else time_ms


def _ended(kind: str, end: _End) -> AttemptEnded:
    groups: dict[str, dict[str, int]] = {}
    for group in end.counters.groups if end.counters else ():
        counters = groups.setdefault(group.name, {})
        if group.name.endswith(OWN_GROUPS):
            counters.update({counter.name: counter.value for counter in group.counts})
    return AttemptEnded(
        _task_kind(kind), STATUS["FINISHED"], end.taskid, end.attemptId, end.finishTime, end.hostname or None,
        _known(end.shuffleFinishTime), _known(end.sortFinishTime), kept(groups) if groups else None,
    )  # fmt: skip
