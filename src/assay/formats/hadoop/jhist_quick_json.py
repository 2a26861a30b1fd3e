"""Reads a job history's events of task attempts out of JSON without building what nobody asks for.

In: a line of a history in Avro's JSON encoding. Out: the attempt's event in the form of
``jhist_attempts.py``. Only what is beyond doubt is taken: any other line (a layout that is not known
here, and all that is damaged) is left to the reader in ``jhist_events.py``, which decides what it is or
what is wrong with it. A line is decoded into the fields that are wanted; the rest is only checked for being JSON.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Raw, Struct

from assay.formats.hadoop.jhist_attempts import (
    COUNTERS,
    OWN_GROUPS,
    STARTS,
    STATUS,
    AttemptEnded,
    AttemptStarted,
    Counts,
    in_order,
    kept,
)

_Long = Annotated[int, Meta(ge=-(2**63) + 1, le=2**63 - 1)]
_TYPE: Final = re.compile(rb'\{"type":\s?"(\w+)"')


class _Skipped(Struct, gc=False):
    type: str
    event: dict[str, Raw]


class _Start(Struct, gc=False):
    taskid: str
    attemptId: str  # noqa: N815
    startTime: _Long  # noqa: N815
    trackerName: str  # noqa: N815


class _Counter(Struct, gc=False):
    name: str
    value: _Long


class _CounterGroup(Struct, gc=False):
    name: str
    counts: list[_Counter]


class _Counters(Struct, gc=False):
    groups: list[_CounterGroup]


class _End(Struct, gc=False):
    taskid: str
    attemptId: str  # noqa: N815
    finishTime: _Long  # noqa: N815
    hostname: str | None = None
    shuffleFinishTime: _Long | None = None  # noqa: N815
    sortFinishTime: _Long | None = None  # noqa: N815
    counters: _Counters | None = None


class _StartEvent(Struct, gc=False):
    type: str
    event: dict[str, _Start]


class _EndEvent(Struct, gc=False):
    type: str
    event: dict[str, _End]


_KEPT: Final = frozenset(COUNTERS)
_SKIPPED: Final = msgspec.json.Decoder(_Skipped)
_START: Final = msgspec.json.Decoder(_StartEvent)
_END: Final = msgspec.json.Decoder(_EndEvent)


class QuickJson:
    """Reads lines; ``event`` is what the last one tells, None when it is not wanted."""

    def __init__(self, content: bytes, wanted: Collection[str]) -> None:
        self.event: AttemptStarted | AttemptEnded | None = None
        self._content = content
        self._wanted = wanted

    def take(self, begin: int, end: int) -> bool:
        """Read the line from ``begin`` to ``end``; say whether that could be done without doubt."""
        match = _TYPE.match(self._content, begin, end)
        line = self._content[begin:end]
        if not match or not _is_utf8(line):
            return False
        kind = match[1].decode()
        self.event = None
        try:
            if kind not in self._wanted:
                skipped = _SKIPPED.decode(line)
                return skipped.type == kind and [bytes(raw)[:1] for raw in skipped.event.values()] == [b"{"]
            if kind in STARTS:
                start = _START.decode(line)
                self.event = _started(start)
                return start.type == kind
            if kind in ("MAP_ATTEMPT_FINISHED", "REDUCE_ATTEMPT_FINISHED"):
                end_of = _END.decode(line)
                self.event = _ended(end_of)
                return end_of.type == kind
        except ValueError:  # msgspec's errors, and more than one event in a line
            return False
        return False


def _is_utf8(content: bytes) -> bool:
    """Say whether ``content`` is text in UTF-8, which the decoder does not check where it skips."""
    if content.isascii():
        return True
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _task_kind(event_type: str) -> str:
    return "map" if event_type.startswith("MAP") else "reduce"


def _known(time_ms: int | None) -> int | None:
    return None if time_ms == -1 or not time_ms else time_ms


def _started(told: _StartEvent) -> AttemptStarted:
    (start,) = told.event.values()
    return AttemptStarted(_task_kind(told.type), start.taskid, start.attemptId, start.startTime, start.trackerName)


def _ended(told: _EndEvent) -> AttemptEnded:
    (end,) = told.event.values()
    return AttemptEnded(
        _task_kind(told.type),
        STATUS["FINISHED"],
        end.taskid,
        end.attemptId,
        end.finishTime,
        end.hostname or None,
        _known(end.shuffleFinishTime),
        _known(end.sortFinishTime),
        _kept(end.counters) if end.counters else None,
    )


def _kept(counters: _Counters) -> Counts | None:
    """Return the counters that are kept, None when there are none at all."""
    groups: dict[str, dict[str, int]] = {}
    for group in counters.groups:
        values = groups.setdefault(group.name, {})
        if group.name.endswith(OWN_GROUPS):
            for counter in group.counts:
                if counter.name in _KEPT:
                    values[counter.name] = counter.value
    return in_order(kept(groups)) if groups else None
