"""The rows of a curve as text, which the terminal, pages and reports share."""

from assay.foundation.units import format_percent
from assay.questions.decisions.curve import Curve
from assay.text import NO_VALUE, TextTable, column_title, interval, ratio


def curve_table(factor: str, curve: Curve) -> TextTable:
    """Return speed, 95 % interval, parallel efficiency and cost at each level of ``factor``."""
    rows = [
        (
            f"{point.level:g}",
            ratio(point.speed),
            interval(point.low, point.high),
            NO_VALUE if point.efficiency is None else format_percent(point.efficiency),
            ratio(point.cost),
        )
        for point in curve.points
    ]
    title = column_title(factor)
    headers = (title, "Speed", "95 % interval", "Parallel efficiency", "Cost per job")
    return TextTable(f"By {title.lower()}, relative to the smallest level", headers, tuple(rows))
