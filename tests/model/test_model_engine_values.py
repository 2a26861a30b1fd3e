"""Test durations and sizes of Spark and Hadoop parameters against the projects' own parsers."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.execution.engines.spark.settings import locality_wait_s, memory_mb
from assay.foundation.errors import SpecificationError
from assay.model.plans.engine_values import (
    HADOOP_SIZE,
    SPARK_DURATION,
    SPARK_SIZE,
    Notation,
    block_size_bytes,
    engine_amount,
)

MS = Fraction(1, 1000)


def _amount(text: str, notation: Notation, unit: int | Fraction = 1) -> float | None:
    try:
        return engine_amount(text, notation, unit)
    except ValueError:
        return None


@pytest.mark.parametrize(
    ("text", "spark_s"),
    [  # printed by JavaUtils.timeStringAs of Spark 4.3.0, a bare number in ms
        ("3000", 3.0),
        ("2m", 120.0),
        ("2min", 120.0),
        ("1h", 3600.0),
        ("1d", 86400.0),
        ("50ms", 0.05),
        ("7us", 7e-6),
        ("3ns", None),
        ("nan", None),
        ("xyz", None),
        ("1.5s", None),
        (" 3S ", 3.0),
        ("3 s", None),
        ("+3s", None),
        ("", None),
        ("1hour", None),
        ("0x10", None),
        ("٣s", None),
        ("-1s", None),  # Spark reads this; no wait is negative
    ],
)
def test_durations_are_read_as_spark_does(text: str, spark_s: float | None) -> None:
    assert _amount(text, SPARK_DURATION, MS) == spark_s


@pytest.mark.parametrize(
    ("text", "spark_bytes", "hadoop_bytes"),
    [  # printed by JavaUtils.byteStringAsBytes of Spark 4.3.0 and Configuration.getLongBytes of Hadoop 3.4.2
        ("1", 1, 1),
        ("640m", 671088640, 671088640),
        ("2g", 2147483648, 2147483648),
        ("2GB", 2147483648, None),
        ("2gib", 2147483648, None),
        ("1.5g", None, None),
        ("3t", 3298534883328, 3298534883328),
        ("4p", 4503599627370496, 4503599627370496),
        ("5e", None, 5764607523034234880),
        ("7kb", 7168, None),
        (" 3M ", 3145728, 3145728),
        ("3 m", None, None),
        ("", None, None),
        ("0x10", None, None),
        ("10b", 10, None),
        ("+3m", None, 3145728),
        ("9223372036854775807p", None, None),
        ("-1k", None, None),
    ],
)
def test_sizes_are_read_as_the_projects_do(text: str, spark_bytes: int | None, hadoop_bytes: int | None) -> None:
    assert _amount(text, SPARK_SIZE) == spark_bytes
    assert _amount(text, HADOOP_SIZE) == hadoop_bytes


@given(
    notation=st.sampled_from([SPARK_DURATION, SPARK_SIZE, HADOOP_SIZE]),
    number=st.integers(0, 10**6),
    bare=st.sampled_from([1, MS, 2**20]),
    data=st.data(),
)
def test_an_amount_is_its_number_times_its_unit(
    notation: Notation, number: int, bare: int | Fraction, data: st.DataObject
) -> None:
    suffix = data.draw(st.sampled_from(["", *notation.units]))
    factor = Fraction(notation.units[suffix]) if suffix else Fraction(bare)
    text = data.draw(st.sampled_from([f"{number}{suffix}", f" {number}{suffix.upper()} ", f"0{number}{suffix}"]))
    if number * factor < 2**63:
        assert engine_amount(text, notation, bare) == pytest.approx(float(number * factor), rel=1e-15)


@given(notation=st.sampled_from([SPARK_DURATION, SPARK_SIZE, HADOOP_SIZE]), text=st.text(max_size=30))
def test_any_other_text_is_refused_and_no_amount_is_negative_or_endless(notation: Notation, text: str) -> None:
    amount = _amount(text, notation)
    assert amount is None or 0 <= amount < float("inf")


def test_settings_that_assay_reads_follow_these_rules() -> None:
    assert [locality_wait_s({"spark.locality.wait": text}) for text in ("2m", "1h", "3000")] == [120.0, 3600.0, 3.0]
    assert locality_wait_s({}) == 3.0
    for text in ("xyz", "-1s", "nan"):
        with pytest.raises(SpecificationError, match=r"spark\.locality\.wait"):
            locality_wait_s({"spark.locality.wait": text})
    assert [memory_mb(text) for text in ("640", "2g", "1500k", "1.5g", "2 g")] == [640.0, 2048.0, 1.0, None, None]
    assert [block_size_bytes(text) for text in ("67108864", "64m", "64MiB")] == [67108864] * 3
