"""Detect runs that are already stored, in another notation or with fewer columns.

In: the repository's runs as a table, and new runs. Out: imports and campaigns with runs that match new runs, and the
number of these runs.

A table row has no id but its content. If one tool writes ``1,119`` and another ``1119.0``, or if an export lacks the
date, the same run would be stored twice, and count as two repetitions with equal times. New rows are therefore compared
with stored rows by time and by all columns that both have. Each stored run matches at most one new run.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.analysis.statistics import ABSENT, DESCRIPTIVE, Ints, RunTable

MATCHING_SHARE_MIN = 0.5
"""Minimum share of matching runs, among the new or the stored runs, for a probable duplicate."""
MATCHES_MIN = 5
"""Minimum number of matches if most of an import is found among many more new runs; fewer can be chance."""
_DIGITS = 6
"""Decimal places of seconds to which durations are compared."""


@dataclass(frozen=True, slots=True)
class DuplicateSource:
    """An import or campaign that probably contains the same runs."""

    bundle: str
    """Id of the import or campaign."""
    runs: int
    """Number of new runs that it contains."""
    of: int
    """Number of new runs."""
    stored_runs: int
    """Number of its runs whose ids are not among the new runs."""


def probable_duplicates(stored_runs: RunTable, new_runs: RunTable, rows_of_new: Ints) -> list[DuplicateSource]:
    """Return imports that probably contain the same runs.

    ``rows_of_new``: rows of ``stored_runs`` whose ids are those of new runs.
    """
    if len(new_runs) == 0 or len(stored_runs) == 0 or "campaign_id" not in stored_runs.columns:
        return []
    is_other_run = np.ones(len(stored_runs), dtype=np.bool_)
    is_other_run[rows_of_new] = False
    times = np.round(stored_runs.values["duration_s"], _DIGITS)
    has_same_time = is_other_run & np.isin(times, np.round(new_runs.values["duration_s"], _DIGITS))
    campaign = stored_runs.columns["campaign_id"]
    count = len(campaign.levels)
    same_time_counts = np.bincount(campaign.codes[has_same_time & (campaign.codes != ABSENT)], minlength=count)
    run_counts = np.bincount(campaign.codes[is_other_run & (campaign.codes != ABSENT)], minlength=count)
    sources = []
    for code in np.flatnonzero(same_time_counts).tolist():
        if _are_duplicates(min(int(same_time_counts[code]), len(new_runs)), len(new_runs), int(run_counts[code])):
            rows = np.flatnonzero((campaign.codes == code) & is_other_run)
            matching_count = _matching_runs(stored_runs.subset(rows), new_runs)
            if _are_duplicates(matching_count, len(new_runs), len(rows)):
                sources.append(DuplicateSource(campaign.levels[code], matching_count, len(new_runs), len(rows)))
    return sorted(sources, key=lambda source: -source.runs)


def _are_duplicates(matching_count: int, new_count: int, stored_count: int) -> bool:
    return matching_count >= MATCHING_SHARE_MIN * new_count or (
        matching_count >= MATCHING_SHARE_MIN * stored_count and matching_count >= MATCHES_MIN
    )


def _matching_runs(a: RunTable, b: RunTable) -> int:
    """Return the number of runs that agree in their time and in all columns that both have."""
    names = [name for name in a.factors if name in b.columns and name not in DESCRIPTIVE]
    common_columns = [
        name for name in names if (a.columns[name].codes != ABSENT).any() and (b.columns[name].codes != ABSENT).any()
    ]
    by_start = all(np.isfinite(table.values["started_unix_s"]).all() for table in (a, b))
    key_counts = [Counter(_keys(table, common_columns, by_start=by_start)) for table in (a, b)]
    return (key_counts[0] & key_counts[1]).total()


def _keys(table: RunTable, names: Sequence[str], *, by_start: bool) -> list[tuple[object, ...]]:
    """Return the compared values of each run."""
    columns: list[list[object]] = [np.round(table.values["duration_s"], _DIGITS).tolist()]
    if by_start:
        columns.append(np.round(table.values["started_unix_s"]).tolist())
    for name in names:
        column = table.columns[name]
        texts: NDArray[np.object_] = np.array(
            [*(" ".join(level.split()) for level in column.levels), None], dtype=object
        )
        columns.append(texts[column.codes].tolist())
    return list(zip(*columns, strict=True))
