"""Limit the rate of the server's log, so that requests cannot fill the disk.

In: log records. Out: lines of text. Lines from the same logging call are of the same kind; errors raised at different
code lines are of different kinds. In each window of :data:`WINDOW_S` seconds, at most :data:`LINES_MAX` lines of a kind
are written; a line longer than :data:`LINE_MAX` characters lacks its middle. A line at the end of the window states the
number of dropped lines.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

LINES_MAX = 5
"""Maximum number of lines of one kind per window."""
WINDOW_S = 60.0
"""Length of a window, in seconds."""
LINE_MAX = 6000
"""Maximum length of a line, in characters."""
OMISSION = " […] "
"""Replaces the middle of a longer line."""
_KINDS_MAX = 1000
"""Maximum number of kinds in a window; lines of further kinds are dropped."""
Kind = tuple[object, ...]


@dataclass(slots=True)
class _Window:
    began_s: float
    written_lines: int = 0
    dropped_lines: int = 0
    last_message: str = ""


class RateLimitedHandler(logging.Handler):
    """Writes a limited number of lines to ``stream``. ``clock``: monotonic clock, in seconds."""

    def __init__(self, stream: IO[str], clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._stream, self._clock = stream, clock
        self._windows: dict[Kind, _Window] = {}
        self._timer: threading.Timer | None = None
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, or count it if its kind has reached the limit."""
        self._close_windows()
        if len(self._windows) >= _KINDS_MAX:
            return
        window = self._windows.setdefault(_kind(record), _Window(self._clock()))
        if window.written_lines < LINES_MAX:
            window.written_lines += 1
            self._write(self.format(record))
            return
        window.dropped_lines += 1
        window.last_message = record.getMessage()
        if self._timer is None:
            self._timer = threading.Timer(WINDOW_S, self._on_timer)
            self._timer.daemon = True
            self._timer.start()

    def _on_timer(self) -> None:
        with self.lock or threading.RLock():
            self._timer = None
            self._close_windows()

    def _close_windows(self, *, is_final: bool = False) -> None:
        now = self._clock()
        for kind, window in list(self._windows.items()):
            if is_final or now - window.began_s >= WINDOW_S:
                del self._windows[kind]
                if window.dropped_lines:
                    text = f"{window.dropped_lines:,} more lines like this in {WINDOW_S:g} s"
                    self._write(f"{text}; the last: {window.last_message}")

    def _write(self, text: str) -> None:
        try:
            if len(text) > LINE_MAX:  # a traceback names the request's path first and the error last
                half = (LINE_MAX - len(OMISSION)) // 2
                text = text[:half] + OMISSION + text[-half:]
            self._stream.write(text + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            return  # a closed or full log must not stop the server

    def close(self) -> None:
        """Write the numbers of dropped lines of all open windows."""
        if self._timer is not None:
            self._timer.cancel()
        self._close_windows(is_final=True)
        super().close()


def _kind(record: logging.LogRecord) -> Kind:
    error = record.exc_info[1] if record.exc_info else None
    trace = error.__traceback__ if error else None
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    raised_at = (trace.tb_frame.f_code.co_filename, trace.tb_lineno) if trace else None
    return (record.pathname, record.lineno, type(error), raised_at)
