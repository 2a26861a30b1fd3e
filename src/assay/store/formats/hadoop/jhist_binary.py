"""Decode the task attempt events of a binary job history without building every field.

In: windows of the events' bytes, and the file's Avro schema. Out: the attempts' events as in ``jhist_attempts.py``, and
the offset where each event ends. Only unambiguous events are decoded. Any other event (an unknown layout, texts outside
ASCII, damage) is left to ``jhist_events.py``, which decodes it with fastavro or reports the damage.

Avro records have no frame, so every field must be scanned. A regular expression built from the file's schema scans a
record: a number is bytes with the high bit set and one byte without it; a text is its length and that many characters.
The names of counters are the same in most tasks, so a second expression is built from the counters of the first task
that has them. A TASK_FINISHED event repeats the counters of its attempt byte for byte: they are compared and skipped.

With fastavro alone, a history takes five times the CPU time; docs/adr/0032 has the figures.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from assay.store.formats.hadoop.jhist_attempts import (
    ENDS,
    STARTS,
    STATUS,
    AttemptEnded,
    AttemptStarted,
    Counts,
    reorder,
    selected_counters,
)

_FINISHED: Final = frozenset(kind for kind in ENDS if kind.endswith("_FINISHED"))
_NUMBER: Final = rb"[\x80-\xff]{0,8}+[\x00-\x7f]"
_TEXT_MAX: Final = 127
"""Longest text that the expressions accept, in characters."""
_COUNTER_SETS_MAX: Final = 32
"""Maximum number of different sets of counters. Maps and reduces have different sets, and some jobs have variants."""
_ARRAY_MAX: Final = 1000
"""Longest array of counters or groups that is scanned."""
_START_FIELDS: Final = {"taskid": "string", "attemptId": "string", "startTime": "long", "trackerName": "string"}
_END_FIELDS: Final = {"taskid": "string", "attemptId": "string", "finishTime": "long", "hostname": "string"}
_TIMES: Final = ("shuffleFinishTime", "sortFinishTime")
_COUNTERS_SCHEMA: Final = [
    ("name", "string"),
    (
        "groups",
        [
            ("name", "string"),
            ("displayName", "string"),
            ("counts", [("name", "string"), ("displayName", "string"), ("value", "long")]),
        ],
    ),
]


class UnknownLayoutError(Exception):
    """The expressions can't decode these bytes or this schema."""


@dataclass(frozen=True, slots=True)
class _EventPattern:
    """The pattern of one type of event."""

    role: str
    """``start``, ``end`` or ``skip``."""
    task_kind: str
    head: re.Pattern[bytes]
    """The fields before the counters, or all fields of an event without counters."""
    tail: re.Pattern[bytes] | None
    """The fields after the counters; None for an event without counters."""
    order: tuple[int, ...]
    """The groups of ``head`` with the decoded fields, the task's id first. Ends of maps lack :data:`_TIMES`."""


@dataclass(frozen=True, slots=True)
class _CounterPattern:
    """The pattern of one set of counters."""

    pattern: re.Pattern[bytes]
    order: Callable[[Counts], Counts]
    """Sorts the values of the pattern's groups, with a None after them, into the order of ``COUNTERS``."""
    empty: bool


class BinaryScanner:
    """A scanner of single events. ``event``: the last event if it is of an attempt, else None."""

    def __init__(self, schema: Any, event_types: Collection[str]) -> None:
        self.event: AttemptStarted | AttemptEnded | None = None
        self._content = b""
        self._event_patterns = _EventPatterns(schema, event_types)
        self._counter_patterns: list[_CounterPattern] = []
        self._counter_spans: dict[bytes, tuple[int, int]] = {}
        """Where the counters of a task's attempt begin and end."""
        self._repeated_texts: dict[bytes, str] = {}
        self._counter_values = _VarintCache()

    def move(self, content: bytes, dropped: int) -> None:
        """Continue in ``content``, which lacks the first ``dropped`` bytes of the previous content."""
        self._content = content
        spans = ((task, begin - dropped, end - dropped) for task, (begin, end) in self._counter_spans.items())
        self._counter_spans = {task: (begin, end) for task, begin, end in spans if begin >= 0}

    def scan(self, start: int) -> int | None:
        """Return the end of the event at ``start``; None if it can't be decoded here."""
        pattern = self._event_patterns[self._content[start : start + 2]]
        if pattern is None:
            return None
        head = pattern.head.match(self._content, start + 2)
        if head is None:
            return None
        self.event = None
        end, counters = head.end(), None
        if pattern.tail is not None:
            begin = end
            task = head[pattern.order[0]] if pattern.order else b""
            end = self._skip_repeated_counters(task, begin) if pattern.role == "skip" and pattern.order else 0
            if not end:
                end, counters = self._counters(begin)
            tail = pattern.tail.match(self._content, end) if end else None
            if tail is None:
                return None
            if pattern.role == "end":
                self._counter_spans[task] = (begin, end)
            end = tail.end()
        if pattern.role == "start":
            task, attempt, started, node = head.group(*pattern.order)
            self.event = AttemptStarted(
                pattern.task_kind, _text(task), _text(attempt), _number(started), self._repeated_text(node)
            )
        elif pattern.role == "end":
            self.event = self._attempt_ended(pattern.task_kind, head.group(*pattern.order), counters)
        return end

    def _attempt_ended(self, kind: str, values: tuple[bytes, ...], counters: Counts | None) -> AttemptEnded:
        shuffle_ms, merge_ms = (_time_ms(values[4]), _time_ms(values[5])) if len(values) > 4 else (None, None)
        return AttemptEnded(
            kind,
            STATUS["FINISHED"],
            _text(values[0]),
            _text(values[1]),
            _number(values[2]),
            self._repeated_text(values[3]) or None,
            shuffle_ms,
            merge_ms,
            counters,
        )

    def _repeated_text(self, packed: bytes) -> str:
        """Return a text that many events share, for example a node's name."""
        text = self._repeated_texts.get(packed)
        if text is None:
            text = self._repeated_texts[packed] = _text(packed)
        return text

    def _skip_repeated_counters(self, task: bytes, begin: int) -> int:
        """Return the end of the counters at ``begin`` if they equal those of the task's attempt; else 0."""
        attempt_begin, attempt_end = self._counter_spans.pop(task, (0, 0))
        return (
            begin + attempt_end - attempt_begin
            if attempt_end and self._content.startswith(self._content[attempt_begin:attempt_end], begin)
            else 0
        )

    def _counters(self, begin: int) -> tuple[int, Counts | None]:
        """Return the end of the counters at ``begin``, and the kept counters; 0 if they can't be decoded."""
        for index, counters in enumerate(self._counter_patterns):
            match = counters.pattern.match(self._content, begin)
            if match:
                if index:
                    self._counter_patterns.insert(0, self._counter_patterns.pop(index))
                values = (*map(self._counter_values.__getitem__, match.groups()), None)
                return match.end(), None if counters.empty else counters.order(values)
        if len(self._counter_patterns) >= _COUNTER_SETS_MAX:
            return 0, None
        try:
            self._counter_patterns.insert(0, _counter_pattern(self._content, begin))
        except (UnknownLayoutError, IndexError):
            return 0, None
        return self._counters(begin)


def _time_ms(packed: bytes) -> int | None:
    """Return a time; None for Hadoop's -1 and for 0."""
    time_ms = _number(packed)
    return None if time_ms == -1 else time_ms or None


def _number(packed: bytes) -> int:
    """Decode a zigzag varint: seven bits per byte, the lowest first."""
    length = len(packed)  # the branches unroll the loop for the lengths that counters and times have
    if length == 1:
        value = packed[0]
    elif length == 3:
        first, second, third = packed
        value = first + (second << 7) + (third << 14) - 0x4080
    elif length == 4:
        first, second, third, fourth = packed
        value = first + (second << 7) + (third << 14) + (fourth << 21) - 0x204080
    elif length == 5:
        first, second, third, fourth, fifth = packed
        value = first + (second << 7) + (third << 14) + (fourth << 21) + (fifth << 28) - 0x10204080
    elif length == 6:
        first, second, third, fourth, fifth, sixth = packed
        value = first + (second << 7) + (third << 14) + (fourth << 21) + (fifth << 28) + (sixth << 35) - 0x810204080
    else:
        value = shift = 0
        for byte in packed:
            value |= (byte & 0x7F) << shift
            shift += 7
    return -(value >> 1) - 1 if value & 1 else value >> 1


class _VarintCache(dict[bytes, int]):
    """Decoded varints. Varints of one or two bytes are cached, because most of a job's counters are 0."""

    def __missing__(self, packed: bytes) -> int:
        number = _number(packed)
        if len(packed) <= 2:
            self[packed] = number
        return number


def _packed(value: int) -> bytes:
    """Encode a number that is not negative as a zigzag varint."""
    value, packed = value << 1, bytearray()
    while value > 0x7F:
        packed.append(value & 0x7F | 0x80)
        value >>= 7
    packed.append(value)
    return bytes(packed)


def _text(packed: bytes) -> str:
    """Decode a text that follows its length: one byte for up to 63 characters, else two."""
    return packed[1 if packed[0] < 0x80 else 2 :].decode("ascii")


def _text_pattern() -> bytes:
    """Return an expression for a text of up to _TEXT_MAX characters.

    Alternatives are tried in order, so a lookahead at the first byte selects eight lengths at once.
    """
    lengths = [re.escape(_packed(length)) + rb"[\x00-\x7f]{%d}+" % length for length in range(_TEXT_MAX + 1)]
    groups = [
        b"(?=[\\x%02x-\\x%02x])(?:%s)" % (2 * low, 2 * low + 15, b"|".join(lengths[low : low + 8]))
        for low in range(0, 64, 8)
    ]
    return b"(?:%s)" % b"|".join([*groups, *lengths[64:]])


_TEXT: Final = _text_pattern()


class _EventPatterns(dict[bytes, _EventPattern | None]):
    """Patterns by the two numbers of an event's type and record, built at first use; None if there is no pattern."""

    def __init__(self, schema: Any, event_types: Collection[str]) -> None:
        super().__init__()
        self._schema, self._event_types = schema, event_types
        self._types_by_name: dict[str, Any] = {}

    def __missing__(self, numbers: bytes) -> _EventPattern | None:
        try:
            pattern = self._build(numbers)
        except (UnknownLayoutError, KeyError, TypeError, IndexError, AttributeError, ValueError, RecursionError):
            pattern = None  # fastavro accepts more schemas than this class
        self[numbers] = pattern
        return pattern

    def _build(self, numbers: bytes) -> _EventPattern | None:
        kinds, records = (field["type"] for field in self._schema["fields"])
        names = [field["name"] for field in self._schema["fields"]]
        if names != ["type", "event"] or len(numbers) != 2 or max(numbers) > 0x7F or numbers[0] & 1 or numbers[1] & 1:
            return None
        if not self._types_by_name:
            _collect_types(self._schema, self._types_by_name)
        kind = kinds["symbols"][numbers[0] >> 1]
        record = _resolved(records[numbers[1] >> 1], self._types_by_name)
        if kind in STARTS:
            role = "start"
        elif kind in _FINISHED:
            role = "end"
        elif kind in self._event_types:
            return None
        else:
            role = "skip"
        return _event_pattern(role, kind, record, self._types_by_name)


def _collect_types(schema: Any, types_by_name: dict[str, Any]) -> None:
    """Add the named types of a schema to ``types_by_name``."""
    if isinstance(schema, list):
        for branch in schema:
            _collect_types(branch, types_by_name)
    elif isinstance(schema, dict):
        if schema.get("type") in ("record", "enum", "fixed"):
            types_by_name[schema["name"].rpartition(".")[2]] = schema
        for inner in (*(field["type"] for field in schema.get("fields", ())), schema.get("items"), schema.get("type")):
            _collect_types(inner, types_by_name)


def _resolved(schema: Any, types_by_name: Mapping[str, Any]) -> Any:
    if isinstance(schema, str):
        return types_by_name.get(schema.rpartition(".")[2], schema)
    if isinstance(schema, dict) and isinstance(schema["type"], str) and schema["type"] not in ("record", "array"):
        return _resolved(schema["type"], types_by_name)  # for example {"type": "string", "avro.java.string": "String"}
    return schema


def _event_pattern(role: str, kind: str, record: Any, types_by_name: Mapping[str, Any]) -> _EventPattern | None:
    """Return the pattern of a record in the given role; None if the record lacks fields for it."""
    types = {field["name"]: _resolved(field["type"], types_by_name) for field in record["fields"]}
    if len(types) != len(record["fields"]):
        return None
    counters = [name for name, schema in types.items() if _layout(schema, types_by_name) == _COUNTERS_SCHEMA]
    fields: dict[str, str] = {}
    if role == "start":
        fields = _START_FIELDS
    elif role == "end":
        fields = _END_FIELDS | (dict.fromkeys(_TIMES, "long") if any(name in types for name in _TIMES) else {})
    elif "taskid" in types:
        fields = {"taskid": "string"}
    names_before_counters = [
        name for name in types if not counters or list(types).index(name) < list(types).index(counters[0])
    ]
    if len(counters) > 1 or (role == "start" and counters) or (role == "end" and counters != ["counters"]):
        return None
    if any(types.get(name) != schema or name not in names_before_counters for name, schema in fields.items()):
        return None
    captured_names = [name for name in types if name in fields]
    order = tuple(captured_names.index(name) + 1 for name in fields)
    try:
        head = b"".join(
            b"(%s)" % _pattern(types[n], types_by_name) if n in fields else _pattern(types[n], types_by_name)
            for n in names_before_counters
        )
        names_after_counters = [name for name in types if name not in names_before_counters and name not in counters]
        tail = b"".join(_pattern(types[name], types_by_name) for name in names_after_counters)
    except UnknownLayoutError:
        return None
    return _EventPattern(
        role, kind.partition("_")[0].lower(), _compiled(head), _compiled(tail) if counters else None, order
    )


def _compiled(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern, re.DOTALL)


def _layout(schema: Any, types_by_name: Mapping[str, Any]) -> Any:
    """Return a record's fields with nested records and arrays of records expanded; other types unchanged."""
    schema = _resolved(schema, types_by_name)
    if isinstance(schema, dict) and schema.get("type") == "record":
        return [(field["name"], _layout(field["type"], types_by_name)) for field in schema["fields"]]
    if isinstance(schema, dict) and schema.get("type") == "array":
        return _layout(schema["items"], types_by_name)
    return schema


def _pattern(schema: Any, types_by_name: Mapping[str, Any]) -> bytes:
    """Return an expression for a value. Arrays are empty or have twelve items, as Hadoop writes them."""
    schema = _resolved(schema, types_by_name)
    if isinstance(schema, list):
        return b"(?:%s)" % b"|".join(
            re.escape(_packed(number)) + _pattern(branch, types_by_name) for number, branch in enumerate(schema)
        )
    if isinstance(schema, dict):
        if schema["type"] == "array":
            # twelve copies: a repeated group takes twice as long
            return rb"(?:\x00|\x18%s\x00)" % (_pattern(schema["items"], types_by_name) * 12)
        raise UnknownLayoutError
    try:
        return {"string": _TEXT, "int": _NUMBER, "long": _NUMBER, "boolean": rb"[\x00\x01]", "null": b""}[schema]
    except KeyError as error:
        raise UnknownLayoutError from error


def _counter_pattern(body: bytes, begin: int) -> _CounterPattern:
    """Return the pattern of the counters at ``begin``. Raises UnknownLayoutError or IndexError for other layouts."""
    compiler = _CounterCompiler(body, begin)
    compiler.text()
    groups: dict[str, dict[str, int]] = {}
    """Group to counter to the counter's number among all."""
    count = 0
    for _ in range(compiler.begin_array()):
        name = compiler.text()
        compiler.text()
        if name in groups:
            raise UnknownLayoutError
        group = groups.setdefault(name, {})
        for _ in range(compiler.begin_array()):
            counter = compiler.text()
            compiler.text()
            if counter in group:
                raise UnknownLayoutError
            group[counter] = count
            count += 1
            compiler.number()
        compiler.end_array()
    compiler.end_array()
    selected = {number: name for name, number in selected_counters(groups).items()}
    return _CounterPattern(
        _compiled(compiler.pattern(selected)), reorder([selected[number] for number in sorted(selected)]), not groups
    )


class _CounterCompiler:
    """A scanner of counters that builds an expression for counters with the same names and other values."""

    def __init__(self, body: bytes, begin: int) -> None:
        self._body = body
        self._position = self._part_begin = begin
        self._parts: list[bytes] = []
        """The bytes before each value."""

    def _varint(self) -> int:
        begin = self._position
        while self._body[self._position] >= 0x80:
            self._position += 1
        self._position += 1
        if self._position - begin > 9:
            raise UnknownLayoutError
        return _number(self._body[begin : self._position])

    def text(self) -> str:
        length = self._varint()
        text = self._body[self._position : self._position + length] if length >= 0 else b""
        self._position += length
        if length < 0 or len(text) != length or not text.isascii():
            raise UnknownLayoutError
        return text.decode("ascii")

    def number(self) -> None:
        self._parts.append(self._body[self._part_begin : self._position])
        self._varint()
        self._part_begin = self._position

    def begin_array(self) -> int:
        """Return the number of items that follow."""
        count = self._varint()
        if not 0 <= count <= _ARRAY_MAX:
            raise UnknownLayoutError
        if count == 0:
            self._position -= 1  # the same byte ends an empty array
        return count

    def end_array(self) -> None:
        if self._varint() != 0:
            raise UnknownLayoutError

    def pattern(self, selected: Collection[int]) -> bytes:
        """Return the expression, with a group for each value whose number is in ``selected``."""
        values = [b"(%s)" % _NUMBER if number in selected else _NUMBER for number in range(len(self._parts))]
        last_part = re.escape(self._body[self._part_begin : self._position])
        return b"".join(re.escape(part) + value for part, value in zip(self._parts, values, strict=True)) + last_part
