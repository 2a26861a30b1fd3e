"""Convert a cluster file to a cluster: groups of nodes and devices become single nodes and devices.

In: the file's path, or the parsed document. Out: :class:`~assay.model.Cluster`, with values in bytes, bytes/s, bits/s
and seconds.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.model import (
    Address,
    Attachment,
    Cluster,
    Device,
    DeviceKind,
    Disks,
    FlashModel,
    HddModel,
    KerberosLogin,
    LabSettings,
    Network,
    Nic,
    Node,
    NodeType,
    Placement,
    Racks,
    Role,
    SparkClient,
    default_flash,
    default_hdd,
)
from assay.specs.cluster_checks import check_cluster, device_names, node_names, placement_of
from assay.specs.cluster_file import (
    ClusterFile,
    CpuSection,
    DeviceGroup,
    DeviceKeys,
    NetworkSection,
    NodeGroup,
    NodeTypeSection,
    SshSection,
)
from assay.specs.document import Document, Problems, read_document
from assay.specs.section import parse


def load_cluster(path: str | Path) -> Cluster:
    """Return the cluster that the file at ``path`` describes. Raises :class:`SpecificationError` with file and line."""
    return cluster_of(read_document(path), Path(path).parent)


def cluster_of(document: Document, folder: Path) -> Cluster:
    """Return the cluster that a document describes; relative paths of SSH files start at ``folder``.

    Raises the errors of :func:`load_cluster`.
    """
    file = parse(ClusterFile, document)
    problems = Problems(document)
    check_cluster(file, problems)
    problems.raise_if_any()
    return _cluster(file, folder)


def _cluster(file: ClusterFile, folder: Path) -> Cluster:
    home = (file.home or _default_home(file)).rstrip("/")
    placement = placement_of(file)
    device_home = f"{home}/devices" if placement is Placement.LOCAL else None
    types = {name: _node_type(name, section, device_home) for name, section in file.node_types.items()}
    ssh = file.ssh or SshSection()
    nodes = [node for name, group in file.nodes.items() for node in _nodes(name, group, types[group.type], ssh, folder)]
    lab = (
        LabSettings(file.lab.scale, file.lab.memory_floor, Disks(file.lab.disks) if file.lab.disks else None)
        if file.lab
        else None
    )
    networks = {
        name: Network(name, section.rate, _addresses(file, section), section.kind)
        for name, section in file.networks.items()
    }
    return Cluster(
        name=file.cluster,
        placement=placement,
        nodes=tuple(nodes),
        lab=lab,
        home=home,
        java_home=file.java_home,
        hadoop_home=file.hadoop_home,
        networks=networks,
        attached=_attachment(file, nodes) if file.attached else None,
        racks=Racks(file.racks.nodes, file.racks.uplink) if file.racks else None,
        simulated=file.provider == "simulated",
    )


def _attachment(file: ClusterFile, nodes: Sequence[Node]) -> Attachment:
    section = file.attached
    assert section is not None
    master = next(node.name for node in nodes if Role.MASTER in node.roles)
    folder = section.directory.rstrip("/")
    edge = section.edge or master
    kerberos, spark = section.kerberos, section.spark
    login = KerberosLogin(kerberos.principal, kerberos.keytab, kerberos.cache) if kerberos else None
    return Attachment(
        edge=edge,
        hadoop=section.hadoop,
        configuration=section.configuration,
        queue=section.queue,
        directory=folder,
        jars=tuple(section.jars),
        kerberos=login,
        authorities=section.authorities,
        spark=SparkClient(spark.submit, spark.configuration, spark.master, spark.page) if spark else None,
        only_edge=section.only_edge,
    )


def _addresses(file: ClusterFile, network: NetworkSection) -> dict[str, str]:
    """Return node name to address in ``network``."""
    return {
        node: address
        for group, addresses in (network.addresses or {}).items()
        for node, address in zip(node_names(group, file.nodes[group]), addresses, strict=True)
    }


def _default_home(file: ClusterFile) -> str:
    """Return a folder with the user's name or number in its name, because users of one host must not share it."""
    return f"/var/tmp/assay-{(file.ssh and file.ssh.user) or os.getuid()}"  # noqa: S108 - named by user, and not deleted at a reboot


def _node_type(name: str, section: NodeTypeSection, device_home: str | None) -> NodeType:
    devices = [
        device for group_name, group in section.devices.items() for device in _devices(group_name, group, device_home)
    ]
    nic = Nic(section.nic.rate, section.nic.price)
    cpu = section.cpu or CpuSection()
    return NodeType(
        name=name,
        cores=section.cores,
        memory_bytes=section.memory,
        devices=tuple(devices),
        nic=nic,
        price=section.price,
        cpu_model=cpu.model or "",
        cpu_speed=cpu.speed,
    )


def _devices(group_name: str, group: DeviceGroup, device_home: str | None) -> list[Device]:
    """Return the devices of the group. Devices without directories get one below ``device_home``, unless it is None."""
    names = device_names(group_name, group)
    group_directories: list[str | None] = [directory.rstrip("/") for directory in group.directories or ()]
    directories = group_directories or [f"{device_home}/{name}" if device_home else None for name in names]
    device = device_of(group_name, group)
    return [
        replace(device, name=name, price=group.price, directory=directory)
        for name, directory in zip(names, directories, strict=True)
    ]


def device_of(name: str, keys: DeviceKeys) -> Device:
    """Return the disk that ``keys`` describe."""
    return Device(
        name=name,
        kind=DeviceKind(keys.kind),
        read_bytes_per_s=keys.read,
        write_bytes_per_s=keys.write,
        read_iops=keys.iops or keys.read_iops,
        write_iops=keys.iops or keys.write_iops,
        capacity_bytes=keys.capacity,
        product=keys.model or "",
        hdd=_hdd(keys),
        flash=_flash(keys),
    )


_HDD_FIELDS = {
    "inner_share": "inner_share",
    "seek_track": "seek_track_s",
    "seek_full": "seek_full_s",
    "rpm": "rpm",
    "write_cache": "write_cache_bytes",
    "queue_depth": "queue_depth",
}
"""Key of the file to field of :class:`HddModel`."""
_FLASH_FIELDS = {
    "channels": "channels",
    "read_latency": "read_latency_s",
    "write_latency": "write_latency_s",
    "burst": "burst_bytes",
    "burst_write": "burst_write_bytes_per_s",
    "queue_depth": "queue_depth",
}
"""Key of the file to field of :class:`FlashModel`."""


def _specified_values(group: DeviceKeys, fields: Mapping[str, str]) -> dict[str, Any]:
    return {field: getattr(group, key) for key, field in fields.items() if getattr(group, key) is not None}


def _hdd(group: DeviceKeys) -> HddModel | None:
    """Return the model of an HDD with typical values for missing keys; None for flash, or if all keys are missing."""
    specified = _specified_values(group, _HDD_FIELDS)
    if group.kind != DeviceKind.HDD or not specified:
        return None
    return replace(default_hdd(group.iops or group.read_iops, replace(HddModel(), **specified)), **specified)


def _flash(group: DeviceKeys) -> FlashModel | None:
    """Return the model of flash with typical values for missing keys; None for an HDD, or if all keys are missing."""
    specified = _specified_values(group, _FLASH_FIELDS)
    kind = DeviceKind(group.kind)
    if kind is DeviceKind.HDD or not specified:
        return None
    return replace(default_flash(nvme=kind is DeviceKind.NVME), **specified)


def _nodes(name: str, group: NodeGroup, node_type: NodeType, ssh: SshSection, folder: Path) -> list[Node]:
    roles = frozenset(Role(role) for role in group.roles)
    names = node_names(name, group)
    if group.addresses is None:
        return [Node(node, node_type, roles) for node in names]
    key, known_hosts = _file(ssh.key, folder), _file(ssh.known_hosts, folder)
    return [
        Node(node, node_type, roles, Address(host, ssh.port, ssh.user, key, known_hosts, ssh.jump))
        for node, host in zip(names, group.addresses, strict=True)
    ]


def _file(path: str | None, folder: Path) -> str | None:
    return None if path is None else str((folder / os.path.expanduser(path)).absolute())  # noqa: PTH111 - Path.expanduser raises for unknown users
