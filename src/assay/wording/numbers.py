"""Numbers as people read them: seconds, MB/s, bytes, shares, counts; a dash where there is none."""

from __future__ import annotations

from assay.units import format_bytes

NOTHING = "–"


def seconds(value: float | None) -> str:
    """Return seconds with the digits that are read."""
    if value is None:
        return NOTHING
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def rate(value: float | None) -> str:
    """Return MB/s with three digits or so."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def size(value: float | None) -> str:
    """Return bytes with their unit: ``59.7 kB``."""
    return NOTHING if value is None else format_bytes(value)


def share(value: float | None) -> str:
    """Return a share of 1 as a percentage."""
    return NOTHING if value is None else f"{100 * value:.0f} %"


def count(value: float) -> str:
    """Return a number of jobs: whole from a hundred on, else with two decimals."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:,.2f}"
