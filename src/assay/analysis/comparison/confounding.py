"""Find the ignored factors that differ between the two sides of a comparison.

In: matched groups in which some factors may differ, and the groups and levels that are compared. Out: the names of the
factors whose levels have different shares in the runs of the two sides. The ratio then includes their effect, and no
interval covers that error.
"""

import numpy as np

from assay.analysis.comparison.matched import MatchedGroups
from assay.analysis.statistics import Ints

SHARE_DIFFERENCE_MAX = 0.01
"""Maximum difference between the two sides' shares of runs that does not confound a comparison."""


def confounded_by(matched_groups: MatchedGroups, groups: Ints, levels: tuple[int, int]) -> tuple[str, ...]:
    """Return the ignored factors that differ between the two ``levels`` (codes) in some of ``groups``."""
    is_compared = np.isin(np.arange(matched_groups.groups.count), groups)
    names = []
    for name in matched_groups.ignored:
        column = matched_groups.table.columns[name]
        width = len(column.levels) + 1
        shares: list[dict[int, float]] = []
        for level in levels:
            rows = np.arange(matched_groups.starts[level], matched_groups.starts[level + 1])
            rows = rows[is_compared[matched_groups.groups.of_row[rows]]]
            of_group = matched_groups.groups.of_row[rows]
            n = np.bincount(of_group, minlength=matched_groups.groups.count)
            key, count = np.unique(
                of_group * width + column.codes[matched_groups.positions[rows]] + 1, return_counts=True
            )
            shares.append(dict(zip(key.tolist(), (count / n[key // width]).tolist(), strict=True)))
        b, c = shares
        if any(abs(b.get(key, 0.0) - c.get(key, 0.0)) > SHARE_DIFFERENCE_MAX for key in b.keys() | c.keys()):
            names.append(name)
    return tuple(names)
