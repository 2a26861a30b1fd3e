"""Reads a job history's events of task attempts out of JSON lines that look like ones read before.

In: the history's bytes and the place where a line begins. Out: the attempt's event in the form of
``jhist_attempts.py``, and where the next line begins. A history is written by one program, so after the
first event of a type the others have its keys, in its order, with other values. From a line that is known to be sound a
regular expression is made: keys and the names of counters as they stand there, plain texts in ASCII and whole
numbers for the values. A line that it does not match (an escape in a text, another key, damage) is left to
``jhist_quick_json.py``, which knows more and takes longer. The counters of a task, which stand there
again after its attempt's, are passed over by being the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from assay.formats.hadoop.jhist_attempts import (
    STARTS,
    STATUS,
    AttemptEnded,
    AttemptStarted,
    Counts,
    kept,
    places_in_order,
)

_TEXT: Final = rb'"[^"\\\x00-\x1f\x7f-\xff]*+"'
_NUMBER: Final = rb"(?:0|-?[1-9][0-9]{0,17}+)"
_NUMBERS: Final = rb"\[(?:%s(?:,%s)*+)?+\]" % (_NUMBER, _NUMBER)
_KEY_BYTES: Final = 28
"""So many bytes at a line's begin tell the types of events apart: ``{"type":"REDUCE_ATTEMPT_STAR``."""
_TRIES_MAX: Final = 32
"""From so many lines of a type is learned; maps have one set of counters, reduces another, and some have variants."""
_FINISHED: Final = frozenset({"MAP_ATTEMPT_FINISHED", "REDUCE_ATTEMPT_FINISHED"})
_START: Final[Mapping[str, type]] = {"taskid": str, "attemptId": str, "startTime": int, "trackerName": str}
_END: Final[Mapping[str, type]] = {"taskid": str, "attemptId": str, "finishTime": int}
_END_OPTIONAL: Final[Mapping[str, type]] = {"hostname": str, "shuffleFinishTime": int, "sortFinishTime": int}


class _DoubtError(Exception):
    """Nothing can be learned from this line."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """A form of line: what it is, and how to walk over it."""

    role: str
    """``start``, ``end`` or ``skip``."""
    task_kind: str
    head: re.Pattern[bytes]
    """The line, or what of it stands before the counters."""
    tail: re.Pattern[bytes] | None
    """What follows the counters; None where there are none."""
    order: tuple[int, ...]
    """The groups of ``head`` that hold the fields which are wanted; empty for one that is absent."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """A set of counters: its expression, and how the values of its groups come into order, a None after them."""

    pattern: re.Pattern[bytes]
    order: Callable[[Counts], Counts]
    empty: bool


class LearnedJson:
    """Walks over lines; ``event`` is what the last one tells, None when it is not wanted."""

    def __init__(self, content: bytes, wanted: Collection[str]) -> None:
        self.event: AttemptStarted | AttemptEnded | None = None
        self._content = content
        self._wanted = wanted
        self._plans: dict[bytes, list[_Plan]] = {}
        self._tries: dict[bytes, int] = {}
        self._shapes: list[_Shape] = []
        self._counters_of: dict[bytes, tuple[int, int]] = {}
        self._texts: dict[bytes, str] = {}

    def take(self, place: int) -> int | None:
        """Return where the line after the one at ``place`` begins; None when it is of no form that was learned."""
        for plan in self._plans.get(self._content[place : place + _KEY_BYTES], ()):
            end = self._taken(plan, place)
            if end:
                return end
        return None

    def learn(self, begin: int, end: int) -> None:
        """Remember the form of the line from ``begin`` to ``end``, which is known to be sound."""
        key = self._content[begin : begin + _KEY_BYTES]
        self._tries[key] = self._tries.get(key, 0) + 1
        if self._tries[key] > _TRIES_MAX:
            return
        try:
            plan, shape = _learned(msgspec.json.decode(self._content[begin:end]), self._wanted)
        except (_DoubtError, msgspec.DecodeError, RecursionError):
            return
        if shape is not None and shape not in self._shapes:
            self._shapes.insert(0, shape)
        plans = self._plans.setdefault(key, [])
        if plan not in plans and self._taken(plan, begin) == end:  # else it is written in another way, as with blanks
            plans.append(plan)

    def _taken(self, plan: _Plan, place: int) -> int:
        """Return where the line ends if it is of this form, and note what it tells; else 0."""
        head = plan.head.match(self._content, place)
        if head is None:
            return 0
        self.event = None
        end, counters = head.end(), None
        if plan.tail is not None:
            begin = end
            end = self._same_counters(head[1], begin) if plan.role == "skip" and plan.order else 0
            if not end:
                end, counters = self._counters(begin)
            tail = plan.tail.match(self._content, end) if end else None
            if tail is None:
                return 0
            if plan.role == "end":
                self._counters_of[head[plan.order[0]]] = (begin, end)
            end = tail.end()
        if plan.role == "start":
            task, attempt, start, node = head.group(*plan.order)
            self.event = AttemptStarted(
                plan.task_kind, task.decode(), attempt.decode(), int(start), self._repeated(node)
            )
        elif plan.role == "end":
            task, attempt, finish, node, shuffle, merge = head.group(*plan.order)
            self.event = AttemptEnded(
                plan.task_kind,
                STATUS["FINISHED"],
                task.decode(),
                attempt.decode(),
                int(finish),
                self._repeated(node) or None,
                _known(shuffle),
                _known(merge),
                counters,
            )
        return end

    def _repeated(self, text: bytes) -> str:
        """Return a text that many events have, such as a node's name."""
        found = self._texts.get(text)
        return found if found is not None else self._texts.setdefault(text, text.decode())

    def _same_counters(self, task: bytes, begin: int) -> int:
        """Return where the counters at ``begin`` end if they are those of the task's attempt; else 0."""
        first, last = self._counters_of.pop(task, (0, 0))
        return begin + last - first if first and self._content.startswith(self._content[first:last], begin) else 0

    def _counters(self, begin: int) -> tuple[int, Counts | None]:
        """Return where the counters at ``begin`` end, and those that are kept; 0 when they are of no known shape."""
        for place, shape in enumerate(self._shapes):
            found = shape.pattern.match(self._content, begin)
            if found:
                if place:
                    self._shapes.insert(0, self._shapes.pop(place))
                told = None if shape.empty else shape.order((*map(int, found.groups()), None))
                return found.end(), told
        return 0, None


def _known(written: bytes) -> int | None:
    """Return a time; None for one that is absent, for Hadoop's -1 and for 0."""
    return None if written in (b"", b"-1", b"0") else int(written)


def _learned(line: Any, wanted: Collection[str]) -> tuple[_Plan, _Shape | None]:
    """Return the form of a line and the shape of its counters. Raises _DoubtError when it is of no known kind."""
    kind, event = (line.get("type"), line.get("event")) if isinstance(line, dict) else (None, None)
    if not isinstance(kind, str) or not isinstance(event, dict) or [*line] != ["type", "event"] or len(event) != 1:
        raise _DoubtError
    ((name, record),) = event.items()
    role = "start" if kind in STARTS else "end" if kind in _FINISHED else "skip"
    if not isinstance(record, dict) or (role == "skip" and kind in wanted):
        raise _DoubtError
    fields = {"start": _START, "end": {**_END, **_END_OPTIONAL}, "skip": {"taskid": str}}[role]
    parts: list[bytes] = [b'{"type":%s,"event":{%s:{' % (_literal(kind), _literal(name))]
    split = 0
    captured: list[str] = []
    for number, (field, value) in enumerate(record.items()):
        parts.append((b"," if number else b"") + _literal(field) + b":")
        if field == "counters" and role != "start" and value is not None:
            split = len(parts)
        elif field in fields and not split and value is not None:
            parts.append(_captured(value, fields[field]))
            captured.append(field)
        elif field in fields and role == "end" and value is not None:
            raise _DoubtError  # after the counters
        else:
            parts.append(_pattern(value))
    parts.append(rb"\}\}\}\n")
    absent = [field for field in fields if field not in captured]
    if role != "skip" and not {*absent} <= {*_END_OPTIONAL}:
        raise _DoubtError
    head, tail = (parts[:split], parts[split:]) if split else (parts, [])
    if role != "skip":
        head, captured = [*head, b"()" * len(absent)], captured + absent
    plan = _Plan(
        role=role,
        task_kind=kind.partition("_")[0].lower(),
        head=re.compile(b"".join(head)),
        tail=re.compile(b"".join(tail)) if split else None,
        order=tuple(captured.index(field) + 1 for field in fields if captured),
    )
    return plan, _shape(record) if split else None


def _literal(text: Any) -> bytes:
    return re.escape(msgspec.json.encode(text))


def _captured(value: Any, kind: type) -> bytes:
    """Return an expression with a group for a value that is wanted, without the quotation marks of a text."""
    if type(value) is not kind:
        raise _DoubtError
    return rb'"([^"\\\x00-\x1f\x7f-\xff]*+)"' if kind is str else b"(%s)" % _NUMBER


def _pattern(value: Any) -> bytes:
    """Return an expression for a value that nobody asks for, and others like it."""
    if isinstance(value, str):
        return _TEXT
    if value is None or isinstance(value, bool):
        return rb"(?:null|true|false)"
    if isinstance(value, int):
        return _NUMBER
    if isinstance(value, list):
        if all(type(item) is int for item in value):
            return _NUMBERS
        return rb"\[%s\]" % b",".join(map(_pattern, value))
    if isinstance(value, dict):
        return rb"\{%s\}" % b",".join(_literal(key) + b":" + _pattern(inner) for key, inner in value.items())
    raise _DoubtError


def _shape(record: Mapping[str, Any]) -> _Shape:
    """Return the shape of a record's counters. Raises _DoubtError when they are not plain."""
    counters = record["counters"]
    if not isinstance(counters, dict) or not isinstance(counters.get("groups"), list):
        raise _DoubtError
    places: dict[str, dict[str, int]] = {}
    count = 0
    for group in counters["groups"]:
        named = _named(group, "counts", list)
        if named in places:
            raise _DoubtError
        own = places.setdefault(named, {})
        for counter in group["counts"]:
            if _named(counter, "value", int) in own:
                raise _DoubtError
            own[counter["name"]] = count
            count += 1
    wanted = {place: name for name, place in kept(places).items()}
    values = iter(range(count))

    def written(value: Any) -> bytes:
        if isinstance(value, dict):
            return rb"\{%s\}" % b",".join(
                _literal(key) + b":" + (number() if key == "value" else written(inner)) for key, inner in value.items()
            )
        if isinstance(value, list):
            return rb"\[%s\]" % b",".join(map(written, value))
        if not isinstance(value, str):
            raise _DoubtError
        return _literal(value)

    def number() -> bytes:
        return b"(%s)" % _NUMBER if next(values, None) in wanted else _NUMBER

    pattern = re.compile(written(counters))
    if next(values, None) is not None:
        raise _DoubtError
    return _Shape(pattern, places_in_order([wanted[place] for place in sorted(wanted)]), not places)


def _named(value: Any, inner: str, kind: type) -> str:
    """Return the name of a group or counter that has ``inner``."""
    if not isinstance(value, dict) or not isinstance(value.get("name"), str) or type(value.get(inner)) is not kind:
        raise _DoubtError
    return str(value["name"])
