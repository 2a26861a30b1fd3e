"""Match the task attempt events of a job history with regular expressions: the part that both encodings share.

In: the bytes, an offset, and the :class:`EventPattern` expected at that offset. Out: the attempt's event as in
``jhist_attempts.py``, and the offset of its end. The encodings supply the patterns and decode texts and numbers:
``jhist_quick_binary.py`` builds patterns from the Avro schema, ``jhist_learned_json.py`` from earlier lines. A task
event repeats the counters of its attempt byte for byte, so these bytes are compared and skipped.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from assay.formats.hadoop.jhist_attempts import STATUS, AttemptEnded, AttemptStarted, Counts

FINISHED: Final = frozenset({"MAP_ATTEMPT_FINISHED", "REDUCE_ATTEMPT_FINISHED"})


class DoubtError(Exception):
    """The quick way does not know this."""


@dataclass(frozen=True, slots=True)
class EventPattern:
    """A form of event: what it is, and how to walk over it."""

    role: str
    """``start``, ``end`` or ``skip``."""
    task_kind: str
    head: re.Pattern[bytes]
    """The event, or what of it stands before the counters."""
    tail: re.Pattern[bytes] | None
    """What follows the counters; None where there are none."""
    order: tuple[int, ...]
    """The groups of ``head`` that hold the fields which are wanted, the task's id first; of an end without times two
    fewer."""


@dataclass(frozen=True, slots=True)
class CounterShape:
    """A set of counters: its expression, and how the values of its groups come into order, a None after them."""

    pattern: re.Pattern[bytes]
    order: Callable[[Counts], Counts]
    empty: bool


class FormReader:
    """Walks over events; ``event`` is what the last one tells, None when it is not wanted.

    ``text`` and ``number`` read what is written; ``counted`` reads a counter's value, which may be remembered.
    """

    def __init__(
        self,
        content: bytes,
        text: Callable[[bytes], str],
        number: Callable[[bytes], int],
        counted: Callable[[bytes], int],
    ) -> None:
        self.event: AttemptStarted | AttemptEnded | None = None
        self._content = content
        self._text, self._number, self._counted = text, number, counted
        self._shapes: list[CounterShape] = []
        self._counters_of: dict[bytes, tuple[int, int]] = {}
        self._texts: dict[bytes, str] = {}

    def _walked(self, form: EventPattern, place: int) -> int:
        """Return where the event ends if it is of this form, and note what it tells; else 0."""
        head = form.head.match(self._content, place)
        if head is None:
            return 0
        self.event = None
        end, counters = head.end(), None
        if form.tail is not None:
            begin = end
            end = self._same_counters(head[form.order[0]], begin) if form.role == "skip" and form.order else 0
            if not end:
                end, counters = self._counters(begin)
            tail = form.tail.match(self._content, end) if end else None
            if tail is None:
                return 0
            if form.role == "end":
                self._counters_of[head[form.order[0]]] = (begin, end)
            end = tail.end()
        if form.role == "start":
            task, attempt, start, node = head.group(*form.order)
            text, started = self._text, self._number(start)
            self.event = AttemptStarted(form.task_kind, text(task), text(attempt), started, self._repeated(node))
        elif form.role == "end":
            self.event = self._ended(form.task_kind, head.group(*form.order), counters)
        return end

    def _ended(self, kind: str, found: tuple[bytes, ...], counters: Counts | None) -> AttemptEnded:
        text = self._text
        shuffle_ms, merge_ms = (self._known(found[4]), self._known(found[5])) if len(found) > 4 else (None, None)
        return AttemptEnded(
            kind,
            STATUS["FINISHED"],
            text(found[0]),
            text(found[1]),
            self._number(found[2]),
            self._repeated(found[3]) or None,
            shuffle_ms,
            merge_ms,
            counters,
        )

    def _known(self, written: bytes) -> int | None:
        """Return a time; None for one that is absent, for Hadoop's -1 and for 0."""
        time_ms = self._number(written) if written else 0
        return None if time_ms == -1 else time_ms or None

    def _repeated(self, written: bytes) -> str:
        """Return a text that many events have, such as a node's name; empty for one that is absent."""
        found = self._texts.get(written)
        if found is None:
            found = self._texts[written] = self._text(written) if written else ""
        return found

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
                told = None if shape.empty else shape.order((*map(self._counted, found.groups()), None))
                return found.end(), told
        new = self._new_shape(begin)
        if new is None:
            return 0, None
        self._shapes.insert(0, new)
        return self._counters(begin)

    def _new_shape(self, _begin: int) -> CounterShape | None:
        """Return the shape of counters that were not met before, one that matches them; None when there is doubt."""
        return None
