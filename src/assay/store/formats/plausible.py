"""Limits of plausible values in foreign files; a value beyond them is an error in the file."""

from typing import Final

DURATION_MAX_S: Final = 366 * 86_400
"""Maximum plausible duration, in seconds: a year."""
