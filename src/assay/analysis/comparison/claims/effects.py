"""Compute the gain of one factor in each matched group: configurations that are equal in everything else.

In: a study. Out: log gains in time or in cost by group, with the error from the spread of their runs. The gain of a
numeric factor is for each unit of that factor. If the levels of a factor ran in different sessions, errors allow for
differences between sessions (``effect_sessions.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.analysis.comparison.claims.contrasts import Contrast
from assay.analysis.comparison.claims.effect_sessions import sessions_of_ratios, sessions_of_slopes
from assay.analysis.comparison.claims.study import Study
from assay.analysis.comparison.matched import STRATA
from assay.analysis.statistics import ABSENT, Floats, Groups, Ints, Mask, first_rows, groups_by, means_by
from assay.analysis.statistics.sessions import Imbalance
from assay.text import joined

_NAMED = 6
"""Maximum number of layouts named on each side of a label."""


@dataclass(frozen=True, slots=True)
class Effects:
    """Log gains of matched groups, with the workload and an example row of each group."""

    gain: Floats
    variance: Floats
    """Variance of each gain, from the spread of its group's runs; NaN if unknown."""
    degrees: Floats
    """Degrees of freedom of each variance."""
    example: Ints
    workload: Ints
    log_rate: Floats
    """Increase of the logarithm of the hourly price per unit of the factor; NaN if unknown."""
    members: Ints
    """The configurations of all groups."""
    member_of: Ints
    """The group of each configuration in :attr:`members`."""
    rounding: Floats
    """Maximum error of each gain because times are rounded."""
    sessions: Imbalance
    """How unevenly the levels of the factor are spread over sessions."""

    def where(self, keep: Mask) -> Effects:
        """Return the groups that the mask ``keep`` selects."""
        number = np.cumsum(keep) - 1
        stays = keep[self.member_of]
        return Effects(
            gain=self.gain[keep],
            variance=self.variance[keep],
            degrees=self.degrees[keep],
            example=self.example[keep],
            workload=self.workload[keep],
            log_rate=self.log_rate[keep],
            members=self.members[stays],
            member_of=number[self.member_of[stays]],
            rounding=self.rounding[keep],
            sessions=self.sessions.subset(np.flatnonzero(keep)),
        )

    @property
    def in_cost(self) -> Effects:
        """Gains in cost: gains in time minus the increase of the hourly price; only groups with a price."""
        priced = self.where(np.isfinite(self.log_rate))
        return replace(priced, gain=priced.gain - priced.log_rate)


def effects_of(study: Study, contrast: Contrast, among: Mask) -> Effects:
    """Return the log gain per unit of ``contrast`` in every group of configurations that are otherwise equal.

    The gain is the negated slope of log time over the contrast: for 0 and 1, the log ratio of geometric means.
    """
    factor = study.contrasts[contrast]
    rows = np.flatnonzero(among & np.isfinite(factor))
    column = contrast.factor_in(study.table)
    all_groups = groups_by(study.table.subset(rows), [name for name in study.table.factors if name != column])
    group, count = all_groups.of_row, all_groups.count
    weights = study.runs[rows]
    total = np.bincount(group, weights=weights, minlength=count)
    x, y = factor[rows], study.log_s[rows]
    x = x - (np.bincount(group, weights=weights * x, minlength=count) / total)[group]
    spread = np.bincount(group, weights=weights * x * x, minlength=count)
    slope = np.bincount(group, weights=weights * x * y, minlength=count)
    priced = np.bincount(group, weights=weights * x * study.log_rate[rows], minlength=count)
    varied = spread > 1e-9
    groups = np.flatnonzero(varied)
    example = rows[first_rows(all_groups)[groups]]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = weights * x / spread[group]
        part = share**2 * study.variance[rows] / weights
        rounding = np.abs(share) * study.rounding[rows]
    part = np.where(x == 0, 0.0, part)  # the middle of a group does not change the slope
    variance, degrees = _sums(all_groups, part, weights - 1)
    member = varied[group]
    return Effects(
        gain=-slope[groups] / spread[groups],
        variance=variance[groups],
        degrees=degrees[groups],
        example=example,
        workload=study.table.columns["workload"].codes[example].astype(np.int64),
        log_rate=priced[groups] / spread[groups],
        members=rows[member],
        member_of=(np.cumsum(varied) - 1)[group[member]],
        rounding=np.bincount(group, weights=rounding, minlength=count)[groups].astype(np.float64),
        sessions=sessions_of_slopes(study.sessions, rows, group, factor[rows], share, groups),
    )


def _sums(groups: Groups, variance: Floats, degrees: Floats) -> tuple[Floats, Floats]:
    """Return, by group, the sum of variances and its degrees of freedom (Satterthwaite)."""

    def summed(values: Floats) -> Floats:
        return np.bincount(groups.of_row, weights=values, minlength=groups.count).astype(np.float64)

    total = summed(variance)
    with np.errstate(invalid="ignore", divide="ignore"):
        terms = np.where(variance == 0, 0.0, variance**2 / degrees)
        degrees_of_sum = total**2 / summed(terms)
    return total, np.where(total > 0, degrees_of_sum, summed(degrees))


def within_clusters(study: Study, effects: Effects, split: Floats, kind: Floats | None = None) -> Effects:
    """Return the groups of a cluster, workload and ``kind`` with groups on both sides of ``split``.

    Only groups of the same cluster are compared with each other.
    """
    names = [name for name in ("workload", "data_bytes", "cluster", *STRATA) if name in study.table.columns]
    groups = groups_by(study.table.subset(effects.example), names)
    key = groups.of_row if kind is None else groups.of_row * 2 + (kind[effects.example] > 0)
    return effects.where(_on_both_sides(key, split[effects.example]))


def with_both_sides(study: Study, effects: Effects, split: Floats, columns: Sequence[str]) -> Effects:
    """Return the groups with a counterpart on the other side of ``split`` that is equal in all but ``columns``."""
    groups = groups_by(study.table.subset(effects.example), [n for n in study.table.factors if n not in columns])
    return effects.where(_on_both_sides(groups.of_row, split[effects.example]))


def _on_both_sides(key: Ints, sides: Floats) -> Mask:
    return np.isin(key, np.intersect1d(key[sides == 0], key[sides == 1]))


def layouts_pooled(study: Study, effects: Effects, contrast: Contrast) -> str:
    """Return which layouts are on both sides of ``contrast``: ``SSD and SS2 against HDD``; empty without both."""
    column = study.table.columns.get(contrast.factor_in(study.table))
    if column is None:
        return ""
    side_of, sides = study.contrasts[contrast][effects.members], []
    for side in (1.0, 0.0):
        codes = np.unique(column.codes[effects.members[side_of == side]])
        names = [column.levels[code] for code in codes if code != ABSENT]
        more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
        sides.append(joined([*names[:_NAMED], *more]))
    return f"{sides[0]} against {sides[1]}" if all(sides) else ""


def price_ratios(effects: Effects) -> tuple[float, float] | None:
    """Return the smallest and the largest ratio of hourly prices among the groups; None without a price."""
    known = np.exp(effects.log_rate[np.isfinite(effects.log_rate)])
    return (float(known.min()), float(known.max())) if len(known) else None


def ratio_of_gains(study: Study, effects: Effects, split: Floats, columns: Sequence[str]) -> Effects:
    """Return the ratio of the gain at ``split`` 0 to the gain at ``split`` 1, with all but ``columns`` equal."""
    groups = groups_by(study.table.subset(effects.example), [n for n in study.table.factors if n not in columns])
    sides = split[effects.example]
    without, with_it = (
        means_by(effects.gain[sides == side], groups.of_row[sides == side], groups.count) for side in (0.0, 1.0)
    )
    both = np.flatnonzero((without.n > 0) & (with_it.n > 0))
    first = first_rows(groups)[both]
    number = np.where(sides == 0, without.n[groups.of_row], with_it.n[groups.of_row])
    variance, degrees = _sums(groups, effects.variance / number**2, effects.degrees)
    rounding = np.bincount(groups.of_row, weights=effects.rounding / number, minlength=groups.count).astype(np.float64)
    number_of = np.full(groups.count, -1, dtype=np.int64)
    number_of[both] = np.arange(len(both))
    member_of = number_of[groups.of_row[effects.member_of]]
    return Effects(
        gain=without.mean[both] - with_it.mean[both],
        variance=variance[both],
        degrees=degrees[both],
        example=effects.example[first],
        workload=effects.workload[first],
        log_rate=np.full(len(both), np.nan),
        members=effects.members[member_of >= 0],
        member_of=member_of[member_of >= 0],
        rounding=rounding[both],
        sessions=sessions_of_ratios(
            effects.sessions, number_of[groups.of_row], np.where(sides == 0, 1, -1) / number, len(both)
        ),
    )
