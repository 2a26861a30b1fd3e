"""Parse and print quantities: bytes, rates, durations, money, scales.

Parsers take text such as ``"120MB/s"`` and return a number in the base unit (bytes, bytes/s, bits/s, seconds). Decimal
prefixes are powers of 1000 and binary prefixes (``Ki``, ``Mi``, ``Gi``, ``Ti``) powers of 1024 (IEC 80000-13). Sizes,
rates and durations need a unit, except ``0``. Every parser raises :class:`ValueError` with the accepted forms.
"""

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

MIB = 2**20
_PREFIXES = {
    "": 1,
    "k": 10**3,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "P": 10**15,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
    "Pi": 2**50,
}
_PRINTED_PREFIXES = {"E": 10**18, "P": 10**15, "T": 10**12, "G": 10**9, "M": 10**6, "k": 10**3}
"""Decimal prefixes of printed amounts, largest first."""
_NUMBER = r"(?P<number>\d+(?:\.\d+)?)\s*"
_PREFIX = r"(?P<prefix>Ki|Mi|Gi|Ti|Pi|[kKMGTP])?"
BYTES_PATTERN = rf"^{_NUMBER}{_PREFIX}B$"
BYTE_RATE_PATTERN = rf"^{_NUMBER}{_PREFIX}B/s$"
BIT_RATE_PATTERN = rf"^{_NUMBER}{_PREFIX}(?:bit/s|b/s|bps|bE)$"
_DURATION_UNITS = {
    "us": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
    "d": Fraction(86400),
    "y": Fraction(365 * 86400),
}
DURATION_PATTERN = rf"^{_NUMBER}(?P<unit>us|ms|s|min|h|d|y)$"
_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£"}
_CURRENCIES = {sign: currency for currency, sign in _SIGNS.items()}
_AMOUNT = r"\d[\d,]*(?:\.\d+)?"
_THOUSANDS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6}
MONEY_PATTERN = (
    rf"^(?:(?P<sign>[$€£])\s*(?P<a>{_AMOUNT})\s*(?P<ka>[kKM])?"
    rf"|(?P<b>{_AMOUNT})\s*(?P<kb>[kKM])?\s*(?P<code>[A-Z]{{3}}|[$€£]))$"
)
_BARE_AMOUNT = rf"^(?P<bare>{_AMOUNT})\s*(?P<bare_thousands>[kKM])?$"
SCALE_PATTERN = r"^1(?:\s*/\s*(?P<divisor>\d+(?:\.\d+)?))?$"


def _refusal(text: str, pattern: str, title: str, forms: str) -> ValueError:
    """Return the error for ``text`` that does not match ``pattern``."""
    unsigned = re.sub(r"^([$€£]?)\s*[-−]\s*", r"\1", text.strip())  # also the minus sign U+2212
    is_negative = unsigned != text.strip() and re.match(pattern, unsigned)
    return ValueError(f"{text!r} {'must not be negative' if is_negative else f'is not {title}'}; write {forms}")


def _parse_prefixed(text: str, pattern: str, title: str, forms: str) -> float:
    if text.strip() == "0":
        return 0.0
    match = re.match(pattern, text.strip())
    if match is None:
        raise _refusal(text, pattern, title, forms)
    return float(Decimal(match["number"]) * _PREFIXES[match["prefix"] or ""])


def parse_bytes(text: str) -> int:
    """Return the number of bytes, rounded to an integer, for ``text`` such as ``"64GB"`` or ``"1.5GiB"``."""
    return round(_parse_prefixed(text, BYTES_PATTERN, "a size", '"64GB", "128MiB" or "512B"'))


def parse_byte_rate(text: str) -> float:
    """Return bytes per second for ``text`` such as ``"120MB/s"``."""
    return _parse_prefixed(text, BYTE_RATE_PATTERN, "a bandwidth", '"120MB/s" or "1.2GB/s"')


def parse_bit_rate(text: str) -> float:
    """Return bits per second for ``text`` such as ``"10Gbit/s"``, ``"10Gbps"``, ``"10Gb/s"`` or ``"10GbE"``."""
    return _parse_prefixed(text, BIT_RATE_PATTERN, "a link rate", '"1Gbit/s", "25GbE" or "100Mbit/s"')


def parse_duration(text: str) -> float:
    """Return seconds for ``text`` such as ``"30s"``, ``"5min"`` or ``"3y"`` (a year is 365 days)."""
    if text.strip() == "0":
        return 0.0
    match = re.match(DURATION_PATTERN, text.strip())
    if match is None:
        raise _refusal(text, DURATION_PATTERN, "a duration", '"30s", "5min", "2h", "1d" or "3y"')
    return float(Fraction(match["number"]) * _DURATION_UNITS[match["unit"]])


def parse_scale(text: str) -> float:
    """Return the factor of a scale such as ``"1/20"`` (0.05); it is greater than 0 and at most 1."""
    match = re.match(SCALE_PATTERN, text.strip())
    divisor = float(match["divisor"] or 1) if match else 0.0
    if divisor < 1:
        raise ValueError(f'{text!r} is not a scale; write "1/20", or "1" for full size')
    return 1.0 / divisor


@dataclass(frozen=True, slots=True)
class Money:
    """An amount in a currency (ISO 4217 code)."""

    amount: Decimal
    currency: str

    def __str__(self) -> str:
        """Return the exact amount as text: ``$37,561``, ``100.50 CHF`` or ``$0.00041``."""
        is_whole = self.amount == self.amount.to_integral_value()
        has_whole_cents = self.amount == round(self.amount, 2)
        if is_whole:
            digits = f"{self.amount:,.0f}"
        else:
            digits = f"{self.amount:,.2f}" if has_whole_cents else f"{self.amount.normalize():,f}"
        return with_currency(digits, self.currency)


def with_currency(digits: str, currency: str) -> str:
    """Return an amount with the sign of its currency: ``$0.69`` or ``0.69 CHF``."""
    sign = _SIGNS.get(currency)
    return f"{sign}{digits}" if sign else f"{digits} {currency}"


def parse_money(text: str, currency: str | None = None) -> Money:
    """Return the amount for ``text`` such as ``"$400"``, ``"€12.50"``, ``"$100k"``, ``"1.5M USD"`` or ``"400 CHF"``.

    ``currency``: the currency of amounts that do not name it, for example ``"100k"``. None: these amounts are refused.
    """
    match = re.match(MONEY_PATTERN, text.strip())
    if match is not None:
        sign_or_code = match["sign"] or match["code"]
        code = _CURRENCIES.get(sign_or_code, sign_or_code)
        digits, thousands = match["a"] or match["b"], match["ka"] or match["kb"]
    else:
        bare_match = re.match(_BARE_AMOUNT, text.strip())
        forms = '"$400", "€12.50", "400 CHF" or "$100k"'
        if bare_match is None:
            raise _refusal(text, f"{MONEY_PATTERN}|{_BARE_AMOUNT}", "a price", forms)
        if currency is None:
            raise ValueError(f"{text!r} has no currency; write {forms}")
        code, digits, thousands = currency, bare_match["bare"], bare_match["bare_thousands"]
    return Money(Decimal(digits.replace(",", "")) * _THOUSANDS[thousands or ""], code)


def _format_scaled(value: float, suffix: str) -> str:
    """Return ``value`` with three digits and the largest decimal prefix for which the number is at least 1."""
    rounded = float(f"{value:.3g}")  # Round first: 999.9 MB is 1 GB, not 1,000 MB.
    for prefix, factor in _PRINTED_PREFIXES.items():
        if abs(rounded) >= factor:
            number = rounded / factor
            return f"{number:.0f} {prefix}{suffix}" if number >= 1000 else f"{number:.3g} {prefix}{suffix}"
    return f"{rounded:.3g} {suffix}"


def format_bytes(value: float) -> str:
    """Return ``value`` bytes with three digits and a decimal prefix: ``1.5 GB``."""
    return _format_scaled(value, "B")


def format_memory(value: float) -> str:
    """Return ``value`` bytes of memory: in GiB if it is a multiple of 0.5 GiB, else with a decimal prefix."""
    half_gib = 2**29
    return f"{value / 2**30:,g} GiB" if value >= half_gib and value % half_gib == 0 else format_bytes(value)


def format_byte_rate(value: float) -> str:
    """Return ``value`` bytes/s with three digits and a decimal prefix: ``120 MB/s``."""
    return _format_scaled(value, "B/s")


def format_bit_rate(value: float) -> str:
    """Return ``value`` bits/s with three digits and a decimal prefix: ``10 Gbit/s``."""
    return _format_scaled(value, "bit/s")


def format_percent(share: float, decimals: int = 0) -> str:
    """Return a share of 1 in per cent: ``12 %``, or ``12.3 %`` with one decimal."""
    return f"{100 * share:,.{decimals}f} %"


def format_duration(seconds: float) -> str:
    """Return a duration as text: ``0.8 s``, ``42 s``, ``3 min 05 s``, ``2 h 10 min``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole_s = round(seconds)
    if whole_s < 60:
        return f"{whole_s} s"
    if whole_s < 3600:
        return f"{whole_s // 60} min {whole_s % 60:02d} s"
    return f"{whole_s // 3600} h {whole_s % 3600 // 60:02d} min"


def finite(value: float) -> float | None:
    """Return a finite number; None for NaN and infinity, which JSON does not have."""
    return value if math.isfinite(value) else None


def scaled(value: float | None, factor: float) -> float | None:
    """Return ``value`` times ``factor``; None if it is unknown."""
    return None if value is None else value * factor
