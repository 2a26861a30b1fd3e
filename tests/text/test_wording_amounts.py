"""Test the display text of prices that are multiplied."""

from decimal import Decimal

import pytest

from assay.text import price_text


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
