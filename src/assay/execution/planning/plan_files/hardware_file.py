"""Read catalogue files: the hardware to choose from, as YAML.

In: a file. Out: a :class:`~assay.model.clusters.hardware_catalogue.HardwareCatalogue`, or SpecificationError with file,
line and valid values. A choice is one value, a list, or for counts a range: ``4-40``, ``4-40 by 4``.
"""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Self, TypeAlias

from pydantic import Field, model_validator

from assay.execution.engines.rules_catalogue import all_rules
from assay.execution.planning.plan_files.plan_file import LayoutSection
from assay.foundation.errors import SpecificationError
from assay.foundation.units import parse_bytes
from assay.model import COMPRESSION, Device, DeviceOption, HardwareCatalogue, Layout, Nic, NodeType, WorkerOption
from assay.model.clusters.credits import CreditBucket, CreditKind
from assay.specs.cluster import device_of
from assay.specs.cluster_checks import check_device
from assay.specs.cluster_file import DeviceKeys
from assay.specs.document import Document, Problems, document_of, read_document
from assay.specs.fields import (
    Amount,
    BitRate,
    Count,
    FieldFormat,
    HostName,
    Label,
    Name,
    ParameterName,
    Scalar,
    Speed,
    Text,
    text_of,
)
from assay.specs.layouts import is_layout_code, resolve_layout
from assay.specs.section import Section, parse

CANDIDATES_MAX = 2_000_000
"""Maximum number of clusters in a catalogue."""
COUNT_MAX = 10_000
"""Maximum of a count in a catalogue file."""
_MEMORY_TEXT_MAX = 40
"""Maximum length of a memory size's text, in characters."""
_RANGE = re.compile(r"([0-9]{1,5})\s*(?:-|to)\s*([0-9]{1,5})(?:\s+by\s+([1-9][0-9]{0,4}))?")


def _numbers(value: object, parse: Callable[[str], list[int]], noun: str) -> tuple[int, ...]:
    texts = [text_of(item) for item in value] if isinstance(value, list) else [text_of(value)]
    numbers = [number for text in texts for number in parse(text.strip())]
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"{noun} is given twice")
    if not numbers:
        raise ValueError(f"at least one {noun} is needed")
    return tuple(sorted(numbers))


def _counts(text: str) -> list[int]:
    match = _RANGE.fullmatch(text)
    numbers = [int(part) for part in match.groups() if part] if match else [int(text)] if text.isdecimal() else []
    if not numbers or max(numbers) > COUNT_MAX:
        raise ValueError(f"{text[:20]!r} is not a count up to {COUNT_MAX:,}; write 6, [4, 6, 8], 4-40 or 4-40 by 4")
    if not match:
        return numbers
    low, high, step = numbers[0], numbers[1], numbers[2] if len(numbers) > 2 else 1
    if low > high:
        raise ValueError(f"{text!r} counts down; write the smaller number first")
    return list(range(low, high + 1, step))


def _sizes(text: str) -> list[int]:
    size = parse_bytes(text) if len(text) <= _MEMORY_TEXT_MAX else 0
    if not 0 < size < 2**60:
        raise ValueError(f"{text[:20]!r} is not a plausible memory size")
    return [size]


def _positive_counts(value: object) -> tuple[int, ...]:
    counts = _numbers(value, _counts, "count")
    if counts[0] < 1:
        raise ValueError("it must be at least 1")
    return counts


_COUNT_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": ["integer", "string"]},
        {"type": "array", "items": {"type": ["integer", "string"]}, "minItems": 1},
    ],
    "examples": [6, [4, 6, 8], "4-40", "4-40 by 4"],
}
_SIZE_SCHEMA: dict[str, Any] = {
    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}],
    "examples": ["64GB", ["64GB", "128GB"]],
}
CountsOrNone: TypeAlias = Annotated[
    tuple[int, ...], FieldFormat(lambda value: _numbers(value, _counts, "count"), _COUNT_SCHEMA)
]
Counts: TypeAlias = Annotated[tuple[int, ...], FieldFormat(_positive_counts, _COUNT_SCHEMA)]
Sizes: TypeAlias = Annotated[tuple[int, ...], FieldFormat(lambda value: _numbers(value, _sizes, "size"), _SIZE_SCHEMA)]


class DeviceChoice(DeviceKeys):
    """A kind of disk, and how many a worker may have."""

    count: CountsOrNone = (1,)
    """How many: 2, [0, 2], 0-12 or 0-12 by 4; 1 when absent."""


class ProcessorSection(Section):
    """A processor, and the speed of its core relative to the processor on which a profile was learned."""

    model: Text | None = None
    """The processor's name."""
    speed: Speed = 1.0
    """The relative speed of a core; 1 when absent."""
    low: Speed | None = None
    """The lower end of the 90 % interval of the speed; ``speed`` when absent."""
    high: Speed | None = None
    """The upper end of the interval."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not (self.low or self.speed) <= self.speed <= (self.high or self.speed):
            raise ValueError("speed must lie between low and high")
        return self


class CreditSection(Section):
    """Credits of a worker for one resource."""

    baseline: Amount
    """Rate at which credits are earned, and the rate without credits: cores, or bytes/s."""
    start: Amount
    """Credits at the start of a job: core-seconds, or bytes."""
    limit: Amount
    """Maximum number of credits."""
    devices: HostName | None = None
    """Disks whose transfers use the credits; all disks when absent."""
    vcpus_per_core: Amount | None = None
    """vCPUs that a core in use occupies; surplus CPU credits need it."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.baseline > 0 or self.start > self.limit:
            raise ValueError("baseline must be more than 0, and start at most limit")
        return self


class WorkerChoice(Section):
    """One kind of worker with its options."""

    cores: Count
    """CPU cores."""
    cpu: ProcessorSection | None = None
    """The processor."""
    count: Counts
    """How many workers the cluster may have."""
    memory: Sizes
    """Main memory: one size, or a list of them."""
    networks: dict[Label, BitRate] = Field(min_length=1)
    """Networks to choose from: the name in the price book, and a link's rate."""
    devices: dict[HostName, DeviceChoice] = Field(min_length=1)
    """Disks by name."""
    containers: Counts | None = None
    """Concurrent containers of a worker; one per core, as far as the memory suffices, when absent."""
    layouts: dict[Label, LayoutSection] = Field(default_factory=dict)
    """Layouts by name; every usual layout of the devices when absent."""
    credits: dict[CreditKind, CreditSection] = Field(default_factory=dict)
    """Credits of a rented worker; without any, it has its full rates for any time."""


class HardwareFile(Section):
    """The hardware to choose from."""

    catalogue: Name
    """The catalogue's name."""
    source: Text
    """The source of its data."""
    assumptions: list[Text] = Field(default_factory=list)
    """Assumptions behind its figures; answers repeat them."""
    masters: Count = 1
    """Nodes that run no tasks."""
    parameters: dict[ParameterName, Scalar] = Field(default_factory=dict)
    """Engine parameters, the same for every choice."""
    compression: list[Text] = Field(default_factory=list)
    """Codecs of map output to choose from; the parameters decide when absent."""
    workers: dict[HostName, WorkerChoice] = Field(min_length=1)
    """Kinds of worker by name, which is the price book's node_type."""


def numbered_devices(option: DeviceOption, count: int) -> list[Device]:
    """Return ``count`` devices of one kind, with the names of a cluster file."""
    return [replace(option.device, name=f"{option.group}{number}") for number in range(1, count + 1)]


def _max_choices(option: WorkerOption) -> int:
    """Return the maximum number of device and layout choices of a worker option."""
    return len(option.layouts) or 2 * math.prod(len(device.counts) for device in option.devices)


def choices_of(catalogue: HardwareCatalogue) -> int:
    """Return an upper bound of the catalogue's number of clusters, without building them."""
    codecs = len(catalogue.compressions) or 1
    return sum(
        len(worker.counts)
        * len(worker.memories_bytes)
        * len(worker.networks)
        * (len(worker.containers) or 1)
        * _max_choices(worker)
        * codecs
        for worker in catalogue.workers
    )


def load_catalogue(path: str | Path) -> HardwareCatalogue:
    """Return the catalogue at ``path``; raise SpecificationError with file and line."""
    return _catalogue(read_document(path, "catalogue", "an example is examples/hardware/catalogue.yaml"))


def catalogue_of(text: str, name: str = "catalogue.yaml") -> HardwareCatalogue:
    """Return the catalogue of a file's text."""
    return _catalogue(document_of(text.encode(), name))


def _catalogue(document: Document) -> HardwareCatalogue:
    file = parse(HardwareFile, document)
    problems = Problems(document)
    for index, codec in enumerate(file.compression):
        if mistake := _codec_mistake(codec):
            problems.add(("compression", index), mistake)
    if file.compression and COMPRESSION in file.parameters:
        problems.add(("parameters", COMPRESSION), "the list compression sets it already; remove one of the two")
    workers = tuple(_worker(name, section, problems) for name, section in file.workers.items())
    problems.raise_if_any()
    catalogue = HardwareCatalogue(
        file.catalogue,
        file.source,
        workers,
        file.masters,
        dict(file.parameters),
        tuple(file.compression),
        tuple(file.assumptions),
    )
    count = choices_of(catalogue)
    if not 0 < count <= CANDIDATES_MAX:
        message = f"its choices combine to {count:,} clusters; 1 to {CANDIDATES_MAX:,} can be searched"
        problems.add(("workers",), message)
    problems.raise_if_any()
    return catalogue


def _codec_mistake(codec: str) -> str | None:
    try:
        all_rules()["hadoop"].parameters({COMPRESSION: codec})
    except SpecificationError as error:
        return error.message
    return None


def _worker(name: str, section: WorkerChoice, problems: Problems) -> WorkerOption:
    devices = []
    for group, keys in section.devices.items():
        check_device(keys, ("workers", name, "devices", group), problems)
        devices.append(DeviceOption(group, device_of(group, keys), keys.count))
    cpu = section.cpu or ProcessorSection()
    option = WorkerOption(
        name=name,
        cores=section.cores,
        counts=section.count,
        memories_bytes=section.memory,
        networks=dict(section.networks),
        devices=tuple(devices),
        containers=section.containers or (),
        cpu_model=cpu.model or "",
        cpu_speed=cpu.speed,
        cpu_speed_low=cpu.low or cpu.speed,
        cpu_speed_high=cpu.high or cpu.speed,
        credits=tuple(
            CreditBucket(kind, credit.baseline, credit.start, credit.limit, credit.devices or "", credit.vcpus_per_core)
            for kind, credit in section.credits.items()
        ),
    )
    return replace(option, layouts=tuple(_layouts(option, section, problems)))


def _layouts(option: WorkerOption, section: WorkerChoice, problems: Problems) -> list[Layout]:
    """Return the file's layouts, each on the maximum number of devices."""
    devices = [
        numbered_device for device in option.devices for numbered_device in numbered_devices(device, device.counts[-1])
    ]
    largest_worker = NodeType(option.name, option.cores, option.memories_bytes[0], tuple(devices), Nic(1.0))
    layouts = []
    for name, layout in section.layouts.items():
        location = ("workers", option.name, "layouts", name)
        if is_layout_code(name):
            problems.add(location, f"{name!r} is a layout code; choose another name")
        try:
            parts = layout.model_dump(exclude={"policy"})
            layouts.append(resolve_layout(parts, largest_worker, name=name, policy=layout.policy))
        except SpecificationError as error:
            problems.add(location, error.message)
    return layouts
