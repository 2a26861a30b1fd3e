"""Format numbers: seconds, MB/s, bytes, shares and counts; a dash if there is no value."""

import math

from assay.foundation.units import format_bytes, format_duration, format_percent

NO_VALUE = "–"


def seconds(value: float | None) -> str:
    """Return seconds with one decimal below 100, else whole."""
    if value is None:
        return NO_VALUE
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def tenths(value: float | None) -> str:
    """Return seconds with one decimal at any size, for times within a run and for the parts of a run's time."""
    return NO_VALUE if value is None else f"{value:,.1f}"


def interval_s(low_s: float | None, high_s: float | None) -> str:
    """Return an interval of seconds, or a dash."""
    return NO_VALUE if low_s is None or high_s is None else f"{seconds(low_s)} to {seconds(high_s)}"


def duration_text(value_s: float, *ends_s: float, rough: bool) -> str:
    """Return a duration with its range: ``18 min 05 s (7 min 25 s to 45 min 58 s)``, ``9.7 s (6.1 s to 15.5 s)``.

    ``rough``: a rough estimate has two significant digits, in one unit: ``about 18 min (7 to 46)``. Its ends are
    rounded to the same digit.
    """
    if not rough:
        times_s = (value_s, *ends_s)
        has_tenths = min(times_s) < _TENTHS_BELOW_S and max(times_s) < _TENTHS_UP_TO_S
        value, *ends = (f"{time_s:.1f} s" if has_tenths else format_duration(time_s) for time_s in times_s)
        return f"{value}{f' ({ends[0]} to {ends[1]})' if ends else ''}"
    unit, unit_s = next(((name, size_s) for name, size_s in _UNITS if value_s < 100 * size_s), _UNITS[-1])
    value, *ends = rough_texts(*(time_s / unit_s for time_s in (value_s, *ends_s)))
    return f"about {value} {unit}{f' ({ends[0]} to {ends[1]})' if ends else ''}"


def seconds_texts(value_s: float, low_s: float, high_s: float, *, rough: bool) -> tuple[str, str]:
    """Return seconds and their interval as two cells of a table; ``rough``: as in :func:`duration_text`."""
    if not rough:
        return seconds(value_s), interval_s(low_s, high_s)
    value, low, high = rough_texts(value_s, low_s, high_s)
    return value, f"{low} to {high}"


_TENTHS_BELOW_S, _TENTHS_UP_TO_S = 10.0, 60.0
"""A duration with its range has tenths of a second if the shortest is below the first and all are below the second."""
_UNITS = (("s", 1.0), ("min", 60.0), ("h", 3600.0), ("days", 86400.0))
"""Units of rough durations, and their lengths in seconds."""


def rough_texts(value: float, *others: float) -> list[str]:
    """Return a rough estimate and its ends: all rounded to the second significant digit of the estimate."""
    digits = 1 - math.floor(math.log10(value)) if value > 0 else 0
    return [f"{round(number, digits):,.{max(0, digits)}f}" for number in (value, *others)]


def rate(value: float | None) -> str:
    """Return MB/s with about three significant digits."""
    if value is None:
        return NO_VALUE
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def size(value: float | None) -> str:
    """Return bytes with their unit: ``59.7 kB``."""
    return NO_VALUE if value is None else format_bytes(value)


def share(value: float | None) -> str:
    """Return a share of 1 in per cent with three digits: ``12.3 %``."""
    return NO_VALUE if value is None else f"{100 * value:.3g} %"


def probability(value: float | None) -> str:
    """Return a share of draws in per cent; shows <1 % and >99 % instead of rounding to 0 or 100 %."""
    if value is None:
        return NO_VALUE
    if value in (0.0, 1.0) or 0.005 <= value < 0.995:
        return format_percent(value)
    return "<1 %" if value < 0.5 else ">99 %"


def jobs_text(value: float) -> str:
    """Return a number of jobs: whole from 1,000, else with two decimals."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:,.2f}"


def estimated_duration(seconds: float) -> str:
    """Return a duration as an estimate: ``40 s``, ``12 min``, ``5.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
