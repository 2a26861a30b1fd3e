"""The server's log: lines of one kind are counted after the first few, so that nobody outside can fill a disk.

A kind is the place in the code that says it, and for an error the place where it was raised. Of each kind
:data:`LINES_MAX` lines are written in :data:`WINDOW_S` seconds, each cut at :data:`LINE_MAX` characters; how many more
came is told in one line when that time is over.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

LINES_MAX = 5
WINDOW_S = 60.0
LINE_MAX = 6000
_KINDS_MAX = 1000
Kind = tuple[object, ...]


@dataclass(slots=True)
class _Window:
    began_s: float
    lines: int = 0
    more: int = 0
    last: str = ""


class Counted(logging.Handler):
    """Writes to ``stream``. ``clock``: seconds that only grow."""

    def __init__(self, stream: IO[str], clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._stream, self._clock = stream, clock
        self._windows: dict[Kind, _Window] = {}
        self._timer: threading.Timer | None = None
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, or count it."""
        self._tell_ended()
        if len(self._windows) >= _KINDS_MAX:
            return
        window = self._windows.setdefault(_kind(record), _Window(self._clock()))
        if window.lines < LINES_MAX:
            window.lines += 1
            self._write(self.format(record))
            return
        window.more += 1
        window.last = record.getMessage()
        if self._timer is None:
            self._timer = threading.Timer(WINDOW_S, self._later)
            self._timer.daemon = True
            self._timer.start()

    def _later(self) -> None:
        with self.lock or threading.RLock():
            self._timer = None
            self._tell_ended()

    def _tell_ended(self, *, all_of_them: bool = False) -> None:
        now = self._clock()
        for kind, window in list(self._windows.items()):
            if all_of_them or now - window.began_s >= WINDOW_S:
                del self._windows[kind]
                if window.more:
                    self._write(f"{window.more:,} more such lines in {WINDOW_S:g} s; the last: {window.last}")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text[:LINE_MAX] + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            return  # nowhere to write is no reason to stop serving

    def close(self) -> None:
        """Tell what was counted."""
        if self._timer is not None:
            self._timer.cancel()
        self._tell_ended(all_of_them=True)
        super().close()


def _kind(record: logging.LogRecord) -> Kind:
    error = record.exc_info[1] if record.exc_info else None
    trace = error.__traceback__ if error else None
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    raised = (trace.tb_frame.f_code.co_filename, trace.tb_lineno) if trace else None
    return (record.pathname, record.lineno, type(error), raised)
