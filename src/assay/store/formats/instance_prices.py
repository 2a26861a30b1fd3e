"""Convert a price list of instance types to a price book.

In: CSV in the public form of the skypilot-catalog repository: a line per instance type, region and zone with the
columns ``InstanceType``, ``Price``, ``SpotPrice`` (US dollars per hour) and ``Region``. Out: the YAML text of a price
book with one item per instance type and hour.

The on-demand price is equal in all zones of a region. The spot price differs between zones: the item has their median,
and the lowest and highest as its range.

The list has no prices of network volumes. Their price per GiB and month is given; the book has it per volume. Volumes
with provisioned IOPS have a second item: the price of the IOPS of one volume.
"""

import csv
import io
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from statistics import median
from types import MappingProxyType

from assay.foundation.errors import FormatError
from assay.foundation.units import format_bytes
from assay.model.clusters.instance_type import node_type_name
from assay.model.clusters.volume_type import Volumes
from assay.specs.fields import unknown

_COLUMNS = ("InstanceType", "Price", "SpotPrice", "Region")
_PRICE_MAX = Decimal(100_000)
_GIB = 2**30


@dataclass(frozen=True, slots=True)
class VolumePrice:
    """Network volumes of each worker with their prices per month, in US dollars."""

    volumes: Volumes
    per_gib_month: Decimal
    per_iops_month: Decimal | None = None
    """Price of each provisioned IOPS; None for volumes without provisioned IOPS."""

    @property
    def per_month(self) -> Mapping[str, Decimal]:
        """The parts of the price of one volume per month, by name: the capacity, and the provisioned IOPS."""
        disk = self.volumes
        capacity = Decimal(disk.capacity_bytes) / _GIB * self.per_gib_month
        parts = {f"{disk.name} volume of {format_bytes(disk.capacity_bytes)}": capacity}
        if disk.iops is not None and self.per_iops_month is not None:
            parts[f"{disk.iops} IOPS of one {disk.name} volume"] = disk.iops * self.per_iops_month
        return {name: amount.quantize(Decimal("0.0001")) for name, amount in parts.items()}


def parse_instance_prices(
    text: str, name: str, *, region: str, types: Sequence[str], spot: bool
) -> Mapping[str, Sequence[Decimal]]:
    """Return the prices per hour of each type in the region's zones. Raises FormatError for a type without a price."""
    reader = csv.DictReader(io.StringIO(text), strict=True)
    column = "SpotPrice" if spot else "Price"
    prices: dict[str, list[Decimal]] = {wanted: [] for wanted in types}
    regions: set[str] = set()
    try:
        if missing := [needed for needed in _COLUMNS if needed not in (reader.fieldnames or ())]:
            raise FormatError(f"missing columns: {', '.join(missing)}", where=f"{name}:1")
        for row in reader:
            regions.add(row["Region"])
            if row["Region"] != region or row["InstanceType"] not in prices or not row[column]:
                continue
            prices[row["InstanceType"]].append(_price(row[column], f"{name}:{reader.line_num}"))
    except csv.Error as error:
        raise FormatError(f"this is not CSV: {error}", where=f"{name}:{reader.line_num}") from error
    if region not in regions:
        raise FormatError(unknown("region", region, sorted(filter(None, regions))), where=name)
    if unpriced := [wanted for wanted, values in prices.items() if not values]:
        words = f"no {'spot' if spot else 'on-demand'} price in {region} for: {', '.join(unpriced)}"
        raise FormatError(words, where=name)
    return prices


def _price(text: str, where: str) -> Decimal:
    try:
        price = Decimal(text)
    except InvalidOperation:
        raise FormatError(f"{text[:20]!r} is not a price", where=where) from None
    if not price.is_finite() or not 0 < price < _PRICE_MAX:
        raise FormatError(f"{text[:20]} is not a plausible price", where=where)
    return price


def instance_price_book(
    prices: Mapping[str, Collection[Decimal]],
    *,
    master: str,
    region: str,
    spot: bool,
    source: str,
    date: str,
    volumes: VolumePrice | None = None,
    extras: Mapping[str, Decimal] = MappingProxyType({}),
) -> str:
    """Return the price book of the types, the volumes and the extras. A master costs as much as the type ``master``.

    ``extras``: price of storage per GB and month, and of egress per GB.
    """
    kind = "spot" if spot else "on-demand"
    lines = [
        f"# {kind.capitalize()} prices per hour in {region}.",
        *(() if volumes else ("# Network volumes are not in it.",)),
        f"prices: {region}-{kind}",
        "currency: USD",
        f"date: {date}",
        f"source: {json.dumps(f'{source}, {kind} prices', ensure_ascii=False)}",
        *(("extras:",) if extras else ()),
        *(f'  {name}: {{price: "${amount.normalize():f}"}}' for name, amount in extras.items()),
        "items:",
    ]
    for name, values in prices.items():
        lines.append(f"  - {{name: {name}, {_amounts(values)}, per: node-hour, node_type: {node_type_name(name)}}}")
    lines.append(f"  - {{name: master ({master}), {_amounts(prices[master])}, per: master-hour}}")
    if volumes is not None:
        disk, capacity = volumes.volumes, format_bytes(volumes.volumes.capacity_bytes)
        iops = "" if disk.iops is None else f", iops: {disk.iops}"
        lines += [
            f'  - {{name: {name}, price: "${amount.normalize():f}", '
            f"per: device-month, device: {disk.type.kind}, device_name: {disk.name}, capacity: {capacity}{iops}}}"
            for name, amount in volumes.per_month.items()
        ]
    covered = "covers: [devices, network]"
    lines.append(
        f"  - {{name: local disks and network in the instance's price, price: $0, per: cluster-hour, {covered}}}"
    )
    return "\n".join(lines) + "\n"


def _amounts(values: Collection[Decimal]) -> str:
    low, high, middle = min(values), max(values), median(values)
    text = f'price: "${middle.normalize():f}"'
    return text if low == high else f'{text}, low: "${low.normalize():f}", high: "${high.normalize():f}"'
