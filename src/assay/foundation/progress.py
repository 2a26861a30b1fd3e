"""Report how far a long computation is: the one form for every package."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Receives a stage in words, how much of it is done, and its total; 0 for an unknown total."""


def no_progress(_stage: str, _done: int, _total: int) -> None:
    """Ignore a report."""
