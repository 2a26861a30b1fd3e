"""What a cluster is made of: node types with devices and a NIC, the nodes, and the lab's scale when it is emulated.

Rates, memory and capacities are the described hardware's own. In a lab, what is emulated is ``scale`` times that
(:class:`LabSettings`): bandwidths, memory and data shrink by it, IOPS and latencies do not.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from assay.foundation.units import Money, parse_bit_rate
from assay.model.clusters.device_model import FlashModel, HddModel, default_flash, default_hdd


class DeviceKind(StrEnum):
    """What a storage device is; the layouts' shorthand codes choose by it."""

    HDD = "hdd"
    SSD = "ssd"
    NVME = "nvme"


class Role(StrEnum):
    """What a node does. A node may have both roles."""

    MASTER = "master"
    WORKER = "worker"


@dataclass(frozen=True, slots=True)
class Device:
    """One disk of a node, at full scale. ``None`` for IOPS means: not limited by requests."""

    name: str
    kind: DeviceKind
    read_bytes_per_s: float
    write_bytes_per_s: float
    read_iops: int | None
    write_iops: int | None
    capacity_bytes: int
    price: Money | None = None
    directory: str | None = None
    """Where the device is mounted on a real host; None in a lab, which mounts it itself."""
    product: str = ""
    """The maker's model name; empty if unknown."""
    hdd: HddModel | None = None
    """The mechanics of an HDD; None: those of a typical HDD."""
    flash: FlashModel | None = None
    """The same of an SSD or NVMe device."""

    @property
    def hdd_model(self) -> HddModel:
        """The mechanics of an HDD: as specified, else typical for its requests per second."""
        return self.hdd or default_hdd(self.read_iops)

    @property
    def flash_model(self) -> FlashModel:
        """The same, if it is flash."""
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
    """The processor, as its hosts name it; empty: not told."""
    cpu_speed: float = 1.0
    """How fast one of its cores is, relative to the machine that a profile's CPU seconds are of."""

    def devices_of(self, kind: DeviceKind) -> tuple[Device, ...]:
        """Return this type's devices of ``kind`` in the order of the file."""
        return tuple(device for device in self.devices if device.kind is kind)


@dataclass(frozen=True, slots=True)
class Address:
    """How a real host is reached by SSH. ``key`` and ``known_hosts`` are files; None means the user's own."""

    host: str
    port: int = 22
    user: str | None = None
    key: str | None = None
    known_hosts: str | None = None
    jump: str | None = None
    """The host through which it is reached, as ``user@host:port`` with user and port left out where they are usual."""


@dataclass(frozen=True, slots=True)
class Node:
    """One host. ``address`` is None for a lab node before the lab is up, and for the machine that assay runs on."""

    name: str
    type: NodeType
    roles: frozenset[Role]
    address: Address | None = None


class Disks(StrEnum):
    """How a lab emulates disks: by a device model that seeks, or by limits on bytes/s and requests/s."""

    MODEL = "model"
    THROTTLE = "throttle"


@dataclass(frozen=True, slots=True)
class LabSettings:
    """How the emulated cluster differs from the described one."""

    scale: float
    """0 < scale <= 1; bandwidths, memory and data are multiplied by it."""
    memory_floor_bytes: int
    """A node gets at least this much memory, because JVMs do not shrink with the scale."""
    disks: Disks | None = None
    """How disks are emulated; None: by the model where this machine can. A lab that is up says which it is."""


class Placement(StrEnum):
    """Where a cluster's hosts come from."""

    LAB = "lab"
    LOCAL = "local"
    SSH = "ssh"


@dataclass(frozen=True, slots=True)
class Network:
    """One of several networks between the same nodes, which a plan chooses by name."""

    name: str
    rate_bits_per_s: float
    addresses: dict[str, str] = field(default_factory=dict)
    """Node name to its address there; empty: the addresses by which the nodes are reached."""


@dataclass(frozen=True, slots=True)
class KerberosLogin:
    """With which ticket a secured cluster is entered. What is left out is the login's own: its ticket cache."""

    principal: str | None = None
    keytab: str | None = None
    """A file on the edge node, with which assay gets a separate ticket."""
    cache: str | None = None
    """A ticket cache on the edge node other than the login's default."""


@dataclass(frozen=True, slots=True)
class SparkClient:
    """The client of an externally managed Spark, on the edge node too."""

    submit: str
    """The program ``spark-submit``."""
    configuration: str
    """Its configuration directory, in which ``spark-defaults.conf`` lies."""
    master: str
    """``yarn``, or the address of Spark's own master: ``spark://HOST:PORT``."""
    page: str | None = None
    """``HOST:PORT`` of that master's page; None: its host and the usual port."""

    @property
    def on_yarn(self) -> bool:
        """Whether YARN runs the executors."""
        return self.master == "yarn"


@dataclass(frozen=True, slots=True)
class Attachment:
    """The access to an externally managed Hadoop: its client, one queue and one folder."""

    edge: str
    """The node that has the client."""
    hadoop: str
    """The client's program."""
    configuration: str
    """Its configuration directory."""
    queue: str
    directory: str
    """The HDFS folder below which everything of assay's lies."""
    jars: tuple[str, ...] = ()
    """Jars on the edge node that the client lacks on its class path, such as those of the examples and the tests."""
    kerberos: KerberosLogin | None = None
    """None: where the cluster is secured, the login's own ticket is used."""
    authorities: str | None = None
    """A file on the edge node with the authorities that sign the daemons' certificates; None: its system's."""
    spark: SparkClient | None = None
    """None: where Spark's client usually is, on YARN."""
    only_edge: bool = False
    """Whether no host but the edge node may be entered: the others are known by what their daemons publish."""


@dataclass(frozen=True, slots=True)
class Racks:
    """How nodes are put into racks, in the order of the file, and what connects a rack with the others, each way."""

    nodes: int
    uplink_bits_per_s: float


@dataclass(frozen=True, slots=True)
class Cluster:
    """A named set of nodes with one master at least, and one worker at least."""

    name: str
    placement: Placement
    nodes: tuple[Node, ...]
    lab: LabSettings | None = None
    home: str = "/var/tmp/assay"  # noqa: S108 - the specification gives each user a folder
    """Directory on each host for assay's own files: engine, configuration, logs, pid files."""
    java_home: str | None = None
    hadoop_home: str | None = None
    networks: dict[str, Network] = field(default_factory=dict)
    attached: Attachment | None = None
    """Access to an existing, externally managed engine; None: assay deploys one."""
    racks: Racks | None = None
    """None: one rack for all nodes, whose switch is no limit."""
    simulated: bool = False
    """Whether its engine is the simulator: there are no hosts then, whatever ``placement`` describes."""

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
        """Return the rate of a node's link, as emulated, when ``network`` is chosen: one that is described, or a rate
        such as ``1Gbit/s``; None: as the master's link is.
        """
        if network is None:
            return self.master.type.nic.rate_bits_per_s * self.scale
        described = self.networks.get(network)
        return (described.rate_bits_per_s if described else parse_bit_rate(network)) * self.scale

    @property
    def hosts(self) -> dict[str, str]:
        """Node name to the host that it is reached at; a node without an address is on this machine."""
        return {node.name: node.address.host if node.address else "127.0.0.1" for node in self.nodes}

    @property
    def entered(self) -> tuple[Node, ...]:
        """The nodes that are reached by assay itself; the others may be asked by HTTP alone."""
        attached = self.attached
        return tuple(node for node in self.nodes if not (attached and attached.only_edge) or node.name == attached.edge)

    def using(self, workers: int | None) -> Cluster:
        """Return the cluster of the master and the first ``workers`` workers; all of them for None.

        A master that is a later worker as well stays, as master only.
        """
        if workers is None or workers >= len(self.workers):
            return self
        idle = {node.name for node in self.workers[workers:]}
        nodes = (
            replace(node, roles=node.roles - {Role.WORKER}) if node.name in idle else node
            for node in self.nodes
            if node.name not in idle or Role.MASTER in node.roles
        )
        return replace(self, nodes=tuple(nodes))
