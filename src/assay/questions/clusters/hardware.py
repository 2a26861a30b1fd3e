"""Describe the hardware of runs: each kind of node and device as specified, with the measured bare device.

In: a repository and some of its runs. Out: a :class:`HardwareView`; empty where no cluster file is stored, as for
imported runs. Rates are bytes/s: specified rates at full size, measured rates at the scale of a lab.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from assay.foundation.errors import AssayError
from assay.model import Cluster, Device, DeviceBaseline, Measurement, Run
from assay.questions.clusters.directories import read_baseline
from assay.questions.runs.plans import run_files
from assay.specs.cluster import cluster_of
from assay.specs.document import document_of
from assay.specs.redaction import CLUSTER_FILE
from assay.store import Repository

READ, WRITE, LINK = "sequential_read_bytes_per_s", "sequential_write_bytes_per_s", "link_bits_per_s"


@dataclass(frozen=True, slots=True)
class BareMeasurement:
    """One metric of all equal devices or links, measured without load."""

    median: float
    lowest: float
    n: int
    share: float | None
    """Median of measured / specified, at the scale of a lab; None where the specification has no value."""


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
    link: BareMeasurement | None
    """Its links, in each direction between two nodes."""


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """Equal devices of one kind of node."""

    cluster: str
    node: str
    devices: tuple[str, ...]
    """Their names on each of these nodes."""
    kind: str
    product: str
    """The manufacturer's name for it; empty where the specification has none."""
    capacity_bytes: int
    read_bytes_per_s: float
    write_bytes_per_s: float
    read: BareMeasurement | None
    write: BareMeasurement | None


@dataclass(frozen=True, slots=True)
class HardwareView:
    """All nodes and devices; clusters in the order of their first run."""

    nodes: tuple[NodeRow, ...]
    devices: tuple[DeviceRow, ...]
    unknown: tuple[str, ...]
    """Clusters without a stored specification."""


def hardware_of(repository: Repository, runs: Sequence[Run]) -> HardwareView:
    """Return the hardware of the runs, by the newest specification and baseline of each cluster."""
    nodes: list[NodeRow] = []
    devices: list[DeviceRow] = []
    unknown_names = []
    for name in dict.fromkeys(run.cluster for run in runs):
        cluster_runs = sorted(
            (run for run in runs if run.cluster == name), key=lambda run: run.started_at, reverse=True
        )
        cluster = _specified_cluster(repository, cluster_runs)
        if cluster is None:
            unknown_names.append(name)
            continue
        measured = _baseline_measurements(repository, cluster_runs)
        nodes += _nodes(name, cluster, measured)
        devices += _devices(name, cluster, measured)
    return HardwareView(tuple(nodes), tuple(devices), tuple(unknown_names))


def _specified_cluster(repository: Repository, runs: Iterable[Run]) -> Cluster | None:
    for run in {run.campaign_id: run for run in runs if run.campaign_id}.values():
        text = run_files(repository, run).cluster
        try:
            return cluster_of(document_of(text.encode(), CLUSTER_FILE), Path()) if text else None
        except AssayError:  # a file of an older version, or an edited file
            continue
    return None


def _baseline_measurements(repository: Repository, runs: Iterable[Run]) -> Sequence[Measurement]:
    newest = next((run for run in runs if run.baseline_id), None)
    if newest is None:
        return ()
    try:
        path = repository.bundle_path(newest.run_id) / "baseline.json"
        baseline: DeviceBaseline = read_baseline(path, newest.cluster)
    except AssayError:
        return ()
    return baseline.measurements


def _bare_measurement(
    measured: Iterable[Measurement], metric: str, nodes: set[str], subjects: set[str] | None
) -> BareMeasurement | None:
    measurements = [
        m for m in measured if m.metric == metric and m.node in nodes and (subjects is None or m.subject in subjects)
    ]
    if not measurements:
        return None
    shares = [m.value / m.expected for m in measurements if m.expected]
    values = [m.value for m in measurements]
    return BareMeasurement(median(values), min(values), len(values), median(shares) if shares else None)


def _nodes(name: str, cluster: Cluster, measured: Sequence[Measurement]) -> list[NodeRow]:
    rows = []
    for kind in dict.fromkeys(node.type.name for node in cluster.nodes):
        members = [node for node in cluster.nodes if node.type.name == kind]
        node_type = members[0].type
        roles = tuple(sorted({role.value for node in members for role in node.roles}))
        link = _bare_measurement(measured, LINK, {node.name for node in members}, None)
        nic = node_type.nic.rate_bits_per_s
        rows.append(
            NodeRow(
                cluster=name,
                name=kind,
                nodes=len(members),
                roles=roles,
                cores=node_type.cores,
                memory_bytes=node_type.memory_bytes,
                nic_bits_per_s=nic,
                link=link,
            )
        )
    return rows


def _specification(device: Device) -> tuple[object, ...]:
    return (device.kind, device.product, device.capacity_bytes, device.read_bytes_per_s, device.write_bytes_per_s)


def _devices(name: str, cluster: Cluster, measured: Sequence[Measurement]) -> list[DeviceRow]:
    rows = []
    for kind in dict.fromkeys(node.type.name for node in cluster.nodes):
        members_of_kind = [node for node in cluster.nodes if node.type.name == kind]
        nodes = {node.name for node in members_of_kind}
        for specification in Counter(map(_specification, members_of_kind[0].type.devices)):
            members = [device for device in members_of_kind[0].type.devices if _specification(device) == specification]
            first, names = members[0], {device.name for device in members}
            rows.append(
                DeviceRow(
                    cluster=name,
                    node=kind,
                    devices=tuple(device.name for device in members),
                    kind=first.kind.value,
                    product=first.product,
                    capacity_bytes=first.capacity_bytes,
                    read_bytes_per_s=first.read_bytes_per_s,
                    write_bytes_per_s=first.write_bytes_per_s,
                    read=_bare_measurement(measured, READ, nodes, names),
                    write=_bare_measurement(measured, WRITE, nodes, names),
                )
            )
    return rows
