"""Answer which instance types a provider rents, and make a hardware catalogue of them.

In: tables of instance types, and filters. Out: :class:`InstanceListing`, or the YAML text of a hardware catalogue that
``assay recommend`` reads.
"""

import fnmatch
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.foundation.errors import SpecificationError
from assay.foundation.installation import installation
from assay.foundation.units import MIB, format_bit_rate, format_byte_rate, format_bytes, parse_byte_rate, parse_bytes
from assay.model import DeviceKind
from assay.model.clusters.instance_type import InstanceType, node_type_name
from assay.questions.recommendation.finalists import SPEED_FACTOR
from assay.specs.fields import unknown
from assay.specs.instances import SHIPPED_TABLE, load_instances, named_instances, parse_volumes

ASSUMED_ARCHITECTURE = "x86_64"
"""Architecture whose cores are assumed to be as fast as those of the profile's machine, if no speed is stated."""
ASSUMED_SPEED = f"1:{1 / SPEED_FACTOR:g}:{SPEED_FACTOR:g}"
"""The assumed speed of its cores, with the factor that the search assumes for a speed without an interval."""


@dataclass(frozen=True, slots=True)
class InstanceRequest:
    """Filters of instance types. None, an empty text and 0 filter nothing."""

    pattern: str = "*"
    """A name with ``*`` and ``?``, such as ``i4i.*``; upper and lower case are equal."""
    architecture: str | None = None
    disks: str | None = None
    """Kind of the local disks (hdd, ssd, nvme), or ``none``."""
    cores: int = 0
    """Minimum number of physical cores."""
    vcpus: int = 0
    """Minimum number of hardware threads."""
    memory: str = ""
    """Minimum memory: ``64GB``."""
    previous_generation: bool = False
    """Also types that the provider calls previous generation."""
    accelerators: bool = False
    """Also types with GPUs and other accelerators."""
    table: Path | None = None
    """Table of instance types; None: the shipped one."""


@dataclass(frozen=True, slots=True)
class InstanceListing:
    """The matching instance types, by family, cores and name, and the number of types in the table."""

    instances: tuple[InstanceType, ...]
    total: int


@dataclass(frozen=True, slots=True)
class CatalogueRequest:
    """What a hardware catalogue of instance types needs and no table states."""

    types: tuple[str, ...]
    count: str = "4-20"
    disk_rates: tuple[str, ...] = ()
    """``WHICH=READ:WRITE``: rates of one local disk, for an instance type or for a kind of disk (hdd, ssd, nvme)."""
    volumes: str = ""
    """``TYPE:SIZE:COUNT``, such as ``gp3:1TB:4``: network volumes of each worker."""
    cpu_speeds: tuple[str, ...] = ()
    """``ARCHITECTURE=SPEED[:LOW:HIGH]``: speed of a core relative to the profile's, with its 90 % interval."""
    name: str = "instances"
    table: Path | None = None


def list_instances(request: InstanceRequest) -> InstanceListing:
    """Return the instance types that match all filters. Raises SpecificationError for a filter without meaning."""
    try:
        memory_bytes = parse_bytes(request.memory) if request.memory else 0
    except ValueError as error:
        raise SpecificationError(str(error), where="memory") from error
    types = _table(request.table)
    matching_instances = [
        instance
        for instance in types
        if fnmatch.fnmatchcase(instance.name.lower(), (request.pattern or "*").lower())
        and request.architecture in (None, "", instance.architecture)
        and request.disks in (None, "", str(instance.disks.kind) if instance.disks else "none")
        and instance.cores >= request.cores
        and instance.vcpus >= request.vcpus
        and instance.memory_bytes >= memory_bytes
        and (request.previous_generation or instance.current_generation)
        and (request.accelerators or not instance.accelerators)
    ]
    matching_instances.sort(key=lambda instance: (instance.family, instance.cores, instance.vcpus, instance.name))
    return InstanceListing(tuple(matching_instances), len(types))


def one_instance(name: str, table: Path | None = None) -> InstanceType:
    """Return the instance type with this name. Raises SpecificationError with the nearest name."""
    return named_instances(_table(table), (name,))[0]


def catalogue_text(request: CatalogueRequest) -> str:
    """Return the YAML text of a hardware catalogue with the named instance types.

    Types whose local disks have no known rate use only their network volumes, or are omitted. The catalogue's
    assumptions say so. Raises SpecificationError if no type is left, or if the speed of an ARM core is missing.
    """
    instances = compared_types(request)
    speeds = _cpu_speeds(request, instances)
    assumptions = _assumptions(request, instances)
    lines = [
        "# Instance types to choose from. Networks have their baseline rates, cores and volumes those with credits.",
        "# Cores are physical cores. The rates of local disks and the speed of a core are stated by the user.",
        f"catalogue: {request.name}",
        f'source: "{", ".join(sorted({instance.source for instance in instances}))}"',
        *(["assumptions:"] if assumptions else []),
        *(f"  - {json.dumps(text, ensure_ascii=False)}" for text in assumptions),
        "workers:",
    ]
    for instance in instances:
        lines += _worker_lines(instance, request, speeds[instance.architecture])
    return "\n".join(lines) + "\n"


def compared_types(request: CatalogueRequest) -> list[InstanceType]:
    """Return the types that the catalogue has: those with a known rate of local disks, or with network volumes.

    Raises SpecificationError for an unknown type, and if no type is left.
    """
    instances = named_instances(_table(request.table), request.types)
    rates = _disk_rates(request)
    compared_instances = [
        instance for instance in instances if instance.disks is None or request.volumes or _rates_of(instance, rates)
    ]
    if compared_instances:
        return compared_instances
    lacking_text = " and ".join(
        f"{instance.name} ({disks.count} × {format_bytes(disks.capacity_bytes)} {disks.kind})"
        for instance in instances
        if (disks := instance.disks)
    )
    raise SpecificationError(
        f"no source states the rate of the local disks of {lacking_text}",
        where="--disk-rates",
        hint=f"--disk-rates {instances[0].name}=READ:WRITE, of one disk; assay baseline measures it on an instance. "
        "Or use network volumes: --volumes gp3:1TB:4",
    )


def _assumptions(request: CatalogueRequest, compared_instances: Sequence[InstanceType]) -> list[str]:
    """Return what the catalogue assumes, and which types it omits."""
    threads = {(item.architecture, item.vcpus // item.cores) for item in compared_instances}
    texts = [
        f"a core is a physical core: one of these {architecture} types has {number} vCPUs (hardware threads)"
        for architecture, number in sorted(threads)
        if number > 1
    ]
    speeds_by_architecture = {text.partition("=")[0]: text for text in request.cpu_speeds}
    for name in sorted({instance.architecture for instance in compared_instances}):
        text = speeds_by_architecture.get(name, "")
        if name == ASSUMED_ARCHITECTURE and text in ("", f"{name}={ASSUMED_SPEED}"):
            texts.append(
                f"a core of these {name} types is as fast as one of the log's or the profile's machines, within a "
                f"factor of {SPEED_FACTOR:g}; no source states it"
            )
        elif ":" not in text:
            texts.append(
                f"the speed of {name} cores is stated without an interval; a factor of {SPEED_FACTOR:g} is assumed"
            )
    rates = _disk_rates(request)
    unknown_rates = [item for item in named_instances(_table(request.table), request.types) if item.disks]
    unknown_rates = [item for item in unknown_rates if not _rates_of(item, rates)]
    names_compared = [item.name for item in unknown_rates if item in compared_instances]
    if names_compared:
        texts.append(f"local disks of {', '.join(names_compared)} are not used: their rate is unknown")
    if omitted_names := [item.name for item in unknown_rates if item not in compared_instances]:
        texts.append(f"not compared: {', '.join(omitted_names)}, whose local disks have an unknown rate")
    return texts


def _table(path: Path | None) -> list[InstanceType]:
    if path is None:
        examples = installation().examples
        if examples is None:
            raise SpecificationError("this installation has no table of instance types", hint="name one with --table")
        path = examples / SHIPPED_TABLE
    return load_instances(path)


def _cpu_speeds(request: CatalogueRequest, instances: Sequence[InstanceType]) -> dict[str, str]:
    """Return the YAML text of the processor by architecture."""
    architectures = sorted({instance.architecture for instance in instances})
    speeds = {}
    assumed_speeds = (f"{ASSUMED_ARCHITECTURE}={ASSUMED_SPEED}",) if ASSUMED_ARCHITECTURE in architectures else ()
    for text in (*assumed_speeds, *request.cpu_speeds):
        architecture, _, numbers = text.partition("=")
        parts = numbers.split(":")
        try:
            speed = float(parts[0])
            bounds = parts[1:] or (str(speed / SPEED_FACTOR), str(speed * SPEED_FACTOR))
            low, high = (float(part) for part in bounds)
        except ValueError:
            low = high = speed = 0.0
        if not 0 < low <= speed <= high < math.inf:
            hint = "ARCHITECTURE=SPEED or ARCHITECTURE=SPEED:LOW:HIGH, such as x86_64=2 or x86_64=2:1:4"
            raise SpecificationError(f"{text[:60]!r} is not a speed of a core", where="--cpu-speed", hint=hint)
        if architecture not in architectures:
            raise SpecificationError(unknown("architecture", architecture, architectures), where="--cpu-speed")
        speeds[architecture] = f"speed: {speed:g}, low: {low:g}, high: {high:g}"
    if missing_names := [name for name in architectures if name not in speeds]:
        raise SpecificationError(
            f"the speed of a core of {' and '.join(missing_names)} relative to the profile's machine is not known",
            where="--cpu-speed",
            hint="--cpu-speed "
            + " --cpu-speed ".join(f"{name}=SPEED:LOW:HIGH" for name in missing_names)
            + ": measured or published, because ARM and x86 cores are not assumed to be equal; "
            "a wide interval, such as 2:1:4, makes the answer as uncertain as it is",
        )
    return speeds


def _worker_lines(instance: InstanceType, request: CatalogueRequest, speed: str) -> list[str]:
    if instance.network_bits_per_s is None:
        raise SpecificationError(f"no source states the network rate of {instance.name}", where="instance type")
    return [
        f"  {node_type_name(instance.name)}:",
        f"    count: {request.count}",
        f"    cores: {instance.cores}",
        f'    cpu: {{model: "{instance.processor} {instance.architecture}", {speed}}}',
        f"    memory: {instance.memory_bytes // MIB}MiB",
        f"    networks: {{baseline: {format_bit_rate(instance.network_bits_per_s)}}}",
        "    devices:",
        *_local_disk_lines(instance, request),
        *_volume_lines(instance, request),
        *_credit_lines(instance, request),
    ]


def _local_disk_lines(instance: InstanceType, request: CatalogueRequest) -> list[str]:
    disks = instance.disks
    if disks is None:
        if request.volumes:
            return []
        raise SpecificationError(
            f"{instance.name} has no local disks",
            where="instance type",
            hint="add network volumes with --volumes gp3:1TB:4",
        )
    capacity = format_bytes(disks.capacity_bytes)
    stated_rates = _rates_of(instance, _disk_rates(request))
    if stated_rates is None:  # it has network volumes
        return []
    read_rate, write_rate = stated_rates
    return [
        f"      local: {{kind: {disks.kind}, count: {disks.count}, read: {read_rate}, write: {write_rate}, "
        f"capacity: {capacity}}}"
    ]


def _rates_of(instance: InstanceType, rates: Mapping[str, tuple[str, str]]) -> tuple[str, str] | None:
    """Return the read and write rate of one local disk; None: unknown."""
    return rates.get(instance.name) or (rates.get(str(instance.disks.kind)) if instance.disks else None)


def _disk_rates(request: CatalogueRequest) -> dict[str, tuple[str, str]]:
    """Return instance type or disk kind to the read and write rate of one disk, as text for YAML."""
    rates = {}
    for text in request.disk_rates:
        type_or_kind, _, rates_text = text.partition("=")
        if type_or_kind not in (*request.types, *map(str, DeviceKind)):
            choices = [*map(str, DeviceKind), *request.types]
            raise SpecificationError(unknown("disk kind or instance type", type_or_kind, choices), where="--disk-rates")
        try:
            read_rate, write_rate = (format_byte_rate(parse_byte_rate(rate)) for rate in rates_text.split(":"))
        except ValueError as error:
            hint = "WHICH=READ:WRITE, such as nvme=1.4GB/s:900MB/s"
            raise SpecificationError(f"{text[:60]!r}: {error}", where="--disk-rates", hint=hint) from error
        rates[type_or_kind] = (read_rate, write_rate)
    return rates


def _volume_lines(instance: InstanceType, request: CatalogueRequest) -> list[str]:
    if not request.volumes:
        return []
    volumes = parse_volumes(request.volumes, "--volumes")
    rate, iops = instance.volume_rate(volumes)
    name, kind = volumes.name, volumes.type
    rate_text = format_byte_rate(rate)
    return [
        f"      # {kind.source}; limited by the instance's own rate for volumes",
        f"      {name}: {{kind: {kind.kind}, count: {volumes.count}, read: {rate_text}, write: {rate_text}, "
        f"iops: {iops}, capacity: {format_bytes(volumes.capacity_bytes)}}}",
    ]


def _credit_lines(instance: InstanceType, request: CatalogueRequest) -> list[str]:
    """Return the credits of a new machine with new volumes: core-seconds of CPU, bytes of volumes."""
    volumes = parse_volumes(request.volumes, "--volumes") if request.volumes else None
    buckets = instance.credits(volumes, volumes.name if volumes else "")
    lines = [
        f"      {bucket.kind}: {{baseline: {_number(bucket.baseline_per_s)}, start: {_number(bucket.start)}, "
        f"limit: {_number(bucket.limit)}{f', devices: {bucket.devices}' if bucket.devices else ''}"
        f"{f', vcpus_per_core: {_number(bucket.vcpus_per_core)}' if bucket.vcpus_per_core else ''}}}"
        for bucket in buckets
    ]
    units = "    # Core-seconds of CPU, bytes of volumes; the baseline per second."
    return [units, "    credits:", *lines] if lines else []


def _number(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")
