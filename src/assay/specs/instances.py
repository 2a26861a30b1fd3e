"""Read tables of instance types: CSV files with the columns of :data:`COLUMNS`.

In: a file. Out: :class:`~assay.model.clusters.instance_type.InstanceType` values, or SpecificationError with file and
line. ``examples/instances/aws.csv`` is such a table; tables of other providers have the same columns.
"""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import get_type_hints

from assay.foundation.errors import SpecificationError, did_you_mean
from assay.foundation.installation import installation
from assay.foundation.units import format_bytes, parse_bytes, scaled
from assay.model import DeviceKind
from assay.model.clusters.instance_type import InstanceType, LocalDisks
from assay.model.clusters.volume_type import VOLUME_TYPES, Volumes
from assay.specs.fields import unknown

SHIPPED_TABLE = "instances/aws.csv"
"""The table that assay ships, in its folder of examples."""
SIZE_MAX_BYTES = 16 * 2**20
"""Maximum size of a table of instance types."""
VOLUME_MIN_BYTES = 10**9
"""Minimum capacity of a network volume."""
_VALUE_MAX = 10.0**12
"""Maximum of a number in the table."""
ARCHITECTURES = ("x86_64", "arm64")
_CHOICES = {
    "architecture": ARCHITECTURES,
    "disk_kind": ("", *(str(kind) for kind in DeviceKind)),
    "burstable": ("yes", "no"),
    "current_generation": ("yes", "no"),
}
_MAY_BE_ZERO = ("accelerators", "disks", "disk_gb")


@dataclass(frozen=True, slots=True)
class InstanceRow:
    """One line of the table, in its units. None: the source does not state the value."""

    provider: str
    instance_type: str
    architecture: str
    processor: str
    clock_ghz: float | None
    cores: int
    vcpus: int
    memory_mib: int
    accelerators: int
    disk_kind: str
    disks: int
    disk_gb: int
    network_gbit_per_s: float | None
    network_burst_gbit_per_s: float | None
    volume_mb_per_s: float | None
    volume_burst_mb_per_s: float | None
    volume_iops: int | None
    volume_burst_iops: int | None
    burstable: str
    current_generation: str
    source: str


COLUMNS = tuple(field.name for field in fields(InstanceRow))
"""Names of the table's columns, in the shipped table's order. A file may have them in any order."""
_TYPES = get_type_hints(InstanceRow)
_TEXTS = frozenset(name for name, kind in _TYPES.items() if kind is str)
_WHOLE_NUMBERS = frozenset(name for name, kind in _TYPES.items() if kind in (int, int | None))
_MAY_BE_EMPTY = frozenset(name for name, kind in _TYPES.items() if kind not in (str, int, float))
"""Columns of numbers that may have no value."""


def load_instances(path: Path) -> list[InstanceType]:
    """Return the instance types of a table. Raises SpecificationError with file and line."""
    try:
        if path.stat().st_size > SIZE_MAX_BYTES:
            raise SpecificationError(f"the file is larger than {SIZE_MAX_BYTES // 2**20} MiB", where=str(path))
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SpecificationError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise SpecificationError("the file is not UTF-8 text", where=str(path)) from error
    return parse_instances(text, str(path))


def shipped_instances() -> Mapping[str, InstanceType]:
    """Return the instance types of the table that assay ships, by name; none if the installation has no examples."""
    examples = installation().examples
    return {} if examples is None else {kind.name: kind for kind in load_instances(examples / SHIPPED_TABLE)}


def named_instances(instances: Sequence[InstanceType], names: Sequence[str]) -> list[InstanceType]:
    """Return the instance types with these names. Raises SpecificationError with the nearest name."""
    by_name = {instance.name: instance for instance in instances}
    for name in names:
        if name not in by_name:
            family = [other for other in by_name if other.split(".")[0] == name.split(".")[0]]
            suggestion = did_you_mean(name, by_name, matches_max=1).strip()
            raise SpecificationError(
                unknown("instance type", name, family)
                if family
                else "; ".join(filter(None, (f"unknown instance type {name[:60]!r}", suggestion))),
                where="instance type",
                hint="`assay instances list` lists all types, `assay instances list 'i4i.*'` those of a family",
            )
    return [by_name[name] for name in dict.fromkeys(names)]


def parse_volumes(text: str, where: str) -> Volumes:
    """Return the volumes of ``TYPE:SIZE:COUNT``, such as ``gp3:1TB:4``, or ``io2:1TB:4:16000`` with the IOPS of one
    volume. Raises SpecificationError for another text, and outside the limits of the type.
    """
    name, size, count, iops = ([*text.split(":", 3), "", "", "", ""])[:4]
    if name not in VOLUME_TYPES:
        raise SpecificationError(unknown("volume type", name, VOLUME_TYPES), where=where, hint="such as gp3:1TB:4")
    try:
        volumes = Volumes(name, parse_bytes(size), int(count), int(iops) if iops else None)
    except ValueError as error:
        raise SpecificationError(f"{text[:60]!r}: {error}", where=where, hint="such as gp3:1TB:4") from error
    if volumes.count < 1 or volumes.capacity_bytes < VOLUME_MIN_BYTES:
        raise SpecificationError("at least one volume of 1 GB is needed", where=where, hint="such as gp3:1TB:4")
    if problem := _provisioning_problem(volumes):
        raise SpecificationError(problem, where=where, hint="such as gp3:1TB:4 or io2:1TB:4:16000")
    return volumes


def _provisioning_problem(volumes: Volumes) -> str | None:
    """Return why volumes with these IOPS cannot be bought; None if they can."""
    limits, name = volumes.type.provisioned, volumes.name
    if limits is None:
        return None if volumes.iops is None else f"{name} volumes have no provisioned IOPS here: omit the IOPS"
    if volumes.iops is None:
        return f"{name} volumes need their provisioned IOPS: TYPE:SIZE:COUNT:IOPS"
    if not limits.min_capacity_bytes <= volumes.capacity_bytes <= limits.max_capacity_bytes:
        sizes = f"{limits.min_capacity_bytes // 2**30} GiB to {limits.max_capacity_bytes // 2**40} TiB"
        return f"{name} volumes have {sizes}"
    iops_max = limits.iops_max_of(volumes.capacity_bytes)
    if not limits.min_iops <= volumes.iops <= iops_max:
        return f"{name} volumes of {format_bytes(volumes.capacity_bytes)} have {limits.min_iops} to {iops_max:,} IOPS"
    return None


def parse_instances(text: str, name: str) -> list[InstanceType]:
    """Return the instance types of a table's text. ``name`` is the file's name in messages."""
    reader = csv.reader(io.StringIO(text), strict=True)
    instances: dict[tuple[str, str], InstanceType] = {}
    try:
        header = next(reader, [])
        if missing_columns := [column for column in COLUMNS if column not in header]:
            hint = "the first line has the names of the columns; examples/instances/aws.csv is an example"
            raise SpecificationError(f"missing columns: {', '.join(missing_columns)}", where=f"{name}:1", hint=hint)
        for cells in reader:
            if not cells:
                continue
            where = f"{name}:{reader.line_num}"
            instance = _instance(_row(header, cells, where), where)
            key = (instance.provider, instance.name)
            if key in instances:
                raise SpecificationError(f"{instance.name} of {instance.provider} is given twice", where=where)
            instances[key] = instance
    except csv.Error as error:
        raise SpecificationError(f"this is not CSV: {error}", where=f"{name}:{reader.line_num}") from error
    return list(instances.values())


def _row(header: Sequence[str], cells: Sequence[str], where: str) -> InstanceRow:
    if len(cells) != len(header):
        raise SpecificationError(f"{len(cells)} cells, but {len(header)} columns", where=where)
    texts = dict(zip(header, (cell.strip() for cell in cells), strict=True))
    values = {column: _value(column, texts[column], where) for column in COLUMNS}
    return InstanceRow(**values)  # type: ignore[arg-type]


def _value(column: str, text: str, where: str) -> str | int | float | None:
    if column in _TEXTS:
        choices = _CHOICES.get(column)
        if choices and text not in choices:
            raise SpecificationError(unknown(column, text, filter(None, choices)), where=where)
        if not text and column not in ("disk_kind", "processor"):
            raise SpecificationError(f"{column} is empty", where=where)
        return text
    if not text and column in _MAY_BE_EMPTY:
        return None
    try:
        value = float(text)
    except ValueError:
        raise SpecificationError(f"{column}: {text[:20]!r} is not a number", where=where) from None
    minimum = 0.0 if column in _MAY_BE_ZERO else math.ulp(0.0)
    if not minimum <= value <= _VALUE_MAX:
        raise SpecificationError(f"{column}: {text[:20]} is not a plausible value", where=where)
    is_whole = column in _WHOLE_NUMBERS
    if is_whole and not value.is_integer():
        raise SpecificationError(f"{column}: {text[:20]} is not a whole number", where=where)
    return int(value) if is_whole else value


def _instance(row: InstanceRow, where: str) -> InstanceType:
    if (row.disks > 0) != bool(row.disk_kind) or (row.disks > 0) != (row.disk_gb > 0):
        raise SpecificationError("disk_kind, disks and disk_gb: state all three, or none", where=where)
    disks = LocalDisks(DeviceKind(row.disk_kind), row.disks, row.disk_gb * 10**9) if row.disks else None
    return InstanceType(
        provider=row.provider,
        name=row.instance_type,
        architecture=row.architecture,
        processor=row.processor,
        clock_hz=scaled(row.clock_ghz, 1e9),
        cores=row.cores,
        vcpus=row.vcpus,
        memory_bytes=row.memory_mib * 2**20,
        accelerators=row.accelerators,
        network_bits_per_s=scaled(row.network_gbit_per_s, 1e9),
        network_burst_bits_per_s=scaled(row.network_burst_gbit_per_s, 1e9),
        volume_bytes_per_s=scaled(row.volume_mb_per_s, 1e6),
        volume_burst_bytes_per_s=scaled(row.volume_burst_mb_per_s, 1e6),
        volume_iops=row.volume_iops,
        volume_burst_iops=row.volume_burst_iops,
        burstable=row.burstable == "yes",
        current_generation=row.current_generation == "yes",
        source=row.source,
        disks=disks,
    )
