"""Read the events of a MapReduce job history file, in JSON or binary encoding.

In: a stream of a ``.jhist`` file of Hadoop 2 or 3. Out: its events in the order of the file: events of task attempts
as in ``jhist_attempts.py``, others as :class:`Event`. ``jhist_json.py`` and ``jhist_binary.py`` decode most events of
task attempts fast. All other events, and damaged events, are decoded here field by field.

org.apache.hadoop.mapreduce.jobhistory.EventWriter defines the format: a first line ``Avro-Json`` or ``Avro-Binary``,
a second line with the Avro schema, then one record per event: a JSON object per line, or records in Avro's binary
encoding without framing. In Avro's JSON a value of a union is wrapped as ``{"type name": value}``.
"""

import io
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

import msgspec

from assay.foundation.errors import FormatError
from assay.store.formats.hadoop.jhist_attempts import (
    ENDS,
    STARTS,
    STATUS,
    AttemptEnded,
    AttemptStarted,
    counts_of,
    selected_counters,
)
from assay.store.formats.hadoop.jhist_binary import BinaryScanner
from assay.store.formats.hadoop.jhist_json import attempt_of, is_event, type_of
from assay.store.formats.source import EVENT_BYTES_MAX

_JSON: Final = b"Avro-Json"
_BINARY: Final = b"Avro-Binary"
_FIRST_LINE_MAX: Final = 101
"""Maximum length of the first line, in bytes."""
_WINDOW_BYTES = 2**23
"""Bytes of a binary history that are read at once."""
_MARGIN_BYTES = 2**20
"""Minimum number of bytes in memory after the start of an event, so that few events end beyond the window."""
_LONG_MAX = 2**63 - 1
"""Maximum of a Java long."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its type (``JOB_SUBMITTED``), its record's fields, and its location in the file."""

    type: str
    record: dict[str, Any]
    where: str

    def text(self, name: str) -> str:
        """Return a text field. Raises :class:`FormatError` if it is absent or not text."""
        value = self._unwrapped(name)
        if not isinstance(value, str):
            raise self._error(name, value, "text")
        return value

    def optional_text(self, name: str) -> str | None:
        """Return a text field, or None when it is absent or null."""
        return None if self._unwrapped(name) is None else self.text(name)

    def integer(self, name: str) -> int:
        """Return a whole number of 64 bits. Raises :class:`FormatError` if it is absent or another value."""
        return self._integer(name, self._unwrapped(name))

    def optional_integer(self, name: str) -> int | None:
        """Return a whole number, or None when it is absent, null, or Hadoop's -1 for unknown."""
        value = self._unwrapped(name)
        return None if value is None or value == -1 else self._integer(name, value)

    def counters(self, name: str) -> dict[str, dict[str, int]]:
        """Return counters as group name to counter name to value; empty without counters."""
        value = self._unwrapped(name)
        groups: dict[str, dict[str, int]] = {}
        for group in self._list(name, value, "groups") if value is not None else ():
            counters = groups.setdefault(self._name(name, group), {})
            for counter in self._list(name, group, "counts"):
                counters[self._name(name, counter)] = self._integer(name, counter.get("value"))
        return groups

    def _unwrapped(self, name: str) -> Any:
        """Return a field without the wrapper that Avro's JSON puts around a value of a union."""
        value = self.record.get(name)
        if isinstance(value, dict) and len(value) == 1:
            key, inner = next(iter(value.items()))
            if key in ("string", "int", "long") or "." in key:
                return inner
        return value

    def _list(self, name: str, value: Any, key: str) -> list[Any]:
        items = value.get(key) if isinstance(value, dict) else None
        if not isinstance(items, list):
            raise self._error(name, value, "a set of counters")
        return items

    def _name(self, name: str, value: Any) -> str:
        text = value.get("name") if isinstance(value, dict) else None
        if not isinstance(text, str):
            raise self._error(name, value, "a set of counters with names")
        return text

    def _integer(self, name: str, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or abs(value) > _LONG_MAX:
            raise self._error(name, value, "a whole number")
        return value

    def _error(self, name: str, value: Any, expected: str) -> FormatError:
        actual = "absent" if name not in self.record else f"{str(value)[:60]!r}"
        return FormatError(f"{self.type}: field {name!r} should be {expected} and is {actual}", where=self.where)


HistoryEvent = Event | AttemptStarted | AttemptEnded


def attempt_started(event: Event) -> AttemptStarted:
    """Return the start of an attempt. Raises :class:`FormatError` if a field is absent or of another type."""
    kind = event.type.partition("_")[0].lower()
    return AttemptStarted(
        kind, event.text("taskid"), event.text("attemptId"), event.integer("startTime"), event.text("trackerName")
    )


def attempt_ended(event: Event) -> AttemptEnded:
    """Return the end of an attempt. Raises :class:`FormatError` if a field is absent or of another type."""
    groups = event.counters("counters")
    return AttemptEnded(
        kind=event.type.partition("_")[0].lower(),
        status=STATUS[event.type.rpartition("_")[2]],
        task_id=event.text("taskid"),
        attempt_id=event.text("attemptId"),
        end_ms=event.integer("finishTime"),
        node=event.optional_text("hostname") or None,
        shuffle_ms=event.optional_integer("shuffleFinishTime") or None,
        merge_ms=event.optional_integer("sortFinishTime") or None,
        counters=counts_of(selected_counters(groups)) if groups else None,
    )


def read_events(
    stream: BinaryIO, event_types: Collection[str], *, source: str = "job history"
) -> Iterator[HistoryEvent]:
    """Yield the events of a history whose type is among ``event_types``, in the order of the file.

    Only one line (JSON) or one window of the file (binary) is in memory. Raises :class:`FormatError` with the line
    (JSON) or byte offset (binary) of damage.
    """
    first_line = stream.readline(_FIRST_LINE_MAX)
    magic = first_line.strip() if first_line.endswith(b"\n") else b""
    if magic not in (_JSON, _BINARY):
        raise FormatError(
            f"a job history begins with Avro-Json or Avro-Binary, not {first_line[:20]!r}",
            where=f"{source}:1",
            hint="job histories of Hadoop 2 and 3 (.jhist) are read; those of Hadoop 1 are not",
        )
    schema = stream.readline(EVENT_BYTES_MAX)
    if not schema.endswith(b"\n"):
        raise FormatError("the file ends before its first event", where=f"{source}:2")
    if magic == _JSON:
        yield from _read_json(stream, event_types, source)
    else:
        yield from _read_binary(stream, len(first_line) + len(schema), schema, event_types, source)


def _read_json(stream: BinaryIO, event_types: Collection[str], source: str) -> Iterator[HistoryEvent]:
    """Yield the events in the lines of a stream after the first two."""
    number = 2
    while line := stream.readline(EVENT_BYTES_MAX + 1):
        number += 1
        if len(line) > EVENT_BYTES_MAX:
            raise FormatError(f"holds more than {EVENT_BYTES_MAX // 2**20} MiB", where=f"{source}:{number}")
        if line == b"\n":
            continue
        event_type = type_of(line)
        if event_type and event_type not in event_types and is_event(line):
            continue
        if attempt := attempt_of(line, event_type):
            yield attempt
        elif line := line.strip():
            yield from _typed(_decoded(line, f"{source}:{number}"), event_types)


def _decoded(line: bytes, where: str) -> Event:
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(f"this line is not a complete event: {error}", where=where, hint=_DAMAGE_HINT) from error
    event = value.get("event") if isinstance(value, dict) else None
    if not isinstance(event, dict) or len(event) != 1:
        raise FormatError("this line holds no event", where=where)
    return _event(value.get("type"), next(iter(event.values())), where)


class _HistoryWindow:
    """The part of a stream that is in memory: ``content`` begins at ``offset``, in bytes from the file's start."""

    def __init__(self, stream: BinaryIO, offset: int) -> None:
        self._stream = stream
        self.content, self.offset, self.is_last = b"", offset, False

    def move(self, start: int, size: int) -> None:
        """Drop the bytes before ``start``, and read ``size`` more."""
        new_bytes = self._stream.read(size)
        self.content, self.offset, self.is_last = (
            self.content[start:] + new_bytes,
            self.offset + start,
            len(new_bytes) < size,
        )


def _read_binary(
    stream: BinaryIO, offset: int, schema: bytes, event_types: Collection[str], source: str
) -> Iterator[HistoryEvent]:
    """Yield the events of a stream whose next byte is at ``offset``.

    An event that can't be decoded may be cut off by the end of the window. assay therefore enlarges the window before
    it reports damage.
    """
    import fastavro  # imported here, so that commands that read no job history start faster

    # For a damaged schema or record, fastavro raises many unrelated types and documents none of them.
    try:
        decoded_schema = msgspec.json.decode(schema)
        parsed_schema = fastavro.parse_schema(decoded_schema)
    except Exception as error:
        raise FormatError(f"the Avro schema can't be read: {error!r:.200}", where=f"{source}:2") from error
    window = _HistoryWindow(stream, offset)
    scanner = BinaryScanner(decoded_schema, event_types)
    start, window_stream = 0, io.BytesIO()
    while True:
        if not window.is_last and len(window.content) - start < _MARGIN_BYTES:
            window.move(start, _WINDOW_BYTES)
            scanner.move(window.content, start)
            start, window_stream = 0, io.BytesIO(window.content)
        if start >= len(window.content):
            return
        end = scanner.scan(start)
        if end is not None:
            if scanner.event is not None:
                yield scanner.event
            start = end
            continue
        where = f"{source}: byte {window.offset + start}"
        window_stream.seek(start)
        try:
            value = fastavro.schemaless_reader(window_stream, parsed_schema, None)
        except Exception as error:
            if not window.is_last and len(window.content) - start < EVENT_BYTES_MAX:
                window.move(start, max(_WINDOW_BYTES, len(window.content) - start))
                scanner.move(window.content, start)
                start, window_stream = 0, io.BytesIO(window.content)
                continue
            raise FormatError(f"no complete event here: {error!r:.200}", where=where, hint=_DAMAGE_HINT) from error
        if not isinstance(value, dict) or window_stream.tell() == start:
            raise FormatError("there is no event here", where=where)
        start = window_stream.tell()
        yield from _typed(_event(value.get("type"), value.get("event"), where), event_types)


def _typed(event: Event, event_types: Collection[str]) -> Iterator[HistoryEvent]:
    """Yield an event whose type is among ``event_types``. An event of a task attempt becomes its typed value."""
    if event.type in event_types:
        yield attempt_started(event) if event.type in STARTS else attempt_ended(event) if event.type in ENDS else event


_DAMAGE_HINT: Final = "the file was cut off or damaged: fetch it again from the history server's done directory"


def _event(kind: Any, record: Any, where: str) -> Event:
    if not isinstance(kind, str) or not isinstance(record, dict):
        raise FormatError("the event has no type or no record", where=where)
    return Event(kind, record, where)
