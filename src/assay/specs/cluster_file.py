"""Define the keys of a cluster file, with units and defaults. The JSON Schema is generated from these classes.

Rates, memory and capacities are those of the described hardware. A lab emulates them at its scale.
"""

import re
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from assay.model import DeviceKind, Disks, NetworkKind, Role
from assay.model.clusters.host_address import parse_host_address
from assay.specs.fields import (
    BitRate,
    ByteRate,
    Channels,
    Count,
    Directory,
    HostAddress,
    HostName,
    Label,
    Latency,
    Name,
    NodeCount,
    Port,
    Positive,
    Price,
    QueueDepth,
    Rpm,
    Scale,
    Share,
    Size,
    SizeOrZero,
    Speed,
    Text,
    UserName,
    choice,
)
from assay.specs.section import Section

MEMORY_FLOOR_BYTES = 3 * 2**29

KindName = Annotated[str, choice("device kind", DeviceKind)]
RoleName = Annotated[str, choice("role", Role)]
ProviderName = Annotated[str, choice("provider", ("deployed", "attached", "simulated"))]
DisksName = Annotated[str, choice("way of emulating disks", Disks)]

HDD_KEYS = ("inner_share", "seek_track", "seek_full", "rpm", "write_cache")
"""Keys that only HDDs have."""
FLASH_KEYS = ("channels", "read_latency", "write_latency", "burst", "burst_write")
"""Keys that only SSDs and NVMe devices have."""


class DeviceKeys(Section):
    """Properties of a disk, independent of the number of disks and their mount points."""

    kind: KindName
    """Kind of device. Layout codes refer to it."""
    model: Text | None = None
    """The maker's model name, for reports and the cluster's page."""
    read: ByteRate
    """Sequential read bandwidth of one device."""
    write: ByteRate
    """Sequential write bandwidth of one device."""
    iops: Positive | None = None
    """Sets both read_iops and write_iops. No limit if iops, read_iops and write_iops are all absent."""
    read_iops: Positive | None = None
    """Read requests per second."""
    write_iops: Positive | None = None
    """Write requests per second."""
    capacity: Size
    """Capacity of one device."""
    inner_share: Share | None = None
    """HDD: bandwidth at the inner edge, as a share of ``read`` and ``write`` at the outer edge; 55% when absent."""
    seek_track: Latency | None = None
    """HDD: seek to the next track; 1ms when absent."""
    seek_full: Latency | None = None
    """HDD: seek over the whole disk; when absent, the seek time that yields the stated ``iops``, or 14ms."""
    rpm: Rpm | None = None
    """HDD: rotations per minute; 7200 when absent."""
    write_cache: SizeOrZero | None = None
    """HDD: size of the drive's write cache; no cache when absent."""
    channels: Channels | None = None
    """Flash: number of requests served in parallel; 8, or 16 for NVMe, when absent."""
    read_latency: Latency | None = None
    """Flash: latency of a read, without its transfer; 100us, or 80us for NVMe, when absent."""
    write_latency: Latency | None = None
    """Flash: latency of a write, without its transfer; 50us, or 20us for NVMe, when absent."""
    burst: Size | None = None
    """Flash: bytes that can be written at ``burst_write`` before the rate falls to ``write``; no burst when absent."""
    burst_write: ByteRate | None = None
    """Flash: write bandwidth until ``burst`` is used up."""
    queue_depth: QueueDepth | None = None
    """Maximum number of queued requests; 32, or 128 for NVMe, when absent."""

    @model_validator(mode="after")
    def _check_iops(self) -> Self:
        if self.iops is not None and (self.read_iops is not None or self.write_iops is not None):
            raise ValueError("iops sets read_iops and write_iops; write either iops or those two")
        return self


class DeviceGroup(DeviceKeys):
    """One disk, or several equal disks with numbers from 1: ``hdd`` with count 2 is hdd1 and hdd2."""

    count: Count = 1
    """Number of these devices in a node."""
    price: Price | None = None
    """Price of one device."""
    directories: list[Directory] | None = None
    """Mount points, one for each device; required on hosts reached by SSH, not allowed in a lab."""


class _RateSection(Section):
    """A section that may be written as its rate alone."""

    rate: BitRate
    """Rate of a node's link in each direction."""

    @model_validator(mode="before")
    @classmethod
    def _parse_bare_rate(cls, value: Any) -> Any:
        return {"rate": value} if isinstance(value, str) else value

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the schema of the long form or the rate alone."""
        full = handler.resolve_ref_schema(super().__get_pydantic_json_schema__(schema, handler))
        return {"anyOf": [full, full["properties"]["rate"]], "description": full["description"]}


class NicSection(_RateSection):
    """A node's link to the switch. It may be written as its rate alone: ``nic: 10Gbit/s``."""

    price: Price | None = None
    """Price of the NIC."""


class CpuSection(Section):
    """A processor, for simulation."""

    model: Text | None = None
    """The processor's name."""
    speed: Speed = 1.0
    """Speed of one core, relative to the processor that a profile was learned on; 1 when absent."""


class RacksSection(Section):
    """Racks, for simulation only. On real hosts, their effect is part of the measured time."""

    nodes: Count
    """Nodes in each rack, in the file's order."""
    uplink: BitRate
    """Rate of a rack's uplink in each direction."""


class NodeTypeSection(Section):
    """A kind of machine."""

    cores: Count
    """CPU cores."""
    memory: Size
    """Main memory."""
    nic: NicSection
    """The link to the switch."""
    devices: dict[HostName, DeviceGroup] = Field(default_factory=dict)
    """Disks by name; a worker needs at least one."""
    price: Price | None = None
    """Price of one machine without the devices and NICs that are priced separately."""
    cpu: CpuSection | None = None
    """The processor and its speed; used by simulation only."""


class NodeGroup(Section):
    """One host, or several equal hosts with numbers from 1: ``worker`` with count 3 is worker1 to worker3."""

    type: HostName
    """A name from node_types."""
    roles: list[RoleName]
    """A master runs the NameNode and the ResourceManager, a worker runs a DataNode and a NodeManager.

    Empty for an edge node of an attached cluster.
    """
    count: NodeCount | None = None
    """Number of these nodes, at most 1,000 in a lab and 100,000 in a simulation; 1 when absent."""
    addresses: list[HostAddress] | None = Field(default=None, min_length=1)
    """Real hosts: the address of each."""


class LabSection(Section):
    """The cluster is emulated on this machine, at a scale."""

    scale: Scale
    """Factor on bandwidths, memory and data. IOPS are not scaled."""
    disks: DisksName | None = None
    """model: a device model with seeks. throttle: limits on bandwidth and IOPS. When absent, model if possible."""
    memory_floor: Size = Field(default=MEMORY_FLOOR_BYTES, json_schema_extra={"default": "1.5GiB"})
    """Minimum memory of a node, because Java processes do not shrink with the scale."""


class LocalSection(Section):
    """The cluster is this machine, without emulation. There is nothing to set: write ``local: {}``."""


class KerberosSection(Section):
    """Kerberos ticket for a secured cluster. Without this section, assay uses the ticket of the login (``klist``)."""

    principal: Text | None = None
    """Principal in the keytab: ``alice@EXAMPLE.COM``."""
    keytab: Directory | None = None
    """Keytab file on the edge node, from which a new ticket is made for each run."""
    cache: Text | None = None
    """Ticket cache on the edge node, if it is not the login's default: ``FILE:/path``."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.keytab and self.cache:
            raise ValueError("a ticket comes from a keytab or from a cache; write one of them")
        if bool(self.principal) != bool(self.keytab):
            raise ValueError("principal and keytab must be set together")
        return self


class SparkClientSection(Section):
    """An existing Spark installation: its client on the edge node, and the cluster manager of its executors."""

    submit: Directory = "/usr/bin/spark-submit"
    """The program spark-submit on the edge node."""
    configuration: Directory = "/etc/spark/conf"
    """Directory on the edge node with spark-defaults.conf."""
    master: Text = "yarn"
    """yarn, or the address of a standalone master: spark://HOST:PORT."""
    page: Text | None = None
    """HOST:PORT of the standalone master's web page; the master's host and port 8080 when absent."""

    @model_validator(mode="after")
    def _check_addresses(self) -> Self:
        if self.master != "yarn" and not re.fullmatch(r"spark://[\w.-]+:[0-9]{1,5}", self.master):
            raise ValueError(f"master {self.master!r} is neither yarn nor spark://HOST:PORT")
        if self.page is not None and not re.fullmatch(r"[\w.-]+:[0-9]{1,5}", self.page):
            raise ValueError(f"page {self.page!r} is not HOST:PORT")
        return self


class AttachedSection(Section):
    """An existing, externally managed Hadoop: how to connect to it, and what assay may use."""

    hadoop: Directory = "/usr/bin/hadoop"
    """The client's program on the edge node."""
    configuration: Directory = "/etc/hadoop/conf"
    """The client's configuration directory on the edge node."""
    queue: Text
    """The YARN queue of every job."""
    directory: Directory
    """Your HDFS folder for all files of assay."""
    edge: HostName | None = None
    """The node that has the client; the master when absent."""
    jars: list[Directory] = Field(default_factory=list)
    """Jars on the edge node with the examples and TestDFSIO, if they are not on the client's class path."""
    kerberos: KerberosSection | None = None
    """For a Hadoop secured by Kerberos, if the login has no ticket."""
    authorities: Directory | None = None
    """CA certificates (PEM) on the edge node that sign the daemons' certificates; the system's when absent."""
    spark: SparkClientSection | None = None
    """Spark's client for plans with 'engine: spark', if it is not at the default paths."""
    only_edge: bool = False
    """true: assay logs in to the edge node only. Other nodes are known from the REST APIs of their daemons."""


class NetworkSection(_RateSection):
    """One of several networks between the nodes. It may be written as its rate alone: ``IB: 56Gbit/s``."""

    addresses: dict[HostName, Annotated[list[HostAddress], Field(min_length=1)]] | None = None
    """Real hosts: group of nodes to the nodes' addresses in this network; when absent, those under nodes."""
    kind: NetworkKind | None = None
    """ethernet or infiniband, recorded with each run; derived from a name such as ETH or IB when absent."""


def _host_address(text: str) -> str:
    parse_host_address(text)
    return text


class SshSection(Section):
    """SSH access to real hosts. Your SSH configuration supplies absent keys."""

    user: UserName | None = None
    """Login name."""
    port: Port = 22
    """Port of the SSH server."""
    key: Text | None = None
    """Private key file; ``~`` is the home directory, and a relative path starts at the cluster file."""
    known_hosts: Text | None = None
    """File with the hosts' public keys; paths as for key."""
    jump: Annotated[Text, AfterValidator(_host_address)] | None = None
    """Jump host: ``user@host:port``; user and port are optional.

    Write an IPv6 address with a port in brackets.
    """


class ClusterFile(Section):
    """A cluster: node types, nodes, and whether the nodes are real, emulated (lab) or this machine (local)."""

    cluster: Name
    """The cluster's name."""
    lab: LabSection | None = None
    """Emulate the cluster on this machine."""
    local: LocalSection | None = None
    """Use this machine as the only node."""
    node_types: dict[HostName, NodeTypeSection] = Field(min_length=1)
    """Kinds of machines by name."""
    nodes: dict[HostName, NodeGroup] = Field(min_length=1)
    """Hosts by name."""
    ssh: SshSection | None = None
    """How real hosts are reached."""
    networks: dict[Label, NetworkSection] = Field(default_factory=dict)
    """Networks that a plan can choose from, by name."""
    racks: RacksSection | None = None
    """Racks and their uplinks; used by simulation only. All nodes are in one rack when absent."""
    home: Directory | None = None
    """Directory on each host for assay's own files.

    /var/tmp/assay-USER when absent, with the SSH user's name or this user's number.
    """
    java_home: Directory | None = None
    """Java's directory on each host; found on the PATH when absent."""
    hadoop_home: Directory | None = None
    """Hadoop's directory on each host; when absent, assay installs its own."""
    provider: ProviderName = "deployed"
    """deployed: assay installs, starts and stops the engine. attached: the engine runs already. simulated: there are no
    hosts, and every run is simulated.
    """
    attached: AttachedSection | None = None
    """With ``provider: attached``: access to the running engine."""
