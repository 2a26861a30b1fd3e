"""Check whether a price book prices the network volumes of rented machines.

In: a price book, and the devices of a worker. Out: the volumes without a price, as an assumption in words. A device is
a network volume if its name is that of a volume type, with or without a number: ``gp3``, ``gp32``.
"""

import re
from collections.abc import Iterable

from assay.analysis.cost.prices import DEVICE_UNITS
from assay.foundation.errors import SpecificationError
from assay.foundation.units import format_bytes
from assay.model import Device, PriceBook
from assay.model.clusters.volume_type import VOLUME_TYPES

_CAPACITY_TOLERANCE = 0.01
"""Maximum difference of two capacities that count as equal, as a share: cluster files state three digits."""


def volume_type_of(device: str) -> str | None:
    """Return the volume type of a device by its name; None if it is no network volume."""
    return next((name for name in VOLUME_TYPES if re.fullmatch(re.escape(name) + r"[0-9]*", device)), None)


def unpriced_volumes(book: PriceBook, devices: Iterable[Device]) -> tuple[str, ...]:
    """Return a note for each type of network volume without a price per device or GB: the cost may be too low.

    Raises SpecificationError if the price is that of a volume with another capacity or with fewer IOPS.
    """
    texts: dict[str, None] = {}
    for device in devices:
        name = volume_type_of(device.name)
        if name is None:
            continue
        items = [item for item in book.items if item.unit in DEVICE_UNITS and item.device in (None, str(device.kind))]
        named_items = [item for item in items if item.device_name == name]
        for item in named_items:
            capacity = item.capacity_bytes
            if capacity and abs(capacity - device.capacity_bytes) > _CAPACITY_TOLERANCE * capacity:
                raise SpecificationError(
                    f"the price of {item.name!r} in price book {book.name!r} is for {format_bytes(capacity)}, and the "
                    f"{name} volumes have {format_bytes(device.capacity_bytes)}",
                    hint="add the price of a volume with this capacity",
                )
            if item.iops is not None and device.read_iops is not None and device.read_iops > item.iops:
                raise SpecificationError(
                    f"the price of {item.name!r} in price book {book.name!r} is for {item.iops:,} IOPS, and the "
                    f"{name} volumes have {device.read_iops:,}",
                    hint="add the price of a volume with these IOPS",
                )
        if not named_items and not any(item.device_name is None for item in items):
            texts[
                f"the price book {book.name} has no separate price of {name} volumes: if the price of an instance does "
                "not include them, the cost is too low"
            ] = None
    return tuple(texts)
