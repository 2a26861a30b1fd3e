"""Write a cluster file from surveys of hosts. Guessed values are marked by a comment.

In: a survey of each host, in the order of the command line, and how to reach them. Out: the file's text, which
:func:`assay.specs.load_cluster` reads, and remarks for the user. Pure.
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from assay.foundation.units import format_bit_rate, format_bytes
from assay.model import Daemon, DeviceKind, Mount, Survey

MASTER_DAEMONS = ("namenode", "resourcemanager", "spark-master")
WORKER_DAEMONS = ("datanode", "nodemanager", "spark-worker")
TYPICAL_RATES = {
    DeviceKind.HDD: ("150MB/s", "150MB/s", "120"),
    DeviceKind.SSD: ("500MB/s", "450MB/s", None),
    DeviceKind.NVME: ("2GB/s", "1.5GB/s", None),
}
"""Default read bandwidth, write bandwidth and IOPS of unmeasured devices."""
_NIC_GUESS_BITS_PER_S = 1e10
_FALLBACK_DIRECTORY = "/var/tmp/assay-disk"  # noqa: S108 - on the system's disk, where a host has no other
_SIZE_TOLERANCE = 0.03
"""Maximum relative difference between the sizes of file systems whose devices form one group."""


@dataclass(frozen=True, slots=True)
class HostAccess:
    """SSH access to the hosts: each host's address, and the keys of the file's ``ssh`` section as text."""

    addresses: Mapping[str, str]
    ssh: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rates:
    """Measured rates of a device."""

    read: str
    write: str
    iops: str | None


@dataclass(frozen=True, slots=True)
class DiscoveryOptions:
    """The user's options."""

    name: str = "discovered"
    master: str | None = None
    below: str = ""
    """Folder below each mount point for files of assay; empty: the mount point itself."""
    rates: Mapping[str, Rates] = field(default_factory=dict)
    """Device group to its measured rates."""


@dataclass(frozen=True, slots=True)
class _DeviceGroup:
    """Devices of one node type with equal kind and size."""

    name: str
    kind: DeviceKind
    guessed_kind: bool
    capacity_bytes: int
    directories: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Machine:
    """One host as described in the file."""

    survey: Survey
    roles: tuple[str, ...]
    groups: tuple[_DeviceGroup, ...]

    @property
    def rate_bits_per_s(self) -> float | None:
        return self.survey.nic.link_bits_per_s if self.survey.nic else None

    @property
    def memory(self) -> str:
        return f"{math.floor(self.survey.usable_memory_bytes / 2**30 * 10) / 10:g}GiB"

    @property
    def kind(self) -> tuple[object, ...]:
        """The properties that hosts of one type share."""
        devices = tuple((g.name, g.kind, round(g.capacity_bytes, -9), g.directories) for g in self.groups)
        return (self.survey.usable_cores, self.memory, self.rate_bits_per_s, devices, "worker" in self.roles)


def cluster_text(hosts: Sequence[Survey], access: HostAccess, options: DiscoveryOptions) -> tuple[str, list[str]]:
    """Return the cluster file and remarks on it. Raises ValueError without a host."""
    if not hosts:
        raise ValueError("no host was reached")
    roles, reason = _roles(hosts, options.master)
    hadoop = _find_running_hadoop(hosts)
    edge = hadoop.edge.host if hadoop else None
    machines = [_Machine(host, roles[host.host], ()) for host in hosts if roles[host.host] or host.host == edge]
    groups, notes = _group_workers([m for m in machines if "worker" in m.roles], options.below)
    machines = [_Machine(m.survey, m.roles, groups.get(m.survey.host, ())) for m in machines]
    types = _types(machines)
    ssh_keys = ", ".join(f"{key}: {_scalar(value)}" for key, value in access.ssh.items())
    lines = [
        f"# Found on {len(hosts)} hosts by `assay discover`. Check the values marked as guessed: no host reports them.",
        f"cluster: {options.name}",
        *([f"ssh: {{{ssh_keys}}}"] if ssh_keys else []),
        "node_types:",
        *(
            line
            for name, machines_of_type in types.items()
            for line in _type_lines(name, machines_of_type, options.rates)
        ),
        "nodes:",
        *_node_lines(types, access, reason),
        *_other_host_lines([host for host in hosts if not roles[host.host] and host.host != edge]),
        *(_engine(hadoop, roles) if hadoop else ()),
    ]
    return "\n".join(lines) + "\n", [*notes, *_remarks(machines)]


def _scalar(text: str) -> str:
    """Return a text as a scalar in a YAML flow list, quoted if YAML could read it otherwise."""
    return text if re.fullmatch(r"[\w./~@+-][\w./~@:+-]*", text) else json.dumps(text, ensure_ascii=False)


def _roles(hosts: Sequence[Survey], master: str | None) -> tuple[dict[str, tuple[str, ...]], str]:
    """Return each host's roles, and the reason for a guessed or specified role; empty if daemons run."""
    daemon_roles_by_host = {host.host: {daemon.role for daemon in host.daemons} for host in hosts}
    workers = {name for name, daemons in daemon_roles_by_host.items() if daemons & set(WORKER_DAEMONS)}
    master_name, reason = master, "as given"
    if master_name is None:
        ranked_hosts = [(rank, host.host) for host in hosts for rank in _ranks(host.daemons)]
        master_name, reason = (min(ranked_hosts)[1], "") if ranked_hosts else (hosts[0].host, "guessed: the first host")
    if not workers:
        workers = {host.host for host in hosts if host.host != master_name} or {master_name}
        reason = reason or "guessed: no daemon of a worker runs"
    roles = {
        name: tuple(role for role, applies in (("master", name == master_name), ("worker", name in workers)) if applies)
        for name in daemon_roles_by_host
    }
    return roles, reason


def _ranks(daemons: Sequence[Daemon]) -> Iterator[int]:
    """Yield the rank of each master daemon of a host: its place in :data:`MASTER_DAEMONS`, inactive daemons last.

    The host with the lowest rank becomes the master.
    """
    for daemon in daemons:
        if daemon.role in MASTER_DAEMONS:
            yield MASTER_DAEMONS.index(daemon.role) + (10 if daemon.active is False else 0)


def _group_workers(workers: Sequence[_Machine], below: str) -> tuple[dict[str, tuple[_DeviceGroup, ...]], list[str]]:
    """Return each worker's device groups, reduced to those that all workers have, and remarks on omitted devices."""
    groups_by_host = {m.survey.host: _device_groups(m.survey, below) for m in workers}
    counts = [{group.name: len(group.directories) for group in groups} for groups in groups_by_host.values()]
    shared_counts = {name: min(c.get(name, 0) for c in counts) for name in counts[0]} if counts else {}
    notes = []
    shared_groups: dict[str, tuple[_DeviceGroup, ...]] = {}
    for host, groups in groups_by_host.items():
        omitted = [d for g in groups for d in g.directories[shared_counts.get(g.name, 0) :]]
        if omitted:
            notes.append(
                f"{host}: {', '.join(omitted)} left out: workers' devices must be alike, and others have fewer"
            )
        shared_groups[host] = tuple(
            _DeviceGroup(g.name, g.kind, g.guessed_kind, g.capacity_bytes, g.directories[:count], g.notes[:count])
            for g in groups
            if (count := shared_counts.get(g.name, 0))
        )
    if any(not groups for groups in shared_groups.values()):
        notes.append("no disk is common to all workers: the file names a folder on each system disk instead")
        shared_groups = {m.survey.host: (_system_disk(m.survey),) for m in workers}
    return shared_groups, notes


def _device_groups(host: Survey, below: str) -> list[_DeviceGroup]:
    """Return a host's data disks in groups of equal kind and size, named after their kind."""
    used_disks: set[str] = set()
    sets_by_kind: dict[DeviceKind, list[list[Mount]]] = defaultdict(list)
    for mount in host.data_mounts():
        name = host.block_of(mount)
        disks = host.disks_of(name) if name else []
        if used_disks & set(disks):
            continue  # another file system on a disk that is already in a group
        used_disks |= set(disks)
        sets_of_kind = sets_by_kind[host.kind_of(mount) or DeviceKind.SSD]
        matching_set = next(
            (g for g in sets_of_kind if abs(mount.size_bytes / g[0].size_bytes - 1) < _SIZE_TOLERANCE), None
        )
        if matching_set is None:
            sets_of_kind.append([mount])
        else:
            matching_set.append(mount)
    if not sets_by_kind:
        return [_system_disk(host)]
    groups = []
    for kind, mount_sets in sets_by_kind.items():
        for number, mounts in enumerate(mount_sets):
            name = str(kind) + ("bcdefgh"[number - 1 : number] if number else "")
            directories = tuple(f"{mount.point.rstrip('/')}/{below}".rstrip("/") for mount in mounts)
            is_guessed = any(host.kind_of(mount) is None for mount in mounts)
            capacity = min(mount.size_bytes for mount in mounts)
            groups.append(
                _DeviceGroup(name, kind, is_guessed, capacity, directories, tuple(_note(host, m) for m in mounts))
            )
    return groups


def _system_disk(host: Survey) -> _DeviceGroup:
    root = next((mount for mount in host.mounts if mount.point == "/"), None)
    kind = host.kind_of(root) if root else None
    size = root.size_bytes if root else 10**10
    return _DeviceGroup(
        str(kind or DeviceKind.SSD),
        kind or DeviceKind.SSD,
        True,
        size,
        (_FALLBACK_DIRECTORY,),
        ("guessed: no data disk is mounted, this is the system disk",),
    )


def _note(host: Survey, mount: Mount) -> str:
    name = host.block_of(mount)
    disks = host.disks_of(name) if name else []
    models = {host.blocks[disk].model for disk in disks if host.blocks[disk].model}
    words = [f"{mount.file_system} on {', '.join([*host.layers_above_disks(name or ''), *disks]) or mount.source}"]
    return " ".join([*words, *(f"({model})" for model in sorted(models))])


def _types(machines: Sequence[_Machine]) -> dict[str, list[_Machine]]:
    """Return node type to its hosts, with the types of workers first."""
    machines_by_kind: dict[tuple[object, ...], list[_Machine]] = defaultdict(list)
    for machine in sorted(machines, key=lambda m: "worker" not in m.roles):
        machines_by_kind[machine.kind].append(machine)
    machines_by_name: dict[str, list[_Machine]] = {}
    for machines_of_type in machines_by_kind.values():
        word = "worker" if "worker" in machines_of_type[0].roles else "head"
        number = sum(name.rstrip("0123456789").rstrip("-") == word for name in machines_by_name)
        machines_by_name[f"{word}-{number + 1}" if number else word] = machines_of_type
    return machines_by_name


def _type_lines(name: str, machines_of_type: Sequence[_Machine], rates: Mapping[str, Rates]) -> Iterator[str]:
    machine = machines_of_type[0]
    survey, basics, nic = machine.survey, machine.survey.basics, machine.survey.nic
    hosts = [machine.survey.host for machine in machines_of_type]
    yield f"  {name}:  # {', '.join(hosts[:8])}{' …' if len(hosts) > 8 else ''}"
    limit = "the control group's limit; the machine has"
    cores = f"; {limit} {basics.cores}" if survey.usable_cores < basics.cores else ""
    yield f"    cores: {survey.usable_cores}  # {basics.processor}{cores}"
    is_limited = survey.usable_memory_bytes < basics.memory_bytes
    yield f"    memory: {machine.memory}" + (f"  # {limit} {format_bytes(basics.memory_bytes)}" if is_limited else "")
    if machine.rate_bits_per_s:
        yield f"    nic: {format_bit_rate(machine.rate_bits_per_s).replace(' ', '')}  # as negotiated"
    else:
        why = nic.no_rate_reason if nic else "no interface is up"
        yield f"    nic: {format_bit_rate(_NIC_GUESS_BITS_PER_S).replace(' ', '')}  # guessed: {why}"
    if machine.groups:
        yield "    devices:"
    for group in machine.groups:
        yield from _group_lines(group, rates.get(group.name))


def _group_lines(group: _DeviceGroup, measured_rates: Rates | None) -> Iterator[str]:
    read, write, iops = (
        (measured_rates.read, measured_rates.write, measured_rates.iops)
        if measured_rates
        else TYPICAL_RATES[group.kind]
    )
    origin = "measured by `assay baseline`" if measured_rates else "guessed: usual for its kind"
    yield f"      {group.name}:"
    yield f"        kind: {group.kind}" + ("  # guessed: not reported by the kernel" if group.guessed_kind else "")
    yield f"        count: {len(group.directories)}"
    yield f"        read: {read}  # {origin}"
    yield f"        write: {write}  # {origin}"
    if iops:
        yield f"        read_iops: {iops}  # {origin}"
    yield f"        capacity: {math.floor(group.capacity_bytes / 1e7) / 100:g}GB"
    yield "        directories:"
    for directory, note in zip(group.directories, group.notes, strict=True):
        yield f"          - {directory}  # {note}"


def _node_lines(types: Mapping[str, Sequence[_Machine]], access: HostAccess, reason: str) -> Iterator[str]:
    for type_name, machines_of_type in types.items():
        for roles in dict.fromkeys(machine.roles for machine in machines_of_type):
            machines = [machine for machine in machines_of_type if machine.roles == roles]
            if len(roles) > 1:
                name = "node"
            elif "master" in roles:
                name = "master"
            else:
                name = type_name if roles else "edge"
            remark = f"  # {reason}" if "master" in roles and reason else ""
            yield f"  {name}:{remark}"
            yield f"    type: {type_name}"
            yield f"    roles: [{', '.join(roles)}]"
            yield "    addresses:"
            for machine in machines:
                address = access.addresses[machine.survey.host]
                hostname = machine.survey.hostname if machine.survey.hostname != address else ""
                yield f"      - {_scalar(address)}" + (f"  # {hostname}" if hostname else "")


def _other_host_lines(hosts: Sequence[Survey]) -> Iterator[str]:
    for host in hosts:
        roles = ", ".join(daemon.role for daemon in host.daemons) or "no daemon"
        yield f"# {host.host} is not part of the cluster: {roles} runs there"


@dataclass(frozen=True, slots=True)
class _RunningHadoop:
    """An externally managed ResourceManager, and the host that submits jobs to it."""

    daemon: Daemon
    edge: Survey


def _find_running_hadoop(hosts: Sequence[Survey]) -> _RunningHadoop | None:
    """Return the Hadoop that runs on the hosts; None if none runs or assay deployed it."""
    daemons = [(host, d) for host in hosts for d in host.daemons if not d.by_assay and d.role == "resourcemanager"]
    active_daemon = next(((host, daemon) for host, daemon in daemons if daemon.active is not False), None)
    if active_daemon is None:
        return None
    host, daemon = active_daemon
    edges = [h for h in hosts if h.clients.programs.get("hadoop")]
    return _RunningHadoop(daemon, next((h for h in edges if h.host == host.host), edges[0] if edges else host))


def _engine(hadoop: _RunningHadoop, roles: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Yield the lines of the file that attach to a running Hadoop."""
    daemon, edge = hadoop.daemon, hadoop.edge
    yield f"# A Hadoop {daemon.version or ''} runs already: assay attaches to it and changes nothing."
    yield "provider: attached"
    yield "attached:"
    program = edge.clients.programs.get("hadoop")
    yield f"  hadoop: {program or '/usr/bin/hadoop'}" + ("" if program else "  # guessed: not on the PATH of logins")
    folder = daemon.configuration or next(iter(edge.clients.configurations), None)
    yield f"  configuration: {folder or '/etc/hadoop/conf'}" + ("" if folder else "  # guessed: not found")
    yield "  queue: default  # guessed: ask the operators of the cluster"
    yield f"  directory: /user/{edge.user.name}/assay  # guessed"
    if not roles[edge.host]:
        yield "  edge: edge"


def _remarks(machines: Sequence[_Machine]) -> Iterator[str]:
    """Yield the changes on the hosts that the user must make before using the file."""
    for machine in machines:
        host = machine.survey
        for group in machine.groups:
            for directory in group.directories:
                mount = host.mount_at(directory)
                if mount and not mount.writable and mount.point == directory:
                    yield f"{host.host}: {host.user.name} may not write to {directory}; let root make it a folder there"
        for daemon in host.daemons:
            if daemon.role in ("ozone", "router"):
                yield f"{host.host}: {daemon.role} runs there, which assay does not support"
