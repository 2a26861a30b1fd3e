"""Reads a job history's events of task attempts out of JSON lines that look like ones read before.

In: the history's bytes and the place where a line begins. Out: the attempt's event in the form of
``jhist_attempts.py``, and where the next line begins. A history is written by one program, so after the
first event of a type the others have its keys, in its order, with other values. From a line that is known to be sound a
regular expression is made: keys and the names of counters as they stand there, plain texts in ASCII and whole
numbers for the values. A line that it does not match (an escape in a text, another key, damage) is left to
``jhist_events.py``, which knows more and takes longer.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec

from assay.formats.hadoop.jhist_attempts import STARTS, kept, places_in_order
from assay.formats.hadoop.jhist_forms import FINISHED, CounterShape, DoubtError, EventPattern, FormReader

_TEXT: Final = rb'"[^"\\\x00-\x1f\x7f-\xff]*+"'
_NUMBER: Final = rb"(?:0|-?[1-9][0-9]{0,17}+)"
_NUMBERS: Final = rb"\[(?:%s(?:,%s)*+)?+\]" % (_NUMBER, _NUMBER)
_KEY_BYTES: Final = 28
"""So many bytes at a line's begin tell the types of events apart: ``{"type":"REDUCE_ATTEMPT_STAR``."""
_TRIES_MAX: Final = 32
"""From so many lines of a type is learned; maps have one set of counters, reduces another, and some have variants."""
_START: Final[Mapping[str, type]] = {"taskid": str, "attemptId": str, "startTime": int, "trackerName": str}
_END: Final[Mapping[str, type]] = {"taskid": str, "attemptId": str, "finishTime": int}
_END_OPTIONAL: Final[Mapping[str, type]] = {"hostname": str, "shuffleFinishTime": int, "sortFinishTime": int}


class LearnedJson(FormReader):
    """Walks over lines; ``event`` is what the last one tells, None when it is not wanted."""

    def __init__(self, content: bytes, wanted: Collection[str]) -> None:
        super().__init__(content, bytes.decode, int, int)
        self._wanted = wanted
        self._forms: dict[bytes, list[EventPattern]] = {}
        self._tries: dict[bytes, int] = {}

    def take(self, place: int) -> int | None:
        """Return where the line after the one at ``place`` begins; None when it is of no form that was learned."""
        for form in self._forms.get(self._content[place : place + _KEY_BYTES], ()):
            end = self._walked(form, place)
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
            form, shape = _learned(msgspec.json.decode(self._content[begin:end]), self._wanted)
        except (DoubtError, msgspec.DecodeError, RecursionError):
            return
        if shape is not None and shape not in self._shapes:
            self._shapes.insert(0, shape)
        forms = self._forms.setdefault(key, [])
        if form not in forms and self._walked(form, begin) == end:  # else it is written in another way, as with blanks
            forms.append(form)


def _learned(line: Any, wanted: Collection[str]) -> tuple[EventPattern, CounterShape | None]:
    """Return the form of a line and the shape of its counters. Raises DoubtError when it is of no known kind."""
    kind, event = (line.get("type"), line.get("event")) if isinstance(line, dict) else (None, None)
    if not isinstance(kind, str) or not isinstance(event, dict) or [*line] != ["type", "event"] or len(event) != 1:
        raise DoubtError
    ((name, record),) = event.items()
    role = "start" if kind in STARTS else "end" if kind in FINISHED else "skip"
    if not isinstance(record, dict) or (role == "skip" and kind in wanted):
        raise DoubtError
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
            raise DoubtError  # after the counters
        else:
            parts.append(_pattern(value))
    parts.append(rb"\}\}\}\n")
    absent = [field for field in fields if field not in captured]
    if role != "skip" and not {*absent} <= {*_END_OPTIONAL}:
        raise DoubtError
    head, tail = (parts[:split], parts[split:]) if split else (parts, [])
    if role != "skip":
        head, captured = [*head, b"()" * len(absent)], captured + absent
    form = EventPattern(
        role=role,
        task_kind=kind.partition("_")[0].lower(),
        head=re.compile(b"".join(head)),
        tail=re.compile(b"".join(tail)) if split else None,
        order=tuple(captured.index(field) + 1 for field in fields if captured),
    )
    return form, _shape(record) if split else None


def _literal(text: Any) -> bytes:
    return re.escape(msgspec.json.encode(text))


def _captured(value: Any, kind: type) -> bytes:
    """Return an expression with a group for a value that is wanted, without the quotation marks of a text."""
    if type(value) is not kind:
        raise DoubtError
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
    raise DoubtError


def _shape(record: Mapping[str, Any]) -> CounterShape:
    """Return the shape of a record's counters. Raises DoubtError when they are not plain."""
    counters = record["counters"]
    if not isinstance(counters, dict) or not isinstance(counters.get("groups"), list):
        raise DoubtError
    places: dict[str, dict[str, int]] = {}
    count = 0
    for group in counters["groups"]:
        named = _named(group, "counts", list)
        if named in places:
            raise DoubtError
        own = places.setdefault(named, {})
        for counter in group["counts"]:
            if _named(counter, "value", int) in own:
                raise DoubtError
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
            raise DoubtError
        return _literal(value)

    def number() -> bytes:
        return b"(%s)" % _NUMBER if next(values, None) in wanted else _NUMBER

    pattern = re.compile(written(counters))
    if next(values, None) is not None:
        raise DoubtError
    return CounterShape(pattern, places_in_order([wanted[place] for place in sorted(wanted)]), not places)


def _named(value: Any, inner: str, kind: type) -> str:
    """Return the name of a group or counter that has ``inner``."""
    if not isinstance(value, dict) or not isinstance(value.get("name"), str) or type(value.get(inner)) is not kind:
        raise DoubtError
    return str(value["name"])
