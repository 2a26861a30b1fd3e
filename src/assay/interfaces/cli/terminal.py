"""Text on the terminal: control characters in it are shown, not carried out.

Names, causes and messages come from other people's runs and servers. Only newlines, tabs and the codes that assay uses
for bold are printed as they are. Sequences by which assay moves the cursor go through :func:`send_control`, or to the
stream that :func:`unescaped` returns.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from assay.text.control_characters import printable

_KEPT = re.compile(r"(\x1b\[[01]m|\r\n)")


class _EscapingStream:
    """A text stream that escapes what is written to it; all else is the stream's."""

    def __init__(self, stream: TextIO) -> None:
        self.unescaped = stream

    def write(self, text: str) -> int:
        parts = (part if _KEPT.fullmatch(part) else printable(part) for part in _KEPT.split(text))
        self.unescaped.write("".join(parts))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unescaped, name)


@contextmanager
def escaped_output() -> Iterator[None]:
    """Escape what the program prints to stdout and stderr inside the block."""
    out, err = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = cast("TextIO", _EscapingStream(out)), cast("TextIO", _EscapingStream(err))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err


def unescaped(stream: TextIO) -> TextIO:
    """Return a stream that prints control sequences: text that is not assay's is escaped before it goes there."""
    return stream.unescaped if isinstance(stream, _EscapingStream) else stream


def send_control(sequence: str, stream: TextIO) -> None:
    """Send a control sequence of assay's own to a terminal."""
    unescaped(stream).write(sequence)
    stream.flush()
