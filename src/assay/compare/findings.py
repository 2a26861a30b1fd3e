"""What the published studies claim about storage, networks and configuration, tested on the runs at hand.

In: runs as a table. Out: for each claim an answer (supported, contradicted, undecided), the numbers behind it, and a
sentence. Gains are ratios of times over matched sets, as in ``matched.py``, every workload counting the same; a gain
per doubling where the factor is a number. Intervals are 95 %.

Claims and the workloads they are about: Kambatla and Chen, LISA'14 (table 3 for what is shuffle-heavy or CPU-bound),
and the BSC's report on SSDs and InfiniBand (ALOJA, 2015), section 5.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from assay.compare.compression import UNCOMPRESSED, with_compression
from assay.compare.differences import CPU_LIMIT_SHARE
from assay.compare.matched import STRATA, combine, over_sets
from assay.model.layout_code import HDD, SSD, devices_of_text
from assay.model.plan import COMPRESSION
from assay.statistics.factors import LAYOUT_DEVICES
from assay.statistics.intervals import means_by, rounding_of
from assay.statistics.keys import Floats, Groups, Ints, Mask, first_rows, groups_by, usable, warm_beside_cold
from assay.statistics.run_table import ABSENT, Column, RunTable
from assay.wording.ratios import format_interval, format_ratio

SAME = 1.10
"""A gain between 1 / 1.10 and 1.10 makes no practical difference."""
PAYS = 1.05
"""Less than 5 % faster does not pay, as far as time goes."""
CONTAINERS = ("containers", "mapreduce.tasktracker.map.tasks.maximum", "yarn.nodemanager.resource.memory-mb")
_SHUFFLE_HEAVY = re.compile(r"(hibench[-_. ])?(terasort|sort|shuffle)([-_. \d]|$)", re.IGNORECASE)
_CPU_BOUND = re.compile(r"(hibench[-_. ])?wordcount([-_. \d]|$)", re.IGNORECASE)
_FAST_NETWORK, _SLOW_NETWORK = re.compile(r"IB|infiniband", re.IGNORECASE), re.compile(r"ETH|ethernet", re.IGNORECASE)
_UNKNOWN = np.nan


class ClaimAnswer(StrEnum):
    """What the runs say to a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"


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

    def __str__(self) -> str:
        """Return label, value, interval and sets in words."""
        if self.ratio is None:
            return f"{self.label}: " + (
                f"{self.sets} matched sets, too few for an interval" if self.sets else "no matched set"
            )
        sure = "no interval" if self.low is None or self.high is None else format_interval(self.low, self.high)
        return f"{self.label}: {format_ratio(self.ratio)} ({sure}, {self.sets} matched sets)"


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim, its answer, and why."""

    name: str
    claim: str
    source: str
    answer: ClaimAnswer
    sentence: str
    evidence: tuple[ClaimEvidence, ...]


@dataclass(frozen=True, slots=True)
class _View:
    """One row a configuration, with what each claim needs to know of it: NaN where it does not apply."""

    table: RunTable
    log_s: Floats
    """The mean log time of the configuration's runs."""
    variance: Floats
    """Of the log times of its runs; NaN for a single one."""
    runs: Floats
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


@dataclass(frozen=True, slots=True)
class _Effects:
    """Log gains of sets that differ in one factor alone: by set, with the workload and an example row of each."""

    gain: Floats
    error: Floats
    """The variance of the gain that the scatter of the set's runs makes, NaN when not known; its degrees of freedom."""
    degrees: Floats
    example: Ints
    workload: Ints
    rounding: Floats
    """How far each gain can be off because times are rounded."""

    def where(self, keep: Mask) -> _Effects:
        """Return some of the sets."""
        return _Effects(
            self.gain[keep],
            self.error[keep],
            self.degrees[keep],
            self.example[keep],
            self.workload[keep],
            self.rounding[keep],
        )


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


def _view(table: RunTable) -> _View:
    """Return the configurations of the runs that count."""
    table = with_compression(table)
    good = usable(table)
    good &= ~warm_beside_cold(table, groups_by(table, [n for n in table.factors if n != "layout"]), good)
    rows = np.flatnonzero(good)
    every = groups_by(table, table.factors)
    present, ids = np.unique(every.of_row[rows], return_inverse=True)
    duration_s = table.values["duration_s"][rows]
    means = means_by(np.log(duration_s), ids, len(present), rounding_of(duration_s))
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
    return _View(
        configurations,
        means.mean,
        np.where(means.n > 1, means.variance, np.nan),
        means.n.astype(np.float64),
        _by_level(configurations, LAYOUT_DEVICES, _ssd),
        _by_level(configurations, LAYOUT_DEVICES, _many),
        _by_level(configurations, COMPRESSION, lambda level: float(level != UNCOMPRESSED)),
        _by_level(configurations, "network", _network),
        _by_level(configurations, containers, _log2),
        containers,
        shuffle[workload.codes],
        limited[workload.codes],
        means.rounding,
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


def _effects(view: _View, factor: Floats, column: str, among: Mask) -> _Effects:
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
    sets = np.flatnonzero(spread > 1e-9)
    example = rows[first_rows(groups)[sets]]
    with np.errstate(invalid="ignore", divide="ignore"):
        part = (weights * x / spread[groups.of_row]) ** 2 * view.variance[rows] / weights
        off = np.abs(weights * x / spread[groups.of_row]) * view.rounding[rows]
    part = np.where(x == 0, 0.0, part)  # what stands in the middle of its set does not move the slope
    error, degrees = _sums(groups, part, weights - 1)
    return _Effects(
        -slope[sets] / spread[sets],
        error[sets],
        degrees[sets],
        example,
        view.table.columns["workload"].codes[example].astype(np.int64),
        np.bincount(groups.of_row, weights=off, minlength=groups.count)[sets].astype(np.float64),
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


def _evidence(view: _View, label: str, found: _Effects) -> ClaimEvidence:
    """Return the mean gain over workloads, each counting the same; only those whose sets or runs repeat count."""
    parts, workloads, sets = [], [], 0
    for code in np.unique(found.workload):
        gains = found.gain[found.workload == code]
        mine = found.where(found.workload == code)
        mean = over_sets(gains, mine.error, mine.degrees, mine.rounding)
        if np.isfinite(mean.error):
            parts.append(mean)
            workloads.append(view.table.columns["workload"].levels[code])
            sets += len(gains)
    if not parts:
        return ClaimEvidence(label, None, None, None, len(found.gain), ())
    ratio = combine(parts).ratio
    return ClaimEvidence(label, ratio.value, ratio.low, ratio.high, sets, tuple(workloads))


def _ratio_of_gains(view: _View, found: _Effects, split: Floats, columns: Sequence[str]) -> _Effects:
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
    gain = without.mean[both] - with_it.mean[both]
    return _Effects(gain, error[both], degrees[both], found.example[first], found.workload[first], off[both])


def _decide(supported: bool, contradicted: bool) -> ClaimAnswer:
    return ClaimAnswer.SUPPORTED if supported else ClaimAnswer.CONTRADICTED if contradicted else ClaimAnswer.UNDECIDED


def _low(evidence: ClaimEvidence) -> float:
    return -np.inf if evidence.low is None else evidence.low


def _high(evidence: ClaimEvidence) -> float:
    return np.inf if evidence.high is None else evidence.high


def _finding(name: str, claim: str, source: str, answer: ClaimAnswer, *evidence: ClaimEvidence) -> Finding:
    numbers = "; ".join(str(one) for one in evidence)
    return Finding(name, claim, source, answer, f"{claim} {answer.value.capitalize()}: {numbers}.", evidence)


def ssd_helps_shuffle(view: _View) -> Finding:
    """SSDs against hard disks on shuffle-heavy jobs: supported when the whole interval lies above 1."""
    gain = _evidence(view, "gain of SSD over HDD", _effects(view, view.ssd, "layout", view.shuffle_heavy))
    answer = _decide(_low(gain) > 1, _high(gain) <= 1)
    return _finding("ssd-helps-shuffle", "SSDs make shuffle-heavy jobs faster.", "LISA'14, section 4", answer, gain)


def ssd_not_for_cpu(view: _View) -> Finding:
    """SSDs against hard disks on CPU-bound jobs: supported when the whole interval lies within 10 % of 1."""
    gain = _evidence(view, "gain of SSD over HDD", _effects(view, view.ssd, "layout", view.cpu_bound))
    answer = _decide(_low(gain) >= 1 / SAME and _high(gain) <= SAME, _low(gain) > SAME or _high(gain) < 1 / SAME)
    claim = "SSDs make no difference of 10 % to CPU-bound jobs."
    return _finding("ssd-not-for-cpu", claim, "LISA'14, section 4; BSC 2015, section 5", answer, gain)


def compression_hides(view: _View) -> Finding:
    """The SSD's gain without compression of map output over that with it, on shuffle-heavy jobs: supported above 1."""
    found = _effects(view, view.ssd, "layout", view.shuffle_heavy & np.isfinite(view.compressed))
    apart = _ratio_of_gains(view, found, view.compressed, ["layout", COMPRESSION])
    ratio = _evidence(view, "gain without compression over gain with it", apart)
    sides = view.compressed[found.example]
    without = _evidence(view, "gain of SSD, uncompressed", found.where(sides == 0))
    with_it = _evidence(view, "gain of SSD, compressed", found.where(sides == 1))
    answer = _decide(_low(ratio) > 1, _high(ratio) <= 1)
    claim = "Compressing map output hides the SSD's gain."
    return _finding("compression-hides", claim, "LISA'14, section 4", answer, ratio, without, with_it)


def _only(with_it: ClaimEvidence, without: ClaimEvidence) -> ClaimAnswer:
    supported = _low(with_it) > 1 and _high(without) < PAYS
    contradicted = _low(without) >= PAYS or _high(with_it) < PAYS
    return _decide(supported, contradicted)


def _condition(
    view: _View, found: _Effects, split: Floats, labels: tuple[str, str]
) -> tuple[ClaimEvidence, ClaimEvidence]:
    """Return the gains where ``split`` is 1 and where it is 0."""
    sides = split[found.example]
    return (_evidence(view, labels[0], found.where(sides == 1)), _evidence(view, labels[1], found.where(sides == 0)))


def containers_need_disks(view: _View) -> Finding:
    """Twice the containers with several disks, and with one: supported when only the former pays."""
    found = _effects(view, view.log2_containers, view.containers, np.isfinite(view.many_disks))
    labels = ("gain of twice the containers, several disks", "gain of twice the containers, one disk")
    many, one = _condition(view, found, view.many_disks, labels)
    claim = "More containers pay only with more disks."
    return _finding("containers-need-disks", claim, "BSC 2015, figures 5 and 6", _only(many, one), many, one)


def infiniband_needs_ssd(view: _View) -> Finding:
    """InfiniBand against Ethernet with SSDs, and with hard disks: supported when only the former pays."""
    found = _effects(view, view.fast_network, "network", np.isfinite(view.ssd))
    ssd, hdd = _condition(view, found, view.ssd, ("gain of InfiniBand, SSD", "gain of InfiniBand, HDD"))
    claim = "InfiniBand pays only with SSDs."
    return _finding("infiniband-needs-ssd", claim, "BSC 2015, section 6", _only(ssd, hdd), ssd, hdd)


CLAIMS = (ssd_helps_shuffle, ssd_not_for_cpu, compression_hides, containers_need_disks, infiniband_needs_ssd)


def findings(table: RunTable) -> dict[str, list[Finding]]:
    """Return what the valid runs of each origin (``measured``, or ``measured, lab scale 0.05``) say to every claim."""
    if len(table) == 0 or "workload" not in table.columns:
        return {}
    names = [name for name in STRATA if name in table.columns]
    strata = groups_by(table, names)
    found = {}
    for stratum, row in enumerate(first_rows(strata)):
        texts = {name: table.columns[name].text(int(row)) for name in names}
        scale = f", lab scale {texts['lab_scale']}" if texts.get("lab_scale") else ""
        part = table if strata.count == 1 else table.taken(strata.of_row == stratum)
        view = _view(part)
        found[(texts.get("origin") or "origin not known") + scale] = [claim(view) for claim in CLAIMS]
    return found
