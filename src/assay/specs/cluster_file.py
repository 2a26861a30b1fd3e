"""Define the keys of a cluster file, with units and defaults. The JSON Schema is generated from these classes.

Rates, memory and capacities are those of the described hardware. A lab emulates them at its scale.
"""

import re
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from assay.model import DeviceKind, Disks, Role
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
    """What one disk is, however many there are and wherever they are mounted."""

    kind: KindName
    """What the device is; layout codes choose by it."""
    model: Text | None = None
    """What its maker calls it; reports and the cluster's page show it."""
    read: ByteRate
    """Sequential read bandwidth of one device."""
    write: ByteRate
    """Sequential write bandwidth of one device."""
    iops: Positive | None = None
    """Requests per second, reads and writes alike; without any of the three keys, requests are not limited."""
    read_iops: Positive | None = None
    """Read requests per second."""
    write_iops: Positive | None = None
    """Write requests per second."""
    capacity: Size
    """Capacity of one device."""
    inner_share: Share | None = None
    """HDD: bandwidth at the inner edge, as a share of the outer edge's, ``read`` and ``write``; 55% when absent."""
    seek_track: Latency | None = None
    """HDD: seek to the next track; 1ms when absent."""
    seek_full: Latency | None = None
    """HDD: seek over the whole disk; when absent, what makes the stated ``iops`` come true, or 14ms."""
    rpm: Rpm | None = None
    """HDD: turns per minute; 7200 when absent."""
    write_cache: SizeOrZero | None = None
    """HDD: what the drive's own cache holds of writes; none when absent."""
    channels: Channels | None = None
    """Flash: requests that are served side by side; 8, NVMe 16, when absent."""
    read_latency: Latency | None = None
    """Flash: time that a read takes besides its transfer; 100us, NVMe 80us, when absent."""
    write_latency: Latency | None = None
    """Flash: the same of a write; 50us, NVMe 20us, when absent."""
    burst: Size | None = None
    """Flash: what can be written at ``burst_write`` before the rate falls to ``write``; none when absent."""
    burst_write: ByteRate | None = None
    """Flash: write bandwidth until ``burst`` is used up."""
    queue_depth: QueueDepth | None = None
    """Requests that the device takes in at once; 32, NVMe 128, when absent."""

    @model_validator(mode="after")
    def _check_iops(self) -> Self:
        if self.iops is not None and (self.read_iops is not None or self.write_iops is not None):
            raise ValueError("iops sets read_iops and write_iops; write either iops or those two")
        return self


class DeviceGroup(DeviceKeys):
    """One disk, or several that are alike; numbered from 1: ``hdd`` with count 2 is hdd1 and hdd2."""

    count: Count = 1
    """How many of these a node has."""
    price: Price | None = None
    """Price of one device."""
    directories: list[Directory] | None = None
    """Where the devices are mounted, one directory for each; required on hosts reached by SSH, not allowed in a lab."""


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
        full = handler.resolve_ref_schema(handler(schema))
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
    """How fast one core is, relative to the processor that a profile was learned on; 1 when absent."""


class RacksSection(Section):
    """Racks, for simulation: what a lab or real hosts have is measured."""

    nodes: Count
    """Nodes in each rack, in the file's order."""
    uplink: BitRate
    """Rate of what connects a rack with the others, in each direction."""


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
    """The processor, and how fast it is; only simulation asks."""


class NodeGroup(Section):
    """One host, or several alike, numbered from 1: ``worker`` with count 3 is worker1 to worker3."""

    type: HostName
    """One of the names under node_types."""
    roles: list[RoleName]
    """What the node does: a master runs the NameNode and the ResourceManager, a worker a DataNode and a NodeManager.

    Empty for an edge node of a cluster that is attached to.
    """
    count: NodeCount | None = None
    """How many such nodes a lab makes (at most 1,000) or a simulation has (at most 100,000); 1 when absent."""
    addresses: list[HostAddress] | None = Field(default=None, min_length=1)
    """Real hosts: the address of each."""


class LabSection(Section):
    """The cluster is emulated on this machine, at a scale."""

    scale: Scale
    """Bandwidths, memory and data are multiplied by it; IOPS are not."""
    disks: DisksName | None = None
    """model: disks that seek, by a daemon; throttle: limits on bandwidth and IOPS. When absent, the first possible."""
    memory_floor: Size = Field(default=MEMORY_FLOOR_BYTES, json_schema_extra={"default": "1.5GiB"})
    """A node gets at least this much memory, because Java processes do not shrink with the scale."""


class LocalSection(Section):
    """The cluster is this machine, without emulation. There is nothing to set: write ``local: {}``."""


class KerberosSection(Section):
    """With which ticket a secured cluster is entered; without it, with the one that the login has (``klist``)."""

    principal: Text | None = None
    """Whose keys of the keytab are used: ``alice@EXAMPLE.COM``."""
    keytab: Directory | None = None
    """Keytab file on the edge node, from which a new ticket is made for each run."""
    cache: Text | None = None
    """Ticket cache on the edge node, where it is not the login's usual one: ``FILE:/path``."""

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
    """The directory there with spark-defaults.conf."""
    master: Text = "yarn"
    """yarn, or the address of Spark's own master: spark://HOST:PORT."""
    page: Text | None = None
    """HOST:PORT of that master's page; its host and port 8080 when absent."""

    @model_validator(mode="after")
    def _known(self) -> Self:
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
    """The client's configuration directory there."""
    queue: Text
    """The YARN queue of every job."""
    directory: Directory
    """The HDFS folder of yours below which assay keeps everything."""
    edge: HostName | None = None
    """The node that has the client; the master when absent."""
    jars: list[Directory] = Field(default_factory=list)
    """Jars on the edge node with the examples and TestDFSIO, where the client does not find them by itself."""
    kerberos: KerberosSection | None = None
    """For a Hadoop secured by Kerberos, if the login has no ticket."""
    authorities: Directory | None = None
    """File on the edge node with the authorities (PEM) that sign the daemons' certificates; absent: its system's."""
    spark: SparkClientSection | None = None
    """Where plans with 'engine: spark' find Spark's client, if not in the usual places."""
    only_edge: bool = False
    """true: assay logs in to the edge node only by SSH; the others are known by what their daemons publish."""


class NetworkSection(_RateSection):
    """One of several networks between the nodes. It may be written as its rate alone: ``IB: 56Gbit/s``."""

    addresses: dict[HostName, Annotated[list[HostAddress], Field(min_length=1)]] | None = None
    """Real hosts: group of nodes to the nodes' addresses in this network; when absent, those under nodes."""


def _host_address(text: str) -> str:
    parse_host_address(text)
    return text


class SshSection(Section):
    """How real hosts are reached. What is left out, the user's own SSH configuration decides."""

    user: UserName | None = None
    """Login name."""
    port: Port = 22
    """Port of the SSH server."""
    key: Text | None = None
    """Private key file; ``~`` is the home directory, and a relative path starts at the cluster file."""
    known_hosts: Text | None = None
    """File with the hosts' public keys; paths as for key."""
    jump: Annotated[Text, AfterValidator(_host_address)] | None = None
    """Host through which the others are reached: ``user@host:port``; user and port may be left out.

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
    """Racks and their uplinks; only simulation asks. One rack for all when absent."""
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
    """With ``provider: attached``: how the running engine is entered."""
