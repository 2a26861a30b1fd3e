"""A cluster: node types with devices and a NIC, nodes, and the scale of a lab.

Rates, memory and capacities are those of the described hardware. A lab multiplies bandwidths, memory and data by
``scale`` (:class:`LabSettings`). IOPS and latencies stay.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from assay.foundation.units import Money, parse_bit_rate
from assay.model.clusters.credits import CreditBucket
from assay.model.clusters.device_model import FlashModel, HddModel, default_flash, default_hdd
from assay.model.clusters.network import Network


class DeviceKind(StrEnum):
    """Kinds of storage devices; layout codes refer to them."""

    HDD = "hdd"
    SSD = "ssd"
    NVME = "nvme"


class Role(StrEnum):
    """Roles of a node. A node may have both."""

    MASTER = "master"
    WORKER = "worker"


@dataclass(frozen=True, slots=True)
class Device:
    """One disk of a node, at full scale. ``read_iops`` and ``write_iops``: None if they are not limited."""

    name: str
    kind: DeviceKind
    read_bytes_per_s: float
    write_bytes_per_s: float
    read_iops: int | None
    write_iops: int | None
    capacity_bytes: int
    price: Money | None = None
    directory: str | None = None
    """Mount point on a real host; None in a lab, which mounts the device itself."""
    product: str = ""
    """Model name of the manufacturer; empty if unknown."""
    hdd: HddModel | None = None
    """Mechanics of an HDD; None: typical values."""
    flash: FlashModel | None = None
    """Internals of an SSD or NVMe device; None: typical values."""

    @property
    def hdd_model(self) -> HddModel:
        """Mechanics of an HDD: as specified, else typical values for its IOPS."""
        return self.hdd or default_hdd(self.read_iops)

    @property
    def flash_model(self) -> FlashModel:
        """Internals of a flash device: as specified, else typical values."""
        return self.flash or default_flash(nvme=self.kind is DeviceKind.NVME)


@dataclass(frozen=True, slots=True)
class Nic:
    """A node's link to the switch, full duplex."""

    rate_bits_per_s: float
    price: Money | None = None


@dataclass(frozen=True, slots=True)
class NodeType:
    """A kind of machine; nodes of one type are alike."""

    name: str
    cores: int
    memory_bytes: int
    devices: tuple[Device, ...]
    nic: Nic
    price: Money | None = None
    cpu_model: str = ""
    """Processor model as the hosts report it; empty if unknown."""
    cpu_speed: float = 1.0
    """Speed of one core, relative to the machine on which the profile's CPU seconds were measured."""
    credits: tuple[CreditBucket, ...] = ()
    """Credits of a rented machine. Cores and devices have their rates with credits."""

    def devices_of(self, kind: DeviceKind) -> tuple[Device, ...]:
        """Return this type's devices of ``kind`` in the order of the file."""
        return tuple(device for device in self.devices if device.kind is kind)


@dataclass(frozen=True, slots=True)
class Address:
    """Address of a real host for SSH. ``key`` and ``known_hosts`` are files; None: as in the user's SSH
    configuration."""

    host: str
    port: int = 22
    user: str | None = None
    key: str | None = None
    known_hosts: str | None = None
    jump: str | None = None
    """SSH jump host, as ``user@host:port``; user and port are omitted if they are the defaults."""


@dataclass(frozen=True, slots=True)
class Node:
    """One host. ``address`` is None for a lab node before the lab is up, and for the machine that runs assay."""

    name: str
    type: NodeType
    roles: frozenset[Role]
    address: Address | None = None


class Disks(StrEnum):
    """Ways in which a lab emulates disks: a device model with seeks, or limits on bytes/s and requests/s."""

    MODEL = "model"
    THROTTLE = "throttle"


@dataclass(frozen=True, slots=True)
class LabSettings:
    """The differences between the emulated and the described cluster."""

    scale: float
    """0 < scale <= 1. Bandwidths, memory and data are multiplied by it."""
    memory_floor_bytes: int
    """Minimum memory of a node in bytes, because JVMs do not shrink with the scale."""
    disks: Disks | None = None
    """How disks are emulated; None: by the device model if this machine supports it. For a lab that is up, never None.
    """


class Placement(StrEnum):
    """Where the hosts of a cluster come from."""

    LAB = "lab"
    LOCAL = "local"
    SSH = "ssh"


@dataclass(frozen=True, slots=True)
class KerberosLogin:
    """A login with Kerberos. If all fields are omitted, assay uses the ticket that the login already has."""

    principal: str | None = None
    keytab: str | None = None
    """Keytab file on the edge node, from which assay gets its own ticket."""
    cache: str | None = None
    """Ticket cache on the edge node; None: the login's default cache."""


@dataclass(frozen=True, slots=True)
class SparkClient:
    """The Spark client of an externally managed cluster, on the edge node."""

    submit: str
    """The program ``spark-submit``."""
    configuration: str
    """Configuration directory with ``spark-defaults.conf``."""
    master: str
    """``yarn``, or the address of a standalone master: ``spark://HOST:PORT``."""
    page: str | None = None
    """``HOST:PORT`` of the standalone master's web page; None: the master's host and the default port."""

    @property
    def on_yarn(self) -> bool:
        """Whether YARN runs the executors."""
        return self.master == "yarn"


@dataclass(frozen=True, slots=True)
class Attachment:
    """Access to an externally managed Hadoop cluster: its client, one queue and one HDFS directory."""

    edge: str
    """The node that has the client."""
    hadoop: str
    """The client program."""
    configuration: str
    """Its configuration directory."""
    queue: str
    directory: str
    """HDFS directory that holds all files of assay."""
    jars: tuple[str, ...] = ()
    """Jars on the edge node that are missing from the client's class path, for example the examples and tests."""
    kerberos: KerberosLogin | None = None
    """Kerberos login; None: a secured cluster must accept the ticket that the login already has."""
    authorities: str | None = None
    """CA file on the edge node that signed the daemons' certificates; None: the system's CA file."""
    spark: SparkClient | None = None
    """The Spark client; None: at its usual path, with YARN."""
    only_edge: bool = False
    """Whether assay may log in to the edge node only. Other hosts are then known from the daemons' REST APIs."""


@dataclass(frozen=True, slots=True)
class Racks:
    """The assignment of nodes to racks, in file order, and the bandwidth of a rack's uplink in each direction."""

    nodes: int
    uplink_bits_per_s: float


@dataclass(frozen=True, slots=True)
class Cluster:
    """A named set of nodes with at least one master and one worker."""

    name: str
    placement: Placement
    nodes: tuple[Node, ...]
    lab: LabSettings | None = None
    home: str = "/var/tmp/assay"  # noqa: S108 - the specification gives each user a folder
    """Directory on each host for files of assay: engine, configuration, logs, pid files."""
    java_home: str | None = None
    hadoop_home: str | None = None
    networks: dict[str, Network] = field(default_factory=dict)
    attached: Attachment | None = None
    """Access to an existing, externally managed engine; None: assay deploys an engine."""
    racks: Racks | None = None
    """Racks; None: all nodes are in one rack, and its switch does not limit bandwidth."""
    simulated: bool = False
    """Whether the simulator is the engine. There are no hosts then, and ``placement`` has no effect."""

    @property
    def master(self) -> Node:
        """The node that runs the NameNode and the ResourceManager."""
        return next(node for node in self.nodes if Role.MASTER in node.roles)

    @property
    def workers(self) -> tuple[Node, ...]:
        """The nodes that run a DataNode and a NodeManager."""
        return tuple(node for node in self.nodes if Role.WORKER in node.roles)

    @property
    def scale(self) -> float:
        """The lab's scale; 1 for real hosts."""
        return self.lab.scale if self.lab else 1.0

    def link_bits_per_s(self, network: str | None) -> float:
        """Return the bandwidth of a node's link, as emulated.

        ``network``: a described network or a rate, for example ``1Gbit/s``. None: the bandwidth of the master's NIC.
        """
        if network is None:
            return self.master.type.nic.rate_bits_per_s * self.scale
        described_network = self.networks.get(network)
        return (described_network.rate_bits_per_s if described_network else parse_bit_rate(network)) * self.scale

    @property
    def hosts(self) -> dict[str, str]:
        """Node name to host name or address. Nodes without an address run on this machine."""
        return {node.name: node.address.host if node.address else "127.0.0.1" for node in self.nodes}

    @property
    def login_nodes(self) -> tuple[Node, ...]:
        """The nodes that assay logs in to. assay reaches the other nodes by HTTP only."""
        attached = self.attached
        return tuple(node for node in self.nodes if not (attached and attached.only_edge) or node.name == attached.edge)

    def using(self, workers: int | None) -> Cluster:
        """Return the cluster with the master and the first ``workers`` workers; None: all workers.

        A master that is also an unused worker stays as master only.
        """
        if workers is None or workers >= len(self.workers):
            return self
        unused_names = {node.name for node in self.workers[workers:]}
        nodes = (
            replace(node, roles=node.roles - {Role.WORKER}) if node.name in unused_names else node
            for node in self.nodes
            if node.name not in unused_names or Role.MASTER in node.roles
        )
        return replace(self, nodes=tuple(nodes))
