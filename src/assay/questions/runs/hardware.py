"""What hardware do runs stand on? Each kind of node and device as described, beside what the bare device reached.

In: a repository and some of its runs. Out: a :class:`HardwareView`; empty where no campaign kept a cluster file, as for
imported runs. Rates are bytes/s: described ones at full size, bare ones as measured (in a lab: at its scale).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from assay.foundation.errors import AssayError
from assay.model import Baseline, Cluster, Device, Measurement, Run
from assay.questions.runs.directories import read_baseline
from assay.questions.runs.plans import made_with
from assay.specs.cluster import cluster_of
from assay.specs.document import document_of
from assay.specs.shared import CLUSTER_FILE
from assay.store import Repository

READ, WRITE, LINK = "sequential_read_bytes_per_s", "sequential_write_bytes_per_s", "link_bits_per_s"


@dataclass(frozen=True, slots=True)
class Bare:
    """One figure of all like devices or links, measured by themselves."""

    median: float
    lowest: float
    n: int
    share: float | None
    """Median of measured / described, each as the lab scales it; None where the description has no figure."""


@dataclass(frozen=True, slots=True)
class NodeRow:
    """One kind of node."""

    cluster: str
    name: str
    nodes: int
    roles: tuple[str, ...]
    cores: int
    memory_bytes: int
    nic_bits_per_s: float
    link: Bare | None
    """Its links, each way between two nodes."""


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """Like devices of one kind of node."""

    cluster: str
    node: str
    devices: tuple[str, ...]
    """Their names on every such node."""
    kind: str
    product: str
    """What its maker calls it; empty where the description does not say."""
    capacity_bytes: int
    read_bytes_per_s: float
    write_bytes_per_s: float
    read: Bare | None
    write: Bare | None


@dataclass(frozen=True, slots=True)
class HardwareView:
    """All nodes and devices, the clusters in the order of their first run."""

    nodes: tuple[NodeRow, ...]
    devices: tuple[DeviceRow, ...]
    unknown: tuple[str, ...]
    """Clusters of which no description is kept."""


def hardware_of(repository: Repository, runs: Sequence[Run]) -> HardwareView:
    """Return the hardware below the runs, by the newest description and baseline of each cluster."""
    nodes: list[NodeRow] = []
    devices: list[DeviceRow] = []
    unknown = []
    for name in dict.fromkeys(run.cluster for run in runs):
        own = sorted((run for run in runs if run.cluster == name), key=lambda run: run.started_at, reverse=True)
        cluster = _described(repository, own)
        if cluster is None:
            unknown.append(name)
            continue
        measured = _measured(repository, own)
        nodes += _nodes(name, cluster, measured)
        devices += _devices(name, cluster, measured)
    return HardwareView(tuple(nodes), tuple(devices), tuple(unknown))


def _described(repository: Repository, runs: Iterable[Run]) -> Cluster | None:
    for run in {run.campaign_id: run for run in runs if run.campaign_id}.values():
        text = made_with(repository, run).cluster
        try:
            return cluster_of(document_of(text.encode(), CLUSTER_FILE), Path()) if text else None
        except AssayError:  # a file of an older version, or one that was changed
            continue
    return None


def _measured(repository: Repository, runs: Iterable[Run]) -> Sequence[Measurement]:
    newest = next((run for run in runs if run.baseline_id), None)
    if newest is None:
        return ()
    try:
        found: Baseline = read_baseline(repository.bundle_path(newest.run_id) / "baseline.json", newest.cluster)
    except AssayError:
        return ()
    return found.measurements


def _bare(measured: Iterable[Measurement], metric: str, nodes: set[str], subjects: set[str] | None) -> Bare | None:
    found = [
        m for m in measured if m.metric == metric and m.node in nodes and (subjects is None or m.subject in subjects)
    ]
    if not found:
        return None
    shares = [m.value / m.expected for m in found if m.expected]
    values = [m.value for m in found]
    return Bare(median(values), min(values), len(values), median(shares) if shares else None)


def _nodes(name: str, cluster: Cluster, measured: Sequence[Measurement]) -> list[NodeRow]:
    rows = []
    for kind in dict.fromkeys(node.type.name for node in cluster.nodes):
        own = [node for node in cluster.nodes if node.type.name == kind]
        shown = own[0].type
        roles = tuple(sorted({role.value for node in own for role in node.roles}))
        link = _bare(measured, LINK, {node.name for node in own}, None)
        nic = shown.nic.rate_bits_per_s
        rows.append(NodeRow(name, kind, len(own), roles, shown.cores, shown.memory_bytes, nic, link))
    return rows


def _alike(device: Device) -> tuple[object, ...]:
    return (device.kind, device.product, device.capacity_bytes, device.read_bytes_per_s, device.write_bytes_per_s)


def _devices(name: str, cluster: Cluster, measured: Sequence[Measurement]) -> list[DeviceRow]:
    rows = []
    for kind in dict.fromkeys(node.type.name for node in cluster.nodes):
        own = [node for node in cluster.nodes if node.type.name == kind]
        nodes = {node.name for node in own}
        for like in Counter(map(_alike, own[0].type.devices)):
            members = [device for device in own[0].type.devices if _alike(device) == like]
            first, names = members[0], {device.name for device in members}
            rows.append(
                DeviceRow(
                    name,
                    kind,
                    tuple(device.name for device in members),
                    first.kind.value,
                    first.product,
                    first.capacity_bytes,
                    first.read_bytes_per_s,
                    first.write_bytes_per_s,
                    _bare(measured, READ, nodes, names),
                    _bare(measured, WRITE, nodes, names),
                )
            )
    return rows
