"""Format a metric: its name in words, and its value with the unit in which the name ends.

A name such as ``disk_read_bytes_per_request`` contains the counted quantity and its unit; :data:`UNITS` lists these
endings. Terminal, page and report all show the result of :func:`metric_text`.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from assay.foundation.units import format_bit_rate, format_byte_rate, format_bytes
from assay.text.language import capitalised
from assay.text.numbers import share

STARTED: Final = "started_unix_s"
"""Metric with the start of a run as Unix time, in seconds."""

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
_RECORDED_UNITS = {
    "_bytes_per_request": "bytes",
    "_bits_per_s": "bit/s",
    "_bytes_per_s": "bytes/s",
    "_bytes": "bytes",
    "_iops": "IOPS",
    "_share": "0 to 1",
}
"""Unit of the recorded values, for metrics whose text has a unit that depends on the size."""
_ABBREVIATIONS = ("cpu", "gc", "hdfs", "io", "jvm", "nic")
_TITLES = {STARTED: "Start time (UTC)"}
_NAMES = {
    "assay_own_s": "time assay needed around the run",
    "duration_s": "run time",
    "disk_moved_bytes": "disk traffic",
    "disk_busy_max_share": "busiest disk, busy share",
}
"""Metrics whose text differs from the words of their name."""
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
    if name == STARTED:
        return "start time (UTC)", f"{datetime.fromtimestamp(value, UTC):%Y-%m-%d %H:%M:%S}"
    for ending, unit in UNITS.items():
        if name.endswith(ending):
            title = _NAMES.get(name) or name.removesuffix(ending).replace("_", " ") + _SUFFIX_TEXTS.get(ending, "")
            return title, f"{_number(value)} {unit}" if isinstance(unit, str) else unit(value)
    return name.replace("_", " "), _number(value)


def metric_title(name: str) -> str:
    """Return a metric's name in words with the unit of its recorded values: ``Disk read request (bytes)``."""
    if name in _TITLES:
        return _TITLES[name]
    parts = metric_text(name, 0.0)[0].split(" ")
    title = capitalised(" ".join(part.upper() if part in _ABBREVIATIONS else part for part in parts))
    ending = next((ending for ending in UNITS if name.endswith(ending)), "")
    unit = UNITS.get(ending, "")
    text = unit if isinstance(unit, str) else _RECORDED_UNITS[ending]
    return f"{title} ({text})" if text else title


def _number(value: float) -> str:
    if value == int(value):
        return f"{value:,.0f}"
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.1f}"
