"""Show the progress of a campaign on stderr: a live line on a terminal, otherwise plain lines."""

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from assay.foundation.units import format_duration
from assay.interfaces.cli.terminal import unescaped
from assay.model import Run, RunStatus
from assay.questions.decisions.provisional import FirstRuns, provisional_sentence
from assay.text.control_characters import printable

_MARKS = {RunStatus.VALID: "✓", RunStatus.INVALID: "!", RunStatus.FAILED: "✗"}


class CampaignDisplay:
    """Shows the current run, its step and the remaining time. Finished runs remain as lines above.

    ``first_runs``: collects the first runs, whose provisional ratios are printed. ``finished_run_ids``: receives the
    ids of finished runs.
    """

    def __init__(self, first_runs: FirstRuns | None = None, finished_run_ids: list[str] | None = None) -> None:
        self._first_runs = first_runs
        self._finished_run_ids = [] if finished_run_ids is None else finished_run_ids
        self._console = Console(file=unescaped(sys.stderr), highlight=False, markup=False)
        self._title = ""
        self._step = ""
        self._since = time.monotonic()
        self._end_at: float | None = None
        self._live = Live(console=self._console, get_renderable=self._line, refresh_per_second=4, transient=True)

    def __enter__(self) -> Self:
        """Start the live line."""
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the live line."""
        if self._console.is_terminal:
            self._live.stop()

    def _line(self) -> Text:
        elapsed = format_duration(time.monotonic() - self._since)
        texts = [text for text in (self._title, f"{self._step} ({elapsed})") if text]
        if self._end_at is not None:
            texts.append(f"about {format_duration(max(0.0, self._end_at - time.monotonic()))} left")
        return Text(printable(" · ".join(texts)), overflow="ellipsis", no_wrap=True)

    def say(self, text: str) -> None:
        """Print a line above the live line."""
        self._console.print(printable(text), soft_wrap=True)

    def step(self, text: str) -> None:
        """Show the current step."""
        if text != self._step:
            self._step = text
            self._since = time.monotonic()
            if not self._console.is_terminal and "%" not in text and not text.startswith("waiting"):
                self.say(f"  {text}")

    def begin(self, number: int, total: int, title: str, left_s: float | None) -> None:
        """Show the run that begins and, if known, the time for all remaining runs, in seconds."""
        self._title = f"run {number} of {total}: {title}"
        self._end_at = None if left_s is None else time.monotonic() + left_s
        if not self._console.is_terminal:
            left_text = "" if left_s is None else f" (about {format_duration(left_s)} left)"
            self.say(f"{self._title}{left_text}")

    def end(self, run: Run) -> None:
        """Print a line for a finished run, and provisional ratios that it completes."""
        self._finished_run_ids.append(run.run_id)
        levels = ", ".join(f"{name}={level}" for name, level in run.levels.items())
        cache_text = run.cache_state or "cold unknown"
        line = (
            f"{_MARKS[run.status]} {run.workload:<13} {levels:<16} {run.duration_s:7.1f} s  {run.status}, {cache_text}"
        )
        class_text = f" ({run.failure_class})" if run.failure_class else ""
        self.say(f"{line}{class_text}: {run.cause}" if run.cause else line)
        for provisional in self._first_runs.add(run) if self._first_runs else ():
            self.say(provisional_sentence(provisional))
