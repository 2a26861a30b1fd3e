"""Choose two runs that show why one level of a factor is faster than another.

In: a table of runs, a factor, two of its levels, and which rows were observed in detail. Out: one row of each level;
the two are equal in every other factor. Matched groups (:mod:`assay.analysis.comparison.matched`) that were observed on
both sides come first, then those with more repetitions on the side that has fewer, then those whose ratio is nearest to
the mean of all: a typical group, not an extreme one.
"""

import numpy as np

from assay.analysis.comparison.matched import group_ratios, match, side
from assay.analysis.statistics import ABSENT, Ints, Mask, RunTable, require_factor

_REPETITIONS_MAX = 5
"""Maximum number of repetitions per side that counts in the choice of a group."""


def example_pair(
    table: RunTable, factor: str, baseline: str, candidate: str, is_observed: Mask
) -> tuple[int, int] | None:
    """Return a row with ``baseline`` and a row with ``candidate`` to compare; None if no two runs match.

    ``is_observed``: for each row of the table, whether it has other metrics than its time.
    """
    column, matched = require_factor(table, factor), match(table, factor)
    codes = column.code(baseline), column.code(candidate)
    if ABSENT in codes or min(codes) < 0:
        return None
    ratios = group_ratios(side(matched, codes[0]), side(matched, codes[1]), matched)
    if not len(ratios.groups):
        return None

    def rows(code: int) -> tuple[Ints, Ints]:
        rows_of_level = slice(int(matched.starts[code]), int(matched.starts[code + 1]))
        return matched.positions[rows_of_level], matched.groups.of_row[rows_of_level]

    sides = [rows(code) for code in codes]
    observed_groups = [
        np.bincount(groups[is_observed[positions]], minlength=matched.groups.count)[ratios.groups] > 0
        for positions, groups in sides
    ]
    repetitions = np.minimum(np.minimum(*ratios.n), _REPETITIONS_MAX)
    distance = np.abs(ratios.log_ratio - ratios.log_ratio.mean())
    best_group = int(ratios.groups[np.lexsort((distance, -repetitions, ~(observed_groups[0] & observed_groups[1])))[0]])
    pair = []
    for positions, groups in sides:
        rows_in_group = positions[groups == best_group]
        pair.append(int(rows_in_group[np.argmax(is_observed[rows_in_group])]))
    return pair[0], pair[1]
