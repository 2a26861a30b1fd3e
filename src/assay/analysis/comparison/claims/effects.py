"""What one factor changes, over sets of configurations that are equal in all else: what claims are answered from.

In: runs as a table, what an hour costs where prices are known. Out: log gains (in time, or in cost) by set, their means
over workloads with intervals, each workload counting the same; a gain per doubling where the factor is a number.

Which workloads are shuffle-heavy or CPU-bound: Kambatla and Chen, LISA'14, table 3. What only makes a workload's input
(``prep_terasort``) is none. Intervals are 95 %; what is judged by a margin has the 90 % one as well, whose two ends are
one-sided tests at 5 % each (two one-sided tests: D. J. Schuirmann, J. Pharmacokinet. Biopharm. 15, 1987). Where the
levels of a factor were run in different sessions, intervals allow for sessions that differ (``effect_sessions.py``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.analysis.comparison.claims.effect_sessions import RunSessions, sessions_of_ratios, sessions_of_slopes
from assay.analysis.comparison.details.differences import CPU_LIMIT_SHARE
from assay.analysis.comparison.factors.compression import UNCOMPRESSED, with_compression
from assay.analysis.comparison.matched import (
    SETS_MIN,
    STRATA,
    LogMean,
    SessionPart,
    combine,
    over_sets,
    session_spread,
    sessions_in,
    with_sessions,
    without_sessions,
)
from assay.analysis.statistics import (
    ABSENT,
    LAYOUT_DEVICES,
    RUNS_MIN,
    Column,
    Floats,
    Groups,
    InferenceScope,
    Ints,
    Mask,
    RunTable,
    first_rows,
    groups_by,
    means_by,
    offsets_in,
    usable,
    warm_among_cold,
)
from assay.analysis.statistics.random_effects import over_units
from assay.analysis.statistics.sessions import Imbalance, SessionSpread
from assay.model import COMPRESSION, LAYOUT_FACTOR
from assay.model.clusters.layout_code import HDD, SSD, devices_of_text
from assay.text import format_interval, format_ratio, joined, plural

CONTAINERS = ("containers", "mapreduce.tasktracker.map.tasks.maximum", "yarn.nodemanager.resource.memory-mb")
_SHUFFLE_HEAVY = re.compile(r"(hibench[-_. ])?(terasort|sort|shuffle)([-_. \d]|$)", re.IGNORECASE)
_CPU_BOUND = re.compile(r"(hibench[-_. ])?wordcount([-_. \d]|$)", re.IGNORECASE)
_PREPARATION = re.compile(r"prep(are)?[-_. ]|(teragen|randomtextwriter|randomwriter)([-_. \d]|$)", re.IGNORECASE)
_FAST_NETWORK, _SLOW_NETWORK = re.compile(r"IB|infiniband", re.IGNORECASE), re.compile(r"ETH|ethernet", re.IGNORECASE)
_UNKNOWN = np.nan
OVER_CLUSTERS = "mean over clusters of their means over workloads, Hartung-Knapp interval"
_NAMED = 6
_ONE_SIDED = 0.95
RateOf = Callable[[RunTable], Floats]
"""Study to what an hour of each costs; NaN where that is not known."""


@dataclass(frozen=True, slots=True)
class ClaimEvidence:
    """One number behind an answer."""

    label: str
    ratio: float | None
    """A gain (time without / time with), or a ratio of two gains; None when there is none with an interval."""
    low: float | None
    high: float | None
    sets: int
    workloads: tuple[str, ...]
    low_90: float | None = None
    high_90: float | None = None
    """Ends of the 90 % interval: what a margin is held against, each end a test at 5 %."""
    few: bool = False
    """Whether these are few matched sets with fewer runs a side than a conclusion takes, as in `assay compare`."""
    above: tuple[str, ...] = ()
    """The workloads whose own interval lies above 1."""
    below: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    """The clusters that the sets are of."""
    sessions: SessionPart | None = None
    """What sessions add to the error; None where they add nothing."""

    def __str__(self) -> str:
        """Return label, value, interval and sets in words."""
        if self.ratio is None:
            few = f"{plural(self.sets, 'matched set')}, too few for an interval"
            return f"{self.label}: {few if self.sets else 'no matched set'}"
        sure = "no interval" if self.low is None or self.high is None else format_interval(self.low, self.high)
        places = f", {plural(len(self.clusters), 'cluster')}" if len(self.clusters) > 1 else ""
        told = f"{self.label}: {format_ratio(self.ratio)} ({sure}, {plural(self.sets, 'matched set')}{places})"
        only = [f"workload {self.workloads[0]}"] if len(self.workloads) == 1 else []
        only += [f"cluster {self.clusters[0]}"] if len(self.clusters) == 1 else []
        told += f", on {joined(only)} only" if only else ""
        if self.above and self.below:
            told += f", which workloads differ in: above 1 on {joined(self.above)}; below 1 on {joined(self.below)}"
        if self.sessions is not None:
            told += f", allowing for sessions that differ by {np.sqrt(self.sessions.spread.variance):.1%}"
        return f"{told}, not enough runs to be sure" if self.few else told


@dataclass(frozen=True, slots=True)
class Study:
    """One row a configuration, with what each claim needs to know of it: NaN where it does not apply."""

    table: RunTable
    log_s: Floats
    """The mean log time of the configuration's runs."""
    variance: Floats
    """Of the log times of its runs; NaN for a single one."""
    runs: Floats
    log_rate: Floats
    """Of what an hour costs; NaN where that is not known."""
    ssd: Floats
    """1 on SSDs, 0 on hard disks."""
    many_disks: Floats
    compressed: Floats
    fast_network: Floats
    log2_containers: Floats
    containers: str
    shuffle_heavy: Mask
    cpu_bound: Mask
    rounding: Floats
    """How far each mean log time can be off because times are rounded."""
    sessions: RunSessions
    """The session of each run."""


@dataclass(frozen=True, slots=True)
class Effects:
    """Log gains of sets that differ in one factor alone: by set, with the workload and an example row of each."""

    gain: Floats
    error: Floats
    """The variance of the gain that the scatter of the set's runs makes, NaN when not known; its degrees of freedom."""
    degrees: Floats
    example: Ints
    workload: Ints
    log_rate: Floats
    """What a unit of the factor adds to the logarithm of an hour's price; NaN where that is not known."""
    members: Ints
    """The configurations of all sets, and in ``member_of`` the set of each."""
    member_of: Ints
    rounding: Floats
    """How far each gain can be off because times are rounded."""
    sessions: Imbalance
    """How unevenly the levels of the factor are spread over sessions."""

    def where(self, keep: Mask) -> Effects:
        """Return some of the sets."""
        number = np.cumsum(keep) - 1
        stays = keep[self.member_of]
        return Effects(
            self.gain[keep],
            self.error[keep],
            self.degrees[keep],
            self.example[keep],
            self.workload[keep],
            self.log_rate[keep],
            self.members[stays],
            number[self.member_of[stays]],
            self.rounding[keep],
            self.sessions.picked(np.flatnonzero(keep)),
        )

    @property
    def in_cost(self) -> Effects:
        """The gains in cost: where the gain in time exceeds what an hour costs more; sets without a price are gone."""
        priced = self.where(np.isfinite(self.log_rate))
        return replace(priced, gain=priced.gain - priced.log_rate)


def _by_level(table: RunTable, name: str, value: Callable[[str], float]) -> Floats:
    """Return ``value`` of each row's level; NaN without one."""
    column = table.columns.get(name)
    if column is None:
        return np.full(len(table), _UNKNOWN)
    values = np.array([*(value(level) for level in column.levels), _UNKNOWN])
    found: Floats = values[column.codes]  # an absent code, -1, is the last
    return found


def _ssd(devices: str) -> float:
    kinds = set(devices_of_text(devices))
    return float(kinds == {SSD}) if len(kinds) == 1 and kinds <= {HDD, SSD} else _UNKNOWN


def _many(devices: str) -> float:
    found = devices_of_text(devices)
    count = next(iter(found.values()), None) if len(found) == 1 and found.keys() <= {HDD, SSD} else None
    return _UNKNOWN if count is None else float(count > 1)


def _network(level: str) -> float:
    return 1.0 if _FAST_NETWORK.match(level) else 0.0 if _SLOW_NETWORK.match(level) else _UNKNOWN


def _log2(level: str) -> float:
    try:
        value = float(level)
    except ValueError:
        return _UNKNOWN
    return float(np.log2(value)) if 0 < value < np.inf else _UNKNOWN


def is_preparation(workload: str) -> bool:
    """Tell whether a workload only makes another's input."""
    return _PREPARATION.match(workload) is not None


def study_of(table: RunTable, rate_of: RateOf | None = None, spread: SessionSpread | None = None) -> Study:
    """Return the configurations of the runs that count.

    ``rate_of``: what an hour of each costs. ``spread``: how much sessions differ; None: as these runs show.
    """
    table = with_compression(table)
    made = np.array([*(is_preparation(level) for level in table.columns["workload"].levels), False])
    good = usable(table) & ~made[table.columns["workload"].codes]
    good &= ~warm_among_cold(table, groups_by(table, [n for n in table.factors if n != "layout"]), good)
    rows = np.flatnonzero(good)
    every = groups_by(table, table.factors)
    present, ids = np.unique(every.of_row[rows], return_inverse=True)
    duration_s = table.values["duration_s"][rows]
    means = means_by(np.log(duration_s), ids, len(present), offsets_in(table, rows, sides=2))
    example = rows[first_rows(Groups(ids, len(present)))]
    busy = table.values.get("cpu_busy_share")
    limited = _cpu_limited(table.columns["workload"], rows, busy)
    names = [*table.factors, *(n for n in (LAYOUT_DEVICES,) if n in table.columns)]
    configurations = RunTable(
        example, {n: Column(table.columns[n].codes[example], table.columns[n].levels) for n in names}, {}
    )
    containers = next((name for name in CONTAINERS if name in table.columns), CONTAINERS[0])
    workload = configurations.columns["workload"]
    shuffle = np.array([*(bool(_SHUFFLE_HEAVY.match(level)) for level in workload.levels), False])
    unpriced = np.full(len(configurations), np.nan)
    return Study(
        configurations,
        means.mean,
        np.where(means.n > 1, means.variance, np.nan),
        means.n.astype(np.float64),
        unpriced if rate_of is None else np.log(rate_of(configurations)),
        _by_level(configurations, LAYOUT_DEVICES, _ssd),
        _by_level(configurations, LAYOUT_DEVICES, _many),
        _by_level(configurations, COMPRESSION, lambda level: float(level != UNCOMPRESSED)),
        _by_level(configurations, "network", _network),
        _by_level(configurations, containers, _log2),
        containers,
        shuffle[workload.codes],
        limited[workload.codes],
        means.rounding,
        RunSessions(
            ids,
            sessions_in(table, rows),
            table.values["started_unix_s"][rows],
            without_sessions(table)[rows],
            session_spread(table) if spread is None else spread,
        ),
    )


def _cpu_limited(workload: Column, rows: Ints, busy: Floats | None) -> Mask:
    """Return for each workload whether the CPU is its limit: as measured, or else as the papers say; then False."""
    limited = np.array([*(bool(_CPU_BOUND.match(level)) for level in workload.levels), False])
    if busy is None:
        return limited
    measured = rows[np.isfinite(busy[rows]) & (workload.codes[rows] != ABSENT)]
    for code in np.unique(workload.codes[measured]):
        limited[code] = np.median(busy[measured[workload.codes[measured] == code]]) > CPU_LIMIT_SHARE
    return limited


def effects(view: Study, factor: Floats, column: str, among: Mask) -> Effects:
    """Return the log gain per unit of ``factor`` in every set of configurations that are equal in all but ``column``.

    The slope of log time over ``factor``, negated: for a factor of 0 and 1, the log ratio of geometric means.
    """
    rows = np.flatnonzero(among & np.isfinite(factor))
    groups = groups_by(view.table.taken(rows), [name for name in view.table.factors if name != column])
    weights = view.runs[rows]
    total = np.bincount(groups.of_row, weights=weights, minlength=groups.count)
    x, y = factor[rows], view.log_s[rows]
    x = x - (np.bincount(groups.of_row, weights=weights * x, minlength=groups.count) / total)[groups.of_row]
    spread = np.bincount(groups.of_row, weights=weights * x * x, minlength=groups.count)
    slope = np.bincount(groups.of_row, weights=weights * x * y, minlength=groups.count)
    priced = np.bincount(groups.of_row, weights=weights * x * view.log_rate[rows], minlength=groups.count)
    there = spread > 1e-9
    sets = np.flatnonzero(there)
    example = rows[first_rows(groups)[sets]]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = weights * x / spread[groups.of_row]
        part = share**2 * view.variance[rows] / weights
        off = np.abs(share) * view.rounding[rows]
    part = np.where(x == 0, 0.0, part)  # what stands in the middle of its set does not move the slope
    error, degrees = _sums(groups, part, weights - 1)
    member = there[groups.of_row]
    return Effects(
        -slope[sets] / spread[sets],
        error[sets],
        degrees[sets],
        example,
        view.table.columns["workload"].codes[example].astype(np.int64),
        priced[sets] / spread[sets],
        rows[member],
        (np.cumsum(there) - 1)[groups.of_row[member]],
        np.bincount(groups.of_row, weights=off, minlength=groups.count)[sets].astype(np.float64),
        sessions_of_slopes(view.sessions, rows, groups.of_row, factor[rows], share, sets),
    )


def _sums(groups: Groups, variance: Floats, degrees: Floats) -> tuple[Floats, Floats]:
    """Return by group the sum of variances, and its degrees of freedom (Satterthwaite)."""

    def summed(values: Floats) -> Floats:
        return np.bincount(groups.of_row, weights=values, minlength=groups.count).astype(np.float64)

    total = summed(variance)
    with np.errstate(invalid="ignore", divide="ignore"):
        terms = np.where(variance == 0, 0.0, variance**2 / degrees)
        found = total**2 / summed(terms)
    return total, np.where(total > 0, found, summed(degrees))


def _by_workload(found: Effects) -> dict[int, tuple[LogMean, int]]:
    """Return the mean gain on each workload (code) with its number of sets; only those whose sets or runs repeat."""
    means = {}
    for code in np.unique(found.workload).tolist():
        mine = found.where(found.workload == code)
        mean = with_sessions(over_sets(mine.gain, mine.error, mine.degrees, mine.rounding), mine.sessions)
        if np.isfinite(mean.error):
            means[code] = (mean, len(mine.gain))
    return means


def evidence(view: Study, label: str, found: Effects) -> ClaimEvidence:
    """Return the mean gain over workloads, each counting the same; only those whose sets or runs repeat count.

    With sets of several clusters, these are a sample of all clusters: what a factor gains differs between them.
    """
    means = _by_workload(found)
    if not means:
        return ClaimEvidence(label, None, None, None, len(found.gain), ())
    names = view.table.columns["workload"].levels
    sides: dict[str, list[str]] = {"above": [], "below": []}
    for code, (part, _) in means.items():
        own = part.ratio
        if own.low is not None and own.high is not None and not own.low <= 1 <= own.high:
            sides["above" if own.low > 1 else "below"].append(names[code])
    sets = sum(number for _, number in means.values())
    clusters = _clusters_of(view, found.where(np.isin(found.workload, list(means))))
    mean = _over_clusters(view, found, list(clusters)) if len(clusters) > 1 else None
    mean = mean or combine([part for part, _ in means.values()])
    ratio, (low_90, high_90) = mean.ratio, _ends_90(mean)
    few = sets < SETS_MIN and float(view.runs[found.members].min()) < RUNS_MIN
    return ClaimEvidence(
        label,
        ratio.value,
        ratio.low,
        ratio.high,
        sets,
        tuple(names[code] for code in means),
        low_90,
        high_90,
        few,
        tuple(sides["above"]),
        tuple(sides["below"]),
        tuple(clusters.values()),
        mean.sessions,
    )


def _clusters_of(view: Study, found: Effects) -> dict[int, str]:
    """Return the clusters (code and name) that sets are of; empty where runs have none."""
    column = view.table.columns.get("cluster")
    if column is None:
        return {}
    return {code: column.levels[code] for code in np.unique(column.codes[found.example]).tolist() if code != ABSENT}


def _over_clusters(view: Study, found: Effects, clusters: Sequence[int]) -> LogMean | None:
    """Return the mean over clusters of each one's mean over workloads; None unless two of them have one."""
    of_set = view.table.columns["cluster"].codes[found.example]
    parts = [[mean for mean, _ in _by_workload(found.where(of_set == code)).values()] for code in clusters]
    each = [combine(means) for means in parts if means]
    if len(each) < 2:
        return None
    variances = np.array([mean.error**2 for mean in each])
    over = over_units(np.array([mean.mean for mean in each]), variances)
    off = float(np.mean([mean.rounding for mean in each]))
    sessions = next((mean.sessions for mean in each if mean.sessions), None)
    return LogMean(over.mean, over.error, over.degrees, OVER_CLUSTERS, InferenceScope.OTHER_CLUSTERS, off, sessions)


def _ends_90(mean: LogMean) -> tuple[float, float]:
    from scipy.special import stdtrit  # imported here: 0.1 s that only claims need

    half = max(float(stdtrit(mean.degrees, _ONE_SIDED)) * mean.error, mean.rounding)
    return float(np.exp(mean.mean - half)), float(np.exp(mean.mean + half))


def within_clusters(view: Study, found: Effects, split: Floats, kind: Floats | None = None) -> Effects:
    """Return the sets of clusters (and workloads) that have sets on both sides of ``split``, of the same ``kind``.

    So what is compared are sets of the same clusters, and never one cluster with another.
    """
    names = [name for name in ("workload", "data_bytes", "cluster", *STRATA) if name in view.table.columns]
    groups = groups_by(view.table.taken(found.example), names)
    key = groups.of_row if kind is None else groups.of_row * 2 + (kind[found.example] > 0)
    sides = split[found.example]
    both = np.intersect1d(key[sides == 0], key[sides == 1])
    return found.where(np.isin(key, both))


def layouts_pooled(view: Study, found: Effects, factor: Floats) -> str:
    """Return which layouts stand on both sides of ``factor`` in these sets: ``SSD and SS2 against HDD``; or nothing."""
    column = view.table.columns.get(LAYOUT_FACTOR)
    sides = []
    for side in (1.0, 0.0):
        rows = found.members[factor[found.members] == side]
        codes = np.unique(column.codes[rows]) if column is not None else np.zeros(0, dtype=np.int64)
        names = [column.levels[code] for code in codes if code != ABSENT] if column is not None else []
        more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
        sides.append(joined([*names[:_NAMED], *more]))
    return f"{sides[0]} against {sides[1]}" if all(sides) else ""


def price_ratios(found: Effects) -> tuple[float, float] | None:
    """Return the smallest and the largest price ratio of an hour among the sets; None without a price."""
    known = np.exp(found.log_rate[np.isfinite(found.log_rate)])
    return (float(known.min()), float(known.max())) if len(known) else None


def with_both_sides(view: Study, found: Effects, split: Floats, columns: Sequence[str]) -> Effects:
    """Return the sets for which there is one on the other side of ``split`` that is equal in all but ``columns``."""
    groups = groups_by(view.table.taken(found.example), [name for name in view.table.factors if name not in columns])
    sides = split[found.example]
    both = np.intersect1d(groups.of_row[sides == 0], groups.of_row[sides == 1])
    return found.where(np.isin(groups.of_row, both))


def ratio_of_gains(view: Study, found: Effects, split: Floats, columns: Sequence[str]) -> Effects:
    """Return how much larger the gain is where ``split`` is 0 than where it is 1, everything but ``columns`` equal."""
    groups = groups_by(view.table.taken(found.example), [name for name in view.table.factors if name not in columns])
    sides = split[found.example]
    without, with_it = (
        means_by(found.gain[sides == side], groups.of_row[sides == side], groups.count) for side in (0.0, 1.0)
    )
    both = np.flatnonzero((without.n > 0) & (with_it.n > 0))
    first = first_rows(groups)[both]
    number = np.where(sides == 0, without.n[groups.of_row], with_it.n[groups.of_row])
    error, degrees = _sums(groups, found.error / number**2, found.degrees)
    off = np.bincount(groups.of_row, weights=found.rounding / number, minlength=groups.count).astype(np.float64)
    nothing = np.full(len(both), np.nan)
    number_of = np.full(groups.count, -1, dtype=np.int64)
    number_of[both] = np.arange(len(both))
    member_of = number_of[groups.of_row[found.member_of]]
    return Effects(
        without.mean[both] - with_it.mean[both],
        error[both],
        degrees[both],
        found.example[first],
        found.workload[first],
        nothing,
        found.members[member_of >= 0],
        member_of[member_of >= 0],
        off[both],
        sessions_of_ratios(found.sessions, number_of[groups.of_row], np.where(sides == 0, 1, -1) / number, len(both)),
    )
