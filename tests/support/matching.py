"""Match and compare the runs of a table in one call."""

from collections.abc import Sequence
from typing import Any

from assay.analysis.comparison.matched import combined_or_named, match
from assay.analysis.comparison.result import SpeedupResult
from assay.analysis.comparison.significance import FastestLevels, fastest_levels
from assay.analysis.comparison.speedups import speedups_of
from assay.analysis.statistics import RunTable


def matched_speedups(
    table: RunTable,
    factor: str | Sequence[str],
    baseline: str | None = None,
    *,
    by: str | None = "workload",
    **matching: Any,
) -> list[SpeedupResult]:
    """Return every level of ``factor``, or of several joined, against ``baseline``; ``matching`` is :func:`match`'s."""
    table, factor = combined_or_named(table, factor)
    return speedups_of(match(table, factor, **matching), baseline, by=by)


def indistinguishable_from_best(table: RunTable, factor: str) -> list[FastestLevels]:
    """Return the top group of levels of ``factor`` for each workload."""
    return fastest_levels(match(table, factor))
