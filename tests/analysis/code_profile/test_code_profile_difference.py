"""Test the difference of two profiles: rates per byte, intervals, verdicts, and the choice of tested methods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pytest
from scipy.stats import ttest_ind

from assay.analysis.code_profile.difference import (
    FRAMES_MAX,
    CodeDifference,
    CodeRow,
    CodeVerdict,
    IntervalBasis,
    ProfiledRun,
    code_difference,
)
from assay.analysis.code_profile.stacks import Stack
from assay.analysis.statistics import holm_where_known

BURN: Stack = ("root", "com/example/Join.burn")
COPY: Stack = ("root", "org/apache/hadoop/hdfs/DFSInputStream.read")
DATA_BYTES = 2_000_000_000


def run_of(
    number: int, *attempts: Mapping[Stack, int], part: str = "reduce", data_bytes: int = DATA_BYTES
) -> ProfiledRun:
    recordings = {f"attempt_{n}": Counter(stacks) for n, stacks in enumerate(attempts)}
    return ProfiledRun(f"run{number}", data_bytes, {part: recordings})


def side_of(burns: list[int], copies: list[int]) -> list[ProfiledRun]:
    pairs = zip(burns, copies, strict=True)
    return [run_of(n, {BURN: burn, COPY: copy}) for n, (burn, copy) in enumerate(pairs)]


def row_of(answer: CodeDifference, frame: str) -> CodeRow:
    return next(row for row in answer.frames if row.code.frame == frame)


def test_rates_are_seconds_per_gb_and_intervals_are_welchs_over_repetitions() -> None:
    first, second = [1000, 1300, 1100, 700], [3000, 2500, 2100]
    answer = code_difference(side_of(first, [500] * 4), side_of(second, [500] * 3), 0.01)
    assert (answer.basis, answer.baseline_units, answer.candidate_units) == (IntervalBasis.REPETITIONS, 4, 3)
    row = row_of(answer, BURN[-1])
    assert row.baseline_s_per_gb == pytest.approx(np.mean(first) * 0.01 / 2)
    assert row.candidate_s_per_gb == pytest.approx(np.mean(second) * 0.01 / 2)
    welch = ttest_ind(np.array(second) * 0.005, np.array(first) * 0.005, equal_var=False)
    interval = welch.confidence_interval(0.95)
    assert row.low_s_per_gb == pytest.approx(interval.low)
    assert row.high_s_per_gb == pytest.approx(interval.high)
    rows = [*answer.phases, *answer.categories, *answer.frames]
    assert len(rows) == 5
    assert row.p is not None
    assert row.p >= welch.pvalue
    assert holm_where_known([welch.pvalue])[0] == pytest.approx(welch.pvalue)


def test_a_large_increase_is_decided_in_its_phase_and_equal_code_stays_open() -> None:
    answer = code_difference(side_of([10, 12, 11], [500, 520, 490]), side_of([800, 810, 790], [505, 500, 510]), 0.01)
    assert row_of(answer, BURN[-1]).verdict is CodeVerdict.MORE
    assert row_of(answer, COPY[-1]).verdict is CodeVerdict.OPEN
    assert answer.frames[0].code.frame == BURN[-1]
    reversed_answer = code_difference(
        side_of([800, 810, 790], [505, 500, 510]), side_of([10, 12, 11], [500, 520, 490]), 0.01
    )
    assert row_of(reversed_answer, BURN[-1]).verdict is CodeVerdict.LESS


def test_equal_counts_without_variation_are_no_proof() -> None:
    """10 samples in each of three runs against 14 are within the noise of sampling, although the runs do not vary."""
    answer = code_difference(side_of([10] * 3, [500] * 3), side_of([14] * 3, [500] * 3), 0.01)
    row = row_of(answer, BURN[-1])
    assert row.verdict is CodeVerdict.OPEN
    assert row.low_s_per_gb is not None
    assert row.low_s_per_gb < 0


def test_single_runs_are_compared_over_recordings_and_one_recording_has_no_interval() -> None:
    first = [run_of(1, *({BURN: 100 + n} for n in range(6)))]
    second = [run_of(2, *({BURN: 300 + n} for n in range(6)))]
    answer = code_difference(first, second, 0.01)
    assert (answer.basis, answer.baseline_units) == (IntervalBasis.RECORDINGS, 6)
    row = row_of(answer, BURN[-1])
    assert row.low_s_per_gb is not None
    assert 0 < row.low_s_per_gb < row.difference_s_per_gb
    assert row.verdict is CodeVerdict.OPEN
    answer_of_one_recording = code_difference([run_of(1, {BURN: 100})], [run_of(2, {BURN: 900})], 0.01)
    row = row_of(answer_of_one_recording, BURN[-1])
    assert (row.low_s_per_gb, row.p, row.verdict) == (None, None, CodeVerdict.OPEN)


def test_half_the_data_with_half_the_samples_is_no_difference() -> None:
    whole = [run_of(n, {BURN: 1000 + n}) for n in range(4)]
    half = [run_of(n, {BURN: 500 + n}, data_bytes=DATA_BYTES // 2) for n in range(4)]
    row = row_of(code_difference(whole, half, 0.01), BURN[-1])
    assert abs(row.difference_s_per_gb) < 0.01
    assert row.verdict is CodeVerdict.OPEN


def test_only_the_methods_with_most_samples_are_tested_and_the_others_are_counted() -> None:
    stacks: dict[Stack, int] = {("root", f"com/example/Join.m{n}"): 1000 - n for n in range(FRAMES_MAX + 5)}
    stacks["root", "com/example/Join.rare"] = 1
    answer = code_difference([run_of(1, stacks)], [run_of(2, stacks)], 0.01)
    assert len(answer.frames) == FRAMES_MAX
    assert answer.untested == 6
    assert {row.code.frame for row in answer.frames} == {f"com/example/Join.m{n}" for n in range(FRAMES_MAX)}
