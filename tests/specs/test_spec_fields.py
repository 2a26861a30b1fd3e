"""Test single values: quantities in every unit, and refusals."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from assay.foundation.units import (
    BIT_RATE_PATTERN,
    BYTE_RATE_PATTERN,
    BYTES_PATTERN,
    DURATION_PATTERN,
    Money,
    format_percent,
    parse_money,
)
from assay.specs import fields
from assay.text import probability

DECIMAL = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
PREFIXES = {**DECIMAL, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
MILLISECONDS = {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000, "y": 31_536_000_000}
NUMBERS = st.decimals(min_value=Decimal("0.001"), max_value=8000, places=3)
SPACES = st.sampled_from(["", " "])


def read(kind: Any, text: object) -> Any:
    return TypeAdapter(kind).validate_python(text)


@settings(deadline=None)
@given(number=NUMBERS, prefix=st.sampled_from(list(PREFIXES)), space=SPACES)
def test_sizes_and_rates_are_their_number_times_their_prefix(number: Decimal, prefix: str, space: str) -> None:
    exact = number * PREFIXES[prefix]
    assert read(fields.ByteRate, f"{number}{space}{prefix}B/s") == pytest.approx(float(exact))
    assert read(fields.BitRate, f"{number}{space}{prefix}bit/s") == pytest.approx(float(exact))
    if exact >= 1:
        assert abs(read(fields.Size, f"{number}{space}{prefix}B") - exact) <= max(1, exact / 2**52)


@settings(deadline=None)
@given(number=st.integers(1, 2**40))
def test_a_size_in_bytes_is_exact(number: int) -> None:
    assert read(fields.Size, f"{number}B") == number


@settings(deadline=None)
@given(number=NUMBERS, unit=st.sampled_from(list(MILLISECONDS)), space=SPACES)
def test_durations_are_seconds(number: Decimal, unit: str, space: str) -> None:
    assert read(fields.Duration, f"{number}{space}{unit}") == pytest.approx(float(number * MILLISECONDS[unit] / 1000))


@settings(deadline=None)
@given(
    amount=st.decimals(min_value=0, max_value=10**9, places=2), currency=st.sampled_from(["USD", "EUR", "GBP", "CHF"])
)
def test_prices_read_back_as_they_are_written(amount: Decimal, currency: str) -> None:
    price = Money(amount, currency)
    assert read(fields.Price, str(price)) == price
    assert read(fields.Price, f"{amount} {currency}") == price


@pytest.mark.parametrize(
    ("amount", "text"), [("37561.50", "$37,561.50"), ("37561", "$37,561"), ("0.00041", "$0.00041"), ("0.1", "$0.10")]
)
def test_a_price_is_printed_exactly(amount: str, text: str) -> None:
    assert str(Money(Decimal(amount), "USD")) == text


def test_shares_have_a_space_before_the_sign() -> None:
    shares = (format_percent(0.125, 1), format_percent(1.0), probability(0.12), probability(0.001), probability(0.999))
    assert shares == ("12.5 %", "100 %", "12 %", "<1 %", ">99 %")


@settings(deadline=None)
@given(divisor=st.integers(1, 1000))
def test_scales_are_one_over_their_divisor(divisor: int) -> None:
    assert read(fields.Scale, f"1/{divisor}") == pytest.approx(1 / divisor)


@pytest.mark.parametrize("text", ["25GbE", "25 GbE", "25Gbps", "25Gb/s", "25000Mbit/s"])
def test_a_link_rate_may_be_written_as_its_standard_is_called(text: str) -> None:
    assert read(fields.BitRate, text) == 25e9


@pytest.mark.parametrize(
    ("text", "amount", "currency"),
    [
        ("$100k", 100_000, "USD"),
        ("100k$", 100_000, "USD"),
        ("100kUSD", 100_000, "USD"),
        ("1.5M EUR", 1_500_000, "EUR"),
        ("€ 2 K", 2_000, "EUR"),
        ("100KRW", 100, "KRW"),
        ("5MXN", 5, "MXN"),
    ],
)
def test_an_amount_may_be_in_thousands_or_millions(text: str, amount: int, currency: str) -> None:
    assert read(fields.Price, text) == Money(Decimal(amount), currency)


def test_an_amount_without_currency_is_in_the_one_that_is_given() -> None:
    assert parse_money("100k", "EUR") == parse_money("100,000", "EUR") == Money(Decimal(100_000), "EUR")
    assert parse_money("$100k", "EUR") == Money(Decimal(100_000), "USD")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (fields.Size, "-1TB"),
        (fields.ByteRate, "-120MB/s"),
        (fields.BitRate, "- 10GbE"),
        (fields.Duration, "-2h"),
        (fields.Price, "-100k"),
        (fields.Price, "-$400"),
        (fields.Price, "$-400"),
        (fields.Price, "\N{MINUS SIGN}400 CHF"),
    ],
)
def test_a_negative_quantity_is_refused_as_negative(kind: Any, text: str) -> None:
    with pytest.raises(ValidationError, match="must not be negative; write"):
        read(kind, text)
    with pytest.raises(ValidationError, match="is not a"):
        read(kind, f"-{text}")


UNITS = [fields.Size, fields.ByteRate, fields.BitRate, fields.Duration, fields.Price, fields.Scale]
PATTERNS = {
    fields.Size: BYTES_PATTERN,
    fields.ByteRate: BYTE_RATE_PATTERN,
    fields.BitRate: BIT_RATE_PATTERN,
    fields.Duration: DURATION_PATTERN,
}


@pytest.mark.parametrize("kind", UNITS)
@settings(deadline=None)
@given(text=st.text(max_size=50) | st.from_regex(r"\d{0,400}(\.\d*)?[kKMGTPi]*(B|bit|s|min)?(/s)?", fullmatch=True))
def test_any_other_text_is_refused_as_a_validation_error(kind: Any, text: str) -> None:
    try:
        value = read(kind, text)
    except ValidationError:
        return
    assert kind not in PATTERNS or re.match(PATTERNS[kind], text.strip())
    assert isinstance(value, Money) or value > 0


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (fields.Size, "64"),
        (fields.Size, "64gb"),
        (fields.Size, "64Gb"),
        (fields.Size, "0GB"),
        (fields.Size, "-1GB"),
        (fields.Size, "64GB/s"),
        (fields.Size, "0"),
        (fields.ByteRate, "120MB"),
        (fields.ByteRate, "120Mbit/s"),
        (fields.BitRate, "1GB/s"),
        (fields.BitRate, "1G"),
        (fields.BitRate, "1GBE"),
        (fields.Duration, "10"),
        (fields.Duration, "10m"),
        (fields.Price, "400"),
        (fields.Price, "100k"),
        (fields.Price, "100 thousand USD"),
        (fields.Price, "$"),
        (fields.Price, "$-4"),
        (fields.Scale, "0.05"),
        (fields.Scale, "1/0"),
        (fields.Scale, "1/0.5"),
        (fields.Scale, "20"),
        (fields.Size, ["1GB"]),
        (fields.Size, {"a": "1GB"}),
    ],
)
def test_a_quantity_with_a_wrong_unit_is_refused(kind: Any, text: object) -> None:
    with pytest.raises(ValidationError):
        read(kind, text)
