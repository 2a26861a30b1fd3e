"""Print text to the terminal with its control characters escaped.

Names, causes and messages may come from untrusted runs and servers. Only newlines, tabs and the codes for bold text are
printed unchanged. assay moves the cursor with :func:`send_control`, or through the stream that :func:`unescaped`
returns.
"""

import io
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

import click

from assay.foundation.progress import Progress, no_progress
from assay.foundation.units import format_duration
from assay.text.control_characters import printable

PROGRESS_AFTER_S = 2.0
"""Commands that end within this time show no elapsed time."""
_REDRAW_S, _LINE_INTERVAL_S = 0.2, 30.0
"""Minimum times between two reports of progress: on a terminal, and elsewhere."""
_UNCHANGED = re.compile(r"(\x1b\[[01]m|\r\n)")


class _EscapingStream:
    """A text stream that escapes control characters. It delegates all other methods to ``stream``."""

    def __init__(self, stream: TextIO) -> None:
        self.unescaped = stream

    def write(self, text: str) -> int:
        parts = (part if _UNCHANGED.fullmatch(part) else printable(part) for part in _UNCHANGED.split(text))
        self.unescaped.write("".join(parts))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unescaped, name)


@contextmanager
def escaped_output() -> Iterator[None]:
    """Escape control characters in all output to stdout and stderr inside the block."""
    out, err = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = cast("TextIO", _EscapingStream(out)), cast("TextIO", _EscapingStream(err))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err


@contextmanager
def unescaped_output() -> Iterator[None]:
    """Write to stdout and stderr unchanged inside the block, for a protocol between programs."""
    out, err = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = unescaped(out), unescaped(err)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err


class _TerminalText(io.StringIO):
    """A buffer for terminal output whose length is not known yet."""

    def isatty(self) -> bool:
        """Return True: the text must have the layout for a terminal."""
        return True


@contextmanager
def paged_output() -> Iterator[None]:
    """Page the output of the block if stdout is a terminal and the output is longer than the screen.

    ``PAGER`` names the pager; ``cat`` or an empty value turns paging off. After an error, the output is printed
    without a pager.
    """
    stream = sys.stdout
    is_off = os.environ.get("PAGER") in ("", "cat") or os.environ.get("TERM") == "dumb"
    if is_off or not isinstance(stream, _EscapingStream) or not (stream.isatty() and sys.stdin.isatty()):
        yield
        return
    terminal, buffer = stream.unescaped, _TerminalText()
    stream.unescaped = buffer
    is_complete = False
    try:
        yield
        is_complete = True
    finally:
        stream.unescaped = terminal
        text = buffer.getvalue()
        size = shutil.get_terminal_size()
        lines = sum(1 + max(0, len(line) - 1) // size.columns for line in text.splitlines())
        if is_complete and lines >= size.lines:
            click.echo_via_pager(text, color=True)
        else:
            terminal.write(text)
            terminal.flush()


@contextmanager
def elapsed_time(title: str, after_s: float = PROGRESS_AFTER_S) -> Iterator[None]:
    """Show ``title`` and the time since the start of the block on stderr, after ``after_s`` seconds.

    Nothing is shown unless stdout and stderr are terminals. The line is removed at the end of the block.
    """
    if not (sys.stdout.isatty() and sys.stderr.isatty()):
        yield
        return
    from rich.console import Console  # imported here to keep start-up short
    from rich.progress import Progress, TextColumn, TimeElapsedColumn

    console = Console(file=unescaped(sys.stderr))
    progress = Progress(TextColumn("{task.description}"), TimeElapsedColumn(), console=console, transient=True)
    progress.add_task(title, total=None)
    timer = threading.Timer(after_s, progress.start)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        progress.stop()


@contextmanager
def stage_progress(*, quiet: bool = False) -> Iterator[Progress]:
    """Yield a function that shows a stage, how much of it is done, and the remaining time on stderr.

    A terminal has one changing line, which is removed at the end of the block. Otherwise a line is printed every
    ``_LINE_INTERVAL_S`` seconds.
    """
    terminal = sys.stderr.isatty()
    start_by_stage: dict[str, tuple[float, int]] = {}
    last_shown_s = 0.0 if terminal else time.monotonic()

    def show(stage: str, done: int, total: int) -> None:
        nonlocal last_shown_s
        now = time.monotonic()
        start_s, first_count = start_by_stage.setdefault(stage, (now, done))
        if now - last_shown_s < (_REDRAW_S if terminal else _LINE_INTERVAL_S):
            return
        last_shown_s = now
        left_s = (now - start_s) / (done - first_count) * (total - done) if first_count < done <= total else None
        text = f"{stage}: {done:,} of {total:,}" if total else f"{stage}: {done:,}" if done else stage
        text += f", about {format_duration(left_s)} left" if left_s is not None else ""
        if terminal:
            send_control("\r\x1b[2K", sys.stderr)
        click.echo(text, nl=not terminal, err=True)

    try:
        yield no_progress if quiet else show
    finally:
        if terminal and not quiet:
            send_control("\r\x1b[2K", sys.stderr)


def unescaped(stream: TextIO) -> TextIO:
    """Return the stream that prints control sequences unchanged. The caller must escape untrusted text."""
    return stream.unescaped if isinstance(stream, _EscapingStream) else stream


def send_control(sequence: str, stream: TextIO) -> None:
    """Send a control sequence to a terminal."""
    unescaped(stream).write(sequence)
    stream.flush()
