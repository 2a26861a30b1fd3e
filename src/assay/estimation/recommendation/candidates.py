"""Enumerate the clusters of a hardware catalogue, and make the plan that simulates one of them. Pure.

In: a catalogue. Out: :class:`Candidates`, one row of numbers per cluster, so that a few arrays hold a hundred thousand
clusters; and for one row the plan of a workload on that cluster, checked like every plan. The disks of a cluster are
the disks that its layout uses.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.cost.bills import MASTER_TYPE, Parts
from assay.analysis.cost.parts import Counts
from assay.analysis.statistics import Ints, Mask
from assay.execution.engines.hadoop.settings.containers import NODE_MEMORY
from assay.execution.engines.hadoop.settings.defaults import STOCK_MEMORY, TASK_MEMORY
from assay.execution.engines.rules_catalogue import all_rules
from assay.execution.engines.spark import settings as spark
from assay.execution.planning.plan_files.hardware_file import numbered_devices
from assay.execution.planning.plan_files.plan_reader import plan_of_content
from assay.foundation.errors import SpecificationError
from assay.foundation.units import MIB, format_bit_rate, format_bytes, format_memory
from assay.model import (
    COMPRESSION,
    CONTAINERS,
    Cluster,
    Device,
    DeviceKind,
    DeviceOption,
    Directories,
    HardwareCatalogue,
    Layout,
    Nic,
    Node,
    NodeType,
    Placement,
    Plan,
    Role,
    WorkerOption,
)
from assay.specs.document import Value
from assay.specs.layouts import is_layout_code
from assay.text import codec_text, disk_noun, network_text, plural

MACHINES_MAX = 20_000
"""Maximum number of ways to build a worker that one search compares."""
_RESERVED_MEMORY_BYTES = 2 * 2**30
"""Memory of a worker that is not available to containers, in bytes."""


@dataclass(frozen=True, slots=True)
class Machine:
    """One way to build a worker: its parts, and its storage layout."""

    option: WorkerOption
    memory_bytes: int
    network: str
    devices: tuple[Device, ...]
    layout: Layout

    @property
    def hdfs(self) -> tuple[Device, ...]:
        """The devices with HDFS blocks."""
        names = {part.device for part in self.layout.hdfs}
        return tuple(device for device in self.devices if device.name in names)

    @property
    def intermediate(self) -> tuple[Device, ...]:
        """The devices with intermediate data."""
        names = {part.device for part in self.layout.intermediate}
        return tuple(device for device in self.devices if device.name in names)

    @property
    def storage(self) -> str:
        """The storage of a worker in words: ``4 hard disks of 12 TB (HDFS) + 1 SSD of 2 TB (intermediate data)``.

        The name of the layout follows if the catalogue names its own layouts, or offers several devices of a kind.
        """
        kinds = [device.device.kind for device in self.option.devices]
        has_layout_name = (self.option.layouts and not is_layout_code(self.layout.name)) or len(set(kinds)) < len(kinds)
        hdfs, intermediate = ({device.kind for device in devices} for devices in (self.hdfs, self.intermediate))
        parts = []
        for kind in dict.fromkeys(device.kind for device in self.devices):
            purpose = "" if kind in hdfs & intermediate else " (HDFS)" if kind in hdfs else " (intermediate data)"
            sizes = {device.capacity_bytes for device in self.devices if device.kind is kind}
            size = f" of {format_bytes(min(sizes))}" if len(sizes) == 1 else ""
            parts.append(plural(self.kinds[str(kind)], disk_noun(str(kind))) + size + purpose)
        return " + ".join(parts) + (f" ({self.layout.name})" if has_layout_name else "")

    @property
    def network_text(self) -> str:
        """The network with its rate: ``InfiniBand (20 Gbit/s)``, or the rate where it identifies one of the choices."""
        networks = self.option.networks
        title, rate = network_text(self.network), format_bit_rate(networks[self.network])
        if title != self.network or len(set(networks.values())) < len(networks):
            return f"{title} ({rate})"
        return rate

    @property
    def kinds(self) -> dict[str, int]:
        """Device kind to its number of devices."""
        counts: dict[str, int] = {}
        for device in self.devices:
            counts[str(device.kind)] = counts.get(str(device.kind), 0) + 1
        return counts


@dataclass(frozen=True, slots=True)
class Candidates:
    """All clusters, by row. ``machine`` is an index of ``machines``, and ``codec`` of ``codecs``. With an empty
    codec, the catalogue's parameters decide on compression."""

    catalogue: HardwareCatalogue
    machines: tuple[Machine, ...]
    codecs: tuple[str, ...]
    machine: Ints
    workers: Ints
    containers: Ints
    codec: Ints

    def __len__(self) -> int:
        """Return the number of clusters."""
        return len(self.machine)

    def differ_in_one_choice(self, row: int) -> Mask:
        """Return which clusters differ from this one in one choice; in the number of workers, by the smallest step."""
        machine = self.machines[self.machine[row]]
        differences = np.array(
            [
                (candidate.option.name != machine.option.name)
                + (candidate.memory_bytes != machine.memory_bytes)
                + (candidate.layout.name != machine.layout.name)
                + (candidate.network != machine.network)
                for candidate in self.machines
            ]
        )[self.machine]
        differences += (self.containers != self.containers[row]).astype(np.int64) + (self.codec != self.codec[row])
        steps = np.abs(self.workers - self.workers[row])
        smallest_step = min(steps[(differences == 0) & (steps > 0)], default=0)
        has_one_change: Mask = ((differences == 1) & (steps == 0)) | (
            (differences == 0) & (steps == smallest_step) & (steps > 0)
        )
        return has_one_change

    def label(self, row: int) -> str:
        """Return a cluster in words: the number of workers, the hardware of each, and settings with several choices.

        ``4 × small-server (16 cores, 64 GB), 1 NVMe drive of 3.84 TB, 10 Gbit/s, Snappy compression``
        """
        machine = self.machines[self.machine[row]]
        option = machine.option
        parts = [
            f"{self.workers[row]} × {option.name} "
            f"({plural(option.cores, 'core')}, {format_memory(machine.memory_bytes)})",
            machine.storage,
            machine.network_text,
        ]
        if len(machine.option.containers) > 1:
            parts.append(f"{self.containers[row]} containers")
        if self.codecs[self.codec[row]]:
            parts.append(codec_text(self.codecs[self.codec[row]]))
        return ", ".join(parts)

    def levels(self, row: int) -> dict[str, str]:
        """Return all choices by name."""
        machine = self.machines[self.machine[row]]
        assignment = {
            "worker": machine.option.name,
            "cores": str(machine.option.cores),
            "workers": str(self.workers[row]),
            "layout": machine.layout.name,
            "network": machine.network,
            "nic": format_bit_rate(machine.option.networks[machine.network]),
            "memory": format_bytes(machine.memory_bytes),
            "containers": str(self.containers[row]),
            "devices": " + ".join(f"{count} {kind}" for kind, count in sorted(machine.kinds.items())),
        }
        return assignment | ({COMPRESSION: self.codecs[self.codec[row]]} if self.codecs[self.codec[row]] else {})


def candidates(catalogue: HardwareCatalogue) -> Candidates:
    """Return all clusters of the catalogue's choices. Raises SpecificationError if there are too many."""
    machines = tuple(machine for option in catalogue.workers for machine in _machines(option))
    if not 0 < len(machines) <= MACHINES_MAX:
        raise SpecificationError(
            f"{len(machines):,} ways to build a worker; 1 to {MACHINES_MAX:,} can be searched",
            where=f"catalogue {catalogue.name}",
            hint="offer fewer devices, memory sizes or networks; the number of workers does not matter here",
        )
    codecs = catalogue.compressions or ("",)
    rows = [
        (number, workers, containers, codec)
        for number, machine in enumerate(machines)
        for workers in machine.option.counts
        for containers in _container_counts(machine, catalogue)
        for codec in range(len(codecs))
    ]
    columns = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    return Candidates(catalogue, machines, codecs, *columns)


def _container_counts(machine: Machine, catalogue: HardwareCatalogue) -> tuple[int, ...]:
    option = machine.option
    memory_bytes = max(int(catalogue.parameters.get(name, STOCK_MEMORY[name])) for name in TASK_MEMORY)
    containers_max = max(2, int((machine.memory_bytes - _RESERVED_MEMORY_BYTES) // (memory_bytes * MIB)))
    return option.containers or (min(option.cores, containers_max),)


def _machines(option: WorkerOption) -> list[Machine]:
    machines = []
    for devices, layout in _storages(option):
        for memory in option.memories_bytes:
            machines += [Machine(option, memory, network, devices, layout) for network in option.networks]
    return machines


def _storages(option: WorkerOption) -> list[tuple[tuple[Device, ...], Layout]]:
    """Return all combinations of a worker's devices and layouts."""
    if option.layouts:
        by_name = {
            device.name: device
            for device_option in option.devices
            for device in numbered_devices(device_option, device_option.counts[-1])
        }
        return [(tuple(by_name[name] for name in layout.devices()), layout) for layout in option.layouts]
    storages = []
    for counts in itertools.product(*(device.counts for device in option.devices)):
        device_counts = [
            (device_option, count) for device_option, count in zip(option.devices, counts, strict=True) if count
        ]
        devices = tuple(
            device for device_option, count in device_counts for device in numbered_devices(device_option, count)
        )
        storages += [(devices, layout) for layout in _layouts(device_counts, devices)]
    return storages


def _layouts(device_counts: Sequence[tuple[DeviceOption, int]], devices: Sequence[Device]) -> list[Layout]:
    """Return one layout with everything on all devices and, for mixed devices, one with HDFS on hard disks only."""
    if not devices:
        return []
    directories = tuple(Directories(device.name) for device in devices)
    hard_disks = tuple(Directories(device.name) for device in devices if device.kind is DeviceKind.HDD)
    flash = tuple(Directories(device.name) for device in devices if device.kind is not DeviceKind.HDD)
    shared = Layout(_layout_name(device_counts, "HY"), directories, directories)
    return [shared, Layout(_layout_name(device_counts, "HS"), hard_disks, flash)] if hard_disks and flash else [shared]


def _layout_name(device_counts: Sequence[tuple[DeviceOption, int]], mixed_prefix: str) -> str:
    """Return ALOJA's code if it describes this layout exactly; else the devices, and ``shared`` if all hold
    everything.
    """
    kinds = [option.device.kind for option, _ in device_counts]
    counts = {option.device.kind: count for option, count in device_counts}
    hdd, ssd, nvme = (counts.get(kind, 0) for kind in (DeviceKind.HDD, DeviceKind.SSD, DeviceKind.NVME))
    if len(set(kinds)) == len(kinds):
        if not ssd and not nvme:
            return "HDD" if hdd == 1 else f"HD{hdd}"
        if not hdd and not nvme:
            return "SSD" if ssd == 1 else f"SS{ssd}"
        if hdd and ssd == 1 and not nvme:
            return f"{mixed_prefix}{hdd}"
        if kinds == [DeviceKind.NVME] and nvme == 1:
            return "NVE"
    devices_text = "-".join(f"{count}{option.group}" for option, count in device_counts)
    is_mixed = DeviceKind.HDD in kinds and len(set(kinds)) > 1
    return f"{devices_text}-shared" if is_mixed and mixed_prefix == "HY" else devices_text


def cluster_of(candidates: Candidates, row: int) -> Cluster:
    """Return the cluster of a row. Its hosts have no addresses: nothing is ever run there."""
    machine = candidates.machines[candidates.machine[row]]
    option = machine.option
    nic = Nic(option.networks[machine.network])
    worker_type = NodeType(
        name=option.name,
        cores=option.cores,
        memory_bytes=machine.memory_bytes,
        devices=machine.devices,
        nic=nic,
        price=None,
        cpu_model=option.cpu_model,
        cpu_speed=option.cpu_speed,
        credits=option.credits,
    )
    master_type = NodeType("master", option.cores, machine.memory_bytes, (), nic)
    masters = tuple(
        Node(f"master{number}", master_type, frozenset({Role.MASTER}))
        for number in range(1, candidates.catalogue.masters + 1)
    )
    names = (f"{option.name}{number}" for number in range(1, int(candidates.workers[row]) + 1))
    workers = tuple(Node(name, worker_type, frozenset({Role.WORKER})) for name in names)
    return Cluster(candidates.catalogue.name, Placement.SSH, (*masters, *workers))


def _spark_parameters(machine: Machine, workers: int, parameters: Mapping[str, str]) -> dict[str, str]:
    """Return Spark's parameters for a cluster: as many executors of the requested size as its workers hold."""
    cores = min(max(1, spark.count_value(parameters, spark.CORES)), machine.option.cores)
    node_mb = (machine.memory_bytes - _RESERVED_MEMORY_BYTES) // MIB
    master_mb = spark.container_mb(parameters, spark.MASTER_MEMORY, spark.MASTER_OVERHEAD)
    executor_mb = max(1, spark.container_mb(parameters, spark.MEMORY, spark.OVERHEAD))
    executors_per_worker = max(1, min(machine.option.cores // cores, (node_mb - 2 * master_mb) // executor_mb))
    return {
        **parameters,
        NODE_MEMORY: str(max(0, node_mb)),
        spark.CORES: str(cores),
        spark.EXECUTORS: str(executors_per_worker * workers),
    }


def plan_for(
    candidates: Candidates, row: int, workload: Mapping[str, Mapping[str, str]], engine: str = "hadoop"
) -> Plan:
    """Return the plan of one workload (``{name: options}``) on the cluster of a row.

    Raises SpecificationError for an invalid plan.
    """
    machine = candidates.machines[candidates.machine[row]]
    layout, catalogue_parameters = machine.layout, candidates.catalogue.parameters
    if engine == "spark":
        parameters = _spark_parameters(machine, int(candidates.workers[row]), catalogue_parameters)
    else:
        parameters = {**STOCK_MEMORY, **catalogue_parameters, CONTAINERS: str(candidates.containers[row])}
    codec = candidates.codecs[candidates.codec[row]]
    if codec:
        parameters[COMPRESSION] = codec
    content: dict[str, Value] = {
        "plan": candidates.catalogue.name,
        "cluster": "catalogue",
        "layout": layout.name,
        "engine": engine,
        "parameters": dict(parameters),
        "workloads": [{name: dict(options) for name, options in workload.items()}],
        "repetitions": "1",
    }
    if not is_layout_code(layout.name):
        content["layouts"] = {
            layout.name: {
                "hdfs": {part.device: str(part.count) for part in layout.hdfs},
                "intermediate": {part.device: str(part.count) for part in layout.intermediate},
                **({"policy": str(layout.policy)} if layout.policy else {}),
            }
        }
    return plan_of_content(content, cluster_of(candidates, row), "", {engine: all_rules()[engine]})


def parts_of(candidates: Candidates) -> list[Parts]:
    """Return, for each machine, the parts of a cluster with one worker, as price books count them."""
    masters = candidates.catalogue.masters
    parts = []
    for machine in candidates.machines:
        levels = {
            "cluster": candidates.catalogue.name,
            "network": machine.network,
            "memory": format_bytes(machine.memory_bytes).replace(" ", ""),
            "worker": machine.option.name,
        }
        counts = Counts(
            nodes=masters + 1,
            masters=masters,
            workers=1,
            layout_devices=machine.kinds,
            device_names={device.name: str(device.kind) for device in machine.devices},
            node_types={MASTER_TYPE: masters, machine.option.name: 1},
            capacity_bytes=sum(device.capacity_bytes for device in machine.devices),
            levels=levels,
        )
        parts.append(Parts(machine.layout.name, counts))
    return parts
