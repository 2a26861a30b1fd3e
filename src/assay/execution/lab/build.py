"""Bring a lab up in steps: keys, network, control groups, disks, nodes, limits.

In: the described cluster and the lab's directory. Out: the cluster with its addresses, and the facts of the lab. Each
step is journalled before it starts. If a step fails, the caller undoes the journal.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from assay.analysis.devices.model_parameters import dirty_seconds, model_parameters
from assay.execution.lab.cgroups import NodeCgroup, throttle_directory
from assay.execution.lab.commands import parallel
from assay.execution.lab.disks.disk_emulators import DiskEmulator, EmulatedDisk, ThrottledLoop
from assay.execution.lab.disks.modelled_disks import ModelledLoop
from assay.execution.lab.journal import UndoJournal, UndoStep
from assay.execution.lab.network import LabNetwork, make_network, plan_network
from assay.execution.lab.nodes import SSH_PORT, SYSTEM_DIRECTORY, LabNode, boot_nodes, make_client_key, prepare_nodes
from assay.execution.lab.probe import DEVICE_MODEL, DISK_RATES, Capabilities
from assay.execution.lab.scale import memory_limit_bytes, scaled_disk
from assay.foundation.errors import LabError
from assay.foundation.units import format_bytes
from assay.model import Address, Cluster, Disks, LabSettings, NodeType

PLAIN_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
HOME = f"{SYSTEM_DIRECTORY}/assay"
NEVER_EMULATED = ("network latency: links have a rate but no added delay",)


@dataclass(frozen=True, slots=True)
class BootedLab:
    """A lab that is up. ``processes`` are the nodes' first processes, children of this process."""

    cluster: Cluster
    facts: dict[str, Any]
    processes: tuple[subprocess.Popen[bytes], ...]


@dataclass(frozen=True, slots=True)
class LabSite:
    """Directory, name and tools of a new lab."""

    name: str
    directory: Path
    journal: UndoJournal
    capabilities: Capabilities
    progress: Callable[[str], None]
    check: Callable[[], None]
    """Raises KeyboardInterrupt if the user has cancelled. Called only between complete steps."""

    def begin(self, step: str) -> None:
        """Report the next step, unless the user has cancelled."""
        self.check()
        self.progress(f"lab {self.name}: {step}")


def build(cluster: Cluster, site: LabSite) -> BootedLab:
    """Create the lab. Raises LabError at the first failure."""
    settings = cluster.lab
    if settings is None:
        raise LabError(f"the cluster {cluster.name} is not described as a lab")
    _check_names(cluster)
    _check_memory(cluster, settings)
    groups = {node.name: NodeCgroup(site.capabilities.controllers, site.name, node.name) for node in cluster.nodes}
    site.begin(f"{len(cluster.nodes)} nodes at scale 1/{1 / settings.scale:g}")
    network = plan_network(
        site.name, {node.name: node.type.nic.rate_bits_per_s * settings.scale for node in cluster.nodes}
    )
    make_network(network, site.journal, has_rate_limits=site.capabilities.can_shape_links)
    refusals = _make_groups(cluster, settings, groups, site.journal)
    emulator = choose_emulator(settings, groups, site)
    disks = _make_disks(cluster, settings, emulator, site)
    nodes = [
        LabNode(
            node.name,
            site.directory / "nodes" / node.name,
            groups[node.name],
            tuple(disk for disk in disks if disk.spec.node == node.name),
        )
        for node in cluster.nodes
    ]
    key = make_client_key(site.directory)
    known_hosts = prepare_nodes(nodes, network, key)
    site.begin("starting the nodes")
    processes = boot_nodes(nodes, network, site.journal, site.check)
    # Limits are set after the nodes have mounted the disks, because mounting slow disks takes long.
    refusals += [
        problem for problems in parallel(lambda disk: emulator.limit(disk, site.journal), disks) for problem in problems
    ]
    refusals += [reason for disk in disks for reason in disk.not_emulated]
    facts = _facts(cluster, settings, network, nodes, emulator.kind)
    facts["disks"] = _emulator_facts(emulator, settings, site)
    never_emulated = (*emulator.not_emulated, *NEVER_EMULATED)
    facts["not_emulated"] = list(dict.fromkeys([*never_emulated, *site.capabilities.not_emulated, *refusals]))
    facts["warnings"] = _overcommitment(cluster, settings, disks, site.directory)
    addressed_cluster = _with_addresses(cluster, network, key, known_hosts)
    # The code that measures the disks has to know how they are emulated.
    addressed_cluster = replace(addressed_cluster, lab=replace(settings, disks=emulator.kind))
    return BootedLab(addressed_cluster, facts, (*processes, *emulator.processes))


def choose_emulator(settings: LabSettings, groups: dict[str, NodeCgroup], site: LabSite) -> DiskEmulator:
    """Return the device model if the machine supports it, unless the cluster file selects throttling.

    Raises LabError if the file selects an emulator that the machine does not support.
    """
    capabilities = site.capabilities
    if settings.disks is not Disks.THROTTLE and capabilities.diskd:
        return ModelledLoop(capabilities.diskd, site.directory)
    for disks, capability in ((Disks.MODEL, DEVICE_MODEL), (Disks.THROTTLE, DISK_RATES)):
        if settings.disks is disks and not capabilities.has(capability):
            raise LabError(
                f"disks: {disks.value} is not possible on this machine: {capabilities.detail(capability)}",
                hint="remove disks from the cluster file's lab section; the lab then uses what this machine supports",
            )
    return ThrottledLoop({node: throttle_directory(group) for node, group in groups.items()})


def _emulator_facts(emulator: DiskEmulator, settings: LabSettings, site: LabSite) -> dict[str, str]:
    """Return the emulator of the disks and the reason for it, as recorded with each run."""
    if settings.disks is not None:
        reason = "set in the cluster file"
    elif emulator.kind is Disks.MODEL:
        reason = "this machine supports it"
    else:
        reason = f"no device model here: {site.capabilities.detail(DEVICE_MODEL)}"
    return {"emulator": emulator.kind.value, "reason": reason}


def _check_names(cluster: Cluster) -> None:
    for node in cluster.nodes:
        for name in (node.name, *(device.name for device in node.type.devices)):
            if not PLAIN_NAME.fullmatch(name) or name == Path(SYSTEM_DIRECTORY).name:
                raise LabError(
                    f"{name!r} is not a valid name for a lab's node or device",
                    where=f"cluster {cluster.name}",
                    hint="use lower-case letters, digits and dashes; 'system' is reserved",
                )


def _machine_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _check_memory(cluster: Cluster, settings: LabSettings) -> None:
    """Reject a node whose memory limit exceeds the machine's memory. If only the nodes' total exceeds it, the lab's
    facts have a warning."""
    machine_bytes = _machine_bytes()
    node = max(cluster.nodes, key=lambda node: memory_limit_bytes(node, settings))
    limit_bytes = memory_limit_bytes(node, settings)
    if limit_bytes > machine_bytes:
        is_floor = limit_bytes == settings.memory_floor_bytes
        raise LabError(
            f"node {node.name} may use {format_bytes(limit_bytes)} of memory, and this machine has "
            f"{format_bytes(machine_bytes)}",
            where=f"cluster {cluster.name}",
            hint="lower memory_floor" if is_floor else "choose a smaller scale",
        )


def _make_groups(
    cluster: Cluster, settings: LabSettings, groups: dict[str, NodeCgroup], journal: UndoJournal
) -> list[str]:
    """Create the nodes' control groups with memory limit and CPU share; return a message for each limit or share that
    the kernel refused."""
    directories = [directory for group in groups.values() for directory in group.directories]
    parents = dict.fromkeys(directory.parent for directory in directories)
    existing_group = next((directory for directory in directories if directory.exists()), None)
    if existing_group:
        raise LabError(
            f"control group {existing_group} exists already, but this state directory has no record of it",
            hint="choose another name with --name, or remove the group with rmdir",
        )
    journal.record(*(UndoStep("cgroup", {"path": str(path)}) for path in (*parents, *directories)))
    cores_max = max(node.type.cores for node in cluster.nodes)
    refusals = []
    for node in cluster.nodes:
        group = groups[node.name]
        group.make()
        if not group.limit_memory(memory_limit_bytes(node, settings)) and "memory" in group.controllers:
            refusals.append("memory limits: the kernel refused one")
        if not group.share_cpu(node.type.cores / cores_max, len(cluster.nodes)) and "cpu" in group.controllers:
            refusals.append("CPU shares: the kernel refused one")
    return refusals


def _make_disks(cluster: Cluster, settings: LabSettings, emulator: DiskEmulator, site: LabSite) -> list[EmulatedDisk]:
    images, scale = site.directory / "images", settings.scale
    devices = [(node.name, device) for node in cluster.nodes for device in node.type.devices]
    seconds = dirty_seconds((device for _, device in devices), scale)
    specs = [
        scaled_disk(node, device, scale, images / f"{node}.{device.name}.img", emulator.kind, seconds)
        for node, device in devices
    ]
    site.begin(f"making {len(specs)} disks")
    return emulator.create(specs, site.journal)


def _overcommitment(
    cluster: Cluster, settings: LabSettings, disks: Sequence[EmulatedDisk], directory: Path
) -> list[str]:
    """Return warnings if the lab's disks or memory limits exceed the machine's free disk space or memory."""
    disk_bytes, free_bytes = sum(disk.spec.capacity_bytes for disk in disks), shutil.disk_usage(directory).free
    memory_bytes = sum(memory_limit_bytes(node, settings) for node in cluster.nodes)
    machine_bytes = _machine_bytes()
    warnings = []
    if disk_bytes > free_bytes:
        warnings.append(
            f"the disks hold {format_bytes(disk_bytes)} and the machine has {format_bytes(free_bytes)} free: "
            "writing more than that fails on the nodes with I/O errors"
        )
    if memory_bytes > machine_bytes:
        limit_text, machine_text = format_bytes(memory_bytes), format_bytes(machine_bytes)
        warnings.append(f"the nodes may use {limit_text} of memory and the machine has {machine_text}")
    return warnings


def _with_addresses(cluster: Cluster, network: LabNetwork, key: Path, known_hosts: Path) -> Cluster:
    def with_mount_points(node_type: NodeType) -> NodeType:
        devices = tuple(replace(device, directory=f"/mnt/{device.name}") for device in node_type.devices)
        return replace(node_type, devices=devices)

    nodes = tuple(
        replace(
            node,
            type=with_mount_points(node.type),
            address=Address(
                host=network.addresses[node.name],
                port=SSH_PORT,
                user="root",
                key=str(key),
                known_hosts=str(known_hosts),
            ),
        )
        for node in cluster.nodes
    )
    return replace(cluster, nodes=nodes, home=HOME)


def _facts(
    cluster: Cluster, settings: LabSettings, network: LabNetwork, nodes: Sequence[LabNode], emulator_kind: Disks
) -> dict[str, Any]:
    by_name = {node.name: node for node in cluster.nodes}
    return {
        "scale": settings.scale,
        "subnet": str(network.subnet),
        "cgroup_versions": {name: c.version for name, c in nodes[0].group.controllers.items()} if nodes else {},
        "nodes": {
            node.name: {
                "address": network.addresses[node.name],
                "namespace": network.namespace(node.name),
                "link_bits_per_s": network.rates_bits_per_s[node.name],
                "memory_bytes": memory_limit_bytes(by_name[node.name], settings),
                "cores_described": by_name[node.name].type.cores,
                "cgroup": {
                    key: str(directory)
                    for key, controller in (("cpu", "cpuacct"), ("memory", "memory"))
                    if (directory := node.group.directory(controller))
                },
                "devices": {disk.spec.name: _disk_facts(disk, emulator_kind) for disk in node.disks},
            }
            for node in nodes
        },
    }


def _disk_facts(disk: EmulatedDisk, emulator_kind: Disks) -> dict[str, Any]:
    figures = (
        model_parameters(disk.spec.device, disk.spec.scale)
        if emulator_kind is Disks.MODEL
        else asdict(disk.spec.limits)
    )
    return {
        "block": str(disk.block),
        "major_minor": disk.major_minor,
        "directory": f"/mnt/{disk.spec.name}",
        "capacity_bytes": disk.spec.capacity_bytes,
        "request_bytes": disk.spec.request_bytes,
        "dirty_bytes": disk.spec.dirty_bytes,
        **figures,
    }
