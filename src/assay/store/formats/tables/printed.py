"""Parse and check numbers and dates as benchmark programs print them.

In: text. Out: seconds, bytes per second, ISO 8601 in UTC; or a message with the reason. assay does not guess: a
date in a zone whose abbreviation has several meanings (EST, IST, CST) is unknown.
"""

import math
import re
from datetime import UTC, datetime
from typing import Final

from assay.foundation.units import MIB
from assay.store.formats.plausible import DURATION_MAX_S

RATE_MAX_MB_PER_S: Final = 1e9
"""Maximum rate: a petabyte per second. A higher number is an error in the file."""
BYTES_MAX: Final = 10**18
"""Maximum number of bytes: an exabyte. A higher number is an error in the file."""
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_JAVA_DATE = re.compile(
    r"(?P<weekday>[A-Z][a-z]{2}) (?P<month>[A-Z][a-z]{2}) (?P<day>[0-9]{2}) (?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})"
    r":(?P<second>[0-9]{2}) (?P<zone>UTC|GMT|Z) (?P<year>[0-9]{4})"
)


def mib_to_mb(mib: float) -> float:
    """Convert units of 2^20 to units of 10^6."""
    return mib * MIB / 1e6


def duration_problem(duration_s: float) -> str | None:
    """Return why a duration is impossible; None if it is possible."""
    if not math.isfinite(duration_s):
        return "the duration is not a finite number"
    if duration_s <= 0:
        return f"the duration is {duration_s:g} s; a run takes more than 0"
    if duration_s > DURATION_MAX_S:
        return f"the duration is {duration_s:g} s, which is more than a year"
    return None


def iso_utc(unix_s: float) -> str | None:
    """Return a time in seconds since 1970 as ISO 8601 in UTC; None outside the years 2000 to 2100."""
    if not 946_684_800 <= unix_s < 4_102_444_800:
        return None
    return datetime.fromtimestamp(unix_s, UTC).isoformat(timespec="milliseconds")


def java_date_unix_s(text: str) -> float | None:
    """Return the time that Java's ``Date`` printed (``Mon Sep 07 12:00:00 UTC 2015``); None unless the zone is UTC.

    The names are English in every locale. The result is also None if the weekday does not belong to the date.
    """
    match = _JAVA_DATE.fullmatch(text)
    if match is None or match["month"] not in _MONTHS or match["weekday"] not in _DAYS:
        return None
    try:
        time = datetime(
            int(match["year"]),
            _MONTHS.index(match["month"]) + 1,
            int(match["day"]),
            int(match["hour"]),
            int(match["minute"]),
            min(int(match["second"]), 59),
            tzinfo=UTC,
        )
    except ValueError:
        return None
    return time.timestamp() if _DAYS[time.weekday()] == match["weekday"] else None


def utc_of(text: str) -> str | None:
    """Return an ISO 8601 date and time in UTC; empty without a time zone, None unless it is a date of 2000 to 2099."""
    try:
        time = datetime.fromisoformat(text.strip())
        utc_time = time.astimezone(UTC) if time.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None
    if utc_time is None:
        return ""
    is_plausible = datetime(2000, 1, 1, tzinfo=UTC) <= utc_time < datetime(2100, 1, 1, tzinfo=UTC)
    return utc_time.isoformat(timespec="milliseconds") if is_plausible else None
