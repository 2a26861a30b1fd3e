"""Add device classes as a factor instead of layouts: hard disks, SSDs, NVMe drives, hybrid, and remote volumes.

In: a table of runs with storage layouts and the devices recorded for them. Out: the same table with the column
``device_class`` in place of ``layout``. It answers "SSD or hard disks?" without regard to the number of each. Runs of
several layouts of one class are repetitions of that class; their spread is part of its interval.
"""

from dataclasses import replace
from enum import StrEnum
from typing import Final

import numpy as np

from assay.analysis.statistics import ABSENT, LAYOUT_DEVICES, Column, RunTable
from assay.model import LAYOUT_FACTOR, devices_of_text
from assay.model.clusters import layout_code

DEVICE_CLASS: Final = "device_class"


class DeviceClass(StrEnum):
    """The kind of device that a layout uses for HDFS blocks and intermediate data."""

    HARD_DISKS = "hard disks"
    SSD = "SSD"
    NVME = "NVMe"
    HYBRID = "hybrid"
    """Local devices of several kinds."""
    REMOTE = "remote volumes"
    """HDFS blocks on network volumes; intermediate data on any device."""


_SINGLE_KIND: Final = {
    layout_code.HDD: DeviceClass.HARD_DISKS,
    layout_code.SSD: DeviceClass.SSD,
    layout_code.NVME: DeviceClass.NVME,
}


def device_class_of(layout: str, devices: str | None) -> DeviceClass | None:
    """Return the class of a layout from its recorded devices (``5 hdd + 1 ssd``), or else from its code.

    None if neither is known.
    """
    kinds = set(devices_of_text(devices)) if devices else set()
    if not kinds:
        code = layout_code.parse_name(layout)
        kinds = set(code.devices) if code else set()
    if not kinds:
        return None
    if layout_code.REMOTE in kinds:
        return DeviceClass.REMOTE
    return _SINGLE_KIND.get(next(iter(kinds))) if len(kinds) == 1 else DeviceClass.HYBRID


def layout_classes(table: RunTable) -> dict[str, DeviceClass]:
    """Return the class of each layout in ``table``: the class of most of its runs.

    Layouts of unknown class are omitted.
    """
    layout, device_class = table.columns.get(LAYOUT_FACTOR), with_device_class(table).columns.get(DEVICE_CLASS)
    if layout is None or device_class is None:
        return {}
    has_both = (layout.codes >= 0) & (device_class.codes >= 0)
    width = len(device_class.levels) or 1
    pairs, runs = np.unique(
        layout.codes[has_both].astype(np.int64) * width + device_class.codes[has_both], return_counts=True
    )
    return {
        layout.levels[pair // width]: DeviceClass(device_class.levels[pair % width])
        for pair in pairs[np.argsort(runs, kind="stable")].tolist()
    }


def with_device_class(table: RunTable) -> RunTable:
    """Return ``table`` with the factor ``device_class`` in place of ``layout``; unchanged without layouts.

    A run whose devices are unknown has no class.
    """
    layout = table.columns.get(LAYOUT_FACTOR)
    if layout is None:
        return table
    devices = table.columns.get(LAYOUT_DEVICES, Column(np.full(len(table), ABSENT, dtype=np.int32), ()))
    width = len(devices.levels) + 1
    pairs, of_row = np.unique(layout.codes.astype(np.int64) * width + devices.codes + 1, return_inverse=True)
    levels: dict[str, int] = {}
    class_of_pair = np.full(len(pairs), ABSENT, dtype=np.int32)
    for number, pair in enumerate(pairs.tolist()):
        layout_number, devices_number = pair // width, pair % width - 1
        if layout_number < 0:
            continue
        text = devices.levels[devices_number] if devices_number >= 0 else None
        device_class = device_class_of(layout.levels[layout_number], text)
        if device_class is not None:
            class_of_pair[number] = levels.setdefault(device_class.value, len(levels))
    other_columns = {name: column for name, column in table.columns.items() if name != LAYOUT_FACTOR}
    codes = class_of_pair[of_row]
    return replace(table, columns={**other_columns, DEVICE_CLASS: Column(codes, tuple(levels))})
