"""The lab's network: one namespace per node, linked to a bridge in a separate namespace at the NIC's scaled rate.

In: node names and link rates in bits/s. Out: a free /24 and an address for each node. A token bucket (``tc-tbf(8)``)
shapes each link at both ends, so a node sends and receives at its rate simultaneously. The machine has an unshaped link
to the switch, at .254, for SSH to the nodes. Latency is not emulated.
"""

import hashlib
import ipaddress
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.execution.lab.commands import parallel, run
from assay.execution.lab.journal import UndoJournal, UndoStep
from assay.foundation.errors import LabError

SUBNET_RANGES = ("10.213.0.0/16", "198.18.0.0/16")
"""Address ranges from which a free /24 is chosen: private space, then RFC 2544's range for network benchmarks."""
NODES_MAX = 250
"""Maximum number of nodes in a lab; their addresses share a /24."""
HOST_NUMBER = 254
"""Last byte of the address of the machine itself in a lab's subnets."""
BRIDGE = "switch"
NODE_INTERFACE = "eth0"
QUEUE_LATENCY_MS = 50
"""Maximum time that a packet waits in a link's queue, in milliseconds."""
BURST_BYTES_MIN = 70_000
"""Minimum size of a bucket, in bytes: a segmentation-offload packet (64 KiB) with headers. With a smaller bucket, tbf
must split the packet."""
BURST_S = 0.002
"""Size of a link's bucket as time at the link's rate, in seconds."""


@dataclass(frozen=True, slots=True)
class LabNetwork:
    """Names and addresses of a lab's network. ``addresses`` and ``rates_bits_per_s`` are by node name."""

    lab: str
    subnet: ipaddress.IPv4Network
    addresses: dict[str, str]
    rates_bits_per_s: dict[str, float]

    @property
    def switch(self) -> str:
        """The namespace with the bridge."""
        return f"assay-{self.lab}.switch"  # a node's name has no dot, so this can't be a node's namespace

    @property
    def host_interface(self) -> str:
        """The machine's interface into the lab; at most 15 characters, the kernel's limit."""
        return f"assay{hashlib.sha256(self.lab.encode()).hexdigest()[:8]}"

    def namespace(self, node: str) -> str:
        """Return the name of the node's network namespace."""
        return f"assay-{self.lab}-{node}"

    def hosts_file(self) -> str:
        """Return an /etc/hosts with all nodes."""
        lines = ["127.0.0.1 localhost", "::1 localhost ip6-localhost ip6-loopback"]
        return "\n".join([*lines, *(f"{address} {node}" for node, address in self.addresses.items())]) + "\n"


def plan_network(lab: str, rates_bits_per_s: Mapping[str, float]) -> LabNetwork:
    """Choose a subnet that overlaps no address or route of this machine. Raises LabError if no subnet is free."""
    if len(rates_bits_per_s) > NODES_MAX:
        raise LabError(
            f"{len(rates_bits_per_s)} nodes do not fit into a lab", hint=f"a lab has at most {NODES_MAX} nodes"
        )
    used_networks = list(_used_networks())
    for address_range in SUBNET_RANGES:
        for subnet in ipaddress.IPv4Network(address_range).subnets(new_prefix=24):
            if not any(subnet.overlaps(used_network) for used_network in used_networks):
                addresses = {node: str(subnet[number]) for number, node in enumerate(rates_bits_per_s, start=1)}
                return LabNetwork(lab, subnet, addresses, dict(rates_bits_per_s))
    raise LabError(
        f"no free /24 in {' or '.join(SUBNET_RANGES)}",
        hint="see: ip route show table all; remove labs: assay lab down --all",
    )


def _used_networks() -> Iterator[ipaddress.IPv4Network]:
    for route in json.loads(run(["ip", "-j", "-4", "route", "show", "table", "all"]) or "[]"):
        if route["dst"] not in ("default", "0.0.0.0/0"):
            yield ipaddress.IPv4Network(route["dst"], strict=False)
    for link in json.loads(run(["ip", "-j", "-4", "address", "show"]) or "[]"):
        for address in link.get("addr_info", ()):
            yield ipaddress.IPv4Network(f"{address['local']}/{address['prefixlen']}", strict=False)


def make_network(network: LabNetwork, journal: UndoJournal, *, has_rate_limits: bool) -> None:
    """Create namespaces, bridge and links. Raises LabError if a namespace exists already, for example of a lab with
    another state directory."""
    namespaces = [network.switch, *map(network.namespace, network.addresses)]
    existing_namespaces = [name for name in namespaces if Path("/run/netns", name).exists()]
    if existing_namespaces:
        raise LabError(
            f"network namespace {existing_namespaces[0]} exists already, but this state directory has no record of it",
            where=network.lab,
            hint=f"choose another name with --name, or remove it with: ip netns delete {existing_namespaces[0]}",
        )
    journal.record(*(UndoStep("namespace", {"name": name}) for name in namespaces))
    run(["ip", "-batch", "-"], stdin="".join(f"netns add {name}\n" for name in namespaces))
    journal.record(UndoStep("link", {"name": network.host_interface}))
    run(
        ["ip", "-batch", "-"],
        stdin=f"link add {network.host_interface} type veth peer name host netns {network.switch}\n"
        f"address add {network.subnet[HOST_NUMBER]}/24 dev {network.host_interface}\n"
        f"link set {network.host_interface} up\n",
    )
    run(["ip", "-n", network.switch, "-batch", "-"], stdin=_switch_commands(network))
    parallel(lambda node: _make_node_end(network, node), network.addresses)
    if has_rate_limits:
        parallel(lambda node: _shape_node_end(network, node), network.addresses)
        rates = enumerate(network.rates_bits_per_s.values())
        lines = [f"qdisc add dev port{number} root {shaping(rate)}\n" for number, rate in rates]
        run(["tc", "-n", network.switch, "-batch", "-"], stdin="".join(lines))


def _switch_commands(network: LabNetwork) -> str:
    lines = [
        f"link add {BRIDGE} type bridge forward_delay 0",
        f"link set {BRIDGE} up",
        f"link set host master {BRIDGE} up",
    ]
    for number, node in enumerate(network.addresses):
        lines += [
            f"link add port{number} type veth peer name {NODE_INTERFACE} netns {network.namespace(node)}",
            f"link set port{number} master {BRIDGE} up",
        ]
    return "\n".join(lines) + "\n"


def _make_node_end(network: LabNetwork, node: str) -> None:
    namespace = network.namespace(node)
    run(
        ["ip", "-n", namespace, "-batch", "-"],
        stdin="link set lo up\n"
        f"address add {network.addresses[node]}/24 dev {NODE_INTERFACE}\nlink set {NODE_INTERFACE} up\n",
    )


def _shape_node_end(network: LabNetwork, node: str) -> None:
    arguments = shaping(network.rates_bits_per_s[node]).split()
    run(["tc", "-n", network.namespace(node), "qdisc", "add", "dev", NODE_INTERFACE, "root", *arguments])


def shaping(rate_bits_per_s: float) -> str:
    """Return tbf's arguments for a rate: a bucket of 2 ms or one packet, whichever is more, and 50 ms of queue."""
    burst_bytes = max(BURST_BYTES_MIN, round(rate_bits_per_s / 8 * BURST_S))
    return f"tbf rate {round(rate_bits_per_s)}bit burst {burst_bytes}b latency {QUEUE_LATENCY_MS}ms"
