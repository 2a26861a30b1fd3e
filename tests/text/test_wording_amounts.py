"""Test the display text of prices that are multiplied, and of rough estimates."""

from decimal import Decimal

import pytest

from assay.text import duration_text, money_interval, money_texts, price_text, seconds_texts


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0.4746, "$0.4746"),
        (0.686, "$0.686"),
        (1.0, "$1.00"),
        (99.5, "$99.50"),
        (Decimal("750.5"), "$750.50"),
        (6996.0, "$6,996"),
        (996.0, "$996"),
        (6996.04, "$6,996"),
        (0.000410, "$0.000410"),
        (0, "$0"),
    ],
)
def test_a_price_has_the_decimals_of_its_products(amount: float | Decimal, text: str) -> None:
    assert price_text(amount, "USD") == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.0443, 0.12, "$0.0443 to $0.1200"),
        (0.44, 1.2, "$0.44 to $1.20"),
        (0.05, 20.0, "$0.0500 to $20.00"),
        (0.00427, 0.0108, "$0.00427 to $0.01080"),
        (99.5, 102.0, "$99.50 to $102.00"),
        (None, 1.0, "–"),
    ],
)
def test_both_ends_of_an_interval_have_the_same_decimals(low: float | None, high: float, text: str) -> None:
    assert money_interval(low, high, "USD") == text


@pytest.mark.parametrize(
    ("times_s", "exact", "rough"),
    [
        ((1085.0, 445.0, 2758.0), "18 min 05 s (7 min 25 s to 45 min 58 s)", "about 18 min (7 to 46)"),
        ((1200.0, 900.0, 1560.0), "20 min 00 s (15 min 00 s to 26 min 00 s)", "about 20 min (15 to 26)"),
        ((164.0, 70.0, 410.0), "2 min 44 s (1 min 10 s to 6 min 50 s)", "about 2.7 min (1.2 to 6.8)"),
        ((9.3, 4.0, 20.0), "9.3 s (4.0 s to 20.0 s)", "about 9.3 s (4.0 to 20.0)"),
        ((200_000.0, 1e5, 4e5), "55 h 33 min (27 h 46 min to 111 h 06 min)", "about 56 h (28 to 111)"),
        ((1085.0,), "18 min 05 s", "about 18 min"),
    ],
)
def test_a_rough_duration_has_two_digits_and_its_ends_have_the_same_unit_and_digit(
    times_s: tuple[float, ...], exact: str, rough: str
) -> None:
    assert duration_text(*times_s, rough=False) == exact
    assert duration_text(*times_s, rough=True) == rough


def test_rough_cells_of_tables_are_rounded_alike() -> None:
    assert seconds_texts(1085.0, 445.0, 2758.0, rough=True) == ("1,100", "400 to 2,800")
    assert seconds_texts(1085.0, 445.0, 2758.0, rough=False) == ("1,085", "445 to 2,758")
    assert money_texts(0.0307, 0.0168, 0.0567, "USD", rough=True) == ("$0.031", "$0.017 to $0.057")
    assert money_texts(0.0307, 0.0168, 0.0567, "USD", rough=False) == ("$0.0307", "$0.0168 to $0.0567")
