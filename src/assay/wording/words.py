"""How values are written for people: workload titles, origins, seconds, rates, money."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal

from assay.model.run import Origin, Run
from assay.units import format_bytes
from assay.wording.ratios import format_interval, format_ratio

WORKLOAD_TITLES = {
    "dfsio-write": "TestDFSIO write",
    "dfsio-read": "TestDFSIO read",
    "teragen": "TeraGen",
    "terasort": "TeraSort",
    "teravalidate": "TeraValidate",
    "wordcount": "WordCount",
    "teraread": "TeraRead",
    "shuffle": "Shuffle",
    "hdfs-write": "HDFS write",
    "randomtextwriter": "RandomTextWriter",
    "sort": "Sort",
    "dfsioe-write": "Enhanced DFSIO write",
    "dfsioe-read": "Enhanced DFSIO read",
    "pagerank": "PageRank",
    "kmeans": "K-means",
    "sql-aggregation": "SQL aggregation",
    "sql-join": "SQL join",
}
"""Titles of assay's workloads; any other is shown by the name that its plan or its source gave it."""
_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£"}
NOTHING = "–"


def workload_title(name: str, context: str = "") -> str:
    """Return a workload's title, with what sets it apart from others of its name."""
    title = WORKLOAD_TITLES.get(name, name)
    return f"{title} ({context})" if context else title


def scale_text(scale: float) -> str:
    """Return a lab's scale as people write it: ``1/20``."""
    return f"1/{1 / scale:g}" if scale < 1 else "1"


def origin_text(origin: Origin, lab_scale: float | None) -> str:
    """Return where a number comes from: ``measured in a lab at scale 1/20``."""
    return f"{origin.value} in a lab at scale {scale_text(lab_scale)}" if lab_scale is not None else origin.value


def origins_text(pairs: Iterable[tuple[Origin, float | None]]) -> str:
    """Return every distinct origin, joined."""
    return "; ".join(dict.fromkeys(origin_text(origin, scale) for origin, scale in pairs)) or NOTHING


def seconds(value: float | None) -> str:
    """Return seconds with the digits that are read."""
    if value is None:
        return NOTHING
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def rate(value: float | None) -> str:
    """Return MB/s with three digits or so."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def size(value: float | None) -> str:
    """Return bytes with their unit: ``59.7 kB``."""
    return NOTHING if value is None else format_bytes(value)


def share(value: float | None) -> str:
    """Return a share of 1 as a percentage."""
    return NOTHING if value is None else f"{100 * value:.0f} %"


def in_brackets(value: float | None) -> str:
    """Return a ratio as an aside, with two digits behind the point as LISA'14 prints them; nothing without one."""
    return "" if value is None else f" ({value:.2f})"


def ratio(value: float | None) -> str:
    """Return a ratio with its sign: ``2.1×``."""
    return NOTHING if value is None else f"{format_ratio(value)}×"


def interval(low: float | None, high: float | None) -> str:
    """Return an interval of ratios, or a dash."""
    return NOTHING if low is None or high is None else format_interval(low, high)


def money(value: float | Decimal | None, currency: str) -> str:
    """Return an amount: ``$37,561``, ``$0.69``, ``$0.00041``; three significant digits below ten cents.

    A Decimal is rounded half upwards, as money is; a float as binary fractions are.
    """
    if value is None:
        return NOTHING
    if isinstance(value, Decimal):
        value = float(value.quantize(Decimal("0.01"), ROUND_HALF_UP) if value >= Decimal("0.1") else value)
    if value >= 100 or value == 0:
        digits = f"{value:,.0f}"
    else:
        digits = f"{value:.2f}" if value >= 0.1 else f"{value:#.3g}" if value >= 1e-4 else f"{value:.2e}"
    sign = _SIGNS.get(currency)
    return f"{sign}{digits}" if sign else f"{digits} {currency}"


def money_interval(low: float | None, high: float | None, currency: str) -> str:
    """Return an interval of money, or a dash."""
    return NOTHING if low is None or high is None else f"{money(low, currency)} to {money(high, currency)}"


def count(value: float) -> str:
    """Return a number of jobs: whole from a hundred on, else with two decimals."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:,.2f}"


def moment(text: str) -> str:
    """Return an ISO 8601 time as ``2026-01-05 10:00`` if it is in UTC; anything else stays as it is."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{parsed:%Y-%m-%d %H:%M}" if text.endswith(("Z", "+00:00")) else text


def assay_version(run: Run) -> str:
    """Return the version of assay that made the run, or a dash when it is not recorded."""
    found = run.environment.get("assay")
    return str(found.get("version", NOTHING) if isinstance(found, dict) else found or NOTHING)


def plural(number: int, one: str, many: str | None = None) -> str:
    """Return ``1 run`` or ``2 runs``."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def joined(names: Sequence[str], word: str = "and") -> str:
    """Return names as people list them: ``A, B and C``."""
    return f"{', '.join(names[:-1])} {word} {names[-1]}" if len(names) > 1 else "".join(names)


def slug(text: str) -> str:
    """Return a text as the name of a file or an anchor: ``terasort-1-tb``; at least one letter."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60].strip("-") or "x"


def capitalised(text: str) -> str:
    """Return a text with its first letter as a capital and the others as they are."""
    return text[:1].upper() + text[1:]
