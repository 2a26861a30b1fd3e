"""Why one run is faster than another: where the time went, and what disks and CPUs did meanwhile, side by side.

In: what was observed of one run of each side (:class:`~assay.explain.run_detail.RunDetail`), with its label and time.
Out: :class:`Reasons`: seconds by phase, figures of disks and CPUs under names that end in their unit, and sentences
that compare each side with the first. The sentences say what was observed of these runs; that a disk *caused* the
difference follows only where the runs differ in nothing else, which the comparison's list of differences tells.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from assay.explain.devices import Purpose, together
from assay.explain.run_detail import RunDetail, detail_metrics
from assay.units import format_bytes

ALIKE = 0.15
"""Amounts of work that differ by no more than this share are called the same."""
CHANCE = 0.18
"""Of times that differ by no more than this share no phase is named: of two runs of one configuration, which scatter by
5 % and by where their tasks lie, the times differ by more in one pair of twenty-five (``benchmarks/why_errors.py``)."""
_NAMED_MAX = 3
_TELLING = 0.8
"""Phases are named until they explain this share of the difference."""
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
class SideSeen:
    """One side's run as it was observed."""

    label: str
    duration_s: float
    detail: RunDetail


@dataclass(frozen=True, slots=True)
class Measure:
    """One phase or figure, by side in their order; None where it was not observed."""

    name: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Reasons:
    """What was observed of the sides; everything is empty where fewer than two tell."""

    labels: tuple[str, ...]
    phases_s: tuple[Measure, ...]
    figures: tuple[Measure, ...]
    sentences: tuple[str, ...]


def reasons(sides: Sequence[SideSeen]) -> Reasons:
    """Put the sides that were observed beside each other; each is compared with the first of them."""
    seen = [each for each in sides if each.detail.breakdown.phases or each.detail.devices]
    if len(seen) < 2:
        return Reasons((), (), (), ())
    names = dict.fromkeys(phase.name for each in seen for phase in each.detail.breakdown.phases)
    phases = [Measure(name, tuple(_phase_s(each, name) for each in seen)) for name in names]
    told = [_figures(each.detail) for each in seen]
    figures = [Measure(name, tuple(one.get(name) for one in told)) for name in FIGURES]
    sentences = []
    for place, each in enumerate(seen[1:], 1):
        sentences.append(_time(seen[0], each, phases, place))
        sentences += [_work(told[0], told[place]), _waiting(told[0], told[place])]
    return Reasons(
        tuple(each.label for each in seen),
        tuple(phases),
        tuple(one for one in figures if any(value is not None for value in one.values)),
        tuple(filter(None, sentences)),
    )


def _phase_s(seen: SideSeen, name: str) -> float | None:
    return seen.detail.breakdown.share_s(name) if seen.detail.breakdown.phases else None


def _figures(detail: RunDetail) -> dict[str, float]:
    found = dict(detail_metrics(detail))
    used = [use for use in detail.devices if use.purpose is not Purpose.NONE]
    if used:
        found["disk_moved_bytes"] = together([use.transfers for use in used]).moved_bytes
    busy = [node.cpu_busy_share for node in detail.nodes if node.worker and node.cpu_busy_share is not None]
    if busy:
        found["cpu_busy_share"] = fmean(busy)
    return found


def _time(first: SideSeen, other: SideSeen, phases: Sequence[Measure], place: int) -> str:
    saved_s = first.duration_s - other.duration_s
    word = "less" if saved_s >= 0 else "more"
    claim = f"{other.label} took {abs(saved_s):,.1f} s {word} than {first.label}"
    if abs(saved_s) <= CHANCE * max(first.duration_s, other.duration_s):
        return f"{claim}: one run of each does not show more than chance, so no phase is named."
    sign = 1 if saved_s >= 0 else -1
    parts = [
        (sign * (one.values[0] - value), one.name)
        for one in phases
        if one.values[0] is not None and (value := one.values[place]) is not None
    ]
    named, explained_s = [], 0.0
    for part_s, name in sorted(parts, reverse=True)[:_NAMED_MAX]:
        if part_s <= 0 or explained_s >= _TELLING * abs(saved_s):
            break
        explained_s += part_s
        named.append(f"{part_s:,.1f} s in {name}")
    return f"{claim}: {_joined(named)}." if named else f"{claim}."


def _joined(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def _work(a: Mapping[str, float], b: Mapping[str, float]) -> str:
    """Return whether both did as much: less work and faster work are different reasons."""
    same: list[str] = []
    apart: list[str] = []
    for name, text in (("disk_moved_bytes", "to and from disks"), ("cpu_s", "of the tasks' CPU time")):
        if name in a and name in b and max(a[name], b[name]) > 0:
            new, old = (
                format_bytes(round(v)) if name.endswith("_bytes") else f"{v:,.1f} s" for v in (b[name], a[name])
            )
            alike = abs(a[name] - b[name]) <= ALIKE * max(a[name], b[name])
            (same if alike else apart).append(f"{new} {text} instead of {old}")
    if same and apart:
        made = "which caches or another processor can make of the same work"
        return f"About the same was {_joined(same)}; not the same {_joined(apart)}, {made}."
    if apart:
        return f"The work was not the same: {_joined(apart)}."
    return f"It did about as much work: {_joined(same)}." if same else ""


def _waiting(a: Mapping[str, float], b: Mapping[str, float]) -> str:
    """Return how long requests took and how busy disks and CPUs were."""
    told = []
    for name, text in (
        ("disk_write_await_ms", "a write took {} ms on average instead of {} ms"),
        ("disk_read_await_ms", "a read {} ms instead of {} ms"),
        ("disk_busy_max_share", "its busiest disk was busy {:.0f} % of the time instead of {:.0f} %"),
        ("cpu_busy_share", "CPUs were busy {:.0f} % of the time instead of {:.0f} %"),
    ):
        if name in a and name in b:
            values = [each[name] for each in (b, a)]
            shown = [100 * v for v in values] if name.endswith("_share") else [f"{v:,.0f}" for v in values]
            told.append(text.format(*shown))
    return f"There {_joined(told)}." if told else ""
