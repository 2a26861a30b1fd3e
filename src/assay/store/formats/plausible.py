"""Limits of plausible values in imported files; a value beyond them is an error in the file."""

from typing import Final

DURATION_MAX_S: Final = 366 * 86_400
"""Maximum plausible duration, in seconds: a year."""
REPORT_UNIX_S: Final = (631_152_000, 7_258_118_400)
"""Range of plausible times in a report, in Unix seconds: 1990 to 2200. Other times come from a clock that was not
set."""
