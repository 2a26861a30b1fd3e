"""Format money: an amount or an interval, with the sign of its currency; and the unit that a price is for."""

from decimal import ROUND_HALF_UP, Decimal

from assay.foundation.units import with_currency
from assay.text.numbers import NO_VALUE, rough_texts

_UNITS = {
    "device": "each disk of the layout",
    "device-set": "one disk in every worker",
    "port": "each network port",
    "GB": "each GB of the layout's disks",
}
"""Text of the units of a price book whose name alone is not clear."""

_TEN_CENTS = 0.1
"""Minimum amount with two decimals."""
_WHOLE_MIN = 100
"""Minimum amount without decimals."""
_CENTS_MIN = 0.001
"""Minimum amount whose decimals also apply to the other end of an interval."""


def price_basis(per: str) -> str:
    """Return the unit of a price in words: ``one disk in every worker, per hour``, ``cluster, per hour``."""
    unit, _, period = per.rpartition("-") if per.endswith(("-hour", "-month")) else (per, "", "")
    return f"{_UNITS.get(unit, unit)}{f', per {period}' if period else ''}"


def money(value: float | Decimal | None, currency: str) -> str:
    """Return an amount: ``$37,561``, ``$0.69``, ``$0.000410``; three significant digits below ten cents.

    A Decimal of at least ten cents is first rounded half up to cents; a float is only rounded by its format.
    """
    if value is None:
        return NO_VALUE
    if isinstance(value, Decimal):
        value = float(value.quantize(Decimal("0.01"), ROUND_HALF_UP) if value >= Decimal("0.1") else value)
    if value >= _WHOLE_MIN or value == 0:
        digits = f"{value:,.0f}"
    elif value >= 0.1:
        digits = f"{value:.2f}"
    else:
        digits = f"{value:#.3g}" if value >= 1e-4 else f"{value:.2e}"
    return with_currency(digits, currency)


def price_text(value: float | Decimal, currency: str) -> str:
    """Return a unit price, with enough decimals to check products of it: ``$0.4746``, ``$750.50``, ``$996``.

    At most four decimals below 100, two below 1,000, and none above.
    """
    amount = float(value)
    if amount < 0.1 or amount >= 1000:
        return money(amount, currency)
    whole, _, decimals = f"{amount:.{4 if amount < 100 else 2}f}".partition(".")
    decimals = decimals.rstrip("0")
    return with_currency(whole if not decimals and amount >= 100 else f"{whole}.{decimals:0<2}", currency)


def money_texts(value: float, low: float, high: float, currency: str, *, rough: bool) -> tuple[str, str]:
    """Return an amount and its interval as two cells; ``rough``: rounded by :func:`assay.text.numbers.rough_texts`."""
    if not rough:
        return money(value, currency), money_interval(low, high, currency)
    amount, *ends = (with_currency(digits, currency) for digits in rough_texts(value, low, high))
    return amount, " to ".join(ends)


def money_interval(low: float | None, high: float | None, currency: str) -> str:
    """Return an interval of money, or a dash. Both ends have equal decimals, unless the interval is very wide.

    Examples: ``$0.00520 to $0.01080``, ``$99.50 to $102.00``.
    """
    if low is None or high is None:
        return NO_VALUE
    lower, upper = money(low, currency), money(high, currency)
    is_of_cents = _CENTS_MIN <= low < _TEN_CENTS and high < 1
    if is_of_cents or _TEN_CENTS <= low < _WHOLE_MIN <= high < 10 * _WHOLE_MIN:
        upper = with_currency(f"{high:.{len(lower.partition('.')[2])}f}", currency)
    return f"{lower} to {upper}"
