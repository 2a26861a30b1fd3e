"""Test durations in tables: accepted forms, and refusals of ambiguous ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.store.formats.tables.durations import written_duration_s


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1h30m", 5400),
        ("1 h 30 min", 5400),
        ("2d 3h", 183_600),
        ("00:10:05", 605),
        ("100:00:01.5", 360_001.5),
        ("90m", 5400),
        ("95s", 95),
        ("12 min", 720),
        ("1.5h", 5400),
        ("30ms", 0.03),
        ("2 hours 5 minutes", 7500),
    ],
)
def test_unambiguous_values_are_read(text: str, seconds: float) -> None:
    assert written_duration_s(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["10:05", "1h90m", "00:60:00", "1:2:3", "30m1h", "", "5", "1,5h", "h", "-1h30m"])
def test_ambiguous_and_unknown_values_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"duration|may be"):
        written_duration_s(text)


@given(st.integers(0, 400), st.integers(0, 59), st.integers(0, 59))
def test_units_and_clock_times_agree(hours: int, minutes: int, seconds: int) -> None:
    clock = written_duration_s(f"{hours:02}:{minutes:02}:{seconds:02}")
    assert clock == written_duration_s(f"{hours}h{minutes}m{seconds}s") == hours * 3600 + minutes * 60 + seconds


@given(st.text(max_size=12))
def test_any_text_is_a_duration_or_a_value_error(text: str) -> None:
    try:
        assert written_duration_s(text) >= 0
    except ValueError:
        return
