"""Test the display text of prices that are multiplied."""

from decimal import Decimal

import pytest

from assay.text import money_interval, price_text


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
        (None, 1.0, "–"),
    ],
)
def test_both_ends_of_an_interval_of_cents_have_the_same_decimals(low: float | None, high: float, text: str) -> None:
    assert money_interval(low, high, "USD") == text
