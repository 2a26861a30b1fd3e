"""The recorded environment of a run: hosts, cluster and programs.

A run's environment is a tree, written by assay's node scripts or by the author of an imported file. It is stored
completely. Only this module reads entries by name. An entry that is absent or of another type counts as missing, so
that every old bundle opens.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any, Self

from assay.model.clusters.cluster import Cluster, Role
from assay.model.clusters.layout import Layout

Tree = Mapping[str, Any]


def entries_of(value: object) -> dict[str, Any]:
    """Return a value from JSON or YAML as names and values; empty if it is something else."""
    return value if isinstance(value, dict) else {}


def _at(value: object, *names: str) -> Any:
    for name in names:
        value = entries_of(value).get(name)
    return value


def _text(value: object, *names: str) -> str:
    """Return the word or number at ``names`` in nested entries as text; empty if there is none."""
    entry = _at(value, *names)
    return "" if entry is None or isinstance(entry, dict | list) else str(entry)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _numbers(value: object) -> dict[str, int]:
    return {str(key): _count(number) or 0 for key, number in entries_of(value).items()}


@dataclass(frozen=True, slots=True)
class LayoutDirectories:
    """Device to its number of directories."""

    hdfs: Mapping[str, int]
    intermediate: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """A cluster as the run's layout uses it; None and empty: not recorded."""

    name: str = ""
    placement: str = ""
    nodes: int | None = None
    masters: int | None = None
    workers: int | None = None
    worker_names: tuple[str, ...] | None = None
    ports: int | None = None
    """Number of network ports."""
    node_types: Mapping[str, int] = field(default_factory=dict)
    """Node type to number of nodes."""
    layout_devices: Mapping[str, int] = field(default_factory=dict)
    """Device kind (hdd, ssd, nvme, remote) to number of devices per worker that the layout uses."""
    device_names: Mapping[str, str] = field(default_factory=dict)
    """Name of each of these devices to its kind."""
    layout_capacity_bytes: int | None = None
    """Total capacity of these devices on one worker."""
    layout: LayoutDirectories | None = None
    network_kind: str = ""
    """Kind of the network between the nodes (``NetworkKind``)."""

    @classmethod
    def of(cls, tree: object) -> Self:
        """Return the facts in the entry ``cluster`` of an environment."""
        facts = entries_of(tree)
        names, layout = facts.get("worker_names"), entries_of(facts.get("layout"))
        return cls(
            name=_text(facts, "name"),
            placement=_text(facts, "placement"),
            nodes=_count(facts.get("nodes")),
            masters=_count(facts.get("masters")),
            workers=_count(facts.get("workers")),
            worker_names=tuple(str(name) for name in names) if isinstance(names, list | tuple) else None,
            ports=_count(facts.get("ports")),
            node_types=_numbers(facts.get("node_types")),
            layout_devices=_numbers(facts.get("layout_devices")),
            device_names={str(name): str(kind) for name, kind in entries_of(facts.get("device_names")).items()},
            layout_capacity_bytes=_count(facts.get("layout_capacity_bytes")),
            layout=LayoutDirectories(_numbers(layout["hdfs"]), _numbers(layout["intermediate"]))
            if {"hdfs", "intermediate"} <= layout.keys()
            else None,
            network_kind=_text(facts, "network_kind"),
        )

    @classmethod
    def of_layout(cls, cluster: Cluster, layout: Layout, network: str | None = None) -> Self:
        """Return the facts of a described cluster. Only devices that the layout uses on one worker count.

        ``network``: name of the network that the configuration uses.
        """
        used_network = cluster.networks.get(network) if network else None
        devices = [device for device in cluster.workers[0].type.devices if device.name in layout.devices()]
        return cls(
            name=cluster.name,
            placement=str(cluster.placement),
            nodes=len(cluster.nodes),
            masters=sum(Role.MASTER in node.roles for node in cluster.nodes),
            workers=len(cluster.workers),
            worker_names=tuple(node.name for node in cluster.workers),
            ports=len(cluster.nodes),
            node_types=dict(Counter(node.type.name for node in cluster.nodes)),
            layout_devices=dict(Counter(str(device.kind) for device in devices)),
            device_names={device.name: str(device.kind) for device in devices},
            layout_capacity_bytes=sum(device.capacity_bytes for device in devices),
            layout=LayoutDirectories(
                {part.device: part.count for part in layout.hdfs},
                {part.device: part.count for part in layout.intermediate},
            ),
            network_kind=str(used_network.kind) if used_network and used_network.kind else "",
        )

    def tree(self) -> dict[str, Any]:
        """Return the facts as an entry of an environment, without unknown values."""
        known_facts = {name: value for name, value in asdict(self).items() if value not in (None, "", {})}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in known_facts.items()}


@dataclass(frozen=True, slots=True)
class NodeGroups:
    """Groups of nodes of a large simulated cluster that were observed together."""

    of_node: Mapping[str, str]
    sizes: Mapping[str, int]
    """Group to number of nodes."""

    @classmethod
    def of(cls, tree: object, worker_names: Sequence[str]) -> Self | None:
        """Return the groups in the entry ``node_groups`` of an environment's ``simulation``.

        The entry lists pairs of a group's name and its number of consecutive workers. None if it does not cover the
        workers.
        """
        pairs = tree if isinstance(tree, list | tuple) else ()
        names: list[str] = []
        for pair in pairs:
            if isinstance(pair, list | tuple) and len(pair) == 2 and _count(pair[1]) is not None:
                names += [str(pair[0])] * min(pair[1], len(worker_names) - len(names))
        if not names or len(names) != len(worker_names):
            return None
        return cls(dict(zip(worker_names, names, strict=True)), Counter(names))

    @staticmethod
    def tree(groups: Sequence[str]) -> list[tuple[str, int]]:
        """Return the entry for workers' ``groups``, in the order of the workers."""
        return [(name, len(list(members))) for name, members in groupby(groups)]


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """Facts of a node; empty texts and None: not recorded."""

    cpu: str
    """Processor model."""
    cores: int | None
    memory_bytes: int | None
    distribution: str
    kernel: str
    java: str
    architecture: str = ""
    """Processor architecture as the kernel names it: ``x86_64``, ``aarch64``."""

    @classmethod
    def of(cls, tree: object) -> Self:
        """Return the facts in an entry of ``nodes``; ``observation/node/environment.py`` defines the keys."""
        return cls(
            _text(tree, "hardware", "cpu", "model"),
            _count(_at(tree, "hardware", "cpu", "logical_cores")),
            _count(_at(tree, "hardware", "memory", "total_bytes")),
            _text(tree, "distribution"),
            _text(tree, "kernel", "release"),
            _text(tree, "java", "version"),
            _text(tree, "kernel", "machine"),
        )


@dataclass(frozen=True, slots=True)
class Hardware:
    """Hardware of the workers as far as recorded; means for unequal nodes. Texts may be empty."""

    workers: int | None
    cores: float | None
    memory_bytes: float | None
    instance_type: str = ""
    """The provider's instance type of a worker, for example ``m4.2xlarge``."""
    provider: str = ""
    service_type: str = ""
    """``IaaS``, ``PaaS``, ``SaaS`` or ``on-premise``."""


@dataclass(frozen=True, slots=True)
class LabNodeFacts:
    """A lab's emulation of a node."""

    address: str
    link_bits_per_s: float
    control_groups: Mapping[str, str] | None
    """``cpu`` and ``memory`` to the directory of the control group as the node's sampler sees it; None if not
    recorded."""
    request_bytes: Mapping[str, int]
    """Device to the largest request that the lab permits."""

    @classmethod
    def of(cls, tree: object) -> Self:
        """Return the facts in an entry of a lab's ``nodes``."""
        rate, groups = _at(tree, "link_bits_per_s"), _at(tree, "cgroup")
        devices = entries_of(_at(tree, "devices"))
        limits = {str(name): _count(_at(device, "request_bytes")) for name, device in devices.items()}
        return cls(
            _text(tree, "address"),
            float(rate) if isinstance(rate, int | float) else 0.0,
            {str(name): str(path) for name, path in groups.items()} if isinstance(groups, dict) else None,
            {name: limit for name, limit in limits.items() if limit},
        )


@dataclass(frozen=True, slots=True)
class LabFacts:
    """Facts of a lab. ``tree``: the complete description, as in docs/explanation/lab.md."""

    name: str
    subnet: str
    nodes: Mapping[str, LabNodeFacts]
    warnings: tuple[str, ...]
    tree: Tree

    @property
    def control_groups(self) -> dict[str, Mapping[str, str]]:
        """Control groups of each node, if recorded."""
        return {name: node.control_groups for name, node in self.nodes.items() if node.control_groups is not None}

    @classmethod
    def of(cls, tree: object) -> Self:
        """Return the facts in a lab's description, or in the entry ``lab`` of an environment."""
        facts = entries_of(tree)
        nodes, warnings = entries_of(facts.get("nodes")), facts.get("warnings")
        return cls(
            _text(facts, "name"),
            _text(facts, "subnet"),
            {str(name): LabNodeFacts.of(node) for name, node in nodes.items()},
            tuple(str(message) for message in warnings) if isinstance(warnings, list | tuple) else (),
            facts,
        )


@dataclass(frozen=True, slots=True)
class Environment:
    """The recorded environment of a run. ``tree``: the complete record as written."""

    tree: Tree

    @property
    def assay_version(self) -> str:
        """Version of assay that made the run; empty if not recorded."""
        return _text(self.tree, "assay", "version") or _text(self.tree, "assay")

    @property
    def assay_python(self) -> str:
        """Python version of assay; empty if not recorded."""
        return _text(self.tree, "assay", "python")

    @property
    def cluster(self) -> ClusterFacts | None:
        """Recorded facts of the cluster; None if not recorded."""
        facts = self.tree.get("cluster")
        return ClusterFacts.of(facts) if isinstance(facts, dict) else None

    @property
    def node_groups(self) -> NodeGroups | None:
        """Groups of workers that were observed together; None if each worker was observed alone."""
        facts = _at(self.tree, "simulation", "node_groups")
        cluster = self.cluster
        return NodeGroups.of(facts, cluster.worker_names or ()) if facts and cluster else None

    @property
    def layout_devices(self) -> Mapping[str, int]:
        """The cluster's ``layout_devices``, read without the other facts."""
        return _numbers(_at(self.tree, "cluster", "layout_devices"))

    @property
    def nodes(self) -> dict[str, NodeFacts]:
        """Facts of each node."""
        nodes = entries_of(self.tree.get("nodes"))
        return {str(name): NodeFacts.of(node) for name, node in nodes.items() if isinstance(node, dict)}

    @property
    def hardware(self) -> Hardware:
        """Hardware of the workers, from the nodes' facts or from the cluster list of a source."""
        facts, nodes = self.cluster or ClusterFacts(), self.nodes.values()
        cores = [float(node.cores) for node in nodes if node.cores]
        memory = [float(node.memory_bytes) for node in nodes if node.memory_bytes]
        listed_cores, listed_gb = (_at(self.tree, "cluster", name) for name in ("cores", "ram_gb"))
        if not cores and isinstance(listed_cores, int | float):
            cores = [float(listed_cores)]
        if not memory and isinstance(listed_gb, int | float):
            memory = [listed_gb * 1e9]
        cluster = self.tree.get("cluster")
        return Hardware(
            facts.workers,
            sum(cores) / len(cores) if cores else None,
            sum(memory) / len(memory) if memory else None,
            _text(cluster, "vm_size"),
            _text(cluster, "provider"),
            _text(cluster, "service_type"),
        )

    @property
    def parameters(self) -> dict[str, str]:
        """Effective engine parameters."""
        return {
            str(name): value for name, value in entries_of(self.tree.get("parameters")).items() if type(value) is str
        }

    @property
    def request_bytes(self) -> dict[str, int]:
        """Device to the largest request that a lab permits; maximum over the nodes."""
        limits: dict[str, int] = {}
        for node in LabFacts.of(self.tree.get("lab")).nodes.values():
            for name, limit in node.request_bytes.items():
                limits[name] = max(limit, limits.get(name, 0))
        return limits

    def leaves(self) -> Iterator[tuple[str, str]]:
        """Yield all recorded values as text, by path (``nodes.w1.kernel.release``)."""
        return _leaves(self.tree)


def _leaves(tree: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _leaves(value, f"{path}.{key}" if path else str(key))
    elif isinstance(tree, list | tuple):
        yield path, ", ".join(sorted(str(value) for value in tree))
    elif tree is not None:
        yield path, str(tree)
