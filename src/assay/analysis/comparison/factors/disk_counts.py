"""Add the number of disks per worker as a factor: two or six hard disks, one or three remote volumes.

In: a table of runs with storage layouts and the devices recorded for them. Out: the same table with ``disks``, the
number of devices of the counted kind on each worker, and ``disk_kind`` in place of ``layout``. Runs are comparable when
their layouts use the same kind of devices in the same way, so ``disk_kind`` stays a factor: HD2 and HD6 are compared,
HD2 and SS6 are not.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from assay.analysis.statistics import ABSENT, LAYOUT_DEVICES, Column, RunTable
from assay.model import LAYOUT_FACTOR, devices_of_text
from assay.model.clusters import layout_code

DISKS: Final = "disks"
DISK_KIND: Final = "disk_kind"


def disks_of(layout: str, devices: str | None) -> tuple[str, int] | None:
    """Return the counted kind of device and its number per worker, from recorded devices or else the layout's code.

    With devices of several kinds, the layout's code states which kind is counted. None if the code does not state it,
    or if the devices are unknown.
    """
    code = layout_code.parse_name(layout)
    counts = devices_of_text(devices) if devices else dict(code.devices) if code else {}
    if len(counts) == 1:
        ((kind, count),) = counts.items()
        return (kind, count) if count else None
    if code is None or set(counts) != set(code.devices):
        return None
    count = counts[code.kind]
    return (code.family, count) if count else None


def with_disks(table: RunTable) -> RunTable:
    """Return ``table`` with the factors ``disks`` and ``disk_kind`` in place of ``layout``.

    Unchanged if the runs already have a factor ``disks``, or have no layouts.
    """
    layout = table.columns.get(LAYOUT_FACTOR)
    if layout is None or DISKS in table.columns:
        return table
    devices = table.columns.get(LAYOUT_DEVICES, Column(np.full(len(table), ABSENT, dtype=np.int32), ()))
    width = len(devices.levels) + 1
    pairs, of_row = np.unique(layout.codes.astype(np.int64) * width + devices.codes + 1, return_inverse=True)
    counts: dict[str, int] = {}
    kinds: dict[str, int] = {}
    codes = np.full((2, len(pairs)), ABSENT, dtype=np.int32)
    for number, pair in enumerate(pairs.tolist()):
        layout_number, devices_number = pair // width, pair % width - 1
        if layout_number < 0:
            continue
        text = devices.levels[devices_number] if devices_number >= 0 else None
        disks = disks_of(layout.levels[layout_number], text)
        if disks is not None:
            kind, count = disks
            codes[:, number] = counts.setdefault(str(count), len(counts)), kinds.setdefault(kind, len(kinds))
    columns = {name: column for name, column in table.columns.items() if name != LAYOUT_FACTOR}
    columns |= {DISKS: Column(codes[0, of_row], tuple(counts)), DISK_KIND: Column(codes[1, of_row], tuple(kinds))}
    return replace(table, columns=columns)
