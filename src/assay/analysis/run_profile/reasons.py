"""Explain why one run is faster than another: time by phase, and load of disks and CPUs.

In: the details of one run of each side (:class:`~assay.analysis.run_profile.run_detail.RunDetail`), with its label and
time. Out: :class:`Reasons`: seconds by phase, figures of disks and CPUs under names that end in their unit, and
sentences that compare each side with the first. The sentences state observations, not causes: a disk is the *cause* of
a difference only if the runs differ in nothing else. The comparison lists the other differences.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from assay.analysis.run_profile.devices import Purpose, sum_of_transfers
from assay.analysis.run_profile.run_detail import RunDetail, detail_metrics
from assay.foundation.units import format_bytes
from assay.text.language import joined

SIMILAR_DIFFERENCE_MAX = 0.15
"""Maximum difference, as a share, between amounts of work that count as equal."""
CHANCE_DIFFERENCE_MAX = 0.18
"""Maximum difference, as a share, of times that is not attributed to a phase. Two runs of one configuration, with a
spread of 5 % and different task placement, differ by more in 4 % of pairs (``benchmarks/why_errors.py``)."""
_NAMED_MAX = 3
"""Maximum number of phases named as reasons."""
_EXPLAINED_SHARE_MIN = 0.8
"""Minimum share of the difference that the named phases explain; further phases are not named."""
FIGURES = (
    "disk_moved_bytes",
    "disk_busy_max_share",
    "disk_read_await_ms",
    "disk_write_await_ms",
    "disk_read_bytes_per_request",
    "disk_write_bytes_per_request",
    "cpu_busy_share",
    "cpu_s",
)


@dataclass(frozen=True, slots=True)
class ObservedSide:
    """One side: a run with its label and details."""

    label: str
    duration_s: float
    detail: RunDetail


@dataclass(frozen=True, slots=True)
class Measure:
    """One phase or figure with its value for each side, in order; None if it was not observed."""

    name: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Reasons:
    """The sides next to each other; everything is empty if fewer than two sides were observed."""

    labels: tuple[str, ...]
    phases_s: tuple[Measure, ...]
    figures: tuple[Measure, ...]
    sentences: tuple[str, ...]


def reasons(sides: Sequence[ObservedSide]) -> Reasons:
    """Compare each observed side with the first one."""
    observed_sides = [side for side in sides if side.detail.breakdown.phases or side.detail.devices]
    if len(observed_sides) < 2:
        return Reasons((), (), (), ())
    names = dict.fromkeys(phase.name for side in observed_sides for phase in side.detail.breakdown.phases)
    phases = [Measure(name, tuple(_phase_s(side, name) for side in observed_sides)) for name in names]
    side_figures = [_figures(side.detail) for side in observed_sides]
    figures = [Measure(name, tuple(measures.get(name) for measures in side_figures)) for name in FIGURES]
    sentences = []
    for position, side in enumerate(observed_sides[1:], 1):
        sentences.append(_time(observed_sides[0], side, phases, position))
        sentences += [
            _work(side_figures[0], side_figures[position]),
            _waiting(side_figures[0], side_figures[position], side.label),
        ]
    return Reasons(
        tuple(side.label for side in observed_sides),
        tuple(phases),
        tuple(measures for measures in figures if any(value is not None for value in measures.values)),
        tuple(filter(None, sentences)),
    )


def _phase_s(side: ObservedSide, name: str) -> float | None:
    return side.detail.breakdown.share_s(name) if side.detail.breakdown.phases else None


def _figures(detail: RunDetail) -> dict[str, float]:
    figures = dict(detail_metrics(detail))
    used_devices = [use for use in detail.devices if use.purpose is not Purpose.NONE]
    if used_devices:
        figures["disk_moved_bytes"] = sum_of_transfers([use.transfers for use in used_devices]).moved_bytes
    busy_shares = [node.cpu_busy_share for node in detail.nodes if node.worker and node.cpu_busy_share is not None]
    if busy_shares:
        figures["cpu_busy_share"] = fmean(busy_shares)
    return figures


def _time(first_side: ObservedSide, side: ObservedSide, phases: Sequence[Measure], position: int) -> str:
    saved_s = first_side.duration_s - side.duration_s
    word = "less" if saved_s >= 0 else "more"
    claim = f"{side.label} took {abs(saved_s):,.1f} s {word} than {first_side.label}"
    if abs(saved_s) <= CHANCE_DIFFERENCE_MAX * max(first_side.duration_s, side.duration_s):
        return f"{claim}: with one run of each, this can be chance, so no phase is named."
    sign = 1 if saved_s >= 0 else -1
    parts = [
        (sign * (phase.values[0] - value), phase.name)
        for phase in phases
        if phase.values[0] is not None and (value := phase.values[position]) is not None
    ]
    phase_texts, explained_s = [], 0.0
    for part_s, name in sorted(parts, reverse=True)[:_NAMED_MAX]:
        if part_s <= 0 or explained_s >= _EXPLAINED_SHARE_MIN * abs(saved_s):
            break
        explained_s += part_s
        phase_texts.append(f"{part_s:,.1f} s in {name}")
    return f"{claim}: {joined(phase_texts)}." if phase_texts else f"{claim}."


def _work(first: Mapping[str, float], other: Mapping[str, float]) -> str:
    """Return a sentence on the amounts of work: less work and faster work are different reasons."""
    similar_texts: list[str] = []
    different_texts: list[str] = []
    for name, text in (("disk_moved_bytes", "to and from disks"), ("cpu_s", "of the tasks' CPU time")):
        if name in first and name in other and max(first[name], other[name]) > 0:
            new, old = (
                format_bytes(round(v)) if name.endswith("_bytes") else f"{v:,.1f} s" for v in (other[name], first[name])
            )
            is_similar = abs(first[name] - other[name]) <= SIMILAR_DIFFERENCE_MAX * max(first[name], other[name])
            (similar_texts if is_similar else different_texts).append(f"{new} {text} instead of {old}")
    if similar_texts and different_texts:
        cause = "Caches or a different processor can explain that"
        return f"Similar amounts: {joined(similar_texts)}. Different amounts: {joined(different_texts)}. {cause}."
    if different_texts:
        return f"The amounts of work differ: {joined(different_texts)}."
    return f"The amounts of work are similar: {joined(similar_texts)}." if similar_texts else ""


def _waiting(first: Mapping[str, float], other: Mapping[str, float], label: str) -> str:
    """Return a sentence on the duration of requests and the load of disks and CPUs."""
    parts = []
    for name, text in (
        ("disk_write_await_ms", "a write took {} ms on average instead of {} ms"),
        ("disk_read_await_ms", "a read {} ms instead of {} ms"),
        ("disk_busy_max_share", "the busiest disk was busy for {:.0f} % of the time instead of {:.0f} %"),
        ("cpu_busy_share", "CPUs were busy for {:.0f} % of the time instead of {:.0f} %"),
    ):
        if name in first and name in other:
            values = [side[name] for side in (other, first)]
            numbers = [100 * v for v in values] if name.endswith("_share") else [f"{v:,.0f}" for v in values]
            parts.append(text.format(*numbers))
    return f"On {label}, {joined(parts)}." if parts else ""
