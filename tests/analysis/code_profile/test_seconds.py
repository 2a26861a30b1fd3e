"""Test the counts of stacks by time: parts, intervals, and the text in the bundle."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.code_profile.seconds import (
    INTERVALS_MAX,
    StackSamples,
    StackTimes,
    parse_times,
    timed_parts,
    times_text,
)
from assay.analysis.code_profile.stacks import collapsed_text, parse_collapsed
from assay.foundation.errors import FormatError

NS = 1_000_000_000
FRAMES = st.lists(st.sampled_from(["a", "b.c", "d"]), min_size=1, max_size=3).map(tuple)
SAMPLES = st.dictionaries(FRAMES, st.lists(st.integers(0, 5000 * NS), min_size=1, max_size=5), max_size=6)


@given(SAMPLES, st.integers(0, 5_000_000))
def test_every_sample_is_in_one_part_and_one_interval(samples: dict[tuple[str, ...], list[int]], bound_ms: int) -> None:
    stack_samples = [StackSamples(stack, tuple(times), (2,) * len(times)) for stack, times in samples.items()]
    parts = timed_parts(stack_samples, [("shuffle", 1.0), ("reduce", float(bound_ms))])
    counts = Counter[tuple[str, ...]]()
    for part, times in parts.items():
        counts.update(times.total())
        stacks, _ = parse_collapsed(collapsed_text(times.total()))
        assert parse_times(times_text(times), list(stacks)) == times
        assert len(times.stacks) <= INTERVALS_MAX + 2
        assert times.widened(64).total() == times.total()
        for second in times.stacks:
            assert second % times.interval_s == 0
            assert (second < bound_ms / 1000) if part == "shuffle" else second > bound_ms / 1000 - times.interval_s
    assert counts == {stack: 2 * len(times) for stack, times in samples.items()}


def test_a_long_recording_has_longer_intervals() -> None:
    samples = [StackSamples(("a",), tuple(second * NS for second in range(0, 4000, 7)), (1,) * 572)]
    times = timed_parts(samples, [("map", 0.0)])["map"]
    assert times.interval_s == 8
    assert times.total() == {("a",): 572}


@pytest.mark.parametrize(
    "text", ["", "interval_s 0\n", "interval_s x\n", "interval_s 1\n5 7:1\n", "interval_s 1\n5 0\n"]
)
def test_damaged_times_are_refused(text: str) -> None:
    with pytest.raises(FormatError, match="times of a profile"):
        parse_times(text, [("a",)])


def test_the_text_numbers_stacks_by_their_line() -> None:
    times = StackTimes(2, {10: Counter({("b",): 3}), 8: Counter({("a", "c"): 1, ("b",): 1})})
    assert times_text(times) == "interval_s 2\n8 0:1 1:1\n10 1:3\n"
