"""Detect runs that are stored already, in another notation or with fewer columns.

In: the repository's runs as a table, and new ones. Out: the imports and campaigns that hold runs which nothing that
both tell sets apart from new ones, with how many.

A row of a table is known by what it says. Written as ``1,119`` by one tool and as ``1119.0`` by another, or exported
without its date, it says something else, and the same run would count twice: as a repetition with no scatter at all. So
new rows are compared with stored rows by their time and every column that both have; each run there stands for
one new run at most.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.analysis.statistics import ABSENT, DESCRIPTIVE, Ints, RunTable

SHARE = 0.5
"""From this share of the new runs on, or of those there, they are probably the same."""
ALL_BUT_MIN = 5
"""Where most of an import is found among many more new runs: from this many on that is hardly chance."""
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class DuplicateSource:
    """An import or campaign that probably holds the same runs."""

    bundle: str
    """The import's id, or the campaign's."""
    runs: int
    """How many of the new runs it has."""
    of: int
    """Number of new runs."""
    its_runs: int
    """How many runs it has that the new ones do not hold under the same id."""


def probably_there(stored: RunTable, new: RunTable, known: Ints) -> list[DuplicateSource]:
    """Return imports that probably hold the same runs; ``known``: rows of ``stored`` with ids of the new runs."""
    if len(new) == 0 or len(stored) == 0 or "campaign_id" not in stored.columns:
        return []
    free = np.ones(len(stored), dtype=np.bool_)
    free[known] = False
    times = np.round(stored.values["duration_s"], _DIGITS)
    alike = free & np.isin(times, np.round(new.values["duration_s"], _DIGITS))
    campaign = stored.columns["campaign_id"]
    count = len(campaign.levels)
    hits = np.bincount(campaign.codes[alike & (campaign.codes != ABSENT)], minlength=count)
    sizes = np.bincount(campaign.codes[free & (campaign.codes != ABSENT)], minlength=count)
    matches = []
    for code in np.flatnonzero(hits).tolist():
        if _many(min(int(hits[code]), len(new)), len(new), int(sizes[code])):
            rows = np.flatnonzero((campaign.codes == code) & free)
            same = _in_common(stored.taken(rows), new)
            if _many(same, len(new), len(rows)):
                matches.append(DuplicateSource(campaign.levels[code], same, len(new), len(rows)))
    return sorted(matches, key=lambda match: -match.runs)


def _many(same: int, new: int, there: int) -> bool:
    return same >= SHARE * new or (same >= SHARE * there and same >= ALL_BUT_MIN)


def _in_common(a: RunTable, b: RunTable) -> int:
    """Return how many runs of both are the same in their time and in every column that both have."""
    names = [name for name in a.factors if name in b.columns and name not in DESCRIPTIVE]
    both = [
        name for name in names if (a.columns[name].codes != ABSENT).any() and (b.columns[name].codes != ABSENT).any()
    ]
    started = all(np.isfinite(table.values["started_unix_s"]).all() for table in (a, b))
    key_counts = [Counter(_keys(table, both, started=started)) for table in (a, b)]
    return (key_counts[0] & key_counts[1]).total()


def _keys(table: RunTable, names: Sequence[str], *, started: bool) -> list[tuple[object, ...]]:
    """Return the values of each run that are compared."""
    columns: list[list[object]] = [np.round(table.values["duration_s"], _DIGITS).tolist()]
    if started:
        columns.append(np.round(table.values["started_unix_s"]).tolist())
    for name in names:
        column = table.columns[name]
        texts: NDArray[np.object_] = np.array(
            [*(" ".join(level.split()) for level in column.levels), None], dtype=object
        )
        columns.append(texts[column.codes].tolist())
    return list(zip(*columns, strict=True))
