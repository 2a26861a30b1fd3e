"""Report the progress of a long computation, in the same form in every package."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Receives the name of a stage, its completed amount, and its total; 0 for an unknown total."""


def no_progress(_stage: str, _done: int, _total: int) -> None:
    """Ignore a report."""
