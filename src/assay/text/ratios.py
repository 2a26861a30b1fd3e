"""Format ratios, intervals and counts of runs."""

from assay.text.numbers import NO_VALUE

EXACT_SPAN_MAX = 1000.0
"""Maximum upper end of an interval, as a multiple of its lower end, at which both ends are stated as numbers."""

_WHOLE_MIN = 9.95
"""Minimum ratio without decimals."""


def format_ratio(value: float) -> str:
    """Return a ratio with two decimals below 9.95, else whole: ``0.93``, ``1.08``, ``2.14``, ``14``."""
    return f"{value:.2f}" if value < _WHOLE_MIN else f"{value:.0f}"


def format_interval(low: float, high: float) -> str:
    """Return ``1.93 to 2.31``, both ends with equal decimals, and as many digits as are needed to distinguish them.

    If the upper end is more than 1,000 times the lower end, an end below 0.01 or above 100 is only bounded:
    ``under 0.01 to over 100``.
    """
    if low <= 0 or high / low > EXACT_SPAN_MAX:
        lower = "under 0.01" if low < 0.01 else format_ratio(low)
        return f"{lower} to {'over 100' if high > 100 else format_ratio(high)}"
    texts = format_ratio(low), format_ratio(high)
    if low < _WHOLE_MIN <= high < 10 * _WHOLE_MIN:
        texts = f"{low:.2f}", f"{high:.2f}"
    elif texts[0] == texts[1] and low != high:
        texts = f"{low:.3g}", f"{high:.3g}"
    return f"{texts[0]} to {texts[1]}"


def count_runs(n_baseline: int, n_candidate: int, noun: str = "run") -> str:
    """Return ``3 runs each`` or ``3 and 4 runs``; ``noun``: in the singular."""
    if n_baseline == n_candidate:
        return f"{n_baseline} {noun}{'' if n_baseline == 1 else 's'} each"
    return f"{n_baseline} and {n_candidate} {noun}s"


def in_brackets(value: float | None) -> str:
    """Return a ratio in brackets with two decimals, as LISA'14 prints it; an empty text for None."""
    return "" if value is None else f" ({value:.2f})"


def ratio(value: float | None) -> str:
    """Return a ratio with its sign: ``2.1×``."""
    return NO_VALUE if value is None else f"{format_ratio(value)}×"


def interval(low: float | None, high: float | None) -> str:
    """Return an interval of ratios, or a dash."""
    return NO_VALUE if low is None or high is None else format_interval(low, high)
