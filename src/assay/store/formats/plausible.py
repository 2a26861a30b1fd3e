"""Limits of plausible values in foreign files; a value beyond them is damage."""

from typing import Final

DURATION_MAX_S: Final = 366 * 86_400
"""Maximum plausible duration, in seconds."""
