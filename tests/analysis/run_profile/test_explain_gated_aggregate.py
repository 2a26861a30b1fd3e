"""Test the concurrency-gated aggregate throughput."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.run_profile.gated_aggregate import Transfer, gated_aggregate, transfers
from assay.model.runs.task_attempt import TaskAttempt
from assay.model.runs.traces.stream import CountedStream


@st.composite
def _transfer(draw: st.DrawFn) -> Transfer:
    start = draw(st.floats(0, 100))
    return Transfer(start, start + draw(st.floats(0.05, 50)), draw(st.integers(0, 10**10)))


TRANSFERS = st.lists(_transfer(), min_size=1, max_size=15)


@given(st.integers(1, 9), st.floats(0.1, 90), st.floats(-5, 50), st.integers(1, 10**10))
def test_constant_overlap_is_total_bytes_over_time(n: int, length: float, start: float, size_bytes: int) -> None:
    throughput = gated_aggregate([Transfer(start, start + length, size_bytes)] * n)
    assert throughput is not None
    assert throughput.mean_mb_per_s == pytest.approx(n * size_bytes / length / 1e6, rel=1e-6)
    assert throughput.concurrency_max == n
    assert throughput.slots == throughput.slots_total


@given(TRANSFERS)
def test_the_aggregate_is_between_zero_and_the_sum_of_all_rates(moved: list[Transfer]) -> None:
    throughput = gated_aggregate(moved)
    if throughput is None:
        return
    rates = sum(t.moved_bytes / (t.end_s - t.start_s) for t in moved) / 1e6
    assert -1e-9 <= throughput.mean_mb_per_s <= rates * (1 + 1e-6) + 1e-9
    assert 1 <= throughput.slots <= throughput.slots_total
    assert throughput.stddev_mb_per_s >= 0


@given(TRANSFERS, st.floats(1, 1000))
def test_the_aggregate_hardly_depends_on_the_start_time(moved: list[Transfer], later: float) -> None:
    whole = float(round(later))
    shifted = [Transfer(t.start_s + whole, t.end_s + whole, t.moved_bytes) for t in moved]
    before, after = gated_aggregate(moved), gated_aggregate(shifted)
    assert (before is None) == (after is None)
    if before and after and before.slots == after.slots:
        assert after.mean_mb_per_s == pytest.approx(before.mean_mb_per_s, rel=1e-3, abs=1e-3)


def test_a_straggler_does_not_count() -> None:
    crowd = [Transfer(0, 10, 10_000_000)] * 4
    straggler = Transfer(0, 100, 100_000_000)
    throughput = gated_aggregate([*crowd, straggler])
    assert throughput is not None
    assert throughput.mean_mb_per_s == pytest.approx(5.0)
    assert (throughput.slots, throughput.slots_total, throughput.concurrency_max) == (10, 100, 5)


def test_a_slot_counts_from_half_of_the_largest_concurrency_on() -> None:
    throughput = gated_aggregate([Transfer(0, 20, 20_000_000), Transfer(0, 10, 10_000_000)])
    assert throughput is not None
    assert throughput.slots == 20
    assert throughput.mean_mb_per_s == pytest.approx(1.5)
    assert throughput.stddev_mb_per_s == pytest.approx(0.5)


def test_nothing_moved_has_no_rate() -> None:
    assert gated_aggregate([]) is None
    assert gated_aggregate([Transfer(3, 3, 100)]) is None


def test_only_attempts_that_succeeded_are_transfers() -> None:
    def task(status: str, read: int) -> TaskAttempt:
        return TaskAttempt("j", "t", "a", "map", "n", status, 1.0, 2.0, None, None, read, 0, 0, 0, 0, 0.0, 0.0)

    tasks = [task("succeeded", 5), task("failed", 7), task("succeeded", 0)]
    assert transfers(tasks, lambda t: t.hdfs_read_bytes) == [Transfer(1.0, 2.0, 5)]


def test_measured_streams_are_taken_second_by_second_of_their_clock() -> None:
    """Two streams of 3 s from x.5 on: the first and the last slot are half a second long, and all of them count."""
    streams = [CountedStream(10.5, 13.5, 10, (5, 20, 30, 5)), CountedStream(10.5, 13.5, 10, (5, 0, 10, 5))]
    throughput = gated_aggregate(streams)
    assert throughput is not None
    assert [(slot.start_s, slot.length_s, slot.concurrency, slot.moved_bytes) for slot in throughput.curve] == [
        (10.5, 0.5, 2.0, 10.0),
        (11.0, 1.0, 2.0, 20.0),
        (12.0, 1.0, 2.0, 40.0),
        (13.0, 0.5, 2.0, 10.0),
    ]
    assert throughput.mean_mb_per_s == pytest.approx(80 / 3 / 1e6)
    assert throughput.stddev_mb_per_s == pytest.approx((((20 - 80 / 3) ** 2 * 2 + (40 - 80 / 3) ** 2) / 3) ** 0.5 / 1e6)


def test_bytes_in_seconds_with_too_few_streams_do_not_count() -> None:
    """Four containers in seconds 0 and 1, one in seconds 2 to 5: its bytes do not count as a rate of the cluster."""
    crowd = [CountedStream(0.0, 2.0, 0, (100, 100)) for _ in range(3)]
    throughput = gated_aggregate([*crowd, CountedStream(0.0, 6.0, 0, (100, 100, 900, 900, 900, 900))])
    assert throughput is not None
    assert (throughput.slots, throughput.slots_total, throughput.concurrency_max) == (2, 6, 4)
    assert throughput.mean_mb_per_s == pytest.approx(400 / 1e6)
    assert [slot.counted for slot in throughput.curve] == [True, True, False, False, False, False]


def test_a_pause_lowers_the_measured_aggregate_and_not_the_evenly_spread_one() -> None:
    paused = gated_aggregate([CountedStream(0.0, 4.0, 0, (300, 0, 0, 300)), CountedStream(0.0, 2.0, 0, (100, 100))])
    assert paused is not None
    assert [slot.moved_bytes for slot in paused.curve] == [400, 100, 0, 300]
    assert paused.stddev_mb_per_s > 0


@st.composite
def _measured(draw: st.DrawFn) -> CountedStream:
    start = draw(st.floats(0, 50))
    end = start + draw(st.floats(0.001, 20))
    slots = int(end) - int(start) + 1
    counted = draw(st.lists(st.integers(0, 10**9), min_size=slots, max_size=slots))
    return CountedStream(start, end, int(start) + draw(st.integers(-1, 1)), tuple(counted))


@given(st.lists(_measured(), min_size=1, max_size=8))
def test_no_byte_is_lost_with_any_clocks(streams: list[CountedStream]) -> None:
    throughput = gated_aggregate(streams)
    if throughput is None:
        return
    assert sum(slot.moved_bytes for slot in throughput.curve) == pytest.approx(sum(s.moved_bytes for s in streams))
    active_s = sum(slot.concurrency * slot.length_s for slot in throughput.curve)
    assert active_s == pytest.approx(sum(s.end_s - s.start_s for s in streams), rel=1e-6)
    counted = [slot for slot in throughput.curve if slot.counted]
    assert all(slot.concurrency >= throughput.concurrency_max / 2 - 1e-6 for slot in counted)
