"""Text on the terminal: control characters in it are shown, not carried out.

Names, causes and messages come from other people's runs and servers. Only newlines, tabs and the codes that assay uses
for bold are printed as they are. Sequences by which assay moves the cursor go through :func:`send_control`, or to the
stream that :func:`unescaped` returns.
"""

import io
import re
import sys
from collections.abc import Callable
from typing import IO, TextIO, cast

from assay.wording.control_characters import printable

_KEPT = re.compile(r"(\x1b\[[01]m|\r\n)")


class _EscapingStream(io.TextIOWrapper):
    def write(self, text: str) -> int:
        super().write("".join(part if _KEPT.fullmatch(part) else printable(part) for part in _KEPT.split(text)))
        return len(text)


class _Unescaped:
    """An escaping stream as it was before, for libraries that draw with control sequences."""

    def __init__(self, stream: _EscapingStream) -> None:
        self._stream = stream
        self.write: Callable[[str], int] = super(_EscapingStream, stream).write

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def escape_output() -> None:
    """Escape what the program prints from now on to stdout and stderr."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper) and not isinstance(stream, _EscapingStream):
            encoding, errors, by_line = stream.encoding, stream.errors, stream.line_buffering
            setattr(sys, name, _EscapingStream(stream.detach(), encoding, errors, line_buffering=by_line))


def unescaped(stream: TextIO) -> IO[str]:
    """Return a stream that prints control sequences: text that is not assay's is escaped before it goes there."""
    return cast("IO[str]", _Unescaped(stream)) if isinstance(stream, _EscapingStream) else stream


def send_control(sequence: str, stream: TextIO) -> None:
    """Send a control sequence of assay's own to a terminal."""
    unescaped(stream).write(sequence)
    stream.flush()
