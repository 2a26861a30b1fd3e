"""The concurrency-gated aggregate throughput."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.throughput import Transfer, gated_aggregate, transfers
from assay.model.run import Task


@st.composite
def _transfer(draw: st.DrawFn) -> Transfer:
    start = draw(st.floats(0, 100))
    return Transfer(start, start + draw(st.floats(0.05, 50)), draw(st.integers(0, 10**10)))


TRANSFERS = st.lists(_transfer(), min_size=1, max_size=15)


@given(st.integers(1, 9), st.floats(0.1, 90), st.floats(-5, 50), st.integers(1, 10**10))
def test_constant_overlap_is_total_bytes_over_time(n: int, length: float, start: float, each: int) -> None:
    found = gated_aggregate([Transfer(start, start + length, each)] * n)
    assert found is not None
    assert found.mean_mb_per_s == pytest.approx(n * each / length / 1e6, rel=1e-6)
    assert found.concurrency_max == n
    assert found.slots == found.slots_total


@given(TRANSFERS)
def test_it_lies_between_nothing_and_the_sum_of_all_rates(moved: list[Transfer]) -> None:
    found = gated_aggregate(moved)
    if found is None:
        return
    rates = sum(t.moved_bytes / (t.end_s - t.start_s) for t in moved) / 1e6
    assert -1e-9 <= found.mean_mb_per_s <= rates * (1 + 1e-6) + 1e-9
    assert 1 <= found.slots <= found.slots_total
    assert found.stddev_mb_per_s >= 0


@given(TRANSFERS, st.floats(1, 1000))
def test_when_it_happened_does_not_matter_much(moved: list[Transfer], later: float) -> None:
    whole = float(round(later))
    shifted = [Transfer(t.start_s + whole, t.end_s + whole, t.moved_bytes) for t in moved]
    before, after = gated_aggregate(moved), gated_aggregate(shifted)
    assert (before is None) == (after is None)
    if before and after and before.slots == after.slots:
        assert after.mean_mb_per_s == pytest.approx(before.mean_mb_per_s, rel=1e-3, abs=1e-3)


def test_a_straggler_does_not_count() -> None:
    crowd = [Transfer(0, 10, 10_000_000)] * 4
    straggler = Transfer(0, 100, 100_000_000)
    found = gated_aggregate([*crowd, straggler])
    assert found is not None
    assert found.mean_mb_per_s == pytest.approx(5.0)
    assert (found.slots, found.slots_total, found.concurrency_max) == (10, 100, 5)


def test_a_slot_counts_from_half_of_the_largest_concurrency_on() -> None:
    found = gated_aggregate([Transfer(0, 20, 20_000_000), Transfer(0, 10, 10_000_000)])
    assert found is not None
    assert found.slots == 20
    assert found.mean_mb_per_s == pytest.approx(1.5)
    assert found.stddev_mb_per_s == pytest.approx(0.5)


def test_nothing_moved_has_no_rate() -> None:
    assert gated_aggregate([]) is None
    assert gated_aggregate([Transfer(3, 3, 100)]) is None


def test_only_attempts_that_succeeded_are_transfers() -> None:
    def task(status: str, read: int) -> Task:
        return Task("j", "t", "a", "map", "n", status, 1.0, 2.0, None, None, read, 0, 0, 0, 0, 0.0, 0.0)

    tasks = [task("succeeded", 5), task("failed", 7), task("succeeded", 0)]
    assert transfers(tasks, lambda t: t.hdfs_read_bytes) == [Transfer(1.0, 2.0, 5)]
