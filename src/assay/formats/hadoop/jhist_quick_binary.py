"""Reads a job history's events of task attempts out of Avro's binary encoding without building every field.

In: the events' bytes and the file's schema. Out: the attempts' events in the form of
``jhist_attempts.py``. Only what is beyond doubt is taken: any other event (a layout that is not known
here, texts that are not ASCII, and all that is damaged) is left to the reader in ``jhist_events.py``,
which decides what it is or what is wrong with it.

Avro's records have no frame, so every field must be walked over. A regular expression that is made from the file's own
schema does it: a number is bytes with the high bit set and one without, a text its length and as many characters. The
counters, whose names are the same in every task, are matched by an expression that is made from the names in the first
task that has them; and those of a task, which stand there again after its attempt's, by being the same bytes.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from assay.formats.hadoop.jhist_attempts import STARTS, kept, places_in_order
from assay.formats.hadoop.jhist_forms import FINISHED, CounterShape, DoubtError, EventPattern, FormReader

_NUMBER: Final = rb"[\x80-\xff]{0,8}+[\x00-\x7f]"
_TEXT_MAX: Final = 127
_SHAPES_MAX: Final = 32
"""How many sets of counters are remembered; jobs have one for maps, one for reduces, and some variants."""
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


class QuickBinary(FormReader):
    """Walks over events; ``event`` is what the last one tells, None when it is not wanted."""

    def __init__(self, body: bytes, schema: Any, wanted: Collection[str]) -> None:
        super().__init__(body, _text, _number, _VarintCache().__getitem__)
        self._forms = _Forms(schema, wanted)

    def take(self, place: int) -> int | None:
        """Return where the event that begins at ``place`` ends; None when there is doubt."""
        form = self._forms[self._content[place : place + 2]]
        return None if form is None else self._walked(form, place + 2) or None

    def _new_shape(self, begin: int) -> CounterShape | None:
        if len(self._shapes) >= _SHAPES_MAX:
            return None
        try:
            return _shape(self._content, begin)
        except (DoubtError, IndexError):
            return None


def _number(packed: bytes) -> int:
    """Return a number: zigzag, seven bits a byte, the lowest first."""
    length = len(packed)  # the branches are what the loop does, for the lengths that counters and times have
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
    """Numbers by how they are written; those of one byte or two are remembered, and most of a job's counters are 0."""

    def __missing__(self, packed: bytes) -> int:
        number = _number(packed)
        if len(packed) <= 2:
            self[packed] = number
        return number


def _packed(value: int) -> bytes:
    """Return how Avro writes a number that is not negative."""
    value, packed = value << 1, bytearray()
    while value > 0x7F:
        packed.append(value & 0x7F | 0x80)
        value >>= 7
    packed.append(value)
    return bytes(packed)


def _text(packed: bytes) -> str:
    """Return a text that follows its length, of one byte up to 63."""
    return packed[1 if packed[0] < 0x80 else 2 :].decode("ascii")


def _text_pattern() -> bytes:
    """Return an expression for a text of up to _TEXT_MAX characters.

    Alternatives are tried one by one: those of a length's high bits come behind a look at its first byte.
    """
    lengths = [re.escape(_packed(length)) + rb"[\x00-\x7f]{%d}+" % length for length in range(_TEXT_MAX + 1)]
    groups = [
        b"(?=[\\x%02x-\\x%02x])(?:%s)" % (2 * low, 2 * low + 15, b"|".join(lengths[low : low + 8]))
        for low in range(0, 64, 8)
    ]
    return b"(?:%s)" % b"|".join([*groups, *lengths[64:]])


_TEXT: Final = _text_pattern()


class _Forms(dict[bytes, EventPattern | None]):
    """The form for each event by the numbers of its type and its record, made when it is first met; None: unknown."""

    def __init__(self, schema: Any, wanted: Collection[str]) -> None:
        super().__init__()
        self._schema, self._wanted = schema, wanted
        self._named: dict[str, Any] = {}

    def __missing__(self, numbers: bytes) -> EventPattern | None:
        try:
            form = self._made(numbers)
        except (DoubtError, KeyError, TypeError, IndexError, AttributeError, ValueError, RecursionError):
            form = None  # a schema that fastavro takes, and this does not
        self[numbers] = form
        return form

    def _made(self, numbers: bytes) -> EventPattern | None:
        kinds, records = (field["type"] for field in self._schema["fields"])
        names = [field["name"] for field in self._schema["fields"]]
        if names != ["type", "event"] or len(numbers) != 2 or max(numbers) > 0x7F or numbers[0] & 1 or numbers[1] & 1:
            return None
        if not self._named:
            _name(self._schema, self._named)
        kind = kinds["symbols"][numbers[0] >> 1]
        record = _resolved(records[numbers[1] >> 1], self._named)
        role = "start" if kind in STARTS else "end" if kind in FINISHED else None if kind in self._wanted else "skip"
        return _form(role, kind, record, self._named) if role else None


def _name(schema: Any, named: dict[str, Any]) -> None:
    """Note every named type of a schema."""
    if isinstance(schema, list):
        for one in schema:
            _name(one, named)
    elif isinstance(schema, dict):
        if schema.get("type") in ("record", "enum", "fixed"):
            named[schema["name"].rpartition(".")[2]] = schema
        for inner in (*(field["type"] for field in schema.get("fields", ())), schema.get("items"), schema.get("type")):
            _name(inner, named)


def _resolved(schema: Any, named: Mapping[str, Any]) -> Any:
    if isinstance(schema, str):
        return named.get(schema.rpartition(".")[2], schema)
    if isinstance(schema, dict) and isinstance(schema["type"], str) and schema["type"] not in ("record", "array"):
        return _resolved(schema["type"], named)  # such as {"type": "string", "avro.java.string": "String"}
    return schema


def _form(role: str, kind: str, record: Any, named: Mapping[str, Any]) -> EventPattern | None:
    """Return how to walk over a record in the given role; None when the record is not made for it."""
    types = {field["name"]: _resolved(field["type"], named) for field in record["fields"]}
    if len(types) != len(record["fields"]):
        return None
    counters = [name for name, schema in types.items() if _layout(schema, named) == _COUNTERS_SCHEMA]
    fields: dict[str, str] = {}
    if role == "start":
        fields = _START_FIELDS
    elif role == "end":
        fields = _END_FIELDS | (dict.fromkeys(_TIMES, "long") if any(name in types for name in _TIMES) else {})
    elif "taskid" in types:
        fields = {"taskid": "string"}
    before = [name for name in types if not counters or list(types).index(name) < list(types).index(counters[0])]
    if len(counters) > 1 or (role == "start" and counters) or (role == "end" and counters != ["counters"]):
        return None
    if any(types.get(name) != schema or name not in before for name, schema in fields.items()):
        return None
    captured = [name for name in types if name in fields]
    order = tuple(captured.index(name) + 1 for name in fields)
    try:
        head = b"".join(
            b"(%s)" % _pattern(types[n], named) if n in fields else _pattern(types[n], named) for n in before
        )
        rest = [name for name in types if name not in before and name not in counters]
        tail = b"".join(_pattern(types[name], named) for name in rest)
    except DoubtError:
        return None
    return EventPattern(
        role, kind.partition("_")[0].lower(), _compiled(head), _compiled(tail) if counters else None, order
    )


def _compiled(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern, re.DOTALL)


def _layout(schema: Any, named: Mapping[str, Any]) -> Any:
    """Return a record's fields, those of records and arrays of records in it written out; other types as they are."""
    schema = _resolved(schema, named)
    if isinstance(schema, dict) and schema.get("type") == "record":
        return [(field["name"], _layout(field["type"], named)) for field in schema["fields"]]
    if isinstance(schema, dict) and schema.get("type") == "array":
        return _layout(schema["items"], named)
    return schema


def _pattern(schema: Any, named: Mapping[str, Any]) -> bytes:
    """Return an expression for a value; arrays are empty, or have the twelve numbers that Hadoop's have."""
    schema = _resolved(schema, named)
    if isinstance(schema, list):
        return b"(?:%s)" % b"|".join(
            re.escape(_packed(number)) + _pattern(branch, named) for number, branch in enumerate(schema)
        )
    if isinstance(schema, dict):
        if schema["type"] == "array":
            # written out: a repeated group takes twice as long
            return rb"(?:\x00|\x18%s\x00)" % (_pattern(schema["items"], named) * 12)
        raise DoubtError
    try:
        return {"string": _TEXT, "int": _NUMBER, "long": _NUMBER, "boolean": rb"[\x00\x01]", "null": b""}[schema]
    except KeyError as error:
        raise DoubtError from error


def _shape(body: bytes, begin: int) -> CounterShape:
    """Return the shape of the counters at ``begin``. Raises DoubtError (or IndexError) when they are not plain."""
    reader = _SkipCompiler(body, begin)
    reader.text()
    groups: dict[str, dict[str, int]] = {}
    places = 0
    for _ in range(reader.begin_array()):
        name = reader.text()
        reader.text()
        if name in groups:
            raise DoubtError
        group = groups.setdefault(name, {})
        for _ in range(reader.begin_array()):
            counter = reader.text()
            reader.text()
            if counter in group:
                raise DoubtError
            group[counter] = places
            places += 1
            reader.number()
        reader.end_array()
    reader.end_array()
    wanted = {place: name for name, place in kept(groups).items()}
    return CounterShape(
        _compiled(reader.pattern(wanted)), places_in_order([wanted[place] for place in sorted(wanted)]), not groups
    )


class _SkipCompiler:
    """Walks over counters, and notes what is the same in other tasks' and where their values are."""

    def __init__(self, body: bytes, place: int) -> None:
        self._body = body
        self._place = self._noted = place
        self._parts: list[bytes] = []
        """What stands before each value."""

    def _varint(self) -> int:
        begin = self._place
        while self._body[self._place] >= 0x80:
            self._place += 1
        self._place += 1
        if self._place - begin > 9:
            raise DoubtError
        return _number(self._body[begin : self._place])

    def text(self) -> str:
        length = self._varint()
        text = self._body[self._place : self._place + length] if length >= 0 else b""
        self._place += length
        if length < 0 or len(text) != length or not text.isascii():
            raise DoubtError
        return text.decode("ascii")

    def number(self) -> None:
        self._parts.append(self._body[self._noted : self._place])
        self._varint()
        self._noted = self._place

    def begin_array(self) -> int:
        """Return how many items follow; an array without any ends at once."""
        count = self._varint()
        if not 0 <= count <= 1000:
            raise DoubtError
        if count == 0:
            self._place -= 1  # the same byte ends it
        return count

    def end_array(self) -> None:
        if self._varint() != 0:
            raise DoubtError

    def pattern(self, wanted: Collection[int]) -> bytes:
        """Return the expression, with a group for each value that is wanted."""
        values = [b"(%s)" % _NUMBER if place in wanted else _NUMBER for place in range(len(self._parts))]
        rest = re.escape(self._body[self._noted : self._place])
        return b"".join(re.escape(part) + value for part, value in zip(self._parts, values, strict=True)) + rest
