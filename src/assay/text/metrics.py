"""Format a metric: its name in words, and its value with the unit in which the name ends.

A name such as ``disk_read_bytes_per_request`` contains the counted quantity and its unit; :data:`UNITS` lists these
endings. Terminal, page and report all show the result of :func:`metric_text`.
"""

import re
from collections.abc import Callable, Mapping

from assay.foundation.units import format_bit_rate, format_byte_rate, format_bytes
from assay.text.numbers import share

UNITS: Mapping[str, str | Callable[[float], str]] = {
    "_bytes_per_request": format_bytes,
    "_mib_per_s": "MiB/s",
    "_mb_per_s": "MB/s",
    "_records_per_s": "records/s",
    "_bits_per_s": format_bit_rate,
    "_bytes_per_s": format_byte_rate,
    "_bytes": format_bytes,
    "_mib": "MiB",
    "_mb": "MB",
    "_ms": "ms",
    "_s": "s",
    "_iops": lambda value: f"{value:,.0f} IOPS",
    "_percent": "%",
    "_share": share,
}
"""Ending of a name to its unit, or to a function that formats a value with its unit. The first match counts."""
_SUFFIX_TEXTS = {"_bytes_per_request": " request", "_share": " share"}
"""Parts of an ending that stay in the metric's title, because they change its meaning."""

_GROUPS = (
    ("clocks", r"clock_.*"),
    ("throughput", r".*_(mb|mib|bytes|bits|records)_per_s|.*_iops|gated_.*|concurrency_.*"),
    ("CPU", r"(cpu|gc)_.*"),
    ("memory", r"(memory|heap)_.*"),
    ("disks", r"disk_.*|.*_disk_.*"),
    ("network", r"(nic|net|network)_.*"),
    ("tasks", r".*_(tasks|waves|stragglers|attempts_failed)|node_local_share"),
    ("data", r".*_(bytes|records)(_per_request)?|spill_ratio"),
    ("time", r".*_m?s"),
)
"""Group of a metric by a pattern of its name; the first match counts."""
METRIC_GROUPS = ("time", "throughput", "CPU", "memory", "disks", "network", "tasks", "data", "clocks", "other")
"""The groups in the order in which they are shown."""


def metric_group(name: str) -> str:
    """Return a metric's group: one of :data:`METRIC_GROUPS`."""
    return next((group for group, names in _GROUPS if re.fullmatch(names, name)), METRIC_GROUPS[-1])


def metric_text(name: str, value: float) -> tuple[str, str]:
    """Return a metric's name in words and its value with its unit: ``disk read request``, ``64 kB``."""
    for ending, unit in UNITS.items():
        if name.endswith(ending):
            words = name.removesuffix(ending).replace("_", " ") + _SUFFIX_TEXTS.get(ending, "")
            return words, f"{_number(value)} {unit}" if isinstance(unit, str) else unit(value)
    return name.replace("_", " "), _number(value)


def _number(value: float) -> str:
    if value == int(value):
        return f"{value:,.0f}"
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.1f}"
