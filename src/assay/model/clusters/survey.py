"""The survey of a host: hardware, disks and their mounts, links, clock and daemons.

The scripts of a node (``execution/observation/node/environment.py``, ``survey.py``, ``services.py``) print the values.
Sizes are in bytes, rates in the unit of their names. None: not readable with the rights of the login.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from assay.model.clusters.cluster import DeviceKind

_SYSTEM_MOUNT_POINTS = frozenset(
    {"/", "/boot", "/efi", "/usr", "/var", "/home", "/tmp", "/var/tmp", "/var/log", "/opt", "/srv"}  # noqa: S108
)
_SYSTEM_PREFIXES = ("/etc/", "/run/", "/proc/", "/sys/", "/dev/", "/snap/", "/boot/", "/usr/", "/var/lib/docker/")
_DATA_FILE_SYSTEMS = ("ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs")
_PARAVIRTUAL_DRIVERS = frozenset({"virtio_net", "vmxnet3", "hv_netvsc", "xen_netfront"})
"""Drivers of virtual machines. They report a fixed rate, or the rate of the hypervisor."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block device: a disk, a partition, or a mapping over other devices."""

    device: str | None
    kind: str
    """disk, part, crypt, lvm, raid, loop, multipath, mapping."""
    on: tuple[str, ...]
    """The devices directly under it."""
    size_bytes: int
    rotational: bool | None = None
    model: str = ""
    scheduler: str | None = None
    read_ahead_kib: int | None = None
    max_request_kib: int | None = None
    max_hardware_request_kib: int | None = None
    write_cache: str | None = None
    start_bytes: int = 0
    physical_block_bytes: int | None = None
    optimal_io_bytes: int | None = None
    alignment_offset_bytes: int | None = None
    raid_level: str | None = None
    raid_missing: int | None = None
    raid_action: str | None = None
    errors: int | None = None


@dataclass(frozen=True, slots=True)
class Mount:
    """A mounted file system with its size and free space."""

    point: str
    device: str
    source: str
    file_system: str
    options: tuple[str, ...]
    root: str
    size_bytes: int
    free_bytes: int
    inodes: int
    free_inodes: int
    writable: bool


@dataclass(frozen=True, slots=True)
class Directory:
    """Owner of a directory, or of the nearest existing parent if it does not exist."""

    exists: bool
    owner: str
    mode: str
    writable: bool


@dataclass(frozen=True, slots=True)
class Interface:
    """A network interface; counters since boot."""

    driver: str | None
    hardware: bool
    state: str | None
    mtu_bytes: int | None
    speed_mbit_per_s: int | None
    supported_mbit_per_s: int | None
    duplex: str | None
    ring_receive: int | None
    ring_receive_max: int | None
    carrier_changes: int | None
    rx_errors: int = 0
    tx_errors: int = 0
    rx_dropped: int = 0
    tx_dropped: int = 0
    rx_packets: int = 0
    tx_packets: int = 0

    @property
    def link_bits_per_s(self) -> float | None:
        """Bandwidth of the link; None if the driver does not report it or the interface is virtual."""
        if not self.hardware or self.driver in _PARAVIRTUAL_DRIVERS or not self.speed_mbit_per_s:
            return None
        return self.speed_mbit_per_s * 1e6

    @property
    def no_rate_reason(self) -> str:
        """Why the bandwidth is unknown."""
        if self.hardware and self.driver not in _PARAVIRTUAL_DRIVERS:
            return f"the driver {self.driver or ''} reports no rate".replace("  ", " ")
        return f"it is virtual{f' (driver {self.driver})' if self.driver else ''}: its rate is not that of a link"


@dataclass(frozen=True, slots=True)
class Daemon:
    """A daemon of Hadoop or Spark, according to its command line, configuration, and REST or JMX API."""

    role: str
    user: str
    pid: int
    configuration: str | None
    settings: Mapping[str, str] = field(default_factory=dict)
    by_assay: bool = False
    open_files: int | None = None
    version: str | None = None
    address: str | None = None
    active: bool | None = None
    """Whether the daemon is active, not on standby; None if it does not say."""
    safe_mode: bool | None = None
    live: tuple[str, ...] = ()
    """Hosts of the live DataNodes, as the NameNode reports them."""
    running_jobs: int | None = None
    containers: int | None = None
    """Containers in use, as the ResourceManager reports them."""
    unhealthy: int | None = None
    """Number of unhealthy nodes, as the ResourceManager reports it."""


@dataclass(frozen=True, slots=True)
class Processor:
    """CPU and memory as the kernel reports them."""

    governors: tuple[str, ...] = ()
    slowest_mhz: float | None = None
    fastest_mhz: float | None = None
    allowed_mhz: float | None = None
    sockets: int | None = None
    numa_nodes: int | None = None
    throttled: int = 0
    memory_errors: int | None = None


@dataclass(frozen=True, slots=True)
class BackgroundLoad:
    """The activity of other programs."""

    load: tuple[float, ...]
    cpu_share: float | None
    disk_bytes_per_s: Mapping[str, float]
    swap_used_bytes: int
    available_bytes: int
    uptime_s: float


@dataclass(frozen=True, slots=True)
class Login:
    """The login, and its sudo rights: root, free, password, none."""

    name: str
    uid: int
    groups: tuple[str, ...]
    sudo: str


@dataclass(frozen=True, slots=True)
class Java:
    """Java of login shells, and installed versions: directory to version."""

    home: str | None
    version: str | None
    installed: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Clients:
    """Programs that submit jobs, by name, and configuration directories."""

    programs: Mapping[str, str | None] = field(default_factory=dict)
    configurations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Clock:
    """Time synchronisation, time zone, and the offset from the clock of the machine that runs assay."""

    synchronised: bool | None
    zone: str
    offset_s: float
    uncertain_s: float
    """Half of the round trip, which bounds the error of the offset."""


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """Limits of the login's control group; None: no limit."""

    memory_bytes: int | None = None
    cores: float | None = None


@dataclass(frozen=True, slots=True)
class HostFacts:
    """Host facts that run environments record too."""

    cores: int
    physical_cores: int | None
    processor: str
    virtual: bool
    memory_bytes: int
    swap_bytes: int
    huge_pages: str | None
    huge_pages_defrag: str | None
    kernel: str
    machine: str
    distribution: str | None
    python: str
    sysctls: Mapping[str, str]
    open_files: int | None
    """Soft limit of a login; None: no limit."""
    processes: int | None
    clock_source: str | None


@dataclass(frozen=True, slots=True)
class Survey:
    """The survey of one host."""

    host: str
    """Name of the host in the cluster."""
    hostname: str
    name_addresses: tuple[str, ...]
    login_address: str | None
    """Address by which assay logged in; None on this machine."""
    login_nic: str | None
    """Interface with this address."""
    login_address_name: str | None
    """Name of this address, by a reverse lookup on the host."""
    peers: Mapping[str, tuple[str, ...]]
    """Names of other hosts to their addresses as this host resolves them."""
    user: Login
    basics: HostFacts
    cpu: Processor
    blocks: Mapping[str, Block]
    health: Mapping[str, str | None]
    mounts: tuple[Mount, ...]
    directories: Mapping[str, Directory]
    nics: Mapping[str, Interface]
    full_mtu_passes: bool | None
    """Whether a packet of the interface's full MTU reaches the next host."""
    background_load: BackgroundLoad
    control_group: ControlGroup
    tools: Mapping[str, str | None]
    clock: Clock
    daemons: tuple[Daemon, ...]
    clients: Clients
    java: Java
    timers: tuple[str, ...]
    """Cron files and systemd timers."""
    scrubs: tuple[str, ...]
    """The entries of ``timers`` that read or check whole disks."""
    services: tuple[str, ...]
    tuned_profile: str | None
    selinux: str
    firewall_tables: tuple[str, ...]
    read_bytes_per_s: Mapping[str, float] = field(default_factory=dict)
    """Measured sequential read throughput of bare disks."""
    sent_bits_per_s: Mapping[str, float] = field(default_factory=dict)
    """Measured throughput from this host to others, by name."""
    unmeasured_links: Mapping[str, str] = field(default_factory=dict)
    """Hosts whose throughput could not be measured, with the reason."""

    @property
    def usable_memory_bytes(self) -> int:
        """Memory available to daemons of this login: the memory of the machine, or the limit of its control group."""
        return min(self.basics.memory_bytes, self.control_group.memory_bytes or self.basics.memory_bytes)

    @property
    def usable_cores(self) -> int:
        """Whole cores available to daemons of this login."""
        return min(self.basics.cores, max(1, int(self.control_group.cores or self.basics.cores)))

    @property
    def nic(self) -> Interface | None:
        """The interface by which assay reached the host, else the fastest active physical interface."""
        if self.login_nic in self.nics:
            return self.nics[str(self.login_nic)]
        active_nics = [nic for nic in self.nics.values() if nic.state == "up"]
        return max(active_nics, key=lambda nic: (nic.hardware, nic.speed_mbit_per_s or 0), default=None)

    def block_of(self, mount: Mount) -> str | None:
        """Return the name of the block device under a file system; None without a block device."""
        names = (name for name, block in self.blocks.items() if block.device == mount.device)
        return next(names, None) or next((n for n in self.blocks if mount.source == f"/dev/{n}"), None)

    def blocks_below(self, name: str) -> Iterator[tuple[str, Block]]:
        """Yield a block device and the devices under it, from the top to the disks."""
        if name in self.blocks:
            yield name, self.blocks[name]
            for lower_device in self.blocks[name].on:
                yield from self.blocks_below(lower_device)

    def disks_of(self, name: str) -> list[str]:
        """Return the distinct disks under a block device."""
        disks = [device for device, block in self.blocks_below(name) if not block.on]
        return list(dict.fromkeys(disks))

    def layers_above_disks(self, name: str) -> list[str]:
        """Return the layers between a file system and its disks, such as ``LUKS (dm-0)``."""
        titles = {"crypt": "LUKS", "lvm": "LVM", "multipath": "multipath", "mapping": "device mapper"}
        layers = {}
        for device, block in self.blocks_below(name):
            if block.kind == "raid":
                layers[device] = f"RAID {(block.raid_level or '?').removeprefix('raid')} ({device})"
            elif block.kind in titles:
                layers[device] = f"{titles[block.kind]} ({device})"
        return list(layers.values())

    def mount_at(self, directory: str) -> Mount | None:
        """Return the file system that holds a directory."""
        mounts_above = [m for m in self.mounts if f"{directory}/".startswith(f"{m.point.rstrip('/')}/")]
        return max(mounts_above, key=lambda mount: len(mount.point), default=None)

    def data_mounts(self) -> list[Mount]:
        """Return the mounted file systems that are for data: on block devices, and not of the system."""
        mounts_by_device: dict[str, Mount] = {}
        for mount in self.mounts:
            is_system = mount.point in _SYSTEM_MOUNT_POINTS or mount.point.startswith(_SYSTEM_PREFIXES)
            if not is_system and mount.file_system in _DATA_FILE_SYSTEMS and mount.root == "/":
                mounts_by_device.setdefault(mount.device, mount)
        return list(mounts_by_device.values())

    def kind_of(self, mount: Mount) -> DeviceKind | None:
        """Return the kind of device under a file system as the kernel reports it; None if unknown."""
        name = self.block_of(mount)
        disks = self.disks_of(name) if name else []
        if any(disk.startswith("nvme") for disk in disks):
            return DeviceKind.NVME
        rotational = [self.blocks[disk].rotational for disk in disks]
        if not rotational or None in rotational:
            return None
        return DeviceKind.HDD if any(rotational) else DeviceKind.SSD


def survey_of(host: str, environment: Mapping[str, Any], survey_output: Mapping[str, Any]) -> Survey:
    """Return a host's survey.

    ``environment``: output of the script ``environment.py``; ``survey_output``: of the other scripts, with the clock.
    Raises ValueError if required values are missing.
    """
    cpu, memory = environment["hardware"]["cpu"], environment["hardware"]["memory"]
    basics = {
        "cores": cpu["logical_cores"],
        "physical_cores": cpu["physical_cores"],
        "processor": cpu["model"],
        "virtual": cpu["virtual"],
        "memory_bytes": memory["total_bytes"],
        "swap_bytes": memory["swap_bytes"],
        "huge_pages": memory["transparent_hugepage"],
        "huge_pages_defrag": memory["transparent_hugepage_defrag"],
        "kernel": environment["kernel"]["release"],
        "machine": environment["kernel"]["machine"],
        "distribution": environment["distribution"],
        "python": environment["python"],
        "sysctls": environment["sysctls"],
        "open_files": environment["limits"]["open_files"][0],
        "processes": environment["limits"]["processes"][0],
        "clock_source": environment["clock_source"],
    }
    return msgspec.convert({**survey_output, "host": host, "basics": basics}, Survey)
