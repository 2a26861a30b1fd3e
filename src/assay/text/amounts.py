"""Format money: an amount or an interval, with the sign of its currency."""

from decimal import ROUND_HALF_UP, Decimal

from assay.foundation.units import with_currency
from assay.text.numbers import NO_VALUE


def money(value: float | Decimal | None, currency: str) -> str:
    """Return an amount: ``$37,561``, ``$0.69``, ``$0.000410``; three significant digits below ten cents.

    A Decimal of at least ten cents is first rounded half up to cents; a float is only rounded by its format.
    """
    if value is None:
        return NO_VALUE
    if isinstance(value, Decimal):
        value = float(value.quantize(Decimal("0.01"), ROUND_HALF_UP) if value >= Decimal("0.1") else value)
    if value >= 100 or value == 0:
        digits = f"{value:,.0f}"
    else:
        digits = f"{value:.2f}" if value >= 0.1 else f"{value:#.3g}" if value >= 1e-4 else f"{value:.2e}"
    return with_currency(digits, currency)


def money_interval(low: float | None, high: float | None, currency: str) -> str:
    """Return an interval of money, or a dash."""
    return NO_VALUE if low is None or high is None else f"{money(low, currency)} to {money(high, currency)}"
