"""Count the runs behind a decision on numbers of disks by kind of disk.

In: matched groups of runs with the factor ``disks`` (``analysis/comparison/factors/disk_counts.py``), and the rows of
the decision. Out: :class:`~assay.questions.decisions.decision.ComparedDisks`. Runs are equal in the kind of their disks
within a matched group, so a kind that was measured with one number of disks has no ratio.
"""

import numpy as np

from assay.analysis.comparison.factors.disk_counts import DISK_KIND, DISKS
from assay.analysis.comparison.matched import MatchedGroups
from assay.analysis.statistics import Ints, Mask, counts_by, has_level
from assay.questions.decisions.decision import ComparedDisks, DiskRuns


def compared_disks(matched: MatchedGroups, is_in_strata: Mask, is_in_decision: Mask) -> ComparedDisks | None:
    """Return the kinds of disks behind a decision; None unless its factor is the number of disks.

    Masks are over the rows that count. ``is_in_strata``: rows of the decision's workloads, origin and lab scale.
    ``is_in_decision``: those of them with one of its options.
    """
    table, factor = matched.table, matched.factor
    if factor != DISKS or DISK_KIND not in table.columns:
        return None
    group = matched.groups.of_row
    pairs = np.unique(np.stack([group, table.columns[factor].codes[matched.positions]])[:, is_in_decision], axis=1)
    has_several_kinds = np.bincount(pairs[0], minlength=matched.groups.count) > 1
    compared_runs = _runs_by_kind(matched, np.flatnonzero(is_in_decision & has_several_kinds[group]))
    kinds = {disks.kind for disks in compared_runs}
    other_runs = _runs_by_kind(matched, np.flatnonzero(is_in_strata))
    return ComparedDisks(compared_runs, tuple(disks for disks in other_runs if disks.kind not in kinds))


def _runs_by_kind(matched: MatchedGroups, rows: Ints) -> tuple[DiskRuns, ...]:
    table = matched.table.subset(matched.positions[rows])
    disk_runs = []
    for kind, runs in counts_by(table, DISK_KIND).items():
        if kind and runs:
            numbers = counts_by(table.subset(np.flatnonzero(has_level(table, DISK_KIND, kind))), DISKS)
            disk_counts = sorted((number for number, count in numbers.items() if number and count), key=int)
            disk_runs.append(DiskRuns(kind, runs, tuple(disk_counts)))
    return tuple(sorted(disk_runs, key=lambda disks: -disks.runs))
