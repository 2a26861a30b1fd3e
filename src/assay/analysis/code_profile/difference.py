"""Compare the profiles of two sides: where the second spends more time per byte of data, decided with an error rate.

In: for each side its runs, with bytes of data, and stacks by part and recording. Out: rows for phases, categories and
methods, each with the seconds per GB of both sides, the difference with its 95 % interval, and a verdict.

A side's value is its samples times the sampling interval, divided by its bytes. The interval is Welch's t (B. L. Welch,
Biometrika 34, 1947) over repetitions if both sides have several, otherwise over recordings (task attempts, executors).
Its variance is at least that of sampling: the number of samples of one code is about Poisson distributed, with the rate
of both sides together. Holm's method (S. Holm, Scand. J. Stat. 6, 1979) corrects the verdicts of all rows together.
Intervals over recordings leave out the variation between runs, so single runs have no verdict.
Tested methods are those with most samples on both sides together, so the choice does not depend on the difference.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import sqrt
from typing import NamedTuple

import numpy as np

from assay.analysis.code_profile.categories import category_of, plain_frame
from assay.analysis.code_profile.stacks import Stack
from assay.analysis.statistics import ALPHA, LEVEL, Floats, holm_where_known, two_sided_p

GB = 1e9
FRAMES_MAX = 10
"""Maximum number of tested methods of a phase."""
SAMPLES_MIN = 20
"""Minimum number of samples of both sides together of a tested category or method."""


class CodeVerdict(StrEnum):
    """Whether the second side spends more time in a code, less, or neither is shown."""

    MORE = "more"
    LESS = "less"
    OPEN = "open"


class IntervalBasis(StrEnum):
    """The units whose variation an interval covers."""

    REPETITIONS = "repetitions"
    RECORDINGS = "recordings"


class CodeItem(NamedTuple):
    """The code of a row: a phase, a category in it, or a method with its category."""

    phase: str
    category: str | None = None
    frame: str | None = None


@dataclass(frozen=True, slots=True)
class ProfiledRun:
    """The stacks of a run by part and recording."""

    run_id: str
    data_bytes: int
    parts: Mapping[str, Mapping[str, Counter[Stack]]]


@dataclass(frozen=True, slots=True)
class CodeRow:
    """One code on both sides, in seconds per GB of data; without an interval if a side has one unit."""

    code: CodeItem
    baseline_samples: int
    """Samples of the code on the baseline, over all its runs; ``candidate_samples``: on the candidate."""
    candidate_samples: int
    baseline_s_per_gb: float
    candidate_s_per_gb: float
    difference_s_per_gb: float
    low_s_per_gb: float | None
    high_s_per_gb: float | None
    p: float | None
    """The p value of no difference, corrected for all rows."""
    verdict: CodeVerdict


@dataclass(frozen=True, slots=True)
class CodeDifference:
    """The time per byte of each code on both sides; rows with the largest increase first."""

    basis: IntervalBasis
    baseline_units: int
    candidate_units: int
    phases: tuple[CodeRow, ...]
    categories: tuple[CodeRow, ...]
    frames: tuple[CodeRow, ...]
    untested: int
    """Number of categories and methods that are not tested because they have too few samples."""


def code_difference(
    baseline: Sequence[ProfiledRun], candidate: Sequence[ProfiledRun], interval_s: float
) -> CodeDifference:
    """Return where ``candidate`` spends more time than ``baseline``; ``interval_s``: time between two samples."""
    basis = IntervalBasis.REPETITIONS if min(len(baseline), len(candidate)) > 1 else IntervalBasis.RECORDINGS
    sides = [[_counts_of_run(run) for run in side] for side in (baseline, candidate)]
    total = Counter[CodeItem]()
    for run in (run for side in sides for run in side):
        for counts in run.values():
            total.update(counts)
    codes = _tested_codes(total)
    counted_sides = [
        _side_of(codes, runs, basis, sum(run.data_bytes for run in side))
        for runs, side in zip(sides, (baseline, candidate), strict=True)
    ]
    rows = _rows(codes, counted_sides[0], counted_sides[1], interval_s, basis)
    return CodeDifference(
        basis=basis,
        baseline_units=_units(sides[0], basis),
        candidate_units=_units(sides[1], basis),
        phases=tuple(row for row in rows if row.code.category is None),
        categories=tuple(row for row in rows if row.code.category is not None and row.code.frame is None),
        frames=tuple(row for row in rows if row.code.frame is not None),
        untested=sum(code.category is not None for code in total) - sum(code.category is not None for code in codes),
    )


_RunCounts = dict[tuple[str, str], Counter[CodeItem]]
"""Counts of each code, by part and recording."""


def _counts_of_run(run: ProfiledRun) -> _RunCounts:
    counts_by_recording: _RunCounts = defaultdict(Counter)
    for part, recordings in run.parts.items():
        for recording, stacks in recordings.items():
            counts = counts_by_recording[part, recording]
            for stack, count in stacks.items():
                category = category_of(stack)
                counts[CodeItem(part)] += count
                counts[CodeItem(part, category)] += count
                counts[CodeItem(part, category, plain_frame(stack[-1]))] += count
    return dict(counts_by_recording)


def _units(runs: Sequence[_RunCounts], basis: IntervalBasis) -> int:
    return (
        len(runs) if basis is IntervalBasis.REPETITIONS else len({(n, r) for n, run in enumerate(runs) for _, r in run})
    )


def _tested_codes(total: Counter[CodeItem]) -> list[CodeItem]:
    """Return all phases, the categories with enough samples, and of these the methods with most samples by phase."""
    frequent_codes = [code for code, count in total.most_common() if code.category is None or count >= SAMPLES_MIN]
    codes, methods = [], Counter[str]()
    for code in frequent_codes:
        if code.frame is not None:
            methods[code.phase] += 1
            if methods[code.phase] > FRAMES_MAX:
                continue
        codes.append(code)
    return codes


class _CountedSide(NamedTuple):
    """Sums of samples by code, the variance of each sum over units, the number of units, and the bytes."""

    samples: Floats
    variance: Floats
    units: Floats
    data_bytes: int


def _side_of(
    codes: Sequence[CodeItem], runs: Sequence[_RunCounts], basis: IntervalBasis, data_bytes: int
) -> _CountedSide:
    values = [_values(code, runs, basis) for code in codes]
    units = np.array([len(row) for row in values], dtype=np.float64)
    variance = np.array([np.var(row, ddof=1) if len(row) > 1 else np.nan for row in values])
    return _CountedSide(np.array([sum(row) for row in values], dtype=np.float64), units * variance, units, data_bytes)


def _values(code: CodeItem, runs: Sequence[_RunCounts], basis: IntervalBasis) -> list[int]:
    """Return the samples of a code in each run, or in each recording that has the phase."""
    counts_by_run = [[counts[code] for (part, _), counts in run.items() if part == code.phase] for run in runs]
    return (
        [sum(run) for run in counts_by_run]
        if basis is IntervalBasis.REPETITIONS
        else [n for run in counts_by_run for n in run]
    )


def _rows(
    codes: Sequence[CodeItem], first: _CountedSide, second: _CountedSide, interval_s: float, basis: IntervalBasis
) -> list[CodeRow]:
    """Return the rows, those with the largest increase first."""
    from scipy.special import stdtrit  # imported here because the import takes 0.1 s

    rate = (first.samples + second.samples) / (first.data_bytes + second.data_bytes)
    sides = []
    for side in (first, second):
        s_per_gb_of_sample = interval_s * GB / side.data_bytes
        squared_error = np.maximum(side.variance, rate * side.data_bytes) * s_per_gb_of_sample**2
        squared_error = np.where(np.isnan(side.variance), np.nan, squared_error)
        sides.append(
            (side.samples * s_per_gb_of_sample, squared_error, squared_error**2 / np.maximum(side.units - 1, 1))
        )
    (a, squared_error_a, term_a), (b, squared_error_b, term_b) = sides
    difference, squared_error = b - a, squared_error_a + squared_error_b
    with np.errstate(invalid="ignore", divide="ignore"):
        degrees = squared_error**2 / (term_a + term_b)
        half_width = stdtrit(degrees, 0.5 + LEVEL / 2) * np.sqrt(squared_error)
    p_values = holm_where_known(
        [
            two_sided_p(d, sqrt(e), n) if e > 0 else None
            for d, e, n in zip(difference, squared_error, degrees, strict=True)
        ]
    )
    rows = [
        CodeRow(
            code=code,
            baseline_samples=int(first.samples[i]),
            candidate_samples=int(second.samples[i]),
            baseline_s_per_gb=float(a[i]),
            candidate_s_per_gb=float(b[i]),
            difference_s_per_gb=float(difference[i]),
            low_s_per_gb=None if np.isnan(half_width[i]) else float(difference[i] - half_width[i]),
            high_s_per_gb=None if np.isnan(half_width[i]) else float(difference[i] + half_width[i]),
            p=p_values[i],
            verdict=_verdict(float(difference[i]), p_values[i], basis),
        )
        for i, code in enumerate(codes)
    ]
    return sorted(rows, key=lambda row: -row.difference_s_per_gb)


def _verdict(difference: float, p: float | None, basis: IntervalBasis) -> CodeVerdict:
    if basis is IntervalBasis.RECORDINGS or p is None or p >= ALPHA:
        return CodeVerdict.OPEN
    return CodeVerdict.MORE if difference > 0 else CodeVerdict.LESS


def decided(rows: Iterable[CodeRow], verdict: CodeVerdict) -> list[CodeRow]:
    """Return the rows with a verdict, in order."""
    return [row for row in rows if row.verdict is verdict]
