"""How much faster a level of a factor is, over all configurations that were measured with it and with the baseline.

In: runs as a table (durations in seconds). Out: one :class:`Speedup` for each candidate level and each workload (or
level of another factor), a ratio baseline time / candidate time: above 1, the candidate is faster.

Runs are in one **matched set** when every factor but the compared one is equal. Within a set, the ratio is that of the
geometric means of its times on both sides; the speedup is the geometric mean over matched sets. So a level that was
mostly run with more containers or on an easier workload gains nothing by it, as it does where all runs of a level are
averaged (``methods.py`` has those definitions by name). Only valid runs count; warm ones not beside cold ones; origins
and lab scales are never mixed in one figure.

The interval is Student's t on the sets' log ratios; with fewer than :data:`SETS_MIN` sets, all with repetitions on both
sides, it is Welch's within the sets and holds for just these configurations: docs/adr/0005.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.compare.verdict import Conclusion
from assay.errors import SpecificationError
from assay.model.run import RunStatus
from assay.statistics.factors import default_baseline
from assay.statistics.intervals import Estimate
from assay.statistics.keys import (
    Floats,
    Groups,
    Ints,
    combined,
    first_rows,
    groups_by,
    hard_disk_layouts,
    has_level,
    level_of_group,
    require_factor,
    usable,
    warm_beside_cold,
)
from assay.statistics.moments import Means, estimate, means_by, satterthwaite
from assay.statistics.run_table import ABSENT, RunTable
from assay.wording.ratios import format_interval, format_ratio

SETS_MIN = 5
"""Fewer matched sets than this give no interval over sets that is worth its width (docs/adr/0003, 0005)."""
OVER_SETS = "Student's t on log ratios of matched sets"
WITHIN_SETS = "Welch's t within matched sets: these configurations only"
OVER_DEPLOYMENTS = "Student's t on log ratios of deployments"
OVER_GROUPS = "geometric mean of the groups' speedups, Satterthwaite's t"
COUNTED, FAILED, INVALID, WARM = range(4)
REASONS = ("counted", "failed", "invalid", "warm beside cold runs")
DEPLOYMENT = "campaign_id"
STRATA = ("origin", "lab_scale")
"""Never mixed in one figure, whatever else is."""


@dataclass(frozen=True, slots=True)
class Speedup:
    """One candidate level against the baseline, over the matched sets of one group."""

    factor: str
    baseline: str
    candidate: str
    by: str | None
    """The column that groups were made by, such as ``workload``; None for the figure over all groups."""
    group: str
    """The level of ``by``; for the figure over all groups, how many of them it rests on."""
    origin: str
    lab_scale: str | None
    ratio: float | None
    """Baseline time / candidate time; None without a matched set."""
    low: float | None
    high: float | None
    """Ends of the 95 % interval; None where there are too few sets and runs for one."""
    method: str
    log_error: float | None
    """Standard error of the ratio's logarithm, with ``degrees`` of freedom; None where there is no interval."""
    degrees: float | None
    sets: int
    runs_baseline: int
    runs_candidate: int
    """Runs in the matched sets, by side."""
    unmatched: Mapping[str, int]
    """Why runs of the two levels did not count, in words, and how many."""
    ignored: Mapping[str, int]
    """Factors that were allowed to differ, and in how many of the matched sets they did."""
    conclusion: Conclusion
    sentence: str

    @property
    def log_mean(self) -> LogMean:
        """The logarithm of the ratio with its error, to combine it with others. ValueError without an interval."""
        if self.ratio is None or self.log_error is None or self.degrees is None:
            raise ValueError("a speedup without an interval has no standard error")
        return LogMean(math.log(self.ratio), self.log_error, self.degrees, self.method)


@dataclass(frozen=True, slots=True)
class MatchedSets:
    """The sets of a table for one factor; arrays are over the rows that count, sorted by level."""

    table: RunTable
    """All rows, also those that do not count."""
    factor: str
    why: NDArray[np.int8]
    """For each row of the table, its place in :data:`REASONS`."""
    positions: Ints
    """Rows of the table that count: valid, with a level of the factor, and not warm beside cold ones."""
    starts: Ints
    """Where each level begins in ``positions``, and where the last ends."""
    sets: Groups
    """The set of each row that counts."""
    logs: Floats
    ignored: tuple[str, ...]
    deployment: Ints
    """The campaign of each set, where sets are within campaigns; empty otherwise."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Sets that have both levels: their numbers, log ratios (baseline over candidate), and what these rest on."""

    sets: Ints
    log_ratio: Floats
    n: tuple[Ints, Ints]
    deployment: Ints
    """The campaign of each set, where campaigns are the unit; empty otherwise."""
    error_within: Floats
    """Variance of the log ratio from repetitions within the set; NaN when a side has one run."""
    degrees_within: Floats


def match(
    table: RunTable, factor: str, ignore: frozenset[str] = frozenset(), *, deployments: bool = False
) -> MatchedSets:
    """Put runs in sets that are equal in every factor but ``factor`` and those in ``ignore``.

    ``deployments``: runs of one set are also of one campaign, and campaigns are the unit of what follows.
    SpecificationError when no run has one of the factors, and when a stratum (origin, lab scale) is to be ignored.
    """
    column = require_factor(table, factor)
    for name in sorted(ignore):
        require_factor(table, name)
    if ignore & set(STRATA) or factor in STRATA:
        raise SpecificationError("origins and lab scales are never mixed", hint="filter the runs first")
    names = [name for name in table.factors if name != factor and name not in ignore]
    within = [DEPLOYMENT] if deployments and DEPLOYMENT in table.columns else []
    groups = groups_by(table, [*names, *within])
    good = usable(table)
    why = np.where(good, COUNTED, INVALID).astype(np.int8)
    why[has_level(table, "status", RunStatus.FAILED.value)] = FAILED
    why[warm_beside_cold(table, groups, good & (column.codes != ABSENT))] = WARM
    keep = np.flatnonzero((why == COUNTED) & (column.codes != ABSENT))
    small = column.codes[keep].astype(np.int16 if len(column.levels) < 2**15 else np.int32)
    positions = keep[np.argsort(small, kind="stable")]
    starts = np.searchsorted(column.codes[positions], np.arange(len(column.levels) + 1))
    logs = np.log(table.values["duration_s"][positions])
    sets = Groups(groups.of_row[positions], groups.count)
    deployment = level_of_group(table.columns[DEPLOYMENT], groups) if within else np.zeros(0, dtype=np.int64)
    return MatchedSets(table, factor, why, positions, starts, sets, logs, tuple(sorted(ignore)), deployment)


def side(matched: MatchedSets, level: int) -> Means:
    """Return the mean log times of the runs of one level (a code of the factor) in each set."""
    rows = slice(int(matched.starts[level]), int(matched.starts[level + 1]))
    return means_by(matched.logs[rows], matched.sets.of_row[rows], matched.sets.count)


def pairs(b: Means, c: Means, deployment: Ints) -> Pairs:
    """Return the sets that have runs on both sides, from each side's means by set."""
    sets = np.flatnonzero((b.n > 0) & (c.n > 0))
    from_b, from_c = b.variance[sets] / b.n[sets], c.variance[sets] / c.n[sets]
    total = from_b + from_c
    with np.errstate(invalid="ignore", divide="ignore"):
        degrees = total**2 / (from_b**2 / (b.n[sets] - 1) + from_c**2 / (c.n[sets] - 1))
    degrees = np.where(total > 0, degrees, b.n[sets] + c.n[sets] - 2.0)
    unit = deployment[sets] if len(deployment) else deployment
    return Pairs(sets, b.mean[sets] - c.mean[sets], (b.n[sets], c.n[sets]), unit, total, degrees)


@dataclass(frozen=True, slots=True)
class LogMean:
    """A log speedup with its standard error (NaN when not known), degrees of freedom, and how they came about."""

    mean: float
    error: float
    degrees: float
    method: str

    @property
    def ratio(self) -> Estimate:
        """The speedup with its 95 % interval."""
        return estimate(self.mean, self.error, self.degrees)


def log_mean(found: Pairs) -> LogMean | None:
    """Return the log speedup over ``found``; None without a set."""
    m = len(found.sets)
    if m == 0:
        return None
    if len(found.deployment):
        return over_deployments(found.log_ratio, found.deployment)
    return over_sets(found.log_ratio, found.error_within, found.degrees_within)


def over_sets(log_ratio: Floats, error_within: Floats, degrees_within: Floats) -> LogMean:
    """Return the mean of the sets' log ratios: with their scatter, or where they are few with that of their runs.

    ``error_within``: the variance of each log ratio that its runs' scatter makes, NaN when not known, with its degrees
    of freedom.
    """
    m, mean = len(log_ratio), float(log_ratio.mean())
    if m < SETS_MIN and np.isfinite(error_within).all():
        error = float(np.sqrt(error_within.sum()) / m)
        return LogMean(mean, error, satterthwaite(error_within, degrees_within), WITHIN_SETS)
    if m < 2:
        return LogMean(mean, float("nan"), 0.0, OVER_SETS)
    return LogMean(mean, float(log_ratio.std(ddof=1) / np.sqrt(m)), m - 1.0, OVER_SETS)


def over_deployments(log_ratio: Floats, deployment: Ints) -> LogMean:
    """Return the mean over deployments of their mean log ratios.

    Runs of one deployment share its effect, so it counts once, however many sets and runs it has.
    """
    _, dense = np.unique(deployment, return_inverse=True)
    each = means_by(log_ratio, dense, int(dense.max()) + 1).mean
    n = len(each)
    error = float(each.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
    return LogMean(float(each.mean()), error, n - 1.0, OVER_DEPLOYMENTS)


def combine(parts: Sequence[LogMean]) -> LogMean:
    """Return the mean of log speedups, each counting the same; their errors are independent."""
    errors = np.array([part.error**2 for part in parts])
    degrees = satterthwaite(errors, np.array([part.degrees for part in parts]))
    mean = float(np.mean([part.mean for part in parts]))
    return LogMean(mean, float(np.sqrt(errors.sum())) / len(parts), degrees, OVER_GROUPS)


def conclude(baseline: str, candidate: str, found: Estimate | None, sets: int, runs: int) -> tuple[Conclusion, str]:
    """Return the conclusion and its sentence."""
    if found is None:
        return Conclusion.NOT_ENOUGH_RUNS, f"No run of {candidate} matches one of {baseline} in everything else."
    count = f"{sets:,} matched set{'' if sets == 1 else 's'}, {runs:,} runs"
    what = f"{format_ratio(found.value)} times as fast"
    if found.low is None or found.high is None:
        sentence = f"Not enough runs: {candidate} was {what} as {baseline} ({count}), too few for an interval."
        return Conclusion.NOT_ENOUGH_RUNS, sentence
    sure = f"95 % interval {format_interval(found.low, found.high)}, {count}"
    if found.low > 1:
        return Conclusion.FASTER, f"{candidate} is {what} as {baseline} ({sure})."
    if found.high < 1:
        return Conclusion.SLOWER, f"{candidate} is slower than {baseline}: {what} ({sure})."
    sentence = f"No difference shown between {candidate} and {baseline} (ratio {format_ratio(found.value)}, {sure})."
    return Conclusion.NO_DIFFERENCE_SHOWN, sentence


def _differing(matched: MatchedSets, found: Pairs, levels: tuple[int, int]) -> dict[str, int]:
    """Return in how many of the found sets each ignored factor had more than one level on the two sides."""
    parts = [np.arange(matched.starts[level], matched.starts[level + 1]) for level in levels]
    rows = np.concatenate(parts)
    counts = {}
    for name in matched.ignored:
        codes = matched.table.columns[name].codes[matched.positions[rows]].astype(np.float64)
        spread = means_by(codes, matched.sets.of_row[rows], matched.sets.count).variance[found.sets]
        counts[name] = int(np.count_nonzero(spread > 0))
    return counts


def _pick(found: Pairs, keep: Ints) -> Pairs:
    return Pairs(
        found.sets[keep],
        found.log_ratio[keep],
        (found.n[0][keep], found.n[1][keep]),
        found.deployment[keep] if len(found.deployment) else found.deployment,
        found.error_within[keep],
        found.degrees_within[keep],
    )


@dataclass(frozen=True, slots=True)
class Strata:
    """Groups of origin, lab scale, and level of ``by``: what figures are made for."""

    by: str | None
    names: tuple[str, ...]
    of_set: Ints
    """The stratum of each set; arbitrary for a set without a row that counts."""
    first_row: Ints
    counts: Ints
    """Runs by stratum, level of the factor, and reason."""

    def levels(self, table: RunTable, stratum: int) -> dict[str, str | None]:
        """Return the levels that a stratum stands for, by column."""
        row = int(self.first_row[stratum])
        return {name: table.columns[name].text(row) for name in self.names}

    def only(self, found: Pairs, stratum: int) -> Pairs:
        """Return the pairs of one stratum."""
        return _pick(found, np.flatnonzero(self.of_set[found.sets] == stratum))


def stratify(matched: MatchedSets, by: str | None) -> Strata:
    """Return the strata of a table's runs and sets."""
    table, column = matched.table, matched.table.columns[matched.factor]
    names = tuple(dict.fromkeys(name for name in (*STRATA, *([by] if by else [])) if name in table.columns))
    strata = groups_by(table, names)
    of_set = np.zeros(matched.sets.count, dtype=np.int64)
    of_set[matched.sets.of_row] = strata.of_row[matched.positions]
    levels = len(column.levels) + 1  # the last is for rows without one
    key = (strata.of_row * levels + np.where(column.codes == ABSENT, levels - 1, column.codes)) * len(REASONS)
    counts = np.bincount(key + matched.why, minlength=strata.count * levels * len(REASONS))
    return Strata(by, names, of_set, first_rows(strata), counts.reshape(strata.count, levels, len(REASONS)))


def _unmatched(
    strata: Strata, stratum: int, levels: tuple[int, int], used: tuple[int, int], names: tuple[str, str]
) -> dict[str, int]:
    counts = strata.counts[stratum]
    reasons = {
        f"no run of {names[1 - at]} is otherwise equal": int(counts[levels[at], COUNTED]) - used[at] for at in (1, 0)
    }
    reasons |= {REASONS[why]: int(counts[list(levels), why].sum()) for why in (FAILED, INVALID, WARM)}
    return {why: count for why, count in reasons.items() if count}


def _candidate_speedups(
    matched: MatchedSets, strata: Strata, baseline: int, reference: Means, candidate: int
) -> list[tuple[int, Speedup]]:
    """Return the speedups of one level, with the number of their stratum."""
    column = matched.table.columns[matched.factor]
    names = column.levels[baseline], column.levels[candidate]
    found = pairs(reference, side(matched, candidate), matched.deployment)
    stratum_of = strata.of_set[found.sets]
    order = np.argsort(stratum_of, kind="stable")
    bounds = np.searchsorted(stratum_of[order], np.arange(len(strata.counts) + 1))
    speedups = []
    for stratum in np.flatnonzero(strata.counts[:, candidate].sum(axis=1)):
        mine = _pick(found, order[bounds[stratum] : bounds[stratum + 1]])
        level = strata.levels(matched.table, int(stratum))
        used = int(mine.n[0].sum()), int(mine.n[1].sum())
        speedups.append(
            (
                int(stratum),
                _speedup(
                    log_mean(mine),
                    factor=matched.factor,
                    baseline=names[0],
                    candidate=names[1],
                    by=strata.by,
                    group=(level.get(strata.by) or "") if strata.by else "",
                    origin=level.get("origin") or "",
                    lab_scale=level.get("lab_scale"),
                    sets=len(mine.sets),
                    runs_baseline=used[0],
                    runs_candidate=used[1],
                    unmatched=_unmatched(strata, int(stratum), (baseline, candidate), used, names),
                    ignored=_differing(matched, mine, (baseline, candidate)) if matched.ignored else {},
                ),
            )
        )
    return speedups


def _speedup(
    found: LogMean | None,
    *,
    baseline: str,
    candidate: str,
    sets: int,
    runs_baseline: int,
    runs_candidate: int,
    **more: Any,
) -> Speedup:
    ratio = found.ratio if found else None
    conclusion, sentence = conclude(baseline, candidate, ratio, sets, runs_baseline + runs_candidate)
    sure = found is not None and ratio is not None and ratio.low is not None
    return Speedup(
        baseline=baseline,
        candidate=candidate,
        sets=sets,
        runs_baseline=runs_baseline,
        runs_candidate=runs_candidate,
        ratio=ratio.value if ratio else None,
        low=ratio.low if ratio else None,
        high=ratio.high if ratio else None,
        method=found.method if found else OVER_SETS,
        log_error=found.error if found and sure else None,
        degrees=found.degrees if found and sure else None,
        conclusion=conclusion,
        sentence=sentence,
        **more,
    )


def baseline_of(table: RunTable, factor: str) -> str:
    """Return the level that others are compared with when nobody names one: hard disks, or else the first to run.

    SpecificationError when no valid run has one.
    """
    column = require_factor(table, factor)
    present = np.flatnonzero(usable(table) & (column.codes != ABSENT))
    if len(present) == 0:
        raise SpecificationError(f"no valid run has a level of {factor!r}", hint="see what failed with `assay runs`")
    first_rows_of = np.unique(column.codes[present], return_index=True)[1]
    levels = [column.levels[int(column.codes[row])] for row in present[np.sort(first_rows_of)]]
    return default_baseline(factor, levels, hard_disk_layouts(table))


def combined_or_named(table: RunTable, factor: str | Sequence[str]) -> tuple[RunTable, str]:
    """Return the table and the factor's name; several names are made one factor first."""
    if isinstance(factor, str):
        return table, factor
    return combined(table, list(factor)), " + ".join(factor)


def matched_speedups(
    table: RunTable,
    factor: str | Sequence[str],
    baseline: str | None = None,
    *,
    by: str | None = "workload",
    ignore: frozenset[str] = frozenset(),
    deployments: bool = False,
) -> list[Speedup]:
    """Return every level of ``factor`` against ``baseline`` (hard disks, or the level that ran first, unless named).

    ``factor``: a name, or several, whose levels are then joined by `` + ``. ``by``: the factor that makes groups, each
    with its own speedups, in the order of the rows; None for one figure over all workloads, in which every workload
    counts the same (:func:`over_groups`). ``ignore``: factors that may differ within a set; each speedup says how often
    they did. ``deployments``: match within campaigns only, and take campaigns, not sets, as the unit: for one plan
    that was deployed and measured several times. SpecificationError for names and levels that no run has.
    """
    table, factor = combined_or_named(table, factor)
    column = require_factor(table, factor)
    baseline = baseline_of(table, factor) if baseline is None else baseline
    if baseline not in column.levels:
        raise SpecificationError(f"no run has {factor} {baseline!r}", hint=f"levels: {', '.join(column.levels)}")
    if by is not None and (by == factor or by in ignore):
        raise SpecificationError(f"runs can't be grouped by {by!r}: it differs within the matched sets")
    if by is None:
        parts = matched_speedups(table, factor, baseline, by="workload", ignore=ignore, deployments=deployments)
        return over_groups(parts)
    require_factor(table, by)
    matched = match(table, factor, ignore, deployments=deployments)
    strata = stratify(matched, by)
    code_b = column.code(baseline)
    reference = side(matched, code_b)
    found = [
        numbered
        for code in range(len(column.levels))
        if code != code_b
        for numbered in _candidate_speedups(matched, strata, code_b, reference, code)
    ]
    return [speedup for _, speedup in sorted(found, key=lambda numbered: strata.first_row[numbered[0]])]


def over_groups(parts: Sequence[Speedup]) -> list[Speedup]:
    """Return one speedup for each candidate and origin: the geometric mean of ``parts``, each group counting the same.

    Groups without an interval are left out, and counted as unmatched.
    """
    keys = dict.fromkeys((part.candidate, part.origin, part.lab_scale) for part in parts)
    return [_over([part for part in parts if (part.candidate, part.origin, part.lab_scale) == key]) for key in keys]


def _over(parts: Sequence[Speedup]) -> Speedup:
    used = [part for part in parts if part.log_error is not None]
    unmatched: dict[str, int] = {}
    ignored: dict[str, int] = {}
    for part in parts:
        for why, count in part.unmatched.items():
            unmatched[why] = unmatched.get(why, 0) + count
        for name, count in part.ignored.items():
            ignored[name] = ignored.get(name, 0) + count
        if part not in used and part.sets:
            why = f"too few sets of a {part.by} for an interval"
            unmatched[why] = unmatched.get(why, 0) + part.runs_baseline + part.runs_candidate
    example = parts[0]
    return _speedup(
        combine([part.log_mean for part in used]) if used else None,
        factor=example.factor,
        baseline=example.baseline,
        candidate=example.candidate,
        by=None,
        group=f"{len(used)} of {len(parts)} levels of {example.by}",
        origin=example.origin,
        lab_scale=example.lab_scale,
        sets=sum(part.sets for part in used),
        runs_baseline=sum(part.runs_baseline for part in used),
        runs_candidate=sum(part.runs_candidate for part in used),
        unmatched=unmatched,
        ignored=ignored,
    )
