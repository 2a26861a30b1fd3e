"""Convert a price list of instance types to a price book.

In: CSV in one of two public forms. That of the skypilot-catalog repository has a line per instance type, region and
zone, with the columns ``InstanceType``, ``Price``, ``SpotPrice`` (US dollars per hour) and ``Region``. AWS's offer file
of AmazonEC2 (AWS Price List Bulk API, ``index.csv``) has on-demand and reserved prices of every kind of machine, and
its date of publication; the on-demand prices of shared machines with Linux are read. Out: the YAML text of a price
book with one item per instance type and hour.

The on-demand price is equal in all zones of a region. The spot price differs between zones: the item has their median,
and the lowest and highest as its range.

The list has no prices of network volumes. The caller states their price per GiB and month; the book has it per volume.
Volumes with provisioned IOPS have a second item: the price of the IOPS of one volume.
"""

import csv
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import chain
from statistics import median
from types import MappingProxyType

from assay.foundation.errors import FormatError
from assay.foundation.units import format_bytes
from assay.model.clusters.instance_type import node_type_name
from assay.model.clusters.volume_type import Volumes
from assay.specs.fields import unknown

_COLUMNS = ("InstanceType", "Price", "SpotPrice", "Region")
_OFFER_START = '"FormatVersion"'
_OFFER_HEAD_MAX = 20
"""Maximum number of lines before the table of an offer file."""
_OFFER_FILTER = {
    "TermType": "OnDemand",
    "Unit": "Hrs",
    "Currency": "USD",
    "Tenancy": "Shared",
    "Operating System": "Linux",
    "Pre Installed S/W": "NA",
    "CapacityStatus": "Used",
}
_OFFER_COLUMNS = (*_OFFER_FILTER, "Instance Type", "Region Code", "PricePerUnit")
_PRICE_MAX = Decimal(100_000)
_GIB = 2**30


@dataclass(frozen=True, slots=True)
class VolumePrice:
    """The network volumes of each worker, with their prices per month in US dollars."""

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


@dataclass(frozen=True, slots=True)
class InstancePrices:
    """The prices of instance types in one region."""

    per_h: Mapping[str, Sequence[Decimal]]
    """US dollars per hour by type: one price for each zone that the list has."""
    date: str
    """Date that the list states; empty if it states none."""


def parse_instance_prices(
    lines: Iterable[str], name: str, *, region: str, types: Sequence[str], spot: bool
) -> InstancePrices:
    """Return the prices of the types in the region. Only one line is in memory.

    Raises FormatError for a type or region without a price, and for spot prices of an offer file, which has none.
    """
    remaining_lines = iter(lines)
    first_line = next(remaining_lines, "")
    prices: dict[str, list[Decimal]] = {type_name: [] for type_name in types}
    regions: set[str] = set()
    is_offer = first_line.startswith(_OFFER_START)
    if is_offer and spot:
        raise FormatError(
            "an AWS offer file has no spot prices", where=name, hint="use a list in skypilot-catalog's form"
        )
    date, lines_before = _offer_date(remaining_lines, name) if is_offer else ("", 0)
    reader = csv.DictReader(
        remaining_lines if is_offer else chain((first_line,), remaining_lines), restval="", strict=True
    )
    rows = _offer_rows(reader) if is_offer else _zone_rows(reader, "SpotPrice" if spot else "Price")
    columns = _OFFER_COLUMNS if is_offer else _COLUMNS
    try:
        if missing_columns := [column for column in columns if column not in (reader.fieldnames or ())]:
            raise FormatError(f"missing columns: {', '.join(missing_columns)}", where=f"{name}:{lines_before + 1}")
        for instance_type, row_region, price in rows:
            regions.add(row_region)
            if row_region == region and instance_type in prices and price:
                prices[instance_type].append(_price(price, f"{name}:{lines_before + reader.line_num}"))
    except csv.Error as error:
        raise FormatError(f"this is not CSV: {error}", where=f"{name}:{lines_before + reader.line_num}") from error
    if region not in regions:
        raise FormatError(unknown("region", region, sorted(filter(None, regions))), where=name)
    if unpriced_types := [type_name for type_name, values in prices.items() if not values]:
        message = f"no {'spot' if spot else 'on-demand'} price in {region} for: {', '.join(unpriced_types)}"
        raise FormatError(message, where=name)
    return InstancePrices(prices, date)


def _zone_rows(table: Iterable[Mapping[str, str]], column: str) -> Iterator[tuple[str, str, str]]:
    """Yield the instance type, the region and the price of each line in the form of skypilot-catalog."""
    for row in table:
        yield row["InstanceType"], row["Region"], row[column]


def _offer_rows(table: Iterable[Mapping[str, str]]) -> Iterator[tuple[str, str, str]]:
    """Yield the instance type, the region and the on-demand price of each shared Linux machine of an AWS offer file.

    A machine with pre-installed software, or of a reserved capacity, has other prices.
    """
    for row in table:
        if all(row[name] == value for name, value in _OFFER_FILTER.items()) and row["PricePerUnit"].strip("0."):
            yield row["Instance Type"], row["Region Code"], row["PricePerUnit"]


def _offer_date(lines: Iterator[str], name: str) -> tuple[str, int]:
    """Return the date of publication in the lines before the header, and the number of these lines."""
    date = ""
    for number, line in enumerate(lines, start=2):
        cells = next(csv.reader([line]), [])
        if cells[:1] == ["Publication Date"]:
            date = cells[1][:10] if len(cells) > 1 else ""
        if cells[:1] == ["OfferCode"]:
            return date, number
        if number >= _OFFER_HEAD_MAX:
            break
    raise FormatError("an AWS offer file has a line OfferCode before its table", where=f"{name}:{_OFFER_HEAD_MAX}")


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
    coverage = "covers: [devices, network]"
    lines.append(
        f"  - {{name: local disks and network in the instance's price, price: $0, per: cluster-hour, {coverage}}}"
    )
    return "\n".join(lines) + "\n"


def _amounts(values: Collection[Decimal]) -> str:
    lowest, highest, median_price = min(values), max(values), median(values)
    text = f'price: "${median_price.normalize():f}"'
    return text if lowest == highest else f'{text}, low: "${lowest.normalize():f}", high: "${highest.normalize():f}"'
